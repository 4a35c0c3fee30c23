//! Commands in a temporary folder, and helpers to watch them.

use std::{
    collections::BTreeMap,
    env, fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use wakeful_agent::command::{Exit, Limits, Running, Spec};

/// A limit only for tests that hang: none depends on how fast the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);

static COMMANDS: AtomicU32 = AtomicU32::new(0);

/// A folder in which commands run.
pub(crate) struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command that runs here, plain and without input, with a mark of its own.
    pub(crate) fn spec(&self, cmd: &str) -> Spec {
        let number = COMMANDS.fetch_add(1, Ordering::Relaxed);
        Spec {
            cmd: cmd.to_owned(),
            workdir: self.folder.path().to_owned(),
            shell: None,
            login: false,
            tty: false,
            accepts_input: false,
            environment: BTreeMap::from([("PATH".to_owned(), env::var("PATH").expect("a PATH"))]),
            mark: format!("test-{}/{number}", std::process::id()),
            redactor: Arc::default(),
        }
    }

    pub(crate) fn start(&self, spec: &Spec, limits: &Limits) -> Running {
        let output = self.path(&format!("output-{}", COMMANDS.fetch_add(1, Ordering::Relaxed)));
        Running::start(spec, limits, None, &output).expect("it starts")
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, cmd: &str) -> (Running, Exit) {
        let running = self.start(&self.spec(cmd), &Limits::default());
        let exit = ended(&running);
        (running, exit)
    }

    /// The process ids that commands wrote into a file here, once there are `count` of them.
    pub(crate) fn pids(&self, name: &str, count: usize) -> Vec<u32> {
        let read = || -> Vec<u32> {
            let text = fs::read_to_string(self.path(name)).unwrap_or_default();
            text.split_inclusive('\n')
                .filter_map(|line| line.strip_suffix('\n')?.trim().parse().ok())
                .collect()
        };
        eventually(&format!("{count} processes in `{name}`"), || read().len() >= count);
        read()
    }
}

/// Waits for the end of a command, which must come soon.
pub(crate) fn ended(running: &Running) -> Exit {
    running.wait(PATIENCE).expect("it ends")
}

/// Waits until a condition holds.
pub(crate) fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "still not: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process is alive. A zombie is not.
pub(crate) fn lives(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with(['Z', 'X']))
}
