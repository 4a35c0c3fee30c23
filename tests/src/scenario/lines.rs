//! The lines in which a scenario shows a state, an effect, a decision or a record.

use std::fmt::Write as _;

use wakeful_core::{
    derive::{closure, obligation::Obligation, posture, work_queue::WorkQueue},
    explain::diagnose,
    json,
    ladder::owed,
    record::{
        Record,
        decision::Decision,
        effect::{Effect, UnknownCall},
        event::EventKind,
    },
    state::State,
};

/// A reading of the state, one line for each thing in it; `None` if there is no reading with that
/// name.
pub(super) fn part(state: &State, name: &str) -> Option<String> {
    let lines: Vec<String> = match name {
        "closure" => {
            let found = closure::decide(&closure::Facts::from_state(state));
            let reason =
                found.waiting_reason.map_or_else(String::new, |reason| format!(" {reason}"));
            vec![format!("{}{reason}", found.outcome)]
        }
        "context" => {
            let context = state.context();
            let checkpoint = context.valid_checkpoint().map_or_else(
                || "none that is valid".to_owned(),
                |seq| format!("the one of entry {seq}"),
            );
            vec![
                format!(
                    "compacted {} times, {} messages",
                    context.compression_epoch, context.compacted_message_count
                ),
                format!("anchor {}, checkpoint: {checkpoint}", context.anchor),
                format!("{} tool calls", context.tool_executions),
            ]
        }
        "deferred" => state
            .queue()
            .deferred
            .iter()
            .map(|message| format!("deferred {}", message.id))
            .collect(),
        "diagnostics" => {
            let mut all: Vec<_> =
                diagnose::all(state).iter().map(|found| format!("{}", found.kind)).collect();
            all.sort();
            all
        }
        "focus" => state
            .work()
            .focus
            .iter()
            .map(|focus| format!("focus on {}", focus.work_item_id))
            .collect(),
        "items" => WorkQueue::new(state)
            .candidates
            .iter()
            .map(|of| format!("{} {}", of.id(), of.state))
            .collect(),
        "owed" => owed::all(state).iter().map(owed).collect(),
        "posture" => {
            let posture = posture::posture(state);
            vec![format!("{}: {}", posture.posture, posture.reason)]
        }
        "queue" => state
            .queue()
            .waiting()
            .map(|held| format!("{} waits in lane {}", held.record.id, held.record.priority))
            .collect(),
        "waits" => {
            let waiting = state.waiting();
            let intents = waiting.intents.keys().map(|id| format!("intent {id}"));
            let own = waiting.conditions.values().filter(|wait| !wait.record.is_mirror());
            let conditions =
                own.map(|wait| format!("condition {} for {}", wait.record.id, wait.record.kind));
            intents
                .chain(conditions)
                .chain(waiting.timers.keys().map(|id| format!("timer {id}")))
                .collect()
        }
        _ => vec![message(state, name.strip_prefix("message ")?)?],
    };
    let nothing = match name {
        "deferred" => "nothing is deferred\n".to_owned(),
        "owed" => "nothing is owed\n".to_owned(),
        "queue" => "no message waits\n".to_owned(),
        _ => format!("no {name}\n"),
    };
    Some(if lines.is_empty() { nothing } else { lines.join("\n") + "\n" })
}

/// The text and the origin of a message that is not settled; `None` if there is no such message.
fn message(state: &State, id: &str) -> Option<String> {
    let record = &state.queue().message(&id.into())?.record;
    let refs: String =
        record.source_refs.iter().map(|(name, id)| format!(" {name}={id}")).collect();
    let note =
        record.metadata.as_ref().map_or_else(String::new, |note| format!("\n{}", note.as_str()));
    let thread = |name: &str, id: &Option<String>| {
        id.as_ref().map_or_else(String::new, |id| format!(" {name}={id}"))
    };
    let threads =
        thread("correlation", &record.correlation_id) + &thread("causation", &record.causation_id);
    Some(format!("{} says `{}`{refs}{threads}{note}", record.kind, record.body.as_text()))
}

fn owed(owed: &Obligation) -> String {
    let at = owed.enabled_at.map_or_else(String::new, |at| format!(" at {at}"));
    let held = owed.held_by.as_ref().map_or_else(String::new, |rule| format!(" held by {rule}"));
    format!("owes {} {}{at}{held}", owed.kind, owed.id)
}

