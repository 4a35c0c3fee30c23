//! The view: what the rules can see, as plain data. In the product only [`View::new`] and its
//! variants here make one.

use alloc::vec::Vec;

use wakeful_json::sort::sort_by_key;

use crate::{
    derive::{continuation, head, status},
    id::{MessageId, RunId, Seq, TaskId, WaitConditionId, WorkItemId},
    record::{
        continuation::Resolution,
        control::AgentStatus,
        decision::Boundary,
        edition::Edition,
        key::{Epoch, Key, TickReason},
        queue::{
            envelope::{MessageKind, Priority},
            message::TriggerKind,
        },
        waiting::{WaitConditionKind, WaitConditionRecord},
    },
    state::{
        State, autonomy,
        control::{Control, PendingHint},
        index::List,
        progress,
        queue::lanes::Held,
        readiness::{self, ByKind, NAMED, SchedulingState, Several},
        waiting::Active,
        work::Item,
    },
    time::Timestamp,
};

/// The message at the head of the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadView {
    /// The id of the message.
    pub message_id: MessageId,
    /// The entry that recorded it.
    pub seq: Seq,
    /// The kind of the message.
    pub kind: MessageKind,
    /// The trigger kind in its record.
    pub trigger_kind: Option<TriggerKind>,
    /// The work item that it is about.
    pub work_item_id: Option<WorkItemId>,
    /// The task that it is about.
    pub task_id: Option<TaskId>,
    /// How it meets the prior closure; `None` if its kind triggers nothing.
    pub resolution: Option<Resolution>,
    /// The entries of the waits that it satisfies.
    pub satisfies: Vec<Seq>,
    /// Whether it names no id and only the closure's reason matches.
    pub by_reason_class: bool,
    /// Whether it may be inserted into an open run (contract 5.9).
    pub is_interjection: bool,
    /// Whether it is a message of the core whose subject is gone (contract 5.2).
    pub is_stale: bool,
    /// Whether its runs were interrupted as often as the policy allows (contract 5.24).
    pub is_worn_out: bool,
}

impl HeadView {
    /// Whether its continuation re-enters the model.
    #[must_use]
    pub fn reenters(&self) -> bool {
        self.resolution.as_ref().is_some_and(|resolution| resolution.model_reentry)
    }
}

/// The open run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunView {
    /// The id of the run, if the state has one.
    pub run_id: Option<RunId>,
    /// The entry that opened it.
    pub seq: Seq,
}

/// A key, and whether it is spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyView {
    /// The idempotency key.
    pub key: Key,
    /// The entry that spent it, if it is spent.
    pub spent_by: Option<Seq>,
    /// The instant from which the key can be used, or used again.
    pub enabled_at: Option<Timestamp>,
    /// The number of the offer that the use of this key makes (contract 9.4).
    pub offer: Option<u64>,
}

impl KeyView {
    /// A key that does not depend on time.
    #[must_use]
    pub fn new(key: Key, spent_by: Option<Seq>) -> Self {
        Self { key, spent_by, enabled_at: None, offer: None }
    }
}

/// A work item that may be offered to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemView {
    /// The id of the item.
    pub work_item_id: WorkItemId,
    /// The entry of its newest snapshot.
    pub seq: Seq,
    /// The scheduling state of the item.
    pub state: SchedulingState,
    /// The entries of its waits.
    pub waits: Vec<Seq>,
    /// The key for the reason for which it would be offered.
    pub key: KeyView,
}

/// An active system wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemWaitView {
    /// The id of the condition.
    pub wait_condition_id: WaitConditionId,
    /// The entry of its newest record.
    pub seq: Seq,
    /// The item that waits; `None` if the agent itself does.
    pub work_item_id: Option<WorkItemId>,
    /// The key of the wait's tick.
    pub key: KeyView,
}

/// The pending wake hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HintView {
    /// The entry that made it pending.
    pub seq: Seq,
    /// The key of the hint's tick.
    pub key: KeyView,
}

