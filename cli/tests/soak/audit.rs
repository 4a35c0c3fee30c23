//! The audit: it reads each entry of the ledger, and says at the end what was lost, done twice or
//! left without an end.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use wakeful_core::{
    derive::summary::AgentSummary,
    id::{MessageId, RunId, TaskId},
    ladder::owed,
    record::{
        Record,
        context::ToolExecutionStatus,
        control::ControlRecord,
        entry::Entry,
        queue::{
            envelope::{MessageKind, QueueStatus},
            message::MessageRecord,
        },
        task::TaskStatus,
        turn::{RunStatus, TurnRecord, TurnTerminalKind},
    },
    state::State,
    time::Timestamp,
};

use crate::shared::tokens_in;

/// What became of a message.
struct Fate {
    is_prompt: bool,
    ended: Option<(QueueStatus, Option<String>)>,
}

#[derive(Default)]
pub(crate) struct Audit {
    pub(crate) state: State,
    /// The turns that ended.
    pub(crate) turns: u64,
    /// The runs that a restart interrupted.
    pub(crate) interrupted: u64,
    pub(crate) entries: u64,
    /// How often a process took the ledger over.
    pub(crate) takeovers: u64,
    messages: BTreeMap<MessageId, Fate>,
    /// The message of each marker.
    markers: BTreeMap<String, MessageId>,
    runs: BTreeMap<RunId, Option<TurnRecord>>,
    /// The runs that took each message as their first.
    runs_of: BTreeMap<MessageId, Vec<RunId>>,
    /// The run whose answer made the call with this token.
    said: BTreeMap<String, RunId>,
    /// The calls that were recorded, each with whether it succeeded.
    recorded: BTreeMap<String, bool>,
    /// The tokens of tasks.
    tasks: BTreeMap<TaskId, String>,
    completed_tasks: BTreeSet<TaskId>,
    kinds: BTreeMap<&'static str, u64>,
    wrong: Vec<String>,
}

impl Audit {
    /// Folds an entry.
    pub(crate) fn read(&mut self, entry: &Entry) {
        self.entries += 1;
        match &entry.record {
            Record::Message(message) => self.message(message),
            Record::QueueEntry(step) if step.status.is_terminal() => {
                let id = &step.message_id;
                match self.messages.get_mut(id) {
                    Some(fate) if fate.ended.is_none() => {
                        fate.ended = Some((step.status, step.reason.clone()));
                    }
                    Some(_) => self.wrong.push(format!("message {id} ends twice")),
                    None => self.wrong.push(format!("message {id} ends, but never began")),
                }
            }
            Record::Turn(turn) => self.turn(turn),
            Record::Transcript(said) => {
                let Some(run) = &said.run_id else { return self.state.apply(entry) };
                for token in tokens_in(said.data.as_str()) {
                    // The answer of a tool can repeat a token, so the first one counts.
                    self.said.entry(token).or_insert_with(|| run.clone());
                }
            }
            Record::Tool(call) if call.tool_name == "ExecCommand" => {
                let Some(token) = tokens_in(call.input.as_str()).next() else {
                    return self.state.apply(entry);
                };
                let is_success = call.status == ToolExecutionStatus::Success;
                if self.recorded.insert(token.clone(), is_success).is_some() {
                    self.wrong.push(format!("the call with {token} is recorded twice"));
                }
                let output: Value = serde_json::from_str(call.output.as_str()).unwrap_or_default();
                if let Some(id) = output["result"]["task_handle"]["task_id"].as_str() {
                    self.tasks.insert(id.into(), token);
                }
            }
            Record::Control(ControlRecord::RuntimeRestarted(_)) => self.takeovers += 1,
            Record::Task(task) if task.status == TaskStatus::Completed => {
                self.completed_tasks.insert(task.id.clone());
            }
            _ => {}
        }
        self.state.apply(entry);
    }

    fn message(&mut self, message: &MessageRecord) {
        let is_prompt = message.kind == MessageKind::OperatorPrompt;
        let fate = Fate { is_prompt, ended: None };
        if self.messages.insert(message.id.clone(), fate).is_some() {
            self.wrong.push(format!("message {} is admitted twice", message.id));
        }
        // Only what the world sent: a message of the runtime may quote another one.
        if message.is_runtime_owned() {
            return;
        }
        if let Some(marker) = marker_in(&wakeful_core::json::write(&message.body))
            && let Some(before) = self.markers.insert(marker.clone(), message.id.clone())
        {
            let id = &message.id;
            self.wrong.push(format!("{marker} is in message {before} and in {id}"));
        }
    }

    fn turn(&mut self, turn: &TurnRecord) {
        let run = &turn.run_id;
        if turn.status == RunStatus::Started {
            self.runs_of.entry(turn.message_id.clone()).or_default().push(run.clone());
            if self.runs.insert(run.clone(), None).is_some() {
                self.wrong.push(format!("run {run} begins twice"));
            }
            return;
        }
        match self.runs.get_mut(run) {
            Some(ended @ None) => *ended = Some(turn.clone()),
            Some(_) => self.wrong.push(format!("run {run} ends twice")),
            None => self.wrong.push(format!("run {run} ends, but never began")),
        }
        if turn.status == RunStatus::Interrupted {
            self.interrupted += 1;
        } else {
            self.turns += 1;
            let kind = turn.kind.map_or("without a kind", TurnTerminalKind::as_str);
            *self.kinds.entry(kind).or_default() += 1;
        }
    }

