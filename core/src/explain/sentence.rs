//! One sentence about what an agent does and why. It needs no knowledge of the contract.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    derive::head,
    fact::Fact,
    id::{Seq, WaitConditionId, WaitingIntentId, WorkItemId},
    ladder::owed,
    record::{
        decision::{Decision, DecisionKind},
        queue::envelope::{MessageKind, MessageOrigin},
        waiting::{WaitConditionKind, WaitingIntentRecord, WakeSource},
    },
    state::{
        State, autonomy,
        readiness::{self, Readiness, SchedulingState},
        work::Item,
    },
    time::Timestamp,
};
use wakeful_json::sort::sort_by;

/// The sentence for a decision that was made in this state.
#[must_use]
pub(super) fn write(state: &State, decision: &Decision, now: Timestamp) -> String {
    match decision.kind {
        DecisionKind::Stop if state.control.stopped.is_some() => {
            "Stopped: nothing runs until the agent is started.".into()
        }
        DecisionKind::Stop => {
            "Closing: the runtime is shutting down; nothing starts until it restarts.".into()
        }
        DecisionKind::StartModelTurn => {
            format!("Starts a turn: {} goes to the model.", message(state, decision))
        }
        DecisionKind::ReduceMessageOnly => reduced(state, decision),
        DecisionKind::EmitSystemTick => emitted(state, decision),
        DecisionKind::Noop => working(state),
        DecisionKind::Sleep | DecisionKind::StayIdle => {
            format!("At rest: {}.{}", nothing(state), would_wake(state, &[], now))
        }
        _ => {
            let (what, wakers) = waited_for(state, decision);
            let held = held(state).map_or_else(String::new, |held| format!("{held}; "));
            format!("At rest: {held}waits for {what}.{}", would_wake(state, &wakers, now))
        }
    }
}

/// An event that the sentence names as what would change the decision.
pub(super) enum Event {
    /// The agent is started.
    Start,
    /// The runtime restarts.
    Restart,
    /// A budget of this owner ends its exhaustion; `None` is the agent.
    Budget(Option<WorkItemId>),
    /// Input from outside.
    Input,
    /// What a wait says that it waits for.
    Source(WakeSource),
    /// What a condition waits for.
    Condition(WaitConditionId),
    /// The trigger of an intent.
    Intent(WaitingIntentId),
}

impl Event {
    /// Whether this fact reports the event.
    pub(super) fn is(&self, fact: &Fact) -> bool {
        match (self, fact) {
            (Self::Start, Fact::StartRequested(_)) => true,
            (Self::Restart, Fact::RuntimeRestarted(_)) => true,
            (Self::Budget(owner), Fact::BudgetGranted(grant)) => grant.work_item_id == *owner,
            (Self::Budget(owner), Fact::BudgetSet(set)) => set.work_item_id == *owner,
            (Self::Input, Fact::MessageQueued(fact)) => {
                fact.message.kind == MessageKind::OperatorPrompt
            }
            (Self::Source(source), fact) => ends(source, fact),
            (Self::Condition(id), Fact::WaitConditionResolved(fact)) => {
                fact.wait_condition_id == *id
            }
            (Self::Intent(id), Fact::WaitingIntentTriggered(fact)) => fact.waiting_intent_id == *id,
            (Self::Intent(id), Fact::WakeHintSubmitted(hint)) => {
                hint.waiting_intent_id.as_ref() == Some(id)
            }
            _ => false,
        }
    }
}

