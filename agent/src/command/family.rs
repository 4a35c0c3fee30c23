//! The processes of a command, also those that went away from it, found by what they carry.
//!
//! A process belongs to a command when it is in the command's process group or session, carries the
//! command's mark in its environment, or was once seen to descend from one that does. So only what
//! leaves the group, clears its environment and loses its parent before anyone looks is lost from
//! sight.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::fd::OwnedFd,
    process, thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

/// The environment variable that names the command to which a process belongs.
pub const MARK: &str = "WAKEFUL_TASK";

/// How often and how long apart what does not die is killed: it may start others meanwhile.
const KILL_ROUNDS: usize = 100;
const KILL_PAUSE: Duration = Duration::from_millis(10);

/// How long leftovers of an earlier host have to end by themselves.
const SWEEP_GRACE: Duration = Duration::from_secs(1);

/// A command's processes.
#[derive(Debug)]
pub(super) struct Family {
    leader: Pid,
    mark: String,
    /// Those that were seen; one whose parent has ended since is still known.
    seen: BTreeSet<Identity>,
}

impl Family {
    /// Of the command whose own process is `leader`. True until that process is reaped, since its
    /// id is not given again before.
    pub(super) fn new(leader: Pid, mark: String) -> Self {
        Self { leader, mark, seen: BTreeSet::new() }
    }

    /// Sends a signal to each of them, once.
    pub(super) fn signal(&mut self, signal: Signal) {
        let group = self.leader.as_raw_pid();
        // Looked for first: the signal may end the parents by which others are found.
        let members = self.members();
        // The group in one step, so that nothing in it is missed that is just being made.
        let _gone = kill_process_group(self.leader, signal);
        send(members.iter().filter(|one| one.group != group), signal);
    }

    /// Kills them all, and what they start meanwhile.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::KILL);
        kill(|| self.members());
    }

    /// Whether none of them lives any more.
    pub(super) fn is_gone(&mut self) -> bool {
        self.members().is_empty()
    }

    fn members(&mut self) -> Vec<Process> {
        let (leader, mark) = (self.leader.as_raw_pid(), self.mark.as_bytes());
        let is_marked = |one: &Process| one.mark.as_deref() == Some(mark);
        let is_own = |one: &Process| {
            one.group == leader
                || one.session == leader
                || is_marked(one)
                || self.seen.contains(&one.identity())
        };
        let members = with_descendants(living(), is_own, leader);
        self.seen.extend(members.iter().map(Process::identity));
        members
    }
}

/// Ends every process whose mark begins with `prefix`: what an earlier life of this host left
/// behind, for one that was killed cannot stop its commands. The host itself and those that it
/// descends from are spared. Gives how many there were.
pub fn sweep(prefix: &str) -> usize {
    let is_own =
        |one: &Process| one.mark.as_deref().is_some_and(|mark| mark.starts_with(prefix.as_bytes()));
    let find = || with_descendants(living(), is_own, 0);
    let found = find();
    send(found.iter(), Signal::TERM);
    let patience = Instant::now() + SWEEP_GRACE;
    while Instant::now() < patience && !find().is_empty() {
        thread::sleep(KILL_PAUSE);
    }
    kill(find);
    found.len()
}

fn kill(mut find: impl FnMut() -> Vec<Process>) {
    for _ in 0..KILL_ROUNDS {
        let found = find();
        if found.is_empty() {
            return;
        }
        send(found.iter(), Signal::KILL);
        thread::sleep(KILL_PAUSE);
    }
}

fn send<'a>(processes: impl Iterator<Item = &'a Process>, signal: Signal) {
    for one in processes {
        // One that is gone needs no signal, and one of another user takes none.
        let _gone = pidfd_send_signal(&one.handle, signal);
    }
}

/// A process that lives; its handle was opened before the rest was read, so a signal never meets
/// another one with the same id.
struct Process {
    handle: OwnedFd,
    id: i32,
    parent: i32,
    group: i32,
    session: i32,
    /// When it started, in ticks since the boot.
    started: u64,
    mark: Option<Vec<u8>>,
}

/// What no other process has: an id, and when it was given.
type Identity = (i32, u64);

impl Process {
    fn identity(&self) -> Identity {
        (self.id, self.started)
    }
}

/// Every process that lives and can be looked at, except this one and those that it descends from.
fn living() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: BTreeMap<i32, Process> =
        ids.filter_map(process_of).map(|one| (one.id, one)).collect();
    let mut own = i32::try_from(process::id()).ok();
    while let Some(ancestor) = own.and_then(|id| found.remove(&id)) {
        own = Some(ancestor.parent);
    }
    found.into_values().collect()
}

fn process_of(id: i32) -> Option<Process> {
    let handle = pidfd_open(Pid::from_raw(id)?, PidfdFlags::empty()).ok()?;
    let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
    // The name stands in parentheses and may hold anything; the fields follow the last one.
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let mut number = || fields.next()?.parse::<i32>().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    // Fifteen more fields stand before it.
    let started = fields.nth(15)?.parse().ok()?;
    let mark =
        fs::read(format!("/proc/{id}/environ")).ok().and_then(|environment| mark_in(&environment));
    Some(Process { handle, id, parent, group, session, started, mark })
}

fn mark_in(environment: &[u8]) -> Option<Vec<u8>> {
    let mut variables = environment.split(|byte| *byte == 0);
    variables
        .find_map(|one| one.strip_prefix(MARK.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec))
}

/// Those that are `own`, and all that descend from them or from `ancestor`.
fn with_descendants(
    mut all: Vec<Process>,
    own: impl Fn(&Process) -> bool,
    ancestor: i32,
) -> Vec<Process> {
    let mut chosen: BTreeSet<i32> = all.iter().filter(|one| own(one)).map(|one| one.id).collect();
    loop {
        let is_child = |one: &&Process| {
            chosen.contains(&one.parent) || (one.parent == ancestor && ancestor != 0)
        };
        let more: Vec<i32> = all
            .iter()
            .filter(|one| !chosen.contains(&one.id))
            .filter(is_child)
            .map(|one| one.id)
            .collect();
        if more.is_empty() {
            break;
        }
        chosen.extend(more);
    }
    all.retain(|one| chosen.contains(&one.id));
    all
}
