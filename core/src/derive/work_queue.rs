//! The work queue: every open item and the newest completed ones, in the order in which people and
//! models see them (contract 5.13; `observed-decisions.md` 3.3.5, 3.3.6). Only completed items are
//! cut (D14).

use alloc::{string::String, vec::Vec};
use core::cmp::Ordering;

use serde::Serialize;

use crate::{
    id::{Seq, WorkItemId},
    record::{
        waiting::WaitConditionKind,
        work::{WorkItemRecord, WorkItemState},
    },
    state::{
        State,
        readiness::{self, SchedulingState},
        recheck::queued_order,
        work::Item,
    },
    tagged::names,
    time::Timestamp,
};
use wakeful_json::{
    Readable,
    sort::{sort_by, sort_by_key},
};

/// The number of completed items in [`WorkQueue::completed_recent`]. They are for display, so this
/// cut hides no wait and no offer.
// The reference runtime shows the same number (`observed-decisions.md` 3.3.6).
pub const COMPLETED_SHOWN: usize = 3;

names! {
    /// The list of an item. The order of the names is the order of the lists.
    pub enum CandidateClass {
        /// It has the focus and is runnable.
        CurrentRunnable,
        /// It has a blocker, and the trigger of one of its intents has arrived.
        TriggeredBlocked,
        /// It is runnable.
        QueuedRunnable,
        /// It waits for the operator.
        WaitingForOperator,
        /// It waits for something else, or is blocked.
        Blocked,
        /// It is completed.
        CompletedRecent,
    }

    /// The state of an item in the words for models. All waits but those for the operator are one
    /// word.
    pub enum WorkItemReadiness {
        /// It is runnable.
        Runnable,
        /// It waits for the operator.
        WaitingForOperator,
        /// It waits for something else, or is blocked.
        Blocked,
        /// It is completed.
        Completed,
    }

    /// The state of an entry in a todo list.
    pub enum TodoItemState {
        /// Not started.
        Pending,
        /// In progress.
        InProgress,
        /// Done.
        Completed,
    }
}

/// An entry in the todo list of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TodoItem {
    /// The task in words.
    pub text: String,
    /// The state of the entry.
    pub state: TodoItemState,
}

/// An item, and what its place in the lists rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate<'a> {
    /// The newest snapshot.
    pub record: &'a WorkItemRecord,
    /// The scheduling state.
    pub state: SchedulingState,
    /// The list that the item is in.
    pub class: CandidateClass,
    /// Whether the item has the focus.
    pub is_current: bool,
    /// Whether an intent or condition of the item is active.
    pub has_active_waits: bool,
    /// Whether the item waits for a task.
    pub has_active_task_waits: bool,
    /// When the trigger of one of its active intents last arrived.
    pub last_triggered_at: Option<Timestamp>,
    /// The entry of the newest snapshot, if a driver recorded it.
    pub recorded: Option<Seq>,
}

impl<'a> Candidate<'a> {
    fn open(state: &'a State, item: &'a Item) -> Self {
        let is_current =
            state.work.current().is_some_and(|current| current.record.id == item.record.id);
        let recorded = readiness::recorded(state, item);
        Self {
            is_current,
            recorded,
            ..Self::new(state, &item.record, readiness::state_of(state, item))
        }
        .classed()
    }

    fn new(state: &'a State, record: &'a WorkItemRecord, stands: SchedulingState) -> Self {
        let id = &record.id;
        let has_waits = state.waits_of(id).next().is_some();
        let has_task_waits = state.waits_of_kind(id, WaitConditionKind::Task).next().is_some();
        Self {
            record,
            state: stands,
            class: CandidateClass::CompletedRecent,
            is_current: false,
            // A blocking task is neither an intent nor a condition.
            has_active_waits: has_waits || state.intents_for(id).next().is_some(),
            has_active_task_waits: has_task_waits || state.blocking_tasks(id).next().is_some(),
            last_triggered_at: state
                .intents_for(id)
                .filter_map(|intent| intent.record.last_triggered_at)
                .max(),
            recorded: None,
        }
    }

