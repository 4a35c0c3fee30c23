//! The fold: how each record changes the state (contract 3.3). Nothing else changes a state.

use alloc::vec::Vec;

use wakeful_json::Map;

use crate::{
    id,
    record::{
        Record,
        budget::RoundUsage,
        control::{AgentImported, ControlRecord},
        diagnostic::{self, DiagnosticKind},
        entry::{Entry, Place},
        event::{EventKind, EventRecord},
        key::Key,
        queue::{
            entry::QueueEntryRecord,
            envelope::{MessageKind, MessageOrigin, QueueStatus},
            message::MessageRecord,
            note::{DeadlineNote, HintTickNote, RecheckNote, SystemWaitNote, WorkQueueNote},
        },
        refusal::RefusedContent,
        task::TaskRecord,
        turn::{AbortReason, RunStatus, TurnRecord, TurnTerminalKind},
        waiting::{EndedBy, WaitConditionStatus},
        work::{DelegationState, WorkItemState},
    },
    state::{
        State, autonomy, failing,
        progress::{self, Step},
        retry::{self, Owed},
        turn::{LastTerminal, OpenRun, Retry},
        work::{Rest, SpentKey},
    },
};

impl State {
    /// Folds one more entry. A state changes in no other way.
    pub fn apply(&mut self, entry: &Entry) {
        // A correction sets the time back, and then the clock is right.
        self.clock_behind &= entry.at == self.at;
        self.at = entry.at;
        self.work.touched.extend(self.budgets.at(entry.at, entry.seq));
        // Taken before the fold: the restart that makes a ledger live is not live itself (contract,
        // preface).
        let place = Place { seq: entry.seq, live: self.control.live_from.is_some() };
        if self.is_own(&entry.record) {
            self.fold(&place, &entry.record);
        } else {
            self.foreign_records += 1;
        }
        // After the fold, because the listings follow from the state that it leaves.
        self.relist(&place, &entry.record);
        self.head = entry.head();
    }

    fn is_own(&self, record: &Record) -> bool {
        let owner = match record {
            Record::Message(record) => &record.agent_id,
            Record::QueueEntry(record) => &record.agent_id,
            Record::Transcript(record) => &record.agent_id,
            Record::Task(record) => &record.agent_id,
            Record::WorkItem(record) => &record.agent_id,
            Record::WaitingIntent(record) => &record.agent_id,
            Record::WaitCondition(record) => &record.agent_id,
            Record::Timer(record) => &record.agent_id,
            Record::Tool(record) => &record.agent_id,
            Record::Brief(record) => &record.agent_id,
            Record::Turn(record) => &record.agent_id,
            Record::ExternalTrigger(record) => &record.target_agent_id,
            // These records name no owner.
            Record::Event(_) | Record::Control(_) | Record::Carried(_) => return true,
        };
        *owner == self.control.agent_id
    }

