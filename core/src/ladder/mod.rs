//! The ladder: one function, one decision per boundary (contract 7).
//!
//! [`View`] is plain data read from the state. The rules are a list of data over it, and an edition
//! is an order of the rules. The decision, the trace of an explanation and the tables of the
//! documentation all come from that one list.

pub mod atom;
pub mod edition;
pub mod owed;
pub mod rule;
pub mod ruling;
pub mod view;

use alloc::vec::Vec;

use crate::{ladder::ruling::Ruling, record::edition::Edition};

pub use self::rule::{Rule, RuleOutcome, RuleTrace};

pub use self::view::View;

/// The decision for this view, and the outcome of each rule.
///
/// The first rule whose guard holds and whose key is unspent wins. A suppressed rule falls through
/// to the next (contract 7.1).
#[must_use]
pub fn decide(edition: Edition, view: &View) -> Ruling {
    // INVARIANT: the guard of the last rule of every edition always holds, so one rule fires.
    decide_by(edition, edition.rules().iter(), view)
        .unwrap_or_else(|trace| ruling::assemble(edition, view, &rule::REST_SLEEP, trace))
}

/// Decides by a subset of the rules, in the given order.
///
/// # Errors
/// If no rule fires: the outcome of each of them.
pub fn decide_by<'a>(
    edition: Edition,
    rules: impl Iterator<Item = &'a Rule>,
    view: &View,
) -> Result<Ruling, Vec<RuleTrace>> {
    let mut fired: Option<&Rule> = None;
    let mut trace = Vec::with_capacity(rules.size_hint().0);
    // All rules are evaluated, also after one has fired: an explanation shows each (contract 7.1).
    for rule in rules {
        let outcome = match rule.evaluate(view) {
            RuleOutcome::Fired if fired.is_some() => RuleOutcome::Outranked,
            outcome => outcome,
        };
        if outcome == RuleOutcome::Fired {
            fired = Some(rule);
        }
        trace.push(RuleTrace { rule: rule.id, says: rule.says, outcome });
    }
    match fired {
        Some(rule) => Ok(ruling::assemble(edition, view, rule, trace)),
        None => Err(trace),
    }
}
