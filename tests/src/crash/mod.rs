//! Crash tests: a story is cut after each append, and continues from what the ledger holds then.
//!
//! A process knows nothing that is not in its ledger, and an effect that a dead process had started
//! leaves only records. So a crash is a prefix of the ledger: the ledger after an append is all
//! that remains. It makes no difference whether the process died before, between or after the
//! effects of that append.

pub mod end;
pub mod killed;
pub mod life;
pub mod scenario;

use std::collections::BTreeSet;

use wakeful::generator::Pace;
use wakeful_core::{
    id::MessageId,
    record::{Record, queue::envelope::QueueStatus},
    state::autonomy,
    story::Story,
};

use self::{end::End, life::Lived};
use crate::watched::WatchedLedger;

/// What was tried, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// The number of stories.
    pub stories: u64,
    /// The appends of all stories without a crash.
    pub appends: u64,
    /// Crashes: each story dies once after each append, and a second time on its way from there.
    pub deaths: u64,
    /// Runs that a crash interrupted.
    pub interrupted: u64,
    /// Tool calls that were recorded before a crash, and were not made again.
    pub calls: u64,
}

impl Tried {
    /// Counts a process that died and left this ledger.
    fn died(&mut self, cut: &WatchedLedger) {
        self.deaths += 1;
        self.interrupted += u64::from(cut.state().turns().run.is_some());
        self.calls +=
            cut.opened().iter().filter(|entry| matches!(entry.record, Record::Tool(_))).count()
                as u64;
    }

    /// Adds the numbers of another part.
    pub fn add(&mut self, other: Self) {
        self.stories += other.stories;
        self.appends += other.appends;
        self.deaths += other.deaths;
        self.interrupted += other.interrupted;
        self.calls += other.calls;
    }
}

/// Cuts a story after each of its appends, and once more on its way from there.
///
/// # Errors
/// How the outcome differs from that without a crash, and after which append the process died.
pub fn everywhere(story: &Story, pace: Pace) -> Result<Tried, String> {
    let whole = life::whole(story)?;
    let expected = whole.end();
    let mut tried = Tried { stories: 1, appends: whole.cuts.len() as u64, ..Tried::default() };
    for number in 0..whole.cuts.len() {
        let Some(cut) = whole.cut(number) else { break };
        let told = |why: String| {
            format!("the process dies after append {} of {}: {why}", number + 1, whole.cuts.len())
        };
        tried.died(&cut);
        let once = life::from(story, &cut).map_err(told)?;
        check(&cut, &once, &expected, pace).map_err(told)?;
        // It dies again on the way from there. The place differs from cut to cut.
        let later = number % once.cuts.len().max(1);
        if let Some(again) = once.cut(later) {
            let told = |why| told(format!("and again, {} appends later: {why}", later + 1));
            tried.died(&again);
            let twice = life::from(story, &again).map_err(told)?;
            check(&again, &twice, &expected, pace).map_err(told)?;
        }
    }
    Ok(tried)
}

/// Compares a story that continued from a cut with the uncut one.
fn check(cut: &WatchedLedger, lived: &Lived, expected: &End, pace: Pace) -> Result<(), String> {
    if let [first, ..] = lived.ledger.breaches().as_slice() {
        return Err(format!("an invariant is broken: {first}"));
    }
    nothing_is_lost(cut, &lived.ledger)?;
    nothing_is_done_twice(&lived.ledger)?;
    match pace {
        Pace::Apart => expected.differs_from(&lived.end()).map_or(Ok(()), Err),
        // A crash may decide a race the other way, so another outcome is right too.
        Pace::Racing => Ok(()),
    }
}

/// Checks that everything that was open at the cut has ended or is still open.
fn nothing_is_lost(cut: &WatchedLedger, lived: &WatchedLedger) -> Result<(), String> {
    let (before, after) = (cut.state(), lived.state());
    for message in before.queue().open() {
        if after.queue().ended(message).is_none()
            && !after.queue().open().any(|open| open == message)
        {
            return Err(format!("message {message} is lost"));
        }
    }
    // contract 16.4: what a budget holds back waits for the budget.
    let is_held = |id: &MessageId| {
        let held = after.queue().message(id);
        held.is_some_and(|held| autonomy::is_held_by_budget(&after, held))
    };
    let open: BTreeSet<_> = after.queue().open().filter(|id| !is_held(id)).cloned().collect();
    if after.control().stopped.is_none() && !open.is_empty() {
        return Err(format!("the agent rests over messages: {open:?}"));
    }
    for task in before.tasks().active.keys() {
        if !after.tasks().active.contains_key(task) && !after.tasks().ended.contains_key(task) {
            return Err(format!("task {task} is lost"));
        }
    }
    Ok(())
}

/// Checks that no message was processed twice and no tool call recorded twice.
fn nothing_is_done_twice(lived: &WatchedLedger) -> Result<(), String> {
    let (mut ended, mut called) = (BTreeSet::new(), BTreeSet::new());
    for entry in lived.opened() {
        match &entry.record {
            Record::QueueEntry(entry)
                if entry.status == QueueStatus::Processed
                    && !ended.insert(entry.message_id.clone()) =>
            {
                return Err(format!("message {} is processed twice", entry.message_id));
            }
            Record::Tool(call) if !called.insert(call.id.clone()) => {
                return Err(format!("tool call {} is made twice", call.id));
            }
            _ => {}
        }
    }
    Ok(())
}
