//! Policy: every limit and delay of the scheduler, in one struct (contract 10).

use alloc::vec::Vec;
use core::num::NonZeroU64;

use serde::Serialize;

use crate::{id, record::queue::message::TriggerKind};
use wakeful_json::{Readable, Value, through_readable};

/// Limits and delays, with their defaults. Times are in milliseconds. What would mean never or at
/// once cannot be said: a zero and an empty list of delays are malformed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Policy {
    /// How many messages in a row may pass over waiting operator input, or over a lower lane,
    /// before its oldest goes next (contract 5.1). Default 4.
    pub lane_burst: NonZeroU64,
    /// How many deferred messages are kept for the next turn (contract 5.3). Default 64.
    pub deferred_cap: NonZeroU64,
    /// How many ids that name no active wait a coalesced wake hint keeps (contract 5.21). Default
    /// 64.
    pub hint_ids: NonZeroU64,
    /// How often the runs of a message may be interrupted before it is dropped (contract 5.24).
    /// Default 5.
    pub replay_budget: NonZeroU64,
    /// How often a failed turn is tried again (contract 5.6). Default 3.
    pub failed_turn_retries: NonZeroU64,
    /// How long to wait before each of these tries; the last delay serves all further ones. Default
    /// 10 s, 1 min, 10 min.
    pub failed_turn_backoff_ms: Delays,
    /// After which intervals an item without progress is offered again (contract 9.4). Default 1
    /// min, 10 min, 1 h, 6 h, 24 h.
    pub offer_backoff_ms: Delays,
    /// How many turns in a row may start without input from outside (contract 9.5). Default 200.
    pub autonomous_turns: NonZeroU64,
    /// How long an open run may be silent before it is called stalled (contract 5.8). Default 30
    /// min.
    pub run_lease_ms: NonZeroU64,
    /// How long a wait for the runtime itself lasts before it is ticked (contract 8.4). Default 1
    /// min.
    pub system_wait_delay_ms: NonZeroU64,
    /// Trigger kinds that re-enter the model under any wait when they say something (contract 6.3).
    /// Default internal_followup.
    pub overrides_waits: Vec<TriggerKind>,
    /// The longest id that a fact may introduce, in bytes. Default 256, which no policy can exceed.
    pub id_bytes: NonZeroU64,
    /// The longest body of a message, in bytes of text. Default 256 KiB.
    pub body_bytes: NonZeroU64,
    /// The longest fact, in bytes of JSON. Default 1 MiB.
    pub fact_bytes: NonZeroU64,
    /// How many arrivals one batch may turn into messages; the others follow in the next step.
    /// Default 256.
    pub batch_arrivals: NonZeroU64,
}

/// A list of delays in milliseconds, at least one and none of them zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delays(Vec<NonZeroU64>);

impl Readable for Delays {
    fn read(value: &Value<'_>) -> Self {
        let delays = Vec::read(value);
        if delays.is_empty() {
            value.is_wrong(&"an empty list of delays, expected at least one");
        }
        Self(delays)
    }
}

through_readable!(Delays);

impl Delays {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// The n-th of them, counted from 0, in milliseconds; the last one where there are fewer.
    #[must_use]
    pub fn nth_ms(&self, n: u64) -> u64 {
        let last = self.0.len() - 1;
        self.0[usize::try_from(n).map_or(last, |n| n.min(last))].get()
    }
}

const SECOND: u64 = 1_000;

const MINUTE: u64 = 60 * SECOND;

const HOUR: u64 = 60 * MINUTE;

impl Default for Policy {
    fn default() -> Self {
        Self {
            lane_burst: nonzero(4),
            deferred_cap: nonzero(64),
            hint_ids: nonzero(64),
            replay_budget: nonzero(5),
            failed_turn_retries: nonzero(3),
            failed_turn_backoff_ms: Delays([10 * SECOND, MINUTE, 10 * MINUTE].map(nonzero).into()),
            offer_backoff_ms: Delays(
                [MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR].map(nonzero).into(),
            ),
            autonomous_turns: nonzero(200),
            run_lease_ms: nonzero(30 * MINUTE),
            system_wait_delay_ms: nonzero(MINUTE),
            overrides_waits: Vec::from([TriggerKind::InternalFollowup]),
            id_bytes: nonzero(id::MAX_BYTES as u64),
            body_bytes: nonzero(256 << 10),
            fact_bytes: nonzero(1 << 20),
            batch_arrivals: nonzero(256),
        }
    }
}

/// A default as what it is; one that were zero by mistake would be the smallest there is.
const fn nonzero(value: u64) -> NonZeroU64 {
    match NonZeroU64::new(value) {
        Some(value) => value,
        None => NonZeroU64::MIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakeful_json as json;

    #[test]
    fn what_would_mean_never_or_at_once_is_malformed_with_its_place() {
        for (field, text) in [
            ("lane_burst", r#"{"lane_burst":0}"#),
            ("run_lease_ms", r#"{"run_lease_ms":0}"#),
            ("failed_turn_backoff_ms[1]", r#"{"failed_turn_backoff_ms":[1,0]}"#),
            ("offer_backoff_ms", r#"{"offer_backoff_ms":[]}"#),
        ] {
            assert_eq!(json::read::<Policy>(text).expect_err(text).path, field);
        }
    }

    #[test]
    fn what_is_not_named_has_its_default() {
        let policy: Policy = json::read(r#"{"lane_burst":2}"#).expect("valid");
        assert_eq!(policy, Policy { lane_burst: nonzero(2), ..Policy::default() });
        assert_eq!(policy.failed_turn_backoff_ms.nth_ms(7), 600_000);
    }
}
