//! Messages, the core's notes in their metadata, and their way through the queue (classes
//! `messages` and `queue_entries`).

pub mod admission;
pub mod entry;
pub mod envelope;
pub mod message;
pub mod note;
