//! The consistent part of an input: without records of other agents (D13), and without those that a
//! terminal status refuses (D17).

use std::collections::{BTreeMap, BTreeSet};

use crate::oracle;
use serde_json::{Value, json};

/// The order in which records are appended if they are given class by class.
const CLASSES: [&str; 9] = [
    "work_items",
    "tasks",
    "waiting_intents",
    "wait_conditions",
    "timers",
    "messages",
    "queue_entries",
    "events",
    "briefs",
];

/// An input without the inconsistent records, and the classes that lost records.
pub(super) struct Consistent {
    input: Value,
    without_foreign: BTreeSet<String>,
    without_refused: BTreeSet<String>,
}

impl Consistent {
    /// The consistent part; `None` if the whole input is consistent.
    pub(super) fn from_input(input: &Value) -> Option<Self> {
        let mut rest = Self {
            input: input.clone(),
            without_foreign: BTreeSet::new(),
            without_refused: BTreeSet::new(),
        };
        let mut kept = Vec::new();
        for (class, record, fate) in judged(input) {
            match fate {
                Fate::Kept => kept.push(json!({ "kind": class, "record": record })),
                Fate::KeptWithoutMirror => {
                    kept.push(json!({ "kind": class, "record": record }));
                    rest.without_refused.insert("wait_conditions".to_owned());
                }
                Fate::Foreign => drop(rest.without_foreign.insert(class)),
                Fate::Refused => drop(rest.without_refused.insert(class)),
            }
        }
        let took_any = !rest.without_foreign.is_empty() || !rest.without_refused.is_empty();
        let fields = rest.input.as_object_mut()?;
        fields.remove("records");
        fields.insert("log".into(), Value::Array(kept));
        took_any.then_some(rest)
    }

    /// Whether each of these parts is read from a class that lost a record.
    pub(super) fn explains(&self, differing: &BTreeSet<String>) -> bool {
        let lost: BTreeSet<_> =
            self.without_foreign.union(&self.without_refused).map(String::as_str).collect();
        differing.iter().all(|part| read_from(part).iter().any(|class| lost.contains(class)))
    }

    /// Whether the removed records have no effect: the answer must be the answer to the rest. The
    /// number of written events is not compared, because it is not derived from records.
    pub(super) fn has_answer(&self, answer: &Value) -> bool {
        let Ok(text) = oracle::answer(&self.input.to_string()) else { return false };
        let Ok(mut to_rest) = serde_json::from_str::<Value>(&text) else { return false };
        to_rest["events_on_disk"] = answer["events_on_disk"].clone();
        super::bare(&to_rest) == *answer
    }

    pub(super) fn numbers(&self) -> Vec<u8> {
        let d13 = (!self.without_foreign.is_empty()).then_some(13);
        let d17 = (!self.without_refused.is_empty()).then_some(17);
        d13.into_iter().chain(d17).collect()
    }
}

enum Fate {
    Kept,
    /// An intent counts, but the condition that mirrors it has ended with its own record.
    KeptWithoutMirror,
    Foreign,
    Refused,
}

/// The records that count, with their classes, in order.
pub(super) fn kept(input: &Value) -> Vec<(String, Value)> {
    let counts = |fate: &Fate| matches!(fate, Fate::Kept | Fate::KeptWithoutMirror);
    judged(input)
        .into_iter()
        .filter(|(.., fate)| counts(fate))
        .map(|(class, record, _)| (class, record))
        .collect()
}

/// Judges each record. Events have no agent. The first terminal status of an id stays, and the same
/// status may be recorded again.
fn judged(input: &Value) -> Vec<(String, Value, Fate)> {
    let agent = input["agent"]["id"].as_str().unwrap_or("default");
    let mut ended: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut fate = |class: &str, record: &Value| {
        let status = status(class, record);
        let key = (class.to_owned(), id(class, record));
        if class != "events" && owner(record) != agent {
            return Fate::Foreign;
        }
        if ended.get(&key).is_some_and(|ended| *ended != status) {
            return Fate::Refused;
        }
        // The mirror of an intent ends with it, unless a record of its own has ended it
        // first.
        let mirror = (class == "waiting_intents")
            .then(|| ("wait_conditions".to_owned(), format!("waiting_intent:{}", key.1)));
        let is_refused = mirror
            .as_ref()
            .and_then(|mirror| ended.get(mirror))
            .is_some_and(|ended| *ended != status);
        if is_terminal(&status) {
            if let Some(mirror) = mirror.filter(|_| !is_refused) {
                ended.insert(mirror, status.clone());
            }
            ended.insert(key, status);
        }
        if is_refused { Fate::KeptWithoutMirror } else { Fate::Kept }
    };
    let records = records(input).into_iter();
    records
        .map(|(class, record)| {
            let fate = fate(&class, &record);
            (class, record, fate)
        })
        .collect()
}

