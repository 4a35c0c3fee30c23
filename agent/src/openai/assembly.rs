//! Joins the chunks of an answer into a round.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use super::{
    chat::{Chat, ChatMessage, ToolCall},
    endpoint::Watch,
    round::{Finish, Round, Timing, Usage, ms},
    wire::{CallDelta, Choice, Chunk, Delta},
};

/// A round that is being assembled.
pub(super) struct Assembly {
    begun: Instant,
    attempts: u32,
    text: String,
    refusal: String,
    calls: Vec<Call>,
    finish: Option<Finish>,
    usage: Option<Usage>,
    first_token: Option<Duration>,
    model: Option<String>,
    response_id: Option<String>,
}

/// A tool call as far as it has arrived.
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Assembly {
    /// An empty round, for a request that starts now.
    pub(super) fn new(attempts: u32) -> Self {
        Self {
            begun: Instant::now(),
            attempts,
            text: String::new(),
            refusal: String::new(),
            calls: Vec::new(),
            finish: None,
            usage: None,
            first_token: None,
            model: None,
            response_id: None,
        }
    }

    /// When the request started.
    pub(super) fn begun(&self) -> Instant {
        self.begun
    }

    /// Whether any output was accepted.
    pub(super) fn has_output(&self) -> bool {
        self.first_token.is_some()
    }

    /// Whether the server has said that the answer is complete.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Adds a chunk, and passes its new parts to the observer.
    pub(super) fn take(&mut self, chunk: Chunk, watch: &mut dyn Watch) {
        // Some servers count in each chunk, and only the last count covers the whole answer.
        self.usage = chunk.usage().or(self.usage);
        self.model = self.model.take().or(chunk.model.filter(|model| !model.is_empty()));
        self.response_id = self.response_id.take().or(chunk.id.filter(|id| !id.is_empty()));
        // One answer was requested, so choices with another index are ignored.
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index == 0) {
            self.take_choice(choice, watch);
        }
    }

    fn take_choice(&mut self, mut choice: Choice, watch: &mut dyn Watch) {
        let reason = choice.finish_reason.take().filter(|reason| !reason.is_empty());
        if let Some(delta) = choice.delta() {
            self.take_delta(delta, watch);
        }
        if let Some(reason) = reason {
            self.finish = Some(Finish::parse(reason));
        }
    }

    fn take_delta(&mut self, delta: Delta, watch: &mut dyn Watch) {
        if let Some(text) = delta.content.filter(|text| !text.is_empty()) {
            self.note_output();
            self.text.push_str(&text);
            watch.text(&text);
        }
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            self.note_output();
            self.refusal.push_str(&refusal);
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.note_output();
            self.take_call(call, watch);
        }
    }

    fn take_call(&mut self, delta: CallDelta, watch: &mut dyn Watch) {
        let id = delta.id.unwrap_or_default();
        let arguments =
            delta.function.as_ref().map(|function| function.arguments()).unwrap_or_default();
        let name = delta.function.and_then(|function| function.name).unwrap_or_default();
        let at = self.place(delta.index, &id, &name);
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() && !name.is_empty() {
            watch.tool_call_begun(&name);
            call.name = name;
        }
        call.arguments.push_str(&arguments);
    }

    /// Finds the call that a piece belongs to. The format gives each call an `index`. Some servers
    /// send none, but send whole calls or pieces in order; others give every call the same index.
    /// So a piece with a name starts a new call, unless the found call has no name yet or has the
    /// same id.
    fn place(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        let candidate = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None if !id.is_empty() => self
                .calls
                .iter()
                .rposition(|call| call.id == id)
                .or(self.calls.len().checked_sub(1)),
            None => self.calls.len().checked_sub(1),
        };
        let belongs = |call: &Call| {
            let is_same = !id.is_empty() && call.id == id;
            let is_unknown = index.is_some() && (id.is_empty() || call.id.is_empty());
            name.is_empty() || call.name.is_empty() || is_same || is_unknown
        };
        match candidate.filter(|&at| belongs(&self.calls[at])) {
            Some(at) => at,
            None => {
                self.calls.push(Call {
                    index,
                    id: String::new(),
                    name: String::new(),
                    arguments: String::new(),
                });
                self.calls.len() - 1
            }
        }
    }

    fn note_output(&mut self) {
        self.first_token.get_or_insert_with(|| self.begun.elapsed());
    }

    /// The round as far as it has arrived.
    pub(super) fn into_round(self, chat: &Chat<'_>) -> Round {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        Round {
            text: some(self.text),
            refusal: some(self.refusal),
            tool_calls: identified(self.calls, chat),
            finish: self.finish.unwrap_or(Finish::Unsaid),
            usage: self.usage,
            timing: Timing {
                first_token_ms: self.first_token.map(ms),
                total_ms: ms(self.begun.elapsed()),
                attempts: self.attempts,
            },
            model: self.model,
            response_id: self.response_id,
        }
    }
}

/// The calls with ids that are unique in the chat. A missing or repeated id is replaced by a
/// generated one.
fn identified(calls: Vec<Call>, chat: &Chat<'_>) -> Vec<ToolCall> {
    let of_message = |message: &ChatMessage| match message {
        ChatMessage::Assistant { tool_calls, .. } => {
            tool_calls.iter().map(|call| call.id.clone()).collect()
        }
        _ => Vec::new(),
    };
    let mut taken: BTreeSet<String> = chat.messages.iter().flat_map(of_message).collect();
    // A generated id must not take one that a later call of this round was given.
    let given: BTreeSet<String> = calls.iter().map(|call| call.id.clone()).collect();
    let mut number = taken.len();
    calls
        .into_iter()
        .map(|Call { mut id, name, arguments, .. }| {
            while id.is_empty() || taken.contains(&id) {
                number += 1;
                id = Some(format!("call_{number}"))
                    .filter(|made| !given.contains(made))
                    .unwrap_or_default();
            }
            taken.insert(id.clone());
            ToolCall { id, name, arguments }
        })
        .collect()
}
