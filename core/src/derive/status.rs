//! The status of the agent. It is derived, and nothing else writes it (contract 4.1).

use crate::{record::control::AgentStatus, state::State};

/// The lifecycle status of the agent. The first condition below that holds decides.
#[must_use]
pub fn status(state: &State) -> AgentStatus {
    let control = &state.control;
    if control.stopped.is_some() {
        return AgentStatus::Stopped;
    }
    // contract 4.1: an imported status holds until the first live entry.
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
