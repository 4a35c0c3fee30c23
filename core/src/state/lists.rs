//! Keeps the index up to date, and looks things up in it.

use alloc::vec::Vec;

use crate::{
    id::{ExternalTriggerId, MessageId, Seq, TaskId, WaitConditionId, WorkItemId},
    record::{
        Record,
        control::ControlRecord,
        entry::Place,
        key::TickReason,
        waiting::{
            ExternalTriggerScope, TimerRecord, WaitConditionKind, WaitConditionRecord,
            WaitingIntentRecord, WakeSource,
        },
        work::WorkItemPlanStatus,
    },
    state::{
        State,
        arrival::Arrival,
        index::{
            CONDITION, INTENT, ITEM, Index, List, Listed, MESSAGE, RETRY, Standing, Subject, TASK,
            TIMER, TRIGGER, sortable,
        },
        ingress::OpenTrigger,
        progress,
        readiness::{self, SchedulingState},
        recheck,
        task::Task,
        turn::Retry,
        waiting::Active,
        work::Item,
    },
    time::Timestamp,
};
use wakeful_json::sort::sort_by;

/// What a list names, in its order. One type for all readings, so that their code is compiled once.
pub struct Found<'a, T> {
    state: &'a State,
    listed: Listed<'a>,
    find: fn(&'a State, &Subject) -> Option<&'a T>,
}

impl<'a, T> Iterator for Found<'a, T> {
    type Item = &'a T;

    #[inline(never)]
    fn next(&mut self) -> Option<&'a T> {
        loop {
            let listed = self.listed.next()?;
            if let Some(found) = (self.find)(self.state, listed) {
                return Some(found);
            }
        }
    }
}

