//! Why not: the smallest changes of facts that lead to another decision (contract 11.2).
//!
//! Of single facts, every one of a fixed table is tried. Only if none leads there are two and three
//! facts of a shorter list combined.

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    derive::arrival,
    explain::{
        change::{self, Change, Flip},
        sentence, table,
    },
    fact::{Fact, outcome::Answer},
    ladder::{self, Rule, RuleOutcome, View},
    record::{
        decision::{Boundary, Decision, DecisionKind},
        entry,
    },
    state::State,
    time::Timestamp,
};
use wakeful_json::{self as json, RawJson};

/// The most changes that are combined.
// Each try decides on a copy of the state. Both limits together allow 10,700 tries.
const TOGETHER: usize = 3;

/// The most changes of which combinations are tried. The list follows the ladder, so the nearest
/// changes come first. Single facts have no limit: all of the table are tried.
const COMBINED: usize = 40;

/// The most single facts that are listed; the others are counted.
const LISTED: usize = 100;

/// What would have to change for another decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WhyNot {
    /// The kind of decision that was asked for.
    pub asked: DecisionKind,
    /// The decision that is made now.
    pub decision: Decision,
    /// The shortest ways to that kind of decision. Empty if it is decided already, or if no change
    /// of the list leads there. Events that the sentence of the explanation names come first.
    pub ways: Vec<Way>,
    /// The number of further single facts that lead there and are not listed.
    #[serde(default, skip_serializing_if = "json::is_zero")]
    pub more: u64,
}

/// Changes that together lead to the decision. None of them can be left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Way {
    /// The changes, in words.
    pub says: Vec<String>,
    /// The changes as facts in JSON, ready to propose.
    pub facts: Vec<RawJson>,
    /// The decision that they lead to.
    pub decision: Decision,
}

/// What would have to change for a decision of this kind. Appends nothing: each way is applied to a
/// copy of the state and decided there.
#[must_use]
pub fn why_not(state: &State, boundary: Boundary, asked: DecisionKind, now: Timestamp) -> WhyNot {
    let decision = decide(state, boundary, now);
    if decision.kind == asked {
        return WhyNot { asked, decision, ways: Vec::new(), more: 0 };
    }
    let leads = |changes: &[&Change]| {
        let after = applied(state, changes.iter().map(|change| &change.fact), now)?;
        // Most tries lead elsewhere, and this view does not look at every item.
        let view = View::to_decide(&after, boundary, now.max(after.at));
        let found = ladder::decide(after.control.edition, &view).decision.kind;
        (found == asked).then(|| decide(&after, boundary, now))
    };
    let (mut ways, more) = single(state, &decision, leads);
    if ways.is_empty() {
        ways = combined(&candidates(state, boundary, asked, now), leads);
    }
    WhyNot { asked, decision, ways, more }
}

impl Way {
    fn new(changes: &[&Change], decision: Decision) -> Self {
        Self {
            says: changes.iter().map(|change| change.says.clone()).collect(),
            facts: changes.iter().map(|change| RawJson::from_value(&change.fact)).collect(),
            decision,
        }
    }
}

/// Every fact of the table that leads there alone, and the number of those that are not listed.
fn single(
    state: &State,
    decision: &Decision,
    leads: impl Fn(&[&Change]) -> Option<Decision>,
) -> (Vec<Way>, u64) {
    let events = sentence::events(state, decision);
    let (named, others): (Vec<_>, Vec<_>) = table::changes(state)
        .into_iter()
        .partition(|change| events.iter().any(|event| event.is(&change.fact)));
    let (mut ways, mut more) = (Vec::new(), 0);
    for change in named.iter().chain(&others) {
        match leads(&[change]) {
            Some(decision) if ways.len() < LISTED => ways.push(Way::new(&[change], decision)),
            Some(_) => more += 1,
            None => {}
        }
    }
    (ways, more)
}

