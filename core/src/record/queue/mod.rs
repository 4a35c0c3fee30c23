//! Messages, what the core notes in them, and their way through the queue (classes `messages` and
//! `queue_entries`).

pub mod admission;
pub mod entry;
pub mod envelope;
pub mod message;
pub mod note;