/// What the rules can see.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The point in the host's loop.
    pub boundary: Boundary,
    /// The lifecycle status of the agent.
    pub status: AgentStatus,
    /// The entry that stopped the agent or requested the shutdown.
    pub control_seq: Option<Seq>,
    /// Whether the agent is closing (contract 4.3).
    pub closing: bool,
    /// The number of waiting messages.
    pub queue_len: u64,
    /// Whether turns may start; false while stopped or closing.
    pub turns_allowed: bool,
    /// The open run.
    pub run: Option<RunView>,
    /// The message that goes next.
    pub head: Option<HeadView>,
    /// The pending wake hint.
    pub hint: Option<HintView>,
    /// Whether the agent is parked: only outside input moves it (contract 9.5).
    pub is_parked: bool,
    /// The entries at which budgets were exhausted, that of the agent among them if it is over its
    /// own (contract 16.4).
    pub over_budget: Vec<Seq>,
    /// Whether the agent itself is over its budget: only operator input moves it.
    pub is_exhausted: bool,
    /// The open item with the focus, and the entry that set the focus.
    pub current: Option<(ItemView, Seq)>,
    /// The other runnable items, in the order in which they are offered. A view to decide has only
    /// the first offerable one, if there is one.
    pub queued: Vec<ItemView>,
    /// Active system waits, those of the current item first.
    pub system_waits: Vec<SystemWaitView>,
    /// The number of active intents.
    pub intents: usize,
    /// The active intents of the agent's scope.
    pub agent_intents: Several,
    /// The active timers.
    pub timers: Several,
    /// The agent's own conditions. Of those for the runtime, the due ones are in `system_waits`.
    pub agent_waits: ByKind,
    /// Whether work comes before waits in the edition. Then the agent does not wait while there is
    /// runnable work.
    pub work_before_waits: bool,
}

impl View {
    /// The view of a state at a boundary and an instant.
    #[must_use]
    pub fn new(state: &State, boundary: Boundary, now: Timestamp) -> Self {
        Self::under(state, state.control.edition, boundary, now)
    }

    /// The view of a state as if another edition were set.
    #[must_use]
    pub fn under(state: &State, edition: Edition, boundary: Boundary, now: Timestamp) -> Self {
        let queued = readiness::queued_runnable(state).collect();
        Self::with(state, edition, boundary, now, queued, all_system_waits(state, now))
    }

    /// The view used to decide. It lists only the first item that can be offered, and the first
    /// system wait that gives a tick. If there is none, it lists as many as a decision names of
    /// those whose keys are spent (contract 8.3).
    #[must_use]
    pub(crate) fn to_decide(state: &State, boundary: Boundary, now: Timestamp) -> Self {
        let queued = readiness::first_offered(state, now).map_or_else(
            || readiness::queued_runnable(state).take(NAMED).collect(),
            |item| Vec::from([item]),
        );
        let system_waits = first_system_waits(state, now);
        Self::with(state, state.control.edition, boundary, now, queued, system_waits)
    }

    fn with(
        state: &State,
        edition: Edition,
        boundary: Boundary,
        now: Timestamp,
        queued: Vec<&Item>,
        system_waits: Vec<SystemWaitView>,
    ) -> Self {
        let control = &state.control;
        let waiting = &state.waiting;
        let item_view = |item, reason| {
            let readiness = readiness::standing(state, item);
            ItemView {
                work_item_id: item.record.id.clone(),
                seq: item.seq,
                state: readiness.state,
                waits: readiness.waits,
                key: item_key(state, edition, item, reason, now),
            }
        };
        let current = state.work.current().zip(state.work.focus.as_ref());
        Self {
            boundary,
            status: status::status(state),
            control_seq: control.stopped.or(control.closing),
            closing: control.closing.is_some(),
            // An import does not name the message of its open run, which then waits too: leave it
            // out.
            queue_len: if state.turns.run.is_some() {
                state.queue.untaken()
            } else {
                state.queue.len()
            } as u64,
            turns_allowed: control.stopped.is_none() && control.closing.is_none(),
            run: state
                .turns
                .run
                .as_ref()
                .map(|run| RunView { run_id: Some(run.run_id.clone()), seq: run.seq }),
            head: head::next(state).map(|held| head_view(state, held)),
            hint: control.hint.as_ref().map(|pending| hint_view(control, pending)),
            is_parked: autonomy::is_parked(state),
            over_budget: if control.live_from.is_some() {
                state.budgets.exhausted().map(|(.., seq)| seq).collect()
            } else {
                Vec::new()
            },
            is_exhausted: autonomy::is_over_budget(state),
            current: current
                .map(|(item, focus)| (item_view(item, TickReason::ContinueActive), focus.seq)),
            queued: queued
                .into_iter()
                .map(|item| item_view(item, TickReason::QueuedAvailable))
                .collect(),
            system_waits,
            intents: waiting.intents.len(),
            agent_intents: Several::new(
                state.agent_intents_len(),
                &mut state.agent_intents().map(|wait| wait.seq),
            ),
            timers: Several::new(
                waiting.timers.len(),
                &mut waiting.timers.values().map(|wait| wait.seq),
            ),
            agent_waits: readiness::agent_conditions(state),
            work_before_waits: edition.work_before_waits(),
        }
    }

    /// The scheduling state of the item with the focus.
    #[must_use]
    pub fn current_state(&self) -> Option<SchedulingState> {
        self.current.as_ref().map(|(item, _)| item.state)
    }
}

