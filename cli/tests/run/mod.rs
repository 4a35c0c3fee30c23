//! Live agents, in processes of their own: they run, are killed, shut down, spoken to, and go on.

mod agent;
mod beside;
mod ends;

/// The head of a story in which nothing is wrong.
const HEAD: &str =
    "story = \"s\"\nshows = \"\"\nagent_id = \"default\"\nstarts_at = 2026-05-27T09:00:00Z\n";
