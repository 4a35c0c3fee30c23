//! The network between a server and the cluster, which can be cut: then nothing passes in either
//! direction, no connection is refused and none is closed. What was on its way arrives when the
//! network is whole again.
//!
//! A proxy does this on every machine. A namespace is a network of its own with two cables: one to
//! the cluster, which is unplugged, and one to everybody else. It needs root.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    process::{self, Command},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use super::{leftovers, server::NoServer};

/// How often a cut network is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// The addresses of the cables to the cluster.
pub(super) const STORE_ADDRESSES: &str = "10.77.0.0/16";

/// The port of a server in its namespace, in which nobody else listens.
const PORT: u16 = 7171;

/// The way of a server to the cluster and to everybody else.
pub(crate) enum Network {
    /// Through proxies at these ports of this machine. They live as long as the process.
    Proxies {
        /// They lead to the nodes, in order.
        ports: Vec<u16>,
        /// Whether nothing passes.
        is_cut: Arc<AtomicBool>,
    },
    /// In a namespace.
    Namespace {
        /// Its number, from 1.
        number: usize,
        /// The ports of the nodes.
        ports: Vec<u16>,
    },
}

impl Network {
    /// A way through proxies.
    pub(crate) fn to(targets: &[u16]) -> io::Result<Self> {
        let is_cut = Arc::<AtomicBool>::default();
        let mut ports = Vec::new();
        for target in targets.iter().copied() {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            ports.push(listener.local_addr()?.port());
            let is_cut = Arc::clone(&is_cut);
            thread::spawn(move || {
                for from in listener.incoming().flatten() {
                    let is_cut = Arc::clone(&is_cut);
                    thread::spawn(move || proxied(from, target, &is_cut));
                }
            });
        }
        Ok(Self::Proxies { ports, is_cut })
    }

    /// A new namespace. The server of each number has another one.
    pub(super) fn namespace(number: usize, targets: &[u16]) -> Result<Self, NoServer> {
        let number = number + 1;
        let made = Self::Namespace { number, ports: targets.to_vec() };
        let (name, bridge) = (name(number), bridge());
        if number == 1 {
            remove_left()?;
            ip(&format!("link add {bridge} type bridge"))?;
            ip(&format!("addr add 10.78.0.1/24 dev {bridge}"))?;
            ip(&format!("link set {bridge} up"))?;
        }
        for command in [
            format!("netns add {name}"),
            format!("-n {name} link set lo up"),
            format!("link add {name}s type veth peer name store netns {name}"),
            format!("addr add 10.77.{number}.1/30 dev {name}s"),
            format!("link set {name}s up"),
            format!("-n {name} addr add 10.77.{number}.2/30 dev store"),
            format!("-n {name} link set store up"),
            format!("link add {name}w type veth peer name world netns {name}"),
            format!("link set {name}w master {bridge} up"),
            format!("-n {name} addr add 10.78.0.{}/24 dev world", number + 1),
            format!("-n {name} link set world up"),
        ] {
            ip(&command)?;
        }
        Ok(made)
    }

    /// The address of the store, as the server reaches it.
    pub(super) fn store(&self) -> String {
        match self {
            Self::Proxies { ports, .. } => super::cluster::address("127.0.0.1", ports),
            Self::Namespace { number, ports } => {
                let address = super::cluster::address(&format!("10.77.{number}.1"), ports);
                // Without it, a store beyond this machine is reached over TLS only.
                format!("{address}&sslmode=disable")
            }
        }
    }

