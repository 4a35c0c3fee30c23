//! Random sequences of what a host can do: report facts over a few ids, step, advance its clock,
//! restart. Proptest draws and shrinks them.

use std::fmt;

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};
use wakeful_core::{
    host::{Clock, Scheduler, SchedulerError},
    machine::Options,
    record::{decision::Boundary, edition::Edition},
    time::Timestamp,
};
use wakeful_host::{clock::VirtualClock, provider::Elsewhere};

use crate::watched::WatchedLedger;

/// One thing that a host does.
#[derive(Clone)]
pub enum Command {
    /// It reports a fact; `$run` is replaced by the id of the open run.
    Say(String),
    /// It steps at a boundary.
    Step(Boundary),
    /// It steps until rest.
    Run,
    /// Its clock advances by this number of milliseconds.
    Advance(u64),
    /// Its clock is set back by this number of milliseconds.
    SetBack(u64),
    /// Its process dies, and another one takes over the ledger.
    Restart,
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Say(fact) => write!(f, "say {fact}"),
            Self::Step(boundary) => write!(f, "step {boundary}"),
            Self::Run => f.write_str("run"),
            Self::Advance(ms) => write!(f, "advance {ms} ms"),
            Self::SetBack(ms) => write!(f, "set back {ms} ms"),
            Self::Restart => f.write_str("restart"),
        }
    }
}

/// A host that plays commands on a ledger that checks every batch.
pub struct Host {
    /// The ledger, which all processes of this host share.
    pub ledger: WatchedLedger,
    clock: VirtualClock,
    scheduler: Scheduler<WatchedLedger, VirtualClock, Elsewhere>,
    options: Options,
}

impl Host {
    /// A driver of a fresh ledger.
    ///
    /// # Panics
    /// Never: a fresh ledger in memory opens.
    #[must_use]
    pub fn new(edition: Edition) -> Self {
        let ledger = WatchedLedger::default();
        let clock = VirtualClock::at(Timestamp::from_nanos(1_780_000_000_000_000_000));
        let options = Options { edition, ..Options::new("default".into()) };
        let scheduler = drive(&options, &ledger, &clock);
        Self { ledger, clock, scheduler, options }
    }

    /// The scheduler of the current process.
    #[must_use]
    pub fn scheduler(&self) -> &Scheduler<WatchedLedger, VirtualClock, Elsewhere> {
        &self.scheduler
    }

    /// Plays a command.
    ///
    /// # Errors
    /// If the scheduler refuses the command. Drawn sequences contain no such command.
    pub fn play(&mut self, command: &Command) -> Result<(), SchedulerError> {
        match command {
            Command::Say(fact) => {
                let run = self
                    .scheduler
                    .state()
                    .turns()
                    .run
                    .as_ref()
                    .map_or("none", |run| run.run_id.as_str())
                    .to_owned();
                self.scheduler.propose(&fact.replace("$run", &run)).map(drop)
            }
            Command::Step(boundary) => self.scheduler.step(*boundary).map(drop),
            Command::Run => self.scheduler.run_until_rest().map(drop),
            Command::Advance(ms) => {
                let later = self.clock.now().plus_ms(*ms);
                self.clock.set(later);
                Ok(())
            }
            Command::SetBack(ms) => {
                let nanos = i64::try_from(*ms).unwrap_or(i64::MAX).saturating_mul(1_000_000);
                let earlier = self.clock.now().minus_nanos(nanos);
                self.clock.set(earlier);
                Ok(())
            }
            Command::Restart => {
                self.scheduler = drive(&self.options, &self.ledger, &self.clock);
                Ok(())
            }
        }
    }
}

fn drive(
    options: &Options,
    ledger: &WatchedLedger,
    clock: &VirtualClock,
) -> Scheduler<WatchedLedger, VirtualClock, Elsewhere> {
    Scheduler::drive(options.clone(), ledger.clone(), clock.clone(), Elsewhere)
        .expect("the ledger opens")
}

