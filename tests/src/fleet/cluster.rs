//! Three servers of PostgreSQL: a primary, and two standbys of which one must have each commit.

use std::{
    fs,
    net::TcpListener,
    path::PathBuf,
    process::Child,
    thread,
    time::{Duration, Instant},
};

use super::{
    leftovers::Folder,
    server::{BEGIN, NoServer, SETTINGS, User},
};

/// The names of the nodes, as they call themselves at their primary.
pub(super) const NAMES: [&str; 3] = ["a", "b", "c"];

/// A cluster whose primary fails.
pub(crate) trait Nodes {
    /// The ports of its nodes, on all addresses of this machine.
    fn ports(&self) -> Vec<u16>;

    /// Ends the primary, and waits until another node commits. Returns how long nothing was
    /// committed.
    fn fail_over(&mut self) -> Result<Duration, NoServer>;

    /// Has every node that is down follow the primary, and waits until two follow.
    fn heal(&mut self) -> Result<(), NoServer>;

    /// The files in which its nodes tell what they do.
    fn logs(&self) -> Vec<PathBuf>;
}

/// The owner of the store. It is not the superuser, because PostgreSQL keeps a few connections for
/// that one: with them, what looks after a cluster gets in when the servers use all others.
pub(super) const OWNER: &str = "wakeful";

/// Makes the owner of the store.
pub(super) const MAKE_OWNER: &str =
    "CREATE ROLE wakeful LOGIN; GRANT CREATE ON DATABASE postgres TO wakeful";

/// Who may connect without a password: this machine, and the namespaces of its network that a
/// [`Network`](super::Network) makes.
pub(super) fn trusted() -> [String; 4] {
    let line = |of: &str, from: &str| format!("host {of} all {from} trust");
    let [own, spaces] = ["127.0.0.1/32", super::network::STORE_ADDRESSES];
    [line("all", own), line("replication", own), line("all", spaces), line("replication", spaces)]
}

/// A cluster in which this process does by hand what Patroni does.
pub(crate) struct Cluster {
    folder: Folder,
    user: User,
    nodes: Vec<Node>,
    primary: usize,
}

struct Node {
    port: u16,
    child: Option<Child>,
}

impl Node {
    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// The address of a store in a cluster whose nodes are reached at these ports of a host.
pub(crate) fn address(host: &str, ports: &[u16]) -> String {
    let hosts: Vec<_> = ports.iter().map(|port| format!("{host}:{port}")).collect();
    format!("postgres://{OWNER}@{}/postgres?schema=wakeful", hosts.join(","))
}

impl Cluster {
    /// Starts three empty nodes, and waits until both standbys follow.
    pub(crate) fn start() -> Result<Self, NoServer> {
        let folder = Folder::new("wakeful-fleet-")?;
        let user = User::find()?;
        user.give(folder.path())?;
        // All are taken at once, so that they differ.
        let listeners: Result<Vec<_>, _> =
            NAMES.iter().map(|_| TcpListener::bind("127.0.0.1:0")).collect();
        let ports: Result<Vec<_>, _> = listeners?.iter().map(TcpListener::local_addr).collect();
        let nodes = ports?.iter().map(|it| Node { port: it.port(), child: None }).collect();
        let mut cluster = Self { folder, user, nodes, primary: 0 };
        let data = cluster.data(0);
        cluster.user.run("initdb", |command| {
            command.args(["-U", "postgres", "-A", "trust", "--no-locale", "-E", "UTF8", "-N"]);
            command.arg("-D").arg(&data);
        })?;
        let conf = data.join("postgresql.conf");
        let settings = format!(
            "{}\n{SETTINGS}listen_addresses = '0.0.0.0'\nunix_socket_directories = ''\n\
             wal_keep_size = 512MB\n\
             synchronous_standby_names = 'ANY 1 (a, b, c)'\n",
            fs::read_to_string(&conf)?
        );
        fs::write(&conf, settings)?;
        fs::write(data.join("pg_hba.conf"), trusted().join("\n") + "\n")?;
        cluster.serve(0, None)?;
        cluster.heal()?;
        cluster.ask(0, MAKE_OWNER)?;
        Ok(cluster)
    }

