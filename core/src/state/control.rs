//! The control plane: identity, lifecycle, the pending hint and the newest decision.

use alloc::vec::Vec;

use serde::Serialize;

use crate::{
    id::{AgentId, ExternalTriggerId, Seq, WaitingIntentId},
    record::{
        control::{AgentDescribed, AgentStatus, ControlRecord, PolicySet, WakeHint},
        decision::Decision,
        edition::Edition,
        entry::Place,
        policy::Policy,
    },
    state::{index::Index, waiting::Waiting, work::SpentKey},
    time::Timestamp,
};
use wakeful_json::Readable;

/// The pending wake hint, and the entry that made it pending.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct PendingHint {
    /// The entry of the newest hint.
    pub seq: Seq,
    /// When another runtime recorded it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// The newest hint.
    pub hint: WakeHint,
    /// The ids that earlier hints named.
    #[serde(default, skip_serializing_if = "Coalesced::is_empty")]
    pub coalesced: Coalesced,
    /// The number of deliveries among these hints (contract 15.3).
    #[serde(default, skip_serializing_if = "is_none")]
    pub deliveries: u64,
}

// On 32 bits a number of 64 bits is not trivially copied.
#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")
)]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl PendingHint {
    /// Distinguishes this hint from others of its scope (contract 8.4, D16): its entry, or its
    /// microsecond if another runtime recorded it.
    #[must_use]
    pub fn generation(&self) -> i64 {
        match self.created_at {
            // The keys of the reference runtime have microseconds (`observed-decisions.md` 4.7).
            Some(at) => at.as_nanos().div_euclid(1_000),
            None => i64::try_from(self.seq.0).unwrap_or(i64::MAX),
        }
    }
}

/// The ids that pending hints named before the newest one (contract 5.21).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Readable)]
pub struct Coalesced {
    /// Waiting intents, in the order of the hints.
    pub intents: Vec<WaitingIntentId>,
    /// External triggers, in the order of the hints.
    pub triggers: Vec<ExternalTriggerId>,
    /// The number of ids beyond the policy's limit, which were not kept.
    pub overflow: u64,
}

impl Coalesced {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Keeps the ids that a hint named. An id of an active wait is always kept; of the others, at
    /// most `room`.
    fn keep(&mut self, hint: &WakeHint, waiting: &Waiting, index: &Index, room: u64) {
        let is_room = |kept: usize| (kept as u64) < room;
        if let Some(id) = hint.waiting_intent_id.as_ref().filter(|id| !self.intents.contains(id)) {
            match waiting.intents.contains_key(id)
                || is_room(self.intents.len() + self.triggers.len())
            {
                true => self.intents.push(id.clone()),
                false => self.overflow += 1,
            }
        }
        if let Some(id) = hint.external_trigger_id.as_ref().filter(|id| !self.triggers.contains(id))
        {
            // A delivery may be faster than the wait for it (contract 15.5).
            match hint.delivery_id.is_some()
                || index.names_trigger(id)
                || is_room(self.intents.len() + self.triggers.len())
            {
                true => self.triggers.push(id.clone()),
                false => self.overflow += 1,
            }
        }
    }
}

/// The newest recorded decision, and its entry.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct Decided {
    /// The entry of the decision.
    pub seq: Seq,
    /// The decision.
    pub decision: Decision,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            agent_id: AgentId::from(""),
            format: 0,
            edition: Edition::default(),
            policy: Policy::default(),
            live_from: None,
            imported_status: None,
            booted: false,
            stopped: None,
            closing: None,
            was_closing: false,
            resting: None,
            hint: None,
            hint_ticked: None,
            described: None,
            parked: None,
            decided: None,
        }
    }
}

/// The state of the plane.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct Control {
    /// The agent that owns the ledger; empty before the first entry.
    pub agent_id: AgentId,
    /// The format of the newest entries; 0 before the first entry.
    pub format: u32,
    /// The order of the rules.
    pub edition: Edition,
    /// The limits and delays.
    pub policy: Policy,
    /// The entry at which a driver first took over the ledger. Statements marked live hold after it
    /// (contract, preface).
    pub live_from: Option<Seq>,
    /// The status that an import gave, until the first live entry (contract 4.1).
    pub imported_status: Option<AgentStatus>,
    /// Whether the agent was ever started or restarted.
    pub booted: bool,
    /// The entry that stopped the agent, while it is stopped.
    pub stopped: Option<Seq>,
    /// The entry of the shutdown request, while the agent is closing (contract 4.3).
    pub closing: Option<Seq>,
    /// Whether the newest restart ended a shutdown; true while the agent is closing.
    #[serde(default)]
    pub was_closing: bool,
    /// The status of the newest recorded rest, until something ends the rest.
    pub resting: Option<AgentStatus>,
    /// The pending wake hint.
    pub hint: Option<PendingHint>,
    /// The key of the newest hint with a tick. A hint that another runtime ticked but did not clear
    /// is not ticked again (contract 8.3).
    pub hint_ticked: Option<SpentKey>,
    /// What the host says of the agent, and the entry (contract 15.7).
    #[serde(default)]
    pub described: Option<(AgentDescribed, Seq)>,
    /// The entry by which the host parked the agent, until input from outside starts a turn
    /// (contract 1.5).
    #[serde(default)]
    pub parked: Option<Seq>,
    /// The newest recorded decision.
    pub decided: Option<Decided>,
}

