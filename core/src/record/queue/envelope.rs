//! The envelope of a message: kinds, lanes, trust, origin and body.

use alloc::string::String;

use serde::Serialize;

use crate::{
    id::{ExternalTriggerId, TaskId, TimerId},
    tagged::{names, read_through, required},
};
use wakeful_json::{RawJson, Readable, cut};

names! {
    /// The kind of a message.
    pub enum MessageKind {
        /// A person wrote it.
        OperatorPrompt,
        /// An event from a chat channel.
        ChannelEvent,
        /// An event from a webhook.
        WebhookEvent,
        /// A delivery to an external trigger.
        CallbackEvent,
        /// A timer fired.
        TimerTick,
        /// The runtime's own tick.
        SystemTick,
        /// The terminal result of a task.
        TaskResult,
        /// Progress of a task; never starts a turn.
        TaskStatus,
        /// A control action in the form of a message.
        Control,
        /// An acknowledgement brief.
        BriefAck,
        /// A result brief.
        BriefResult,
        /// A follow-up of the runtime, meant for the model.
        InternalFollowup,
    }

    /// The lane of a message, the most urgent first (contract 5.1).
    pub enum Priority {
        /// May be inserted into an open run.
        // Names after `|` are spellings that the reference runtime reads too
        // (`observed-decisions.md` 1.3).
        Interject | "interrupt",
        /// Before ordinary input.
        Next,
        /// Ordinary input.
        Normal,
        /// After everything else.
        Background,
    }

    /// How far the sender of a message is trusted.
    pub enum TrustLevel {
        /// The operator.
        TrustedOperator,
        /// The runtime itself.
        TrustedSystem,
        /// A configured integration.
        TrustedIntegration,
        /// Anyone else.
        UntrustedExternal,
    }

    /// How much weight the text of a message has; follows from its trust.
    pub enum AuthorityClass {
        /// An instruction of the operator.
        OperatorInstruction,
        /// An instruction of the runtime.
        RuntimeInstruction,
        /// A signal of an integration.
        IntegrationSignal,
        /// Evidence, never an instruction.
        ExternalEvidence,
    }

    /// The interface through which a message arrived.
    pub enum DeliverySurface {
        /// The command line.
        CliPrompt,
        /// A one-off run.
        RunOnce,
        /// The public HTTP endpoint.
        HttpPublicEnqueue,
        /// An HTTP webhook.
        HttpWebhook,
        /// An HTTP callback with content.
        HttpCallbackEnqueue,
        /// An HTTP callback that only wakes.
        HttpCallbackWake,
        /// The authenticated control endpoint.
        HttpControlPrompt,
        /// A remote operator's transport.
        RemoteOperatorTransport,
        /// The timer scheduler.
        TimerScheduler,
        /// The runtime itself.
        RuntimeSystem,
        /// A task that ended.
        TaskRejoin,
    }

    /// The authority under which a message was admitted.
    pub enum AdmissionContext {
        /// No authentication.
        PublicUnauthenticated,
        /// Authenticated control.
        ControlAuthenticated,
        /// Authenticated operator transport.
        OperatorTransportAuthenticated,
        /// The capability of an external trigger.
        ExternalTriggerCapability,
        /// A process on this machine.
        LocalProcess,
        /// The runtime's own authority.
        RuntimeOwned,
    }

    /// The status of a message in the queue.
    pub enum QueueStatus {
        /// It waits in its lane.
        Queued,
        /// A run took it, or a reduction in the same batch.
        Dequeued,
        /// It is settled.
        Processed,
        /// It was inserted into an open run.
        Interjected,
        /// Its run was aborted.
        Aborted | "interrupted",
        /// It was refused, with a reason.
        Dropped,
    }
}

impl TrustLevel {
    /// The authority that follows from this trust.
    #[must_use]
    pub fn authority(self) -> AuthorityClass {
        match self {
            Self::TrustedOperator => AuthorityClass::OperatorInstruction,
            Self::TrustedSystem => AuthorityClass::RuntimeInstruction,
            Self::TrustedIntegration => AuthorityClass::IntegrationSignal,
            Self::UntrustedExternal => AuthorityClass::ExternalEvidence,
        }
    }
}

impl QueueStatus {
    /// Whether this status is final: no later record has another (contract 3.3).
    #[must_use]
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Queued | Self::Dequeued)
    }
}

/// The sender of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MessageOrigin {
    /// A person.
    Operator {
        /// The person, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        actor_id: Option<String>,
    },
    /// A chat channel.
    Channel {
        /// The channel.
        channel_id: String,
        /// The author in that channel, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        sender_id: Option<String>,
    },
    /// A webhook.
    Webhook {
        /// The system that sent the event.
        source: String,
        /// The system's own name for the event.
        #[serde(skip_serializing_if = "Option::is_none")]
        event_type: Option<String>,
    },
    /// A callback.
    Callback {
        /// The external trigger to which the callback was delivered.
        descriptor_id: ExternalTriggerId,
        /// The system that sent the callback.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
    /// A timer.
    Timer {
        /// The timer that fired.
        timer_id: TimerId,
    },
    /// The runtime.
    System {
        /// The part of the runtime that sent the message.
        subsystem: String,
    },
    /// A task.
    Task {
        /// The task that the message is about.
        task_id: TaskId,
    },
}

