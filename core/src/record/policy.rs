//! The policy: every limit and delay of the scheduler in one struct (contract 10).

use alloc::vec::Vec;
use core::num::NonZeroU64;

use serde::Serialize;

use crate::{id, record::queue::message::TriggerKind, tagged::names};
use wakeful_json::{Readable, Value, through_readable};

/// Limits and delays. Times are in milliseconds. A zero or an empty list of delays would mean
/// "never" or "at once", so both are malformed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
// contract 1.4: a setting that a policy does not name gets its default.
#[serde(default)]
pub struct Policy {
    /// The number of messages in a row that may pass over waiting operator input or a lower lane.
    /// Then its oldest message goes next (contract 5.1). Default 4.
    pub lane_burst: NonZeroU64,
    /// The number of deferred messages that are kept for the next turn (contract 5.3). Default 64.
    pub deferred_cap: NonZeroU64,
    /// The bytes of deferred content that one turn is told (contract 5.3). Default 16 KiB.
    #[serde(skip_serializing_if = "is_default_deferred_bytes")]
    pub deferred_bytes: NonZeroU64,
    /// The number of waits for the operator that a turn about an answer is told, beside those that
    /// the answer ends (contract 5.15). Default 16.
    #[serde(skip_serializing_if = "is_default_operator_waits")]
    pub operator_waits: NonZeroU64,
    /// The number of ids without an active wait that a coalesced wake hint keeps (contract 5.21).
    /// Default 64.
    pub hint_ids: NonZeroU64,
    /// The number of interrupted runs after which a message is dropped (contract 5.24). Default 5.
    pub replay_budget: NonZeroU64,
    /// The number of retries of a failed turn (contract 5.6). Default 3.
    pub failed_turn_retries: NonZeroU64,
    /// The delays before these retries. The last one applies to all further retries. Default 10 s,
    /// 1 min, 10 min.
    pub failed_turn_backoff_ms: Delays,
    /// The intervals after which an item without progress is offered again (contract 9.4). Default
    /// 1 min, 10 min, 1 h, 6 h, 24 h.
    pub offer_backoff_ms: Delays,
    /// The number of turns in a row that may start without outside input (contract 9.5). Default
    /// 200.
    pub autonomous_turns: NonZeroU64,
    /// The time without a fact after which an open run counts as stalled (contract 5.8). Default 30
    /// min.
    pub run_lease_ms: NonZeroU64,
    /// The age at which a system wait gets its tick (contract 8.4). Default 1 min.
    pub system_wait_delay_ms: NonZeroU64,
    /// Which results of tasks re-enter the model (contract 5.11). Default every.
    #[serde(skip_serializing_if = "is_default_reentry")]
    pub terminal_reentry: TerminalReentry,
    /// Trigger kinds that re-enter the model under any wait if they have content (contract 6.3).
    /// Default internal_followup.
    pub overrides_waits: Vec<TriggerKind>,
    /// The longest id that a fact may introduce, in bytes. Default 256, which is also the maximum.
    pub id_bytes: NonZeroU64,
    /// The longest body of a message, in bytes of text. Default 256 KiB.
    pub body_bytes: NonZeroU64,
    /// The longest fact, in bytes of JSON. Default 1 MiB.
    pub fact_bytes: NonZeroU64,
    /// The number of arrivals that one batch may turn into messages; the next step takes the rest.
    /// Default 256.
    pub batch_arrivals: NonZeroU64,
}

names! {
    /// Which results of tasks re-enter the model. The others are told with the next turn.
    #[derive(Default)]
    pub enum TerminalReentry {
        /// Every result.
        #[default]
        Every,
        /// Those that a blocked item awaits, or a wait that names the task, or the creator of the
        /// task.
        Awaited,
    }
}

/// A list of delays in milliseconds: at least one, and none is zero.
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
    /// The number of delays.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// The delay at index `n`, from 0, in milliseconds; the last one if there are fewer.
    #[must_use]
    pub fn nth_ms(&self, n: u64) -> u64 {
        // `read` refuses an empty list, and nothing else makes one.
        let last = self.0.len() - 1;
        self.0[usize::try_from(n).map_or(last, |n| n.min(last))].get()
    }
}

const DEFERRED_BYTES: u64 = 16 << 10;

const OPERATOR_WAITS: u64 = 16;

// A new setting at its default is not written, so that the first entry of an older ledger keeps its
// bytes (contract 1.4).
fn is_default_deferred_bytes(value: &NonZeroU64) -> bool {
    value.get() == DEFERRED_BYTES
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_default_reentry(value: &TerminalReentry) -> bool {
    *value == TerminalReentry::default()
}

fn is_default_operator_waits(value: &NonZeroU64) -> bool {
    value.get() == OPERATOR_WAITS
}

const SECOND: u64 = 1_000;

const MINUTE: u64 = 60 * SECOND;

const HOUR: u64 = 60 * MINUTE;

impl Default for Policy {
    fn default() -> Self {
        Self {
            lane_burst: nonzero(4),
            deferred_cap: nonzero(64),
            deferred_bytes: nonzero(DEFERRED_BYTES),
            operator_waits: nonzero(OPERATOR_WAITS),
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
            terminal_reentry: TerminalReentry::default(),
            overrides_waits: Vec::from([TriggerKind::InternalFollowup]),
            id_bytes: nonzero(id::MAX_BYTES as u64),
            body_bytes: nonzero(256 << 10),
            fact_bytes: nonzero(1 << 20),
            batch_arrivals: nonzero(256),
        }
    }
}

/// A non-zero constant. A zero by mistake becomes one, because this cannot fail.
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
    fn a_zero_and_an_empty_list_are_malformed_with_their_place() {
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
    fn an_absent_field_has_its_default() {
        let policy: Policy = json::read(r#"{"lane_burst":2}"#).expect("valid");
        assert_eq!(policy, Policy { lane_burst: nonzero(2), ..Policy::default() });
        assert_eq!(policy.failed_turn_backoff_ms.nth_ms(7), 600_000);
    }
}
