//! The oracle: answers conformance vectors with the product's own functions (feature `oracle`).
//!
//! A vector is an input and the answer of the reference runtime. This module decides nothing. It
//! reads an input into what the product's function takes, and calls that function.

mod asked;
mod closure;
mod continuation;
mod decide;
mod ledger;
mod task_merge;
mod trigger;

use wakeful_json::JsonError;

/// The supported operations, in the order of the vectors' documentation.
pub const OPERATIONS: [&str; 6] =
    ["closure", "continuation", "trigger", "decide", "ledger", "task_merge"];

#[derive(wakeful_json::Readable)]
struct Operation {
    op: String,
}

/// The answer to an input, as JSON in the shape of the vector's output.
///
/// # Errors
/// If the input cannot be read, or names an unknown operation.
pub fn answer(input: &str) -> Result<String, JsonError> {
    answer_without_rule(input, None)
}

/// The answer without one rule of the ladder, or without one row of the closure or continuation
/// table. Tests use it to show that each rule and row matters. `None` leaves nothing out.
///
/// # Errors
/// As [`answer`], and if none of the remaining rules or rows applies.
pub fn answer_without_rule(input: &str, rule: Option<&str>) -> Result<String, JsonError> {
    let operation: Operation = wakeful_json::read(input)?;
    match operation.op.as_str() {
        "closure" => closure::answer(input, rule),
        "continuation" => continuation::answer(input, rule),
        "trigger" => trigger::answer(input),
        "decide" => decide::answer(input, rule),
        "ledger" => ledger::answer(input, rule),
        "task_merge" => task_merge::answer(input),
        other => Err(JsonError::at_field(
            "op",
            format_args!("unknown operation `{other}`, expected one of {OPERATIONS:?}"),
        )),
    }
}
