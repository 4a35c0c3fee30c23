//! Why not: the smallest changes to facts under which another decision would be made (contract
//! 11.2).

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

/// How many changes are tried together.
const TOGETHER: usize = 3;

/// How many changes are tried at all; the list is ordered by the ladder, so the nearest ones come
/// first.
const TRIED: usize = 40;

/// What would have to change for another decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WhyNot {
    /// What was asked for.
    pub asked: DecisionKind,
    /// What is decided now.
    pub decision: Decision,
    /// The ways to get what was asked for, the shortest first; none where it is decided already, or
    /// no change of the list leads there.
    pub ways: Vec<Way>,
}

/// Changes that together lead to the decision, none of which can be left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Way {
    /// What they say, in words.
    pub says: Vec<String>,
    /// The facts, as JSON text that can be proposed.
    pub facts: Vec<RawJson>,
    /// The decision that they lead to.
    pub decision: Decision,
}

/// What would have to change for a decision of this kind. Appends nothing: each way was applied to
/// a copy and decided.
#[must_use]
pub fn why_not(state: &State, boundary: Boundary, asked: DecisionKind, now: Timestamp) -> WhyNot {
    let decision = decide(state, boundary, now);
    let mut ways = Vec::new();
    if decision.kind != asked {
        let changes = candidates(state, boundary, asked, now);
        let mut found: Vec<Vec<usize>> = Vec::new();
        for together in 1..=TOGETHER {
            for chosen in subsets(changes.len(), together) {
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
            // What needs more is of interest only where less does not do.
            if !ways.is_empty() {
                break;
            }
        }
    }
    WhyNot { asked, decision, ways }
}

fn decide(state: &State, boundary: Boundary, now: Timestamp) -> Decision {
    ladder::decide(state.control.edition, &View::new(state, boundary, now.max(state.at))).decision
}

/// The state with these facts; none where one of them is refused.
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

/// The changes that can matter: those that let a rule of the asked kind hold, and those that take
/// away what stands above it.
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