/// What waits for the operator.
pub(crate) enum Asked<'a> {
    Condition(&'a Active<WaitConditionRecord>),
    Item(&'a Item),
}

impl State {
    /// The active conditions of a work item, by id.
    #[must_use]
    pub fn conditions_of(&self, item: &WorkItemId) -> Vec<&Active<WaitConditionRecord>> {
        by_id(self.waits_of(item).collect())
    }

    /// The same in the order of contract 5.13.
    pub(crate) fn waits_of(&self, item: &WorkItemId) -> Found<'_, Active<WaitConditionRecord>> {
        self.conditions(self.index.under_owner(List::Conditions, Some(item)))
    }

    /// Those of them that are of one kind, by id.
    pub(crate) fn waits_of_kind(
        &self,
        item: &WorkItemId,
        kind: WaitConditionKind,
    ) -> Found<'_, Active<WaitConditionRecord>> {
        self.conditions(self.index.of_rank(List::Conditions, item, readiness::rank(kind)))
    }

    /// The agent's own conditions that count, in the order of contract 5.13. The mirrors of its
    /// intents are not among them.
    pub(crate) fn own_waits(&self) -> Found<'_, Active<WaitConditionRecord>> {
        self.conditions(self.index.under_owner(List::Own, None))
    }

    /// The active system waits in one of their lists. Those in `LaterTicks` only if they are due at
    /// `until`.
    pub(crate) fn system_waits(
        &self,
        list: List,
        until: Timestamp,
    ) -> Found<'_, Active<WaitConditionRecord>> {
        self.conditions(match list {
            List::LaterTicks => self.index.until(list, until),
            list => self.index.under_owner(list, None),
        })
    }

    /// The active intents of the item's own scope, by id. An intent of the agent's scope that names
    /// the item is not one of them.
    pub fn intents_for(&self, item: &WorkItemId) -> Found<'_, Active<WaitingIntentRecord>> {
        self.intents(self.index.under_owner(List::Intents, Some(item)))
    }

    /// The active intents of the agent's scope, by id.
    pub fn agent_intents(&self) -> Found<'_, Active<WaitingIntentRecord>> {
        self.intents(self.index.under_owner(List::AgentIntents, None))
    }

    /// The number of active intents of the agent's scope.
    pub(crate) fn agent_intents_len(&self) -> usize {
        self.index.length(List::AgentIntents)
    }

    /// The active blocking tasks of `item`, most recently updated first.
    pub fn blocking_tasks(&self, item: &WorkItemId) -> Found<'_, Task> {
        let listed = self.index.under_owner(List::Blocking, Some(item));
        Found { state: self, listed, find: Self::task }
    }

    /// The number of active blocking tasks.
    pub(crate) fn blocking_tasks_len(&self) -> usize {
        self.index.length(List::Blocking)
    }

    /// The conditions that count and name this task, by id.
    pub(crate) fn waits_for_task(&self, id: &TaskId) -> Vec<&Active<WaitConditionRecord>> {
        self.counting(&Subject::new(TASK, id.as_str()))
    }

    /// The conditions that count and name this timer, by id.
    pub(crate) fn waits_for_timer(&self, id: &str) -> Vec<&Active<WaitConditionRecord>> {
        self.counting(&Subject::new(TIMER, id))
    }

    /// The conditions that count and name this trigger, by id.
    pub(crate) fn waits_for_trigger(
        &self,
        id: &ExternalTriggerId,
    ) -> Vec<&Active<WaitConditionRecord>> {
        self.counting(&Subject::new(TRIGGER, id.as_str()))
    }

    /// The active intents that name this trigger, by id. Those of an import may name none, which is
    /// an empty id.
    pub(crate) fn intents_naming(
        &self,
        id: &ExternalTriggerId,
    ) -> Found<'_, Active<WaitingIntentRecord>> {
        self.intents(self.index.naming(&Subject::new(TRIGGER, id.as_str())))
    }

    /// Whether an active wait names this external trigger.
    #[must_use]
    pub fn names_trigger(&self, id: &ExternalTriggerId) -> bool {
        self.index.names_trigger(id)
    }

    /// The conditions that count, wait for something external and name no trigger, by id.
    pub(crate) fn unnamed_waits(&self) -> Found<'_, Active<WaitConditionRecord>> {
        self.conditions(self.index.under_owner(List::Unnamed, None))
    }

    /// The open triggers that serve only this item, by id.
    pub(crate) fn triggers_of(&self, item: &WorkItemId) -> Found<'_, OpenTrigger> {
        let listed = self.index.under_owner(List::Serving, Some(item));
        Found { state: self, listed, find: Self::trigger }
    }

    fn counting(&self, named: &Subject) -> Vec<&Active<WaitConditionRecord>> {
        let naming = self.conditions(self.index.naming(named));
        naming.filter(|wait| readiness::counts(self, wait)).collect()
    }

    /// The conditions of an item that wait for the operator, by id. Without an item: those of the
    /// agent itself that count.
    pub(crate) fn asking(
        &self,
        item: Option<&WorkItemId>,
    ) -> Found<'_, Active<WaitConditionRecord>> {
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
            if let Some(timer) = self.timer(listed) {
                return Some(Arrival::Timer(timer));
            }
            if let Some(retry) = self.retry(listed) {
                return Some(Arrival::Retry(retry));
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
        let id = listed.of_kind(ITEM)?;
        self.work.items.get_by(&|held| held.as_str().cmp(id))
    }

    fn condition(&self, listed: &Subject) -> Option<&Active<WaitConditionRecord>> {
        let id = listed.of_kind(CONDITION)?;
        self.waiting.conditions.get_by(&|held| held.as_str().cmp(id))
    }

    fn intent(&self, listed: &Subject) -> Option<&Active<WaitingIntentRecord>> {
        let id = listed.of_kind(INTENT)?;
        self.waiting.intents.get_by(&|held| held.as_str().cmp(id))
    }

    fn timer(&self, listed: &Subject) -> Option<&Active<TimerRecord>> {
        let id = listed.of_kind(TIMER)?;
        self.waiting.timers.get_by(&|held| held.as_str().cmp(id))
    }

    fn retry(&self, listed: &Subject) -> Option<&Retry> {
        let id = listed.of_kind(RETRY)?;
        self.turns.retries.get_by(&|held| held.as_str().cmp(id))
    }

    /// The retry that this message makes, or else the one that follows its failure.
    pub(super) fn retry_of(&self, message: &MessageId, makes: bool) -> Option<&Retry> {
        // Usually there is none, and each turn asks several times.
        if self.turns.retries.is_empty() {
            return None;
        }
        let listed = self.index.naming(&Subject::new(MESSAGE, message.as_str()));
        let mut found = Found { state: self, listed, find: Self::retry };
        found.find(|retry| makes == (retry.message_id.as_ref() == Some(message)))
    }

    fn task(&self, listed: &Subject) -> Option<&Task> {
        let id = listed.of_kind(TASK)?;
        self.tasks.active.get_by(&|held| held.as_str().cmp(id))
    }

    fn trigger(&self, listed: &Subject) -> Option<&OpenTrigger> {
        let id = listed.of_kind(TRIGGER)?;
        self.ingress.open.get_by(&|held| held.as_str().cmp(id))
    }

    fn conditions<'a>(&'a self, listed: Listed<'a>) -> Found<'a, Active<WaitConditionRecord>> {
        Found { state: self, listed, find: Self::condition }
    }

    fn intents<'a>(&'a self, listed: Listed<'a>) -> Found<'a, Active<WaitingIntentRecord>> {
        Found { state: self, listed, find: Self::intent }
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
            self.list_system_waits_of(&item);
        }
        // What is due by now moves to the list of what is due. Its item is listed as before.
        for later in [List::Resting, List::LaterTicks] {
            while let Some(subject) = self.index.until(later, self.at).next().cloned() {
                self.list_alone(subject);
            }
        }
    }

    /// Builds the whole index again.
    pub fn relist_all(&mut self) {
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
        for id in self.turns.retries.keys() {
            all.push(Subject::new(RETRY, id.as_str()));
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
        // Whether a system wait is ticked depends on all waits of its item.
        let is_system =
            |wait: &&Active<WaitConditionRecord>| wait.record.kind == WaitConditionKind::System;
        let system: Vec<_> =
            self.waiting.conditions.values().filter(is_system).map(subject).collect();
        for subject in system {
            self.list_alone(subject);
        }
    }

    /// Lists a trigger, and what names it: some waits end with their last trigger.
    fn list_trigger(&mut self, trigger: Subject) {
        let naming: Vec<_> = self.index.naming(&trigger).cloned().collect();
        self.list(trigger);
        for wait in naming {
            self.list(wait);
        }
    }

    /// Lists the system waits of an item, which are ticked only while it waits for nothing else.
    fn list_system_waits_of(&mut self, item: &WorkItemId) {
        let waits: Vec<_> =
            self.waits_of_kind(item, WaitConditionKind::System).map(subject).collect();
        for subject in waits {
            self.list_alone(subject);
        }
    }

    /// Lists a subject whose item is listed already, or needs no change.
    fn list_alone(&mut self, subject: Subject) {
        let standing = self.standing(&subject);
        self.index.set(subject, standing);
    }

    /// Lists a condition again whose tick was emitted.
    pub(crate) fn list_ticked(&mut self, id: &WaitConditionId) {
        self.list(Subject::new(CONDITION, id.as_str()));
    }

    /// Lists the retry of a lineage again, which changed.
    pub(super) fn list_retry(&mut self, lineage: &MessageId) {
        self.list_alone(Subject::new(RETRY, lineage.as_str()));
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
        if let Some(item) = self.item(subject) {
            standing.of_item(self, item);
        } else if let Some(wait) = self.condition(subject) {
            standing.of_condition(self, wait);
        } else if let Some(task) = self.task(subject).filter(|task| task.is_blocking()) {
            let item = task.work_item_id.as_ref();
            // The most recently updated first.
            let in_order = List::Blocking.prefix(item).then(!sortable(task.record.updated_at));
            standing.owner = item.cloned();
            standing.listings.push(in_order.then(!task.seq.0));
        } else if let Some(intent) = self.intent(subject) {
            let record = &intent.record;
            match record.scope {
                ExternalTriggerScope::WorkItem => {
                    standing.under(List::Intents, record.work_item_id.as_ref());
                }
                ExternalTriggerScope::Agent => {
                    standing.listings.push(List::AgentIntents.prefix(None));
                }
            }
            standing.names(TRIGGER, record.external_trigger_id.as_str());
        } else if let Some(timer) = self.timer(subject) {
            standing.at(List::Arrivals, timer.record.due_at());
        } else if let Some(retry) = self.retry(subject) {
            standing.names(MESSAGE, retry.failed_message_id.as_str());
            match &retry.message_id {
                Some(message) => standing.names(MESSAGE, message.as_str()),
                // It arrives once: its message is then in the queue or in a run.
                None => standing.at(List::Arrivals, retry.due_at),
            }
        } else if let Some(open) = self.trigger(subject) {
            if let Some(item) = open.record.only_item() {
                standing.listings.push(List::Serving.prefix(Some(item)));
            }
            if let Some(at) = open.record.expires_at {
                standing.at(List::Expiring, at);
            }
        }
        // The subject makes each place unique: otherwise subjects with equal sort keys would
        // replace each other.
        for listing in &mut standing.listings {
            listing.0.extend_from_slice(subject.0.as_bytes());
        }
        standing
    }
}