/// Whether a fact reports what a wake source names.
fn ends(source: &WakeSource, fact: &Fact) -> bool {
    match (source, fact) {
        (WakeSource::OperatorInput, Fact::MessageQueued(fact)) => {
            fact.message.kind == MessageKind::OperatorPrompt
        }
        (WakeSource::SystemTick, Fact::MessageQueued(fact)) => {
            fact.message.kind == MessageKind::SystemTick
        }
        (
            WakeSource::TaskResult { task_id },
            Fact::TaskCompleted(fact)
            | Fact::TaskFailed(fact)
            | Fact::TaskCancelled(fact)
            | Fact::TaskInterrupted(fact),
        ) => fact.task_id == *task_id,
        (WakeSource::Timer { timer_id: Some(id), .. }, Fact::TimerFired(fact)) => {
            fact.timer_id == *id
        }
        (WakeSource::Timer { timer_id: Some(id), .. }, Fact::TimerCompleted(fact)) => {
            fact.timer_id == *id
        }
        (WakeSource::ExternalIngress { external_trigger_id, .. }, fact) => {
            let told = match fact {
                Fact::ExternalTriggerDelivered(fact) => &fact.external_trigger_id,
                Fact::WakeHintSubmitted(hint) => match &hint.external_trigger_id {
                    Some(id) => id,
                    None => return false,
                },
                Fact::MessageQueued(fact) => match &fact.message.origin {
                    MessageOrigin::Callback { descriptor_id, .. } => descriptor_id,
                    // Any event ends a wait that names no trigger.
                    _ => {
                        return external_trigger_id.is_none()
                            && fact.message.kind == MessageKind::WebhookEvent;
                    }
                },
                _ => return false,
            };
            external_trigger_id.as_ref().is_none_or(|id| id == told)
        }
        _ => false,
    }
}

/// The events that the sentence names, as what would change the decision.
pub(super) fn events(state: &State, decision: &Decision) -> Vec<Event> {
    match decision.kind {
        DecisionKind::Stop if state.control.stopped.is_some() => Vec::from([Event::Start]),
        DecisionKind::Stop => Vec::from([Event::Restart]),
        DecisionKind::StartModelTurn
        | DecisionKind::ReduceMessageOnly
        | DecisionKind::EmitSystemTick
        | DecisionKind::Noop => Vec::new(),
        DecisionKind::Sleep | DecisionKind::StayIdle => {
            let held = of_held(state);
            if !held.is_empty() {
                return held;
            }
            let items = state.work.items.values();
            items.flat_map(|item| of_item(state, item)).collect()
        }
        _ => {
            let item = decision.work_item_id.as_ref().and_then(|id| state.work.items.get(id));
            let is_meant =
                |seq: &Seq| decision.because.iter().any(|because| because.seqs.contains(seq));
            let mut all = of_held(state);
            all.extend(of_waits(state, &is_meant));
            all.extend(item.into_iter().flat_map(|item| of_item(state, item)));
            if decision.kind == DecisionKind::WaitForOperator {
                all.push(Event::Source(WakeSource::OperatorInput));
            }
            if decision.reason == "active_timers" {
                let timers = state.waiting.timers.values();
                all.extend(timers.map(|timer| {
                    Event::Source(WakeSource::Timer {
                        wake_at: timer.record.created_at,
                        wake_in_ms: None,
                        timer_id: Some(timer.record.id.clone()),
                    })
                }));
            }
            all
        }
    }
}

/// What would end what [`held`] says.
fn of_held(state: &State) -> Vec<Event> {
    let over = state.budgets.exhausted().map(|(owner, ..)| Event::Budget(owner.cloned()));
    let mut all: Vec<_> = over.collect();
    if all.is_empty() && autonomy::is_parked(state) {
        all.push(Event::Input);
    }
    all
}

/// What would end these waits.
fn of_waits<'a>(
    state: &'a State,
    is_meant: &'a dyn Fn(&Seq) -> bool,
) -> impl Iterator<Item = Event> + 'a {
    let conditions = readiness::conditions(state).filter(|wait| is_meant(&wait.seq));
    let conditions = conditions.flat_map(|wait| {
        let sources = wait.record.wake_sources.iter().cloned().map(Event::Source);
        core::iter::once(Event::Condition(wait.record.id.clone())).chain(sources)
    });
    let intents = state.waiting.intents.values().filter(|wait| is_meant(&wait.seq));
    let intents = intents.flat_map(|wait| {
        let external_trigger_id = Some(wait.record.external_trigger_id.clone());
        let trigger = WakeSource::ExternalIngress { external_trigger_id, after: None };
        [Event::Intent(wait.record.id.clone()), Event::Source(trigger)]
    });
    conditions.chain(intents)
}

/// What would let an item continue.
fn of_item(state: &State, item: &Item) -> Vec<Event> {
    let stands = readiness::standing(state, item);
    let mut all: Vec<_> = of_waits(state, &|seq| stands.waits.contains(seq)).collect();
    if stands.state == SchedulingState::WaitingOperator {
        all.push(Event::Source(WakeSource::OperatorInput));
    }
    if stands.state == SchedulingState::WaitingTask {
        let tasks = state.blocking_tasks(&item.record.id);
        all.extend(
            tasks.map(|task| {
                Event::Source(WakeSource::TaskResult { task_id: task.record.id.clone() })
            }),
        );
    }
    all
}