/// Effects, a line for each.
pub(super) fn effects(effects: &[Effect]) -> String {
    let mut out = String::new();
    for effect in effects {
        let _ = match effect {
            Effect::StartTurn(request) => {
                let item = request.work_item.as_ref().map_or_else(String::new, |item| {
                    format!(" about {} at epoch {}", item.work_item_id, item.epoch)
                });
                let after = request
                    .interrupted_runs
                    .iter()
                    .map(|run| format!(" after {run}"))
                    .collect::<String>();
                let listing = request
                    .deferred
                    .iter()
                    .map(|told| {
                        let of = told.body_bytes.map_or_else(String::new, |of| {
                            format!(" ({} of {of} bytes)", told.message.body.bytes())
                        });
                        format!(" listing {}{of}", told.message.id)
                    })
                    .collect::<String>();
                let later = match request.deferred_later {
                    0 => String::new(),
                    later => format!(" and {later} later"),
                };
                let unknown = request.unknown_calls.iter().map(unknown_call).collect::<String>();
                let waits = request
                    .operator_waits
                    .iter()
                    .map(|wait| format!(" beside `{}`", wait.waiting_for))
                    .collect::<String>();
                writeln!(
                    out,
                    "effect start_turn {}{item}{after}{unknown}{listing}{later}{waits}",
                    request.run_id
                )
            }
            Effect::Interject { run_id, message_id } => {
                writeln!(out, "effect interject {message_id} into {run_id}")
            }
            Effect::YieldTurn { run_id } => writeln!(out, "effect yield_turn {run_id}"),
            Effect::AbortTurn { run_id, reason } => {
                writeln!(out, "effect abort_turn {run_id} {reason}")
            }
            Effect::Release => writeln!(out, "effect release"),
        };
    }
    out
}

fn unknown_call(call: &UnknownCall) -> String {
    match (&call.call_id, &call.tool_name) {
        (Some(id), Some(tool)) => format!(" unknown {id}:{tool}"),
        _ => format!(" unknown round {}", call.seq),
    }
}

/// A decision, in one line.
pub(super) fn decision(decision: &Decision) -> String {
    let message =
        decision.message_id.as_ref().map_or_else(String::new, |id| format!(" message={id}"));
    let item = decision.work_item_id.as_ref().map_or_else(String::new, |id| format!(" item={id}"));
    let ignored: String =
        decision.ignored.iter().map(|ignored| format!(" ignored={}", ignored.what)).collect();
    format!(
        "{:?} {} rule={}{message}{item}{ignored}",
        decision.kind, decision.reason, decision.rule
    )
}

/// A record, in one line.
pub(super) fn summary(record: &Record) -> String {
    match record {
        Record::Message(record) => format!("{} {}", record.id, record.kind),
        Record::QueueEntry(record) => {
            let reason =
                record.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
            format!("{} {}{reason}", record.message_id, record.status)
        }
        Record::Event(record) => {
            let data = record.data().map_or("", |data| data.as_str());
            let diagnosed =
                || Some(format!(" {}", record.data()?.field("kind")?.read::<String>().ok()?));
            let detail = match json::read::<Decision>(data) {
                Ok(made) => format!(" {}", decision(&made)),
                Err(_) if record.kind == EventKind::SchedulerDiagnostic.as_str() => {
                    diagnosed().unwrap_or_default()
                }
                Err(_) => String::new(),
            };
            format!("{}{detail}", record.kind)
        }
        Record::Transcript(_) => "said".to_owned(),
        Record::Task(record) => format!("{} {}", record.id, record.status),
        Record::WorkItem(record) => {
            format!("{} {} revision {}", record.id, record.state, record.revision)
        }
        Record::WaitingIntent(record) => {
            format!("{} {} triggered {}", record.id, record.status, record.trigger_count)
        }
        Record::WaitCondition(record) => format!("{} {}", record.id, record.status),
        Record::Timer(record) => {
            let next = record.next_fire_at.map_or_else(String::new, |at| format!(" fires at {at}"));
            format!("{} {}{next}", record.id, record.status)
        }
        Record::ExternalTrigger(record) => format!(
            "{} {} deliveries {}",
            record.external_trigger_id, record.status, record.delivery_count
        ),
        Record::Tool(record) => format!("{} {}", record.id, record.tool_name),
        Record::Brief(record) => format!("{} {}", record.id, record.kind),
        Record::Turn(record) => {
            let kind = record.kind.map_or_else(String::new, |kind| format!(" {kind}"));
            format!("{} {}{kind}", record.run_id, record.status)
        }
        Record::Control(record) => record.name().to_owned(),
        Record::Carried(record) => record.of_class.clone(),
    }
}
