//! One agent of the store, as this process knows it.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use tokio::sync::Notify;
use wakeful_core::{
    host::Scheduler,
    id::{AgentId, Seq},
    record::{chain::Head, effect::TurnRequest},
};
use wakeful_host::{
    ledger::{Own, StoreTime},
    provider::Elsewhere,
};

use super::{
    Turns,
    agenda::Number,
    brief::Brief,
    changes::Changes,
    recent::{Recent, Telling},
};
use crate::problem::Problem;

/// The scheduler of an agent. Its turns are run elsewhere: by hosts that ask for them over HTTP, or
/// by a runner of this process that has a driver of its own.
pub(crate) type Observed = Scheduler<Telling, StoreTime, Elsewhere>;

/// One agent of the store.
pub(crate) struct Cell {
    pub(crate) number: Number,
    pub(crate) agent: AgentId,
    /// The newest entry when this process came to know the agent.
    pub(crate) began: Head,
    /// The newest entry that this process knows of.
    head: AtomicU64,
    /// The newest entries, if this process appended them.
    pub(crate) recent: Recent,
    /// Wakes those who wait for the next entry.
    pub(crate) appended: Notify,
    /// The number of those who wait for its entries.
    followers: AtomicUsize,
    /// Tells those who read all agents.
    changes: Arc<Changes>,
    /// The requests that wait for this agent, and the one that it serves.
    queued: AtomicUsize,
    /// When it was last asked, in seconds since the server began; 0 if its state is not in memory.
    used: AtomicU64,
    /// When its ledger last grew, or it was claimed, in seconds since the server began.
    moved: AtomicU64,
    turns: Mutex<Option<Turns>>,
    /// Whether it was put away, so that it is not in the list.
    is_away: AtomicBool,
    /// Whether this process drives it.
    is_own: AtomicBool,
    /// Whether something may have come for it through a shared store.
    pub(crate) has_mail: AtomicBool,
    brief: Mutex<Arc<Brief>>,
    inner: Mutex<Inner>,
}

/// What one thread at a time uses.
#[derive(Default)]
pub(crate) struct Inner {
    /// The folded state; dropped while the agent rests.
    pub(crate) scheduler: Option<Box<Observed>>,
    /// That this process drives the agent. Dropping the state is not a restart, so it is kept.
    pub(crate) owned: Option<Own>,
    /// The version of the file at which others had appended nothing that `scheduler` lacks.
    pub(crate) version: Option<i64>,
    /// The open turn, for the host that runs it elsewhere.
    pub(crate) request: Option<Box<TurnRequest>>,
    /// The head at which a runner of this process last left the agent at rest.
    pub(crate) rested_at: Option<Head>,
    /// The number of failures in a row.
    pub(crate) failures: u32,
}

/// One who waits for the entries of an agent.
pub(crate) struct Follower(Arc<Cell>);

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.followers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A place in the queue of an agent.
pub(crate) struct Place<'a>(&'a Cell);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.queued.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Cell {
    pub(crate) fn new(
        number: Number,
        agent: AgentId,
        (began, head): (Head, Head),
        turns: Option<Turns>,
        changes: Arc<Changes>,
    ) -> Self {
        changes.put(number);
        Self {
            number,
            agent,
            began,
            head: AtomicU64::new(head.seq.0),
            recent: Recent::default(),
            appended: Notify::new(),
            followers: AtomicUsize::new(0),
            changes,
            queued: AtomicUsize::new(0),
            used: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            turns: Mutex::new(turns),
            is_away: AtomicBool::new(false),
            is_own: AtomicBool::new(false),
            has_mail: AtomicBool::new(false),
            brief: Mutex::new(Arc::new(Brief::unread(head))),
            inner: Mutex::default(),
        }
    }

    /// The newest entry that this process knows of.
    pub(crate) fn head(&self) -> Seq {
        Seq(self.head.load(Ordering::Acquire))
    }

