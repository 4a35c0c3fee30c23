//! Judging operation `ledger`: one answer of many parts, so the differences of contract 13 are
//! judged part by part.
//!
//! Two ways lead to what is demanded, and both recompute it, so that no difference is waved through
//! for its condition alone:
//!
//! - D2, D3, D7, D14, D18 and D22 change what is said about the same facts. What they demand is
//!   made from the reference runtime's *own* answer: its uncut readiness gives the lists that it
//!   cuts, its wait decision the one that an asleep agent would get, its counts the closure
//!   ([`demand`]). The head of the queue likewise, for D1, D2, D3, D11, D19 and D21 ([`head`]).
//! - D13 and D17 change which records count, and the reference runtime cannot be asked about the
//!   rest alone. Demanded is that the others have no say at all: the answer is the one to the input
//!   without them ([`consistent`]), and only parts that are read from classes that lost a record
//!   may differ. That our answers to consistent inputs are the reference runtime's is what
//!   `ledger_clean` shows.

mod consistent;
mod demand;
mod head;
mod names;

use std::collections::BTreeSet;

use serde_json::Value;

use self::{consistent::Consistent, demand::Demanded};

/// The numbers of the Ds that explain a difference completely; none where something stays
/// unexplained.
pub(super) fn deliberate(input: &Value, expected: &Value, answer: &Value) -> Vec<u8> {
    let (expected, answer) = (bare(expected), bare(answer));
    let mut demanded = Demanded::new(input, &expected, &answer);
    demand::all(&mut demanded);
    head::all(&mut demanded);
    let mut numbers = demanded.numbers_that_hold();
    let differing = differing(&demanded.value, &answer);
    if differing.is_empty() {
        return numbers.into_iter().collect();
    }
    match Consistent::from_input(input) {
        Some(rest) if rest.explains(&differing) && rest.has_answer(&answer) => {
            numbers.extend(rest.numbers());
            numbers.into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Whether the answers are equal in every part that is compared. The reference runtime asks its
/// scheduler twice when idle, first for a tick and then at the idle boundary, and tells the parts
/// of both; our ladder answers once. Compared is the decision about the tick, where one is
/// triggered and the agent may tick, and the one at the idle boundary everywhere else.
pub(super) fn is_equal_where_compared(input: &Value, expected: &Value, answer: &Value) -> bool {
    let (mut expected, mut answer) = (bare(expected), bare(answer));
    let may_tick = matches!(
        input["agent"]["status"].as_str(),
        None | Some("booting" | "awake_idle" | "asleep")
    ) && input["agent"]["pending"].as_u64().unwrap_or(0) == 0;
    let trigger = expected["idle_tick"]["trigger"].as_str();
    let asks_for_tick = may_tick && trigger.is_some_and(|trigger| trigger != "blocked_recheck");
    for value in [&mut expected, &mut answer] {
        let Some(parts) = value.as_object_mut() else { return false };
        parts.remove("idle_boundary_direct");
        parts.remove("wait_decision");
        parts.remove(if asks_for_tick { "idle_boundary" } else { "idle_tick" });
    }
    expected == answer
}

/// The names of the parts that differ: the keys of the answer, and those of its projection.
fn differing(demanded: &Value, answer: &Value) -> BTreeSet<String> {
    let differing_keys = |prefix: &str, left: &Value, right: &Value| {
        let keys = |value: &Value| {
            value
                .as_object()
                .map(|fields| fields.keys().cloned().collect::<Vec<_>>())
                .unwrap_or_default()
        };
        let all: BTreeSet<_> = keys(left).into_iter().chain(keys(right)).collect();
        all.into_iter()
            .filter(|key| left[key] != right[key])
            .map(|key| format!("{prefix}{key}"))
            .collect::<Vec<_>>()
    };
    let mut differing: BTreeSet<_> = differing_keys("", demanded, answer).into_iter().collect();
    for part in ["projection", "recovery"] {
        if differing.remove(part) {
            differing.extend(differing_keys(&format!("{part}."), &demanded[part], &answer[part]));
        }
    }
    differing
}

/// The value without nulls: an absent key and a null are the same.
fn bare(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key.clone(), bare(value)))
                .collect(),
        ),
        Value::Array(values) => Value::Array(values.iter().map(bare).collect()),
        other => other.clone(),
    }
}