/// Sequences of fewer than `longest` commands, in any order. Ids repeat, so duplicates are common.
pub fn sequences(longest: usize) -> impl Strategy<Value = Vec<Command>> {
    vec(command(), 1..longest)
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        10 => fact().prop_map(|fact| Command::Say(fact.to_string())),
        4 => Just(Command::Run),
        2 => select(&BOUNDARIES[..]).prop_map(Command::Step),
        1 => select(&[1_u64, 1_000, 60_000][..]).prop_map(Command::Advance),
        1 => select(&[1_000_u64, 60_001, 7_200_000][..]).prop_map(Command::SetBack),
        1 => Just(Command::Restart),
    ]
}

const BOUNDARIES: [Boundary; 6] = [
    Boundary::RunLoop,
    Boundary::RunLoopIdle,
    Boundary::BeforeProviderContinuation,
    Boundary::AfterProviderRound,
    Boundary::BeforeToolExecution,
    Boundary::AfterToolResults,
];

fn id(prefix: &'static str) -> impl Strategy<Value = String> {
    (0..3_u8).prop_map(move |n| format!("{prefix}{n}"))
}

fn fact() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => message(),
        6 => turn(),
        4 => task(),
        5 => work_item(),
        5 => wait(),
        2 => timer(),
        2 => hint(),
        4 => ingress(),
        2 => budget(),
        3 => control(),
        2 => evidence(),
        1 => elsewhere(),
    ]
}

/// External triggers have the ids that waits and events name.
fn ingress() -> impl Strategy<Value = Value> {
    let hash = select(&["a", "b"][..]).prop_map(|digit| digit.repeat(64));
    let mode = select(&["wake_hint", "enqueue_message"][..]);
    let expires = select(&[None, Some(1_u64), Some(1_000), Some(60_000)][..]);
    let created = (id("e"), mode, prop::option::of(id("w")), any::<bool>(), expires).prop_map(|(id, mode, item, one_shot, expires)| {
        json!({"fact": "external_trigger_created", "external_trigger_id": id, "token_hash": "a".repeat(64), "description": "ci",
               "work_item_id": item, "delivery_mode": mode, "trust": "trusted_integration", "one_shot": one_shot, "expires_in_ms": expires})
    });
    let rotated = (id("e"), hash.clone())
        .prop_map(|(id, hash)| json!({"fact": "external_trigger_rotated", "external_trigger_id": id, "token_hash": hash}));
    let revoked = id("e")
        .prop_map(|id| json!({"fact": "external_trigger_revoked", "external_trigger_id": id}));
    let text = select(&[None, Some(""), Some("green")][..]);
    let delivered = (id("e"), hash, 0..6_u8, text).prop_map(|(id, hash, n, text)| {
        json!({"fact": "external_trigger_delivered", "external_trigger_id": id, "token_hash": hash, "delivery_id": format!("d{n}"),
               "content": text.map(|text| json!({"type": "text", "text": text}))})
    });
    prop_oneof![3 => created, 1 => rotated, 1 => revoked, 5 => delivered]
}

fn budget() -> impl Strategy<Value = Value> {
    let limit = || select(&[None, Some(1_u64), Some(100), Some(1_000_000)][..]);
    let set = (prop::option::of(id("w")), limit(), limit(), limit()).prop_map(|(item, day, total, cost)| {
        json!({"fact": "budget_set", "work_item_id": item, "tokens_per_day": day, "tokens_total": total,
               "cost_micros_per_day": cost})
    });
    let granted = (id("g"), prop::option::of(id("w")), 0..200_u64)
        .prop_map(|(id, item, tokens)| json!({"fact": "budget_granted", "grant_id": id, "work_item_id": item, "tokens": tokens}));
    let used = (select(&["$run", "$run", "stale"][..]), 0..4_u8, 0..90_u64).prop_map(|(run, round, tokens)| {
        json!({"fact": "provider_round_completed", "run_id": run, "round": round, "input_tokens": tokens, "output_tokens": 1,
               "cost_micros": tokens})
    });
    prop_oneof![2 => set, 1 => granted, 3 => used]
}

