//! The state: a projection folded from the entries alone (contract 1.1, 3.3).

pub mod admitted;
pub mod arrival;
pub mod autonomy;
pub mod budget;
mod clock;
pub mod context;
pub mod control;
pub mod failing;
pub mod fold;
pub mod index;
pub mod ingress;
pub mod introduced;
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
use wakeful_json::Readable;

use crate::{
    id::{AgentId, MessageId, Seq},
    record::{
        chain::Head,
        decision::Boundary,
        edition::Edition,
        ingress::ExternalTriggerRecord,
        policy::Policy,
        queue::message::MessageRecord,
        task::TaskRecord,
        waiting::{TimerRecord, WaitConditionRecord, WaitingIntentRecord},
        work::WorkItemRecord,
    },
    state::{
        budget::Budgets,
        context::Context,
        control::Control,
        index::Index,
        ingress::Ingress,
        introduced::Introduced,
        queue::lanes::Queue,
        task::Tasks,
        turn::{OpenRun, Turns},
        waiting::Waiting,
        work::Work,
    },
    time::Timestamp,
};

/// The planes, and the head of the entries folded into them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Readable)]
pub struct State {
    /// The newest entry that was folded.
    pub(crate) head: Head,
    /// The time of the newest batch.
    pub(crate) at: Timestamp,
    /// Whether the host's clock was reported to be behind that time (contract 1.3). The next batch
    /// with a later time clears it.
    #[serde(default)]
    pub(crate) clock_behind: bool,
    /// The newest correction of the clock, if there was one (contract 1.3).
    #[serde(default)]
    pub(crate) corrected: Option<Seq>,
    /// Identity, lifecycle and hints.
    pub(crate) control: Control,
    /// Messages.
    pub(crate) queue: Queue,
    /// Turns.
    pub(crate) turns: Turns,
    /// Background tasks.
    pub(crate) tasks: Tasks,
    /// Work items.
    pub(crate) work: Work,
    /// Waits and timers.
    pub(crate) waiting: Waiting,
    /// External triggers.
    #[serde(default)]
    pub(crate) ingress: Ingress,
    /// Budgets, and what was used of them.
    #[serde(default)]
    pub(crate) budgets: Budgets,
    /// Evidence: errors, briefs, checkpoints.
    pub(crate) context: Context,
    /// What each id was first used for (contract 2.2).
    pub(crate) introduced: Introduced,
    /// Records of other agents, which never count (contract 3.6).
    pub(crate) foreign_records: u64,
    /// Lines that an import carries and no rule reads (contract 3.7).
    pub(crate) carried_records: u64,
    /// Lists of what every step needs, sorted by how it is looked up.
    #[serde(skip)]
    pub(crate) index: Index,
}

impl State {
    /// Out-of-line clone: one copy of this code keeps the guest small.
    #[inline(never)]
    pub(crate) fn copied(&self) -> Self {
        self.clone()
    }

    /// The newest entry.
    #[must_use]
    pub fn head(&self) -> Head {
        self.head
    }

