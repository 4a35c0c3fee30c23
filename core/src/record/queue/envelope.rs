//! The envelope of a message: kinds, lanes, trust, origin and body.

use alloc::string::String;

use serde::Serialize;

use crate::{
    id::{ExternalTriggerId, TaskId, TimerId},
    tagged::{names, read_through, required},
};
use wakeful_json::{RawJson, Readable};

names! {
    /// What a message is.
    pub enum MessageKind {
        /// Something a person said.
        OperatorPrompt,
        /// An event of a chat channel.
        ChannelEvent,
        /// An event of a webhook.
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
        /// A control action in message form.
        Control,
        /// An acknowledgement brief.
        BriefAck,
        /// A result brief.
        BriefResult,
        /// A follow-up that the runtime means for the model.
        InternalFollowup,
    }

    /// The lane of a message, most urgent first (contract 5.1).
    pub enum Priority {
        /// May be inserted into an open run.
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

    /// What the words of a message count as; follows from its trust.
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

    /// Where a message came in.
    pub enum DeliverySurface {
        /// The command line.
        CliPrompt,
        /// A single run.
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
        /// The runtime.
        RuntimeSystem,
        /// A task that ended.
        TaskRejoin,
    }

    /// Under what authority a message was admitted.
    pub enum AdmissionContext {
        /// No authentication.
        PublicUnauthenticated,
        /// Authenticated control.
        ControlAuthenticated,
        /// Authenticated operator transport.
        OperatorTransportAuthenticated,
        /// The capability of an external trigger.
        ExternalTriggerCapability,
        /// A process of this machine.
        LocalProcess,
        /// The runtime's own.
        RuntimeOwned,
    }

    /// What became of a message.
    pub enum QueueStatus {
        /// Waits in its lane.
        Queued,
        /// Taken by a run, or by a reduction in the same batch.
        Dequeued,
        /// Done.
        Processed,
        /// Inserted into an open run.
        Interjected,
        /// Its run was aborted.
        Aborted | "interrupted",
        /// Refused with a reason.
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
    /// Whether this status absorbs (contract 3.3).
    #[must_use]
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Queued | Self::Dequeued)
    }
}

/// Who sent a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MessageOrigin {
    /// A person.
    Operator {
        /// Who, where it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        actor_id: Option<String>,
    },
    /// A chat channel.
    Channel {
        /// The channel.
        channel_id: String,
        /// Who wrote there, where it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        sender_id: Option<String>,
    },
    /// A webhook.
    Webhook {
        /// The sending system.
        source: String,
        /// Its name for the event.
        #[serde(skip_serializing_if = "Option::is_none")]
        event_type: Option<String>,
    },
    /// A callback.
    Callback {
        /// The external trigger that it was delivered to.
        descriptor_id: ExternalTriggerId,
        /// The sending system.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
    /// A timer.
    Timer {
        /// The timer.
        timer_id: TimerId,
    },
    /// The runtime.
    System {
        /// Its part.
        subsystem: String,
    },
    /// A task.
    Task {
        /// The task.
        task_id: TaskId,
    },
}

/// All fields that some origin has; what [`MessageOrigin`] is read through.
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

/// What a message says.
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
        /// The value, carried as given.
        value: RawJson,
    },
    /// A brief.
    Brief {
        /// Its title.
        title: Option<String>,
        /// Its text.
        text: String,
        /// What is attached, carried as given.
        #[serde(skip_serializing_if = "Option::is_none")]
        attachments: Option<RawJson>,
    },
}

/// All fields that some body has; what [`MessageBody`] is read through.
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
            // A null value reads as absent; for a body it is a value like any other.
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
    /// Text that the core itself wrote.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// What it says as text; structured content as its JSON.
    #[must_use]
    pub fn as_text(&self) -> &str {
        match self {
            Self::Text { text } | Self::Brief { text, .. } => text,
            Self::Json { value } => value.as_str(),
        }
    }

    /// Whether the body says anything: text other than white space, or any JSON value.
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
