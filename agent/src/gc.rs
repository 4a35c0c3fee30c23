//! Garbage collection: what ended tasks leave on the disk, and when it is removed. These are the
//! output files of commands, and the worktrees of children that were kept.
//!
//! Nothing of an active task is touched, and no worktree in which something would be lost, unless
//! that is asked for. Only files and worktrees that a host made are candidates: files in the
//! agent's own folder, and folders in the place where [`worktree`] makes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime},
};

use serde::Serialize;
use wakeful_core::{
    host::opening,
    id::{AgentId, TaskId},
    machine::Options,
    record::{Record, task::TaskRecord},
    time::Timestamp,
};
use wakeful_host::{driver, ledger};

use crate::{
    confine::{Confinement, Leftovers, Policy, Wall, Workspace},
    context::{Context, Setup},
    ground::{CHILDREN, Ground},
    openai::Cancel,
    supervision::Supervision,
    tools::noted,
    worktree::{self, Cleanup, Worktree},
};

/// The time in which a file without a task may belong to a command of an open turn. No turn waits
/// for a command as long as this.
const IN_USE: Duration = Duration::from_hours(1);

/// The time between two collections of a live host.
const PERIOD: Duration = Duration::from_hours(1);

/// The file whose time says when a live host last collected, in the agent's own folder.
const STAMP: &str = "collected";

/// What a collection needs to know.
#[derive(Clone, Debug)]
pub struct Store {
    /// The file or store with the ledgers.
    pub ledgers: PathBuf,
    /// The agent's own folder.
    pub home: PathBuf,
    /// The policy of the agent's commands, for git.
    pub policy: Policy,
    /// What keeps git in the repository.
    pub wall: Wall,
    /// The program that confines commands: this one.
    pub launcher: PathBuf,
}

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// The longest time.
    pub age: Duration,
    /// The most bytes of all leftovers together; the oldest go first.
    pub bytes: u64,
}

impl From<Leftovers> for Keep {
    fn from(of: Leftovers) -> Self {
        Self { age: Duration::from_secs(of.days.saturating_mul(86_400)), bytes: of.bytes }
    }
}

/// What kind of thing is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The output file of a command.
    Output,
    /// The worktree of a child.
    Worktree,
}

/// Something that is left of an ended task.
#[derive(Clone, Debug, Serialize)]
pub struct Leftover {
    /// What it is.
    pub kind: Kind,
    /// Its place.
    pub path: PathBuf,
    /// Its length, in bytes.
    pub bytes: u64,
    /// When it was last written, or its task ended.
    pub since: Timestamp,
    /// The agent whose task left it. `None` if no task did: the command ended within its turn.
    pub agent_id: Option<AgentId>,
    /// The task that left it.
    pub task_id: Option<TaskId>,
    #[serde(skip)]
    worktree: Option<Worktree>,
}

/// What becomes of a leftover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays, because it is young and there is room for it.
    Stays,
    /// It stays, although it is old or there is no room for it. The text says why.
    Held(String),
    /// It is removed.
    Goes,
}

