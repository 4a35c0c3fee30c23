//! Whether a cluster commits, asked all the time. A failover has more than one outage: a new
//! primary commits, and then waits for a standby that follows it only later.

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::{runtime, task::JoinSet, time};
use tokio_postgres::{Client, Error, NoTls};

use super::cluster::OWNER;
use crate::load::held;

/// The time between two commits on a node, and the time that one may take, or a connection.
const PAUSE: Duration = Duration::from_millis(100);
const ANSWER: Duration = Duration::from_millis(500);

/// A commit of its own.
const COMMIT: &str = "SELECT pg_logical_emit_message(true, 'wakeful', 'probe')";

/// The probe. It goes on until [`Probe::outages`].
pub(super) struct Probe {
    has_ended: Arc<AtomicBool>,
    commits: Arc<Mutex<Vec<Instant>>>,
    thread: JoinHandle<()>,
}

impl Probe {
    /// Asks the nodes at these ports of this machine.
    pub(super) fn start(ports: Vec<u16>) -> io::Result<Self> {
        let has_ended = Arc::<AtomicBool>::default();
        let commits = Arc::new(Mutex::new(vec![Instant::now()]));
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (ends, found) = (Arc::clone(&has_ended), Arc::clone(&commits));
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                let mut nodes = JoinSet::new();
                for port in ports {
                    nodes.spawn(ask(port, Arc::clone(&ends), Arc::clone(&found)));
                }
                nodes.join_all().await;
            });
        });
        Ok(Self { has_ended, commits, thread })
    }

    /// The times that passed without a commit, of those that lasted longer than this.
    pub(super) fn outages(self, longer_than: Duration) -> Vec<(Instant, Instant)> {
        self.has_ended.store(true, Ordering::Release);
        // Without its commits the rest is one outage.
        drop(self.thread.join());
        let mut commits = std::mem::take(&mut *held(&self.commits));
        commits.push(Instant::now());
        commits.sort_unstable();
        let gaps = commits.windows(2).map(|pair| (pair[0], pair[1]));
        gaps.filter(|(from, until)| *until - *from > longer_than).collect()
    }
}

/// Commits on a node again and again. A standby refuses it.
async fn ask(port: u16, ends: Arc<AtomicBool>, commits: Arc<Mutex<Vec<Instant>>>) {
    let mut connection = None;
    while !ends.load(Ordering::Acquire) {
        let client = match connection.take() {
            Some(client) => Some(client),
            None => match time::timeout(ANSWER, connect(port)).await {
                Ok(Ok(client)) => Some(client),
                Ok(Err(_)) | Err(_) => None,
            },
        };
        if let Some(client) = client {
            match time::timeout(ANSWER, client.batch_execute(COMMIT)).await {
                Ok(Ok(())) => {
                    held(&commits).push(Instant::now());
                    connection = Some(client);
                }
                // It connects anew.
                Ok(Err(_)) => {}
                // The server would keep the connection until a standby has the commit.
                Err(_) => {
                    let waits = client.cancel_token();
                    let _ = time::timeout(ANSWER, waits.cancel_query(NoTls)).await;
                }
            }
        }
        time::sleep(PAUSE).await;
    }
}

async fn connect(port: u16) -> Result<Client, Error> {
    let config = format!("host=127.0.0.1 port={port} user={OWNER} dbname=postgres");
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await?;
    tokio::spawn(async move {
        // The calls that it serves learn how it ends.
        let _ = connection.await;
    });
    Ok(client)
}
