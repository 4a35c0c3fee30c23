//! Keeps the index up to date, and looks things up in it.

use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::{
    id::{Seq, WorkItemId},
    record::{
        Record,
        control::ControlRecord,
        entry::Place,
        key::TickReason,
        waiting::{
            ExternalTriggerScope, WaitConditionKind, WaitConditionRecord, WaitingIntentRecord,
        },
        work::WorkItemPlanStatus,
    },
    state::{
        State,
        arrival::Arrival,
        index::{Index, List, Listed, Standing, Subject},
        progress,
        readiness::{self, SchedulingState},
        recheck,
        task::Task,
        waiting::Active,
        work::Item,
    },
    time::Timestamp,
};
use wakeful_json::sort::sort_by_key;

/// What waits for the operator.
pub(crate) enum Asked<'a> {
    Condition(&'a Active<WaitConditionRecord>),
    Item(&'a Item),
}

impl State {
    /// The active conditions of a work item, by id.
    #[must_use]
    pub fn conditions_of(&self, item: &WorkItemId) -> Vec<&Active<WaitConditionRecord>> {
        self.conditions(self.index.under_owner(List::Conditions, Some(item)))
    }

    /// The agent's own conditions of one kind, by id (contract 5.17). The mirrors of its intents
    /// are not among them.
    pub(crate) fn own_conditions(
        &self,
        kind: WaitConditionKind,
    ) -> Vec<&Active<WaitConditionRecord>> {
        self.conditions(self.index.own(kind))
    }

    /// Whether the agent has a condition of this kind.
    pub(crate) fn has_own(&self, kind: WaitConditionKind) -> bool {
        self.index.own(kind).next().is_some()
    }

    /// The active system waits, by id.
    #[must_use]
    pub(crate) fn system_conditions(&self) -> Vec<&Active<WaitConditionRecord>> {
        self.conditions(self.index.under_owner(List::System, None))
    }

    /// The active intents of the item's own scope, by id. An intent of the agent's scope that names
    /// the item is not one of them.
    #[must_use]
    pub fn intents_for(&self, item: &WorkItemId) -> Vec<&Active<WaitingIntentRecord>> {
        found(self.index.under_owner(List::Intents, Some(item)), &|id| {
            self.waiting.intents.get(&id.into())
        })
    }

    /// The active blocking tasks of `item`, most recently updated first.
    #[must_use]
    pub fn blocking_tasks(&self, item: &WorkItemId) -> Vec<&Task> {
        let mut tasks = found(self.index.under_owner(List::Blocking, Some(item)), &|id| {
            self.tasks.active.get(&id.into())
        });
        sort_by_key(&mut tasks, |task| Reverse((task.record.updated_at, task.seq)));
        tasks
    }

    /// The conditions of an item that wait for the operator, by id. Without an item: those of the
    /// agent itself that count.
    pub(crate) fn asking(&self, item: Option<&WorkItemId>) -> Vec<&Active<WaitConditionRecord>> {
        self.conditions(self.index.under_owner(List::Asking, item))
    }

    /// The item that waits for the operator, if exactly one does.
    pub(crate) fn only_asker(&self) -> Option<&WorkItemId> {
        let first = self.index.first_owned(List::Asking)?;
        let item = match self.condition(first) {
            Some(wait) => wait.record.work_item_id.as_ref()?,
            None => &self.item(first)?.record.id,
        };
        (!self.index.has_owner_after(List::Asking, item)).then_some(item)
    }

    /// What waits for the operator, newest first.
    pub(crate) fn asked(&self) -> impl Iterator<Item = Asked<'_>> {
        self.index.under_owner(List::Asked, None).filter_map(|listed| {
            let wait = self.condition(listed).map(Asked::Condition);
            wait.or_else(|| self.item(listed).map(Asked::Item))
        })
    }

    /// What arrives on its own up to an instant, earliest first.
    pub(crate) fn arrivals(&self, until: Timestamp) -> impl Iterator<Item = Arrival<'_>> {
        self.index.until(List::Arrivals, until).filter_map(|listed| {
            if let Some(wait) = self.condition(listed) {
                return self.deadline_of(&wait.record).map(|at| Arrival::Deadline(wait, at));
            }
            if listed.is(TIMER) {
                return self.waiting.timers.get(&listed.id().into()).map(Arrival::Timer);
            }
            self.item(listed).map(Arrival::Recheck)
        })
    }

    /// The items of a list up to an instant, except the one with the focus.
    pub(crate) fn items_in(&self, list: List, until: Timestamp) -> impl Iterator<Item = &Item> {
        let focus = self.work.focus.as_ref().map(|focus| &focus.work_item_id);
        self.index.until(list, until).filter_map(move |listed| {
            self.item(listed).filter(|item| Some(&item.record.id) != focus)
        })
    }

    fn item(&self, listed: &Subject) -> Option<&Item> {
        self.work.items.get(&listed.id().into()).filter(|_| listed.is(ITEM))
    }

    fn condition(&self, listed: &Subject) -> Option<&Active<WaitConditionRecord>> {
        self.waiting.conditions.get(&listed.id().into()).filter(|_| listed.is(CONDITION))
    }

    fn conditions(&self, listed: Listed<'_>) -> Vec<&Active<WaitConditionRecord>> {
        listed.filter_map(|listed| self.condition(listed)).collect()
    }

    /// Updates the listings of everything that this record changed.
    pub(crate) fn relist(&mut self, place: &Place, record: &Record) {
        match record {
            Record::Task(record) => self.list(Subject::new(TASK, record.id.as_str())),
            Record::WaitCondition(record) => self.list(Subject::new(CONDITION, record.id.as_str())),
            Record::WaitingIntent(record) => self.list(Subject::new(INTENT, record.id.as_str())),
            Record::Timer(record) => self.list(Subject::new(TIMER, record.id.as_str())),
            Record::ExternalTrigger(record) => {
                self.list_trigger(Subject::new(TRIGGER, record.external_trigger_id.as_str()))
            }
            // Policy and edition say when a resting item is offered again (contract 9.4).
            Record::Control(ControlRecord::PolicySet(_)) => self.relist_all(),
            // From this entry on it matters which entries a driver recorded.
            Record::Control(ControlRecord::RuntimeRestarted(_))
                if self.control.live_from == Some(place.seq) =>
            {
                self.relist_all()
            }
            _ => {}
        }
        while let Some(trigger) = self.index.until(List::Expiring, self.at).next().cloned() {
            self.ingress.expire(&trigger.id().into());
            self.list_trigger(trigger);
        }
        // The plane notes each item it changes; a listed wait adds its owner. An item has no owner
        // itself, so the loop ends.
        while let Some(item) = self.work.touched.pop() {
            self.list(Subject::new(ITEM, item.as_str()));
        }
        // Items whose next offer is due by now move from `Resting` to `Offered`.
        while let Some(item) = self.index.until(List::Resting, self.at).next().cloned() {
            self.list(item);
        }
    }

    /// Builds the whole index again.
    pub(crate) fn relist_all(&mut self) {
        self.index = Index::default();
        let mut all = Vec::new();
        for id in self.waiting.conditions.keys() {
            all.push(Subject::new(CONDITION, id.as_str()));
        }
        for id in self.waiting.intents.keys() {
            all.push(Subject::new(INTENT, id.as_str()));
        }
        for id in self.ingress.open.keys() {
            all.push(Subject::new(TRIGGER, id.as_str()));
        }
        for id in self.waiting.timers.keys() {
            all.push(Subject::new(TIMER, id.as_str()));
        }
        for id in self.tasks.active.keys() {
            all.push(Subject::new(TASK, id.as_str()));
        }
        // Items come last: their listings depend on the waits.
        for id in self.work.items.keys() {
            all.push(Subject::new(ITEM, id.as_str()));
        }
        for subject in all {
            self.list(subject);
        }
        // All items were listed after the waits that touched them.
        self.work.touched.clear();
    }

    /// Lists a trigger, and the conditions that name it: they end with their last trigger.
    fn list_trigger(&mut self, trigger: Subject) {
        let naming: Vec<_> = self.index.naming(trigger.id()).cloned().collect();
        self.list(trigger);
        for condition in naming {
            self.list(condition);
        }
    }

    fn list(&mut self, subject: Subject) {
        let standing = self.standing(&subject);
        // Both owners are listed again: a wait that starts or ends changes the state of its item.
        self.work.touched.extend(standing.owner.clone());
        let before = self.index.set(subject, standing);
        self.work.touched.extend(before.owner);
    }

    fn standing(&self, subject: &Subject) -> Standing {
        let mut standing = Standing::default();
        let id = subject.id();
        if subject.is(TASK)
            && let Some(task) = self.tasks.active.get(&id.into()).filter(|task| task.is_blocking())
        {
            standing.under(List::Blocking, task.work_item_id.as_ref());
        } else if subject.is(CONDITION)
            && let Some(wait) = self.waiting.conditions.get(&id.into())
        {
            standing.of_condition(self, wait);
        } else if subject.is(INTENT)
            && let Some(intent) = self.waiting.intents.get(&id.into())
            && intent.record.scope == ExternalTriggerScope::WorkItem
        {
            standing.under(List::Intents, intent.record.work_item_id.as_ref());
        } else if subject.is(TIMER)
            && let Some(timer) = self.waiting.timers.get(&id.into())
        {
            standing.at(List::Arrivals, timer.record.due_at());
        } else if subject.is(TRIGGER)
            && let Some(open) = self.ingress.open.get(&id.into())
            && let Some(at) = open.record.expires_at
        {
            standing.at(List::Expiring, at);
        } else if subject.is(ITEM)
            && let Some(item) = self.item(subject)
        {
            standing.of_item(self, item);
        }
        // The subject makes each place unique: otherwise subjects with equal sort keys would
        // replace each other.
        for listing in &mut standing.listings {
            listing.0.extend_from_slice(subject.0.as_bytes());
        }
        standing
    }
}

