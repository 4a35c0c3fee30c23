//! Continuation: what the message at the head of the queue means under the closure before it
//! (contract 5.15, 6.3).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use wakeful_json::{Readable, sort::sort_by};

use crate::{
    derive::{
        closure::{self, Closure},
        table::{self, Row},
    },
    id::{ExternalTriggerId, Seq, WaitConditionId, WaitingIntentId, WorkItemId},
    record::{
        Record,
        continuation::{Class, ClosureOutcome, Resolution, WaitingReason},
        queue::{
            message::{MessageRecord, TriggerKind},
            note::{DeadlineNote, NoteKey},
        },
        task::TaskWaitPolicy,
        waiting::{EndedBy, WaitConditionKind, WaitConditionRecord},
        work::WorkItemPlanStatus,
    },
    state::{
        State,
        lists::by_id,
        queue::lanes::Held,
        trigger::{Names, Trigger},
        waiting::Active,
    },
    time::Timestamp,
};

/// The active waits that a trigger ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Satisfied {
    /// Waiting intents.
    pub intents: Vec<WaitingIntentId>,
    /// Wait conditions, by id. The mirror of an intent is not listed, because it follows its intent.
    pub conditions: Vec<WaitConditionId>,
    /// The entries of waits that end without a record: a timer that fired, an item that needs
    /// input.
    pub others: Vec<Seq>,
}

impl Satisfied {
    fn is_empty(&self) -> bool {
        self.intents.is_empty() && self.conditions.is_empty() && self.others.is_empty()
    }

    /// The entries of all these waits.
    #[must_use]
    pub fn seqs(&self, state: &State) -> Vec<Seq> {
        let waiting = &state.waiting;
        let intents =
            self.intents.iter().filter_map(|id| waiting.intents.get(id).map(|wait| wait.seq));
        let conditions =
            self.conditions.iter().filter_map(|id| waiting.conditions.get(id).map(|wait| wait.seq));
        intents.chain(conditions).chain(self.others.iter().copied()).collect()
    }

    /// The records that consume the waits in the batch that admits the turn of this message
    /// (contract 5.16).
    #[must_use]
    pub(crate) fn records(
        &self,
        state: &State,
        message: &MessageRecord,
        at: Timestamp,
    ) -> Vec<Record> {
        let waiting = &state.waiting;
        let by = ended_by(message);
        let intents = self.intents.iter().filter_map(|id| waiting.intents.get(id));
        let intents = intents.flat_map(|intent| {
            // contract 15.6: a standing intent ends with its trigger, after the last delivery.
            let trigger = &intent.record.external_trigger_id;
            let is_last = state.has_run_dry(trigger, Some(&message.id));
            intent.record.satisfied(by, is_last, at)
        });
        let conditions =
            self.conditions.iter().filter_map(|id| waiting.condition_satisfied(id, by, at));
        intents.chain(conditions).collect()
    }
}

/// The active waits that a trigger meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It names active waits that it can end.
    ById(Satisfied),
    /// It names ids, but none of an active wait that it can end.
    Mismatch,
    /// It names no id. The closure's reason decides, and external waits without an id end.
    Nameless(Satisfied),
}

/// A resolution, and the waits that the turn consumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Met {
    /// How the message met the closure.
    pub resolution: Resolution,
    /// The waits; empty if the message does not re-enter the model.
    pub satisfied: Satisfied,
    /// Whether it names no id and only the closure's reason matched (contract 5.15).
    pub by_reason_class: bool,
}