fn message() -> impl Strategy<Value = Value> {
    let sender = prop_oneof![
        Just(("operator_prompt", json!({"kind": "operator"}), "trusted_operator")),
        Just((
            "operator_prompt",
            json!({"kind": "channel", "channel_id": "ch"}),
            "untrusted_external"
        )),
        Just(("webhook_event", json!({"kind": "webhook", "source": "ci"}), "trusted_integration")),
        Just((
            "callback_event",
            json!({"kind": "callback", "descriptor_id": "e0"}),
            "trusted_integration"
        )),
        Just((
            "internal_followup",
            json!({"kind": "system", "subsystem": "host"}),
            "trusted_system"
        )),
        Just((
            "system_tick",
            json!({"kind": "system", "subsystem": "work_queue"}),
            "untrusted_external"
        )),
        Just(("task_status", json!({"kind": "task", "task_id": "t0"}), "trusted_system")),
        Just(("control", json!({"kind": "system", "subsystem": "host"}), "trusted_system")),
    ];
    let priority = select(&["interject", "next", "normal", "background"][..]);
    let text = select(&["", "hello"][..]);
    let plain = (0..8_u8, sender, priority, text, prop::option::of(id("w"))).prop_map(|(n, (kind, origin, trust), priority, text, item)| {
        json!({"fact": "message_queued", "message": {"id": format!("m{n}"), "kind": kind, "origin": origin, "trust": trust, "priority": priority,
               "work_item_id": item, "body": {"type": "text", "text": text}}})
    });
    let status = select(&["completed", "failed", "running", "weird"][..]);
    let result = (0..8_u8, id("t"), status, any::<bool>()).prop_map(|(n, task, status, whole)| {
        let metadata = if whole { json!({"task_id": task, "task_kind": "command_task", "task_status": status}) } else { json!({}) };
        json!({"fact": "message_queued", "message": {"id": format!("r{n}"), "kind": "task_result", "origin": {"kind": "task", "task_id": task},
               "trust": "trusted_system", "priority": "next", "body": {"type": "text", "text": "done"}, "metadata": metadata}})
    });
    let dropped =
        (0..8_u8).prop_map(|n| json!({"fact": "message_dropped", "message_id": format!("m{n}")}));
    prop_oneof![6 => plain, 2 => result, 1 => dropped]
}

fn turn() -> impl Strategy<Value = Value> {
    let kind = select(
        &[
            "completed",
            "completed",
            "aborted",
            "baseline_over_budget",
            "deferred_to_fallback",
            "provider_failed_needs_recovery",
        ][..],
    );
    prop_oneof![
        6 => kind.prop_map(|kind| json!({"fact": "turn_terminal", "run_id": "$run", "kind": kind})),
        1 => select(&["operator_aborted", "runtime_error"][..]).prop_map(|why| json!({"fact": "turn_aborted", "run_id": "$run", "reason": why})),
        1 => select(&["provider_round_completed", "tool_round_completed"][..]).prop_map(|fact| json!({"fact": fact, "run_id": "$run", "round": 1})),
        1 => Just(json!({"fact": "assistant_round_recorded", "run_id": "$run", "data": {}})),
        1 => Just(json!({"fact": "turn_baseline_over_budget", "run_id": "$run"})),
        1 => prop::collection::vec((0..8_u8).prop_map(|n| format!("m{n}")), 0..3)
            .prop_map(|ids| json!({"fact": "content_refused", "run_id": "$run", "message_ids": ids})),
        1 => Just(json!({"fact": "assistant_round_recorded", "run_id": "$run", "data": {},
                         "calls": [{"call_id": "c1", "tool_name": "ExecCommand"}, {"call_id": "c2", "tool_name": "ExecCommand"}]})),
        1 => Just(json!({"fact": "tool_execution_recorded", "run_id": "$run", "tool_execution_id": "y", "tool_name": "ExecCommand",
                         "status": "success", "input": {}, "output": {}, "summary": "s", "call_id": "c1"})),
        1 => Just(json!({"fact": "turn_terminal", "run_id": "stale", "kind": "completed"})),
        1 => Just(json!({"fact": "tool_execution_recorded", "run_id": "$run", "tool_execution_id": "x", "tool_name": "ExecCommand",
                         "status": "success", "input": {}, "output": {}, "summary": "s"})),
    ]
}