/// All records with their classes, in the order in which they are appended.
pub(super) fn records(input: &Value) -> Vec<(String, Value)> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let by_class = CLASSES.iter().flat_map(|class| {
        list(&input["records"][class]).into_iter().map(|record| ((*class).to_owned(), record))
    });
    let logged = list(&input["log"]).into_iter();
    by_class
        .chain(logged.map(|line| {
            (line["kind"].as_str().unwrap_or_default().to_owned(), line["record"].clone())
        }))
        .collect()
}

fn owner(record: &Value) -> &str {
    // Older records name the agent `session_id`, and short forms leave it out.
    record["agent_id"].as_str().or_else(|| record["session_id"].as_str()).unwrap_or("default")
}

fn id(class: &str, record: &Value) -> String {
    // The defaults are those that the core's oracle gives to short forms without an id.
    let (field, default) = match class {
        "work_items" => ("id", "work"),
        "tasks" => ("id", "task"),
        "waiting_intents" => ("id", "intent"),
        "wait_conditions" => ("id", "wait"),
        "timers" => ("id", "timer"),
        "queue_entries" => ("message_id", "msg"),
        _ => ("id", ""),
    };
    record[field].as_str().unwrap_or(default).to_owned()
}

fn status(class: &str, record: &Value) -> String {
    let field = if class == "work_items" { "state" } else { "status" };
    let spelled = record[field].as_str().unwrap_or_default();
    let status = match (class, spelled) {
        // The core reads this older name of the status in the same way.
        ("queue_entries", "interrupted") => "aborted",
        (_, other) => other,
    };
    status.to_owned()
}

fn is_terminal(status: &str) -> bool {
    let terminal = [
        "completed",
        "failed",
        "cancelled",
        "interrupted",
        "resolved",
        "expired",
        "processed",
        "aborted",
        "dropped",
        "interjected",
    ];
    terminal.contains(&status)
}

/// The classes from which a part is read. If none of them lost a record, the part must equal the
/// reference runtime's.
fn read_from(part: &str) -> &'static [&'static str] {
    const LISTS: &[&str] = &["work_items", "tasks", "waiting_intents", "wait_conditions"];
    const WAITS: &[&str] = &["work_items", "tasks", "waiting_intents", "wait_conditions", "timers"];
    const CLOSURE: &[&str] =
        &["work_items", "tasks", "waiting_intents", "wait_conditions", "timers", "briefs"];
    const QUEUE: &[&str] = &["messages", "queue_entries"];
    const POSTURE: &[&str] =
        &["work_items", "tasks", "waiting_intents", "wait_conditions", "queue_entries"];
    match part {
        "projection.active_tasks"
        | "projection.has_blocking_active_tasks"
        | "recovery.active_task_ids" => &["tasks"],
        "projection.active_timers" | "recovery.active_timer_ids" => &["timers"],
        "projection.current_work_item" | "due_rechecks" | "next_recheck_at" => &["work_items"],
        "projection.active_waiting_intents"
        | "projection.active_work_item_waiting_intents"
        | "projection.active_agent_waiting_intents" => &["waiting_intents"],
        "projection.runtime_error" => &["briefs"],
        "projection.current_work_item_scheduling_state"
        | "projection.queued_runnable_work_items"
        | "projection.queued_work_items"
        | "work_queue"
        | "work_reactivation_signal"
        | "waiting_contract_anchor" => LISTS,
        "wait_decision" | "idle_boundary" | "idle_boundary_direct" | "idle_tick" => WAITS,
        "posture" | "diagnostics" => POSTURE,
        "closure" => CLOSURE,
        "recovery.replay_message_ids" | "recovery.queue_order" | "recovery.bootstrap" => QUEUE,
        // The head of the queue, and the waits before it.
        "run_loop" => &[
            "messages",
            "queue_entries",
            "work_items",
            "tasks",
            "waiting_intents",
            "wait_conditions",
            "timers",
            "briefs",
        ],
        _ => &[],
    }
}
