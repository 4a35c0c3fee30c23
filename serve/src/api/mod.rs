//! What the routes do.

pub(crate) mod agents;
pub(crate) mod entries;
pub(crate) mod events;
pub(crate) mod hooks;
pub(crate) mod ingress;
pub(crate) mod projections;
pub(crate) mod read;
pub(crate) mod session;
pub(crate) mod signatures;
pub(crate) mod turns;
pub(crate) mod write;
