//! Conformance: vectors of the reference runtime, answered by our own functions and judged.
//!
//! A difference is deliberate only where the input meets the stated condition of a D of contract 13
//! *and* our answer is the one that the contract demands; `difference` has one narrow function for
//! each.

mod difference;
mod ledger;
mod oracle;
mod vectors;

use serde_json::Value;

pub use self::{
    oracle::{Oracle, OracleError},
    vectors::{Vector, VectorError, read_all},
};

/// What became of one vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Our answer is the reference runtime's.
    Equal,
    /// It differs, and the contract wants it so: the numbers of the Ds.
    Deliberate(Vec<u8>),
    /// It differs, and nothing says why: the first difference as path, expected, answered.
    Failed(String, String, String),
}

/// Judges an answer.
#[must_use]
pub fn judge(vector: &Vector, answer: &str) -> Judgement {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    let (input, expected, answered) =
        (parsed(vector.input.get()), parsed(vector.output.get()), parsed(answer));
    let Some((path, left, right)) =
        crate::compare::first_value_difference("$", &expected, &answered)
    else {
        return Judgement::Equal;
    };
    let deliberate = difference::deliberate(&vector.operation, &input, &expected, &answered);
    if deliberate.is_empty() {
        return Judgement::Failed(path, left, right);
    }
    // What the reference runtime is asked twice, ours answers once: the other asking must be
    // explained, and is not counted.
    let is_equal = vector.operation == "ledger"
        && ledger::is_equal_where_compared(&input, &expected, &answered);
    if is_equal { Judgement::Equal } else { Judgement::Deliberate(deliberate) }
}
