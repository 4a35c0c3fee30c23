//! The server under load: a process of its own, and what it uses.

use std::{
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::client::Client;

/// The clock ticks of a second, in which Linux counts the time of processes.
const TICKS: f64 = 100.0;

/// A running server.
pub(crate) struct Server {
    process: Child,
    pub(crate) client: Client,
}

/// What starts servers over one store.
pub(crate) struct Store {
    program: PathBuf,
    ledger: PathBuf,
    token: Option<String>,
    options: Vec<String>,
}

impl Store {
    pub(crate) fn new(program: &Path, folder: &Path, options: &[&str]) -> Self {
        Self {
            program: program.to_owned(),
            ledger: folder.join("agents.sqlite"),
            token: None,
            options: options.iter().map(|option| (*option).to_owned()).collect(),
        }
    }

    pub(crate) fn ledger(&self) -> &Path {
        &self.ledger
    }

    /// Starts a server, and waits until it is ready.
    pub(crate) fn start(&mut self) -> io::Result<Server> {
        let mut process = Command::new(&self.program)
            .args(["serve", "--listen", "127.0.0.1:0", "--no-socket", "--ledger"])
            .arg(&self.ledger)
            .args(&self.options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let printed = process.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        let (mut url, mut lines) = (None, BufReader::new(printed).lines());
        for line in &mut lines {
            let line = line?;
            if let Some(listens) = line.strip_prefix("listening on http://") {
                url = Some(format!("http://{listens}"));
            }
            if let Some(token) = line.trim().strip_prefix("wks_") {
                self.token = Some(format!("wks_{token}"));
            }
            if line.contains("/turn") || line.contains("wakeful token list") {
                break;
            }
        }
        // Its pipe must stay open, and nothing else is printed.
        thread::spawn(move || lines.for_each(drop));
        let (Some(url), Some(token)) = (url, &self.token) else {
            return Err(io::Error::other("the server did not say where it listens"));
        };
        let server = Server { process, client: Client::new(&url, token) };
        let began = Instant::now();
        while server.client.get("/readyz").is_none_or(|(status, _)| status != 200) {
            if began.elapsed() > Duration::from_secs(120) {
                return Err(io::Error::other("the server is not ready after two minutes"));
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(server)
    }
}

impl Server {
    /// Its resident memory in bytes.
    pub(crate) fn resident(&self) -> io::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kilobytes.map(|it| it * 1024.0).ok_or_else(|| io::Error::other("no VmRSS"))
    }

    /// The processor time that it has used, in seconds.
    pub(crate) fn processor(&self) -> io::Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        // The name of the program is in parentheses, and may hold spaces.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let fields: Vec<f64> =
            rest.split_whitespace().skip(11).take(2).filter_map(|it| it.parse().ok()).collect();
        Ok(fields.iter().sum::<f64>() / TICKS)
    }

    /// Ends it at once, as a power cut would.
    pub(crate) fn kill(mut self) -> io::Result<()> {
        self.process.kill()?;
        self.process.wait().map(drop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that was killed is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