fn message(state: &State, decision: &Decision) -> String {
    let id = decision.message_id.as_ref().map_or("", |id| id.as_str());
    let held = decision.message_id.as_ref().and_then(|id| state.queue.message(id));
    let kind = held.map_or_else(|| "message".into(), |held| words(held.record.kind));
    match held.map(|held| (&held.record.kind, &held.record.origin)) {
        Some((MessageKind::TaskResult, MessageOrigin::Task { task_id })) => {
            format!("the result of task `{task_id}` (message `{id}`)")
        }
        Some((MessageKind::TimerTick, MessageOrigin::Timer { timer_id })) => {
            format!("the tick of timer `{timer_id}`")
        }
        _ => format!("{kind} `{id}`"),
    }
}

fn reduced(state: &State, decision: &Decision) -> String {
    let message = message(state, decision);
    let held = decision.message_id.as_ref().and_then(|id| state.queue.message(id));
    let why = match decision.rule.as_str() {
        "2.interjection" => return format!("Puts {message} into the open run."),
        "3.replay_budget" => {
            return format!("Drops {message}: its runs were interrupted too often.");
        }
        "3.stale_tick" => "it is out of date",
        _ if held.is_some_and(|held| head::malformed(state, held).is_some()) => {
            return format!("Drops {message}: it cannot be understood.");
        }
        _ if !decision.ignored.is_empty() => "it is not what the agent waits for",
        _ => "it needs no turn",
    };
    format!("Settles {message} without the model: {why}.")
}

fn emitted(state: &State, decision: &Decision) -> String {
    let item = decision.work_item_id.as_ref().and_then(|id| state.work.items.get(id));
    // contract 9.4: the model has seen a resting item, which is offered again after a backoff.
    let why = match item.and_then(|item| item.progress.rest) {
        Some(rest) => {
            format!("and nothing has changed since {}, so it is offered again", rest.since)
        }
        None => "and the model has not seen its current state".into(),
    };
    let item = item.map_or_else(|| "the agent".into(), named);
    match decision.reason.as_str() {
        "wake_hint" => {
            let reason =
                state.control.hint.as_ref().map_or("", |pending| pending.hint.reason.as_str());
            format!("Wakes itself: a hint said `{reason}`.")
        }
        "continue_active" => {
            format!("Continues {item}: it has the focus, can be worked on, {why}.")
        }
        "queued_available" => format!("Takes up {item}: it can be worked on, {why}."),
        _ => format!("Wakes itself: {item} waits for the runtime."),
    }
}

fn working(state: &State) -> String {
    match &state.turns.run {
        // An import does not name the message of its open run.
        Some(run) if run.message_id.as_str().is_empty() => {
            format!("Working: run `{}` was open before the import.", run.run_id)
        }
        Some(run) => format!(
            "Working: turn {} on message `{}` started at {}.",
            run.turn_index, run.message_id, run.started_at
        ),
        None => {
            format!("Has {} waiting for the next boundary.", counted(state.queue.len(), "message"))
        }
    }
}

/// The first few, and the number of the others.
fn some_of(all: &[String]) -> String {
    match all {
        [first, second, third, rest @ ..] if rest.len() > 1 => {
            format!("{first}, {second}, {third} and {} more", rest.len())
        }
        few => few.join(", "),
    }
}

/// The budgets that are exhausted, and what ends that.
fn over_budget(state: &State) -> Option<String> {
    let all: Vec<_> = state
        .budgets
        .exhausted()
        .filter_map(|(owner, account, _)| {
            let reached = account.reached()?;
            let owner = owner.map_or_else(|| "the agent".into(), |item| format!("item `{item}`"));
            let (limit, used, of) = (reached.limit, reached.used, reached.of);
            let until = match state.budgets.renews_at.filter(|_| reached.is_of_a_day) {
                Some(at) => format!("until {at}"),
                None => "until it gets a higher budget or a grant".into(),
            };
            Some(format!("{owner} is over its budget ({used} of {of} {limit}), {until}"))
        })
        .collect();
    (!all.is_empty()).then(|| some_of(&all))
}