    /// The number of the process of the primary, which has a child for each connection.
    pub(crate) fn primary(&self) -> Option<u32> {
        self.nodes[self.primary].child.as_ref().map(Child::id)
    }

    /// The port of the primary.
    pub(crate) fn primary_port(&self) -> u16 {
        self.nodes[self.primary].port
    }

    fn data(&self, node: usize) -> PathBuf {
        self.folder.path().join(NAMES[node])
    }

    fn log(&self, node: usize) -> PathBuf {
        self.folder.path().join(format!("{}.log", NAMES[node]))
    }

    /// Starts a node, as a standby of another one if one is named.
    fn serve(&mut self, node: usize, primary: Option<usize>) -> Result<(), NoServer> {
        let (data, log) = (self.data(node), self.log(node));
        let mut options = vec!["-p".to_owned(), self.nodes[node].port.to_string()];
        let mut set = |setting: String| options.extend(["-c".to_owned(), setting]);
        set(format!("cluster_name={}", NAMES[node]));
        let signal = data.join("standby.signal");
        if let Some(primary) = primary {
            set(format!(
                "primary_conninfo=host=127.0.0.1 port={} user=postgres",
                self.nodes[primary].port
            ));
            fs::write(&signal, "")?;
            self.user.give(&signal)?;
        } else {
            drop(fs::remove_file(&signal));
        }
        let until = Instant::now() + BEGIN;
        loop {
            if self.nodes[node].child.is_none() {
                self.nodes[node].child = Some(self.user.serve(&data, &log, &options)?);
            }
            match self.ask(node, "SELECT 1") {
                Ok(_) => return Ok(()),
                Err(why) if Instant::now() > until => return Err(why),
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
            // The processes of a dead one may hold its files for a moment.
            if let Some(child) = &mut self.nodes[node].child
                && child.try_wait()?.is_some()
            {
                self.nodes[node].child = None;
            }
        }
    }

    /// The answer of a node to a query.
    fn ask(&self, node: usize, query: &str) -> Result<String, NoServer> {
        let port = self.nodes[node].port.to_string();
        self.user.run("psql", |command| {
            command.args(["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-Atc", query]);
        })
    }
}

impl Nodes for Cluster {
    fn logs(&self) -> Vec<PathBuf> {
        (0..NAMES.len()).map(|node| self.log(node)).collect()
    }

    fn ports(&self) -> Vec<u16> {
        self.nodes.iter().map(|node| node.port).collect()
    }

    /// Kills the primary, and lets the standby that has received most take its place.
    fn fail_over(&mut self) -> Result<Duration, NoServer> {
        let began = Instant::now();
        self.nodes[self.primary].kill();
        let standbys: Vec<usize> = (0..NAMES.len()).filter(|it| *it != self.primary).collect();
        let mut received = Vec::new();
        for standby in &standbys {
            let bytes = self.ask(
                *standby,
                "SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::bigint",
            )?;
            received.push((bytes.trim().parse::<u64>().unwrap_or(0), *standby));
        }
        let Some((_, next)) = received.iter().max().copied() else { unreachable!("there are two") };
        self.ask(next, "SELECT pg_promote()")?;
        self.primary = next;
        // A commit needs a standby, so the other one must follow before anything is acknowledged.
        for other in standbys.into_iter().filter(|it| *it != next) {
            self.nodes[other].kill();
            self.serve(other, Some(next))?;
        }
        // It has an answer when the standby has it.
        self.ask(next, "SELECT pg_logical_emit_message(true, 'wakeful', 'commit')")?;
        Ok(began.elapsed())
    }

