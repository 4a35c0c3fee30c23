//! The rules as data: an id, a guard of named atoms, a decision (contract 7.1, 7.2).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use crate::{
    id::Seq,
    ladder::{
        atom::{
            AGENT_WAITS_FOR_EXTERNAL, AT_SAFE_POINT, Atom, CURRENT_RUNNABLE,
            CURRENT_WAITS_FOR_EXTERNAL, HAS_HEAD, HAS_HINT, HAS_QUEUED, HAS_RUN, HAS_SYSTEM_WAIT,
            HAS_TIMER, HEAD_INTERJECTS, HEAD_IS_STALE, HEAD_IS_WORN_OUT, HEAD_REENTERS, IS_ASLEEP,
            IS_CLOSING, IS_NOT_ASLEEP, IS_STOPPED, NO_RUNNABLE_WORK, NOT_OVER_BUDGET, NOT_PARKED,
            NOTHING_HELD, QUEUE_HAS_MESSAGES, TURNS_ALLOWED, WAITS_FOR_OPERATOR, WAITS_FOR_TASK,
            WAITS_FOR_TIMER,
        },
        ruling::{Tick, Verdict},
        view::{HeadView, ItemView, KeyView, View},
    },
    record::{
        continuation::Class,
        decision::{Because, Boundary, DecisionKind, Ignored, IgnoredReason, ReasonCode},
        key::{Key, TickReason},
        text,
    },
    state::readiness::NAMED,
};

/// A rule of the ladder. The number before the point of its id is the row of contract 7.2.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The id, as in decisions.
    pub id: &'static str,
    /// The rule in a sentence.
    pub says: &'static str,
    /// The kind of decision that it makes.
    pub kind: DecisionKind,
    /// The atoms, all of which must hold.
    pub guard: &'static [Atom],
    keys: fn(&View) -> Vec<&KeyView>,
    pub(super) decide: fn(&View) -> Verdict,
}

/// The outcome of a rule for a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RuleOutcome {
    /// It is the first rule that holds.
    Fired,
    /// It holds, but a rule above it fired.
    Outranked,
    /// An atom of its guard is false.
    False {
        /// The first false atom.
        atom: &'static str,
    },
    /// Its guard holds, but all its keys are spent.
    Suppressed {
        /// The spent keys.
        keys: Vec<Spent>,
    },
}

/// A spent key, and the entry that spent it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spent {
    /// The key that is spent.
    pub key: Key,
    /// The entry that spent it.
    pub spent_by: Seq,
}

/// The outcome of one rule, as a line of an explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RuleTrace {
    /// The id of the rule.
    pub rule: &'static str,
    /// The rule in a sentence.
    pub says: &'static str,
    /// Its outcome for this view.
    #[serde(flatten)]
    pub outcome: RuleOutcome,
}

impl Rule {
    /// Evaluates the rule alone. [`RuleOutcome::Fired`] means that it would fire if no rule above
    /// did.
    #[must_use]
    pub fn evaluate(&self, view: &View) -> RuleOutcome {
        if let Some(atom) = self.guard.iter().find(|atom| !atom.holds(view)) {
            return RuleOutcome::False { atom: atom.name };
        }
        let keys = (self.keys)(view);
        let spent: Vec<_> = keys
            .iter()
            .filter_map(|key| Some(Spent { key: key.key.clone(), spent_by: key.spent_by? }))
            .collect();
        // A rule with several keys goes on with those that are unspent.
        if !keys.is_empty() && spent.len() == keys.len() {
            return RuleOutcome::Suppressed { keys: spent };
        }
        RuleOutcome::Fired
    }
}

const NO_KEYS: fn(&View) -> Vec<&KeyView> = |_| Vec::new();

pub(super) const STOPPED: Rule = Rule {
    id: "1.stopped",
    says: "a stopped agent does nothing until it is started",
    kind: DecisionKind::Stop,
    guard: &[IS_STOPPED],
    keys: NO_KEYS,
    decide: |view| Verdict {
        reason: "stopped".into(),
        evidence: Vec::from([status(view)]),
        because: because(ReasonCode::StopRequested, view.control_seq),
        ..Verdict::default()
    },
};

pub(super) const CLOSING: Rule = Rule {
    id: "1.closing",
    says: "after a shutdown nothing starts until the next restart",
    kind: DecisionKind::Stop,
    guard: &[IS_CLOSING],
    keys: NO_KEYS,
    decide: |view| Verdict {
        reason: "shutdown".into(),
        evidence: Vec::from([status(view)]),
        because: because(ReasonCode::ShutdownRequested, view.control_seq),
        ..Verdict::default()
    },
};

