//! The short list of changes that are combined: for each atom, the facts that make it true or false
//! in this state (contract 11.2). The table of single facts is in `table`.

use alloc::{format, string::String, vec::Vec};

use crate::{
    fact::{
        Fact,
        control::Restarted,
        queue::{MessageQueued, NewMessage, observed::MessageNamed},
        task::TaskChanged,
        turn::TurnTerminal,
        waiting::{
            condition::{WaitConditionNamed, WaitConditionRegistered},
            intent::{WaitingIntentCreated, WaitingIntentNamed},
            timer::{TimerCreated, TimerNamed},
        },
        work::{WorkItemBlocked, WorkItemCreated, WorkItemNamed, WorkItemUpdated},
    },
    id::{MessageId, WorkItemId},
    ladder::View,
    record::{
        control::{Marker, WakeHint},
        queue::envelope::{MessageBody, MessageKind, MessageOrigin, Priority, TrustLevel},
        turn::TurnTerminalKind,
        waiting::{
            CallbackDeliveryMode, EndedBy, ExternalTriggerScope, WaitConditionKind, WakeSource,
        },
        work::WorkItemPlanStatus,
    },
    state::{
        State,
        readiness::{self, SchedulingState},
        work::Item,
    },
};

/// A change of facts, and its description for people.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) fact: Fact,
    pub(super) says: String,
}

fn change(says: impl Into<String>, fact: Fact) -> Change {
    Change { fact, says: says.into() }
}

/// The changes that flip an atom to `to`. Some atoms have none because no fact can flip them: the
/// host chooses the boundary, and a decision puts the agent to sleep.
pub(super) fn flipping(atom: &str, to: Flip, state: &State, view: &View) -> Vec<Change> {
    match (atom, to) {
        ("stopped", Flip::On) => {
            Vec::from([change("the agent is stopped", Fact::StopRequested(Marker {}))])
        }
        ("stopped", Flip::Off) | ("already_asleep", Flip::Off) => {
            Vec::from([change("the agent is started", Fact::StartRequested(Marker {}))])
        }
        ("closing", Flip::On) => {
            Vec::from([change("the runtime shuts down", Fact::ShutdownRequested(Marker {}))])
        }
        ("closing", Flip::Off) => Vec::from([change(
            "the runtime restarts",
            Fact::RuntimeRestarted(Restarted::default()),
        )]),
        ("run_open", Flip::Off) => run_ends(state),
        (
            "queue_has_head"
            | "messages_wait"
            | "head_reenters_model"
            | "head_is_operator_interjection",
            Flip::On,
        ) => Vec::from([prompt(state)]),
        ("head_reenters_model", Flip::Off) => Vec::from([webhook(state)]),
        ("queue_has_head" | "messages_wait" | "head_has_lost_its_subject", Flip::Off) => {
            drops(state)
        }
        ("wake_hint_pending", Flip::On) => Vec::from([hint()]),
        ("current_item_runnable", Flip::On) => items_released(state),
        ("queued_item_runnable", Flip::On) => {
            [items_released(state), Vec::from([new_item(state)])].concat()
        }
        ("current_item_runnable" | "queued_item_runnable", Flip::Off)
        | ("no_runnable_work", Flip::On) => items_blocked(state),
        ("no_runnable_work", Flip::Off) => {
            [items_released(state), Vec::from([new_item(state)])].concat()
        }
        ("agent_waits_for_external", Flip::On) => Vec::from([intent(state)]),
        ("timer_active", Flip::On) => Vec::from([timer(state)]),
        ("agent_or_current_item_waits_for_operator", Flip::On) => asks_operator(state, view),
        ("agent_or_current_item_waits_for_task", Flip::On) => {
            waits(state, view, WaitConditionKind::Task)
        }
        ("agent_or_current_item_waits_for_timer", Flip::On) => {
            waits(state, view, WaitConditionKind::Timer)
        }
        ("current_item_waits_for_external", Flip::On) => {
            waits(state, view, WaitConditionKind::External)
        }
        ("waits_for_system", Flip::On) => waits(state, view, WaitConditionKind::System),
        (
            "agent_waits_for_external"
            | "timer_active"
            | "agent_or_current_item_waits_for_operator"
            | "agent_or_current_item_waits_for_task"
            | "agent_or_current_item_waits_for_timer"
            | "current_item_waits_for_external"
            | "waits_for_system",
            Flip::Off,
        ) => waits_ended(state),
        _ => Vec::new(),
    }
}

/// The direction in which an atom changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flip {
    On,
    Off,
}

