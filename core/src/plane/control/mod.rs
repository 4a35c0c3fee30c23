//! The control plane: who the agent is, whether it may run, and what it was last told (contract 1.4, 4, 5.21, 10).

use alloc::vec::Vec;

use serde::Serialize;

use crate::{
    fact::{Answer, Outcome, Refusal},
    id::{AgentId, ExternalTriggerId, Seq, TaskId, WaitingIntentId},
    json::Readable,
    plane::{task, waiting::Waiting, work::SpentKey},
    record::{
        Record,
        control::{AgentStatus, ControlRecord, Marker, PolicySet, WakeHint},
        decision::Decision,
        edition::Edition,
        effect::Effect,
        entry::Place,
        event::{EventKind, EventRecord},
        policy::Policy,
        turn::AbortReason,
    },
    state::State,
    time::Timestamp,
};

/// The transition of `wake_hint_submitted`: kept until a tick names it; ignored while stopped (contract 4.2, 5.21).
pub(crate) fn wake_hint(state: &State, hint: WakeHint) -> Outcome {
    if let Some(seq) = state.control.stopped {
        return Outcome::ignored(Refusal::Stopped, seq);
    }
    Outcome::accepted(record(ControlRecord::WakeHintPending(hint)))
}

/// The transition of `wake_hint_coalesced`: elsewhere it was folded into the pending one, so here it is pending.
pub(crate) fn hint_coalesced(state: &State, hint: WakeHint, at: Timestamp) -> Outcome {
    let said = Record::Event(EventRecord::of(EventKind::WakeHintCoalesced, at, &hint));
    let mut outcome = wake_hint(state, hint);
    if outcome.answer == Answer::Accepted {
        outcome.records.insert(0, said);
    }
    outcome
}

/// The transition of `wake_hint_ignored`: elsewhere it was refused; that is all there is to know.
pub(crate) fn hint_ignored(hint: &WakeHint, at: Timestamp) -> Outcome {
    Outcome::accepted(Vec::from([Record::Event(EventRecord::of(EventKind::WakeHintIgnored, at, hint))]))
}

/// The transition of `start_requested`: no message, no turn (contract 4.2).
pub(crate) fn start(_: &State) -> Outcome {
    Outcome::accepted(record(ControlRecord::StartRequested(Marker {})))
}

/// The transition of `stop_requested`: breaks off the run, interrupts the tasks and lets the host release what it holds; hints stay
/// (contract 4.2, 5.11, D26).
pub(crate) fn stop(state: &State, at: Timestamp) -> Outcome {
    let aborted = state.turns.run.as_ref().map(|run| Effect::AbortTurn { run_id: run.run_id.clone(), reason: AbortReason::AgentStopped });
    let mut outcome = Outcome::accepted(record(ControlRecord::StopRequested(Marker {})));
    if state.control.live_from.is_some() {
        outcome.records.extend(task::result::interrupt(state, &[], "agent stopped", state.head.seq.plus(2), at));
    }
    outcome.effects.extend(aborted);
    outcome.effects.push(Effect::Release);
    outcome
}

/// The transition of `shutdown_requested`: the agent is closing until the next restart (contract 4.3).
pub(crate) fn shutdown(state: &State) -> Outcome {
    let aborted = state.turns.run.as_ref().map(|run| Effect::AbortTurn { run_id: run.run_id.clone(), reason: AbortReason::DaemonShutdown });
    let mut outcome = Outcome::accepted(record(ControlRecord::ShutdownRequested(Marker {})));
    outcome.effects.extend(aborted);
    outcome
}

/// Fact `runtime_restarted`: a driver takes the ledger over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Restarted {
    /// The active tasks that the host proves alive; the others are interrupted (contract 5.23).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alive_task_ids: Vec<TaskId>,
}

/// The transition of `runtime_restarted`: an open run becomes interrupted, its message replays; tasks that nobody proves alive become
/// interrupted too (contract 5.11, 5.23).
pub(crate) fn restarted(state: &State, fact: &Restarted, at: Timestamp) -> Outcome {
    let mut records = record(ControlRecord::RuntimeRestarted(Marker {}));
    if let Some(run) = &state.turns.run {
        records.push(Record::Turn(run.interrupted(&state.control.agent_id, at)));
    }
    let first = state.head.seq.plus(records.len() + 1);
    records.extend(task::result::interrupt(state, &fact.alive_task_ids, "runtime restarted", first, at));
    Outcome::accepted(records)
}

/// The transition of `policy_set`.
pub(crate) fn policy_set(fact: PolicySet) -> Outcome {
    Outcome::accepted(record(ControlRecord::PolicySet(fact)))
}

fn record(control: ControlRecord) -> Vec<Record> {
    Vec::from([Record::Control(control)])
}

/// The pending wake hint and the entry that made it so.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct PendingHint {
    /// The entry.
    pub seq: Seq,
    /// When another runtime recorded it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// The newest hint.
    pub hint: WakeHint,
    /// What the hints before it named.
    #[serde(default, skip_serializing_if = "Coalesced::is_empty")]
    pub coalesced: Coalesced,
}

/// What pending hints named before the newest one came (contract 5.21).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Readable)]
pub struct Coalesced {
    /// Intents, in the order in which they came.
    pub intents: Vec<WaitingIntentId>,
    /// External triggers, in the order in which they came.
    pub triggers: Vec<ExternalTriggerId>,
    /// How many more were named than the policy keeps.
    pub overflow: u64,
}

