//! The oracle: answers conformance vectors with the product's own functions (feature `oracle`).
//!
//! A vector is an input and what the reference runtime answered. Nothing is decided here: an input
//! is read into the facts, the prior or the view that the product's function takes, and the
//! function is called.

mod asked;
mod closure;
mod continuation;
mod decide;
mod ledger;
mod task_merge;
mod trigger;

use alloc::string::String;

use wakeful_json::JsonError;

/// The operations that are answered, in the order of the vectors' documentation.
pub const OPERATIONS: [&str; 6] =
    ["closure", "continuation", "trigger", "decide", "ledger", "task_merge"];

#[derive(wakeful_json::Readable)]
struct Operation {
    op: String,
}

/// The answer to an input, as JSON in the shape of the vector's output.
///
/// # Errors
/// Where the input cannot be read, or names another operation.
pub fn answer(input: &str) -> Result<String, JsonError> {
    answer_without_rule(input, None)
}

/// The answer of a ladder that lacks one rule, or of a closure or continuation table that lacks one
/// row, for tests that none is idle; none is lacking where none is named.
///
/// # Errors
/// As [`answer`]; also where no rule is left that could fire.
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
