//! The state of the queue: lanes, and what was said that no turn has read.

pub mod deferred;
pub mod lanes;