    fn fold(&mut self, place: &Place, record: &Record) {
        self.introduced.apply(place, record);
        if place.live && is_of_run(record) {
            self.turns.heard(self.at);
        }
        match record {
            Record::Message(record) => self.fold_message(place, record),
            Record::QueueEntry(record) => {
                if place.live {
                    // Before the queue forgets the message.
                    self.fold_deferred(record);
                }
                self.queue.apply_entry(place, record);
                if record.status == QueueStatus::Dropped {
                    self.tasks.message_dropped(&record.message_id);
                }
                if record.status.is_terminal() {
                    self.fold_settled(&record.message_id);
                }
                // An import queues messages too. Its rest begins with the first restart, which
                // looks at the queue itself.
                if place.live && record.status == QueueStatus::Queued {
                    self.control.wake();
                }
            }
            Record::Event(record) => self.fold_event(place, record),
            Record::Transcript(record) => {
                self.context.transcript += 1;
                if place.live && (record.answer || self.control.format < 2) {
                    self.turns.answered(place, record);
                }
            }
            Record::Task(record) => self.fold_task(place, record),
            Record::WorkItem(record) => {
                self.context.work_changed(place);
                // contract 5.14: completion ends the turn. The effect for that is released once per
                // run (contract 3.2), so the run notes it.
                if place.live && record.state == WorkItemState::Completed {
                    self.turns.set_yields();
                }
                if record.state == WorkItemState::Completed {
                    self.budgets.item_ended(&record.id);
                }
                self.work.apply(place, record);
            }
            Record::WaitingIntent(record) => {
                self.waiting.apply_intent(place, record);
                self.wait_ended(place, record.ended_by, record.work_item_id.as_ref());
            }
            Record::WaitCondition(record) => {
                // contract 5.17: a registered condition ends the turn. The mirror of an intent is
                // not registered.
                if place.live && record.status == WaitConditionStatus::Active && !record.is_mirror()
                {
                    self.turns.set_yields();
                }
                self.waiting.apply_condition(place, record);
                // The mirror of an intent ends with it, but the epoch moves only once.
                let ended_by = record.ended_by.filter(|_| !record.is_mirror());
                self.wait_ended(place, ended_by, record.work_item_id.as_ref());
            }
            Record::Timer(record) => self.waiting.apply_timer(place, record),
            Record::ExternalTrigger(record) => self.ingress.apply(place, record),
            Record::Tool(record) => {
                self.context.tool_executions += 1;
                if place.live {
                    self.turns.called(place, record);
                }
            }
            Record::Brief(record) => self.context.apply_brief(place, record),
            Record::Turn(record) => self.fold_turn(place, record),
            Record::Carried(_) => self.carried_records += 1,
            Record::Control(record) => {
                // Before the match: this takes over an imported rest, which a branch below may end.
                self.control.apply(place, record, &self.waiting, &self.index);
                match record {
                    ControlRecord::FocusSet(focus) => self.work.apply_focus(place, focus),
                    ControlRecord::ItemParked(parked) => self.work.apply_parked(place, parked),
                    // A message or a hint in an import ends the rest that came with it.
                    ControlRecord::RuntimeRestarted(_)
                        if !place.live && self.has_imported_news() =>
                    {
                        self.control.wake()
                    }
                    ControlRecord::AgentImported(agent) => self.fold_imported_agent(place, agent),
                    ControlRecord::ClockCorrected(corrected) => {
                        self.correct_clock(place, corrected)
                    }
                    ControlRecord::BudgetSet(set) => {
                        let account = self.budgets.after_set(set, place.seq);
                        self.budgets.put(set.work_item_id.clone(), account);
                        self.budget_changed(set.work_item_id.as_ref());
                    }
                    ControlRecord::BudgetGranted(granted) => {
                        self.budgets.granted(granted, place.seq);
                        self.budget_changed(granted.work_item_id.as_ref());
                    }
                    ControlRecord::RoundCounted(usage) => self.fold_usage(place, usage),
                    ControlRecord::EpochsMoved(moved) => {
                        moved.work_item_ids.iter().for_each(|id| self.work.move_epoch(id))
                    }
                    _ => {}
                }
            }
        }
    }

    /// contract 5.3: a message that is settled without a turn that read it goes to the next turn.
    fn fold_deferred(&mut self, record: &QueueEntryRecord) {
        let Some(held) = self.queue.message(&record.message_id).cloned() else { return };
        let in_run = self.queue.is_in_run(&record.message_id);
        let run = self.turns.run.as_ref().map(|run| &run.run_id);
        self.queue.deferred.settled(&held, record, in_run, run, self.control.policy.deferred_cap);
    }

    fn fold_task(&mut self, place: &Place, record: &TaskRecord) {
        // Looked up first: a terminal record removes the task from the plane.
        let blocked = self
            .tasks
            .active
            .get(&record.id)
            .filter(|task| task.is_blocking())
            .and_then(|task| task.work_item_id.clone());
        self.tasks.apply(place, record);
        // contract 8.2: the end of a blocking task is a new reason to look at the item.
        if let (true, Some(item)) = (place.live && record.status.is_terminal(), blocked) {
            self.work.move_epoch(&item);
        }
    }

