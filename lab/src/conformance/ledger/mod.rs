//! Judges the operation `ledger`. Its answer has many parts, so the differences of contract 13 are
//! judged part by part.
//!
//! There are two ways to compute the demanded answer. Both recompute it, so a difference is never
//! accepted for its condition alone:
//!
//! - D2, D3, D7, D14, D18 and D22 change the conclusions from the same facts. The demanded answer
//!   is made from the reference runtime's *own* answer ([`demand`]). Its uncut readiness gives the
//!   lists that it cuts. Its wait decision is the one that an asleep agent would get. Its counts
//!   give the closure. The head of the queue is computed in the same way, for D1, D2, D3, D11, D19
//!   and D21 ([`head`]).
//! - D13 and D17 change which records count, and the reference runtime cannot be asked about the
//!   remaining records alone. The contract demands that the other records have no effect: the
//!   answer must be the answer to the input without them ([`consistent`]). Only parts that are read
//!   from a class that lost a record may differ. `ledger_clean` shows that our answers to
//!   consistent inputs are the reference runtime's.

mod consistent;
mod demand;
mod head;
mod names;

use std::collections::BTreeSet;

use serde_json::Value;

use self::{consistent::Consistent, demand::Demanded};

/// The numbers of the Ds that explain a difference completely. Empty if a part stays unexplained.
pub(super) fn deliberate(input: &Value, expected: &Value, answer: &Value) -> Vec<u8> {
    let (expected, answer) = (bare(expected), bare(answer));
    let mut demanded = Demanded::new(input, &expected, &answer);
    demand::all(&mut demanded);
    // After `demand`, because the head of the queue meets the closure that `demand` has corrected.
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

/// Whether the answers are equal in every part that is compared. When idle, the reference runtime
/// asks its scheduler twice, first for a tick and then at the idle boundary, and it reports both
/// answers. Our ladder answers once. So the decision about the tick is compared if a tick is
/// triggered and the agent may tick. Otherwise the decision at the idle boundary is compared.
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

/// The names of the parts that differ: the keys of the answer, and those of its projection and
/// recovery.
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

/// The value without nulls, because an absent key and a null are equal.
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
