//! What hooks learn: which entries are events, and the text of an event (CloudEvents 1.0).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use wakeful_core::{
    id::AgentId,
    record::{
        Record,
        decision::{Decision, DecisionKind},
        diagnostic::DiagnosticKind,
        entry::Entry,
        event::{EventKind, EventRecord},
        task::{TaskRecord, TaskStatus},
        turn::{RunStatus, TurnRecord},
    },
};
use wakeful_host::token::hex;

/// The most characters of a text in an event. The entry has all of it.
const MOST: usize = 2_000;

/// What a hook can learn.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub(crate) enum EventType {
    /// An agent rests until its operator speaks.
    #[serde(rename = "agent.waits_for_operator")]
    WaitsForOperator,
    /// An agent is parked: it goes on only after input from outside.
    #[serde(rename = "agent.parked")]
    AgentParked,
    /// A work item is parked: it is not worked on until something moves it.
    #[serde(rename = "work_item.parked")]
    ItemParked,
    /// Something else looks wrong, and the operator should look.
    #[serde(rename = "agent.warning")]
    Warning,
    /// A turn ended well.
    #[serde(rename = "turn.completed")]
    TurnCompleted,
    /// A turn ended in any other way. It may be tried again.
    #[serde(rename = "turn.failed")]
    TurnFailed,
    /// A task ended well.
    #[serde(rename = "task.completed")]
    TaskCompleted,
    /// A task ended with an error.
    #[serde(rename = "task.failed")]
    TaskFailed,
}

impl EventType {
    /// All of them.
    pub(super) const ALL: [Self; 8] = [
        Self::WaitsForOperator,
        Self::AgentParked,
        Self::ItemParked,
        Self::Warning,
        Self::TurnCompleted,
        Self::TurnFailed,
        Self::TaskCompleted,
        Self::TaskFailed,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::WaitsForOperator => "agent.waits_for_operator",
            Self::AgentParked => "agent.parked",
            Self::ItemParked => "work_item.parked",
            Self::Warning => "agent.warning",
            Self::TurnCompleted => "turn.completed",
            Self::TurnFailed => "turn.failed",
            Self::TaskCompleted => "task.completed",
            Self::TaskFailed => "task.failed",
        }
    }
}

/// An event as it is sent.
#[derive(Debug)]
pub(crate) struct Event {
    /// The same each time that it is sent to a hook.
    pub(crate) id: String,
    pub(crate) body: String,
}

/// What an entry tells, with an excerpt of its record and a sentence.
fn told(entry: &Entry) -> Option<(EventType, Value, String)> {
    match &entry.record {
        Record::Turn(turn) => of_turn(turn),
        Record::Task(task) => of_task(task),
        Record::Event(event) => match event.known()? {
            EventKind::SchedulerDecision => of_decision(&event.particulars()?),
            EventKind::SchedulerDiagnostic => of_diagnostic(event),
            _ => None,
        },
        _ => None,
    }
}

fn of_turn(turn: &TurnRecord) -> Option<(EventType, Value, String)> {
    let kind = turn.kind.filter(|_| turn.status == RunStatus::Terminal)?;
    let excerpt = json!({
        "run_id": turn.run_id,
        "turn_index": turn.turn_index,
        "message_id": turn.message_id,
        "work_item_id": turn.work_item.as_ref().map(|item| &item.work_item_id),
        "kind": kind,
        "reason": turn.reason.as_deref().map(beginning),
        "last_assistant_message": turn.last_assistant_message.as_deref().map(beginning),
    });
    Some(match (kind.is_failure(), &turn.reason) {
        (false, _) => {
            (EventType::TurnCompleted, excerpt, format!("turn {} is complete", turn.turn_index))
        }
        (true, None) => {
            (EventType::TurnFailed, excerpt, format!("turn {} ended as {kind}", turn.turn_index))
        }
        (true, Some(reason)) => {
            let reason = beginning(reason);
            let sentence = format!("turn {} ended as {kind}: {reason}", turn.turn_index);
            (EventType::TurnFailed, excerpt, sentence)
        }
    })
}