/// How the message at the head of the queue meets the closure; `None` if its kind triggers nothing.
#[must_use]
pub fn resolve(state: &State, held: &Held) -> Option<Met> {
    let message = &held.record;
    // contract 6.3: a replay re-enters as it first did. The waits that it ended then have ended.
    if let Some(first) = state.queue.resolution(&message.id) {
        return Some(Met {
            resolution: first.clone(),
            satisfied: Satisfied::default(),
            by_reason_class: false,
        });
    }
    let trigger = Trigger::from_held(state, held)?;
    let prior = Prior::from_closure(&closure::decide(&closure::Facts::from_state(state)));
    // contract 6.3: what the policy names needs content; the core's own messages do not.
    let overrides = (trigger.contentful
        && state.control.policy.overrides_waits.contains(&trigger.kind))
        || trigger.is_told_by_core(held);
    let found = find(state, message, &trigger);
    let resolution = classify(&trigger, prior, &found, overrides);
    let by_reason_class = resolution.matched_waiting_reason && matches!(found, Found::Nameless(_));
    let satisfied = match found {
        Found::ById(satisfied) | Found::Nameless(satisfied) if resolution.model_reentry => {
            satisfied
        }
        _ => Satisfied::default(),
    };
    Some(Met { resolution, satisfied, by_reason_class })
}

/// The closure before a message, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Readable)]
pub struct Prior {
    /// The outcome of that closure.
    pub outcome: ClosureOutcome,
    /// What the agent waited for.
    pub waiting_reason: Option<WaitingReason>,
}

impl Prior {
    fn from_closure(closure: &Closure) -> Self {
        Self { outcome: closure.outcome, waiting_reason: closure.waiting_reason }
    }
}

/// How a trigger meets the closure before it: the table's cell, with the evidence of the trigger.
#[must_use]
pub fn classify(trigger: &Trigger, prior: Prior, found: &Found, overrides: bool) -> Resolution {
    // INVARIANT: the last row always holds, so one row does.
    let nothing = || resolution_of(mismatch(), trigger, prior);
    classify_by(ROWS.iter(), trigger, prior, found, overrides).unwrap_or_else(nothing)
}

/// The resolution by a subset of the rows; `None` if none of them holds.
pub fn classify_by<'a>(
    rows: impl Iterator<Item = &'a Row<Meeting, Cell>>,
    trigger: &Trigger,
    prior: Prior,
    found: &Found,
    overrides: bool,
) -> Option<Resolution> {
    let meeting = Meeting::new(trigger, prior, found, overrides);
    table::first(rows, &meeting).map(|cell| resolution_of(cell, trigger, prior))
}

fn resolution_of(cell: Cell, trigger: &Trigger, prior: Prior) -> Resolution {
    let mut evidence = common_evidence(trigger);
    evidence.extend(cell.marker.map(ToString::to_string));
    Resolution {
        trigger_kind: trigger.kind,
        class: cell.class,
        model_reentry: cell.reenters,
        prior_closure_outcome: prior.outcome,
        prior_waiting_reason: prior.waiting_reason,
        matched_waiting_reason: cell.matched,
        evidence,
    }
}

fn common_evidence(trigger: &Trigger) -> Vec<String> {
    let contentful = if trigger.contentful { "contentful" } else { "not_contentful" };
    let mut evidence = Vec::from([format!("trigger_kind={}", trigger.kind), contentful.into()]);
    if trigger.task_terminal {
        evidence.push("task_terminal".into());
    }
    if trigger.task_blocking {
        evidence.push("task_blocking".into());
    }
    if trigger.task_wait_policy == Some(TaskWaitPolicy::Background) {
        evidence.push("task_background".into());
    }
    evidence
        .extend(trigger.wake_hint_source.iter().map(|source| format!("wake_hint_source={source}")));
    evidence
}

/// The input of the table: a trigger, the waits it met, and the closure before it.
#[derive(Clone, Copy, Debug)]
pub struct Meeting {
    kind: TriggerKind,
    /// It carries what its kind needs to re-enter the model.
    says_enough: bool,
    /// It names active waits that it can end.
    names_a_wait: bool,
    /// The agent waits for the reason that this kind of trigger ends, and the trigger names no id.
    is_expected: bool,
    /// It carries what the kind as which it meets waits needs.
    meets_enough: bool,
    /// It meets waits as its own kind: it is not a prompt of someone other than the operator.
    meets_as_itself: bool,
    waiting: bool,
    overrides: bool,
}