/// The fields of all origins together; [`MessageOrigin`] is read through it.
#[derive(Readable)]
struct OriginFields {
    kind: OriginKind,
    actor_id: Option<String>,
    channel_id: Option<String>,
    sender_id: Option<String>,
    source: Option<String>,
    event_type: Option<String>,
    descriptor_id: Option<ExternalTriggerId>,
    timer_id: Option<TimerId>,
    subsystem: Option<String>,
    task_id: Option<TaskId>,
}

names! {
    enum OriginKind {
        Operator,
        Channel,
        Webhook,
        Callback,
        Timer,
        System,
        Task,
    }
}

impl TryFrom<OriginFields> for MessageOrigin {
    type Error = String;

    fn try_from(f: OriginFields) -> Result<Self, String> {
        Ok(match f.kind {
            OriginKind::Operator => Self::Operator { actor_id: f.actor_id },
            OriginKind::Channel => Self::Channel {
                channel_id: required(f.channel_id, "channel_id", "channel")?,
                sender_id: f.sender_id,
            },
            OriginKind::Webhook => Self::Webhook {
                source: required(f.source, "source", "webhook")?,
                event_type: f.event_type,
            },
            OriginKind::Callback => Self::Callback {
                descriptor_id: required(f.descriptor_id, "descriptor_id", "callback")?,
                source: f.source,
            },
            OriginKind::Timer => {
                Self::Timer { timer_id: required(f.timer_id, "timer_id", "timer")? }
            }
            OriginKind::System => {
                Self::System { subsystem: required(f.subsystem, "subsystem", "system")? }
            }
            OriginKind::Task => Self::Task { task_id: required(f.task_id, "task_id", "task")? },
        })
    }
}

read_through!(MessageOrigin, OriginFields, Self::Operator { actor_id: None });

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessageBody {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// Structured content.
    Json {
        /// The JSON value, carried as given.
        value: RawJson,
    },
    /// A brief.
    Brief {
        /// The title of the brief.
        title: Option<String>,
        /// The text of the brief.
        text: String,
        /// The attachments, carried as given.
        #[serde(skip_serializing_if = "Option::is_none")]
        attachments: Option<RawJson>,
    },
}

impl MessageBody {
    /// The length of the content in bytes of text.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.as_text().len()
    }

    /// The beginning of the content as plain text, at most `most` bytes.
    #[must_use]
    pub fn beginning(&self, most: usize) -> Self {
        let text = self.as_text();
        let end = text.floor_char_boundary(most);
        Self::Text { text: cut(text, ..end).into() }
    }
}

/// The fields of all bodies together; [`MessageBody`] is read through it.
#[derive(Readable)]
struct BodyFields {
    #[serde(rename = "type")]
    kind: BodyKind,
    text: Option<String>,
    value: Option<RawJson>,
    title: Option<String>,
    attachments: Option<RawJson>,
}

names! {
    enum BodyKind {
        Text,
        Json,
        Brief,
    }
}

impl TryFrom<BodyFields> for MessageBody {
    type Error = String;

    fn try_from(f: BodyFields) -> Result<Self, String> {
        Ok(match f.kind {
            BodyKind::Text => Self::Text { text: required(f.text, "text", "text")? },
            // `null` reads as an absent field, but as a body it is a value like any other.
            BodyKind::Json => {
                Self::Json { value: f.value.unwrap_or_else(|| RawJson::from_value(&())) }
            }
            BodyKind::Brief => Self::Brief {
                title: f.title,
                text: required(f.text, "text", "brief")?,
                attachments: f.attachments,
            },
        })
    }
}

read_through!(MessageBody, BodyFields, Self::text(""));

impl MessageBody {
    /// A body with a text of the core's own.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The content as text; structured content as its JSON.
    #[must_use]
    pub fn as_text(&self) -> &str {
        match self {
            Self::Text { text } | Self::Brief { text, .. } => text,
            Self::Json { value } => value.as_str(),
        }
    }

    /// Whether the body has content: a text that is not blank, or any JSON value.
    #[must_use]
    pub fn is_contentful(&self) -> bool {
        match self {
            Self::Text { text } | Self::Brief { text, .. } => !text.trim().is_empty(),
            Self::Json { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakeful_json as json;

    #[test]
    fn an_origin_without_its_field_says_which() {
        let why = json::read::<MessageOrigin>(r#"{"kind":"timer"}"#).expect_err("no timer_id");
        assert_eq!(why.message, "missing field `timer_id` of `timer`");
    }

    #[test]
    fn an_unknown_origin_lists_the_known_ones() {
        let why = json::read::<MessageOrigin>(r#"{"kind":"pigeon"}"#).expect_err("no such kind");
        assert_eq!(why.path, "kind");
        assert!(
            why.message.contains("`pigeon`") && why.message.contains("`callback`"),
            "{}",
            why.message
        );
    }

    #[test]
    fn a_null_json_body_is_a_value() {
        let body: MessageBody = json::read(r#"{"type":"json","value":null}"#).expect("valid");
        assert!(body.is_contentful());
        assert_eq!(json::write(&body), r#"{"type":"json","value":null}"#);
    }
}