fn of_task(task: &TaskRecord) -> Option<(EventType, Value, String)> {
    let (kind, ended) = match task.status {
        TaskStatus::Completed => (EventType::TaskCompleted, "is complete"),
        TaskStatus::Failed => (EventType::TaskFailed, "failed"),
        _ => return None,
    };
    let summary = task.summary.as_deref().map(beginning);
    let excerpt = json!({
        "task_id": task.id,
        "kind": task.kind,
        "status": task.status,
        "work_item_id": task.work_item_id,
        "summary": summary,
    });
    let sentence = match summary {
        None => format!("the task `{}` {ended}", task.id),
        Some(summary) => format!("the task `{}` {ended}: {summary}", task.id),
    };
    Some((kind, excerpt, sentence))
}

fn of_decision(decision: &Decision) -> Option<(EventType, Value, String)> {
    let is_wait = decision.kind == DecisionKind::WaitForOperator;
    let sentence = match &decision.work_item_id {
        None => "the agent waits for its operator".to_owned(),
        Some(item) => format!("the agent waits for its operator about the work item `{item}`"),
    };
    let excerpt = json!({
        "decision": decision.kind,
        "rule": decision.rule,
        "reason": decision.reason,
        "work_item_id": decision.work_item_id,
    });
    is_wait.then_some((EventType::WaitsForOperator, excerpt, sentence))
}

fn of_diagnostic(event: &EventRecord) -> Option<(EventType, Value, String)> {
    let item: Option<String> = event.particular("work_item_id");
    let message = event.particular::<String>("message")?;
    // A newer program may record kinds that this one does not know.
    let parks = matches!(
        event.particular::<DiagnosticKind>("kind"),
        Some(DiagnosticKind::Parked | DiagnosticKind::OwnerBreach)
    );
    let kind = match (parks, &item) {
        (true, None) => EventType::AgentParked,
        (true, Some(_)) => EventType::ItemParked,
        (false, _) => EventType::Warning,
    };
    let excerpt = json!({
        "kind": event.particular::<String>("kind"),
        "message": beginning(&message),
        "work_item_id": item,
        "evidence": event.particular::<Vec<String>>("evidence").map(|all| {
            all.iter().take(20).map(|one| beginning(one).to_owned()).collect::<Vec<_>>()
        }),
    });
    Some((kind, excerpt, beginning(&message).to_owned()))
}

/// The event of an entry, if it is of a kind that the hook asks for.
pub(crate) fn of(
    hook: &str,
    kinds: impl Fn(EventType) -> bool,
    agent: &AgentId,
    entry: &Entry,
) -> Option<Event> {
    let (kind, record, sentence) = told(entry)?;
    if !kinds(kind) {
        return None;
    }
    // The chain is part of it, since a ledger that was set back goes on with other entries.
    let digest = Sha256::new()
        .chain_update(hook)
        .chain_update([0])
        .chain_update(agent.as_str())
        .chain_update([0])
        .chain_update(entry.seq.0.to_be_bytes())
        .chain_update(entry.chain.as_bytes())
        .finalize();
    let id = format!("evt_{}", hex(&digest[..16]));
    let data = json!({
        "agent_id": agent,
        "entry": entry.seq,
        "record": record,
        "sentence": sentence,
    });
    let body = body(&id, kind.name(), Some(agent), &json!(entry.at), &data);
    Some(Event { id, body })
}

/// The event by which people try a hook.
pub(crate) fn of_test(id: String, at: &Value) -> Event {
    let data = json!({ "sentence": "this is a test of the hook" });
    Event { body: body(&id, "hook.test", None, at, &data), id }
}

fn body(id: &str, kind: &str, agent: Option<&AgentId>, at: &Value, data: &Value) -> String {
    let mut event = json!({
        "specversion": "1.0",
        "id": id,
        "source": "/v1/agents",
        "type": kind,
        "time": at,
        "datacontenttype": "application/json",
        "data": data,
    });
    if let Some(agent) = agent {
        event["subject"] = json!(agent);
    }
    event.to_string()
}

/// The beginning of a text.
fn beginning(text: &str) -> &str {
    text.char_indices().nth(MOST).map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_schema() {
        for kind in EventType::ALL {
            assert_eq!(json!(kind), json!(kind.name()));
        }
    }

    #[test]
    fn long_texts_are_cut_between_letters() {
        assert_eq!(beginning(&"ä".repeat(MOST + 1)), "ä".repeat(MOST));
        assert_eq!(beginning("short"), "short");
    }
}