    /// The message with this marker, if the ledger has it.
    pub(crate) fn has(&self, marker: &str) -> bool {
        self.markers.contains_key(marker)
    }

    /// Whether nothing waits to be done now.
    pub(crate) fn is_at_rest(&self, now: Timestamp) -> bool {
        self.state.turns().run.is_none()
            && self.state.tasks().active.is_empty()
            && self.state.queue().is_empty()
            && owed::next_wake(&self.state, now).is_none_or(|at| at > now)
    }

    /// The ids that the state keeps although what they name has ended.
    pub(crate) fn tombstones(&self) -> u64 {
        tombstones(&self.state)
    }

    /// How the turns ended.
    pub(crate) fn kinds(&self) -> String {
        let kinds = self.kinds.iter().map(|(kind, count)| format!("{count} {kind}"));
        kinds.collect::<Vec<_>>().join(", ")
    }

    /// The numbers of messages, of recorded commands, and of tasks.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        (self.messages.len(), self.recorded.len(), self.tasks.len())
    }

    /// What is wrong at the end.
    pub(crate) fn findings(
        &self,
        sent: &[String],
        journal: &str,
        told_unknown: &BTreeSet<String>,
    ) -> Vec<String> {
        let mut wrong = self.wrong.clone();
        for marker in sent.iter().filter(|marker| !self.has(marker)) {
            wrong.push(format!("the message with {marker} is not in the ledger"));
        }
        for (id, fate) in &self.messages {
            self.judge(id, fate, &mut wrong);
        }
        for (run, ended) in &self.runs {
            if ended.is_none() {
                wrong.push(format!("run {run} has no end"));
            }
        }
        self.judge_effects(journal, told_unknown, &mut wrong);
        wrong
    }

    fn judge(&self, id: &MessageId, fate: &Fate, wrong: &mut Vec<String>) {
        let Some((status, reason)) = &fate.ended else {
            return wrong.push(format!("message {id} has no end"));
        };
        let runs = self.runs_of.get(id).map_or(&[][..], Vec::as_slice);
        let ends = runs.iter().filter_map(|run| self.runs.get(run)?.as_ref());
        let is_told = |turn: &TurnRecord| {
            turn.kind == Some(TurnTerminalKind::Completed) || turn.reason.is_some()
        };
        let has_end = ends
            .filter(|turn| turn.status == RunStatus::Terminal)
            .map(is_told)
            .reduce(|all, one| all && one);
        match status {
            QueueStatus::Aborted | QueueStatus::Dropped
                if reason.is_none() && has_end != Some(true) =>
            {
                wrong.push(format!("message {id} is {status}, and nothing says why"));
            }
            QueueStatus::Processed if fate.is_prompt && has_end != Some(true) => {
                wrong.push(format!("prompt {id} is processed without a turn that says how"));
            }
            _ => {}
        }
    }

    fn judge_effects(
        &self,
        journal: &str,
        told_unknown: &BTreeSet<String>,
        wrong: &mut Vec<String>,
    ) {
        let mut done: BTreeMap<&str, u64> = BTreeMap::new();
        for token in journal.lines() {
            *done.entry(token).or_default() += 1;
        }
        for (token, times) in &done {
            if *times > 1 {
                wrong.push(format!("the call with {token} was executed {times} times"));
            }
            if !self.recorded.contains_key(*token) {
                // Its run must have broken off: a call of a run that went on has its record.
                let run = self.said.get(*token).and_then(|run| self.runs.get(run)?.as_ref());
                if run.is_none_or(|run| run.kind == Some(TurnTerminalKind::Completed)) {
                    wrong.push(format!("the call with {token} was executed and not recorded"));
                }
            }
        }
        for (token, is_success) in &self.recorded {
            if *is_success && token.starts_with("tok-") && !done.contains_key(token.as_str()) {
                wrong.push(format!("the call with {token} is recorded and did nothing"));
            }
        }
        for task in &self.completed_tasks {
            let token = self.tasks.get(task).filter(|token| !done.contains_key(token.as_str()));
            if let Some(token) = token {
                wrong.push(format!("task {task} completed, but {token} did nothing"));
            }
        }
        for token in told_unknown.iter().filter(|token| self.recorded.contains_key(*token)) {
            wrong.push(format!("the call with {token} is recorded, and told as unknown"));
        }
    }
}

/// The number of tombstones in a state.
pub(crate) fn tombstones(state: &State) -> u64 {
    let counts = AgentSummary::new(state).tombstones;
    let all = [
        counts.messages,
        counts.tasks,
        counts.work_items,
        counts.waiting_intents,
        counts.wait_conditions,
        counts.timers,
    ];
    all.iter().sum::<usize>() as u64
}

/// The marker of a message that the world sent.
fn marker_in(text: &str) -> Option<String> {
    let at = text.find("mark-")?;
    text.get(at..at + 12).map(str::to_owned)
}