    /// A node that was down follows from a new copy.
    fn heal(&mut self) -> Result<(), NoServer> {
        let port = self.nodes[self.primary].port.to_string();
        for node in 0..NAMES.len() {
            if self.nodes[node].child.is_some() {
                continue;
            }
            let data = self.data(node);
            drop(fs::remove_dir_all(&data));
            self.user.run("pg_basebackup", |command| {
                command.args(["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-X", "stream"]);
                command.args(["-c", "fast", "-D"]).arg(&data);
            })?;
            self.serve(node, Some(self.primary))?;
        }
        let until = Instant::now() + BEGIN;
        loop {
            let following = self.ask(
                self.primary,
                "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'",
            )?;
            if following.trim() == "2" {
                return Ok(());
            }
            if Instant::now() > until {
                let said = format!("{} standbys follow", following.trim());
                return Err(NoServer::Failed { program: "postgres", said });
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.iter_mut().for_each(Node::kill);
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, Signal, kill_process};
    use wakeful_core::{
        host::Ledger,
        id::Seq,
        record::{
            Record,
            chain::Head,
            control::{ControlRecord, Marker},
            entry::{self, EntryBytes},
        },
        time::Timestamp,
    };
    use wakeful_host::ledger::{Address, PostgresStore};

    use super::*;
    use crate::fleet::children;

    fn entry(after: Head) -> (Head, Vec<EntryBytes>) {
        let record = Record::Control(ControlRecord::StartRequested(Marker {}));
        let (entries, batch) = entry::seal_all(after, Timestamp::from_nanos(0), vec![record]);
        (entries[0].head(), batch)
    }

    fn store(cluster: &Cluster) -> PostgresStore {
        let address = address("127.0.0.1", &cluster.ports());
        PostgresStore::open(&Address::parse(&address).expect("an address")).expect("a store")
    }

    fn signal(server: u32, signal: Signal) {
        let own = Pid::from_raw(i32::try_from(server).expect("a number")).expect("it is above 0");
        kill_process(own, signal).expect("it runs");
        // They are asked for after it, because it starts more. One may end meanwhile.
        for (process, _) in children(server) {
            let _ = kill_process(process, signal);
        }
    }

    /// A machine that was stopped for a while goes on as the primary that it was.
    #[test]
    fn an_old_primary_that_goes_on_is_not_asked_any_more() {
        let mut cluster = Cluster::start().expect("a cluster");
        let (first, batch) = entry(Head::START);
        store(&cluster).ledger(&"a".into()).append(&Head::START, &batch).expect("it is new");
        let old = cluster.primary().expect("a primary");
        signal(old, Signal::STOP);
        let [next, other] = [1, 2];
        cluster.ask(next, "SELECT pg_promote()").expect("it is promoted");
        cluster.nodes[other].kill();
        cluster.serve(other, Some(next)).expect("it follows the new primary");
        let store = store(&cluster);
        let (second, batch) = entry(first);
        store.ledger(&"a".into()).append(&first, &batch).expect("the new primary takes it");
        signal(old, Signal::CONT);
        assert_eq!(cluster.ask(0, "SELECT pg_is_in_recovery()").expect("it goes on").trim(), "f");
        for _ in 0..3 {
            // The next connection tries the hosts in their order, and the old primary is the first.
            let own = "pid <> pg_backend_pid() AND backend_type = 'client backend'";
            let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {own}");
            cluster.ask(next, &end).expect("they end");
            assert_eq!(store.heads().expect("the heads"), [("a".into(), second)]);
        }
    }

    /// After a crash a primary shows what it had committed, also if no standby has it.
    #[test]
    fn an_append_without_an_answer_waits_for_a_standby_after_a_crash_too() {
        let mut cluster = Cluster::start().expect("a cluster");
        let mut ledger = store(&cluster).ledger(&"a".into());
        let (first, batch) = entry(Head::START);
        ledger.append(&Head::START, &batch).expect("it is new");
        cluster.nodes[1].kill();
        cluster.nodes[2].kill();
        thread::scope(|scope| {
            let (second, batch) = entry(first);
            let appended = scope.spawn(move || ledger.append(&first, &batch));
            thread::sleep(Duration::from_secs(1));
            cluster.nodes[0].kill();
            cluster.serve(0, None).expect("it starts again");
            let shown = "SELECT max(seq) FROM wakeful.entries";
            let shown = cluster.ask(0, shown).expect("it can be read");
            assert_eq!(shown.trim(), second.seq.to_string(), "it is committed");
            thread::sleep(Duration::from_secs(2));
            assert!(!appended.is_finished(), "no standby has it");
            cluster.heal().expect("the standbys are back");
            appended.join().expect("it ends").expect("a standby has it");
        });
        assert_eq!(store(&cluster).ledger(&"a".into()).head().expect("a head").seq, Seq(2));
    }
}
