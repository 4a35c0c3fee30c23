//! Effects: what the host must do, released only after the batch that asks for it is durable (contract 3.2).

use alloc::string::String;

use crate::{
    fact::Fact,
    id::RunId,
    plane::turn::TurnAborted,
    record::{context::RuntimeFailed, turn::AbortReason},
};

/// The fact that says what became of an effect that a provider did not carry out: its run failed, or, where it has none, the runtime did.
#[must_use]
pub fn failure(run_id: Option<RunId>, error: String) -> Fact {
    match run_id {
        Some(run_id) => Fact::TurnAborted(TurnAborted { run_id, reason: AbortReason::RuntimeError, error: Some(error) }),
        None => Fact::RuntimeError(RuntimeFailed { error, message_id: None, run_id: None }),
    }
}
