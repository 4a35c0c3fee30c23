//! A message as the model is told it.

use wakeful_core::record::{
    effect::DeferredMessage,
    queue::{
        envelope::{MessageKind, MessageOrigin},
        message::MessageRecord,
    },
};

use crate::cut;

/// A message with its heading. It can be cut, with a note of where the rest is.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    id: String,
    heading: String,
    text: String,
    /// The length of the whole text, if the scheduler has cut it.
    whole: usize,
    is_operator_input: bool,
}

impl Told {
    /// A message, whole.
    pub(crate) fn new(message: &MessageRecord) -> Self {
        Self {
            id: message.id.to_string(),
            heading: heading(message),
            text: body(message),
            whole: 0,
            is_operator_input: message.is_operator_input(),
        }
    }

    /// An operator's message.
    #[cfg(test)]
    pub(super) fn of_operator(text: &str) -> Self {
        Self {
            id: "m".to_owned(),
            heading: "[operator]".to_owned(),
            text: text.to_owned(),
            whole: 0,
            is_operator_input: true,
        }
    }

    /// A deferred message, which the scheduler may have cut.
    pub(super) fn deferred(told: &DeferredMessage) -> Self {
        let whole = told.body_bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
        Self { whole, ..Self::new(&told.message) }
    }

    /// The id of the message.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Whether it is input of the operator.
    pub(crate) fn is_operator_input(&self) -> bool {
        self.is_operator_input
    }

    /// The heading, and at most this many bytes of the text.
    pub(crate) fn within(&self, bytes: usize) -> String {
        format!("{}\n{}", self.heading, cut::with_rest(&self.text, self.whole, bytes, &self.id))
    }

    /// The heading and the text.
    pub(crate) fn in_full(&self) -> String {
        self.within(usize::MAX)
    }

    /// The length of heading and text, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.heading.len() + 1 + self.text.len()
    }

    /// The length of the text alone.
    pub(super) fn text_len(&self) -> usize {
        self.text.len().max(self.whole)
    }

    /// The message in one line of at most this many characters.
    pub(crate) fn line(&self, characters: usize) -> String {
        cut::line(&format!("{} {}", self.heading, self.text), characters)
    }
}

/// The sender of a message, in one line.
pub(super) fn heading(message: &MessageRecord) -> String {
    let about = message
        .work_item_id
        .as_ref()
        .map_or_else(String::new, |item| format!(", about work item {item}"));
    // Only this heading gives a message authority for the model, so it needs kind, origin and trust
    // (contract 5.19).
    if message.is_operator_input() {
        return format!("[operator{about}]");
    }
    let from = match (&message.kind, &message.origin) {
        (MessageKind::TaskResult, MessageOrigin::Task { task_id }) => {
            format!("result of task {task_id}")
        }
        // Only a child gets follow-ups whose origin is a task: the one that supervises it.
        (MessageKind::InternalFollowup, MessageOrigin::Task { .. }) => {
            "your parent agent".to_owned()
        }
        (MessageKind::InternalFollowup, _) => "follow-up".to_owned(),
        (MessageKind::TimerTick, MessageOrigin::Timer { timer_id }) => format!("timer {timer_id}"),
        (_, MessageOrigin::Callback { descriptor_id, .. }) => {
            format!("event for trigger {descriptor_id}")
        }
        (_, MessageOrigin::Webhook { source, .. }) => format!("event from {source}"),
        (_, MessageOrigin::Channel { channel_id, .. }) => {
            format!("message in channel {channel_id}")
        }
        (_, MessageOrigin::System { subsystem }) => subsystem.replace('_', " "),
        (kind, _) => kind.to_string().replace('_', " "),
    };
    format!("[runtime] {from}{about}")
}

/// The text of a message; for a task's result also what its command printed.
pub(crate) fn body(message: &MessageRecord) -> String {
    let detail = message.noted("task_detail");
    let output =
        detail.as_ref().and_then(|detail| detail.field("output_summary")?.read::<String>().ok());
    let output = output
        .filter(|text| !text.trim().is_empty())
        .map_or_else(String::new, |text| format!("\n\nOutput:\n{text}"));
    let interrupted = message
        .noted("interrupted_tasks")
        .map_or_else(String::new, |tasks| format!("\n{}", tasks.as_str()));
    format!("{}{output}{interrupted}", message.body.as_text())
}

#[cfg(test)]
mod tests {
    use wakeful_core::json;

    use super::*;

    #[test]
    fn only_a_trusted_operator_has_the_heading_of_the_operator() {
        let heading_with = |trust: &str| {
            let message = format!(
                r#"{{"id": "m", "agent_id": "a", "kind": "operator_prompt", "trust": "{trust}",
                    "priority": "normal", "origin": {{"kind": "operator"}}, "body": {{"type": "text", "text": "hi"}},
                    "created_at": "2026-05-27T09:00:00Z"}}"#
            );
            heading(&json::read::<MessageRecord>(&message).expect("a message"))
        };
        assert_eq!(heading_with("trusted_operator"), "[operator]");
        assert_eq!(heading_with("untrusted_external"), "[runtime] operator prompt");
    }
}