pub(super) const INTERJECTION: Rule = Rule {
    id: "2.interjection",
    says: "an operator interjection goes into the open run at a safe point",
    kind: DecisionKind::ReduceMessageOnly,
    guard: &[HAS_RUN, AT_SAFE_POINT, HEAD_INTERJECTS],
    keys: NO_KEYS,
    decide: |view| Verdict {
        reason: "operator_interjection".into(),
        evidence: Vec::from([active_run(view)]),
        because: [
            because(ReasonCode::RunOpen, view.run.as_ref().map(|run| run.seq)),
            because(ReasonCode::OperatorInterjection, view.head.as_ref().map(|head| head.seq)),
        ]
        .concat(),
        ..about_head(view)
    },
};

pub(super) const RUN_OPEN: Rule = Rule {
    id: "2.run_open",
    says: "nothing else starts while a run is open",
    kind: DecisionKind::Noop,
    guard: &[HAS_RUN],
    keys: NO_KEYS,
    decide: |view| {
        // The reference runtime names the queue first (`observed-decisions.md` 4.4), except at the
        // idle tick.
        let (reason, evidence) = match view.boundary {
            Boundary::IdleTick => ("turn_in_progress", Vec::from([active_run(view)])),
            _ if view.queue_len > 0 => {
                ("queue_not_empty", Vec::from([status(view), queue_len(view)]))
            }
            _ => ("turn_in_progress", Vec::from([status(view), queue_len(view)])),
        };
        Verdict {
            reason: reason.into(),
            evidence,
            because: because(ReasonCode::RunOpen, view.run.as_ref().map(|run| run.seq)),
            ..Verdict::default()
        }
    },
};

pub(crate) const STALE_TICK: Rule = Rule {
    id: "3.stale_tick",
    says: "a message of the core whose subject is gone is settled without the model",
    kind: DecisionKind::ReduceMessageOnly,
    guard: &[HAS_HEAD, HEAD_IS_STALE],
    keys: NO_KEYS,
    decide: |view| Verdict {
        because: [
            because(ReasonCode::QueueHead, view.head.as_ref().map(|head| head.seq)),
            because(ReasonCode::SubjectGone, view.head.as_ref().map(|head| head.seq)),
        ]
        .concat(),
        reason: "stale_tick".into(),
        ..head_verdict(view)
    },
};

pub(crate) const REPLAY_BUDGET: Rule = Rule {
    id: "3.replay_budget",
    says: "a message with too many interrupted runs is dropped, and its item is parked",
    kind: DecisionKind::ReduceMessageOnly,
    guard: &[HAS_HEAD, HEAD_IS_WORN_OUT],
    keys: NO_KEYS,
    decide: |view| Verdict {
        because: [
            because(ReasonCode::QueueHead, view.head.as_ref().map(|head| head.seq)),
            because(ReasonCode::InterruptedTooOften, view.head.as_ref().map(|head| head.seq)),
        ]
        .concat(),
        reason: "replay_budget".into(),
        ..head_verdict(view)
    },
};

pub(super) const HEAD_STARTS_TURN: Rule = Rule {
    id: "3.head_starts_turn",
    says: "the head of the queue starts a turn if its continuation re-enters the model",
    kind: DecisionKind::StartModelTurn,
    guard: &[HAS_HEAD, TURNS_ALLOWED, HEAD_REENTERS],
    keys: NO_KEYS,
    decide: |view| Verdict {
        model_reentry: true,
        because: [
            because(ReasonCode::QueueHead, view.head.as_ref().map(|head| head.seq)),
            because(ReasonCode::ContinuationReenters, view.head.as_ref().map(|head| head.seq)),
            view.head
                .iter()
                .filter(|head| head.by_reason_class)
                .flat_map(|head| because(ReasonCode::MatchedByReasonClass, Some(head.seq)))
                .collect(),
            because_all(
                ReasonCode::WaitSatisfied,
                view.head.as_ref().map_or(&[][..], |head| &head.satisfies),
            ),
        ]
        .concat(),
        ..head_verdict(view)
    },
};

pub(super) const HEAD_REDUCED: Rule = Rule {
    id: "3.head_reduced",
    says: "otherwise the head of the queue is settled without the model",
    kind: DecisionKind::ReduceMessageOnly,
    // contract 5.2: what starts no turn is settled here, so that the head never blocks.
    guard: &[HAS_HEAD],
    keys: NO_KEYS,
    decide: |view| Verdict {
        because: [
            because(ReasonCode::QueueHead, view.head.as_ref().map(|head| head.seq)),
            because(ReasonCode::ContinuationLivenessOnly, view.head.as_ref().map(|head| head.seq)),
        ]
        .concat(),
        ignored: view.head.as_ref().and_then(mismatched).into_iter().collect(),
        ..head_verdict(view)
    },
};