    fn fold_message(&mut self, place: &Place, record: &MessageRecord) {
        self.queue.apply_message(place, record);
        self.tasks.apply_message(place, record);
        if place.live {
            self.fold_followup(record);
        }
        // contract 5.19: a live tick counts only if the runtime owns it. An imported one is known
        // by its origin (`observed-decisions.md` 4.8.1).
        let is_tick = record.kind == MessageKind::SystemTick
            && (record.is_runtime_owned() || !place.live && is_tick_origin(&record.origin));
        if !is_tick {
            return;
        }
        // contract 8.3: admitting a tick spends its key.
        if let Some(note) = record.note::<WorkQueueNote>() {
            let key = Key::named(note.idempotency_key);
            if let Some(offer) = note.offer.filter(|_| place.live) {
                self.work.offered(&note.work_item_id, offer);
            }
            self.work.spend(&note.work_item_id, note.reason, key, place.seq);
        }
        // Also in an import: a hint that was ticked there is not ticked again (contract 5.21).
        if let Some(note) = record.note::<HintTickNote>() {
            self.control.hint_ticked =
                Some(SpentKey { key: Key::named(note.idempotency_key), seq: place.seq });
        }
        if place.live {
            self.fold_arrival(record);
        }
        if let Some(note) = record.note::<SystemWaitNote>() {
            self.waiting.ticked.insert(note.wait_condition_id.clone(), place.seq);
            self.list_ticked(&note.wait_condition_id);
        }
    }

    /// contract 5.17: notes that a message about a due deadline or recheck was queued.
    fn fold_arrival(&mut self, record: &MessageRecord) {
        if let Some(note) = record.note::<DeadlineNote>() {
            self.waiting.deadlines_told.insert(note.wait_condition_id, record.id.clone());
        }
        if let Some(note) = record.note::<RecheckNote>() {
            self.work.recheck_told(&note, &record.id);
        }
    }

    fn fold_event(&mut self, place: &Place, record: &EventRecord) {
        let Some(kind) = record.known() else { return };
        match kind {
            EventKind::RuntimeError => {
                self.context.failed(place, record.created_at);
                self.turns.failed(record);
            }
            EventKind::ContextCompacted => record
                .particulars()
                .into_iter()
                .for_each(|compacted| self.context.compacted(compacted)),
            EventKind::CheckpointRecorded => record
                .particulars()
                .iter()
                .for_each(|checkpoint| self.context.checkpointed(place, checkpoint)),
            EventKind::WorkItemDelegated => self.work.delegated(
                place,
                record.particular("delegation_id"),
                DelegationState::Open,
            ),
            EventKind::WorkItemDelegationCompleted => {
                self.work.delegated(
                    place,
                    record.particular("delegation_id"),
                    DelegationState::Completed,
                );
            }
            // What another runtime decided is evidence only, so the rest counts for live entries
            // alone.
            _ if !place.live => {}
            EventKind::SchedulerDecision => record
                .decision()
                .into_iter()
                .for_each(|decision| self.control.apply_decision(place, decision)),
            EventKind::ContinuationResolved => record.resolution().into_iter().for_each(|met| {
                self.queue.set_resolution(&met.message_id, met.resolution);
            }),
            EventKind::WorkItemRecheckConsumed => {
                record.particulars().iter().for_each(|note| self.work.recheck_consumed(note))
            }
            EventKind::TaskResultQueued | EventKind::TaskResultDelivered => {
                self.fold_result(record, kind);
            }
            EventKind::ToolRoundCompleted => self.turns.round_completed(),
            EventKind::ProviderRoundCompleted => {
                record.particulars().iter().for_each(|usage| self.fold_usage(place, usage))
            }
            EventKind::ContentRefused => {
                if let Some(refused) = record.particulars::<RefusedContent>() {
                    self.queue.deferred.refused(&refused.run_id, &refused.message_ids);
                }
            }
            EventKind::SchedulerDiagnostic => {
                if diagnostic::is_recorded(record, DiagnosticKind::StalledRun) {
                    self.turns.set_stalled();
                }
                self.clock_behind |= diagnostic::is_recorded(record, DiagnosticKind::ClockBehind);
                if diagnostic::is_recorded(record, DiagnosticKind::WaitWithoutWaker) {
                    self.waiting.reported(place, record.particular("wait_condition_id"));
                }
            }
            _ => {}
        }
    }