/// Why nothing can be collected.
#[derive(Debug, thiserror::Error)]
pub enum GcError {
    /// The file or store cannot be read.
    #[error(transparent)]
    Place(#[from] ledger::StoreError),
    /// The ledger of an agent cannot be read, so it is unknown which of its tasks are active.
    #[error("`{}`, agent `{agent}`: {why}; nothing was removed", path.display())]
    Ledger {
        /// The file.
        path: PathBuf,
        /// The agent.
        agent: AgentId,
        /// Why.
        why: Box<wakeful_core::host::SchedulerError>,
    },
}

/// What the ledgers of a file say about the disk.
#[derive(Default)]
struct Known {
    /// The output files of active tasks.
    active: BTreeSet<PathBuf>,
    /// The output files of ended tasks, each with its task and the task's end.
    ended: BTreeMap<PathBuf, (AgentId, TaskId, Timestamp)>,
    /// The tasks that supervised a child in a worktree, and have ended.
    children: Vec<(AgentId, TaskId, Timestamp, Worktree)>,
    /// The worktrees of active tasks.
    in_use: BTreeSet<PathBuf>,
}

impl Known {
    fn read(path: &Path) -> Result<Self, GcError> {
        let place = ledger::Store::open_read_only(path)?;
        let mut known = Self::default();
        for agent in place.agents()? {
            let mut ledger = place.ledger(&agent);
            let opened = opening::open(&Options::new(agent.clone()), &mut ledger);
            let (machine, _) = opened.map_err(|why| GcError::Ledger {
                path: path.to_owned(),
                agent: agent.clone(),
                why: Box::new(why),
            })?;
            let state = machine.state();
            state.active_tasks().for_each(|task| known.active(task));
            for (_, seq) in state.tasks().ended.values() {
                // What an archive that is missing says about a task is unknown, and so is its age.
                if let Some(entry) = driver::entry_at(&mut ledger, *seq)
                    && let Record::Task(task) = entry.record
                {
                    known.ended(&task);
                }
            }
        }
        Ok(known)
    }

    fn active(&mut self, task: &TaskRecord) {
        self.active.extend(output_path(task));
        self.in_use.extend(worktree_of(task).map(|worktree| real(&worktree.worktree_path)));
    }

    fn ended(&mut self, task: &TaskRecord) {
        let of = (task.agent_id.clone(), task.id.clone(), task.updated_at);
        if let Some(worktree) = worktree_of(task) {
            self.children.push((of.0.clone(), of.1.clone(), of.2, worktree));
        }
        self.ended.extend(output_path(task).map(|path| (path, of)));
    }
}

fn output_path(task: &TaskRecord) -> Option<PathBuf> {
    noted::<String>(task, "output_path").map(|path| real(Path::new(&path)))
}

fn worktree_of(task: &TaskRecord) -> Option<Worktree> {
    let supervision = Supervision::from_detail(task.detail.as_ref()?)?;
    serde_json::from_value(supervision.worktree?).ok()
}

/// A path with its links resolved, if it exists.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

impl Store {
    /// What ended tasks have left, the oldest first.
    ///
    /// # Errors
    /// If a ledger cannot be read.
    pub fn leftovers(&self) -> Result<Vec<Leftover>, GcError> {
        let known = Known::read(&self.ledgers)?;
        let mut all = self.output_files(&known);
        all.extend(known.children.iter().filter_map(|child| self.kept_worktree(&known, child)));
        all.sort_by(|a, b| (a.since, &a.path).cmp(&(b.since, &b.path)));
        Ok(all)
    }

    fn output_files(&self, known: &Known) -> Vec<Leftover> {
        let homes = fs::read_dir(self.home.join(CHILDREN)).into_iter().flatten().flatten();
        let homes = homes.map(|entry| entry.path()).chain([self.home.clone()]);
        let files = homes.flat_map(|home| fs::read_dir(home.join("output")).into_iter().flatten());
        let files = files.flatten().map(|entry| entry.path());
        files.filter_map(|path| output_file(known, path)).collect()
    }

    /// The worktree of an ended task, if it was kept and still exists.
    fn kept_worktree(
        &self,
        known: &Known,
        (agent, task, ended, worktree): &(AgentId, TaskId, Timestamp, Worktree),
    ) -> Option<Leftover> {
        let path = &worktree.worktree_path;
        // A record can name any folder, but only what a host made may be removed.
        if !path.is_dir() || !is_made_by_a_host(worktree) || known.in_use.contains(&real(path)) {
            return None;
        }
        Some(Leftover {
            kind: Kind::Worktree,
            path: path.clone(),
            bytes: length_of_folder(path),
            since: *ended,
            agent_id: Some(agent.clone()),
            task_id: Some(task.clone()),
            worktree: Some(worktree.clone()),
        })
    }

