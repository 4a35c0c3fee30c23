//! The head of the queue: the demanded answer if the closure before it is another one, or if the
//! head resolves it differently.

use crate::oracle;
use serde_json::{Value, json};

use super::{
    demand::Demanded,
    names::{self, Named},
};

/// Applies D1, D2, D3, D11, D19 and D21 to the message that goes next.
pub(super) fn all(demanded: &mut Demanded<'_>) {
    let plan = demanded.value["run_loop"]["plan"].clone();
    let (told, trigger) = (&plan["resolution"], &plan["trigger"]);
    // The queue has no head, so nothing is resolved.
    if !told.is_object() {
        return;
    }
    let prior = demanded.value["closure"].clone();
    let waits = prior["outcome"] == "waiting";
    let conditions = [
        (
            2,
            waits
                && told["prior_closure_outcome"] == "waiting"
                && told["prior_waiting_reason"].is_null(),
        ),
        (3, told["prior_closure_outcome"] != prior["outcome"]),
        (11, waits && trigger["kind"] == "internal_followup" && trigger["contentful"] == true),
    ];
    let mut because: Vec<_> =
        conditions.iter().filter(|(_, holds)| *holds).map(|(number, _)| *number).collect();
    let mut resolution = if because.is_empty() { told.clone() } else { met(&prior, trigger) };

    let message = names::message(demanded.input, &demanded.value["run_loop"]["message_id"]);
    let named =
        names::named(demanded.input, &demanded.value["work_queue"]["current"], &message, trigger);
    let is_expected =
        trigger["contentful"] == true && prior["waiting_reason"] == "awaiting_external_change";
    let is_hint = trigger["kind"] == "system_tick" && trigger["contentful"] != true;
    match named {
        Named::Active if resolution["class"] != "resume_expected_wait" => {
            // D19: a hint that names an active wait ends it, even without content. D1: all other
            // messages end a wait by its id.
            because.push(if is_hint { 19 } else { 1 });
            resolution = matched(&resolution);
        }
        Named::Missed if resolution["matched_waiting_reason"] == true => {
            because.push(1);
            resolution = missed(&resolution, trigger);
        }
        Named::Nothing if names::is_foreign_prompt(&message) && is_expected => {
            // D21: a prompt that is not from the operator is what an external wait expects, and not
            // what a wait for the operator expects.
            because.push(21);
            resolution = matched(&resolution);
        }
        Named::Nothing
            if names::is_foreign_prompt(&message)
                && resolution["matched_waiting_reason"] == true =>
        {
            because.push(21);
            resolution = missed(&resolution, trigger);
        }
        _ => {}
    }
    if because.is_empty() {
        return;
    }
    let reenters = resolution["model_reentry"] == true;
    let mut decision = demanded.value["run_loop"]["decision"].clone();
    decision["decision"] = json!(if reenters { "StartModelTurn" } else { "ReduceMessageOnly" });
    decision["model_reentry"] = json!(reenters);
    decision["liveness_only"] = json!(!reenters);
    demanded.demand(&because, "/run_loop/plan/resolution", resolution);
    demanded.demand(&because, "/run_loop/decision", decision);
}

/// How this trigger resolves this closure. This is the operation `continuation`, which has its own
/// vectors of the reference runtime.
fn met(prior: &Value, trigger: &Value) -> Value {
    let mut given = json!({
        "contentful": false, "task_terminal": false, "task_blocking": false,
        "task_wait_policy": null, "wake_hint_source": null,
    });
    for (key, value) in trigger.as_object().into_iter().flatten() {
        given[key] = value.clone();
    }
    let prior = json!({ "outcome": prior["outcome"], "waiting_reason": prior["waiting_reason"] });
    let input = json!({ "op": "continuation", "prior": prior, "trigger": given });
    let answer = oracle::answer(&input.to_string()).unwrap_or_default();
    super::bare(&serde_json::from_str(&answer).unwrap_or_default())
}

/// The resolution of a message that is what the agent waited for.
fn matched(resolution: &Value) -> Value {
    resolved(resolution, ("resume_expected_wait", true, true), "matches_waiting_reason")
}

/// The resolution of a message that names none of the active waits: its cell of the table for no
/// match.
fn missed(resolution: &Value, trigger: &Value) -> Value {
    match trigger["kind"].as_str() {
        Some("operator_input") => {
            resolved(resolution, ("resume_override", true, false), "override_waiting_reason")
        }
        Some("task_result") if trigger["task_terminal"] == true => {
            resolved(resolution, ("resume_override", true, false), "terminal_task_result")
        }
        Some("system_tick") if trigger["contentful"] == true => resolved(
            resolution,
            ("liveness_only", false, false),
            "contentful_system_tick_expected_external_recheck",
        ),
        _ => {
            resolved(resolution, ("liveness_only", false, false), "does_not_satisfy_waiting_reason")
        }
    }
}

fn resolved(
    resolution: &Value,
    (class, reenters, matches): (&str, bool, bool),
    marker: &str,
) -> Value {
    const MARKERS: [&str; 5] = [
        "matches_waiting_reason",
        "override_waiting_reason",
        "contentful_system_tick_expected_external_recheck",
        "terminal_task_result",
        "does_not_satisfy_waiting_reason",
    ];
    let said = resolution["evidence"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut evidence: Vec<_> = said.filter(|said| !MARKERS.contains(said)).collect();
    evidence.push(marker);
    let mut changed = resolution.clone();
    changed["evidence"] = json!(evidence);
    changed["class"] = json!(class);
    changed["model_reentry"] = json!(reenters);
    changed["matched_waiting_reason"] = json!(matches);
    changed
}
