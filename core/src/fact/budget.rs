//! Budgets: limits, grants and what rounds used (contract 16).

use alloc::vec::Vec;

use crate::{
    fact::{
        outcome::{Answer, Outcome, Refusal},
        turn::{self, RoundCompleted},
        work::can_be_owned,
    },
    id::{Seq, WorkItemId},
    record::{
        Record,
        budget::{BudgetGranted, BudgetSet, RoundUsage},
        control::ControlRecord,
        diagnostic,
        event::{EventKind, EventRecord},
    },
    state::{State, budget::Account},
    time::Timestamp,
};

/// The transition of `budget_set`.
pub(crate) fn set(state: &State, fact: BudgetSet, at: Timestamp) -> Outcome {
    if let Err((reason, because)) = is_owned(state, fact.work_item_id.as_ref()) {
        return Outcome::ignored(reason, because);
    }
    let account = state.budgets.after_set(&fact, state.head.seq.next());
    let changed = [(fact.work_item_id.clone(), account)];
    let mut outcome = exhausted(state, &changed, at);
    outcome.records.insert(0, Record::Control(ControlRecord::BudgetSet(fact)));
    outcome
}

/// The transition of `budget_granted`. A grant counts once.
pub(crate) fn granted(state: &State, fact: BudgetGranted) -> Outcome {
    let seen = state.budgets.grants.get(&fact.grant_id).copied();
    let owned = is_owned(state, fact.work_item_id.as_ref());
    let grant = Record::Control(ControlRecord::BudgetGranted(fact));
    match (seen, owned) {
        (Some(seen), _) => Outcome::repeated(state, &grant, seen),
        (None, Err((reason, because))) => Outcome::ignored(reason, because),
        (None, Ok(())) => Outcome::accepted([grant].into()),
    }
}

/// The transition of `provider_round_completed`. A round that comes after its run has ended is
/// stale, but what it used counts (contract 16.1).
pub(crate) fn provider_round(state: &State, fact: &RoundCompleted, at: Timestamp) -> Outcome {
    let usage = fact.usage();
    let is_open = |item: &WorkItemId| state.work.items.contains_key(item);
    let changed = state.budgets.after_round(&usage, &is_open, state.head.seq.next());
    let news = exhausted(state, &changed, at);
    let mut outcome = turn::round(state, EventKind::ProviderRoundCompleted, fact, at);
    if outcome.answer == Answer::Accepted {
        outcome.records.extend(news.records);
        outcome.effects.extend(news.effects);
    } else if state.budgets.is_new(&usage) && usage.says_something() {
        outcome.records = Vec::from([Record::Control(ControlRecord::RoundCounted(usage))]);
        outcome.records.extend(news.records);
    }
    outcome
}

impl RoundUsage {
    fn says_something(&self) -> bool {
        self.input_tokens.or(self.output_tokens).or(self.cost_micros).is_some()
    }
}

fn is_owned(state: &State, item: Option<&WorkItemId>) -> Result<(), (Refusal, Seq)> {
    item.map_or(Ok(()), |item| can_be_owned(state, item))
}

/// The diagnostic of each budget that is exhausted now and was not before, and the effect that ends
/// the open run after its round (contract 16.4).
fn exhausted(state: &State, changed: &[(Option<WorkItemId>, Account)], at: Timestamp) -> Outcome {
    let mut outcome = Outcome::accepted(Vec::new());
    // An observer leaves the runs to the runtime that it observes.
    if state.control.live_from.is_none() {
        return outcome;
    }
    let run = state.turns.run.as_ref();
    let about = run.and_then(|run| run.work_item.as_ref()).map(|bound| &bound.work_item_id);
    for (owner, account) in changed {
        let owner = owner.as_ref();
        let was = state.budgets.account(owner).is_some_and(|before| before.exhausted.is_some());
        let Some(reached) = account.reached().filter(|_| !was) else { continue };
        let diagnostic = diagnostic::budget_exhausted(owner, &reached);
        let event = EventRecord::new(EventKind::SchedulerDiagnostic, at, &diagnostic);
        outcome.records.push(Record::Event(event));
        if (owner.is_none() || owner == about) && outcome.effects.is_empty() {
            outcome.effects.extend(state.turns.yield_once());
        }
    }
    outcome
}