    /// The ledger was appended to up to this entry. Returns whether that is news.
    pub(crate) fn heard(&self, seq: Seq) -> bool {
        let before = self.head.swap(seq.0, Ordering::AcqRel);
        if before > seq.0 {
            // The ledger was set back.
            self.recent.clear();
        }
        let is_news = before != seq.0;
        if is_news {
            self.appended.notify_waiters();
            self.changes.put(self.number);
        }
        is_news
    }

    /// Its holder hears of each new entry, also of one that another server appends.
    pub(crate) fn follow(self: &Arc<Self>) -> Follower {
        self.followers.fetch_add(1, Ordering::Relaxed);
        Follower(Arc::clone(self))
    }

    /// Whether a client waits for its entries.
    pub(crate) fn is_followed(&self) -> bool {
        self.followers.load(Ordering::Relaxed) > 0
    }

    /// A place in the queue, unless it is full.
    pub(crate) fn queue(&self, most: usize) -> Result<Place<'_>, Problem> {
        let place = Place(self);
        if self.queued.fetch_add(1, Ordering::Relaxed) >= most {
            return Err(Problem::busy(format!(
                "{most} requests wait for the agent `{}`",
                self.agent
            )));
        }
        Ok(place)
    }

    /// Who runs its turns; `None` if this server only observes it.
    pub(crate) fn turns(&self) -> Option<Turns> {
        *held(&self.turns)
    }

    pub(crate) fn set_turns(&self, turns: Option<Turns>) {
        *held(&self.turns) = turns;
    }

    /// Whether it was put away.
    pub(crate) fn is_put_away(&self) -> bool {
        self.is_away.load(Ordering::Relaxed)
    }

    pub(crate) fn put_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Relaxed);
    }

    /// Whether this process drives it.
    pub(crate) fn is_own(&self) -> bool {
        self.is_own.load(Ordering::Acquire)
    }

    pub(crate) fn owned_here(&self, is_own: bool) {
        self.is_own.store(is_own, Ordering::Release);
    }

    pub(crate) fn brief(&self) -> Arc<Brief> {
        Arc::clone(&held(&self.brief))
    }

    pub(crate) fn set_brief(&self, brief: Brief) -> Arc<Brief> {
        std::mem::replace(&mut *held(&self.brief), Arc::new(brief))
    }

    /// Waits until no other thread uses the agent.
    pub(crate) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|poisoned| {
            // A thread broke down while it used the agent. Its state may be in the middle of
            // something, and the ledger is whole: it is opened again.
            self.inner.clear_poison();
            let mut inner = poisoned.into_inner();
            inner.scheduler = None;
            inner.request = None;
            inner
        })
    }

    /// As [`Cell::inner`]; `None` if a thread uses the agent now.
    pub(crate) fn try_inner(&self) -> Option<MutexGuard<'_, Inner>> {
        self.inner.try_lock().ok()
    }

    /// The state is in memory, and was asked now.
    pub(crate) fn use_at(&self, second: u64) {
        self.used.store(second.max(1), Ordering::Relaxed);
    }

    /// Its ledger grew, or it was claimed.
    pub(crate) fn moves_at(&self, second: u64) {
        self.moved.store(second, Ordering::Relaxed);
    }

    pub(crate) fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    /// When its state was last asked; `None` if it is not in memory.
    pub(crate) fn used(&self) -> Option<u64> {
        Some(self.used.load(Ordering::Relaxed)).filter(|second| *second > 0)
    }

    /// Drops the state from memory, unless a thread uses it now.
    pub(crate) fn drop_state(&self) {
        let Ok(mut inner) = self.inner.try_lock() else { return };
        inner.scheduler = None;
        inner.request = None;
        self.recent.clear();
        self.used.store(0, Ordering::Relaxed);
    }
}

/// What is guarded is consistent between any two statements, so a panic elsewhere does not matter.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