    fn classed(mut self) -> Self {
        self.class = match self.state {
            SchedulingState::Runnable if self.is_current => CandidateClass::CurrentRunnable,
            // A blocker with a triggered wait outranks the state, as in the reference runtime
            // (`observed-decisions.md` 3.3.5).
            _ if self.has_triggered_waits() && self.record.blocked_by.is_some() => {
                CandidateClass::TriggeredBlocked
            }
            SchedulingState::Runnable => CandidateClass::QueuedRunnable,
            SchedulingState::WaitingOperator => CandidateClass::WaitingForOperator,
            _ => CandidateClass::Blocked,
        };
        self
    }

    /// The id of the item.
    #[must_use]
    pub fn id(&self) -> &'a WorkItemId {
        &self.record.id
    }

    /// Whether the trigger of one of its active intents has arrived.
    #[must_use]
    pub fn has_triggered_waits(&self) -> bool {
        self.last_triggered_at.is_some()
    }

    /// The state of the item in the words for models.
    #[must_use]
    pub fn readiness(&self) -> WorkItemReadiness {
        match self.state {
            SchedulingState::Runnable => WorkItemReadiness::Runnable,
            SchedulingState::WaitingOperator => WorkItemReadiness::WaitingForOperator,
            SchedulingState::Completed => WorkItemReadiness::Completed,
            _ => WorkItemReadiness::Blocked,
        }
    }

    /// The current entry of the todo list: the first in progress, else the first pending. `None` if
    /// the list has another shape.
    #[must_use]
    pub fn current_todo(&self) -> Option<TodoItem> {
        let todos: Vec<TodoItem> = self.record.todo_list.as_ref()?.read().ok()?;
        let first = |wanted| todos.iter().find(|todo| todo.state == wanted);
        first(TodoItemState::InProgress).or_else(|| first(TodoItemState::Pending)).cloned()
    }

    /// Orders by class. Within a class, runnable items come least recently touched first, all
    /// others most recently first. Equal items are ordered by id.
    fn order(&self, other: &Self) -> Ordering {
        let newest_first = || other.record.updated_at.cmp(&self.record.updated_at);
        let touched = |of: &Self| (of.record.updated_at, of.recorded, of.record.created_at);
        let in_class = || match self.class {
            CandidateClass::QueuedRunnable => touched(self).cmp(&touched(other)),
            CandidateClass::TriggeredBlocked => {
                other.last_triggered_at.cmp(&self.last_triggered_at).then_with(newest_first)
            }
            _ => newest_first(),
        };
        self.class.cmp(&other.class).then_with(in_class).then_with(|| self.id().cmp(other.id()))
    }
}

/// The work queue of a state.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkQueue<'a> {
    /// All candidates, in order.
    pub candidates: Vec<Candidate<'a>>,
}

impl<'a> WorkQueue<'a> {
    /// The work queue of a state.
    #[must_use]
    pub fn new(state: &'a State) -> Self {
        let open = state.work.items.values().map(|item| Candidate::open(state, item));
        let completed = state
            .work
            .completed
            .iter()
            .map(|record| Candidate::new(state, record, SchedulingState::Completed));
        let mut candidates: Vec<_> = open.chain(completed).collect();
        sort_by(&mut candidates, Candidate::order);
        Self { candidates }
    }

