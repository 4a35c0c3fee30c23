//! `agent.json`: the short form of fixtures, or the whole agent state of the reference runtime
//! (`observed-decisions.md` 2.1, 11.2). Only the whole state has a status.

use alloc::{string::String, vec::Vec};

use crate::{
    foreign::{ForeignError, layout::Layout},
    id::{AgentId, RunId, WorkItemId},
    record::{
        control::{
            AgentImported, AgentStatus, ControlRecord, FocusCause, FocusSet, RecordedHint,
            TornLine, WakeHint,
        },
        turn::TurnTerminalKind,
    },
    time::Timestamp,
};
use wakeful_json::{self as json, JsonError, Readable};

/// The agent of every short form.
const SHORT_FORM_AGENT: &str = "default";

/// The parts of `agent.json` that the scheduler reads.
pub(super) struct AgentFile {
    pub(super) agent_id: AgentId,
    imported: AgentImported,
    focus: Option<WorkItemId>,
    hint: Option<WakeHint>,
}

/// The fields that tell the two forms apart.
#[derive(Readable)]
struct Form {
    #[serde(default = "first_format")]
    format: u32,
    status: Option<AgentStatus>,
}

fn first_format() -> u32 {
    super::FIXTURE_FORMAT
}

#[derive(Readable)]
struct Short {
    current_work_item_id: Option<WorkItemId>,
    #[serde(default)]
    turn_index: u64,
    last_turn_terminal_kind: Option<TurnTerminalKind>,
    pending_wake_hint_reason: Option<String>,
}

#[derive(Readable)]
struct Whole {
    id: AgentId,
    status: AgentStatus,
    current_run_id: Option<RunId>,
    #[serde(default)]
    turn_index: u64,
    current_turn_work_item_id: Option<WorkItemId>,
    current_work_item_id: Option<WorkItemId>,
    last_turn_terminal: Option<Terminal>,
    pending_wake_hint: Option<WakeHint>,
}

#[derive(Readable)]
struct Terminal {
    turn_index: u64,
    kind: TurnTerminalKind,
}

/// The time of the pending hint. It is not a field of [`WakeHint`], because a host submits a hint
/// without a time.
#[derive(Readable)]
struct HintTime {
    pending_wake_hint: Option<CreatedAt>,
}

#[derive(Readable)]
struct CreatedAt {
    created_at: Timestamp,
}

/// Reads the agent's file.
pub(super) fn read(layout: &Layout<'_>) -> Result<AgentFile, ForeignError> {
    let (file, text) = layout.agent()?;
    let malformed = |why| ForeignError::at(file, 1, why);
    let form: Form = json::read(text).map_err(malformed)?;
    // Before the rest is read, which a newer format may have in another form.
    ForeignError::newer(file, form.format)?;
    if form.status.is_some() { whole(text) } else { short(text) }.map_err(malformed)
}

fn short(text: &str) -> Result<AgentFile, JsonError> {
    let agent: Short = json::read(text)?;
    Ok(AgentFile {
        agent_id: SHORT_FORM_AGENT.into(),
        imported: AgentImported {
            status: AgentStatus::Booting,
            turn_index: agent.turn_index,
            last_turn_terminal: agent.last_turn_terminal_kind,
            terminal_turn_index: None,
            current_run_id: None,
            current_turn_work_item_id: None,
            wake_hint: None,
            torn: Vec::new(),
        },
        focus: agent.current_work_item_id,
        hint: agent
            .pending_wake_hint_reason
            .map(|reason| WakeHint { source: Some("fixture".into()), ..WakeHint::new(reason) }),
    })
}

/// Reads the whole agent state of the reference runtime.
pub(super) fn whole(text: &str) -> Result<AgentFile, JsonError> {
    let agent: Whole = json::read(text)?;
    let hint_time: HintTime = json::read(text)?;
    let wake_hint = agent.pending_wake_hint.zip(hint_time.pending_wake_hint);
    let terminal = agent.last_turn_terminal.as_ref();
    Ok(AgentFile {
        agent_id: agent.id,
        imported: AgentImported {
            status: agent.status,
            turn_index: agent.turn_index,
            last_turn_terminal: terminal.map(|last| last.kind),
            // Recorded only if another turn than the newest ended last.
            terminal_turn_index: terminal
                .map(|last| last.turn_index)
                .filter(|index| *index != agent.turn_index),
            current_run_id: agent.current_run_id,
            current_turn_work_item_id: agent.current_turn_work_item_id,
            wake_hint: wake_hint
                .map(|(hint, time)| RecordedHint { hint, created_at: time.created_at }),
            torn: Vec::new(),
        },
        focus: agent.current_work_item_id,
        hint: None,
    })
}

impl AgentFile {
    /// The number of control records that it becomes.
    pub(super) fn controls(&self) -> usize {
        1 + usize::from(self.focus.is_some()) + usize::from(self.hint.is_some())
    }

    /// The control records for this agent. The first one also lists the lines that the import
    /// dropped.
    pub(super) fn into_controls(self, torn: Vec<TornLine>) -> Vec<ControlRecord> {
        let mut controls =
            Vec::from([ControlRecord::AgentImported(AgentImported { torn, ..self.imported })]);
        if self.focus.is_some() {
            controls.push(ControlRecord::FocusSet(FocusSet {
                work_item_id: self.focus,
                // An import does not say why the focus moved. A pick moves no epoch there (contract
                // 8.2).
                cause: FocusCause::Pick,
            }));
        }
        controls.extend(self.hint.map(ControlRecord::WakeHintPending));
        controls
    }
}