impl Control {
    /// Whether a driver recorded this entry, so that statements marked live hold for it (contract,
    /// preface).
    #[must_use]
    pub fn is_live(&self, seq: Seq) -> bool {
        self.live_from.is_some_and(|from| seq > from)
    }

    pub(crate) fn apply(
        &mut self,
        place: &Place,
        record: &ControlRecord,
        waiting: &Waiting,
        index: &Index,
    ) {
        match record {
            ControlRecord::Genesis(genesis) => {
                self.agent_id = genesis.agent_id.clone();
                self.format = genesis.format;
                self.edition = genesis.edition;
                self.policy = genesis.policy.clone();
            }
            ControlRecord::AgentImported(agent) => {
                self.imported_status = Some(agent.status);
                // contract 4.1: an imported `stopped` holds until a start, as a stop of our own
                // does.
                self.stopped = (agent.status == AgentStatus::Stopped).then_some(place.seq);
                self.hint = agent.wake_hint.as_ref().map(|recorded| PendingHint {
                    seq: place.seq,
                    created_at: Some(recorded.created_at),
                    hint: recorded.hint.clone(),
                    coalesced: Coalesced::default(),
                    deliveries: 0,
                });
            }
            // The fold passes these to the planes that they change.
            ControlRecord::FocusSet(_)
            | ControlRecord::ItemParked(_)
            | ControlRecord::EpochsMoved(_)
            | ControlRecord::BudgetSet(_)
            | ControlRecord::BudgetGranted(_)
            | ControlRecord::RoundCounted(_)
            | ControlRecord::BudgetDayBegun(_)
            | ControlRecord::ClockCorrected(_) => {}
            ControlRecord::WakeHintPending(hint) => {
                let before = self.hint.take();
                let deliveries = before.as_ref().map_or(0, |before| before.deliveries)
                    + u64::from(hint.delivery_id.is_some());
                let (hint, coalesced) = before.map_or_else(
                    || (hint.clone(), Coalesced::default()),
                    |before| {
                        let mut coalesced = before.coalesced;
                        // The new hint has its own ids; those of the hint before it would be lost.
                        coalesced.keep(&before.hint, waiting, index, self.policy.hint_ids.get());
                        (hint.clone().with_content_of(before.hint), coalesced)
                    },
                );
                self.hint = Some(PendingHint {
                    seq: place.seq,
                    created_at: None,
                    hint,
                    coalesced,
                    deliveries,
                });
            }
            ControlRecord::WakeHintCleared(_) => self.hint = None,
            ControlRecord::StartRequested(_) => {
                self.booted = true;
                self.stopped = None;
                // contract 4.1: a start ends a rest.
                self.resting = None;
                // contract 4.1: an imported status stands until a start at the latest.
                self.imported_status = None;
            }
            ControlRecord::StopRequested(_) => self.stopped = Some(place.seq),
            ControlRecord::ShutdownRequested(_) => {
                self.closing = Some(place.seq);
                self.was_closing = true;
            }
            ControlRecord::RuntimeRestarted(_) => {
                if self.live_from.is_none() {
                    // contract 4.1: asleep in an import is a rest that its runtime recorded.
                    self.resting =
                        self.imported_status.filter(|status| *status == AgentStatus::Asleep);
                    self.live_from = Some(place.seq);
                }
                self.booted = true;
                // Kept after the restart: the interruptions in its batch are folded next, and those
                // of a shutdown do not count (contract 5.24).
                self.was_closing = self.closing.take().is_some();
            }
            ControlRecord::PolicySet(set) => self.set(set.clone()),
            ControlRecord::AgentDescribed(described) => {
                self.described = Some((described.clone(), place.seq));
            }
            ControlRecord::AgentParked(_) => self.parked = Some(place.seq),
            ControlRecord::FormatRaised(raised) => self.format = raised.format,
        }
    }

    /// Replaces the settings that the record names.
    pub(crate) fn set(&mut self, set: PolicySet) {
        if let Some(policy) = set.policy {
            self.policy = policy;
        }
        self.edition = set.edition.unwrap_or(self.edition);
    }

    pub(crate) fn apply_decision(&mut self, place: &Place, decision: Decision) {
        if let Some(rest) = decision.kind.rests_as() {
            self.resting = Some(rest);
        }
        self.decided = Some(Decided { seq: place.seq, decision });
    }

    /// Ends a rest: a message was queued or a run opened (contract 4.1).
    pub(crate) fn wake(&mut self) {
        self.resting = None;
    }
}
