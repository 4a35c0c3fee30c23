//! Stories in TOML.

use wakeful_agent::toml_text;
use wakeful_core::{json::JsonError, story::Story};

/// Reads a story from TOML text. Also returns the same story as JSON text.
///
/// # Errors
/// If the text is not a story; the error has the place in the TOML text.
pub fn read_toml(text: &str) -> Result<(Story, String), JsonError> {
    toml_text::read(text, Story::read)
}