    fn of_class(&self, class: CandidateClass) -> impl Iterator<Item = &Candidate<'a>> {
        self.candidates.iter().filter(move |candidate| candidate.class == class)
    }

    /// The first candidate in this state, in the order of the lists.
    #[must_use]
    pub fn first_that(&self, stands: SchedulingState) -> Option<&Candidate<'a>> {
        self.candidates.iter().find(|candidate| candidate.state == stands)
    }

    /// The open item with the focus.
    #[must_use]
    pub fn current(&self) -> Option<&Candidate<'a>> {
        self.candidates.iter().find(|candidate| candidate.is_current)
    }

    /// The open item with the focus, if it is runnable.
    #[must_use]
    pub fn current_runnable(&self) -> Option<&Candidate<'a>> {
        self.of_class(CandidateClass::CurrentRunnable).next()
    }

    /// Blocked items whose trigger has arrived, the newest trigger first.
    pub fn triggered_blocked(&self) -> impl Iterator<Item = &Candidate<'a>> {
        self.of_class(CandidateClass::TriggeredBlocked)
    }

    /// Runnable items without the focus, in the order in which they are offered.
    pub fn queued_runnable(&self) -> impl Iterator<Item = &Candidate<'a>> {
        self.of_class(CandidateClass::QueuedRunnable)
    }

    /// Items that wait for the operator.
    pub fn waiting_for_operator(&self) -> impl Iterator<Item = &Candidate<'a>> {
        self.of_class(CandidateClass::WaitingForOperator)
    }

    /// Items that wait or are blocked, except those that wait for a task: its result resumes them
    /// automatically.
    pub fn blocked(&self) -> impl Iterator<Item = &Candidate<'a>> {
        self.of_class(CandidateClass::Blocked)
            .filter(|candidate| candidate.state != SchedulingState::WaitingTask)
    }

    /// The newest completed items, [`COMPLETED_SHOWN`] at most.
    pub fn completed_recent(&self) -> impl Iterator<Item = &Candidate<'a>> {
        self.of_class(CandidateClass::CompletedRecent).take(COMPLETED_SHOWN)
    }

    /// The open items without focus and without a task wait. Those without a blocker come first,
    /// then the oldest.
    #[must_use]
    pub fn queued_blocked(&self) -> Vec<&Candidate<'a>> {
        let is_queued = |of: &&Candidate| {
            of.record.state == WorkItemState::Open && !of.is_current && !of.has_active_task_waits
        };
        let mut queued: Vec<_> = self.candidates.iter().filter(is_queued).collect();
        sort_by_key(&mut queued, |candidate| queued_order(candidate.record));
        queued
    }

    /// Whether any list shows another item than the one with the focus.
    #[must_use]
    pub fn has_non_current_candidates(&self) -> bool {
        let is_shown = |of: &&Candidate| {
            // `blocked` leaves these out, so no list shows them.
            of.class != CandidateClass::Blocked || of.state != SchedulingState::WaitingTask
        };
        self.candidates.iter().filter(is_shown).any(|candidate| !candidate.is_current)
    }

    /// The item that the next work is about: the one with the focus, else the blocked item without
    /// a task wait that was touched last.
    #[must_use]
    pub fn anchor(&self) -> Option<&Candidate<'a>> {
        let is_blocked = |of: &&Candidate| {
            of.record.state == WorkItemState::Open
                && of.record.blocked_by.is_some()
                && !of.has_active_task_waits
        };
        let touched = |of: &&Candidate<'a>| (of.record.updated_at, of.record.created_at, of.id());
        self.current().or_else(|| self.candidates.iter().filter(is_blocked).max_by_key(touched))
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::ToString};

    use super::*;
    use crate::{
        foreign::Folder,
        machine::{Machine, Options, import::Import},
        state::work::COMPLETED_KEPT,
    };

    fn item(id: &str, minute: u32, more: &str) -> String {
        format!(
            r#"{{"id":"{id}","agent_id":"default","objective":"o",
            "state":"open","plan_status":"ready","created_at":"2026-05-27T09:00:00Z",
            "updated_at":"2026-05-27T09:{minute:02}:00Z"{more}}}"#
        )
        .replace('\n', " ")
    }

    fn intent(item: &str, triggered_minute: u32) -> String {
        format!(
            r#"{{"id":"i-{item}","agent_id":"default","scope":"work_item","work_item_id":"{item}",
            "description":"d","source":"s","delivery_mode":"wake_hint","status":"active",
            "external_trigger_id":"e","created_at":"2026-05-27T09:00:00Z","trigger_count":1,
            "last_triggered_at":"2026-05-27T09:{triggered_minute:02}:00Z"}}"#
        )
        .replace('\n', " ")
    }

    fn machine(focus: &str, items: &[String], intents: &[String]) -> Machine {
        let agent = format!(
            r#"{{"id":"default","status":"awake_idle","pending":0,"current_work_item_id":"{focus}"}}"#
        );
        let folder = Folder::from([
            (".holon/state/agent.json".into(), agent),
            (".holon/ledger/work_items.jsonl".into(), items.join("\n") + "\n"),
            (".holon/ledger/waiting_intents.jsonl".into(), intents.join("\n") + "\n"),
        ]);
        let now = Timestamp::from_nanos(1_780_000_000_000_000_000);
        let import = Import::of_folder(&folder, now).expect("the folder reads");
        let mut machine = Machine::new(Options::new("default".into()));
        machine.begin(now).expect("fresh");
        machine.committed();
        machine.import(import, now).expect("an import");
        machine.committed();
        machine
    }

    fn ids<'a>(candidates: impl IntoIterator<Item = &'a Candidate<'a>>) -> Vec<String> {
        candidates.into_iter().map(|candidate| candidate.id().to_string()).collect()
    }

    #[test]
    fn each_list_has_its_own_order_and_none_is_cut() {
        const ASKS: &str = r#","plan_status":"needs_input""#;
        const BLOCKED: &str = r#","blocked_by":"b""#;
        let asks = |id, minute| item(id, minute, "").replace(r#","plan_status":"ready""#, ASKS);
        let items = [
            item("focused", 9, ""),
            item("late", 7, ""),
            item("early", 6, ""),
            asks("asked-first", 1),
            asks("asked-last", 2),
            item("triggered-first", 9, BLOCKED),
            item("triggered-last", 1, BLOCKED),
            item("b1", 1, BLOCKED),
            item("b2", 2, BLOCKED),
            item("b3", 3, BLOCKED),
            item("b4", 4, BLOCKED),
        ];
        let machine = machine(
            "focused",
            &items,
            &[intent("triggered-first", 10), intent("triggered-last", 11)],
        );
        let queue = WorkQueue::new(machine.state());
        assert_eq!(ids(queue.current_runnable()), ["focused"]);
        assert_eq!(
            ids(queue.triggered_blocked()),
            ["triggered-last", "triggered-first"],
            "newest trigger first, not newest snapshot"
        );
        assert_eq!(ids(queue.queued_runnable()), ["early", "late"], "least recently touched first");
        assert_eq!(ids(queue.waiting_for_operator()), ["asked-last", "asked-first"]);
        assert_eq!(ids(queue.blocked()), ["b4", "b3", "b2", "b1"]);
        assert_eq!(
            ids(queue.queued_blocked())[..4],
            ["asked-first", "asked-last", "early", "late"],
            "without a blocker first"
        );
        assert_eq!(queue.anchor().map(|anchor| anchor.id().to_string()), Some("focused".into()));
        assert!(queue.has_non_current_candidates());
    }

    #[test]
    fn without_a_focus_the_anchor_is_the_blocked_item_that_was_touched_last() {
        let items = [
            item("free", 9, ""),
            item("b1", 1, r#","blocked_by":"""#),
            item("b2", 2, r#","blocked_by":"b""#),
        ];
        let machine = machine("gone", &items, &[]);
        let queue = WorkQueue::new(machine.state());
        assert_eq!(queue.anchor().map(|anchor| anchor.id().to_string()), Some("b2".into()));
        assert!(queue.current().is_none());
    }

    #[test]
    fn the_todo_at_hand_is_the_first_in_progress_else_the_first_pending() {
        let with = |list: &str| item("w", 1, &format!(r#","todo_list":{list}"#));
        let at_hand = |list: &str| {
            let machine = machine("w", &[with(list)], &[]);
            WorkQueue::new(machine.state())
                .current()
                .and_then(Candidate::current_todo)
                .map(|todo| todo.text)
        };
        let (pending, doing) =
            (r#"{"text":"p","state":"pending"}"#, r#"{"text":"d","state":"in_progress"}"#);
        assert_eq!(at_hand(&format!("[{pending},{doing}]")), Some("d".into()));
        assert_eq!(
            at_hand(&format!(r#"[{{"text":"c","state":"completed"}},{pending}]"#)),
            Some("p".into())
        );
        assert_eq!(at_hand("[]"), None);
        assert_eq!(at_hand(r#"["other shape"]"#), None);
    }

    #[test]
    fn the_newest_completed_items_are_known_and_three_of_them_shown() {
        let done =
            |at: u32| item(&format!("w{at:02}"), at, "").replace(r#""open""#, r#""completed""#);
        let count = u32::try_from(COMPLETED_KEPT).expect("small") + 2;
        let machine = machine("none", &(0..count).map(done).collect::<Vec<_>>(), &[]);
        let queue = WorkQueue::new(machine.state());
        assert_eq!(ids(queue.completed_recent()), ["w17", "w16", "w15"]);
        assert_eq!(queue.candidates.len(), COMPLETED_KEPT, "of older items only the id is kept");
        assert_eq!(machine.state().work.ended.len(), COMPLETED_KEPT + 2);
    }
}
