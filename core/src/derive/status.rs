//! The agent's status: derived, never written by anybody else (contract 4.1).

use crate::{record::control::AgentStatus, state::State};

/// Where the agent stands in its life.
#[must_use]
pub fn status(state: &State) -> AgentStatus {
    let control = &state.control;
    if control.stopped.is_some() {
        return AgentStatus::Stopped;
    }
    if let Some(imported) = control.imported_status
        && control.live_from.is_none()
    {
        return imported;
    }
    if state.turns.run.is_some() {
        return AgentStatus::AwakeRunning;
    }
    match control.resting {
        Some(rest) => rest,
        None if control.booted => AgentStatus::AwakeIdle,
        None => AgentStatus::Booting,
    }
}
