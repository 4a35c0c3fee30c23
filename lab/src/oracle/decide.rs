//! Operation `decide`: a projection, a boundary and one input in, a decision out.
//!
//! The kind of the input selects a question of the reference runtime. `message` is about the head.
//! `wake_hint`, `continue_active` and `queued_available` are about one tick each. `idle` is about
//! what remains if there was no tick. The product's rules of the matching rows answer, over a view
//! that is made from the projection. The projection may be inconsistent.

use crate::oracle::asked::{IDLE_ROWS, Ladder, MESSAGE_ROWS, REST_ROW, Said, WAIT_ROWS};
use wakeful_core::{
    id::{RunId, Seq, WorkItemId},
    ladder::{
        View,
        view::{HeadView, HintView, ItemView, KeyView, RunView, SystemWaitView},
    },
    record::{
        continuation::Resolution,
        control::{AgentStatus, WakeHint},
        decision::{Boundary, Decision, DecisionKind},
        edition::Edition,
        key::{Epoch, Key, TickReason},
        queue::{envelope::Priority, message::MessageRecord},
        work::WorkItemRecord,
    },
    state::{
        control,
        readiness::{ByKind, SchedulingState, Several},
    },
    time::Timestamp,
};
use wakeful_json::{self as json, JsonError, RawJson, Readable};

#[derive(Readable)]
struct Input {
    projection: Projection,
    boundary: Boundary,
    input: RawJson,
}

#[derive(Readable)]
struct Projection {
    status: AgentStatus,
    queue_len: u64,
    active_run_id: Option<RunId>,
    current_work_item: Option<WorkItemRecord>,
    current_work_item_scheduling_state: Option<SchedulingState>,
    queued_runnable_work_items: Vec<WorkItemRecord>,
    active_waiting_intents: usize,
    active_agent_waiting_intents: usize,
    active_timers: usize,
    turn_in_progress: bool,
}

#[derive(Readable)]
struct Kind {
    #[serde(rename = "type")]
    name: String,
}

#[derive(Readable)]
struct MessageInput {
    message: MessageRecord,
    model_turn_allowed: bool,
    continuation_resolution: Option<Resolution>,
}

#[derive(Readable)]
struct HintInput {
    pending: PendingHint,
    duplicate: Option<Duplicate>,
}

/// The pending hint of the reference runtime. The instant at which it was recorded is in its key.
#[derive(Readable)]
struct PendingHint {
    created_at: Timestamp,
    reason: String,
    source: Option<String>,
    waiting_intent_id: Option<wakeful_core::id::WaitingIntentId>,
    external_trigger_id: Option<wakeful_core::id::ExternalTriggerId>,
}

#[derive(Readable)]
struct ItemInput {
    work_item: WorkItemRecord,
    duplicate: Option<Duplicate>,
}

#[derive(Readable)]
struct Duplicate {
    kind: String,
    id: String,
}

pub(super) fn answer(input: &str, without: Option<&str>) -> Result<String, JsonError> {
    let ladder = Ladder { without };
    let Input { projection, boundary, input } = json::read(input)?;
    let kind: Kind = input.read()?;
    let view = view_of(&projection, boundary);
    let decision = match kind.name.as_str() {
        "message" => ladder.message(view, input.read()?),
        "wake_hint" => ladder.hint(view, input.read()?),
        "continue_active" => ladder.item(view, input.read()?, TickReason::ContinueActive),
        "queued_available" => ladder.item(view, input.read()?, TickReason::QueuedAvailable),
        _ => ladder.asked(IDLE_ROWS, &view),
    };
    let decision = decision
        .ok_or_else(|| JsonError::at_field("input.type", "no rule for this input can fire"))?;
    Ok(json::write(&Said::from_decision(decision).at(Some(&boundary.to_string()))))
}

