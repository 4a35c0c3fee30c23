//! The deliberate differences of contract 13, one narrow function each. It returns whether the
//! input meets the condition and the answer is the one that the contract demands.

use serde_json::{Value, json};

/// The numbers of the Ds that explain a difference completely. Empty if a part stays unexplained.
pub(super) fn deliberate(
    operation: &str,
    input: &Value,
    expected: &Value,
    answer: &Value,
) -> Vec<u8> {
    let candidates: &[(u8, Judge)] = match operation {
        "closure" => &[(2, d2_in_closure)],
        "continuation" => &[(11, d11)],
        "trigger" => &[(11, d11_in_trigger), (21, d21)],
        "decide" => &[(2, d2_in_decide), (4, d4), (7, d7), (18, d18), (22, d22)],
        // This answer has many parts, and each part may have its own explanation.
        "ledger" => return super::ledger::deliberate(input, expected, answer),
        _ => &[],
    };
    candidates
        .iter()
        .filter(|(_, judge)| judge(input, expected, answer))
        .map(|(number, _)| *number)
        .collect()
}

type Judge = fn(&Value, &Value, &Value) -> bool;

/// The object with some keys replaced.
fn with(value: &Value, changes: &[(&str, Value)]) -> Value {
    let mut changed = value.clone();
    for (key, to) in changes {
        changed[*key] = to.clone();
    }
    changed
}

/// D2: a wait for the runtime counts as external.
fn d2_in_closure(input: &Value, expected: &Value, answer: &Value) -> bool {
    input["facts"]["current_work_item_scheduling_state"] == "waiting_system"
        && expected["outcome"] == "waiting"
        && expected["waiting_reason"].is_null()
        && *answer == with(expected, &[("waiting_reason", json!("awaiting_external_change"))])
}

/// D2: a wait for the runtime gives the model a tick, once per key. It outranks the waits that only
/// rest.
fn d2_in_decide(input: &Value, expected: &Value, answer: &Value) -> bool {
    let asks_for_rest = matches!(
        input["input"]["type"].as_str(),
        Some("idle" | "continue_active" | "queued_available" | "wake_hint")
    );
    waits_for_system(input)
        && asks_for_rest
        && input["projection"]["turn_in_progress"] == false
        && expected["decision"] != "Stop"
        && is_demanded(answer, ("EmitSystemTick", "work_item_system_wait"))
        && answer["model_reentry"] == true
        && answer["work_item_id"] == input["projection"]["current_work_item"]["id"]
}

/// D11: an internal follow-up with content re-enters the model although the agent waits.
fn d11(input: &Value, expected: &Value, answer: &Value) -> bool {
    let trigger = &input["trigger"];
    let condition = trigger["kind"] == "internal_followup"
        && trigger["contentful"] == true
        && input["prior"]["outcome"] == "waiting";
    let Some(evidence) = expected["evidence"].as_array() else { return false };
    let mut demanded = evidence.clone();
    // The last evidence names the cell of the table; the facts before it stay the same.
    let marker = demanded.pop();
    demanded.push(json!("override_waiting_reason"));
    condition
        && marker == Some(json!("does_not_satisfy_waiting_reason"))
        && *answer
            == with(
                expected,
                &[
                    ("class", json!("resume_override")),
                    ("model_reentry", json!(true)),
                    ("evidence", Value::Array(demanded)),
                ],
            )
}

/// D11, if the trigger was read from a message.
fn d11_in_trigger(input: &Value, expected: &Value, answer: &Value) -> bool {
    let given = json!({ "prior": input["prior"], "trigger": expected["trigger"] });
    *answer == with(expected, &[("resolution", answer["resolution"].clone())])
        && d11(&given, &expected["resolution"], &answer["resolution"])
}

/// D21: a prompt that is not from the operator ends the waits that an external event ends, and no
/// others.
fn d21(input: &Value, expected: &Value, answer: &Value) -> bool {
    let message = &input["message"];
    let is_foreign_prompt = message["kind"] == "operator_prompt"
        && !(message["origin"]["kind"] == "operator" && message["trust"] == "trusted_operator");
    let contentful = expected["trigger"]["contentful"] == true;
    let demanded = match input["prior"]["waiting_reason"].as_str() {
        Some("awaiting_operator_input") => ("resume_override", false, "override_waiting_reason"),
        Some("awaiting_external_change") if contentful => {
            ("resume_expected_wait", true, "matches_waiting_reason")
        }
        _ => return false,
    };
    let Some(mut evidence) = expected["resolution"]["evidence"].as_array().cloned() else {
        return false;
    };
    // As in `d11`: the last evidence names the cell of the table.
    evidence.pop();
    evidence.push(json!(demanded.2));
    let resolution = with(
        &expected["resolution"],
        &[
            ("class", json!(demanded.0)),
            ("matched_waiting_reason", json!(demanded.1)),
            ("evidence", Value::Array(evidence)),
        ],
    );
    is_foreign_prompt
        && input["prior"]["outcome"] == "waiting"
        && *answer == with(expected, &[("resolution", resolution)])
}

