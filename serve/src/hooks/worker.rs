//! The thread of a hook: it follows the ledgers, and sends one event after the other.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use wakeful_core::{host::Clock, json, record::chain::Head};
use wakeful_host::clock::SystemClock;

use super::{
    Hook, HookOptions, KEPT, Watched,
    cursor::Cursor,
    event::{self, Event},
    send::{Next, Sender, Undelivered},
};
use crate::{
    agents::{
        Agents, Cell,
        tail::{self, Stop},
    },
    outgoing::jittered,
};

/// The longest wait for news.
const LONGEST: Duration = Duration::from_secs(1);

/// The positions are written after this many delivered events, or after this time, so that many
/// events share an fsync. After a crash, the events since then are sent again under their ids.
const MOST_UNSAVED: u32 = 32;
const UNSAVED: Duration = Duration::from_millis(200);

/// The time after which positions are written that only passed entries without an event.
const PASSED: Duration = Duration::from_secs(60);

/// Looks after a hook until it ends.
pub(super) fn work(agents: &Arc<Agents>, options: &HookOptions, watched: &Arc<Watched>) {
    let mut worker = Worker {
        agents,
        options,
        watched,
        // Only one hook is the program's, and it has no address.
        sender: match &options.command {
            Some(program) if watched.now().hook.url.is_empty() => Sender::Program(program.clone()),
            _ => Sender::over_http(options.allows_http),
        },
        heads: HashMap::new(),
        stopped: BTreeSet::new(),
        later: BTreeSet::new(),
        unsaved: 0,
        saved: Instant::now(),
    };
    while worker.follow() {}
    watched.change(|now| now.is_gone = true);
}

struct Worker<'a> {
    agents: &'a Arc<Agents>,
    options: &'a HookOptions,
    watched: &'a Arc<Watched>,
    sender: Sender,
    /// The head of each agent at its position, by number, for those that were read.
    heads: HashMap<usize, Head>,
    /// The agents whose ledgers are broken.
    stopped: BTreeSet<usize>,
    /// Those that the store did not give, which are read again.
    later: BTreeSet<usize>,
    /// Events that were delivered since the positions were written, and when that was.
    unsaved: u32,
    saved: Instant,
}

/// Whether the thread goes on where it is.
#[derive(PartialEq, Eq)]
enum Going {
    On,
    /// The positions were set anew.
    Anew,
    /// The hook or the server has ended.
    Ended,
}