    /// What becomes of each leftover. They are looked at from the oldest on, until none is too old
    /// and the rest has room.
    #[must_use]
    pub fn fates(
        &self,
        leftovers: Vec<Leftover>,
        keep: Keep,
        is_forced: bool,
        cancel: &Cancel,
    ) -> Vec<(Leftover, Fate)> {
        let now = now();
        let mut left: u64 = leftovers.iter().map(|leftover| leftover.bytes).sum();
        let fate = |leftover: Leftover| {
            let is_old = now.duration_since(leftover.since) > keep.age;
            if !is_old && left <= keep.bytes {
                return (leftover, Fate::Stays);
            }
            let held = match is_forced {
                true => None,
                false => self.would_lose(&leftover, cancel),
            };
            if let Some(why) = held {
                return (leftover, Fate::Held(why));
            }
            left -= leftover.bytes;
            (leftover, Fate::Goes)
        };
        leftovers.into_iter().map(fate).collect()
    }

    /// What would be lost with a leftover, or why that is unknown.
    fn would_lose(&self, leftover: &Leftover, cancel: &Cancel) -> Option<String> {
        let (Some(worktree), Some(task)) = (&leftover.worktree, &leftover.task_id) else {
            return None;
        };
        let lost = self.confinements(worktree, task).and_then(|(of_commands, of_git)| {
            worktree::loss(worktree, &of_commands, &of_git, cancel)
        });
        lost.unwrap_or_else(|why| Some(format!("git cannot read it: {why}")))
    }

    /// Removes a leftover.
    ///
    /// # Errors
    /// Why it is still there.
    pub fn remove(&self, leftover: &Leftover, cancel: &Cancel) -> Result<(), String> {
        let (Some(worktree), Some(task)) = (&leftover.worktree, &leftover.task_id) else {
            return match fs::remove_file(&leftover.path) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why.to_string()),
                _ => Ok(()),
            };
        };
        let (_, of_git) = self.confinements(worktree, task)?;
        match worktree::discard(worktree, Some(&of_git), cancel) {
            Cleanup::Failed { error } => Err(error),
            _ => Ok(()),
        }
    }

    /// The confinement of the commands that worked in a worktree, and that of git.
    fn confinements(
        &self,
        worktree: &Worktree,
        task: &TaskId,
    ) -> Result<(Confinement, Confinement), String> {
        let workspace = Workspace::new(&worktree.original_cwd).map_err(|why| why.to_string())?;
        let parent = Ground {
            workspace,
            home: self.home.clone(),
            policy: self.policy.clone(),
            wall: self.wall,
            launcher: self.launcher.clone(),
            also_read: Vec::new(),
            also_write: Vec::new(),
        };
        let child = parent.of_child(task, Some(worktree))?;
        let layout = worktree::layout(&worktree.original_cwd).map_err(|why| why.to_string())?;
        // A confinement leaves out what does not exist, and its folder for temporary files must.
        for home in [&parent.home, &child.home] {
            fs::create_dir_all(home.join("tmp")).map_err(|why| why.to_string())?;
        }
        let of_commands = child.without_network().map_err(|why| why.to_string())?;
        let of_git =
            parent.of_git(&layout, &worktree.worktree_path).map_err(|why| why.to_string())?;
        Ok((of_commands, of_git))
    }
}

fn output_file(known: &Known, path: PathBuf) -> Option<Leftover> {
    // Not of what a link leads to.
    let metadata = fs::symlink_metadata(&path).ok()?;
    let path = real(&path);
    // The log of the requests of commands is there too, and bounds itself.
    let is_output = metadata.is_file() && path.extension().is_some_and(|end| end == "log");
    if !is_output || known.active.contains(&path) {
        return None;
    }
    let written = metadata.modified().ok()?;
    let of = known.ended.get(&path);
    // Without a task it belongs to a command that has ended within its turn, or will.
    if of.is_none() && written.elapsed().is_ok_and(|since| since < IN_USE) {
        return None;
    }
    let (agent_id, task_id) = match of {
        Some((agent, task, _)) => (Some(agent.clone()), Some(task.clone())),
        None => (None, None),
    };
    Some(Leftover {
        kind: Kind::Output,
        bytes: metadata.len(),
        since: timestamp(written),
        agent_id,
        task_id,
        worktree: None,
        path,
    })
}