impl Coalesced {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Keeps what a hint named. What an active wait waits for is always kept, of the rest no more than `room`.
    fn keep(&mut self, hint: &WakeHint, waiting: &Waiting, room: u64) {
        let is_room = |kept: usize| (kept as u64) < room;
        if let Some(id) = hint.waiting_intent_id.as_ref().filter(|id| !self.intents.contains(id)) {
            match waiting.intents.contains_key(id) || is_room(self.intents.len() + self.triggers.len()) {
                true => self.intents.push(id.clone()),
                false => self.overflow += 1,
            }
        }
        if let Some(id) = hint.external_trigger_id.as_ref().filter(|id| !self.triggers.contains(id)) {
            match waiting.names_trigger(id) || is_room(self.intents.len() + self.triggers.len()) {
                true => self.triggers.push(id.clone()),
                false => self.overflow += 1,
            }
        }
    }
}

impl PendingHint {
    /// What tells this hint from others of its scope (contract 8.4, D16): its entry, or, recorded elsewhere, its microsecond.
    #[must_use]
    pub fn generation(&self) -> i64 {
        match self.created_at {
            Some(at) => at.as_nanos().div_euclid(1_000),
            None => i64::try_from(self.seq.0).unwrap_or(i64::MAX),
        }
    }
}

/// The newest recorded decision and its entry.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct Decided {
    /// The entry.
    pub seq: Seq,
    /// The decision.
    pub decision: Decision,
}

/// The state of the plane.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct Control {
    /// The agent; empty before the first entry.
    pub agent_id: AgentId,
    /// The order of the rules.
    pub edition: Edition,
    /// The limits and delays.
    pub policy: Policy,
    /// Where a driver first took the ledger over; statements marked live hold from there (contract, preface).
    pub live_from: Option<Seq>,
    /// The status that an import gave, until the first live entry (contract 4.1).
    pub imported_status: Option<AgentStatus>,
    /// Whether the agent was ever started or restarted.
    pub booted: bool,
    /// The entry that stopped the agent, while it is stopped.
    pub stopped: Option<Seq>,
    /// The entry that asked for shutdown, while the agent is closing (contract 4.3).
    pub closing: Option<Seq>,
    /// Whether the newest restart ended a shutdown.
    #[serde(default)]
    pub was_closing: bool,
    /// The status of the newest recorded rest, until something ends the rest.
    pub resting: Option<AgentStatus>,
    /// The pending wake hint.
    pub hint: Option<PendingHint>,
    /// The key of the newest hint that was ticked: a hint that was ticked elsewhere, but not cleared, is not ticked again (contract 8.3).
    pub hint_ticked: Option<SpentKey>,
    /// The newest recorded decision.
    pub decided: Option<Decided>,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            agent_id: AgentId::from(""),
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
            decided: None,
        }
    }
}

impl Control {
    /// Whether a driver recorded this entry: statements marked live hold for it (contract, preface).
    #[must_use]
    pub fn is_live(&self, seq: Seq) -> bool {
        self.live_from.is_some_and(|from| seq > from)
    }

    pub(crate) fn apply(&mut self, place: &Place, record: &ControlRecord, waiting: &Waiting) {
        match record {
            ControlRecord::Genesis(genesis) => {
                self.agent_id = genesis.agent_id.clone();
                self.edition = genesis.edition;
                self.policy = genesis.policy.clone();
            }
            ControlRecord::AgentImported(agent) => {
                self.imported_status = Some(agent.status);
                self.stopped = (agent.status == AgentStatus::Stopped).then_some(place.seq);
                self.hint = agent.wake_hint.as_ref().map(|recorded| PendingHint {
                    seq: place.seq,
                    created_at: Some(recorded.created_at),
                    hint: recorded.hint.clone(),
                    coalesced: Coalesced::default(),
                });
            }
            ControlRecord::FocusSet(_) | ControlRecord::ItemParked(_) => {}
            ControlRecord::WakeHintPending(hint) => {
                let before = self.hint.take();
                let (hint, coalesced) = before.map_or_else(
                    || (hint.clone(), Coalesced::default()),
                    |before| {
                        let mut coalesced = before.coalesced;
                        coalesced.keep(&before.hint, waiting, self.policy.hint_ids.get());
                        (hint.clone().with_content_of(before.hint), coalesced)
                    },
                );
                self.hint = Some(PendingHint { seq: place.seq, created_at: None, hint, coalesced });
            }
            ControlRecord::WakeHintCleared(_) => self.hint = None,
            ControlRecord::StartRequested(_) => {
                self.booted = true;
                self.stopped = None;
                self.resting = None;
                // contract 4.1: an imported status stands until then at the latest.
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
                    self.resting = self.imported_status.filter(|status| *status == AgentStatus::Asleep);
                    self.live_from = Some(place.seq);
                }
                self.booted = true;
                self.was_closing = self.closing.take().is_some();
            }
            ControlRecord::PolicySet(set) => self.set(set.clone()),
        }
    }

    /// Sets what is named of edition and policy.
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

    /// Something happened that ends a rest: a message was queued or a run opened (contract 4.1).
    pub(crate) fn wake(&mut self) {
        self.resting = None;
    }
}