    /// The position of the next entry.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.head.seq.next()
    }

    /// The time of the newest batch. Only a correction of the clock sets it back (contract 1.3).
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The agent that owns the ledger; empty before the first entry.
    #[must_use]
    pub fn agent_id(&self) -> &AgentId {
        &self.control.agent_id
    }

    /// The order of the rules.
    #[must_use]
    pub fn edition(&self) -> Edition {
        self.control.edition
    }

    /// The limits and delays.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.control.policy
    }

    /// The boundary at which a loop takes its next step.
    pub(crate) fn boundary(&self) -> Boundary {
        if self.queue.is_empty() { Boundary::RunLoopIdle } else { Boundary::RunLoop }
    }

    /// Whether a driver has taken over the ledger. Before that it is only observed.
    #[must_use]
    pub fn is_driven(&self) -> bool {
        self.control.live_from.is_some()
    }

    /// The open run, if there is one.
    #[must_use]
    pub fn open_run(&self) -> Option<&OpenRun> {
        self.turns.run.as_ref()
    }

    /// The number of the newest turn; 0 before the first.
    #[must_use]
    pub fn turn_index(&self) -> u64 {
        self.turns.turn_index
    }

    /// The waiting messages in the order of their lanes.
    pub fn queued_messages(&self) -> impl Iterator<Item = &MessageRecord> {
        self.queue.waiting().map(|held| &held.record)
    }

    /// The operator message that goes into the open run next (contract 5.9).
    #[must_use]
    pub fn interjection(&self) -> Option<&MessageRecord> {
        self.queue.interjection().map(|held| &held.record)
    }

    /// A message that is not settled yet.
    #[must_use]
    pub fn message(&self, id: &MessageId) -> Option<&MessageRecord> {
        self.queue.message(id).map(|held| &held.record)
    }

    /// The tasks that are queued, running or being cancelled, by id.
    pub fn active_tasks(&self) -> impl Iterator<Item = &TaskRecord> {
        self.tasks.active.values().map(|task| &task.record)
    }

    /// The open work items, by id.
    pub fn work_items(&self) -> impl Iterator<Item = &WorkItemRecord> {
        self.work.items.values().map(|item| &item.record)
    }

    /// The work item that has the focus, if it is open.
    #[must_use]
    pub fn current_item(&self) -> Option<&WorkItemRecord> {
        self.work.current().map(|item| &item.record)
    }

    /// The active waits for something external, by id.
    pub fn waiting_intents(&self) -> impl Iterator<Item = &WaitingIntentRecord> {
        self.waiting.intents.values().map(|wait| &wait.record)
    }

    /// The active wait conditions, by id.
    pub fn wait_conditions(&self) -> impl Iterator<Item = &WaitConditionRecord> {
        self.waiting.conditions.values().map(|wait| &wait.record)
    }

    /// The external triggers that can be delivered to, by id. One that expired stays until the next
    /// entry.
    pub fn external_triggers(&self) -> impl Iterator<Item = &ExternalTriggerRecord> {
        self.ingress.open.values().map(|trigger| &trigger.record)
    }

    /// The active timers, by id.
    pub fn timers(&self) -> impl Iterator<Item = &TimerRecord> {
        self.waiting.timers.values().map(|wait| &wait.record)
    }
}

/// The planes that [`State::distort`] hands out.
#[cfg(feature = "internals")]
#[allow(missing_docs, reason = "the planes are documented in the state")]
pub struct Planes<'a> {
    pub turns: &'a mut Turns,
    pub tasks: &'a mut Tasks,
    pub work: &'a mut Work,
    pub waiting: &'a mut Waiting,
    pub context: &'a mut Context,
}

/// The planes, for our own hosts and tests.
#[cfg(feature = "internals")]
impl State {
    /// Whether the host's clock was reported to be behind the newest batch (contract 1.3).
    #[must_use]
    pub fn clock_behind(&self) -> bool {
        self.clock_behind
    }

    /// Identity, lifecycle and hints.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// The entry of the newest correction of the clock (contract 1.3).
    #[must_use]
    pub fn corrected(&self) -> Option<Seq> {
        self.corrected
    }

    /// The entry that records this message; `None` if the state does not know the id.
    #[must_use]
    pub fn entry_of(&self, id: &MessageId) -> Option<Seq> {
        id.place(&self.control.agent_id).or_else(|| self.introduced.message(id))
    }

    /// Messages.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Turns.
    #[must_use]
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// Background tasks.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Work items.
    #[must_use]
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// Waits and timers.
    #[must_use]
    pub fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Budgets, and what was used of them.
    #[must_use]
    pub fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// External triggers.
    #[must_use]
    pub fn ingress(&self) -> &Ingress {
        &self.ingress
    }

    /// Mutable planes, to make a state that no ledger gives. Adversaries and the tests of the
    /// invariants need one. [`State::relist_all`] then builds the index of that state.
    pub fn distort(&mut self) -> Planes<'_> {
        Planes {
            turns: &mut self.turns,
            tasks: &mut self.tasks,
            work: &mut self.work,
            waiting: &mut self.waiting,
            context: &mut self.context,
        }
    }

    /// Evidence: errors, briefs, checkpoints.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Records of other agents, which never count (contract 3.6).
    #[must_use]
    pub fn foreign_records(&self) -> u64 {
        self.foreign_records
    }

    /// Lines that an import carries and no rule reads (contract 3.7).
    #[must_use]
    pub fn carried_records(&self) -> u64 {
        self.carried_records
    }
}