fn task() -> impl Strategy<Value = Value> {
    let status = select(
        &[
            "created",
            "running",
            "cancelling",
            "completed",
            "failed",
            "cancelled",
            "interrupted",
            "result_queued",
            "result_delivered",
        ][..],
    );
    let policy = select(&["blocking", "background"][..]);
    (status, id("t"), prop::option::of(id("w")), policy).prop_map(|(status, task, item, policy)| match status {
        "result_queued" | "result_delivered" => json!({"fact": format!("task_{status}"), "task_id": task}),
        _ => json!({"fact": format!("task_{status}"), "task_id": task, "task_kind": "command_task", "work_item_id": item,
                    "detail": {"wait_policy": policy}}),
    })
}

fn work_item() -> impl Strategy<Value = Value> {
    let plan = select(&["draft", "ready", "needs_input"][..]);
    prop_oneof![
        3 => id("w").prop_map(|id| json!({"fact": "work_item_created", "work_item_id": id, "objective": "o"})),
        2 => id("w").prop_map(|id| json!({"fact": "work_item_picked", "work_item_id": id})),
        1 => (id("w"), plan).prop_map(|(id, plan)| json!({"fact": "work_item_updated", "work_item_id": id, "plan_status": plan})),
        1 => id("w").prop_map(|id| json!({"fact": "work_item_blocked", "work_item_id": id, "blocked_by": "b"})),
        1 => id("w").prop_map(|id| json!({"fact": "work_item_unblocked", "work_item_id": id})),
        1 => id("w").prop_map(|id| json!({"fact": "work_item_completed", "work_item_id": id})),
        1 => id("w").prop_map(|id| json!({"fact": "work_item_delegated", "delegation_id": "d", "work_item_id": id, "child_agent_id": "child"})),
        1 => Just(json!({"fact": "work_item_delegation_completed", "delegation_id": "d"})),
    ]
}

fn wait() -> impl Strategy<Value = Value> {
    let kind = select(&["task", "external", "operator", "timer", "system"][..]);
    let source = prop_oneof![
        id("t").prop_map(|task| json!({"kind": "task_result", "task_id": task})),
        Just(json!({"kind": "external_ingress", "external_trigger_id": "e0"})),
        Just(json!({"kind": "external_ingress"})),
        id("k").prop_map(
            |timer| json!({"kind": "timer", "wake_at": "2026-06-01T00:00:00Z", "timer_id": timer})
        ),
        Just(json!({"kind": "operator_input"})),
        Just(json!({"kind": "system_tick"})),
    ];
    let registered = (0..6_u8, prop::option::of(id("w")), kind, source).prop_map(|(n, item, kind, source)| {
        json!({"fact": "wait_condition_registered", "wait_condition_id": format!("c{n}"), "work_item_id": item, "kind": kind,
               "waiting_for": "it", "wake_sources": [source]})
    });
    let how = select(&["resolved", "cancelled", "expired"][..]);
    let ended = (how, 0..6_u8).prop_map(|(how, n)| json!({"fact": format!("wait_condition_{how}"), "wait_condition_id": format!("c{n}")}));
    let scope = select(&["agent", "work_item"][..]);
    let intent = (id("i"), scope, prop::option::of(id("w")), id("e")).prop_map(|(id, scope, item, trigger)| {
        json!({"fact": "waiting_intent_created", "waiting_intent_id": id, "scope": scope, "work_item_id": item, "description": "d",
               "source": "ci", "delivery_mode": "wake_hint", "external_trigger_id": trigger})
    });
    let what = select(&["triggered", "cancelled"][..]);
    let moved = (what, id("i")).prop_map(
        |(what, id)| json!({"fact": format!("waiting_intent_{what}"), "waiting_intent_id": id}),
    );
    prop_oneof![3 => registered, 1 => ended, 2 => intent, 1 => moved]
}

