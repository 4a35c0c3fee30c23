//! The plane of budgets: what was used, by day, by item and by the agent, and whose limits are
//! reached (contract 16).

use alloc::vec::Vec;

use serde::Serialize;

use crate::{
    id::{GrantId, RunId, Seq, WorkItemId},
    record::budget::{BudgetGranted, BudgetLimits, BudgetSet, LimitUse, RoundUsage},
    time::Timestamp,
};
use wakeful_json::{Map, Readable};

/// What rounds with the provider used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// The number of rounds.
    pub rounds: u64,
    /// Tokens that went in.
    pub input_tokens: u64,
    /// Tokens that came out.
    pub output_tokens: u64,
    /// The cost in millionths, as far as the host knew it.
    pub cost_micros: u64,
}

impl Usage {
    /// All tokens.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    fn add(&mut self, round: &RoundUsage) {
        self.rounds = self.rounds.saturating_add(1);
        let add = |to: &mut u64, more: Option<u64>| {
            *to = to.saturating_add(more.unwrap_or_default());
        };
        add(&mut self.input_tokens, round.input_tokens);
        add(&mut self.output_tokens, round.output_tokens);
        add(&mut self.cost_micros, round.cost_micros);
    }
}

/// What an owner used and may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
pub struct Account {
    /// Its limits.
    pub limits: BudgetLimits,
    /// What it used today.
    pub today: Usage,
    /// What it used in all.
    pub total: Usage,
    /// What was granted for today.
    granted_today: Granted,
    /// What was granted in all.
    granted: Granted,
    /// The entry at which a limit was reached, while it is.
    pub exhausted: Option<Seq>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Readable)]
struct Granted {
    tokens: u64,
    cost_micros: u64,
}

impl Granted {
    fn add(&mut self, grant: &BudgetGranted) {
        self.tokens = self.tokens.saturating_add(grant.tokens);
        self.cost_micros = self.cost_micros.saturating_add(grant.cost_micros);
    }
}

impl Account {
    /// The limits that hold. One that the next day does not end comes first.
    pub fn limits(&self) -> impl Iterator<Item = LimitUse> {
        let limits = &self.limits;
        let (all, day) = (&self.granted, &self.granted_today);
        [
            ("tokens_total", limits.tokens_total, self.total.tokens(), all.tokens, false),
            ("tokens_per_day", limits.tokens_per_day, self.today.tokens(), day.tokens, true),
            (
                "cost_micros_per_day",
                limits.cost_micros_per_day,
                self.today.cost_micros,
                day.cost_micros,
                true,
            ),
        ]
        .into_iter()
        .filter_map(|(limit, most, used, granted, is_of_a_day)| {
            let of = most?.get().saturating_add(granted);
            Some(LimitUse { limit, used, of, is_of_a_day })
        })
    }

    /// The limit that is reached. One that the next day does not end comes first.
    #[must_use]
    pub fn reached(&self) -> Option<LimitUse> {
        self.limits().find(LimitUse::is_reached)
    }

    fn used(&mut self, round: &RoundUsage) {
        self.today.add(round);
        self.total.add(round);
    }

    /// Notes whether a limit is reached after the entry at `seq`.
    fn settle(&mut self, seq: Seq) {
        self.exhausted = self.reached().map(|_| self.exhausted.unwrap_or(seq));
    }

    fn begin_day(&mut self, seq: Seq) {
        (self.today, self.granted_today) = (Usage::default(), Granted::default());
        self.settle(seq);
    }
}

/// A run whose rounds may still be told, with those that were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
struct CountedRun {
    run_id: RunId,
    item: Option<WorkItemId>,
    rounds: Vec<u64>,
}

/// The newest runs, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
// The name lets `shape` leave it out: no rule reads it.
struct CountedRuns(Vec<CountedRun>);

/// A day, counted from 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Readable)]
// The name lets `shape` leave it out: a rule reads only when a day ends that matters.
struct Day(i64);

impl Day {
    fn of(at: Timestamp) -> Self {
        Self(at.as_nanos().div_euclid(DAY))
    }

    fn end(self) -> Timestamp {
        Timestamp::from_nanos(self.0.saturating_add(1).saturating_mul(DAY))
    }
}

/// The newest runs whose rounds are known. A round that is told later than that does not count.
const KNOWN_RUNS: usize = 32;

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
pub struct Budgets {
    /// The day of the newest entry.
    day: Day,
    /// When another day ends an exhaustion; `None` if none ends then.
    pub renews_at: Option<Timestamp>,
    /// The agent's account.
    pub agent: Account,
    /// The accounts of open items.
    pub items: Map<WorkItemId, Account>,
    /// The grants, each with its entry.
    pub grants: Map<GrantId, Seq>,
    /// The newest runs.
    runs: CountedRuns,
}

/// The nanoseconds of a day.
const DAY: i64 = 86_400 * 1_000_000_000;

impl Budgets {
    /// The account of an item, or of the agent.
    #[must_use]
    pub fn account(&self, item: Option<&WorkItemId>) -> Option<&Account> {
        item.map_or(Some(&self.agent), |item| self.items.get(item))
    }

