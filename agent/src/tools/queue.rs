//! `Enqueue`: a message of an agent to itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::{
    fact::{
        Fact,
        queue::{MessageQueued, NewMessage},
    },
    id::MessageId,
    record::queue::envelope::{
        AdmissionContext, DeliverySurface, MessageBody, MessageKind, MessageOrigin, Priority,
    },
};

use super::{Caller, Success, Tool, ToolError, accepted, said};

/// Arguments of `Enqueue`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Enqueue {
    /// What to tell yourself.
    text: String,
    /// The lane of the queue.
    #[serde(default)]
    priority: Lane,
}

/// A lane of the queue.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Lane {
    /// The most urgent lane. Your own messages do not interrupt an open turn.
    Interject,
    /// Before ordinary input.
    #[default]
    Next,
    /// Ordinary input.
    Normal,
    /// After everything else.
    Background,
}

#[derive(Serialize)]
struct Enqueued {
    enqueued: bool,
    priority: Priority,
    follow_up_text: String,
}

impl Tool for Enqueue {
    const NAME: &'static str = "Enqueue";
    const ABOUT: &'static str = "Queues a message to yourself for a later turn.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let text = said(&self.text, "text")?;
        let priority = match self.priority {
            Lane::Interject => Priority::Interject,
            Lane::Next => Priority::Next,
            Lane::Normal => Priority::Normal,
            Lane::Background => Priority::Background,
        };
        let (body, trust) = (text.clone(), caller.trust);
        caller.ask(move |actor| {
            let message = NewMessage {
                id: MessageId::from(format!("followup-{}", actor.state().next_seq())),
                // This kind re-enters the model under any wait (contract 6.3).
                kind: MessageKind::InternalFollowup,
                origin: MessageOrigin::System { subsystem: "tool_enqueue".to_owned() },
                trust,
                priority,
                work_item_id: None,
                task_id: None,
                body: MessageBody::text(body),
                delivery_surface: Some(DeliverySurface::RuntimeSystem),
                admission_context: Some(AdmissionContext::RuntimeOwned),
                metadata: None,
                correlation_id: None,
                causation_id: None,
            };
            accepted(actor, &Fact::MessageQueued(MessageQueued { message }))
        })??;
        Ok(Success::new(
            "queued for a later turn",
            &Enqueued { enqueued: true, priority, follow_up_text: text },
        ))
    }
}