fn is_idle(input: &Value) -> bool {
    input["input"]["type"] == "idle"
}

fn has_runnable_work(input: &Value) -> bool {
    let projection = &input["projection"];
    projection["current_work_item"].is_object()
        && projection["current_work_item_scheduling_state"] == "runnable"
        || projection["queued_runnable_work_items"]
            .as_array()
            .is_some_and(|items| !items.is_empty())
}

/// The wait that rule 8 finds in a projection, as decision kind and reason.
fn wait_of(input: &Value) -> Option<(&'static str, &'static str)> {
    let projection = &input["projection"];
    let positive = |key: &str| projection[key].as_u64().is_some_and(|count| count > 0);
    if positive("active_agent_waiting_intents") {
        return Some(("WaitForExternalChange", "active_agent_waiting_intents"));
    }
    if positive("active_timers") {
        return Some(("WaitForTimer", "active_timers"));
    }
    if !projection["current_work_item"].is_object() {
        return None;
    }
    match projection["current_work_item_scheduling_state"].as_str()? {
        "waiting_operator" => Some(("WaitForOperator", "work_item_needs_input")),
        "waiting_task" => Some(("WaitForTask", "work_item_task_wait")),
        "waiting_external" => Some(("WaitForExternalChange", "work_item_external_wait")),
        "waiting_timer" => Some(("WaitForTimer", "work_item_timer_wait")),
        _ => None,
    }
}

fn waits_for_system(input: &Value) -> bool {
    let projection = &input["projection"];
    projection["current_work_item"].is_object()
        && projection["current_work_item_scheduling_state"] == "waiting_system"
}

/// The demanded decision kind and reason if there is no tick, by rules 7 to 9.
fn rest_of(input: &Value) -> (&'static str, &'static str) {
    let projection = &input["projection"];
    if waits_for_system(input) {
        return ("EmitSystemTick", "work_item_system_wait");
    }
    // Rule 8 waits for nothing while an item could continue.
    if let (Some(wait), false) = (wait_of(input), has_runnable_work(input)) {
        return wait;
    }
    // The row `queue_not_empty` of rule 9 is only for agents that are not asleep.
    if has_messages(input) && projection["status"] != "asleep" {
        return ("Noop", "queue_not_empty");
    }
    match projection["status"].as_str() {
        Some("asleep" | "awaiting_task") => ("StayIdle", "already_asleep"),
        _ => ("Sleep", "no_pending_scheduler_facts"),
    }
}

fn has_messages(input: &Value) -> bool {
    input["projection"]["queue_len"].as_u64().is_some_and(|count| count > 0)
}

fn is_demanded(answer: &Value, demanded: (&str, &str)) -> bool {
    answer["decision"] == demanded.0 && answer["reason"] == demanded.1
}

/// D4: keys suppress ticks, not a flag that is set after a turn.
fn d4(input: &Value, expected: &Value, answer: &Value) -> bool {
    let given = &input["input"];
    given["type"] == "continue_active"
        && given["suppressed"] == true
        && expected["reason"] == "continue_active_suppressed_after_model_reentry_continuation"
        && if given["duplicate"]["kind"] == "continue_active_brief" {
            is_demanded(answer, ("Noop", "duplicate_continue_active"))
        } else {
            is_demanded(answer, ("EmitSystemTick", "continue_active"))
                && answer["work_item_id"] == given["work_item"]["id"]
        }
}

/// D7: an asleep agent is evaluated against the facts.
fn d7(input: &Value, expected: &Value, answer: &Value) -> bool {
    is_idle(input)
        && input["projection"]["status"] == "asleep"
        && expected["reason"] == "already_asleep"
        && input["projection"]["turn_in_progress"] == false
        && is_demanded(answer, rest_of(input))
}

/// D18: an open run outranks everything but a stop at the idle boundary.
fn d18(input: &Value, expected: &Value, answer: &Value) -> bool {
    let in_progress = input["projection"]["turn_in_progress"] == true;
    in_progress
        && input["input"]["type"] != "message"
        && expected["decision"] != "Stop"
        && is_demanded(answer, ("Noop", names_queue_first(input)))
}

/// The reason that is given for an open run. The queue is named first, unless the question is about
/// a tick.
fn names_queue_first(input: &Value) -> &'static str {
    let asks_for_tick = !is_idle(input) || input["boundary"] == "idle_tick";
    if has_messages(input) && !asks_for_tick { "queue_not_empty" } else { "turn_in_progress" }
}

/// D22: awaiting_task is treated like asleep.
fn d22(input: &Value, _: &Value, answer: &Value) -> bool {
    is_idle(input)
        && input["projection"]["status"] == "awaiting_task"
        && input["projection"]["turn_in_progress"] == false
        && is_demanded(answer, rest_of(input))
}
