//! The state: one projection, folded from entries and from nothing else (contract 1.1, 3.3).

pub mod admitted;
pub mod arrival;
pub mod autonomy;
pub mod context;
pub mod control;
pub mod fold;
pub mod index;
pub mod lists;
pub mod progress;
pub mod queue;
pub mod readiness;
pub mod recheck;
pub mod retry;
pub mod snapshot;
pub mod task;
pub mod trigger;
pub mod turn;
pub mod waiting;
pub mod work;

use serde::Serialize;

use crate::{
    id::Seq,
    record::chain::Head,
    state::{
        context::Context, control::Control, index::Index, queue::lanes::Queue, task::Tasks, turn::Turns, waiting::Waiting, work::Work,
    },
    time::Timestamp,
};
use wakeful_json::Readable;

/// The planes and the head up to which they are folded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Readable)]
pub struct State {
    /// The newest entry.
    pub head: Head,
    /// The time of the newest batch.
    pub at: Timestamp,
    /// Whether it was told that the host's clock is behind that time (contract 1.3). It has caught up where a batch has a later one.
    #[serde(default)]
    pub clock_behind: bool,
    /// Identity, lifecycle, hints.
    pub control: Control,
    /// Messages.
    pub queue: Queue,
    /// Turns.
    pub turns: Turns,
    /// Background tasks.
    pub tasks: Tasks,
    /// Work items.
    pub work: Work,
    /// Waits and timers.
    pub waiting: Waiting,
    /// Evidence.
    pub context: Context,
    /// Records of other agents, which never count (contract 3.6).
    pub foreign_records: u64,
    /// Lines that an import carries and no rule reads (contract 3.7).
    pub carried_records: u64,
    /// What is asked for often, by what it is asked.
    #[serde(skip)]
    pub(crate) index: Index,
}

impl State {
    /// The same once more. To clone it is much code, which is here once and not where it is called.
    #[inline(never)]
    pub(crate) fn copied(&self) -> Self {
        self.clone()
    }

    /// The position of the next entry.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.head.seq.next()
    }
}