/// Whether a worktree is in the place where a host makes them, beside its repository.
fn is_made_by_a_host(worktree: &Worktree) -> bool {
    let path = &worktree.worktree_path;
    let is_named = path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| worktree.worktree_branch == format!("{name}/work"));
    let is_there = worktree::layout(&worktree.original_cwd)
        .is_ok_and(|layout| path.parent().is_some_and(|parent| real(parent) == layout.worktrees));
    // A link would lead git elsewhere.
    is_named && is_there && fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// The bytes of all files below a folder. Links are not followed.
fn length_of_folder(folder: &Path) -> u64 {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => bytes += metadata.len(),
                // It has disappeared meanwhile.
                Err(_) => {}
            }
        }
    }
    bytes
}

fn timestamp(time: SystemTime) -> Timestamp {
    let nanos = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    Timestamp::from_nanos(nanos.try_into().unwrap_or_default())
}

fn now() -> Timestamp {
    timestamp(SystemTime::now())
}

/// The collection of a live host, on a thread of its own: git may take long.
#[derive(Default)]
pub(crate) struct Collector {
    thread: Option<JoinHandle<()>>,
    cancel: Cancel,
    looked: Option<Instant>,
}

impl Collector {
    /// Collects if the last collection of this folder is long enough ago, also by another process.
    pub(crate) fn collect(&mut self, context: &Arc<Context>) {
        // A child has its place in the folder of its parent, which collects for both.
        if context.is_child || self.looked.is_some_and(|at| at.elapsed() < PERIOD) {
            return;
        }
        self.looked = Some(Instant::now());
        let stamp = context.home.join(STAMP);
        let collected = fs::metadata(&stamp).and_then(|metadata| metadata.modified()).ok();
        let is_recent = |at: SystemTime| at.elapsed().is_ok_and(|since| since < PERIOD);
        // Without the stamp the next process would collect again at once.
        if collected.is_some_and(is_recent) || fs::write(&stamp, "").is_err() {
            return;
        }
        let (context, cancel) = (Arc::clone(context), self.cancel.clone());
        let thread = thread::Builder::new().name("collector".to_owned());
        // If there is no thread for it, the next hour has one.
        self.thread = thread.spawn(move || run(&context, &cancel)).ok();
    }

    /// Ends a collection. What it has not removed yet stays.
    pub(crate) fn stop(&mut self) {
        self.cancel.cancel();
        // If it panicked, nothing depends on it.
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

impl Setup {
    /// What a collection needs; `None` for a store in PostgreSQL, whose agents are too many for one
    /// process to read.
    fn collected(&self) -> Option<Store> {
        Some(Store {
            ledgers: self.store.file()?.path().to_owned(),
            home: self.home.clone(),
            policy: self.policy.clone(),
            wall: self.wall,
            launcher: self.launcher.clone(),
        })
    }
}

fn run(context: &Context, cancel: &Cancel) {
    let Some(store) = context.collected() else { return };
    let notice = |said: &str| context.audience.notice(&context.agent_id, said);
    let leftovers = match store.leftovers() {
        Ok(leftovers) => leftovers,
        Err(why) => return notice(&format!("what ended tasks left is not collected: {why}")),
    };
    let fates = store.fates(leftovers, context.policy.leftovers.into(), false, cancel);
    let (mut count, mut bytes) = (0, 0);
    for (leftover, _) in fates.iter().filter(|(_, fate)| *fate == Fate::Goes) {
        if cancel.is_cancelled() {
            break;
        }
        match store.remove(leftover, cancel) {
            Ok(()) => {
                count += 1;
                bytes += leftover.bytes;
            }
            Err(why) => notice(&format!("`{}` cannot be removed: {why}", leftover.path.display())),
        }
    }
    if count > 0 {
        let leftovers = if count == 1 { "leftover" } else { "leftovers" };
        notice(&format!("removed {count} {leftovers} of ended tasks, {bytes} bytes"));
    }
}
