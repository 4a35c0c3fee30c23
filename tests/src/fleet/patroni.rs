//! Three servers of PostgreSQL under Patroni, which elects the primary by itself: each node renews
//! its lock in three etcd, and a standby takes it when it was not renewed.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use ureq::Agent;

use super::{
    cluster::{MAKE_OWNER, NAMES, Nodes, trusted},
    leftovers::Folder,
    processes::children,
    server::{NoServer, User},
};

/// The time that an election may take, and the time until all nodes follow: one that was away is
/// rewound or copied.
const ELECTION: Duration = Duration::from_secs(90);
const HEALING: Duration = Duration::from_secs(180);

/// The time between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// A cluster.
pub(crate) struct Patroni {
    program: PathBuf,
    folder: Folder,
    user: User,
    etcd: Vec<Child>,
    nodes: Vec<Node>,
    rest: Agent,
    failovers: usize,
}

struct Node {
    port: u16,
    /// The port of its Patroni.
    rest: u16,
    child: Option<Child>,
    /// The processes that were stopped, in the order in which they are continued.
    stopped: Vec<Pid>,
}

impl Patroni {
    /// Starts three empty nodes with this program, and waits until both standbys follow.
    pub(crate) fn start(program: &Path) -> Result<Self, NoServer> {
        if !program.is_file() || Command::new("etcd").arg("--version").output().is_err() {
            return Err(NoServer::NoPatroni);
        }
        let program = fs::canonicalize(program)?;
        let folder = Folder::new("wakeful-patroni-")?;
        let user = User::find()?;
        user.give(folder.path())?;
        let [clients, peers, rests, ports] = free_ports()?;
        let etcd = etcd(folder.path(), &clients, &peers)?;
        let node =
            |at: usize| Node { port: ports[at], rest: rests[at], child: None, stopped: Vec::new() };
        let nodes: Vec<_> = (0..NAMES.len()).map(node).collect();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(2)))
            .build();
        let mut cluster =
            Self { program, folder, user, etcd, nodes, rest: config.into(), failovers: 0 };
        for node in 0..NAMES.len() {
            cluster.configure(node, &clients)?;
            cluster.serve(node)?;
        }
        cluster.heal()?;
        let leader = cluster.elected(None)?;
        cluster.ask(leader, MAKE_OWNER)?;
        Ok(cluster)
    }

    fn at(&self, node: usize, what: &str) -> PathBuf {
        self.folder.path().join(format!("{}.{what}", NAMES[node]))
    }

    fn configure(&self, node: usize, etcd: &[u16]) -> Result<(), NoServer> {
        let etcd: Vec<_> = etcd.iter().map(|port| format!("'127.0.0.1:{port}'")).collect();
        let Node { port, rest, .. } = self.nodes[node];
        let (name, data) = (NAMES[node], self.at(node, "data"));
        let text = format!(
            "scope: wakeful
name: {name}
restapi: {{ listen: '127.0.0.1:{rest}', connect_address: '127.0.0.1:{rest}' }}
etcd3: {{ hosts: [{}] }}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 5
    retry_timeout: 5
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      use_slots: true
      parameters: {{ max_connections: 120, wal_log_hints: 'on', max_wal_size: 2GB }}
  initdb: [ {{ encoding: UTF8 }}, {{ locale: C }} ]
postgresql:
  listen: '0.0.0.0:{port}'
  connect_address: '127.0.0.1:{port}'
  data_dir: '{}'
  bin_dir: '{}'
  pgpass: '{}'
  pg_hba: [ {} ]
  authentication:
    superuser: {{ username: postgres }}
    replication: {{ username: postgres }}
    rewind: {{ username: postgres }}
  parameters: {{ shared_buffers: 64MB, unix_socket_directories: '' }}
",
            etcd.join(", "),
            data.display(),
            self.user.programs().display(),
            self.at(node, "pgpass").display(),
            trusted().map(|line| format!("'{line}'")).join(", "),
        );
        Ok(fs::write(self.at(node, "yml"), text)?)
    }

    /// Starts the Patroni of a node, which starts the server.
    fn serve(&mut self, node: usize) -> Result<(), NoServer> {
        let (settings, log) = (self.at(node, "yml"), self.at(node, "log"));
        let child = self.user.start(&self.program, &log, |command| {
            command.arg(settings);
        })?;
        self.nodes[node].child = Some(child);
        Ok(())
    }

    /// The node that has the lock.
    fn leader(&self) -> Option<usize> {
        (0..self.nodes.len()).find(|node| {
            let url = format!("http://127.0.0.1:{}/leader", self.nodes[*node].rest);
            self.nodes[*node].stopped.is_empty()
                && self.rest.get(url).call().is_ok_and(|answer| answer.status() == 200)
        })
    }

    /// The leader, as soon as there is another one than `not`.
    fn elected(&self, not: Option<usize>) -> Result<usize, NoServer> {
        let until = Instant::now() + ELECTION;
        loop {
            match self.leader() {
                Some(leader) if Some(leader) != not => return Ok(leader),
                _ if Instant::now() > until => {
                    return Err(self.failed("no primary was elected in time"));
                }
                _ => thread::sleep(LOOK),
            }
        }
    }

    fn failed(&self, what: &str) -> NoServer {
        let tail = |node: usize| {
            let log = fs::read_to_string(self.at(node, "log")).unwrap_or_default();
            let lines: Vec<_> = log.lines().rev().take(5).collect();
            lines.into_iter().rev().collect::<Vec<_>>().join("\n")
        };
        let logs: Vec<_> = (0..self.nodes.len()).map(tail).collect();
        NoServer::Failed { program: "patroni", said: format!("{what}: {}", logs.join("\n--\n")) }
    }

    fn ask(&self, node: usize, query: &str) -> Result<String, NoServer> {
        let port = self.nodes[node].port.to_string();
        self.user.run("psql", |command| {
            command.args(["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-Atc", query]);
        })
    }

    /// The process of a server, which is the first line of a file in its folder.
    fn postmaster(&self, node: usize) -> Option<Pid> {
        let text = fs::read_to_string(self.at(node, "data").join("postmaster.pid")).ok()?;
        Pid::from_raw(text.lines().next()?.trim().parse().ok()?)
    }

    /// Kills Patroni and the server of a node, as the end of its machine.
    fn kill(&mut self, node: usize) {
        let server = self.postmaster(node);
        if let Some(mut child) = self.nodes[node].child.take() {
            drop(child.kill());
            drop(child.wait());
        }
        if let Some(server) = server {
            let _ = kill_process(server, Signal::KILL);
        }
    }

    /// Stops all processes of a node. When they go on, it still takes itself for the primary.
    fn stop(&mut self, node: usize) -> Result<(), NoServer> {
        let mut processes = Vec::new();
        let child = self.nodes[node].child.as_ref();
        processes.extend(child.and_then(|it| Pid::from_raw(i32::try_from(it.id()).ok()?)));
        if let Some(server) = self.postmaster(node) {
            processes.push(server);
            processes
                .extend(children(server.as_raw_pid().unsigned_abs()).into_iter().map(|it| it.0));
        }
        for process in &processes {
            // One that ended just now need not be stopped.
            let _ = kill_process(*process, Signal::STOP);
        }
        self.nodes[node].stopped = processes;
        Ok(())
    }
}

