//! What turns are told, and what they do: anything at random in wild days, and what ends everything
//! in calm ones.

use serde_json::{Value, json};
use wakeful_core::{
    id::{AgentId, RunId, TaskId},
    record::{effect::TurnRequest, queue::message::MessageRecord},
    state::State,
};

use super::{
    family::{CHILDREN, DAY, Family, HOUR, What},
    faults::Fate,
};

impl Family {
    /// Checks what a turn is told: deferred content fits, some of it is told if there is any, and
    /// no call that was executed is unknown.
    pub(super) fn reads(&mut self, member: usize, request: &TurnRequest) {
        let mut wrong = Vec::new();
        let told: usize = request.deferred.iter().map(|told| told.message.body.bytes()).sum();
        let most = self.members[member].look(|state| state.control().policy.deferred_bytes.get());
        if told as u64 > most {
            wrong.push(format!("{told} bytes of deferred content, {most} are allowed"));
        }
        if request.deferred.is_empty() && request.deferred_later > 0 {
            wrong.push(format!("none of {} deferred messages is told", request.deferred_later));
        }
        let executed = &self.members[member].executed;
        for call in request.unknown_calls.iter().filter_map(|call| call.call_id.as_ref()) {
            if executed.contains(call) {
                wrong.push(format!("the call {call} was executed, and is told as unknown"));
            }
        }
        let of = format!("{}, turn {}", self.members[member].id, request.turn_index);
        self.wrong.extend(wrong.into_iter().map(|what| format!("{of}: {what}")));
    }

    /// The facts of one step of a turn. In calm days it ends everything that is open; in wild days
    /// it does something at random.
    pub(super) fn acts(&mut self, member: usize, run: &RunId, round: u64) -> Vec<Value> {
        if self.fate.is_calm() {
            return self.members[member].look(finishing);
        }
        let now = self.members[member].now();
        let name = format!("{run}.{round}");
        let (items, tasks): (Vec<_>, Vec<_>) = self.members[member].look(|state| {
            let items = state.work().items.keys().map(ToString::to_string);
            (items.collect(), state.tasks().active.keys().map(ToString::to_string).collect())
        });
        let any = |fate: &Fate, of: &[String]| {
            (!of.is_empty()).then(|| of[fate.below(of.len() as u64) as usize].clone())
        };
        let item = any(&self.fate, &items);
        let after = now.plus_ms(1 + self.fate.below(2 * DAY));
        match (self.fate.below(12), item) {
            (0, _) => vec![
                json!({ "fact": "work_item_created", "work_item_id": format!("item {name}"), "objective": "Do it." }),
            ],
            (1, Some(item)) => vec![json!({ "fact": "work_item_picked", "work_item_id": item })],
            (2, Some(item)) => vec![json!({ "fact": "work_item_completed", "work_item_id": item })],
            (3, Some(item)) => {
                vec![
                    json!({ "fact": "work_item_blocked", "work_item_id": item, "blocked_by": "the weather", "recheck_at": after }),
                ]
            }
            (4, item) => {
                let source = match self.fate.below(4) {
                    0 => json!({ "kind": "operator_input" }),
                    1 => json!({ "kind": "external_ingress", "external_trigger_id": "hook" }),
                    2 => json!({ "kind": "timer", "wake_at": after }),
                    _ => {
                        json!({ "kind": "task_result", "task_id": any(&self.fate, &tasks).unwrap_or_else(|| "none".to_owned()) })
                    }
                };
                let kind = match source["kind"].as_str() {
                    Some("operator_input") => "operator",
                    Some("external_ingress") => "external",
                    Some("timer") => "timer",
                    _ => "task",
                };
                let mut wait = json!({ "fact": "wait_condition_registered", "wait_condition_id": format!("wait {name}"), "kind": kind,
                    "waiting_for": "it", "wake_sources": [source] });
                if let Some(item) = item {
                    wait["work_item_id"] = json!(item);
                }
                if self.fate.below(2) == 0 {
                    wait["expires_at"] = json!(now.plus_ms(1 + self.fate.below(3 * DAY)));
                }
                vec![wait]
            }
            (5 | 6, item) => self.starts_task(member, &name, item),
            (7, _) => {
                let mut timer = json!({ "fact": "timer_created", "timer_id": format!("timer {name}"), "duration_ms": self.fate.below(DAY) });
                if self.fate.below(4) == 0 {
                    timer["interval_ms"] = json!(HOUR + self.fate.below(DAY));
                }
                vec![timer]
            }
            (8, item) if self.members[member].parent.is_none() => {
                self.makes_child(member, &name, item)
            }
            (9, _) => any(&self.fate, &tasks).map_or_else(Vec::new, |task| {
                vec![json!({ "fact": "task_cancelling", "task_id": task })]
            }),
            (10, _) => self.calls(member, run, &name),
            _ => Vec::new(),
        }
    }

