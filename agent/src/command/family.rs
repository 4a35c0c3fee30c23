//! The processes of a command, including those that left its process group.
//!
//! A process belongs to a command if it is in the command's process group or session, or carries
//! the command's mark in its environment. A process that was once seen as a descendant of such a
//! process belongs to it too. So a process is lost only if it leaves the group, clears its
//! environment and loses its parent before the next look.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::fd::OwnedFd,
    process, thread,
    time::{Duration, Instant},
};

use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
};

/// The environment variable that names the command of a process.
pub const MARK: &str = "WAKEFUL_TASK";

/// The number of kill rounds, and the pause between them: a process may start others meanwhile.
const KILL_ROUNDS: usize = 100;
const KILL_PAUSE: Duration = Duration::from_millis(10);

/// The grace period of leftovers of an earlier host.
const SWEEP_GRACE: Duration = Duration::from_secs(1);

/// The processes of one command.
#[derive(Debug)]
pub(super) struct Family {
    leader: Pid,
    /// By what its processes are known. Without a mark they have a process namespace, which none of
    /// them can leave; the leader waits outside it, and its end is the end of all.
    mark: Option<String>,
    /// Processes that were seen. One of them still belongs to the command after its parent has
    /// ended.
    seen: BTreeSet<Identity>,
}

impl Family {
    /// The processes of the command whose own process is `leader`. Valid until that process is
    /// reaped, because its id is not reused before.
    pub(super) fn marked(leader: Pid, mark: String) -> Self {
        Self { leader, mark: Some(mark), seen: BTreeSet::new() }
    }

    /// The processes in the namespace that `leader` has made.
    pub(super) fn in_namespaces(leader: Pid) -> Self {
        Self { leader, mark: None, seen: BTreeSet::new() }
    }

    /// Sends a signal to each process once.
    pub(super) fn signal(&mut self, signal: Signal) {
        let group = self.leader.as_raw_pid();
        // Find them first: the signal may end the parents by which others are found.
        let members = self.members();
        if self.mark.is_none() {
            // Not the leader: it would end all at once, without a grace period.
            return send(members.iter(), signal);
        }
        // Signal the group in one step, so that a process that is just being created is not missed.
        let _gone = kill_process_group(self.leader, signal);
        send(members.iter().filter(|one| one.group != group), signal);
    }

    /// Kills all processes, and those that they start meanwhile.
    pub(super) fn kill(&mut self) {
        if self.mark.is_none() {
            // The kernel ends the namespace with it.
            let _gone = kill_process(self.leader, Signal::KILL);
            return;
        }
        self.signal(Signal::KILL);
        kill(|| self.members());
    }

    /// Whether no process is alive.
    pub(super) fn is_gone(&mut self) -> bool {
        self.members().is_empty()
    }

    fn members(&mut self) -> Vec<Process> {
        let leader = self.leader.as_raw_pid();
        let Some(mark) = self.mark.as_deref().map(str::as_bytes) else {
            return with_descendants(living(), |_| false, leader);
        };
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

/// Ends every process whose mark begins with `prefix`, and returns their number. These are commands
/// of an earlier host process that was killed and so could not stop them. The host itself and its
/// ancestors are spared.
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
        // A process may have ended already, or belong to another user.
        let _gone = pidfd_send_signal(&one.handle, signal);
    }
}

/// A living process. Its pidfd was opened before anything else was read, so a signal never reaches
/// another process with the same id.
struct Process {
    handle: OwnedFd,
    id: i32,
    parent: i32,
    group: i32,
    session: i32,
    /// The start time, in ticks since boot.
    started: u64,
    mark: Option<Vec<u8>>,
}

/// A process id and its start time, which together are unique.
type Identity = (i32, u64);

impl Process {
    fn identity(&self) -> Identity {
        (self.id, self.started)
    }
}

/// All living processes that can be read, except this one and its ancestors.
fn living() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: BTreeMap<i32, Process> =
        ids.filter_map(process_of).map(|one| (one.id, one)).collect();
    // A host that runs inside a command of another agent inherits that command's mark. It must not
    // end itself.
    let mut own = i32::try_from(process::id()).ok();
    while let Some(ancestor) = own.and_then(|id| found.remove(&id)) {
        own = Some(ancestor.parent);
    }
    found.into_values().collect()
}

fn process_of(id: i32) -> Option<Process> {
    let handle = pidfd_open(Pid::from_raw(id)?, PidfdFlags::empty()).ok()?;
    let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
    // The name is in parentheses and may contain anything; the fields follow the last one.
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace();
    // A process that has ended but is not reaped would count as alive, and no signal could change
    // that.
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let mut number = || fields.next()?.parse::<i32>().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    // Field 22 of `stat`: fifteen other fields are between the session and it.
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

/// The processes that are `own`, and all that descend from them or from `ancestor`.
fn with_descendants(
    mut all: Vec<Process>,
    own: impl Fn(&Process) -> bool,
    ancestor: i32,
) -> Vec<Process> {
    let mut chosen: BTreeSet<i32> = all.iter().filter(|one| own(one)).map(|one| one.id).collect();
    loop {
        let is_child = |one: &&Process| {
            // A sweep has no ancestor and passes 0, which is also the parent of the first process
            // of the system.
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