/// The changes that give the model a new reason to look, if only a spent key is in the way.
pub(super) fn unspent(state: &State) -> Vec<Change> {
    let updated = runnable(state).map(|item| {
        let id = item.record.id.clone();
        // Any update raises the revision, which gives the item a new key (contract 8.2).
        let same = WorkItemUpdated {
            work_item_id: id.clone(),
            objective: None,
            plan_status: None,
            plan: None,
            todo_list: None,
        };
        change(format!("item `{id}` is updated"), Fact::WorkItemUpdated(same))
    });
    updated.chain([hint()]).collect()
}

fn run_ends(state: &State) -> Vec<Change> {
    let run = state.turns.run.iter();
    let ends = |run_id| TurnTerminal {
        run_id,
        kind: TurnTerminalKind::Completed,
        reason: None,
        last_assistant_message: None,
        checkpoint: None,
    };
    run.map(|run| change("the open run completes", Fact::TurnTerminal(ends(run.run_id.clone()))))
        .collect()
}

/// An id that is not in the ledger.
fn fresh(state: &State, what: &str) -> String {
    format!("why-not-{what}-{}", state.head.seq)
}

fn queued(message: NewMessage) -> Fact {
    Fact::MessageQueued(MessageQueued { message })
}

fn plain(state: &State, kind: MessageKind, origin: MessageOrigin, trust: TrustLevel) -> NewMessage {
    NewMessage {
        id: MessageId::from(fresh(state, "message")),
        kind,
        origin,
        trust,
        // The first lane, so that the message is the head. A prompt is then also an interjection.
        priority: Priority::Interject,
        work_item_id: None,
        task_id: None,
        body: MessageBody::text("hello"),
        delivery_surface: None,
        admission_context: None,
        metadata: None,
        correlation_id: None,
        causation_id: None,
    }
}

fn prompt(state: &State) -> Change {
    let operator = MessageOrigin::Operator { actor_id: None };
    change(
        "the operator says something",
        queued(plain(state, MessageKind::OperatorPrompt, operator, TrustLevel::TrustedOperator)),
    )
}

fn webhook(state: &State) -> Change {
    let origin = MessageOrigin::Webhook { source: "why-not".into(), event_type: None };
    let message = plain(state, MessageKind::WebhookEvent, origin, TrustLevel::TrustedIntegration);
    change(
        "an event without content arrives first",
        queued(NewMessage { body: MessageBody::text(""), ..message }),
    )
}

fn drops(state: &State) -> Vec<Change> {
    let waiting = state.queue.waiting().map(|held| held.record.id.clone());
    waiting
        .map(|id| {
            change(
                format!("message `{id}` is dropped"),
                Fact::MessageDropped(MessageNamed { message_id: id, reason: None }),
            )
        })
        .collect()
}

fn hint() -> Change {
    let hint = WakeHint::new("why not");
    change("a wake hint arrives", Fact::WakeHintSubmitted(hint))
}

fn new_item(state: &State) -> Change {
    let id = WorkItemId::from(fresh(state, "item"));
    let created = WorkItemCreated {
        work_item_id: id,
        objective: "something to do".into(),
        plan_status: None,
    };
    change("a work item is created", Fact::WorkItemCreated(created))
}

fn runnable(state: &State) -> impl Iterator<Item = &Item> {
    state
        .work
        .items
        .values()
        .filter(|item| readiness::standing(state, item).state == SchedulingState::Runnable)
}

fn items_blocked(state: &State) -> Vec<Change> {
    let blocked = |item: &Item| {
        let id = item.record.id.clone();
        let fact = WorkItemBlocked {
            work_item_id: id.clone(),
            blocked_by: "something".into(),
            recheck_at: None,
            recheck_in_ms: None,
        };
        change(format!("item `{id}` is blocked"), Fact::WorkItemBlocked(fact))
    };
    runnable(state).map(blocked).collect()
}

/// The changes that release open items: the focus on an item, and the end of each thing that it
/// waits for.
fn items_released(state: &State) -> Vec<Change> {
    let mut changes = Vec::new();
    for item in state.work.items.values() {
        let id = item.record.id.clone();
        let named = WorkItemNamed { work_item_id: id.clone() };
        changes.push(change(
            format!("the focus moves to item `{id}`"),
            Fact::WorkItemPicked(named.clone()),
        ));
        if item.record.plan_status == WorkItemPlanStatus::NeedsInput {
            let ready = WorkItemUpdated {
                work_item_id: id.clone(),
                objective: None,
                plan_status: Some(WorkItemPlanStatus::Ready),
                plan: None,
                todo_list: None,
            };
            changes.push(change(
                format!("item `{id}` no longer needs input"),
                Fact::WorkItemUpdated(ready),
            ));
        }
        if item.record.blocked_by.is_some() {
            changes.push(change(
                format!("item `{id}` is no longer blocked"),
                Fact::WorkItemUnblocked(named),
            ));
        }
        for task in state.blocking_tasks(&id) {
            let task_id = task.record.id.clone();
            let ended = TaskChanged {
                task_id: task_id.clone(),
                task_kind: None,
                work_item_id: None,
                summary: None,
                wait_policy: None,
                detail: None,
                recovery: None,
            };
            changes.push(change(format!("task `{task_id}` completes"), Fact::TaskCompleted(ended)));
        }
    }
    changes.extend(waits_ended(state));
    changes
}

