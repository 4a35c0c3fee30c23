//! `wakeful budget`: shows, sets and raises the budgets of an agent and of its work items (contract
//! 16).

use std::{num::NonZeroU64, path::PathBuf};

use clap::{Args, Subcommand};
use wakeful_core::{
    BudgetSummary, LimitSummary,
    fact::Fact,
    id::{GrantId, WorkItemId},
    json,
    record::budget::{BudgetGranted, BudgetLimits, BudgetSet},
    state::{State, budget::Usage},
};
use wakeful_host::clock::SystemClock;

use super::{
    CliError, Verdict,
    ledger::{Place, ServerArgs, to_read},
    send,
    status::counted,
};

#[derive(Args)]
#[command(after_help = "\
    An agent that has used up its budget starts only turns that the operator asks for, and an item \
    that has is not offered. What else comes is kept, and waits. The budget of a day begins anew \
    at midnight (UTC). A higher limit or a grant ends the wait at once.\n\n\
    Cost is counted in millionths, as far as the provider of the agent tells it.\n\n\
    Exit codes:\n\
    \x20 0  done\n\
    \x20 1  ignored, such as a grant whose id was used\n\
    \x20 2  the arguments or the ledger cannot be used\n\n\
    Examples:\n\
    \x20 wakeful budget --ledger agent.sqlite set --tokens-per-day 500000\n\
    \x20 wakeful budget --ledger agent.sqlite set --item w1 --tokens-total 50000\n\
    \x20 wakeful budget --ledger agent.sqlite set --tokens-per-day none\n\
    \x20 wakeful budget --ledger agent.sqlite show\n\
    \x20 wakeful budget --server http://127.0.0.1:7171 --agent ada show\n\
    \x20 wakeful budget --ledger agent.sqlite grant --tokens 100000")]
pub(super) struct Budget {
    /// The ledger file, or the address of a store
    #[arg(long, visible_alias = "store", value_name = "FILE|URL", global = true)]
    ledger: Option<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
    /// The agent [default: the only one]
    #[arg(long, value_name = "ID", global = true)]
    agent: Option<String>,
    /// Use the time of the ledger's newest entry, for an agent that runs with --virtual
    #[arg(long = "virtual", global = true)]
    is_virtual: bool,
    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Show what is used of each limit, and when it begins anew
    Show {
        /// Show only the budget of this work item
        #[arg(long, value_name = "ID")]
        item: Option<String>,
    },
    /// Set limits; a limit that is not named stays as it is
    Set {
        /// The work item that gets them [default: the agent]
        #[arg(long, value_name = "ID")]
        item: Option<String>,
        #[command(flatten)]
        limits: Limits,
    },
    /// Add to a budget once; what is added to the limit of a day is for that day
    Grant {
        /// The work item that gets it [default: the agent]
        #[arg(long, value_name = "ID")]
        item: Option<String>,
        #[command(flatten)]
        more: More,
        /// The id of the grant; a second one with this id is ignored [default: a new id]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
}

/// The limits that are set.
#[derive(Args)]
#[group(required = true, multiple = true)]
struct Limits {
    /// Tokens in a day (UTC), or `none`
    #[arg(long, value_name = "NUMBER", value_parser = limit)]
    tokens_per_day: Option<Limit>,
    /// Tokens in all, or `none`
    #[arg(long, value_name = "NUMBER", value_parser = limit)]
    tokens_total: Option<Limit>,
    /// Cost in a day (UTC), in millionths, or `none`
    #[arg(long, value_name = "NUMBER", value_parser = limit)]
    cost_micros_per_day: Option<Limit>,
}

/// What a grant adds.
#[derive(Args)]
#[group(required = true, multiple = true)]
struct More {
    /// Tokens
    #[arg(long, value_name = "NUMBER")]
    tokens: Option<NonZeroU64>,
    /// Cost, in millionths
    #[arg(long, value_name = "NUMBER")]
    cost_micros: Option<NonZeroU64>,
}

/// A limit as it is set; `None` removes it.
#[derive(Clone, Copy)]
struct Limit(Option<NonZeroU64>);

fn limit(text: &str) -> Result<Limit, String> {
    if text == "none" {
        return Ok(Limit(None));
    }
    let number: Option<NonZeroU64> = text.parse().ok();
    number.map(|most| Limit(Some(most))).ok_or_else(|| {
        "write a whole number above zero such as `500000`, or `none` to remove the limit".to_owned()
    })
}

impl Limits {
    /// These limits; one that is not named is that of the budget so far.
    fn over(&self, so_far: BudgetLimits) -> BudgetLimits {
        let new = |given: Option<Limit>, old| given.map_or(old, |Limit(most)| most);
        BudgetLimits {
            tokens_per_day: new(self.tokens_per_day, so_far.tokens_per_day),
            tokens_total: new(self.tokens_total, so_far.tokens_total),
            cost_micros_per_day: new(self.cost_micros_per_day, so_far.cost_micros_per_day),
        }
    }
}

impl Budget {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        match &self.what {
            What::Show { item } => self.show(item.as_deref()),
            What::Set { item, limits } => self.say(item.as_deref(), |state| {
                let work_item_id = item.as_deref().map(WorkItemId::from);
                let account = state.budgets().account(work_item_id.as_ref());
                let so_far = account.map(|account| account.limits.clone()).unwrap_or_default();
                Fact::BudgetSet(BudgetSet { work_item_id, limits: limits.over(so_far) })
            }),
            What::Grant { item, more, id } => self.say(item.as_deref(), |_| {
                let number = |given: Option<NonZeroU64>| given.map_or(0, NonZeroU64::get);
                Fact::BudgetGranted(BudgetGranted {
                    grant_id: id.as_deref().map_or_else(|| send::new_id().into(), GrantId::from),
                    work_item_id: item.as_deref().map(WorkItemId::from),
                    tokens: number(more.tokens),
                    cost_micros: number(more.cost_micros),
                })
            }),
        }
    }