    /// This machine, as the server reaches it.
    pub(super) fn host(&self) -> &'static str {
        match self {
            Self::Proxies { .. } => "127.0.0.1",
            Self::Namespace { .. } => "10.78.0.1",
        }
    }

    /// An address at which the server can listen.
    pub(super) fn free_address(&self) -> io::Result<String> {
        Ok(match self {
            Self::Proxies { .. } => TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string(),
            Self::Namespace { number, .. } => format!("10.78.0.{}:{PORT}", number + 1),
        })
    }

    /// A program in this network.
    pub(super) fn command(&self, program: &std::path::Path) -> Command {
        match self {
            Self::Proxies { .. } => Command::new(program),
            Self::Namespace { number, .. } => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &name(*number)]).arg(program);
                command
            }
        }
    }

    /// Cuts it, or makes it whole.
    pub(super) fn cut(&self, cuts: bool) -> Result<(), NoServer> {
        match self {
            Self::Proxies { is_cut, .. } => {
                is_cut.store(cuts, Ordering::Release);
                Ok(())
            }
            Self::Namespace { number, .. } => {
                let state = if cuts { "down" } else { "up" };
                ip(&format!("link set {}s {state}", name(*number))).map(drop)
            }
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Self::Namespace { number, .. } = self {
            let name = name(*number);
            // A namespace lives for as long as a connection in it is not closed, and its cables
            // with it, at addresses that the next one takes.
            for command in ["link del NAMEs", "link del NAMEw", "netns del NAME"] {
                drop(ip(&command.replace("NAME", &name)));
            }
            if *number == 1 {
                drop(ip(&format!("link del {}", bridge())));
            }
        }
    }
}

/// Removes the networks of processes that have ended. A second bridge at the same address would
/// take what is for this one.
fn remove_left() -> Result<(), NoServer> {
    let is_left = |name: &&str| leftovers::owner(name).is_some_and(leftovers::has_ended);
    // `wf12n1 (id: 0)`
    for line in ip("netns list")?.lines() {
        if let Some(name) = line.split_whitespace().next().filter(is_left) {
            ip(&format!("netns del {name}"))?;
        }
    }
    // `7: wf12: <BROADCAST,UP> ...`, `8: wf12n1s@if2: <BROADCAST,UP> ...`
    for line in ip("-o link")?.lines() {
        let name = line.split(": ").nth(1).and_then(|it| it.split('@').next());
        if let Some(name) = name.filter(is_left) {
            // It may go with its namespace just now.
            drop(ip(&format!("link del {name}")));
        }
    }
    Ok(())
}

/// The name of a namespace, and the beginning of those of its cables. Names of cables have at most
/// 15 bytes.
fn name(number: usize) -> String {
    format!("wf{}n{number}", process::id())
}

fn bridge() -> String {
    format!("wf{}", process::id())
}

/// Changes the network of this machine, or asks for it.
fn ip(words: &str) -> Result<String, NoServer> {
    let output = Command::new("ip").args(words.split(' ')).output();
    let said = match output {
        Ok(output) if output.status.success() => {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(why) => why.to_string(),
    };
    Err(NoServer::NoNamespace(format!("`ip {words}`: {}", said.trim())))
}

fn proxied(from: TcpStream, target: u16, is_cut: &Arc<AtomicBool>) {
    wait(is_cut);
    // A node that is down refuses, and its client learns that.
    let Ok(to) = TcpStream::connect(("127.0.0.1", target)) else { return };
    // Nothing that passes may wait for more: a network does not do that.
    if to.set_nodelay(true).and_then(|()| from.set_nodelay(true)).is_err() {
        return;
    }
    let (Ok(back_from), Ok(back_to)) = (to.try_clone(), from.try_clone()) else { return };
    let cut = Arc::clone(is_cut);
    thread::spawn(move || pass(back_from, back_to, &cut));
    pass(from, to, is_cut);
}

fn wait(is_cut: &AtomicBool) {
    while is_cut.load(Ordering::Acquire) {
        thread::sleep(LOOK);
    }
}

/// Passes on what comes from one side, until that side ends.
fn pass(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count) = from.read(&mut bytes) {
        wait(is_cut);
        if count == 0 || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // One that is closed already needs no end.
    drop(to.shutdown(Shutdown::Write));
}