fn waits_ended(state: &State) -> Vec<Change> {
    let waiting = &state.waiting;
    // A mirror ends with its intent, so it is not a change of its own.
    let conditions =
        readiness::conditions(state).filter(|wait| !wait.record.is_mirror()).map(|wait| {
            let id = wait.record.id.clone();
            let named = WaitConditionNamed {
                wait_condition_id: id.clone(),
                ended_by: Some(EndedBy::Model),
            };
            change(format!("wait `{id}` ends"), Fact::WaitConditionCancelled(named))
        });
    let intents = waiting.intents.keys().map(|id| {
        change(
            format!("intent `{id}` is cancelled"),
            Fact::WaitingIntentCancelled(WaitingIntentNamed { waiting_intent_id: id.clone() }),
        )
    });
    let timers = waiting.timers.keys().map(|id| {
        change(
            format!("timer `{id}` is cancelled"),
            Fact::TimerCancelled(TimerNamed { timer_id: id.clone() }),
        )
    });
    conditions.chain(intents).chain(timers).collect()
}

fn intent(state: &State) -> Change {
    let created = WaitingIntentCreated {
        waiting_intent_id: fresh(state, "intent").into(),
        scope: ExternalTriggerScope::Agent,
        work_item_id: None,
        description: "something external".into(),
        source: "why-not".into(),
        resource: None,
        delivery_mode: CallbackDeliveryMode::WakeHint,
        external_trigger_id: Some(fresh(state, "trigger").into()),
    };
    change("the agent waits for something external", Fact::WaitingIntentCreated(created))
}

fn timer(state: &State) -> Change {
    let created = TimerCreated {
        timer_id: fresh(state, "timer").into(),
        duration_ms: 60_000,
        interval_ms: None,
        summary: None,
    };
    change("a timer is set", Fact::TimerCreated(created))
}

fn asks_operator(state: &State, view: &View) -> Vec<Change> {
    let item = view.current.as_ref().map(|(item, _)| item.work_item_id.clone());
    let asked = item.map(|id| {
        let asks = WorkItemUpdated {
            work_item_id: id.clone(),
            objective: None,
            plan_status: Some(WorkItemPlanStatus::NeedsInput),
            plan: None,
            todo_list: None,
        };
        change(format!("item `{id}` needs input"), Fact::WorkItemUpdated(asks))
    });
    asked.into_iter().chain(waits(state, view, WaitConditionKind::Operator)).collect()
}

/// Waits of this kind for the agent and the current item. A wait for a task names an active one, so
/// there is none without an active task.
fn waits(state: &State, view: &View, kind: WaitConditionKind) -> Vec<Change> {
    let task = state.tasks.active.keys().next();
    let source = match kind {
        WaitConditionKind::Task => task.map(|id| WakeSource::TaskResult { task_id: id.clone() }),
        WaitConditionKind::External => {
            Some(WakeSource::ExternalIngress { external_trigger_id: None, after: None })
        }
        WaitConditionKind::Operator => Some(WakeSource::OperatorInput),
        WaitConditionKind::Timer => Some(WakeSource::Timer {
            wake_at: state.at.plus_ms(60_000),
            wake_in_ms: None,
            timer_id: None,
        }),
        WaitConditionKind::System => Some(WakeSource::SystemTick),
    };
    let what = match kind {
        WaitConditionKind::Task => "a task",
        WaitConditionKind::External => "something external",
        WaitConditionKind::Operator => "the operator",
        WaitConditionKind::Timer => "an instant",
        WaitConditionKind::System => "the runtime",
    };
    let owners = [None, view.current.as_ref().map(|(item, _)| item.work_item_id.clone())];
    let registered = |owner: &Option<WorkItemId>, source: &WakeSource| {
        let who = owner.as_ref().map_or_else(|| "the agent".into(), |id| format!("item `{id}`"));
        let fact = WaitConditionRegistered {
            wait_condition_id: fresh(state, "wait").into(),
            work_item_id: owner.clone(),
            kind,
            waiting_for: what.into(),
            wake_sources: Vec::from([source.clone()]),
            expires_at: None,
            expires_in_ms: None,
            source: None,
            subject_ref: None,
            continuation: None,
        };
        change(format!("{who} waits for {what}"), Fact::WaitConditionRegistered(fact))
    };
    let owners = if owners[1].is_some() { &owners[..] } else { &owners[..1] };
    source
        .iter()
        .flat_map(|source| owners.iter().map(move |owner| registered(owner, source)))
        .collect()
}
