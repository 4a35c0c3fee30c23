//! The plane of messages: the lanes, and deferred messages.

pub mod deferred;
pub mod lanes;
