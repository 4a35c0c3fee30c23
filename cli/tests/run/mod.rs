//! Running agents, each in its own process: they are started, killed, shut down, sent messages, and
//! continued.

mod agent;
mod beside;
mod ends;
#[cfg(unix)]
mod file;

/// The head of a valid story.
const HEAD: &str =
    "story = \"s\"\nshows = \"\"\nagent_id = \"default\"\nstarts_at = 2026-05-27T09:00:00Z\n";