impl Worker<'_> {
    /// Follows all agents from the stored positions. Returns whether to do so again.
    fn follow(&mut self) -> bool {
        let begun = self.watched.now().begun;
        if self.watched.now().hook.is_off {
            return self.pause(Duration::MAX, begun) != Going::Ended;
        }
        let mut cursor = match Cursor::load(self.agents.store(), &self.watched.name) {
            Ok(cursor) => cursor,
            Err(why) => {
                self.failing(&format!("its positions cannot be read: {why}"));
                return self.pause(self.options.first_wait, begun) != Going::Ended;
            }
        };
        self.heads.clear();
        self.stopped.clear();
        self.later.clear();
        // The list of changes names each agent at least once, so all are looked at.
        let mut at = 0;
        loop {
            match self.going(begun) {
                Going::On => {}
                Going::Anew => return true,
                Going::Ended => {
                    self.save(&mut cursor, begun);
                    return false;
                }
            }
            let Some((turn, number)) = self.agents.changes.next(at) else {
                let patience = if self.unsaved > 0 { UNSAVED } else { PASSED };
                let left = patience.saturating_sub(self.saved.elapsed());
                if left.is_zero() {
                    self.save(&mut cursor, begun);
                }
                at = self.agents.changes.wait(at, left.clamp(UNSAVED, LONGEST));
                for number in std::mem::take(&mut self.later) {
                    let Some(cell) = self.agents.numbered(number) else { continue };
                    self.read(&cell, &mut cursor, begun);
                }
                continue;
            };
            let Some(cell) = self.agents.numbered(number) else { continue };
            if self.read(&cell, &mut cursor, begun) {
                at = turn;
            }
        }
    }

    /// Sends what is new of an agent. Returns whether that was all.
    fn read(&mut self, cell: &Cell, cursor: &mut Cursor, begun: u64) -> bool {
        let hook = Arc::clone(&self.watched.now().hook);
        let is_asked = hook.agent_id.as_ref().is_none_or(|agent| *agent == cell.agent);
        let from = cursor.of(&cell.agent);
        if !is_asked || self.stopped.contains(&cell.number) || from == cell.head() {
            return true;
        }
        loop {
            let (events, is_all) = match self.events(cell, cursor, &hook) {
                Ok(found) => found,
                Err(Stop::Store(why)) => {
                    self.failing(&format!("{}: {why}", cell.agent));
                    self.later.insert(cell.number);
                    return true;
                }
                Err(Stop::Broken(why)) => {
                    self.agents.tell(&format!(
                        "the hook `{}` learns no more of `{}`: {why}",
                        self.watched.name, cell.agent
                    ));
                    self.stopped.insert(cell.number);
                    return true;
                }
            };
            for (head, event) in events {
                if let Some(event) = event {
                    if self.deliver(&event, cursor, begun) != Going::On {
                        self.heads.remove(&cell.number);
                        return false;
                    }
                    self.unsaved += 1;
                }
                cursor.set(&cell.agent, head.seq);
                self.heads.insert(cell.number, head);
                if self.unsaved >= MOST_UNSAVED
                    || self.unsaved > 0 && self.saved.elapsed() >= UNSAVED
                {
                    self.save(cursor, begun);
                }
            }
            if is_all {
                return true;
            }
            if self.going(begun) != Going::On {
                return false;
            }
        }
    }

    /// The next events of an agent, each with the head after it, and at last the head up to which
    /// there is none. Also whether there are no more.
    #[allow(clippy::type_complexity)]
    fn events(
        &mut self,
        cell: &Cell,
        cursor: &Cursor,
        hook: &Hook,
    ) -> Result<(Vec<(Head, Option<Event>)>, bool), Stop> {
        let position = cursor.of(&cell.agent);
        let mut head = match self.heads.get(&cell.number) {
            Some(head) => *head,
            None => self.head_at(cell, position)?,
        };
        let mut events = Vec::new();
        let is_all = !tail::read_on(self.agents, cell, &mut head, tail::all, |entry, _| {
            let asks = |kind| hook.events.contains(&kind);
            if let Some(event) = event::of(&hook.id, asks, &cell.agent, entry) {
                events.push((entry.head(), Some(event)));
            }
        })?;
        events.push((head, None));
        Ok((events, is_all))
    }

    fn head_at(&self, cell: &Cell, position: wakeful_core::id::Seq) -> Result<Head, Stop> {
        let mut ledger = self.agents.reading(cell);
        let newest = ledger.head()?;
        // A ledger that was set back goes on with other entries, which the hook gets.
        if position >= newest.seq {
            return Ok(newest);
        }
        tail::head_at(&mut ledger, position)
    }

    /// Sends an event until it is delivered or given up.
    fn deliver(&mut self, event: &Event, cursor: &mut Cursor, begun: u64) -> Going {
        let mut wait = self.options.first_wait;
        loop {
            match self.going(begun) {
                Going::On => {}
                other => return other,
            }
            let hook = Arc::clone(&self.watched.now().hook);
            let Undelivered { why, next } = match self.sender.send(&hook, event) {
                Ok(()) => {
                    self.agents.metrics.sent("delivered");
                    cursor.settle();
                    self.works();
                    return Going::On;
                }
                Err(undelivered) => undelivered,
            };
            self.agents.metrics.sent("failed");
            let asked = match next {
                Next::Unsaid => Duration::ZERO,
                Next::After(wait) => wait.min(self.options.longest_wait),
                Next::Never => {
                    self.turn_off(&hook, &why);
                    continue;
                }
            };
            let now = SystemClock.now();
            let since = cursor.owe(&event.id, now);
            if now.duration_since(since) >= self.options.give_up {
                self.agents.metrics.sent("given_up");
                self.agents.tell(&format!(
                    "the hook `{}` does not get `{}`, which was tried since {since}: {why}",
                    self.watched.name, event.id
                ));
                cursor.settle();
                return Going::On;
            }
            self.failing(&why);
            self.save(cursor, begun);
            match self.pause(jittered(wait).max(asked), begun) {
                Going::On => {}
                other => return other,
            }
            wait = (wait * 2).min(self.options.longest_wait);
        }
    }

    fn going(&self, begun: u64) -> Going {
        let now = self.watched.now();
        match (now.has_ended, now.begun == begun) {
            (true, _) => Going::Ended,
            (false, true) => Going::On,
            (false, false) => Going::Anew,
        }
    }

    /// Waits, but not longer than until the hook changes.
    fn pause(&self, wait: Duration, begun: u64) -> Going {
        let now = self.watched.now();
        let hook = Arc::clone(&now.hook);
        let waited = self.watched.rang.wait_timeout_while(now, wait, |now| {
            !now.has_ended && now.begun == begun && Arc::ptr_eq(&now.hook, &hook)
        });
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        self.going(begun)
    }

    /// Writes the positions, unless they are no longer this thread's. What was delivered meanwhile
    /// is otherwise delivered twice.
    fn save(&mut self, cursor: &mut Cursor, begun: u64) {
        let now = self.watched.now();
        // While this is held, the hook is neither deleted nor begun anew.
        if now.begun != begun || now.is_deleted {
            return;
        }
        let saved = cursor.save(self.agents.store());
        drop(now);
        match saved {
            Ok(()) => {
                self.unsaved = 0;
                self.saved = Instant::now();
            }
            Err(why) => self.failing(&format!("its positions cannot be written: {why}")),
        }
    }

    /// The hook fails. It is told once, and shown with the hook.
    fn failing(&self, why: &str) {
        let is_news = self.watched.now().failing.replace(why.to_owned()).is_none();
        if is_news {
            self.agents.tell(&format!("the hook `{}` fails: {why}", self.watched.name));
        }
    }

    /// Turns the hook off, unless it was put again meanwhile.
    fn turn_off(&self, hook: &Arc<Hook>, why: &str) {
        let mut now = self.watched.now();
        if !Arc::ptr_eq(&now.hook, hook) || now.is_deleted {
            return;
        }
        let off = Hook { is_off: true, ..Hook::clone(hook) };
        // If it cannot be written, the hook is off until the server starts anew.
        let kept = self.agents.store().keep(KEPT, &self.watched.name, &json::write(&off));
        now.hook = off.into();
        now.failing = Some(why.to_owned());
        now.begun += 1;
        drop(now);
        self.agents.tell(&format!("the hook `{}` is off: {why}", self.watched.name));
        if let Err(why) = kept {
            self.failing(&format!("that it is off cannot be written: {why}"));
        }
    }

    fn works(&self) {
        if self.watched.now().failing.take().is_some() {
            self.agents.tell(&format!("the hook `{}` works again", self.watched.name));
        }
    }
}
