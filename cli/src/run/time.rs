//! The time of a live agent: the system's, one that jumps, or the instants of an earlier ledger.

use wakeful_core::{host::Clock, id::Seq, time::Timestamp};
use wakeful_host::clock::{RecordedClock, SystemClock};

/// What time it is for a live agent. It is read once for each thing that the loop does, so all of
/// it happens at one instant.
#[derive(Clone, Debug)]
pub enum Time {
    /// The system's clock: what is due is waited for.
    System,
    /// A clock that jumps to the next thing that happens, from this instant on.
    Virtual(Timestamp),
    /// A clock that jumps, and shows for each entry of an earlier ledger what its clock showed
    /// then.
    Recorded {
        /// The instants of the earlier ledger.
        clock: RecordedClock,
        /// What it shows where they say nothing later.
        now: Timestamp,
    },
}

impl Time {
    /// Now, where the entry at `next` is the next that is made.
    pub(super) fn now(&mut self, next: Seq) -> Timestamp {
        match self {
            Self::System => SystemClock.now(),
            Self::Virtual(now) => *now,
            Self::Recorded { clock, now } => {
                if let Some(behind) = clock.behind_at(next) {
                    return behind;
                }
                *now = clock.at(next).map_or(*now, |recorded| recorded.max(*now));
                *now
            }
        }
    }

    /// Begins no earlier than `start`; the system's clock begins when it begins.
    pub(super) fn begin(&mut self, start: Timestamp) {
        self.jump(start);
    }

    /// Goes to a later instant, where this clock can; says whether it did.
    pub(super) fn jump(&mut self, to: Timestamp) -> bool {
        match self {
            Self::Virtual(now) | Self::Recorded { now, .. } if to > *now => {
                *now = to;
                true
            }
            _ => false,
        }
    }
}
