//! The demanded answer if the reference runtime concludes something else from the same facts. It is
//! made from the reference runtime's own answer.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wakeful_core::time::Timestamp;

use super::{consistent, names};

/// The reference runtime's answer, in which the demanded values replace its own, part by part.
pub(super) struct Demanded<'a> {
    pub(super) input: &'a Value,
    pub(super) answer: &'a Value,
    pub(super) value: Value,
    changes: Vec<(u8, &'static str)>,
}

impl<'a> Demanded<'a> {
    pub(super) fn new(input: &'a Value, expected: &Value, answer: &'a Value) -> Self {
        Self { input, answer, value: expected.clone(), changes: Vec::new() }
    }

    /// Puts the demanded value at a JSON pointer. Notes the Ds that demand it if the value differs.
    pub(super) fn demand(&mut self, because: &[u8], part: &'static str, demanded: Value) {
        let demanded = super::bare(&demanded);
        let Some((above, key)) = part.rsplit_once('/') else { return };
        let Some(fields) = self.value.pointer_mut(above).and_then(Value::as_object_mut) else {
            return;
        };
        let before = fields.remove(key).unwrap_or(Value::Null);
        if before != demanded {
            self.changes.extend(because.iter().map(|number| (*number, part)));
        }
        // An absent key and a null are equal, so a null is not put in (see `bare`).
        if !demanded.is_null() {
            fields.insert(key.to_owned(), demanded);
        }
    }

    /// The Ds that changed a part, if our answer has that part as demanded.
    pub(super) fn numbers_that_hold(&self) -> BTreeSet<u8> {
        let holds = |part: &str| self.value.pointer(part) == self.answer.pointer(part);
        self.changes.iter().filter(|(_, part)| holds(part)).map(|(number, _)| *number).collect()
    }

    pub(super) fn status(&self) -> &str {
        self.value["projection"]["status"].as_str().unwrap_or_default()
    }

    fn has_open_run(&self) -> bool {
        self.value["projection"]["turn_in_progress"] == true
    }

    fn pending(&self) -> u64 {
        self.input["agent"]["pending"].as_u64().unwrap_or(0)
    }

    /// The ids of the readiness lines that meet a condition, in the order of the lists.
    fn lines(&self, meets: impl Fn(&Value) -> bool) -> Vec<Value> {
        let lines = self.value["work_queue"]["readiness"].as_array();
        lines
            .into_iter()
            .flatten()
            .filter(|line| meets(line))
            .map(|line| line["id"].clone())
            .collect()
    }
}

/// Applies D2, D3, D7, D14, D18 and D22.
pub(super) fn all(demanded: &mut Demanded<'_>) {
    // The order matters: the closure reads the error of D3, and the idle boundary the wait decision
    // of D2.
    d14(demanded);
    d3(demanded);
    d2(demanded);
    closure(demanded);
    idle_boundary(demanded);
}

/// D14: no list is cut at five or three items. The reference runtime cuts these lists, but its
/// readiness has all items.
fn d14(demanded: &mut Demanded<'_>) {
    let class = |line: &Value, class: &str| line["candidate_class"] == class;
    let runnable = demanded.lines(|line| class(line, "queued_runnable"));
    let triggered = demanded.lines(|line| class(line, "triggered_blocked"));
    let blocked =
        demanded.lines(|line| class(line, "blocked") && line["scheduling_state"] != "waiting_task");
    if triggered.len() > 3 {
        demanded.demand(&[14], "/work_queue/triggered_blocked", Value::Array(triggered));
    }
    if blocked.len() > 3 {
        demanded.demand(&[14], "/work_queue/blocked", Value::Array(blocked));
    }
    if runnable.len() > 5 {
        let part = "queued_runnable_work_items";
        let list =
            |value: &Value| value["projection"][part].as_array().cloned().unwrap_or_default();
        let (told, answered) = (list(&demanded.value), list(demanded.answer));
        // The items that the cut hides must be the runnable items of the readiness, as they were
        // recorded last.
        let records = names::latest(demanded.input, "work_items");
        let hidden: Vec<_> = answered.into_iter().skip(told.len()).collect();
        let are_named = hidden.iter().map(|item| &item["id"]).eq(runnable.iter().skip(told.len()));
        let recorded = |item: &Value| {
            item["id"]
                .as_str()
                .and_then(|id| records.get(id))
                .is_some_and(|record| is_record(item, record))
        };
        if are_named && hidden.iter().all(recorded) {
            let whole = told.into_iter().chain(hidden).collect();
            demanded.demand(&[14], "/projection/queued_runnable_work_items", Value::Array(whole));
        }
        demanded.demand(&[14], "/projection/queued_work_items", json!(runnable.len()));
        demanded.demand(&[14], "/work_queue/queued_runnable", Value::Array(runnable));
    }
}

