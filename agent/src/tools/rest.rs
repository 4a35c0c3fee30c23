//! `ReadRest`: the rest of a text that the prompt shows cut.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Caller, Success, Tool, ToolError};

/// The most bytes of a piece by default, and the most in any case. A piece has also at most a
/// sixteenth of the prompt, so that it is not cut itself.
const BYTES: usize = 8 << 10;
const MOST_BYTES: usize = 64 << 10;
const PART: u64 = 16;

/// Arguments of `ReadRest`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadRest {
    /// The id that stands beside the text.
    id: String,
    /// The byte at which to begin. By default the first.
    #[serde(default)]
    offset: usize,
    /// The most bytes to read. By default 8,192.
    #[serde(default)]
    bytes: Option<usize>,
}

#[derive(Serialize)]
struct Piece {
    text: String,
    offset: usize,
    total_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

impl Tool for ReadRest {
    const NAME: &'static str = "ReadRest";
    const ABOUT: &'static str = "Reads on in a message or a tool's result that is shown cut.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let Self { id, offset, bytes } = self;
        let asked = id.trim().to_owned();
        let whole = caller.ask(move |actor| actor.whole_text(&asked))?.ok_or_else(|| {
            ToolError::new(
                "unknown",
                format!("there is no message and no newer tool result with the id `{id}`"),
            )
        })?;
        if offset > whole.len() {
            return Err(ToolError::new(
                "invalid_tool_input",
                format!("`offset` is {offset}, but the text has {} bytes", whole.len()),
            ));
        }
        let room = usize::try_from(caller.context.context_tokens * 4 / PART).unwrap_or(usize::MAX);
        let most = bytes.unwrap_or(BYTES).clamp(1, MOST_BYTES).min(room).max(4);
        let begin = whole.floor_char_boundary(offset);
        let end = whole.floor_char_boundary(begin.saturating_add(most));
        let piece = Piece {
            text: whole[begin..end].to_owned(),
            offset: begin,
            total_bytes: whole.len(),
            next_offset: (end < whole.len()).then_some(end),
        };
        let summary = format!("bytes {begin} to {end} of {} of {id}", whole.len());
        Ok(Success::new(summary, &piece))
    }
}