fn timer() -> impl Strategy<Value = Value> {
    let interval = prop::option::of(Just(1_000_u64));
    prop_oneof![
        2 => (id("k"), interval).prop_map(|(id, every)| json!({"fact": "timer_created", "timer_id": id, "duration_ms": 500, "interval_ms": every})),
        1 => id("k").prop_map(|id| json!({"fact": "timer_cancelled", "timer_id": id})),
    ]
}

fn hint() -> impl Strategy<Value = Value> {
    let body = prop::option::of(Just(json!({"type": "text", "text": "news"})));
    (prop::option::of(id("i")), body).prop_map(|(intent, body)| {
        json!({"fact": "wake_hint_submitted", "reason": "look", "source": "ci", "waiting_intent_id": intent, "body": body})
    })
}

fn control() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(json!({"fact": "start_requested"})),
        1 => Just(json!({"fact": "stop_requested"})),
        1 => Just(json!({"fact": "shutdown_requested"})),
        1 => prop::option::of(select(&[1_u64, 60_000][..]))
            .prop_map(|elapsed| json!({"fact": "clock_corrected", "elapsed_ms": elapsed})),
        1 => Just(json!({"fact": "runtime_restarted"})),
        1 => (1..5_u8).prop_map(|burst| json!({"fact": "policy_set", "policy": {"lane_burst": burst}})),
        1 => Just(json!({"fact": "policy_set", "policy": {"terminal_reentry": "awaited"}})),
        1 => select(&["m1", "m2"][..]).prop_map(|model| json!({"fact": "agent_described", "kind": "named", "visibility": "public",
                                                               "ownership": "self_owned", "model": model})),
    ]
}

fn evidence() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"fact": "brief_recorded", "brief_id": "b", "kind": "result", "text": "t"})),
        Just(json!({"fact": "runtime_error", "error": "e"})),
        prop::option::of(id("w")).prop_map(|item| json!({"fact": "owner_breach_reported", "work_item_id": item, "reason": "r"})),
        prop::option::of(0..9_u64).prop_map(|epoch| json!({"fact": "context_compacted", "compacted_message_count": 3, "context_summary": "so far so good", "compression_epoch": epoch})),
        Just(json!({"fact": "checkpoint_recorded", "anchor_generation": 9, "data": {}})),
        Just(json!({"fact": "transcript_appended", "data": {}})),
    ]
}

/// Facts that only an observer accepts: a driver decides them itself.
fn elsewhere() -> impl Strategy<Value = Value> {
    let message = select(&["dequeued", "processed", "aborted", "interjected"][..]);
    let timer = select(&["fired", "completed"][..]);
    let hint = select(&["coalesced", "ignored"][..]);
    prop_oneof![
        (message, 0..8_u8).prop_map(|(what, n)| json!({"fact": format!("message_{what}"), "message_id": format!("m{n}")})),
        (0..8_u8).prop_map(|n| json!({"fact": "turn_started", "run_id": "elsewhere", "message_id": format!("m{n}")})),
        (timer, id("k")).prop_map(|(what, id)| json!({"fact": format!("timer_{what}"), "timer_id": id})),
        hint.prop_map(|what| json!({"fact": format!("wake_hint_{what}"), "reason": "look", "source": "ci"})),
    ]
}