/// The letters of the kinds of subjects.
const TASK: char = 't';

const CONDITION: char = 'c';

const INTENT: char = 'i';

const TIMER: char = 'r';

const TRIGGER: char = 'x';

const ITEM: char = 'w';

impl Standing {
    fn asks(&mut self, item: Option<&WorkItemId>, seq: Seq) {
        self.listings.push(List::Asking.prefix(item));
        // Newest first.
        self.listings.push(List::Asked.prefix(None).then(!seq.0));
    }

    fn of_condition(&mut self, state: &State, wait: &Active<WaitConditionRecord>) {
        let record = &wait.record;
        match &record.work_item_id {
            Some(item) => self.under(List::Conditions, Some(item)),
            None if !record.is_mirror() && readiness::counts(state, wait) => {
                self.listings.push(List::Own.prefix(None).then(record.kind as u64));
            }
            None => {}
        }
        for trigger in record.only_triggers().into_iter().flatten() {
            self.listings.push(List::Named.prefix_of(Some(trigger.as_str())));
        }
        if record.kind == WaitConditionKind::System {
            self.listings.push(List::System.prefix(None));
        }
        if record.kind == WaitConditionKind::Operator && readiness::counts(state, wait) {
            self.asks(record.work_item_id.as_ref(), wait.seq);
        }
        if let Some(at) = state.deadline_of(record) {
            self.at(List::Arrivals, at);
        }
    }