impl Nodes for Patroni {
    fn logs(&self) -> Vec<PathBuf> {
        (0..NAMES.len()).map(|node| self.at(node, "log")).collect()
    }

    fn ports(&self) -> Vec<u16> {
        self.nodes.iter().map(|node| node.port).collect()
    }

    /// Kills the node of the primary, or stops it, in turn.
    fn fail_over(&mut self) -> Result<Duration, NoServer> {
        let primary = self.elected(None)?;
        let began = Instant::now();
        self.failovers += 1;
        match self.failovers % 2 {
            1 => self.kill(primary),
            _ => self.stop(primary)?,
        }
        let next = self.elected(Some(primary))?;
        // Patroni names the standby that must have a commit after the election.
        let until = began + ELECTION;
        while self.ask(next, "SELECT pg_logical_emit_message(true, 'wakeful', 'commit')").is_err() {
            if Instant::now() > until {
                return Err(self.failed("the new primary commits nothing"));
            }
            thread::sleep(LOOK);
        }
        Ok(began.elapsed())
    }

    fn heal(&mut self) -> Result<(), NoServer> {
        for node in 0..self.nodes.len() {
            for process in std::mem::take(&mut self.nodes[node].stopped) {
                let _ = kill_process(process, Signal::CONT);
            }
            if self.nodes[node].child.is_none() {
                self.serve(node)?;
            }
        }
        let until = Instant::now() + HEALING;
        loop {
            let following = self.leader().and_then(|leader| {
                let query = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
                self.ask(leader, query).ok()
            });
            if following.as_deref().map(str::trim) == Some("2") {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(self.failed("not all nodes follow the primary"));
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Patroni {
    fn drop(&mut self) {
        for node in 0..self.nodes.len() {
            for process in std::mem::take(&mut self.nodes[node].stopped) {
                let _ = kill_process(process, Signal::KILL);
            }
            self.kill(node);
        }
        for etcd in &mut self.etcd {
            drop(etcd.kill());
            drop(etcd.wait());
        }
    }
}

/// Four times three ports that nobody uses.
fn free_ports() -> Result<[[u16; 3]; 4], NoServer> {
    // All are taken at once, so that they differ.
    let listeners: Result<Vec<_>, _> = (0..12).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    let ports: Result<Vec<_>, _> =
        listeners?.iter().map(|it| it.local_addr().map(|at| at.port())).collect();
    let ports = ports?;
    Ok([0, 3, 6, 9].map(|from| [ports[from], ports[from + 1], ports[from + 2]]))
}

/// Starts three etcd that keep what Patroni says.
fn etcd(folder: &Path, clients: &[u16; 3], peers: &[u16; 3]) -> Result<Vec<Child>, NoServer> {
    let members: Vec<_> =
        peers.iter().map(|port| format!("e{port}=http://127.0.0.1:{port}")).collect();
    let start = |(client, peer): (&u16, &u16)| {
        let (client, peer) =
            (format!("http://127.0.0.1:{client}"), (peer, format!("http://127.0.0.1:{peer}")));
        let name = format!("e{}", peer.0);
        let log = fs::File::create(folder.join(format!("{name}.log")))?;
        Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "etcd", "--name", &name, "--data-dir"])
            .arg(folder.join(&name))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer.1, "--initial-advertise-peer-urls", &peer.1])
            .args(["--initial-cluster", &members.join(","), "--enable-v2=false"])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
    };
    let started: std::io::Result<_> = clients.iter().zip(peers).map(start).collect();
    Ok(started?)
}
