//! The waits that a message names, and whether one of them is active (contract 5.15). D1 and D19
//! depend on this.

use std::collections::BTreeMap;

use serde_json::Value;

use super::consistent;

/// Whether a message names a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// It names nothing, so its class decides.
    Nothing,
    /// It names something, but not an active wait that it can end.
    Missed,
    /// It names an active wait that it can end.
    Active,
}

type Latest = BTreeMap<String, Value>;

/// The latest record of each id in a class. Records of other agents and refused records do not
/// count.
pub(super) fn latest(input: &Value, class: &str) -> Latest {
    let records = consistent::kept(input).into_iter().filter(|(of, _)| of == class);
    records.filter_map(|(_, record)| Some((record["id"].as_str()?.to_owned(), record))).collect()
}

/// The message with this id; null if there is none.
pub(super) fn message(input: &Value, id: &Value) -> Value {
    id.as_str().and_then(|id| latest(input, "messages").remove(id)).unwrap_or_default()
}

/// Whether a prompt is not from the operator. Only operator origin with operator trust is (contract
/// 5.19).
pub(super) fn is_foreign_prompt(message: &Value) -> bool {
    let is_operators =
        message["origin"]["kind"] == "operator" && message["trust"] == "trusted_operator";
    message["kind"] == "operator_prompt" && !is_operators
}

/// Whether a message names a wait, given the trigger that the reference runtime reads from it.
pub(super) fn named(input: &Value, current: &Value, message: &Value, trigger: &Value) -> Named {
    let is_foreign_prompt = is_foreign_prompt(message);
    match trigger["kind"].as_str() {
        Some("operator_input") if !is_foreign_prompt => operator(input, current, message),
        Some("operator_input" | "external_event") => {
            external(input, &reference_ids(message), trigger["contentful"] == true)
        }
        Some("system_tick") => tick(input, message),
        Some("timer_fire") => timer(input, message),
        Some("task_result") => task(input, message, trigger["task_terminal"] == true),
        _ => Named::Nothing,
    }
}

fn found(active: bool) -> Named {
    if active { Named::Active } else { Named::Missed }
}

fn is_active(record: &Value) -> bool {
    // Short forms leave out the status of a record that is active.
    record["status"].as_str().is_none_or(|status| status == "active" || status == "scheduled")
}

fn sources<'a>(condition: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    condition["wake_sources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(move |source| source["kind"] == kind)
}

/// Operator input always names the operator waits of the item that it is about.
fn operator(input: &Value, current: &Value, message: &Value) -> Named {
    let about = message["work_item_id"].as_str().or_else(|| current.as_str());
    let Some(about) = about else { return Named::Missed };
    let asks = latest(input, "work_items")
        .get(about)
        .is_some_and(|item| item["state"] != "completed" && item["plan_status"] == "needs_input");
    let waits = latest(input, "wait_conditions").values().any(|condition| {
        is_active(condition)
            && condition["kind"] == "operator"
            && condition["work_item_id"] == about
    });
    found(asks || waits)
}

/// The intent and the external trigger that a message refers to.
struct Ids {
    intent: Option<String>,
    trigger: Option<String>,
}

/// The references come first, then the metadata without surrounding white space, then the callback
/// that delivered the message.
fn reference_ids(message: &Value) -> Ids {
    let refers = |key: &str| {
        let noted = || message["metadata"][key].as_str().map(|id| id.trim().to_owned());
        let hinted =
            || message["metadata"]["wake_hint"][key].as_str().map(|id| id.trim().to_owned());
        let given = message["source_refs"][key].as_str().map(ToOwned::to_owned);
        given
            .or_else(|| noted().filter(|id| !id.is_empty()))
            .or_else(|| hinted().filter(|id| !id.is_empty()))
    };
    let callback = message["origin"]["descriptor_id"]
        .as_str()
        .filter(|_| message["origin"]["kind"] == "callback");
    let trigger = refers("external_trigger_id").or_else(|| callback.map(ToOwned::to_owned));
    Ids {
        intent: refers("waiting_intent_id").filter(|id| !id.is_empty()),
        trigger: trigger.filter(|id| !id.is_empty()),
    }
}

fn external(input: &Value, ids: &Ids, can_end: bool) -> Named {
    if ids.intent.is_none() && ids.trigger.is_none() {
        return Named::Nothing;
    }
    let intents = latest(input, "waiting_intents");
    let mut active = intents.iter().filter(|(_, intent)| is_active(intent));
    let by_intent = active.any(|(id, intent)| {
        let serves = intent["external_trigger_id"].as_str().unwrap_or("trigger");
        ids.intent.as_deref() == Some(id)
            || ids.trigger.as_deref().is_some_and(|trigger| trigger == serves || serves.is_empty())
    });
    let conditions = latest(input, "wait_conditions");
    // The condition that mirrors an intent is not asked: it follows its intent.
    let by_condition = conditions.iter().filter(|(id, _)| !id.starts_with("waiting_intent:")).any(
        |(_, condition)| {
            let is_external = condition["kind"].as_str().unwrap_or("external") == "external";
            let named: Vec<_> = sources(condition, "external_ingress")
                .filter_map(|source| source["external_trigger_id"].as_str())
                .collect();
            let serves = ids
                .trigger
                .as_deref()
                .is_some_and(|trigger| named.is_empty() || named.contains(&trigger));
            is_active(condition) && is_external && serves
        },
    );
    found(can_end && (by_intent || by_condition))
}

/// The tick of a hint ends the wait that it names, with or without a body (D19). A work-queue tick
/// is about work and ends no wait.
fn tick(input: &Value, message: &Value) -> Named {
    let noted = &message["metadata"];
    if noted["work_queue"].is_object() {
        return Named::Missed;
    }
    let id = |key: &str| noted["wake_hint"][key].as_str().map(ToOwned::to_owned);
    external(
        input,
        &Ids { intent: id("waiting_intent_id"), trigger: id("external_trigger_id") },
        true,
    )
}

fn timer(input: &Value, message: &Value) -> Named {
    let noted = message["metadata"]["timer_id"].as_str().map(str::trim).filter(|id| !id.is_empty());
    let origin =
        message["origin"]["timer_id"].as_str().filter(|_| message["origin"]["kind"] == "timer");
    let Some(id) = message["source_refs"]["timer_id"].as_str().or(noted).or(origin) else {
        return Named::Nothing;
    };
    let rings = latest(input, "timers").get(id).is_some_and(is_active);
    let waits = latest(input, "wait_conditions").values().any(|condition| {
        is_active(condition) && sources(condition, "timer").any(|source| source["timer_id"] == id)
    });
    found(rings || waits)
}

fn task(input: &Value, message: &Value, ended: bool) -> Named {
    let noted = message["metadata"]["task_id"]
        .as_str()
        .filter(|_| message["metadata"]["task_kind"].is_string());
    let Some(task) = noted else { return Named::Nothing };
    let waits = latest(input, "wait_conditions").values().any(|condition| {
        is_active(condition)
            && sources(condition, "task_result").any(|source| source["task_id"] == task)
    });
    found(ended && waits)
}