    fn fold_turn(&mut self, place: &Place, record: &TurnRecord) {
        // Before `apply` below, which forgets the interrupted runs by which a replay is known.
        if place.live && record.status == RunStatus::Started {
            let message = self.queue.message(&record.message_id);
            self.turns.autonomous =
                message.map_or(0, |held| autonomy::with_turn_of(self, &held.record));
            if self.turns.autonomous == 0 {
                self.control.parked = None;
            }
        }
        // Both are read before the run is closed below: afterwards they would be lost.
        let was_open = self.turns.run.as_ref().is_some_and(|run| run.run_id == record.run_id);
        let progress = progress::of_turn(self, record)
            .filter(|_| was_open && record.status == RunStatus::Terminal);
        let run = self.turns.run.as_ref().filter(|_| was_open);
        let (unknown_calls, error) =
            run.map(|run| (run.unknown_calls(), run.error.clone())).unwrap_or_default();
        let inherited = self.unknown_calls_for(&record.message_id);
        self.turns.apply(place, record, inherited);
        match record.status {
            RunStatus::Started => {
                self.control.wake();
                self.queue.set_in_run(&record.message_id, true);
                let item = record.work_item.as_ref().map(|binding| binding.work_item_id.clone());
                self.budgets.run_started(&record.run_id, item.as_ref());
                if place.live {
                    self.queue.set_about(&record.message_id, item);
                }
                self.queue.deferred.listed(&record.run_id, record.deferred_told);
            }
            RunStatus::Interrupted => {
                self.queue.set_in_run(&record.message_id, false);
                // contract 5.24: interruptions by a shutdown do not count.
                if was_open && place.live && !self.control.was_closing {
                    self.queue.interrupted(&record.message_id);
                }
            }
            RunStatus::Terminal => {
                self.queue.deferred.ended(record);
                if record.kind == Some(TurnTerminalKind::Completed) {
                    self.context.turn_completed(record.completed_at.unwrap_or(self.at));
                }
                if was_open && place.live {
                    self.set_retried(record.retry_of.as_ref().unwrap_or(&record.message_id));
                    if retry::owed(self, record) == Owed::Retry {
                        // The message is still in the queue: in a settlement its entry follows the
                        // terminal.
                        let retry = retry::next_retry(self, record, unknown_calls, place.seq);
                        self.set_owed(Retry { error, ..retry });
                    }
                    failing::fold(self, record);
                }
            }
        }
        let Some(binding) = &record.work_item else { return };
        if record.status == RunStatus::Started {
            // contract 8.2: operator input about an item is a new reason to look at it.
            let message = self.queue.message(&record.message_id);
            if place.live && message.is_some_and(|held| held.record.is_operator_input()) {
                self.work.move_epoch(&binding.work_item_id);
            }
        } else if record.status == RunStatus::Terminal && was_open {
            // contract 8.3: the settlement of a turn about an item spends its key.
            let key = Key::work(binding.offered_as, &binding.work_item_id, binding.epoch);
            self.work.spend(&binding.work_item_id, binding.offered_as, key, place.seq);
            if let Some((item, Step::Rests)) = progress {
                self.work.rests(
                    &item,
                    Rest { since: record.completed_at.unwrap_or(self.at), seq: place.seq },
                );
            }
            // contract 8.2: a turn that a stop aborted was not a chance to act, so the item is
            // offered again after start.
            if place.live && record.was_aborted_by(AbortReason::AgentStopped) {
                self.work.move_epoch(&binding.work_item_id);
            }
        }
    }

