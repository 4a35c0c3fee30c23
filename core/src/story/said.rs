//! Input of people and outside systems as facts, for scripts and for hosts with a command line.

use alloc::string::{String, ToString};

use crate::{
    fact::{
        Fact,
        queue::{MessageQueued, NewMessage},
    },
    id::{ExternalTriggerId, MessageId, WorkItemId},
    record::{
        control::WakeHint,
        queue::envelope::{
            AdmissionContext, DeliverySurface, MessageBody, MessageKind, MessageOrigin, Priority,
            TrustLevel,
        },
    },
};

/// The fact of a prompt from the operator (contract 5.19).
#[must_use]
pub fn prompt(
    id: MessageId,
    text: impl Into<String>,
    lane: Option<Priority>,
    item: Option<WorkItemId>,
) -> Fact {
    Fact::MessageQueued(MessageQueued {
        message: NewMessage {
            priority: lane.unwrap_or(Priority::Normal),
            work_item_id: item,
            delivery_surface: Some(DeliverySurface::CliPrompt),
            admission_context: Some(AdmissionContext::LocalProcess),
            ..message(
                id,
                MessageKind::OperatorPrompt,
                MessageOrigin::Operator { actor_id: None },
                TrustLevel::TrustedOperator,
                text,
            )
        },
    })
}

/// The fact of a delivery to an external trigger.
#[must_use]
pub fn delivery(id: MessageId, trigger: ExternalTriggerId, text: impl Into<String>) -> Fact {
    let origin = MessageOrigin::Callback { descriptor_id: trigger, source: None };
    Fact::MessageQueued(MessageQueued {
        message: NewMessage {
            delivery_surface: Some(DeliverySurface::HttpCallbackEnqueue),
            admission_context: Some(AdmissionContext::ExternalTriggerCapability),
            ..message(id, MessageKind::CallbackEvent, origin, TrustLevel::TrustedIntegration, text)
        },
    })
}

/// The fact of an internal follow-up: a message of the runtime for the model.
#[must_use]
pub fn followup(
    id: MessageId,
    text: impl Into<String>,
    lane: Option<Priority>,
    item: Option<WorkItemId>,
) -> Fact {
    let origin = MessageOrigin::System { subsystem: "story".to_string() };
    Fact::MessageQueued(MessageQueued {
        message: NewMessage {
            priority: lane.unwrap_or(Priority::Normal),
            work_item_id: item,
            delivery_surface: Some(DeliverySurface::RuntimeSystem),
            admission_context: Some(AdmissionContext::RuntimeOwned),
            ..message(id, MessageKind::InternalFollowup, origin, TrustLevel::TrustedSystem, text)
        },
    })
}

/// A wake hint: the agent should look again (contract 5.21).
#[must_use]
pub fn hint(reason: impl Into<String>) -> WakeHint {
    WakeHint::new(reason)
}

pub(super) fn message(
    id: MessageId,
    kind: MessageKind,
    origin: MessageOrigin,
    trust: TrustLevel,
    text: impl Into<String>,
) -> NewMessage {
    NewMessage {
        id,
        kind,
        origin,
        trust,
        priority: Priority::Normal,
        work_item_id: None,
        task_id: None,
        body: MessageBody::text(text),
        delivery_surface: None,
        admission_context: None,
        metadata: None,
        correlation_id: None,
        causation_id: None,
    }
}
