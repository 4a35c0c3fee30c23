//! Conformance: our own functions answer the vectors of the reference runtime, and the answers are
//! judged.
//!
//! A difference is deliberate only under two conditions: the input meets the stated condition of a
//! D of contract 13, *and* our answer is the one that the contract demands. `difference` has one
//! narrow function for each D.

mod difference;
mod ledger;
mod vectors;

use serde_json::Value;

pub use self::vectors::{Vector, VectorError, read_all};

/// The judgement on one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Our answer equals the reference runtime's.
    Equal,
    /// It differs, and the contract demands this. The numbers of the Ds.
    Deliberate(Vec<u8>),
    /// It differs without an explanation. The first difference: path, expected and answered value.
    Failed(String, String, String),
}

/// Judges an answer.
#[must_use]
pub fn judge(vector: &Vector, answer: &str) -> Judgement {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    let (input, expected, answered) =
        (parsed(vector.input.get()), parsed(vector.output.get()), parsed(answer));
    let Some((path, left, right)) =
        wakeful::compare::first_value_difference("$", &expected, &answered)
    else {
        return Judgement::Equal;
    };
    let deliberate = difference::deliberate(&vector.operation, &input, &expected, &answered);
    if deliberate.is_empty() {
        return Judgement::Failed(path, left, right);
    }
    // The reference runtime answers two questions where ours answers one. A difference in the other
    // answer must be explained too, but it is not counted.
    let is_equal = vector.operation == "ledger"
        && ledger::is_equal_where_compared(&input, &expected, &answered);
    if is_equal { Judgement::Equal } else { Judgement::Deliberate(deliberate) }
}
