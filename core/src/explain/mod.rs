//! Explaining: the decision, the outcome of each rule, the obligations, and the entries behind each
//! (contract 11.1). Also one sentence for people, what would have to change for another decision
//! (contract 11.2), and the decision under another edition or policy. For operators: what they must
//! know first, and what is odd in a history.

mod change;
pub mod diagnose;
pub mod notice;
pub mod oddity;
mod sentence;
mod supposition;
pub mod table;
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
    notice::{Act, ActKind, Headline, Notice, NoticeKind},
    oddity::{Oddity, OddityKind},
    supposition::Supposition,
    why_not::{Way, WhyNot},
};

/// Everything to look at when an agent seems stuck.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Explanation {
    /// The newest entry of the explained history.
    pub head: Head,
    /// The lifecycle status of the agent.
    pub status: AgentStatus,
    /// The decision that would be made now.
    pub decision: Decision,
    /// What the agent does and why, in one sentence.
    pub sentence: String,
    /// The outcome of each rule, in the order of the edition.
    pub rules: Vec<RuleTrace>,
    /// The closure of the facts, with its reason.
    pub closure: Closure,
    /// The posture of the agent, with its reason.
    pub posture: AgentPosture,
    /// The durable reasons not to rest.
    pub obligations: Vec<Obligation>,
    /// What looks wrong, for people.
    pub diagnostics: Vec<Diagnostic>,
    /// The instant at which to look again, if there is one.
    pub next_wake: Option<Timestamp>,
    /// The scalars of the state.
    pub projection: Projection,
}

/// Explains a state at a boundary. Appends nothing, releases nothing (contract 1.5).
#[must_use]
pub fn explain(state: &State, boundary: Boundary, now: Timestamp) -> Explanation {
    // Not `to_decide`: an explanation names every item that could be offered.
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