impl Standing {
    fn asks(&mut self, item: Option<&WorkItemId>, seq: Seq) {
        self.listings.push(List::Asking.prefix(item));
        // Newest first.
        self.listings.push(List::Asked.prefix(None).then(!seq.0));
    }

    fn names(&mut self, kind: char, id: &str) {
        let named = Subject::new(kind, id);
        self.listings.push(List::Naming.prefix_of(Some(&named.0)));
    }

    fn of_condition(&mut self, state: &State, wait: &Active<WaitConditionRecord>) {
        let record = &wait.record;
        let rank = readiness::rank(record.kind);
        match &record.work_item_id {
            Some(item) => {
                self.owner = Some(item.clone());
                self.listings.push(List::Conditions.prefix(Some(item)).then(rank));
            }
            None if !record.is_mirror() && readiness::counts(state, wait) => {
                self.listings.push(List::Own.prefix(None).then(rank));
            }
            None => {}
        }
        let mut names_no_trigger = true;
        for source in &record.wake_sources {
            match source {
                WakeSource::TaskResult { task_id } => self.names(TASK, task_id.as_str()),
                WakeSource::ExternalIngress { external_trigger_id: Some(id), .. } => {
                    names_no_trigger = false;
                    self.names(TRIGGER, id.as_str());
                }
                WakeSource::Timer { timer_id: Some(id), .. } => self.names(TIMER, id.as_str()),
                _ => {}
            }
        }
        if record.kind == WaitConditionKind::External
            && names_no_trigger
            && !record.is_mirror()
            && readiness::counts(state, wait)
        {
            self.listings.push(List::Unnamed.prefix(None));
        }
        if readiness::would_be_ticked(state, wait) {
            self.listings.push(match readiness::tick_at(state, wait) {
                _ if state.waiting.ticked.contains_key(&record.id) => List::Ticked.prefix(None),
                Some(at) if at > state.at => List::LaterTicks.prefix(None).at(at),
                _ => List::Ticks.prefix(None),
            });
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
        if readiness::state_of(state, item) != SchedulingState::Runnable {
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

fn subject(wait: &Active<WaitConditionRecord>) -> Subject {
    Subject::new(CONDITION, wait.record.id.as_str())
}

/// These waits in the order of their ids.
pub(crate) fn by_id(
    mut waits: Vec<&Active<WaitConditionRecord>>,
) -> Vec<&Active<WaitConditionRecord>> {
    sort_by(&mut waits, |a, b| a.record.id.cmp(&b.record.id));
    waits
}