pub(super) const WAKE_HINT: Rule = Rule {
    id: "4.wake_hint",
    says: "a pending wake hint becomes a tick",
    kind: DecisionKind::EmitSystemTick,
    // contract 9.5: a hint is input from outside, so it also moves a parked agent.
    guard: &[NOT_OVER_BUDGET, HAS_HINT],
    keys: |view| view.hint.iter().map(|hint| &hint.key).collect(),
    decide: |view| {
        let key = view.hint.as_ref().map(|hint| &hint.key.key);
        Verdict {
            reason: "wake_hint".into(),
            model_reentry: true,
            evidence: tick_evidence("pending_wake_hint", key),
            because: because(ReasonCode::WakeHintPending, view.hint.as_ref().map(|hint| hint.seq)),
            tick: Some(Tick::WakeHint),
            ..Verdict::default()
        }
    },
};

pub(super) const CONTINUE_ACTIVE: Rule = Rule {
    id: "5.continue_active",
    says: "the item with the focus is offered to the model, once per epoch",
    kind: DecisionKind::EmitSystemTick,
    guard: &[NOT_PARKED, NOT_OVER_BUDGET, CURRENT_RUNNABLE],
    keys: |view| view.current.iter().map(|(item, _)| &item.key).collect(),
    decide: |view| Verdict {
        because: [
            because(ReasonCode::ItemHasFocus, view.current.as_ref().map(|current| current.1)),
            because(ReasonCode::ItemRunnable, view.current.as_ref().map(|current| current.0.seq)),
        ]
        .concat(),
        ..offer(TickReason::ContinueActive, view.current.as_ref().map(|current| &current.0))
    },
};

pub(super) const QUEUED_AVAILABLE: Rule = Rule {
    id: "6.queued_available",
    says: "the first other runnable item is offered to the model, once per epoch",
    kind: DecisionKind::EmitSystemTick,
    guard: &[NOT_PARKED, NOT_OVER_BUDGET, HAS_QUEUED],
    keys: |view| view.queued.iter().map(|item| &item.key).collect(),
    decide: |view| {
        // In the order of offers (contract 5.13), so the first unspent one goes.
        let item = view.queued.iter().find(|item| item.key.spent_by.is_none());
        Verdict {
            because: because(ReasonCode::ItemRunnable, item.map(|item| item.seq)),
            ..offer(TickReason::QueuedAvailable, item)
        }
    },
};

pub(super) const SYSTEM_WAIT: Rule = Rule {
    id: "7.system_wait",
    says: "a wait for the runtime itself gives one tick",
    kind: DecisionKind::EmitSystemTick,
    guard: &[NOT_PARKED, NOT_OVER_BUDGET, HAS_SYSTEM_WAIT],
    keys: |view| view.system_waits.iter().map(|wait| &wait.key).collect(),
    decide: |view| {
        let wait = view.system_waits.iter().find(|wait| wait.key.spent_by.is_none());
        Verdict {
            reason: "work_item_system_wait".into(),
            model_reentry: true,
            work_item_id: wait.and_then(|wait| wait.work_item_id.clone()),
            // contract 7.2: the reference runtime's string, even if another item waits.
            evidence: Vec::from(["current_work_item_scheduling_state=WaitingSystem".into()]),
            because: because(ReasonCode::ItemWaitsForSystem, wait.map(|wait| wait.seq)),
            tick: wait.map(|wait| Tick::SystemWait(wait.wait_condition_id.clone())),
            ..Verdict::default()
        }
    },
};

pub(super) const AGENT_EXTERNAL_WAIT: Rule = Rule {
    id: "8.agent_external_wait",
    says: "the agent itself waits for something external",
    kind: DecisionKind::WaitForExternalChange,
    guard: &[NO_RUNNABLE_WORK, AGENT_WAITS_FOR_EXTERNAL],
    keys: NO_KEYS,
    decide: |view| {
        let conditions = view.agent_waits.external.as_slice();
        // The reference runtime has only intents here, so conditions alone have a reason of our
        // own.
        if view.agent_intents.is_empty() {
            return agent_wait("agent_external_wait", conditions);
        }
        Verdict {
            reason: "active_agent_waiting_intents".into(),
            evidence: Vec::from([
                format!("active_waiting_intents={}", view.intents),
                format!("active_agent_waiting_intents={}", view.agent_intents.len),
            ]),
            because: [
                because_all(ReasonCode::AgentIntentsActive, &view.agent_intents.first),
                because_all(ReasonCode::AgentWaits, conditions),
            ]
            .concat(),
            ..Verdict::default()
        }
    },
};

