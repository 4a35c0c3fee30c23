//! Export: a ledger in, a fixture folder of full records out (contract 3.7).
//!
//! The layout lacks what only a driver knows. The epoch of an item is its revision again (contract
//! 8.2), and the history of control is reduced to one `agent.json`. Apart from that, a replay of
//! the folder decides as the ledger does. `expected.json` has the decision of that replay.

use alloc::{format, string::String, vec::Vec};

use serde::Serialize;

use crate::{
    derive::status,
    explain::Explanation,
    foreign::{FIXTURE_FORMAT, Folder, expected::Expected},
    host::SchedulerError,
    id::{AgentId, RunId, WorkItemId},
    machine::{Machine, OpenError, Options, import::Import},
    record::{
        Class, Record,
        control::{AgentStatus, ControlRecord, PolicySet, WakeHint},
        decision::Boundary,
        entry::EntryBytes,
        turn::TurnTerminalKind,
    },
    state::State,
    time::Timestamp,
};
use wakeful_json as json;

/// The agent's state in the reference runtime's spelling, as far as the scheduler knows it.
#[derive(Serialize)]
struct AgentFile<'a> {
    format: u32,
    id: &'a AgentId,
    status: AgentStatus,
    current_run_id: Option<&'a RunId>,
    pending: u64,
    turn_index: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_turn_work_item_id: Option<&'a WorkItemId>,
    current_work_item_id: Option<&'a WorkItemId>,
    last_turn_terminal: Option<Terminal>,
    pending_wake_hint: Option<Hint<'a>>,
}

#[derive(Serialize)]
struct Terminal {
    turn_index: u64,
    kind: TurnTerminalKind,
}

#[derive(Serialize)]
struct Hint<'a> {
    #[serde(flatten)]
    hint: &'a WakeHint,
    created_at: Timestamp,
}

/// The folder of a ledger: `agent.json`, `ledger/<class>.jsonl` and `expected.json`. The last one
/// has what a replay of the others finds at the idle boundary.
///
/// # Errors
/// If an entry is damaged or out of order, or the folder could not be imported again.
pub fn folder_of(ledger: &[EntryBytes]) -> Result<Folder, SchedulerError> {
    let mut state = State::default();
    let mut folder = Folder::new();
    let mut times = Vec::new();
    for bytes in ledger {
        let entry = bytes.open(&state.head).map_err(OpenError::from)?;
        state.apply(&entry);
        times.push(entry.at);
        let (class, line) = match &entry.record {
            // `agent.json` has the result of all control entries, except for policy, edition and
            // shutdown, for which its layout has no field.
            Record::Control(ControlRecord::Genesis(genesis)) if !genesis.is_plain() => {
                let set = PolicySet {
                    policy: Some(genesis.policy.clone()),
                    edition: Some(genesis.edition),
                };
                (Class::Control.as_str(), json::write(&ControlRecord::PolicySet(set)))
            }
            Record::Control(
                control @ (ControlRecord::PolicySet(_) | ControlRecord::ShutdownRequested(_)),
            ) => (Class::Control.as_str(), json::write(control)),
            Record::Control(_) => continue,
            Record::Carried(carried) => {
                (carried.of_class.as_str(), String::from(carried.line.as_str()))
            }
            record => (record.class().as_str(), json::write(record)),
        };
        let file = folder.get_or_insert(format!("ledger/{class}.jsonl"), String::new());
        file.push_str(&line);
        file.push('\n');
    }
    if state.control.closing.is_none() {
        // A restart ended every shutdown that these lines request. Only such a record contains this
        // name.
        keep_lines(&mut folder, |line| !line.contains("\"shutdown_requested\""));
    }
    // contract 8.4: for readers of the folder the hint was recorded elsewhere, so its time and not
    // its entry is part of its key.
    if let Some(pending) = &mut state.control.hint {
        let entry = usize::try_from(pending.seq.0).ok().and_then(|seq| seq.checked_sub(1));
        let recorded_at = entry.and_then(|entry| times.get(entry)).copied();
        pending.created_at = pending.created_at.or(recorded_at);
    }
    let agent = AgentFile {
        format: FIXTURE_FORMAT,
        id: &state.control.agent_id,
        status: status::status(&state),
        current_run_id: state.turns.run.as_ref().map(|run| &run.run_id),
        pending: state.queue.len() as u64,
        turn_index: state.turns.turn_index,
        current_turn_work_item_id: state.turns.item_of_run(),
        current_work_item_id: state.work.focus.as_ref().map(|focus| &focus.work_item_id),
        last_turn_terminal: state
            .turns
            .last_terminal
            .map(|last| Terminal { turn_index: last.turn_index, kind: last.kind }),
        pending_wake_hint: state.control.hint.as_ref().and_then(|pending| {
            Some(Hint { hint: &pending.hint, created_at: pending.created_at? })
        }),
    };
    folder.insert("agent.json".into(), json::write_indented(&agent));
    let found = replayed(&folder, state.at)?;
    folder
        .insert("expected.json".into(), json::write_indented(&Expected::from_explanation(&found)));
    Ok(folder)
}

/// The explanation that a replay of this folder gives.
fn replayed(folder: &Folder, at: Timestamp) -> Result<Explanation, SchedulerError> {
    let import = Import::of_folder(folder, at)?;
    let mut machine = Machine::new(Options::new(import.agent_id().clone()));
    // No store is behind this machine, so each proposal counts as stored.
    machine.begin_at(at)?;
    machine.committed();
    machine.import(import, at)?;
    machine.committed();
    Ok(machine.explain(Boundary::RunLoopIdle, at))
}

/// Removes lines of the control file, and the file itself if no line is left.
fn keep_lines(folder: &mut Folder, keep: impl Fn(&str) -> bool) {
    let name = format!("ledger/{}.jsonl", Class::Control.as_str());
    let Some(text) = folder.remove(&name) else { return };
    let kept: String =
        text.lines().filter(|line| keep(line)).flat_map(|line| [line, "\n"]).collect();
    if !kept.is_empty() {
        folder.insert(name, kept);
    }
}