/// The smallest sets of these changes that lead there.
fn combined(changes: &[Change], leads: impl Fn(&[&Change]) -> Option<Decision>) -> Vec<Way> {
    let mut ways = Vec::new();
    let mut found: Vec<Vec<usize>> = Vec::new();
    for together in 1..=TOGETHER {
        for chosen in subsets(changes.len(), together) {
            // A larger set that contains a found one is not minimal.
            if found.iter().any(|smaller| smaller.iter().all(|at| chosen.contains(at))) {
                continue;
            }
            let picked: Vec<_> = chosen.iter().map(|at| &changes[*at]).collect();
            if let Some(decision) = leads(&picked) {
                ways.push(Way::new(&picked, decision));
                found.push(chosen);
            }
        }
        // A way with more changes is of interest only if no shorter one exists.
        if !ways.is_empty() {
            break;
        }
    }
    ways
}

fn decide(state: &State, boundary: Boundary, now: Timestamp) -> Decision {
    // The time of a ledger never runs backwards (contract 1.3).
    ladder::decide(state.control.edition, &View::new(state, boundary, now.max(state.at))).decision
}

/// The state after these facts; `None` if one of them is not accepted.
fn applied<'a>(
    state: &State,
    facts: impl Iterator<Item = &'a Fact>,
    now: Timestamp,
) -> Option<State> {
    let mut changed: Option<State> = None;
    for fact in facts {
        let before = changed.as_ref().unwrap_or(state);
        if !fits(before, fact) {
            return None;
        }
        // contract 1.3: a correction is the one fact whose batch may set the time back.
        let is_correction =
            matches!(fact, Fact::ClockCorrected(_)) && arrival::is_behind(before, now);
        let at = if is_correction { now } else { now.max(before.at) };
        let outcome = fact.copied().transition(before, at);
        if outcome.answer != Answer::Accepted {
            return None;
        }
        let (entries, _) = entry::seal_all(before.head, at, outcome.records);
        // The copy is made only for a fact that is accepted, because many are not.
        let after = changed.get_or_insert_with(|| state.copied());
        entries.iter().for_each(|entry| after.apply(entry));
    }
    changed
}

/// Whether the policy lets a host report this fact: its new id and its body may be too long.
fn fits(state: &State, fact: &Fact) -> bool {
    let policy = &state.control.policy;
    let body = fact.body().map_or(0, |body| body.as_text().len());
    fact.new_id().map_or(0, str::len) as u64 <= policy.id_bytes.get()
        && body as u64 <= policy.body_bytes.get()
}

/// The changes that are combined: those that make a rule of the asked kind hold, and those that
/// disable the rules above it.
fn candidates(
    state: &State,
    boundary: Boundary,
    asked: DecisionKind,
    now: Timestamp,
) -> Vec<Change> {
    let view = View::new(state, boundary, now.max(state.at));
    let rules = state.control.edition.rules();
    let mut changes: Vec<Change> = Vec::new();
    let mut add = |more: Vec<Change>| {
        for change in more {
            // Several rules share atoms, and so changes.
            if !changes.contains(&change) {
                changes.push(change);
            }
        }
    };
    for (at, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.kind == asked) {
        rule.guard
            .iter()
            .filter(|atom| !atom.holds(&view))
            .for_each(|atom| add(change::flipping(atom.name, Flip::On, state, &view)));
        if matches!(rule.evaluate(&view), RuleOutcome::Suppressed { .. }) {
            add(change::unspent(state));
        }
        let above = rules[..at]
            .iter()
            .filter(|above| above.kind != asked && above.evaluate(&view) == RuleOutcome::Fired);
        above.for_each(|above| add(switched_off(above, state, &view)));
    }
    changes.truncate(COMBINED);
    changes
}

fn switched_off(rule: &Rule, state: &State, view: &View) -> Vec<Change> {
    rule.guard.iter().flat_map(|atom| change::flipping(atom.name, Flip::Off, state, view)).collect()
}

/// All ways to choose `size` of `count` positions, in order.
fn subsets(count: usize, size: usize) -> Vec<Vec<usize>> {
    let mut all = Vec::from([Vec::new()]);
    for _ in 0..size {
        all = all
            .into_iter()
            .flat_map(|chosen: Vec<usize>| {
                let from = chosen.last().map_or(0, |last| last + 1);
                (from..count).map(move |next| chosen.iter().copied().chain([next]).collect())
            })
            .collect();
    }
    all
}