    /// contract 5.11: a host may say that a result was queued without naming its message.
    fn fold_result(&mut self, record: &EventRecord, kind: EventKind) {
        let Some(task) = record.particular::<id::TaskId>("task_id") else { return };
        if kind == EventKind::TaskResultDelivered {
            self.tasks.result_delivered(&task);
        } else if let Some(message) = record.particular("message_id") {
            self.tasks.result_queued(&task, &message);
        }
    }

    /// contract 16.4: a run that exhausts a budget ends after its round.
    fn fold_usage(&mut self, place: &Place, usage: &RoundUsage) {
        let is_open = |item: &id::WorkItemId| self.work.items.contains_key(item);
        let changed = self.budgets.after_round(usage, &is_open, place.seq);
        self.budgets.told(usage);
        for (owner, account) in changed {
            self.budgets.put(owner.clone(), account);
            self.budget_changed(owner.as_ref());
        }
    }

    /// Folds that an owner's budget may be exhausted now, or no longer.
    fn budget_changed(&mut self, item: Option<&id::WorkItemId>) {
        let is_exhausted =
            self.budgets.account(item).is_some_and(|account| account.exhausted.is_some());
        let bound = self.turns.run.as_ref().and_then(|run| run.work_item.as_ref());
        let is_about = item.is_none() || bound.map(|bound| &bound.work_item_id) == item;
        if is_exhausted && is_about && self.control.live_from.is_some() {
            self.turns.set_yields();
        }
        // An item over its budget is not runnable.
        self.work.touched.extend(item.cloned());
    }

    fn wait_ended(&mut self, place: &Place, by: Option<EndedBy>, item: Option<&id::WorkItemId>) {
        // contract 8.2: the epoch of an imported item is its revision.
        if let (true, Some(item)) = (place.live && by.is_some_and(EndedBy::moves_epoch), item) {
            self.work.move_epoch(item);
        }
    }

    fn fold_imported_agent(&mut self, place: &Place, agent: &AgentImported) {
        let turns = &mut self.turns;
        turns.turn_index = agent.turn_index;
        let settled = agent.terminal_turn_index.unwrap_or(agent.turn_index);
        turns.last_terminal = agent.last_turn_terminal.map(|kind| LastTerminal {
            turn_index: settled,
            kind,
            seq: place.seq,
        });
        // contract 5.23: an imported open run stays open until a restart interrupts it. The import
        // does not name its message or its start.
        turns.run = agent.current_run_id.clone().map(|run_id| OpenRun {
            run_id,
            seq: place.seq,
            turn_index: agent.turn_index,
            message_id: "".into(),
            work_item: None,
            started_at: self.at,
            yields: false,
            heard_at: self.at,
            stalled: false,
            retry_of: None,
            attempt: 0,
            calls: Map::new(),
            inherited: Vec::new(),
            pending: Vec::new(),
            error: None,
        });
        turns.imported_item = agent.current_turn_work_item_id.clone();
    }

    fn has_imported_news(&self) -> bool {
        !self.queue.is_empty() || self.control.hint.is_some()
    }
}

/// Whether only the executor of a turn records this. Such a record shows that the run is not
/// stalled (contract 5.8).
fn is_of_run(record: &Record) -> bool {
    match record {
        Record::Event(event) => {
            matches!(
                event.known(),
                Some(
                    EventKind::TurnStarted
                        | EventKind::ProviderRoundCompleted
                        | EventKind::ToolRoundCompleted
                )
            )
        }
        Record::Transcript(_)
        | Record::Tool(_)
        | Record::Brief(_)
        | Record::WorkItem(_)
        | Record::WaitCondition(_) => true,
        _ => false,
    }
}

fn is_tick_origin(origin: &MessageOrigin) -> bool {
    matches!(
        origin,
        MessageOrigin::System { subsystem }
            if subsystem == "work_queue" || subsystem == "wake_hint"
    )
}
