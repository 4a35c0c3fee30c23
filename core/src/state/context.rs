//! The plane of evidence: compaction, runtime errors and checkpoints.

use alloc::string::String;

use serde::Serialize;
use wakeful_json::Readable;

use crate::{
    id::Seq,
    record::{
        context::{BriefKind, BriefRecord, CheckpointRecorded, ContextCompacted},
        entry::Place,
    },
    time::Timestamp,
};

/// The time of a record, and its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Readable)]
pub struct Noted {
    /// The record's own time, not the batch's.
    pub at: Timestamp,
    /// The entry of the record.
    pub seq: Seq,
}

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
pub struct Context {
    /// The newest runtime error since the last completed turn.
    pub error: Option<Noted>,
    /// The newest successful result brief.
    pub success: Option<Noted>,
    /// The number of tool calls that were executed.
    pub tool_executions: u64,
    /// The number of briefs.
    pub briefs: u64,
    /// The number of transcript pieces.
    pub transcript: u64,
    /// The number of the newest compaction: the one that its host said, or one more than before.
    pub compression_epoch: u64,
    /// The number of messages that the context summary replaces.
    pub compacted_message_count: u64,
    /// The summary that replaces them.
    pub context_summary: Option<String>,
    /// The anchor generation: the number of work-item snapshots so far.
    pub anchor: u64,
    /// The entry of the newest such snapshot.
    pub anchored_by: Option<Seq>,
    /// The newest checkpoint: its anchor generation and its entry.
    pub checkpoint: Option<(u64, Seq)>,
}

impl Context {
    /// The runtime error in force: one newer than the last success, however old (contract 6.2).
    #[must_use]
    pub fn runtime_error(&self) -> Option<Noted> {
        let error = self.error?;
        self.success.is_none_or(|success| error.at > success.at).then_some(error)
    }

    /// The entry of the newest checkpoint, if no work item has changed since (contract 5.22).
    #[must_use]
    pub fn valid_checkpoint(&self) -> Option<Seq> {
        self.checkpoint.filter(|(anchor, _)| *anchor == self.anchor).map(|(_, seq)| seq)
    }

    /// Folds a failure of the host or the provider.
    pub(crate) fn failed(&mut self, place: &Place, at: Timestamp) {
        // The records carry their own times, which need not be in the order of their entries.
        self.error = self.error.max(Some(Noted { at, seq: place.seq }));
    }

    pub(crate) fn compacted(&mut self, compacted: ContextCompacted) {
        // An epoch that has been used could make a host take an older prompt for the current one.
        let said = compacted.compression_epoch.filter(|said| *said > self.compression_epoch);
        self.compression_epoch = said.unwrap_or(self.compression_epoch.saturating_add(1));
        self.compacted_message_count = compacted.compacted_message_count;
        self.context_summary = compacted.context_summary;
    }

    pub(crate) fn checkpointed(&mut self, place: &Place, checkpoint: &CheckpointRecorded) {
        self.checkpoint = Some((checkpoint.anchor_generation, place.seq));
    }

    /// Folds a change of a work item, which makes the checkpoint invalid.
    pub(crate) fn work_changed(&mut self, place: &Place) {
        self.anchor += 1;
        self.anchored_by = Some(place.seq);
    }

    pub(crate) fn apply_brief(&mut self, place: &Place, record: &BriefRecord) {
        self.briefs += 1;
        if record.kind == BriefKind::Result {
            self.success = self.success.max(Some(Noted { at: record.created_at, seq: place.seq }));
        }
    }

    /// Folds the completion of a turn of our own, which clears earlier errors.
    pub(crate) fn turn_completed(&mut self, at: Timestamp) {
        // An error may be later than the turn, because records carry their own times.
        self.error = self.error.filter(|error| error.at > at);
    }
}