    /// The newest runs, whose rounds still count. Only `why_not` asks: no rule reads them.
    pub fn counted_runs(&self) -> impl Iterator<Item = &RunId> {
        self.runs.0.iter().map(|run| &run.run_id)
    }

    /// Whether a limit of an item is reached.
    #[must_use]
    pub fn is_exhausted(&self, item: &WorkItemId) -> bool {
        self.items.get(item).is_some_and(|account| account.exhausted.is_some())
    }

    /// All accounts; `None` is the agent.
    pub fn accounts(&self) -> impl Iterator<Item = (Option<&WorkItemId>, &Account)> {
        let items = self.items.iter().map(|(id, account)| (Some(id), account));
        core::iter::once((None, &self.agent)).chain(items)
    }

    /// The accounts with a limit that is reached; `None` is the agent.
    pub fn exhausted(&self) -> impl Iterator<Item = (Option<&WorkItemId>, &Account, Seq)> {
        self.accounts().filter_map(|(owner, account)| Some((owner, account, account.exhausted?)))
    }

    /// When the day of the newest entry ends.
    #[must_use]
    pub fn day_ends_at(&self) -> Timestamp {
        self.day.end()
    }

    /// Folds the time of an entry, and returns the items over whose budgets another day began. A
    /// clock that is corrected carries the totals over (contract 16.3).
    pub(crate) fn at(&mut self, at: Timestamp, seq: Seq) -> Vec<WorkItemId> {
        let day = Day::of(at);
        if day == self.day {
            return Vec::new();
        }
        let begins = day > self.day;
        self.day = day;
        if !begins {
            self.renew();
            return Vec::new();
        }
        let exhausted = self.exhausted().filter_map(|(owner, ..)| owner.cloned()).collect();
        self.agent.begin_day(seq);
        self.items.values_mut().for_each(|account| account.begin_day(seq));
        self.renew();
        exhausted
    }

    /// Notes when another day ends an exhaustion.
    fn renew(&mut self) {
        let of_a_day =
            |account: &Account| account.reached().is_some_and(|reached| reached.is_of_a_day);
        let is_any = self.exhausted().any(|(_, account, _)| of_a_day(account));
        self.renews_at = is_any.then(|| self.day_ends_at());
    }

    /// The account of an owner after its limits are set by the entry at `seq`.
    pub(crate) fn after_set(&self, record: &BudgetSet, seq: Seq) -> Account {
        let before = self.account(record.work_item_id.as_ref()).cloned().unwrap_or_default();
        let mut account = Account { limits: record.limits.clone(), ..before };
        account.settle(seq);
        account
    }

    /// The accounts that a round changes, if it counts at the entry at `seq`. A completed item has
    /// none.
    pub(crate) fn after_round(
        &self,
        round: &RoundUsage,
        is_open: &dyn Fn(&WorkItemId) -> bool,
        seq: Seq,
    ) -> Vec<(Option<WorkItemId>, Account)> {
        let run = self.runs.0.iter().find(|run| run.run_id == round.run_id);
        let Some(run) = run.filter(|_| self.is_new(round)) else { return Vec::new() };
        let item = run.item.clone().filter(is_open);
        let owners = [Some(None), item.map(Some)];
        let changed = owners.into_iter().flatten().map(|owner| {
            let mut account = self.account(owner.as_ref()).cloned().unwrap_or_default();
            account.used(round);
            account.settle(seq);
            (owner, account)
        });
        changed.collect()
    }

    /// Folds the new account of an owner.
    pub(crate) fn put(&mut self, owner: Option<WorkItemId>, account: Account) {
        match owner {
            None => self.agent = account,
            Some(item) => drop(self.items.insert(item, account)),
        }
        self.renew();
    }

    pub(crate) fn granted(&mut self, record: &BudgetGranted, seq: Seq) {
        let owner = record.work_item_id.clone();
        let mut account = self.account(owner.as_ref()).cloned().unwrap_or_default();
        account.granted_today.add(record);
        account.granted.add(record);
        account.settle(seq);
        self.put(owner, account);
        self.grants.insert(record.grant_id.clone(), seq);
    }

    /// Folds the start of a run.
    pub(crate) fn run_started(&mut self, run_id: &RunId, item: Option<&WorkItemId>) {
        let run = CountedRun { run_id: run_id.clone(), item: item.cloned(), rounds: Vec::new() };
        self.runs.0.push(run);
        self.runs.0.drain(..self.runs.0.len().saturating_sub(KNOWN_RUNS));
    }

    /// Whether this round has not counted yet.
    #[must_use]
    pub fn is_new(&self, round: &RoundUsage) -> bool {
        let run = self.runs.0.iter().find(|run| run.run_id == round.run_id);
        run.is_some_and(|run| !run.rounds.contains(&round.round))
    }

    /// Folds that an item was completed.
    pub(crate) fn item_ended(&mut self, item: &WorkItemId) {
        if self.items.remove(item).is_some() {
            self.renew();
        }
    }

    /// Folds that a round was told.
    pub(crate) fn told(&mut self, round: &RoundUsage) {
        if let Some(run) = self.runs.0.iter_mut().find(|run| run.run_id == round.run_id) {
            run.rounds.push(round.round);
        }
    }
}