impl Meeting {
    fn new(trigger: &Trigger, prior: Prior, found: &Found, overrides: bool) -> Self {
        let waiting = prior.outcome == ClosureOutcome::Waiting;
        let reason = expected_reason(trigger.meets_as);
        Self {
            kind: trigger.kind,
            says_enough: trigger.says_enough_as(trigger.kind),
            names_a_wait: matches!(found, Found::ById(_)),
            // D1: a trigger that names an id matches by it, and never by its class.
            is_expected: waiting
                && matches!(found, Found::Nameless(_))
                && reason.is_some()
                && prior.waiting_reason == reason,
            meets_enough: trigger.says_enough_as(trigger.meets_as),
            meets_as_itself: trigger.kind == trigger.meets_as,
            waiting,
            overrides,
        }
    }

    fn goes_on(&self) -> bool {
        !self.waiting && self.says_enough
    }
}

/// One cell of the continuation table.
#[derive(Debug)]
pub struct Cell {
    class: Class,
    reenters: bool,
    matched: bool,
    marker: Option<&'static str>,
}

impl Cell {
    fn expected() -> Self {
        Self {
            class: Class::ResumeExpectedWait,
            reenters: true,
            matched: true,
            marker: Some("matches_waiting_reason"),
        }
    }

    fn overriding(marker: &'static str) -> Self {
        Self { class: Class::ResumeOverride, reenters: true, matched: false, marker: Some(marker) }
    }

    fn local() -> Self {
        Self { class: Class::LocalContinuation, reenters: true, matched: false, marker: None }
    }

    fn keeps_alive(marker: impl Into<Option<&'static str>>) -> Self {
        Self { class: Class::LivenessOnly, reenters: false, matched: false, marker: marker.into() }
    }

    fn matching(self) -> Self {
        Self { matched: true, ..self }
    }
}

/// The continuation table (contract 5.15, 6.3; `observed-decisions.md` section 6). The first row
/// that holds decides, and the last one always holds.
pub static ROWS: [Row<Meeting, Cell>; 10] = [
    // contract 5.15: a trigger that names a wait resumes it, whatever the closure says.
    Row::new("named", |meeting| meeting.names_a_wait, |_| Cell::expected()),
    Row::new("local", Meeting::goes_on, |_| Cell::local()),
    Row::new("local_empty", |meeting| !meeting.waiting, |_| Cell::keeps_alive(None)),
    Row::new(
        "expected",
        |meeting| meeting.is_expected && meeting.meets_enough,
        |_| Cell::expected(),
    ),
    // contract 5.19: an empty prompt of anyone but the operator still overrides, in the next row.
    Row::new(
        "expected_empty",
        |meeting| meeting.is_expected && meeting.meets_as_itself,
        |_| Cell::keeps_alive("matches_waiting_reason").matching(),
    ),
    Row::new(
        "operator",
        |meeting| meeting.kind == TriggerKind::OperatorInput,
        |_| Cell::overriding("override_waiting_reason"),
    ),
    Row::new(
        "task_result",
        |meeting| meeting.kind == TriggerKind::TaskResult && meeting.says_enough,
        |_| Cell::overriding("terminal_task_result"),
    ),
    Row::new(
        "overriding",
        |meeting| meeting.overrides,
        |_| Cell::overriding("override_waiting_reason"),
    ),
    // Decides as the last row does; only the marker of the reference runtime differs.
    Row::new(
        "tick",
        |meeting| meeting.kind == TriggerKind::SystemTick && meeting.says_enough,
        |_| Cell::keeps_alive("contentful_system_tick_expected_external_recheck"),
    ),
    Row::new("mismatch", |_| true, |_| mismatch()),
];

fn mismatch() -> Cell {
    Cell::keeps_alive("does_not_satisfy_waiting_reason")
}

/// The waiting reason that this kind of trigger ends.
fn expected_reason(kind: TriggerKind) -> Option<WaitingReason> {
    match kind {
        TriggerKind::OperatorInput => Some(WaitingReason::AwaitingOperatorInput),
        TriggerKind::TaskResult => Some(WaitingReason::AwaitingTaskResult),
        TriggerKind::ExternalEvent | TriggerKind::SystemTick => {
            Some(WaitingReason::AwaitingExternalChange)
        }
        TriggerKind::TimerFire => Some(WaitingReason::AwaitingTimer),
        TriggerKind::InternalFollowup => None,
    }
}

