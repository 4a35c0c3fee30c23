//! Content that a provider refuses to read (contract 5.3).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::id::{MessageId, RunId};
use wakeful_json::Readable;

/// Fact and event `content_refused`: the provider refuses the content of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefusedContent {
    /// The open run.
    pub run_id: RunId,
    /// The messages whose content is refused. The message of the run is dropped, and deferred ones
    /// are never told again. Empty if the host cannot say which: then deferred content is told one
    /// message at a time, until a refusal has a culprit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub message_ids: Vec<MessageId>,
    /// What the provider says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