    /// An answer with two calls. The process may die before or between their executions.
    fn calls(&mut self, member: usize, run: &RunId, name: &str) -> Vec<Value> {
        let calls = [format!("{name}/a"), format!("{name}/b")];
        let made: Vec<_> =
            calls.iter().map(|id| json!({ "call_id": id, "tool_name": "Look" })).collect();
        self.say(
            member,
            json!({ "fact": "assistant_round_recorded", "run_id": run, "data": {}, "calls": made }),
        );
        for call in calls {
            if self.fate.befalls("kills between a call and its result", 40) {
                self.members[member].kill();
                return Vec::new();
            }
            self.say(
                member,
                json!({ "fact": "tool_execution_recorded", "run_id": run, "tool_execution_id": call, "call_id": call,
                "tool_name": "Look", "status": "success", "input": {}, "output": {}, "summary": "looked" }),
            );
            // What is unsaid dies with the process.
            if self.members[member].unsaid.is_empty() {
                self.members[member].executed.insert(call);
            }
        }
        Vec::new()
    }

    fn starts_task(&mut self, member: usize, name: &str, item: Option<String>) -> Vec<Value> {
        let task = TaskId::from(format!("task {name}"));
        let after = 1 + self.fate.below(6 * HOUR);
        self.members[member].commands.insert(task.clone(), self.now + after);
        self.at(after, member, What::Ended(task.clone()));
        let detail = json!({ "wait_policy": if self.fate.below(3) == 0 { "blocking" } else { "background" } });
        let mut created = json!({ "fact": "task_created", "task_id": task, "task_kind": "command_task", "detail": detail });
        if let Some(item) = item {
            created["work_item_id"] = json!(item);
        }
        vec![created, json!({ "fact": "task_running", "task_id": task })]
    }

    fn makes_child(&mut self, member: usize, name: &str, item: Option<String>) -> Vec<Value> {
        if self.members[member].children.len() >= CHILDREN {
            return Vec::new();
        }
        let task = TaskId::from(format!("child {name}"));
        let id = AgentId::from(format!("{}.{}", self.members[member].id, self.members.len()));
        let child = self.join(id.clone(), Some((member, task.clone())));
        self.members[member].children.insert(task.clone(), child);
        self.fate.count("children");
        let told = json!({ "fact": "message_queued", "message": { "id": format!("told {task}"), "kind": "internal_followup",
            "origin": { "kind": "task", "task_id": task }, "trust": "trusted_system", "delivery_surface": "runtime_system",
            "body": { "type": "text", "text": "Do your part." } } });
        self.members[child].messages.push(format!("told {task}"));
        self.at(1_000, child, What::Again(told.to_string()));
        let mut created = json!({ "fact": "task_created", "task_id": task, "task_kind": "child_agent_task", "detail": { "child_agent_id": id } });
        if let Some(item) = item {
            created["work_item_id"] = json!(item);
        }
        vec![created, json!({ "fact": "task_running", "task_id": task })]
    }
}

/// A word that the provider refuses to read.
pub(super) const REFUSED: &str = "an unspeakable word";

/// What the provider refuses of a prompt: the message, the only deferred one, or nobody can say
/// which of several. `None` if it reads all.
pub(super) fn refused(request: &TurnRequest) -> Option<Vec<String>> {
    let is_refused = |message: &MessageRecord| message.body.as_text().contains(REFUSED);
    if is_refused(&request.message) {
        return Some(vec![request.message.id.to_string()]);
    }
    let deferred: Vec<_> = request.deferred.iter().map(|told| &told.message).collect();
    if !deferred.iter().any(|message| is_refused(message)) {
        return None;
    }
    Some(if let [only] = deferred.as_slice() { vec![only.id.to_string()] } else { Vec::new() })
}

/// The facts of a turn that ends everything: it cancels tasks, waits and timers, and completes
/// items.
fn finishing(state: &State) -> Vec<Value> {
    let tasks = state.tasks().active.values().filter(|task| !task.record.kind.is_child());
    let tasks = tasks.map(|task| json!({ "fact": "task_cancelled", "task_id": task.record.id }));
    let timers = state
        .waiting()
        .timers
        .keys()
        .map(|timer| json!({ "fact": "timer_cancelled", "timer_id": timer }));
    let waits = state
        .waiting()
        .conditions
        .keys()
        .map(|wait| json!({ "fact": "wait_condition_cancelled", "wait_condition_id": wait }));
    let items = state
        .work()
        .items
        .keys()
        .map(|item| json!({ "fact": "work_item_completed", "work_item_id": item }));
    tasks.chain(timers).chain(waits).chain(items).collect()
}
