//! What an agent does and why, in one sentence that needs no knowledge of the contract.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    derive::{
        obligation,
        readiness::{self, SchedulingState},
    },
    ladder::{Decision, DecisionKind},
    plane::{
        queue::{MessageKind, MessageOrigin},
        waiting::WakeSource,
        work::Item,
    },
    state::State,
    time::Timestamp,
};

/// The sentence for a decision that was made in this state.
#[must_use]
pub(super) fn of(state: &State, decision: &Decision, now: Timestamp) -> String {
    match decision.kind {
        DecisionKind::Stop if state.control.stopped.is_some() => "Stopped: nothing runs until the agent is started.".into(),
        DecisionKind::Stop => "Closing: the runtime goes down, nothing is started until the next restart.".into(),
        DecisionKind::StartModelTurn => format!("Starts a turn: {} goes to the model.", message(state, decision)),
        DecisionKind::ReduceMessageOnly => format!("Settles {} without the model{}.", message(state, decision), reduced(decision)),
        DecisionKind::EmitSystemTick => emitted(state, decision),
        DecisionKind::Noop => working(state),
        DecisionKind::Sleep | DecisionKind::StayIdle => format!("At rest: {}.{}", nothing(state), would_wake(state, &[], now)),
        _ => {
            let (what, wakers) = waited_for(state, decision);
            format!("At rest: waits for {what}.{}", would_wake(state, &wakers, now))
        }
    }
}

fn message(state: &State, decision: &Decision) -> String {
    let id = decision.message_id.as_ref().map_or("", |id| id.as_str());
    let held = decision.message_id.as_ref().and_then(|id| state.queue.message(id));
    let kind = held.map_or_else(|| "message".into(), |held| words(held.record.kind));
    match held.map(|held| (&held.record.kind, &held.record.origin)) {
        Some((MessageKind::TaskResult, MessageOrigin::Task { task_id })) => format!("the result of task `{task_id}` (message `{id}`)"),
        Some((MessageKind::TimerTick, MessageOrigin::Timer { timer_id })) => format!("the tick of timer `{timer_id}`"),
        _ => format!("{kind} `{id}`"),
    }
}

fn reduced(decision: &Decision) -> &'static str {
    match decision.rule.as_str() {
        "3.stale_tick" => ": what it was about is no longer so",
        "2.interjection" => ": it goes into the open run",
        _ if !decision.ignored.is_empty() => ": it is not what the agent waits for",
        _ => ": it asks for nothing",
    }
}

fn emitted(state: &State, decision: &Decision) -> String {
    let item = decision.work_item_id.as_ref().and_then(|id| state.work.items.get(id));
    let item = item.map_or_else(|| "the agent".into(), named);
    match decision.reason.as_str() {
        "wake_hint" => {
            let reason = state.control.hint.as_ref().map_or("", |pending| pending.hint.reason.as_str());
            format!("Wakes itself: a hint said `{reason}`.")
        }
        "continue_active" => {
            format!("Goes on with {item}: it has the focus, can be worked on, and was not offered to the model as it now is.")
        }
        "queued_available" => format!("Takes up {item}: it can be worked on and was not offered to the model as it now is."),
        _ => format!("Wakes itself: {item} waits for the runtime itself."),
    }
}

fn working(state: &State) -> String {
    match &state.turns.run {
        Some(run) if run.message_id.as_str().is_empty() => format!("Working: run `{}` is open since before the import.", run.run_id),
        Some(run) => format!("Working: turn {} runs on message `{}` since {}.", run.turn_index, run.message_id, run.started_at),
        None => format!("Has {} waiting, to be taken at the next boundary.", counted(state.queue.len(), "message")),
    }
}

/// The first few, and how many more there are.
fn some_of(all: &[String]) -> String {
    match all {
        [first, second, third, rest @ ..] if rest.len() > 1 => format!("{first}, {second}, {third} and {} more", rest.len()),
        few => few.join(", "),
    }
}

fn nothing(state: &State) -> String {
    let open = state.work.items.values();
    let offered: Vec<_> = open.filter(|item| readiness::of(state, item).state == SchedulingState::Runnable).map(named).collect();
    match offered.as_slice() {
        [] => "nothing is pending".into(),
        [one] => format!("{one} could go on, but the model has seen it as it is and left it"),
        many => format!("{} could go on, but the model has seen them as they are and left them", some_of(many)),
    }
}

/// What is waited for, and what would end the wait.
fn waited_for(state: &State, decision: &Decision) -> (String, Vec<String>) {
    let waiting = &state.waiting;
    let item = decision.work_item_id.as_ref().and_then(|id| state.work.items.get(id));
    if decision.reason == "active_timers" {
        let timers: Vec<_> = waiting.timers.keys().map(|id| format!("`{id}`")).collect();
        return (format!("timer {}", timers.join(", ")), Vec::new());
    }
    if decision.reason == "active_agent_waiting_intents" {
        let intents = waiting.intents.values().filter(|wait| decision.because.iter().any(|because| because.seqs.contains(&wait.seq)));
        let named: Vec<_> =
            intents.map(|wait| format!("{} of {} (intent `{}`)", wait.record.description, wait.record.source, wait.record.id)).collect();
        return (named.join(", "), Vec::from(["its trigger".to_string()]));
    }
    let owner = item.map(|item| &item.record.id);
    let conditions = readiness::conditions(state).filter(|wait| wait.record.work_item_id.as_ref() == owner);
    let conditions: Vec<_> = conditions.collect();
    let of_item = item.map_or_else(String::new, |item| format!(", for {}", named(item)));
    let mut wakers: Vec<_> = conditions.iter().flat_map(|wait| &wait.record.wake_sources).map(waker).collect();
    wakers.sort();
    wakers.dedup();
    let what = match conditions.first() {
        Some(wait) => format!("{}{of_item}", wait.record.waiting_for),
        None => format!("{}{of_item}", without_condition(state, decision, item, &mut wakers)),
    };
    (what, wakers)
}

fn without_condition(state: &State, decision: &Decision, item: Option<&Item>, wakers: &mut Vec<String>) -> String {
    match decision.kind {
        DecisionKind::WaitForOperator => {
            wakers.push("operator input".into());
            "the operator".into()
        }
        DecisionKind::WaitForTask => {
            let tasks = item.map(|item| state.tasks.blocking(&item.record.id)).unwrap_or_default();
            let tasks: Vec<_> = tasks.iter().map(|task| format!("`{}`", task.record.id)).collect();
            wakers.push("its result".into());
            format!("task {}", tasks.join(", "))
        }
        _ => "something external".into(),
    }
}

fn waker(source: &WakeSource) -> String {
    match source {
        WakeSource::TaskResult { task_id } => format!("the result of task `{task_id}`"),
        WakeSource::ExternalIngress { external_trigger_id: Some(id) } => format!("trigger `{id}`"),
        WakeSource::ExternalIngress { external_trigger_id: None } => "an external event".into(),
        WakeSource::Timer { timer_id: Some(id), .. } => format!("timer `{id}`"),
        WakeSource::Timer { wake_at, .. } => format!("the instant {wake_at}"),
        WakeSource::OperatorInput => "operator input".into(),
        WakeSource::SystemTick => "a tick of the runtime".into(),
    }
}

fn would_wake(state: &State, wakers: &[String], now: Timestamp) -> String {
    let mut on: Vec<_> = wakers.iter().map(|waker| format!("on {waker}")).collect();
    on.extend(obligation::next_wake(state, now).map(|at| format!("at {at}")));
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
