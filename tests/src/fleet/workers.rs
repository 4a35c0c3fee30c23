//! The servers of a store, each a process of its own at an address that it keeps.

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use wakeful_core::host::Clock;
use wakeful_host::clock::SystemClock;

use super::{network::Network, server::NoServer};
use crate::load::client::Client;

/// The lease of each server.
pub(super) const LEASE: Duration = Duration::from_secs(5);

/// The time that a client waits for an answer. A server may be paused.
const PATIENCE: Duration = Duration::from_secs(3);

/// A server, and its way to the store.
pub(crate) struct Worker {
    network: Network,
    program: PathBuf,
    options: Vec<String>,
    log: PathBuf,
    pub(crate) client: Client,
    process: Option<Child>,
    /// How often it ended while it started, and was started once more.
    pub(super) restarts: u32,
}

/// The time in which it must be ready, with one outage of the store meanwhile.
const READY: Duration = Duration::from_secs(90);

impl Worker {
    /// Starts a server of this number.
    pub(crate) fn start(
        number: usize,
        (program, folder): (&Path, &Path),
        (network, token, model): (Network, &str, u16),
    ) -> io::Result<Self> {
        let (store, address) = (&network.store(), network.free_address()?);
        let model = &format!("http://{}:{model}/server-{number}/v1", network.host());
        let url = format!("http://{address}");
        let own = folder.join(format!("worker-{number}"));
        fs::create_dir_all(own.join("work"))?;
        let at = |name: &str| own.join(name).display().to_string();
        let lease = LEASE.as_secs().to_string();
        let options = [
            "serve",
            "--store",
            store,
            "--listen",
            &address,
            // It is not beyond this machine, and a namespace has addresses of its own.
            "--behind-proxy",
            "--public-url",
            &url,
            "--lease",
            &lease,
            "--resident-idle",
            "3",
            "--resident-agents",
            "5000",
            "--requests-per-second",
            "1000000",
            "--queue-per-agent",
            "256",
            "--turns-at-once",
            "500",
            "--drain",
            "2",
            "--provider",
            "openai",
            "--base-url",
            model,
            "--model",
            "slow",
            "--workspace",
            &at("work"),
            "--home",
            &at("home"),
        ];
        let mut worker = Self {
            network,
            program: program.to_owned(),
            options: options.map(str::to_owned).into(),
            log: own.join("log"),
            client: Client::patient(&url, token, PATIENCE),
            process: None,
            restarts: 0,
        };
        worker.again()?;
        Ok(worker)
    }

    /// Starts it again, and waits until it is ready. One that ends meanwhile, because the store was
    /// away for longer than it waits, is started once more, as a supervisor does.
    pub(super) fn again(&mut self) -> io::Result<()> {
        self.spawn()?;
        let began = Instant::now();
        while self.client.get("/readyz").is_none_or(|(status, _)| status != 200) {
            if began.elapsed() > READY {
                let said = self.said();
                let last = said.lines().next_back().unwrap_or_default();
                return Err(io::Error::other(format!("a server does not start: {last}")));
            }
            let has_ended = match &mut self.process {
                Some(process) => process.try_wait()?.is_some(),
                None => true,
            };
            if has_ended {
                self.restarts += 1;
                thread::sleep(Duration::from_secs(1));
                self.spawn()?;
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn spawn(&mut self) -> io::Result<()> {
        let log = fs::OpenOptions::new().create(true).append(true).open(&self.log)?;
        let mut process = self
            .network
            .command(&self.program)
            .args(&self.options)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(said) = process.stderr.take() {
            thread::spawn(move || dated(said, log));
        }
        self.process = Some(process);
        Ok(())
    }

    /// Kills it.
    pub(super) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            drop(process.kill());
            drop(process.wait());
        }
    }

    /// Ends it as people do, and starts another program in its place.
    pub(super) fn replace(&mut self, program: &Path) -> io::Result<()> {
        if let (Some(id), Some(process)) = (self.id(), &mut self.process) {
            kill_process(id, Signal::TERM)?;
            process.wait()?;
        }
        self.program = program.to_owned();
        self.again()
    }

    fn id(&self) -> Option<Pid> {
        self.process.as_ref().and_then(|it| Pid::from_raw(i32::try_from(it.id()).ok()?))
    }

    /// Stops it for a while, and lets it go on where it was.
    pub(super) fn pause(&self, span: Duration) -> io::Result<()> {
        let Some(id) = self.id() else { return Ok(()) };
        kill_process(id, Signal::STOP)?;
        thread::sleep(span);
        Ok(kill_process(id, Signal::CONT)?)
    }

    /// Cuts it off from the store for a while.
    pub(super) fn cut_off(&self, span: Duration) -> Result<(), NoServer> {
        self.network.cut(true)?;
        thread::sleep(span);
        self.network.cut(false)
    }

    /// The number of its process, while it runs.
    pub(crate) fn process(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// What it told the people who run it.
    pub(super) fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// Writes what a server says, each line with its time, so that it can be laid beside what the nodes
/// say. It ends with the server.
fn dated(said: impl io::Read, mut log: fs::File) {
    for line in BufReader::new(said).lines().map_while(Result::ok) {
        let now = SystemClock.now();
        // Without a log there is nobody to tell.
        let _ = writeln!(log, "{now} {line}");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}
