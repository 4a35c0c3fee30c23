//! Joins the chunks of an answer into a round.

use std::time::{Duration, Instant};

use super::{
    calls::Calls,
    chat::Chat,
    endpoint::Watch,
    extra::Extra,
    round::{Finish, Round, Timing, Usage, ms},
    wire::{CallPiece, Chunk, Delta},
};

/// A round that is being assembled.
pub(super) struct Assembly {
    begun: Instant,
    attempts: u32,
    text: String,
    refusal: String,
    calls: Calls,
    extra: Extra,
    finish_reason: Option<String>,
    usage: Option<Usage>,
    first_token: Option<Duration>,
    model: Option<String>,
    response_id: Option<String>,
    /// The index of the first choice.
    first_choice: Option<u64>,
    kept: u64,
}

/// The memory that a call takes beside its texts, in bytes.
const PER_CALL: usize = 64;

impl Assembly {
    /// An empty round, for a request that starts now.
    pub(super) fn new(attempts: u32) -> Self {
        Self {
            begun: Instant::now(),
            attempts,
            text: String::new(),
            refusal: String::new(),
            calls: Calls::default(),
            extra: Extra::default(),
            finish_reason: None,
            usage: None,
            first_token: None,
            model: None,
            response_id: None,
            first_choice: None,
            kept: 0,
        }
    }

    /// When the request started.
    pub(super) fn begun(&self) -> Instant {
        self.begun
    }

    /// Whether text or a call was accepted. Thoughts are not shown, so they do not count.
    pub(super) fn has_output(&self) -> bool {
        self.first_token.is_some()
    }

    /// Whether the server has said that the answer is complete.
    pub(super) fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// The bytes of text, thoughts and calls that were kept, without the JSON around them.
    pub(super) fn kept(&self) -> u64 {
        self.kept
    }

    /// Adds a chunk, and passes its new parts to the observer. Returns whether the model has gone
    /// on: with text, a refusal, a thought or a piece of a call.
    pub(super) fn take(&mut self, chunk: Chunk, watch: &mut dyn Watch) -> bool {
        // Some servers count in each chunk, and only the last count covers the whole answer.
        self.usage = chunk.usage.or(self.usage);
        self.model = self.model.take().or(chunk.model.filter(|model| !model.is_empty()));
        self.response_id = self.response_id.take().or(chunk.id.filter(|id| !id.is_empty()));
        let mut goes_on = false;
        for choice in chunk.choices {
            // One answer was requested, so others are ignored. A server that begins with another
            // index than 0 counts something else, such as the tokens.
            let first = *self.first_choice.get_or_insert(choice.index);
            if first == 0 && choice.index != 0 {
                continue;
            }
            if let Some(delta) = choice.delta {
                goes_on |= self.take_delta(delta, watch);
            }
            self.finish_reason = choice.finish_reason.or(self.finish_reason.take());
        }
        goes_on
    }

    fn take_delta(&mut self, delta: Delta, watch: &mut dyn Watch) -> bool {
        let mut goes_on = !delta.thoughts.is_empty();
        for thought in delta.thoughts {
            self.keep(extra_len(&thought));
            self.extra.add_part(thought);
        }
        for (name, value) in delta.extra {
            self.keep(extra_len(&value));
            goes_on |= self.extra.add(name, value);
        }
        if !delta.text.is_empty() {
            self.note_output(delta.text.len());
            self.text.push_str(&delta.text);
            watch.text(&delta.text);
            goes_on = true;
        }
        if !delta.refusal.is_empty() {
            self.note_output(delta.refusal.len());
            self.refusal.push_str(&delta.refusal);
            goes_on = true;
        }
        for piece in delta.calls {
            goes_on = true;
            self.note_output(piece_len(&piece));
            let before = self.calls.len();
            self.calls.take(piece, watch);
            self.keep((self.calls.len() - before) * PER_CALL);
        }
        goes_on
    }

    fn note_output(&mut self, bytes: usize) {
        self.first_token.get_or_insert_with(|| self.begun.elapsed());
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: usize) {
        self.kept += bytes as u64;
    }

    /// The round as far as it has arrived.
    pub(super) fn into_round(self, chat: &Chat<'_>) -> Round {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        Round {
            text: some(self.text),
            refusal: some(self.refusal),
            tool_calls: self.calls.identified(chat),
            extra: self.extra.bounded(),
            finish: self.finish_reason.as_deref().map_or(Finish::Unsaid, Finish::parse),
            finish_reason: self.finish_reason,
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

fn piece_len(piece: &CallPiece) -> usize {
    let extra: usize = piece.extra.iter().map(|(_, value)| extra_len(value)).sum();
    piece.id.len() + piece.name.len() + piece.arguments.len() + extra
}

fn extra_len(value: &serde_json::Value) -> usize {
    value.as_str().map_or_else(|| value.to_string().len(), str::len)
}
