//! Stories that people write, in TOML.

use wakeful_agent::toml_text;
use wakeful_core::{json::JsonError, story::Story};

/// Reads a story from TOML text, with the JSON text that says the same.
///
/// # Errors
/// What is wrong, and where in the TOML text.
pub fn read_toml(text: &str) -> Result<(Story, String), JsonError> {
    toml_text::read(text, Story::read)
}