pub(super) const TIMER_WAIT: Rule = Rule {
    id: "8.timer",
    says: "a timer is active",
    kind: DecisionKind::WaitForTimer,
    guard: &[NO_RUNNABLE_WORK, HAS_TIMER],
    keys: NO_KEYS,
    decide: |view| Verdict {
        reason: "active_timers".into(),
        evidence: Vec::from([format!("active_timers={}", view.timers.len)]),
        because: because_all(ReasonCode::TimersActive, &view.timers.first),
        ..Verdict::default()
    },
};

pub(super) const OPERATOR_WAIT: Rule = Rule {
    id: "8.operator",
    says: "the agent or the current item waits for the operator",
    kind: DecisionKind::WaitForOperator,
    guard: &[NO_RUNNABLE_WORK, WAITS_FOR_OPERATOR],
    keys: NO_KEYS,
    decide: |view| match view.agent_waits.operator.as_slice() {
        [] => item_wait(view, "work_item_needs_input", ReasonCode::ItemWaitsForOperator),
        conditions => agent_wait("agent_operator_wait", conditions),
    },
};

pub(super) const TASK_WAIT: Rule = Rule {
    id: "8.task",
    says: "the agent or the current item waits for a task",
    kind: DecisionKind::WaitForTask,
    guard: &[NO_RUNNABLE_WORK, WAITS_FOR_TASK],
    keys: NO_KEYS,
    decide: |view| match view.agent_waits.task.as_slice() {
        [] => item_wait(view, "work_item_task_wait", ReasonCode::ItemWaitsForTask),
        conditions => agent_wait("agent_task_wait", conditions),
    },
};

pub(super) const EXTERNAL_WAIT: Rule = Rule {
    id: "8.external",
    says: "the current item waits for something external",
    kind: DecisionKind::WaitForExternalChange,
    guard: &[NO_RUNNABLE_WORK, CURRENT_WAITS_FOR_EXTERNAL],
    keys: NO_KEYS,
    decide: |view| item_wait(view, "work_item_external_wait", ReasonCode::ItemWaitsForExternal),
};

pub(super) const ITEM_TIMER_WAIT: Rule = Rule {
    id: "8.item_timer",
    says: "the agent or the current item waits for an instant",
    kind: DecisionKind::WaitForTimer,
    guard: &[NO_RUNNABLE_WORK, WAITS_FOR_TIMER],
    keys: NO_KEYS,
    decide: |view| match view.agent_waits.timer.as_slice() {
        [] => item_wait(view, "work_item_timer_wait", ReasonCode::ItemWaitsForTimer),
        conditions => agent_wait("agent_timer_wait", conditions),
    },
};

pub(super) const QUEUE_NOT_EMPTY: Rule = Rule {
    id: "9.queue_not_empty",
    says: "an agent with waiting messages does not rest",
    kind: DecisionKind::Noop,
    // contract 7.2: no state of ours gets here, because a waiting message is a head. The rule holds
    // I19 if that ever breaks.
    guard: &[NOTHING_HELD, QUEUE_HAS_MESSAGES, IS_NOT_ASLEEP],
    keys: NO_KEYS,
    decide: |view| Verdict {
        reason: "queue_not_empty".into(),
        evidence: Vec::from([status(view), queue_len(view)]),
        ..Verdict::default()
    },
};

pub(super) const REST_STAY_IDLE: Rule = Rule {
    id: "9.stay_idle",
    says: "nothing is pending and the agent already rests",
    kind: DecisionKind::StayIdle,
    guard: &[IS_ASLEEP],
    keys: NO_KEYS,
    decide: |view| Verdict {
        reason: "already_asleep".into(),
        evidence: Vec::from([status(view), queue_len(view)]),
        because: at_rest(view),
        ..Verdict::default()
    },
};

/// D28: work whose keys are spent does not keep the agent awake.
pub(super) const REST_SLEEP: Rule = Rule {
    id: "9.sleep",
    says: "nothing is pending",
    kind: DecisionKind::Sleep,
    guard: &[],
    keys: NO_KEYS,
    decide: |view| Verdict {
        reason: "no_pending_scheduler_facts".into(),
        evidence: Vec::from([status(view), queue_len(view)]),
        because: at_rest(view),
        ..Verdict::default()
    },
};

fn because(code: ReasonCode, seq: Option<Seq>) -> Vec<Because> {
    Vec::from([Because { code, seqs: seq.into_iter().collect() }])
}

