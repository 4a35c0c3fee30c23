//! Explaining: the decision, what each rule said, what is owed, and the entries behind each
//! (contract 11.1); in one sentence; and what would have to change for another decision (contract
//! 11.2); and what would be decided under another edition or policy.

mod change;
pub mod diagnose;
mod sentence;
mod supposition;
pub mod why_not;

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    derive::{
        closure::{self, Closure},
        obligation::Obligation,
        posture::{self, AgentPosture},
        projection::Projection,
        status,
    },
    ladder::{self, RuleTrace, View, owed},
    record::{
        chain::Head,
        control::AgentStatus,
        decision::{Boundary, Decision},
        diagnostic::Diagnostic,
    },
    state::State,
    time::Timestamp,
};

pub use self::{
    supposition::Supposition,
    why_not::{Way, WhyNot},
};

/// Everything that one looks at when an agent seems stuck.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Explanation {
    /// The history that is explained.
    pub head: Head,
    /// Where the agent stands.
    pub status: AgentStatus,
    /// What would be decided now.
    pub decision: Decision,
    /// What the agent does and why, in a sentence.
    pub sentence: String,
    /// What each rule said, in the order of the edition.
    pub rules: Vec<RuleTrace>,
    /// What the facts add up to.
    pub closure: Closure,
    /// The agent in one word.
    pub posture: AgentPosture,
    /// What is owed.
    pub obligations: Vec<Obligation>,
    /// What looks wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// When to look again, where an instant is known.
    pub next_wake: Option<Timestamp>,
    /// The scalars of the state.
    pub projection: Projection,
}

/// Explains a state at a boundary. Appends nothing, releases nothing (contract 1.5).
#[must_use]
pub fn explain(state: &State, boundary: Boundary, now: Timestamp) -> Explanation {
    let ruling = ladder::decide(state.control.edition, &View::new(state, boundary, now));
    Explanation {
        head: state.head,
        sentence: sentence::write(state, &ruling.decision, now),
        status: status::status(state),
        decision: ruling.decision,
        rules: ruling.trace,
        closure: closure::decide(&closure::Facts::from_state(state)),
        posture: posture::posture(state),
        obligations: owed::all(state),
        diagnostics: diagnose::all(state),
        next_wake: owed::next_wake(state, now),
        projection: Projection::new(state),
    }
}