    fn say(
        &self,
        item: Option<&str>,
        fact: impl FnOnce(&State) -> Fact,
    ) -> Result<Verdict, CliError> {
        let agent = self.agent.as_deref();
        let said = send::say(&self.place()?, agent, self.is_virtual, |state| {
            item.map_or(Ok(()), |item| send::require_item(state, item))?;
            Ok(json::write(&fact(state)))
        })?;
        if self.json {
            say!("{}", json::write(&said));
        } else {
            send::print(&said);
        }
        Ok(said.verdict())
    }

    fn place(&self) -> Result<Place, CliError> {
        self.server.place(self.ledger.as_deref())
    }

    fn show(&self, item: Option<&str>) -> Result<Verdict, CliError> {
        let place = self.place()?;
        let (agent, ledger) = to_read(&place, self.agent.as_deref())?;
        let scheduler = send::observed(&place, &agent, ledger, SystemClock)?;
        item.map_or(Ok(()), |item| send::require_item(scheduler.state(), item))?;
        let summary = scheduler.summary();
        let is_asked = |budget: &BudgetSummary| {
            item.is_none() || budget.work_item_id.as_ref().map(WorkItemId::as_str) == item
        };
        let budgets: Vec<_> = summary.budgets.into_iter().filter(is_asked).collect();
        if self.json {
            say!("{}", json::write(&budgets));
            return Ok(Verdict::Well);
        }
        if budgets.is_empty() {
            let owner =
                item.map_or_else(|| format!("agent `{agent}`"), |item| format!("item `{item}`"));
            say!("{owner} has no budget; set one with `wakeful budget set`");
        }
        for budget in &budgets {
            for line in lines(budget) {
                say!("{line}");
            }
        }
        if item.is_none() {
            let (of_day, total) = (used(&summary.model.today), used(&summary.model.total));
            let newest = scheduler.state().at().to_string();
            // The date of the newest entry: today's date if the agent did something today.
            let day = newest.get(..10).unwrap_or(&newest);
            say!("agent `{agent}` used {of_day} on {day} (UTC), and {total} in all");
        }
        Ok(Verdict::Well)
    }
}

/// A budget, with a line for each limit.
pub(super) fn lines(budget: &BudgetSummary) -> Vec<String> {
    let owner = match &budget.work_item_id {
        Some(id) => format!("`{id}`"),
        None => "the agent".to_owned(),
    };
    budget.limits.iter().map(|limit| format!("{owner}: {}", of_limit(limit))).collect()
}

fn of_limit(limit: &LimitSummary) -> String {
    let LimitSummary { limit: name, used, of, renews_at, .. } = limit;
    let what = match *name {
        "tokens_per_day" => "tokens of the day",
        "tokens_total" => "tokens in all",
        "cost_micros_per_day" => "millionths of cost of the day",
        other => other,
    };
    let ends = match (used >= of, renews_at) {
        (false, None) => String::new(),
        (false, Some(at)) => format!(", begins anew at midnight UTC ({at})"),
        (true, None) => ", used up until it gets a higher limit or a grant".to_owned(),
        (true, Some(at)) => format!(", used up; this ends at midnight UTC ({at})"),
    };
    format!("{used} of {of} {what}{ends}")
}

fn used(usage: &Usage) -> String {
    let cost = match usage.cost_micros {
        0 => String::new(),
        cost => format!(" for {cost} millionths"),
    };
    let rounds = counted(usize::try_from(usage.rounds).unwrap_or(usize::MAX), "round");
    format!("{} tokens in {rounds}{cost}", usage.tokens())
}
