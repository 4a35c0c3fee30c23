//! Why not: the smallest changes of facts that lead to another decision (contract 11.2).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    explain::change::{self, Change, Flip},
    fact::{Fact, outcome::Answer},
    ladder::{self, Rule, RuleOutcome, View},
    record::{
        decision::{Boundary, Decision, DecisionKind},
        entry,
    },
    state::State,
    time::Timestamp,
};
use wakeful_json::RawJson;

/// The most changes that are combined.
// Each try decides on a copy of the state. Both limits together allow 10,700 tries.
const TOGETHER: usize = 3;

/// The most changes that are tried. The list follows the ladder, so the nearest changes come first.
const TRIED: usize = 40;

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
    /// of the list leads there.
    pub ways: Vec<Way>,
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
    let mut ways = Vec::new();
    if decision.kind != asked {
        let changes = candidates(state, boundary, asked, now);
        let mut found: Vec<Vec<usize>> = Vec::new();
        for together in 1..=TOGETHER {
            for chosen in subsets(changes.len(), together) {
                // A larger set that contains a found one is not minimal.
                if found.iter().any(|smaller| smaller.iter().all(|at| chosen.contains(at))) {
                    continue;
                }
                let picked = || chosen.iter().map(|at| &changes[*at]);
                let reached = applied(state, picked().map(|change| &change.fact), now)
                    .map(|state| decide(&state, boundary, now));
                if let Some(decision) = reached.filter(|decision| decision.kind == asked) {
                    ways.push(Way {
                        says: picked().map(|change| change.says.clone()).collect(),
                        facts: picked().map(|change| RawJson::from_value(&change.fact)).collect(),
                        decision,
                    });
                    found.push(chosen);
                }
            }
            // A way with more changes is of interest only if no shorter one exists.
            if !ways.is_empty() {
                break;
            }
        }
    }
    WhyNot { asked, decision, ways }
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
    let mut state = state.copied();
    for fact in facts {
        let outcome = fact.copied().transition(&state, now.max(state.at));
        if outcome.answer != Answer::Accepted {
            return None;
        }
        let (entries, _) = entry::seal_all(state.head, now.max(state.at), outcome.records);
        entries.iter().for_each(|entry| state.apply(entry));
    }
    Some(state)
}

/// The changes that can matter: those that make a rule of the asked kind hold, and those that
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
    changes.truncate(TRIED);
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