/// Whether an item has the same fields as a record. An instant may be spelt differently.
fn is_record(item: &Value, record: &Value) -> bool {
    let instant = |value: &Value| Timestamp::parse(value.as_str()?).ok();
    let fields = |value: &Value| {
        value
            .as_object()
            .map(|fields| fields.keys().cloned().collect::<BTreeSet<_>>())
            .unwrap_or_default()
    };
    let is_empty = |value: &Value| value.is_null() || *value == json!([]);
    fields(item).union(&fields(record)).all(|key| {
        let (said, recorded) = (&item[key], &record[key]);
        match key.as_str() {
            "session_id" => *recorded == item["agent_id"],
            "agent_id" if recorded.is_null() => true,
            "workspace_id" if recorded.is_null() => *said == "agent_home",
            _ => {
                said == recorded
                    || is_empty(said) && is_empty(recorded)
                    || instant(said).is_some() && instant(said) == instant(recorded)
            }
        }
    })
}

/// D3: an error holds while no result is newer, however many events or briefs came since.
fn d3(demanded: &mut Demanded<'_>) {
    const WINDOW: usize = 64;
    let records = consistent::records(demanded.input);
    let newest = |class: &str, kind: &str| {
        let of_kind = records.iter().filter(|(of, record)| of == class && record["kind"] == kind);
        of_kind
            .filter_map(|(_, record)| Timestamp::parse(record["created_at"].as_str()?).ok())
            .max()
    };
    // The reference runtime reads only this window, so a difference needs a longer history.
    let briefs = records.iter().filter(|(class, _)| class == "briefs").count();
    let events = demanded.value["events_on_disk"]
        .as_u64()
        .and_then(|count| usize::try_from(count).ok())
        .unwrap_or(0);
    if events > WINDOW || briefs > WINDOW {
        let holds = newest("events", "runtime_error")
            .is_some_and(|error| newest("briefs", "result").is_none_or(|result| error > result));
        demanded.demand(&[3], "/projection/runtime_error", json!(holds));
    }
}

/// D2: an item's wait for the runtime gives the model a tick. It outranks the waits that only rest,
/// and other work.
fn d2(demanded: &mut Demanded<'_>) {
    let waiting = demanded.lines(|line| line["scheduling_state"] == "waiting_system");
    let current = &demanded.value["work_queue"]["current"];
    // The current item goes first. After it any item may go first, because the answer does not give
    // the order of their conditions.
    let first = if waiting.contains(current) {
        current.clone()
    } else {
        demanded.answer["wait_decision"]["work_item_id"].clone()
    };
    if !waiting.contains(&first) {
        return;
    }
    let tick = json!({
        "decision": "EmitSystemTick",
        "reason": "work_item_system_wait",
        "model_reentry": true,
        "liveness_only": false,
        "work_item_id": first,
        "evidence": ["current_work_item_scheduling_state=WaitingSystem"],
    });
    if demanded.value["idle_tick"]["trigger"].is_null() {
        demanded.demand(&[2], "/idle_tick/decision", at(&tick, "idle_tick"));
    }
    demanded.demand(&[2], "/wait_decision", tick);
}

fn at(decision: &Value, boundary: &str) -> Value {
    let mut decision = decision.clone();
    decision["boundary"] = json!(boundary);
    decision
}