/// What keeps the agent from starting turns on its own, whatever it waits for (contract 9.5, 16.4).
fn held(state: &State) -> Option<String> {
    let is_broken = state.control.parked.is_some();
    over_budget(state).or_else(|| {
        autonomy::is_parked(state).then(|| {
            let why = if is_broken {
                "by its host, because something of it is broken".into()
            } else {
                let turns = usize::try_from(state.turns.autonomous).unwrap_or(usize::MAX);
                format!("after {}", counted(turns, "self-started turn"))
            };
            format!("parked {why}, until outside input arrives")
        })
    })
}

/// What is pending although there is nothing to do now.
fn nothing(state: &State) -> String {
    if let Some(held) = held(state) {
        return held;
    }
    // A retry that has a message is no longer to come.
    let retries = state.turns.retries.values().filter(|retry| retry.message_id.is_none());
    let mut all: Vec<_> = retries
        .map(|retry| {
            let why = retry.error.as_ref().unwrap_or(&retry.failure);
            format!("the turn on `{}` failed ({why}) and is tried again", retry.failed_message_id)
        })
        .collect();
    // The line about the retry covers its item.
    let is_tried = |item: &&Item| {
        state
            .turns
            .retries
            .values()
            .any(|retry| retry.work_item_id.as_ref() == Some(&item.record.id))
    };
    let open: Vec<_> = state
        .work
        .items
        .values()
        .filter(|item| !is_tried(item))
        .map(|item| (item, readiness::standing(state, item)))
        .collect();
    let runnable = open.iter().filter(|(_, stands)| stands.state == SchedulingState::Runnable);
    match runnable.map(|(item, _)| named(item)).collect::<Vec<_>>().as_slice() {
        [] => {}
        [one] => {
            all.push(format!("{one} could continue, but the model saw it and left it as it is"))
        }
        many => all.push(format!(
            "{} could continue, but the model saw them and left them as they are",
            some_of(many)
        )),
    }
    let others = open.iter().filter(|(_, stands)| stands.state != SchedulingState::Runnable);
    let others: Vec<_> = others
        .map(|(item, stands)| format!("{} {}", named(item), held_up(state, item, stands)))
        .collect();
    all.extend((!others.is_empty()).then(|| some_of(&others)));
    // No rule rests on a system wait, so a rest has to mention it here.
    let own = state.own_waits().filter(|wait| wait.record.kind == WaitConditionKind::System);
    for wait in own {
        all.push(format!("the agent waits for {}", wait.record.waiting_for));
    }
    if all.is_empty() { "nothing is pending".into() } else { all.join("; ") }
}

/// Why an item does not continue.
fn held_up(state: &State, item: &Item, stands: &Readiness) -> String {
    let waits = state.waiting.conditions.values().find(|wait| stands.waits.contains(&wait.seq));
    match (stands.state, waits, &item.record.blocked_by) {
        (SchedulingState::Blocked, _, Some(blocker)) if blocker.trim().is_empty() => {
            "is blocked".into()
        }
        (SchedulingState::Blocked, _, Some(blocker)) => format!("is blocked by {blocker}"),
        (SchedulingState::Blocked, _, None) => "is parked until something moves it".into(),
        (_, Some(wait), _) => format!("waits for {}", wait.record.waiting_for),
        (SchedulingState::WaitingTask, None, _) => {
            let tasks: Vec<_> = state
                .blocking_tasks(&item.record.id)
                .map(|task| format!("`{}`", task.record.id))
                .collect();
            format!("waits for task {}", tasks.join(", "))
        }
        (SchedulingState::WaitingOperator, None, _) => "waits for the operator".into(),
        // An import may have an intent without its mirror condition.
        _ => {
            let intent =
                state.waiting.intents.values().find(|intent| stands.waits.contains(&intent.seq));
            format!(
                "waits for {}",
                intent.map_or("something external", |intent| intent.record.description.as_str())
            )
        }
    }
}

