//! The time of a running agent: the system's clock, a clock that jumps, or the times of an earlier
//! ledger.

use wakeful_core::{host::Clock, id::Seq, time::Timestamp};
use wakeful_host::clock::{RecordedClock, SteadyClock};

/// The clock of a running agent. The loop reads it once per round, so everything in a round happens
/// at one instant.
pub enum Time {
    /// The system's clock: the agent waits until something is due.
    System(SteadyClock),
    /// A clock that starts at this instant and jumps to the next event.
    Virtual(Timestamp),
    /// A clock that jumps, and gives each entry the time that the entry had in an earlier ledger.
    Recorded {
        /// The times of the earlier ledger.
        clock: RecordedClock,
        /// The time if the earlier ledger has no later one.
        now: Timestamp,
    },
}

impl Time {
    /// The current time, if the next entry is `next`.
    pub(super) fn now(&mut self, next: Seq) -> Timestamp {
        match self {
            Self::System(clock) => clock.now(),
            Self::Virtual(now) => *now,
            Self::Recorded { clock, now } => {
                // The earlier clock was behind its ledger here, and an entry reports that. The same
                // reading gives the same entry again.
                if let Some(behind) = clock.behind_at(next) {
                    return behind;
                }
                *now = clock.at(next).map_or(*now, |recorded| recorded.max(*now));
                *now
            }
        }
    }

    /// Starts no earlier than `start`. The system's clock ignores this.
    pub(super) fn begin(&mut self, start: Timestamp) {
        self.jump(start);
    }

    /// Jumps to a later instant, if this clock can. Returns whether it did.
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
