//! Adversaries: providers that do everything wrong that a provider can do wrong. Tests check how
//! the core copes with them.

use alloc::{boxed::Box, format, string::String, vec, vec::Vec};

use crate::{
    fact::{
        Fact,
        work::{WorkItemCompleted, WorkItemCreated, WorkItemNamed, WorkItemUpdated},
    },
    id::WorkItemId,
    record::{waiting::WaitConditionKind, work::WorkItemPlanStatus},
    story::{
        moves::{Move, Used, WaitFor, Waker},
        turn::Cue,
    },
    tagged::names,
};

names! {
    /// What a provider does wrong in each turn.
    pub enum Adversary {
        /// Ends without a word, a wait or a change of its item.
        EndsBare,
        /// Registers one wait after another.
        SpamsWaits,
        /// Waits for tasks, timers and items that do not exist, and for nothing at all.
        WaitsForNothing,
        /// Creates another item.
        CreatesItems,
        /// Changes its item, but never completes it.
        NeverCompletes,
        /// Promises to continue, but completes its item, then changes it again.
        PromisesAndCompletes,
    }
}

/// The number of waits that a turn of [`Adversary::SpamsWaits`] registers.
const WAITS: u64 = 8;

impl Adversary {
    /// The moves of its turn `number`, from 1. If the turn is not about an item, it first creates
    /// one and picks it.
    #[must_use]
    pub fn moves(self, cue: &Cue, number: u64) -> Vec<Move> {
        let mut moves = Vec::new();
        let item = cue.item.clone().unwrap_or_else(|| {
            let made = WorkItemId::from(format!("job-{number}"));
            moves.extend([
                created(&made, &cue.text),
                operation(Fact::WorkItemPicked(WorkItemNamed { work_item_id: made.clone() })),
            ]);
            made
        });
        moves.extend(match self {
            Self::EndsBare => Vec::new(),
            Self::SpamsWaits => (0..WAITS).map(|wait| spam(&item, wait)).collect(),
            Self::WaitsForNothing => nothing(&item),
            Self::CreatesItems => vec![
                says("One more thing to do."),
                created(&format!("more-{number}").into(), "One more thing"),
            ],
            Self::NeverCompletes => vec![
                says("Nearly done."),
                changed(&item, format!("Nearly done, for the {number}th time")),
            ],
            Self::PromisesAndCompletes => vec![
                says("I will run the tests next and then report."),
                operation(Fact::WorkItemCompleted(WorkItemCompleted {
                    work_item_id: item.clone(),
                    result_summary: None,
                })),
                changed(&item, "The tests are still to be run".into()),
            ],
        });
        moves
    }
}

fn operation(fact: Fact) -> Move {
    Move::Operation(Box::new(fact))
}

fn says(text: &str) -> Move {
    Move::Round { says: Some(text.into()), calls: Vec::new(), used: Used::default() }
}

fn created(item: &WorkItemId, objective: &str) -> Move {
    let plan_status = Some(WorkItemPlanStatus::Ready);
    operation(Fact::WorkItemCreated(WorkItemCreated {
        work_item_id: item.clone(),
        objective: objective.into(),
        plan_status,
    }))
}

fn changed(item: &WorkItemId, objective: String) -> Move {
    let fact = WorkItemUpdated {
        work_item_id: item.clone(),
        objective: Some(objective),
        plan_status: None,
        plan: None,
        todo_list: None,
    };
    operation(Fact::WorkItemUpdated(fact))
}

fn wait(kind: WaitConditionKind, item: Option<&WorkItemId>, on: Waker) -> Move {
    Move::WaitFor(WaitFor { kind, item: item.cloned(), what: None, on, deadline_ms: None })
}

fn spam(item: &WorkItemId, number: u64) -> Move {
    let owner = if number % 4 == 3 { None } else { Some(item) };
    match number % 2 {
        0 => wait(WaitConditionKind::Operator, owner, Waker::Kind),
        _ => wait(
            WaitConditionKind::External,
            owner,
            Waker::Trigger(format!("trigger-{number}").into()),
        ),
    }
}

fn nothing(item: &WorkItemId) -> Vec<Move> {
    vec![
        wait(WaitConditionKind::Task, Some(item), Waker::Task("no-such-task".into())),
        wait(
            WaitConditionKind::Timer,
            Some(item),
            Waker::After(1_000, Some("no-such-timer".into())),
        ),
        wait(WaitConditionKind::Operator, Some(&"no-such-item".into()), Waker::Kind),
        wait(WaitConditionKind::External, Some(item), Waker::Nothing),
        wait(WaitConditionKind::External, None, Waker::Nothing),
    ]
}