/// What is waited for, and what would end the wait.
fn waited_for(state: &State, decision: &Decision) -> (String, Vec<String>) {
    let waiting = &state.waiting;
    let item = decision.work_item_id.as_ref().and_then(|id| state.work.items.get(id));
    // The evidence names the waits that the decision is about.
    let is_meant = |seq: &Seq| decision.because.iter().any(|because| because.seqs.contains(seq));
    if decision.reason == "active_timers" {
        let timers: Vec<_> = waiting.timers.keys().map(|id| format!("`{id}`")).collect();
        return (format!("timer {}", timers.join(", ")), Vec::new());
    }
    if decision.reason == "active_agent_waiting_intents" {
        let intents = waiting.intents.values().filter(|wait| is_meant(&wait.seq));
        let intents: Vec<_> = intents.map(|wait| &wait.record).collect();
        let told = |intent: &&WaitingIntentRecord| {
            format!("{} of {} (intent `{}`)", intent.description, intent.source, intent.id)
        };
        let mut named: Vec<_> = intents.iter().map(told).collect();
        let mut wakers: Vec<_> = match intents.as_slice() {
            [_] => Vec::from(["its trigger".to_string()]),
            many => many.iter().map(|intent| format!("the trigger of `{}`", intent.id)).collect(),
        };
        for wait in waiting.conditions.values().filter(|wait| is_meant(&wait.seq)) {
            named.push(wait.record.waiting_for.clone());
            wakers.extend(wait.record.wake_sources.iter().map(waker));
        }
        return (named.join(" and for "), wakers);
    }
    let conditions: Vec<_> =
        readiness::conditions(state).filter(|wait| is_meant(&wait.seq)).collect();
    let of_item = item.map_or_else(String::new, |item| format!(", for {}", named(item)));
    let mut wakers: Vec<_> = conditions
        .iter()
        .flat_map(|wait| &wait.record.wake_sources)
        .filter(|source| may_come(state, source))
        .map(waker)
        .collect();
    // Several waits may have the same waker, which is told once.
    sort_by(&mut wakers, Ord::cmp);
    wakers.dedup();
    let what = match conditions.first() {
        Some(wait) => format!("{}{of_item}", wait.record.waiting_for),
        None => format!("{}{of_item}", without_condition(state, decision, item, &mut wakers)),
    };
    (what, wakers)
}

fn without_condition(
    state: &State,
    decision: &Decision,
    item: Option<&Item>,
    wakers: &mut Vec<String>,
) -> String {
    match decision.kind {
        DecisionKind::WaitForOperator => {
            wakers.push("operator input".into());
            "the operator".into()
        }
        DecisionKind::WaitForTask => {
            let tasks = item.into_iter().flat_map(|item| state.blocking_tasks(&item.record.id));
            let tasks: Vec<_> = tasks.map(|task| format!("`{}`", task.record.id)).collect();
            wakers.push("its result".into());
            format!("task {}", tasks.join(", "))
        }
        _ => "something external".into(),
    }
}

/// Whether this source can still wake the agent. At rest no result is queued, so a task that has
/// ended will not report one.
fn may_come(state: &State, source: &WakeSource) -> bool {
    !matches!(source, WakeSource::TaskResult { task_id } if state.tasks.ended.contains_key(task_id))
}

fn waker(source: &WakeSource) -> String {
    match source {
        WakeSource::TaskResult { task_id } => format!("the result of task `{task_id}`"),
        WakeSource::ExternalIngress { external_trigger_id: Some(id), .. } => {
            format!("trigger `{id}`")
        }
        WakeSource::ExternalIngress { external_trigger_id: None, .. } => "an external event".into(),
        WakeSource::Timer { timer_id: Some(id), .. } => format!("timer `{id}`"),
        WakeSource::Timer { wake_at, .. } => format!("the instant {wake_at}"),
        WakeSource::OperatorInput => "operator input".into(),
        WakeSource::SystemTick => "a tick of the runtime".into(),
    }
}

fn would_wake(state: &State, wakers: &[String], now: Timestamp) -> String {
    let mut on: Vec<_> = wakers.iter().map(|waker| format!("on {waker}")).collect();
    on.extend(owed::next_wake(state, now).map(|at| format!("at {at}")));
    if on.is_empty() { String::new() } else { format!(" Would wake {}.", on.join(" or ")) }
}

fn named(item: &Item) -> String {
    format!("`{}` ({})", item.record.id, item.record.objective)
}

fn words(kind: MessageKind) -> String {
    kind.to_string().replace('_', " ")
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