fn find(state: &State, message: &MessageRecord, trigger: &Trigger) -> Found {
    let names = &trigger.names;
    let is_hint = trigger.kind == TriggerKind::SystemTick;
    let satisfied = match trigger.meets_as {
        // contract 5.15: a tick about work names no wait, whatever else its metadata has.
        _ if names.no_wait => Satisfied::default(),
        TriggerKind::OperatorInput => operator_waits(state, message),
        TriggerKind::TaskResult if trigger.task_terminal => task_waits(state, names),
        TriggerKind::TimerFire => timer_waits(state, names),
        // contract 5.15: a `task_restart` names its tasks; a deadline or system wait names its
        // condition.
        TriggerKind::SystemTick if !names.tasks.is_empty() => task_waits(state, names),
        TriggerKind::SystemTick if names.condition.is_some() => condition_named(state, names),
        // A hint ends external waits even without content; other triggers need content.
        TriggerKind::ExternalEvent | TriggerKind::SystemTick if trigger.contentful || is_hint => {
            external_waits(state, names)
        }
        _ => Satisfied::default(),
    };
    // Operator input names its waits by item and agent, so it never matches by reason alone.
    let names_something = names.no_wait
        || !names.tasks.is_empty()
        || names.condition.is_some()
        || names.timer.is_some()
        || !names.intents.is_empty()
        || !names.triggers.is_empty()
        || names.without_proof
        || trigger.meets_as == TriggerKind::OperatorInput;
    match (names_something, satisfied.is_empty()) {
        (true, false) => Found::ById(satisfied),
        (true, true) => Found::Mismatch,
        (false, _) => Found::Nameless(satisfied),
    }
}

/// The operator waits of the item that the input is about, and those of the agent.
fn operator_waits(state: &State, message: &MessageRecord) -> Satisfied {
    let about = answered(state, message);
    let mut waits: Vec<_> = state.asking(None).collect();
    if about.is_some() {
        waits.extend(state.asking(about.as_ref()));
    }
    // The records that end them are in the order of ids.
    let waits = by_id(waits);
    let item = about.as_ref().and_then(|id| state.work.items.get(id));
    let asked = item.filter(|item| item.record.plan_status == WorkItemPlanStatus::NeedsInput);
    Satisfied {
        conditions: waits.iter().map(|wait| wait.record.id.clone()).collect(),
        others: asked.map(|item| item.seq).into_iter().collect(),
        ..Satisfied::default()
    }
}

/// The item whose waits operator input ends: the message's, else the current one, else the only one
/// that waits for the operator.
#[must_use]
pub fn answered(state: &State, message: &MessageRecord) -> Option<WorkItemId> {
    let current = || state.work.current().map(|item| item.record.id.clone());
    message.work_item_id.clone().or_else(current).or_else(|| only_asker(state))
}

/// The item that waits for the operator, if exactly one does.
fn only_asker(state: &State) -> Option<WorkItemId> {
    // What an observed runtime ends is in its records.
    state.control.live_from?;
    state.only_asker().cloned()
}

/// The condition that a tick names, or the intent that it mirrors.
fn condition_named(state: &State, names: &Names) -> Satisfied {
    let named = names.condition.as_ref().and_then(|id| state.waiting.conditions.get(id));
    let Some(wait) = named.map(|wait| &wait.record) else { return Satisfied::default() };
    match wait.mirrors().filter(|intent| state.waiting.intents.contains_key(intent)) {
        Some(intent) => Satisfied { intents: Vec::from([intent]), ..Satisfied::default() },
        None => Satisfied { conditions: Vec::from([wait.id.clone()]), ..Satisfied::default() },
    }
}

fn task_waits(state: &State, names: &Names) -> Satisfied {
    let mut waits = Vec::new();
    for id in &names.tasks {
        waits.extend(state.waits_for_task(id));
    }
    Satisfied { conditions: woken(waits), ..Satisfied::default() }
}