    fn of_item(&mut self, state: &State, item: &Item) {
        if let Some(at) = recheck::pending_at(item) {
            self.at(List::Arrivals, at);
        }
        if item.record.plan_status == WorkItemPlanStatus::NeedsInput {
            self.asks(Some(&item.record.id), item.seq);
        }
        if readiness::standing(state, item).state != SchedulingState::Runnable {
            return;
        }
        // contract 9.2: of items touched at one instant, the one recorded first comes first, so
        // that they take turns even if the clock stands still.
        let recorded = readiness::recorded(state, item).map_or(0, |seq| seq.0);
        let in_order = |list: List| {
            list.prefix(None).at(item.record.updated_at).then(recorded).at(item.record.created_at)
        };
        self.listings.push(in_order(List::Runnable));
        // `Offered`, `Due` and `Resting` are about queued work, so the key of the focus does not
        // count.
        let (_, spent_by) = state.work.key(item, TickReason::QueuedAvailable);
        let next =
            progress::next_offer(state, state.control.edition, item).filter(|_| spent_by.is_some());
        let can_be_offered = spent_by.is_none() || next.is_some_and(|at| at <= state.at);
        if can_be_offered {
            self.listings.push(in_order(List::Offered));
        }
        if let Some(at) = next {
            self.at(if can_be_offered { List::Due } else { List::Resting }, at);
        }
    }
}

/// The things that a list names, looked up by their ids.
fn found<'a, T>(listed: Listed<'_>, find: &dyn Fn(&str) -> Option<&'a T>) -> Vec<&'a T> {
    let mut found = Vec::new();
    for listed in listed {
        found.extend(find(listed.id()));
    }
    found
}