/// Why there is nothing to do: nothing is pending, or a budget holds back what is.
fn at_rest(view: &View) -> Vec<Because> {
    let nothing = because_all(ReasonCode::NothingPending, &[]);
    [nothing, because_all(ReasonCode::BudgetExhausted, &view.over_budget)].concat()
}

/// Typed evidence over several entries; empty if there are none, unless the reason is an absence.
fn because_all(code: ReasonCode, seqs: &[Seq]) -> Vec<Because> {
    if seqs.is_empty() && code != ReasonCode::NothingPending {
        return Vec::new();
    }
    Vec::from([Because { code, seqs: seqs.iter().copied().take(NAMED).collect() }])
}

fn status(view: &View) -> String {
    // The reference runtime prints Rust names here (`observed-decisions.md` 4.4).
    format!("status={:?}", view.status)
}

fn queue_len(view: &View) -> String {
    format!("queue_len={}", view.queue_len)
}

fn active_run(view: &View) -> String {
    let run_id = view.run.as_ref().and_then(|run| run.run_id.as_ref());
    format!("active_run_id={}", text::quoted(run_id))
}

fn about_head(view: &View) -> Verdict {
    let head = view.head.as_ref();
    Verdict {
        message_id: head.map(|head| head.message_id.clone()),
        work_item_id: head.and_then(|head| head.work_item_id.clone()),
        task_id: head.and_then(|head| head.task_id.clone()),
        ..Verdict::default()
    }
}

fn head_verdict(view: &View) -> Verdict {
    let kind = view.head.as_ref().map(|head| head.kind);
    let trigger = view.head.as_ref().and_then(|head| head.trigger_kind);
    let kind = kind.map_or_else(String::new, |kind| format!("{kind:?}"));
    let mut evidence =
        Vec::from([format!("message_kind={kind}"), format!("trigger_kind={trigger:?}")]);
    // Only conformance vectors get here: in a state rule 1 fires first (`observed-decisions.md`
    // 4.3.6).
    if !view.turns_allowed {
        evidence.push("model_turn_blocked_by_control_posture".into());
    }
    evidence.extend([queue_len(view), format!("turn_in_progress={}", view.run.is_some())]);
    Verdict { evidence, reason: kind, ..about_head(view) }
}

/// A trigger that met a wait and did not satisfy it (contract 5.18).
fn mismatched(head: &HeadView) -> Option<Ignored> {
    let resolution = head.resolution.as_ref()?;
    let missed =
        resolution.class == Class::LivenessOnly && resolution.prior_waiting_reason.is_some();
    (missed && !resolution.matched_waiting_reason).then(|| Ignored {
        what: head.message_id.to_string(),
        reason: IgnoredReason::MismatchedTrigger,
        seqs: Vec::from([head.seq]),
    })
}

fn tick_evidence(what: &str, key: Option<&Key>) -> Vec<String> {
    let key = key.map_or_else(String::new, ToString::to_string);
    Vec::from(["runtime_idle".into(), what.into(), format!("idempotency_key={key}")])
}

fn offer(reason: TickReason, item: Option<&ItemView>) -> Verdict {
    Verdict {
        reason: reason.to_string(),
        tick: item.map(|item| Tick::WorkItem(item.work_item_id.clone(), reason, item.key.offer)),
        model_reentry: true,
        work_item_id: item.map(|item| item.work_item_id.clone()),
        evidence: tick_evidence("work_item_runnable", item.map(|item| &item.key.key)),
        ..Verdict::default()
    }
}

/// A wait of the agent itself, by its conditions without an item.
fn agent_wait(reason: &str, conditions: &[Seq]) -> Verdict {
    Verdict {
        reason: reason.into(),
        evidence: Vec::from([format!("agent_wait_conditions={}", conditions.len())]),
        because: because_all(ReasonCode::AgentWaits, conditions),
        ..Verdict::default()
    }
}

fn item_wait(view: &View, reason: &str, code: ReasonCode) -> Verdict {
    let current = view.current.as_ref().map(|current| &current.0);
    let state = current.map_or_else(String::new, |item| format!("{:?}", item.state));
    let seqs: Vec<_> = current
        .map(|item| item.waits.iter().copied().take(NAMED - 1).chain([item.seq]).collect())
        .unwrap_or_default();
    Verdict {
        reason: reason.into(),
        work_item_id: current.map(|item| item.work_item_id.clone()),
        evidence: Vec::from([format!("current_work_item_scheduling_state={state}")]),
        because: because_all(code, &seqs),
        ..Verdict::default()
    }
}