impl Ladder<'_> {
    fn message(&self, mut view: View, input: MessageInput) -> Option<Decision> {
        let message = input.message;
        view.turns_allowed = input.model_turn_allowed;
        view.head = Some(HeadView {
            message_id: message.id.clone(),
            seq: Seq(0),
            kind: message.kind,
            trigger_kind: message.trigger_kind,
            work_item_id: message.work_item_id.clone(),
            task_id: message.task_id.clone(),
            resolution: input.continuation_resolution,
            satisfies: Vec::new(),
            by_reason_class: false,
            is_interjection: message.priority == Priority::Interject && message.is_operator_input(),
            is_stale: false,
            is_worn_out: false,
        });
        self.asked(MESSAGE_ROWS, &view)
    }

    fn hint(&self, mut view: View, input: HintInput) -> Option<Decision> {
        let PendingHint { created_at, reason, source, waiting_intent_id, external_trigger_id } =
            input.pending;
        let hint = WakeHint {
            reason,
            description: None,
            source,
            scope: None,
            waiting_intent_id,
            external_trigger_id,
            delivery_id: None,
            resource: None,
            body: None,
            content_type: None,
            correlation_id: None,
            causation_id: None,
        };
        let pending = control::PendingHint {
            seq: Seq(0),
            created_at: Some(created_at),
            hint,
            coalesced: control::Coalesced::default(),
            deliveries: 0,
        };
        let key = Key::hint(&pending.hint, pending.generation());
        let duplicate = input.duplicate.filter(|duplicate| duplicate.kind == "wake_hint_message");
        let evidence = vec![
            "duplicate_wake_hint_suppressed".to_string(),
            named("message_id", &duplicate),
            format!("idempotency_key={key}"),
        ];
        view.hint =
            Some(HintView { seq: Seq(0), key: KeyView::new(key, duplicate.map(|_| Seq(0))) });
        self.tick(
            &view,
            "4.",
            Suppressed { reason: "duplicate_wake_hint", work_item_id: None, evidence },
        )
    }

    fn item(&self, view: View, input: ItemInput, reason: TickReason) -> Option<Decision> {
        // The reference runtime asks for waits only without runnable work (`observed-decisions.md`
        // 4.6.5).
        let has_runnable =
            !view.queued.is_empty() || view.current_state() == Some(SchedulingState::Runnable);
        if !has_runnable && let Some(mut decision) = self.asked(WAIT_ROWS, &at_tick(&view)) {
            if decision.rule.starts_with("7.") || decision.rule.starts_with("8.") {
                // The reference runtime notes that the wait suppressed a tick.
                decision.evidence.push("work_queue_tick_blocked_by_wait_fact".to_string());
            }
            return Some(decision);
        }
        let (row, kind, suppressed, names_duplicate) = match reason {
            TickReason::ContinueActive => {
                ("5.", "continue_active_brief", "duplicate_continue_active", "result_brief_id")
            }
            TickReason::QueuedAvailable => {
                ("6.", "queued_available_message", "duplicate_queued_available", "message_id")
            }
        };
        // A duplicate of another kind does not count there (`observed-decisions.md` 4.6.5).
        let duplicate = input.duplicate.filter(|given| given.kind == kind);
        let evidence =
            vec!["duplicate_tick_suppressed".to_string(), named(names_duplicate, &duplicate)];
        let item =
            item_view(&input.work_item, SchedulingState::Runnable, reason, duplicate.is_some());
        let mut view = view;
        // The item of the question need not be in the projection, so the view has it alone.
        match reason {
            TickReason::ContinueActive => {
                (view.current, view.queued) = (Some((item, Seq(0))), Vec::new())
            }
            TickReason::QueuedAvailable => (view.current, view.queued) = (None, vec![item]),
        }
        self.tick(
            &view,
            row,
            Suppressed { reason: suppressed, work_item_id: Some(input.work_item.id), evidence },
        )
    }

    /// The decision of the rules above a tick, or of the tick's own rule. If that rule is
    /// suppressed, it is the decision that the reference runtime records for that.
    fn tick(&self, view: &View, row: &str, suppressed: Suppressed) -> Option<Decision> {
        let view = at_tick(view);
        self.asked(&["1.", "2.", row], &view).or_else(|| {
            let stand_in = self.asked(REST_ROW, &view)?;
            Some(Decision {
                kind: DecisionKind::Noop,
                reason: suppressed.reason.to_string(),
                work_item_id: suppressed.work_item_id,
                evidence: suppressed.evidence,
                ..stand_in
            })
        })
    }
}

fn named(name: &str, duplicate: &Option<Duplicate>) -> String {
    format!("{name}={}", duplicate.as_ref().map_or("", |duplicate| &duplicate.id))
}

/// What the reference runtime records if a spent key suppresses a tick. In our ladder the next rule
/// is asked then (D5). Here the rule is asked alone, so its suppression becomes a decision.
struct Suppressed {
    reason: &'static str,
    work_item_id: Option<WorkItemId>,
    evidence: Vec<String>,
}

/// The view at the boundary of ticks, whichever boundary the vector names.
fn at_tick(view: &View) -> View {
    View { boundary: Boundary::IdleTick, ..view.clone() }
}

fn item_view(
    record: &WorkItemRecord,
    state: SchedulingState,
    reason: TickReason,
    spent: bool,
) -> ItemView {
    let epoch = Epoch { revision: record.revision, moved: 0 };
    let key = KeyView::new(Key::work(reason, &record.id, epoch), spent.then_some(Seq(0)));
    ItemView { work_item_id: record.id.clone(), seq: Seq(0), state, waits: Vec::new(), key }
}

/// This number of things, whose entries a projection does not name.
fn several(len: usize) -> Several {
    Several::new(len, &mut std::iter::repeat_n(Seq(0), len))
}

/// The view of a projection. At the idle boundary every tick was already suppressed, so every key
/// counts as spent.
fn view_of(projection: &Projection, boundary: Boundary) -> View {
    let state = projection.current_work_item_scheduling_state;
    let current = projection.current_work_item.as_ref().zip(state);
    let waits_for_system = current.filter(|(_, state)| *state == SchedulingState::WaitingSystem);
    View {
        is_parked: false,
        over_budget: Vec::new(),
        is_exhausted: false,
        boundary,
        status: projection.status,
        control_seq: None,
        closing: false,
        turns_allowed: true,
        queue_len: projection.queue_len,
        run: projection
            .turn_in_progress
            .then(|| RunView { run_id: projection.active_run_id.clone(), seq: Seq(0) }),
        head: None,
        hint: None,
        current: current.map(|(item, state)| {
            (item_view(item, state, TickReason::ContinueActive, true), Seq(0))
        }),
        queued: projection
            .queued_runnable_work_items
            .iter()
            .map(|item| {
                item_view(item, SchedulingState::Runnable, TickReason::QueuedAvailable, true)
            })
            .collect(),
        system_waits: waits_for_system
            .map(|(item, _)| SystemWaitView {
                // A projection does not name the condition, and no answer has its id.
                wait_condition_id: item.id.as_str().into(),
                seq: Seq(0),
                work_item_id: Some(item.id.clone()),
                key: KeyView::new(Key::system_wait(&item.id.as_str().into()), None),
            })
            .into_iter()
            .collect(),
        intents: projection.active_waiting_intents,
        agent_intents: several(projection.active_agent_waiting_intents),
        timers: several(projection.active_timers),
        // The reference runtime has no waits of the agent itself (`observed-decisions.md` 3.2.5).
        agent_waits: ByKind::default(),
        work_before_waits: Edition::default().work_before_waits(),
    }
}