/// The closure by contract 6.1, if the reference runtime's closure depends on something that a D
/// changes: D2 changes the reason of a wait for the runtime, D3 the error.
fn closure(demanded: &mut Demanded<'_>) {
    let projection = &demanded.value["projection"];
    let told = &demanded.value["closure"];
    let error = projection["runtime_error"] == true;
    let state = projection["current_work_item_scheduling_state"].as_str();
    let rests = demanded.status() == "asleep";
    let evidence: Vec<_> =
        told["evidence"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let conditions =
        [(2, state == Some("waiting_system")), (3, error != evidence.contains(&"runtime_error"))];
    let because: Vec<_> =
        conditions.iter().filter(|(_, holds)| *holds).map(|(number, _)| *number).collect();
    // Without these conditions the reference runtime's own closure is the demanded one.
    if because.is_empty() {
        return;
    }
    let positive = |count: &str| projection[count].as_u64().is_some_and(|count| count > 0);
    let terminal = settled(&demanded.input["agent"]);
    let signal = &demanded.value["work_reactivation_signal"];
    let failed = terminal.filter(|kind| *kind != "completed");
    let (outcome, reason, marker) = if error {
        ("failed", None, None)
    } else if demanded.has_open_run() {
        ("waiting", Some("awaiting_external_change"), Some("turn_in_progress".to_owned()))
    } else if let Some(kind) = failed {
        ("failed", None, Some(format!("turn_terminal_{kind}")))
    } else if terminal.is_none()
        && demanded.input["agent"]["turn_index"].as_u64().is_some_and(|index| index > 0)
    {
        ("waiting", Some("awaiting_external_change"), Some("turn_terminal_missing".to_owned()))
    } else if signal.is_object() {
        ("continuable", None, Some("runnable_work_present".to_owned()))
    } else {
        let waited_for = match state {
            Some("waiting_operator") => Some("awaiting_operator_input"),
            _ if positive("active_agent_waiting_intents") => Some("awaiting_external_change"),
            _ if positive("active_timers") => Some("awaiting_timer"),
            Some("waiting_task") => Some("awaiting_task_result"),
            Some("waiting_external" | "waiting_system") => Some("awaiting_external_change"),
            Some("waiting_timer") => Some("awaiting_timer"),
            _ => None,
        };
        match waited_for {
            Some(reason) => ("waiting", Some(reason), None),
            None => ("completed", None, Some("no_waiting_condition".to_owned())),
        }
    };
    let facts = evidence
        .into_iter()
        .filter(|said| !is_marker(said) && !matches!(*said, "runtime_error" | "runtime_sleeping"));
    let mut evidence: Vec<_> = error.then_some("runtime_error").into_iter().chain(facts).collect();
    evidence.extend(rests.then_some("runtime_sleeping"));
    evidence.extend(
        (outcome == "completed" && terminal == Some("completed"))
            .then_some("turn_terminal_completed"),
    );
    evidence.extend(marker.as_deref());
    let closure = json!({
        "outcome": outcome,
        "waiting_reason": reason,
        "work_signal": if outcome == "continuable" { signal.clone() } else { Value::Null },
        "runtime_posture": if rests { "sleeping" } else { "awake" },
        "evidence": evidence,
    });
    demanded.demand(&because, "/closure", closure);
}

/// How the newest turn ended, if it ended.
fn settled(agent: &Value) -> Option<&str> {
    let last = &agent["last_turn_terminal"];
    let is_newest =
        last["turn_index"].as_u64().unwrap_or(0) == agent["turn_index"].as_u64().unwrap_or(0);
    last["kind"].as_str().filter(|_| is_newest)
}

/// Evidence that names the row of the table, not a fact. It comes last.
fn is_marker(said: &str) -> bool {
    matches!(said, "turn_in_progress" | "runnable_work_present" | "no_waiting_condition")
        || said.starts_with("turn_terminal_")
}

/// D18: an open run outranks all but a stop. D7, D22: an agent that is asleep or awaits a task is
/// evaluated against the facts. The reference runtime's own wait decision never looks at the
/// status, so it says what the facts are.
fn idle_boundary(demanded: &mut Demanded<'_>) {
    let status = demanded.status();
    if status == "stopped" {
        return;
    }
    let because: Vec<u8> = [
        (18, demanded.has_open_run()),
        (2, demanded.value["wait_decision"]["reason"] == "work_item_system_wait"),
        (7, status == "asleep"),
        (22, status == "awaiting_task"),
    ]
    .into_iter()
    // Only the first that holds shapes the answer, as the first rule of the ladder does.
    .find(|(_, holds)| *holds)
    .map(|(number, _)| number)
    .into_iter()
    .collect();
    if because.is_empty() {
        return;
    }
    let spelled = match status {
        "asleep" => "Asleep",
        "awaiting_task" => "AwaitingTask",
        "awake_idle" => "AwakeIdle",
        "awake_running" => "AwakeRunning",
        _ => "Booting",
    };
    let rest = |decision: &str, reason: &str| {
        json!({
            "decision": decision,
            "reason": reason,
            "model_reentry": false,
            "liveness_only": true,
            "evidence": [format!("status={spelled}"), format!("queue_len={}", demanded.pending())],
        })
    };
    let wait = &demanded.value["wait_decision"];
    let decision = if demanded.has_open_run() {
        rest("Noop", if demanded.pending() > 0 { "queue_not_empty" } else { "turn_in_progress" })
    } else if wait.is_object() {
        wait.clone()
    } else if demanded.pending() > 0 && status != "asleep" {
        rest("Noop", "queue_not_empty")
    } else {
        rest("StayIdle", "already_asleep")
    };
    demanded.demand(&because, "/idle_boundary", at(&decision, "run_loop_idle"));
    demanded.demand(&because, "/idle_boundary_direct", at(&decision, "fixture"));
}
