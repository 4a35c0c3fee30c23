//! One watch over the store for all agents: it sees what other processes append, and drops states
//! that nobody asked for a while.

use std::{
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use wakeful_core::record::chain::Head;
use wakeful_host::ledger::{SqliteFile, StoreError};

use super::{Agents, held};
use crate::problem::Problem;

/// The time between two looks. A look asks SQLite for one number.
const LOOK: Duration = Duration::from_millis(50);

/// The rest after a look at all agents, by the time that it took.
const REST: u32 = 20;

/// The looks between two searches for states to drop.
const TIDY: u32 = 20;

impl Agents {
    /// Watches until the end.
    pub(super) fn watch(self: &Arc<Self>, file: &SqliteFile) {
        self.look_at_all();
        self.is_ready.store(true, Ordering::Release);
        let mut looks = 0_u32;
        let mut rests_until = Instant::now();
        while !self.has_ended.load(Ordering::Acquire) {
            thread::sleep(LOOK);
            looks = looks.wrapping_add(1);
            let began = Instant::now();
            let seen = if began < rests_until { Ok(false) } else { self.look_if_changed(file) };
            if seen.as_ref().is_ok_and(|looked| *looked) {
                // Of many agents, this takes long. A process that appends without pause must not
                // keep this one busy.
                rests_until = Instant::now() + began.elapsed() * REST;
            }
            *held(&self.lost) = match (seen, file.lost()) {
                (Ok(_), None) => None,
                (_, Some(lost)) => Some(lost.to_string()),
                (Err(why), None) => Some(why.detail),
            };
            if looks.is_multiple_of(TIDY) {
                self.tidy();
            }
        }
    }

    /// Reads every agent once, so that each token is known and what is due is on the agenda.
    fn look_at_all(self: &Arc<Self>) {
        let all = self.all();
        let threads = thread::available_parallelism().map_or(1, usize::from).min(8);
        thread::scope(|scope| {
            for part in all.chunks(all.len().div_ceil(threads).max(1)) {
                scope.spawn(move || {
                    for cell in part {
                        if self.has_ended.load(Ordering::Acquire) {
                            return;
                        }
                        self.first_look(cell);
                    }
                });
            }
        });
    }

    fn first_look(self: &Arc<Self>, cell: &Arc<super::Cell>) {
        let mut inner = cell.inner();
        let Some(brief) = self.look(cell, &mut inner) else { return };
        if cell.turns().is_some() && !brief.is_unfinished && !brief.is_closed {
            inner.rested_at = Some(brief.head);
            self.agenda.set(cell.number, brief.next_wake);
        }
        drop(inner);
        // Only what is asked for stays in memory.
        cell.drop_state();
    }

    /// Finds the agents to which another process appended, and those that are new.
    fn look_again(self: &Arc<Self>) -> Result<(), Problem> {
        self.read_access()?;
        let mut registered = None;
        for (agent, head) in self.reads.heads()? {
            match self.cell(&agent) {
                Ok(cell) => {
                    if cell.head() != head.seq {
                        cell.heard(head.seq);
                        self.agenda.now(cell.number);
                    }
                }
                Err(_) => {
                    let registered = match &mut registered {
                        Some(registered) => registered,
                        none => none.insert(self.registered()?),
                    };
                    let turns = self.turns_of(registered.get(agent.as_str()));
                    let cell = self.add(agent, (Head::START, head), turns);
                    self.agenda.now(cell.number);
                }
            }
        }
        Ok(())
    }

    /// Looks at all agents if another process changed the file since the last look. Returns whether
    /// it did.
    fn look_if_changed(self: &Arc<Self>, file: &SqliteFile) -> Result<bool, Problem> {
        let mut seen = held(&self.seen);
        let found = file.version().map_err(StoreError::from)?;
        if found == *seen {
            return Ok(false);
        }
        self.look_again()?;
        *seen = found;
        Ok(true)
    }

    /// Sees what other processes have appended until now, for a token that is not known. Anybody
    /// can ask for it, so it costs next to nothing if they have appended nothing.
    pub(crate) fn look_closer(self: &Arc<Self>) -> Result<(), Problem> {
        if let Some(file) = self.store.file() {
            self.look_if_changed(file)?;
        }
        for cell in self.all() {
            if cell.head() != cell.brief().head.seq {
                self.look(&cell, &mut cell.inner());
            }
        }
        Ok(())
    }

    /// Drops states that nobody asked for a while, and the oldest of too many.
    pub(super) fn tidy(&self) {
        let now = self.second();
        let idle = self.limits.resident_idle.as_secs();
        let mut resident: Vec<_> =
            self.all().into_iter().filter_map(|cell| Some((cell.used()?, cell))).collect();
        resident.sort_by_key(|(used, _)| *used);
        let mut too_many = resident.len().saturating_sub(self.limits.resident_agents);
        for (used, cell) in resident {
            if now.saturating_sub(used) >= idle || too_many > 0 {
                cell.drop_state();
                too_many = too_many.saturating_sub(1);
            }
        }
    }
}