fn hint_view(control: &Control, pending: &PendingHint) -> HintView {
    let key = Key::hint(&pending.hint, pending.generation());
    let ticked = control.hint_ticked.as_ref().filter(|ticked| ticked.key == key);
    HintView { seq: pending.seq, key: KeyView::new(key.clone(), ticked.map(|ticked| ticked.seq)) }
}

/// The key with which an item would be offered. If the item rests and its next offer is due, it is
/// the key of that offer (contract 9.4).
fn item_key(
    state: &State,
    edition: Edition,
    item: &Item,
    reason: TickReason,
    now: Timestamp,
) -> KeyView {
    let (key, spent_by) = state.work.key(item, reason);
    // An unspent key waits for no offer.
    let enabled_at = progress::next_offer(state, edition, item).filter(|_| spent_by.is_some());
    if enabled_at.is_some_and(|at| at <= now) {
        let epoch = Epoch { moved: item.moved + 1, ..item.epoch() };
        let offer = Some(item.progress.offer + 1);
        return KeyView {
            key: Key::work(reason, &item.record.id, epoch),
            spent_by: None,
            enabled_at,
            offer,
        };
    }
    KeyView { enabled_at, ..KeyView::new(key, spent_by) }
}

/// All system waits that are due, those of the current item first, then by id.
fn all_system_waits(state: &State, now: Timestamp) -> Vec<SystemWaitView> {
    let mut waits = Vec::new();
    for wait in state.waiting.conditions.values() {
        if readiness::would_be_ticked(state, wait) {
            waits.extend(system_wait(state, wait, now));
        }
    }
    let current = state.work.current().map(|item| &item.record.id);
    // The sort is stable.
    sort_by_key(&mut waits, |wait| wait.work_item_id.as_ref() != current);
    waits
}

/// The first of these that gives a tick, or else the first whose ticks were emitted.
fn first_system_waits(state: &State, now: Timestamp) -> Vec<SystemWaitView> {
    let current = state.work.current().map(|item| &item.record.id);
    let mut ticked = Vec::new();
    if let Some(id) = current {
        for wait in state.waits_of_kind(id, WaitConditionKind::System) {
            let due = system_wait(state, wait, now);
            match due.filter(|_| readiness::would_be_ticked(state, wait)) {
                Some(due) if due.key.spent_by.is_none() => return Vec::from([due]),
                due => ticked.extend(due),
            }
        }
    }
    // The lists are as of the newest entry. `now` may differ, so both are checked against it.
    let mut first: Option<SystemWaitView> = None;
    for list in [List::Ticks, List::LaterTicks] {
        for wait in state.system_waits(list, now) {
            let Some(due) = system_wait(state, wait, now) else { continue };
            if first.as_ref().is_none_or(|first| due.wait_condition_id < first.wait_condition_id) {
                first = Some(due);
            }
            // These are by id already.
            if list == List::Ticks {
                break;
            }
        }
    }
    if let Some(first) = first {
        return Vec::from([first]);
    }
    for wait in state.system_waits(List::Ticked, now) {
        if ticked.len() >= NAMED {
            break;
        }
        if wait.record.work_item_id.as_ref() != current {
            ticked.extend(system_wait(state, wait, now));
        }
    }
    ticked.truncate(NAMED);
    ticked
}

/// What the rules can see of a system wait; `None` if it is not due yet.
fn system_wait(
    state: &State,
    wait: &Active<WaitConditionRecord>,
    now: Timestamp,
) -> Option<SystemWaitView> {
    let enabled_at = readiness::tick_at(state, wait);
    let spent_by = state.waiting.ticked.get(&wait.record.id).copied();
    enabled_at.is_none_or(|at| at <= now).then(|| SystemWaitView {
        wait_condition_id: wait.record.id.clone(),
        seq: wait.seq,
        work_item_id: wait.record.work_item_id.clone(),
        key: KeyView { enabled_at, ..KeyView::new(Key::system_wait(&wait.record.id), spent_by) },
    })
}

/// What the rules can see of a message if it goes next.
pub fn head_view(state: &State, held: &Held) -> HeadView {
    let message = &held.record;
    let met = continuation::resolve(state, held);
    HeadView {
        message_id: message.id.clone(),
        seq: held.seq,
        kind: message.kind,
        trigger_kind: message.trigger_kind,
        work_item_id: message.work_item_id.clone(),
        task_id: message.task_id.clone(),
        satisfies: met.iter().flat_map(|met| met.satisfied.seqs(state)).collect(),
        by_reason_class: met.as_ref().is_some_and(|met| met.by_reason_class),
        resolution: met.map(|met| met.resolution),
        is_interjection: message.priority == Priority::Interject && message.is_operator_input(),
        is_stale: head::is_stale(state, held),
        is_worn_out: state.queue.interruptions(&message.id)
            >= state.control.policy.replay_budget.get(),
    }
}