fn timer_waits(state: &State, names: &Names) -> Satisfied {
    let Some(timer) = &names.timer else {
        return Satisfied::default();
    };
    let active = state.waiting.timers.get(&timer.as_str().into());
    Satisfied {
        conditions: woken(state.waits_for_timer(timer)),
        others: active.map(|wait| wait.seq).into_iter().collect(),
        ..Satisfied::default()
    }
}

/// The waits that a delivery to this external trigger meets now.
pub(crate) fn met_by_delivery(state: &State, id: &ExternalTriggerId) -> Satisfied {
    external_waits(state, &Names { triggers: Vec::from([id.clone()]), ..Names::default() })
}

/// The external waits that these names meet. Waits without a trigger id are met by every trigger,
/// except one that names only intents. A trigger of an item meets only the waits of that item
/// (contract 15.4).
fn external_waits(state: &State, names: &Names) -> Satisfied {
    let by_intent = names.triggers.is_empty() && !names.intents.is_empty();
    let serves = |trigger: &ExternalTriggerId, owner: Option<&WorkItemId>| {
        state.ingress.only_item(trigger).is_none_or(|item| Some(item) == owner)
    };
    let meets_unnamed = |owner: Option<&WorkItemId>| {
        names.triggers.is_empty() || names.triggers.iter().any(|trigger| serves(trigger, owner))
    };
    let (mut intents, mut conditions) = (Vec::new(), Vec::new());
    for id in &names.intents {
        intents.extend(state.waiting.intents.get(id));
    }
    for trigger in &names.triggers {
        for wait in state.intents_naming(trigger) {
            if serves(trigger, wait.record.owner()) {
                intents.push(wait);
            }
        }
        for wait in state.waits_for_trigger(trigger) {
            let record = &wait.record;
            // A mirror follows its intent.
            if record.kind == WaitConditionKind::External
                && !record.is_mirror()
                && serves(trigger, record.work_item_id.as_ref())
            {
                conditions.push(wait);
            }
        }
    }
    if !by_intent {
        // An import may have intents without a trigger, whose id is then empty.
        for wait in state.intents_naming(&ExternalTriggerId::from("")) {
            if meets_unnamed(wait.record.owner()) {
                intents.push(wait);
            }
        }
        for wait in state.unnamed_waits() {
            if meets_unnamed(wait.record.work_item_id.as_ref()) {
                conditions.push(wait);
            }
        }
    }
    let mut intents: Vec<_> = intents.into_iter().map(|wait| wait.record.id.clone()).collect();
    sort_by(&mut intents, Ord::cmp);
    intents.dedup();
    Satisfied { intents, conditions: ids(conditions), others: Vec::new() }
}

/// Those of these conditions that a trigger other than operator input ends, by id.
fn woken(mut waits: Vec<&Active<WaitConditionRecord>>) -> Vec<WaitConditionId> {
    // I13: only operator input ends a wait for the operator, even if it names another wake source.
    waits.retain(|wait| wait.record.kind != WaitConditionKind::Operator);
    ids(waits)
}

fn ids(waits: Vec<&Active<WaitConditionRecord>>) -> Vec<WaitConditionId> {
    let mut ids: Vec<_> = by_id(waits).into_iter().map(|wait| wait.record.id.clone()).collect();
    // One wait may name several of the things that a trigger names.
    ids.dedup();
    ids
}

/// What ends the waits that this message satisfies.
#[must_use]
pub fn ended_by(message: &MessageRecord) -> EndedBy {
    if message.is_operator_input() {
        EndedBy::Operator
    // A host may write this note too, but it counts only on a message of the runtime.
    } else if message.is_runtime_owned() && message.raw_note(NoteKey::WaitDeadline).is_some() {
        let note = message.note::<DeadlineNote>();
        match note.and_then(|note| note.external_trigger_id) {
            Some(_) => EndedBy::TriggerEnded,
            None => EndedBy::Deadline,
        }
    } else {
        EndedBy::Trigger
    }
}
