//! Budgets of an agent and of its work items (contract 16): `wakeful send budget` sets limits,
//! `wakeful send grant` raises them once, and `wakeful list budgets` shows what is used.

use std::num::NonZeroU64;

use clap::Args;
use serde::Serialize;
use wakeful_core::{
    BudgetSummary, LimitSummary,
    fact::Fact,
    id::{AgentId, GrantId, WorkItemId},
    json,
    record::budget::{BudgetGranted, BudgetLimits, BudgetSet},
    state::{State, budget::Usage},
};
use wakeful_host::clock::SystemClock;

use super::{
    CliError, Verdict,
    ledger::{AgentsArg, Place, to_read},
    send,
    status::counted,
};

#[derive(Args)]
#[command(after_help = "\
    --json prints one object per agent: {agent_id, budgets}.\n\n\
    Exit codes:\n\
    \x20 0  printed, even if there are none\n\
    \x20 2  the ledger cannot be read\n\n\
    Examples:\n\
    \x20 wakeful list budgets agent.sqlite\n\
    \x20 wakeful list budgets agents.sqlite --agent ada --item w1\n\
    \x20 wakeful list budgets --server http://127.0.0.1:7171 --agent ada")]
pub(super) struct Budgets {
    #[command(flatten)]
    ledger: AgentsArg,
    /// Show only the budget of this work item
    #[arg(long, value_name = "ID")]
    item: Option<String>,
    /// Print one JSON object per agent
    #[arg(long)]
    json: bool,
}

/// The budgets of an agent, as JSON.
#[derive(Serialize)]
struct OfAgent<'a> {
    agent_id: &'a AgentId,
    budgets: Vec<BudgetSummary>,
}

#[derive(Args)]
#[command(after_help = "\
    An agent that has used up its budget starts only turns that the operator asks for, and an item \
    that has is not offered. What else comes is kept, and waits. The budget of a day begins anew \
    at midnight (UTC). A higher limit or a grant ends the wait at once.\n\n\
    Cost is counted in millionths, as far as the provider of the agent tells it.\n\n\
    Exit codes:\n\
    \x20 0  set\n\
    \x20 2  the arguments or the ledger cannot be used\n\n\
    Examples:\n\
    \x20 wakeful send --ledger agent.sqlite budget --tokens-per-day 500000\n\
    \x20 wakeful send --ledger agent.sqlite budget --item w1 --tokens-total 50000\n\
    \x20 wakeful send --ledger agent.sqlite budget --tokens-per-day none")]
pub(super) struct Set {
    /// The work item that gets them [default: the agent]
    #[arg(long, value_name = "ID")]
    pub(super) item: Option<String>,
    #[command(flatten)]
    limits: Limits,
}

#[derive(Args)]
#[command(after_help = "\
    Exit codes:\n\
    \x20 0  added\n\
    \x20 1  ignored, because the id was used\n\
    \x20 2  the arguments or the ledger cannot be used\n\n\
    Examples:\n\
    \x20 wakeful send --ledger agent.sqlite grant --tokens 100000\n\
    \x20 wakeful send --ledger agent.sqlite grant --item w1 --cost-micros 50000")]
pub(super) struct Grant {
    /// The work item that gets it [default: the agent]
    #[arg(long, value_name = "ID")]
    pub(super) item: Option<String>,
    #[command(flatten)]
    more: More,
    /// The id of the grant; a second one with this id is ignored [default: a new id]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
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

impl Set {
    pub(super) fn fact(&self, state: &State) -> Fact {
        let work_item_id = self.item.as_deref().map(WorkItemId::from);
        let account = state.budgets().account(work_item_id.as_ref());
        let so_far = account.map(|account| account.limits.clone()).unwrap_or_default();
        Fact::BudgetSet(BudgetSet { work_item_id, limits: self.limits.over(so_far) })
    }
}

impl Grant {
    pub(super) fn fact(&self) -> Fact {
        let number = |given: Option<NonZeroU64>| given.map_or(0, NonZeroU64::get);
        let id = self.id.as_deref();
        Fact::BudgetGranted(BudgetGranted {
            grant_id: id.map_or_else(|| send::new_id().into(), GrantId::from),
            work_item_id: self.item.as_deref().map(WorkItemId::from),
            tokens: number(self.more.tokens),
            cost_micros: number(self.more.cost_micros),
        })
    }
}

impl Budgets {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let place = self.ledger.place()?;
        self.ledger.for_each(&place, || (), |agent| self.show(&place, agent))
    }

    fn show(&self, place: &Place, agent: &AgentId) -> Result<Verdict, CliError> {
        let item = self.item.as_deref();
        let (_, ledger) = to_read(place, Some(agent.as_str()))?;
        let scheduler = send::observed(place, agent, ledger, SystemClock)?;
        item.map_or(Ok(()), |item| send::require_item(scheduler.state(), item))?;
        let summary = scheduler.summary();
        let is_asked = |budget: &BudgetSummary| {
            item.is_none() || budget.work_item_id.as_ref().map(WorkItemId::as_str) == item
        };
        let budgets: Vec<_> = summary.budgets.into_iter().filter(is_asked).collect();
        if self.json {
            say!("{}", json::write(&OfAgent { agent_id: agent, budgets }));
            return Ok(Verdict::Well);
        }
        if budgets.is_empty() {
            let owner =
                item.map_or_else(|| format!("agent `{agent}`"), |item| format!("item `{item}`"));
            say!("{owner} has no budget; set one with `wakeful send budget`");
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
