//! What the audience hears of an answer while it arrives.

use std::{sync::Arc, time::Duration};

use crate::{
    confine::RedactedStream,
    context::Context,
    openai::{ChatError, Watch},
};

/// Passes the model's text to the audience while it arrives, without secrets.
pub(crate) struct Listener<'a> {
    context: &'a Context,
    text: RedactedStream,
}

impl<'a> Listener<'a> {
    pub(crate) fn new(context: &'a Context) -> Self {
        Self { context, text: RedactedStream::new(Arc::clone(&context.redactor)) }
    }

    fn show(&self, text: &[u8]) {
        if !text.is_empty() {
            self.context.audience.text(&self.context.agent_id, &String::from_utf8_lossy(text));
        }
    }

    /// Shows the held-back rest of the text: no more will follow.
    pub(crate) fn close(mut self) {
        let rest = self.text.rest();
        self.show(&rest);
    }
}

impl Watch for Listener<'_> {
    fn text(&mut self, delta: &str) {
        let shown = self.text.next(delta.as_bytes());
        self.show(&shown);
    }

    fn tool_call_begun(&mut self, name: &str) {
        self.context.audience.calls(&self.context.agent_id, &self.context.redactor.redact(name));
    }

    fn retrying(&mut self, attempt: u32, after: Duration, why: &ChatError) {
        self.context.audience.notice(
            &self.context.agent_id,
            &format!("{why}; attempt {attempt} in {} ms", after.as_millis()),
        );
    }
}
