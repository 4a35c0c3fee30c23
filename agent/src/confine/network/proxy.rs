//! The proxy on the host: it answers the requests of commands, one thread per connection.

use std::{
    fs::{self, DirBuilder},
    io::{self, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{
            fs::DirBuilderExt,
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
    process,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
    fs::{Mode, OFlags},
};

use super::{
    addresses::{self, NoAddress},
    hosts::{Host, HostRule},
    log::{Line, Log},
    relay::{self, Relay},
    request::{self, Invalid, Request},
};

/// The beginning of the names of the private folders, and the socket in each.
const FOLDER: &str = "network-";
const SOCKET: &str = "proxy";

/// The pause after the system could not accept a connection, such as for want of open files.
const PAUSE: Duration = Duration::from_millis(100);

/// What one connection may use.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// The connections at one time.
    connections: usize,
    /// The time for the head of a request.
    head: Duration,
    /// The time to connect to a server.
    connect: Duration,
}

const BOUNDS: Bounds =
    Bounds { connections: 64, head: Duration::from_secs(10), connect: Duration::from_secs(10) };

/// A proxy that runs until it is dropped. Then its connections end.
#[derive(Debug)]
pub(in crate::confine) struct Proxy {
    /// Only the host's user may enter it. It goes with the proxy.
    folder: PathBuf,
    shared: Arc<Shared>,
}

/// What the threads share.
#[derive(Debug)]
struct Shared {
    rules: Vec<HostRule>,
    log: Log,
    bounds: Bounds,
    connections: AtomicUsize,
    /// An eventfd that becomes readable, for good, when the proxy is dropped.
    stop: OwnedFd,
}

impl Proxy {
    /// Starts a proxy to these hosts. Its socket and its log are below the folder `output`.
    pub(in crate::confine) fn start(rules: &[HostRule], output: &Path) -> io::Result<Self> {
        Self::within(rules, output, BOUNDS)
    }

    fn within(rules: &[HostRule], output: &Path, bounds: Bounds) -> io::Result<Self> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        remove_abandoned(output);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = output.join(format!("{FOLDER}{}-{number}", process::id()));
        let shared = Arc::new(Shared {
            rules: rules.to_vec(),
            log: Log::new(output),
            bounds,
            connections: AtomicUsize::new(0),
            stop: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        });
        DirBuilder::new().mode(0o700).create(&folder)?;
        // From here on, an error drops the proxy and so removes its folder.
        let proxy = Self { folder, shared: Arc::clone(&shared) };
        let listener = at_any_length(&proxy.folder, |socket| UnixListener::bind(socket))?;
        listener.set_nonblocking(true)?;
        thread::Builder::new()
            .name("network".to_owned())
            .spawn(move || accept(&listener, &shared))?;
        Ok(proxy)
    }

    /// The socket, to be mounted for commands.
    pub(in crate::confine) fn socket(&self) -> PathBuf {
        self.folder.join(SOCKET)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Neither can be mended here. A folder that stays is removed by the next proxy.
        let _full = rustix::io::write(&self.shared.stop, &1_u64.to_ne_bytes());
        let _stays = fs::remove_dir_all(&self.folder);
    }
}

/// Uses the socket in a folder. A path of a socket has at most 107 bytes, so this one leads through
/// the opened folder.
fn at_any_length<T>(folder: &Path, how: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty())?;
    how(Path::new(&format!("/proc/self/fd/{}/{SOCKET}", opened.as_raw_fd())))
}

/// Removes the folders of hosts that were killed. Nothing listens on their sockets any more.
fn remove_abandoned(output: &Path) {
    for entry in fs::read_dir(output).into_iter().flatten().flatten() {
        let folder = entry.path();
        if entry.file_name().to_string_lossy().starts_with(FOLDER)
            && at_any_length(&folder, |socket| UnixStream::connect(socket))
                .is_err_and(|why| why.kind() == ErrorKind::ConnectionRefused)
        {
            // What cannot be removed is left for another time.
            let _stays = fs::remove_dir_all(&folder);
        }
    }
}

/// A place among the connections that a proxy serves at one time.
struct Place(Arc<Shared>);

impl Place {
    fn take(shared: &Arc<Shared>) -> Option<Self> {
        let place = Self(Arc::clone(shared));
        (shared.connections.fetch_add(1, Ordering::Relaxed) < shared.bounds.connections)
            .then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Accepts connections until the proxy is dropped. Nothing that one connection does ends it.
fn accept(listener: &UnixListener, shared: &Arc<Shared>) {
    loop {
        let mut sources =
            [PollFd::new(&shared.stop, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
        let _ready = poll(&mut sources, None);
        if shared.is_stopped(Duration::ZERO) {
            return;
        }
        match listener.accept() {
            Ok((client, _)) => admit(client, shared),
            Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => drop(shared.is_stopped(PAUSE)),
        }
    }
}

/// Gives a connection a thread of its own.
fn admit(client: UnixStream, shared: &Arc<Shared>) {
    let Some(place) = Place::take(shared) else {
        let most = shared.bounds.connections;
        let why = format!("there are {most} connections already; end some, and try again");
        let answer = Answer::to_nobody(503, why);
        // A refusal holds even if it cannot be logged.
        let _unlogged = shared.note(None, Some(&answer));
        // The thread that accepts must not wait. So short an answer has room in any new socket.
        let _told = client.set_nonblocking(true).and_then(|()| answer.tell(&client));
        return;
    };
    // Without a thread, the connection and its place are dropped here.
    let _served =
        thread::Builder::new().name("request".to_owned()).spawn(move || place.0.serve(client));
}

impl Shared {
    /// Whether the proxy was dropped, or is within this time.
    fn is_stopped(&self, within: Duration) -> bool {
        let timeout = Timespec::try_from(within).unwrap_or_default();
        poll(&mut [PollFd::new(&self.stop, PollFlags::IN)], Some(&timeout))
            .is_ok_and(|ready| ready > 0)
    }

    /// Serves one connection from its first byte to its end.
    fn serve(&self, client: UnixStream) {
        let answer = match self.read(&client) {
            Ok(None) => return,
            Ok(Some((request, rest))) => match self.open(&request) {
                Ok(server) => return self.join(client, server, request, &rest),
                Err(answer) => answer,
            },
            Err(Invalid { status, why }) => {
                let answer = Answer::to_nobody(status, why);
                // A refusal holds even if it cannot be logged.
                let _unlogged = self.note(None, Some(&answer));
                answer
            }
        };
        // A client that does not read its answer misses it.
        let _told =
            client.set_write_timeout(Some(self.bounds.head)).and_then(|()| answer.tell(&client));
    }

    /// Reads the head of a request, and what came with it. `None` if the client sent nothing.
    fn read(&self, mut client: &UnixStream) -> Result<Option<(Request, Vec<u8>)>, Invalid> {
        let until = Instant::now() + self.bounds.head;
        let late = || {
            let why = format!("its head did not arrive within {:?}", self.bounds.head);
            Invalid { status: 408, why }
        };
        let broken = |why| Invalid { status: 400, why };
        let mut bytes = Vec::new();
        loop {
            if let Some(request) = request::read(&bytes)? {
                let rest = bytes.split_off(request.length);
                return Ok(Some((request, rest)));
            }
            let left = until.saturating_duration_since(Instant::now());
            // The system takes no timeout of zero.
            if left.is_zero() || client.set_read_timeout(Some(left)).is_err() {
                return Err(late());
            }
            let mut piece = [0; 4096];
            match client.read(&mut piece) {
                Ok(0) if bytes.is_empty() => return Ok(None),
                Ok(0) => return Err(broken("its head is not complete".to_owned())),
                Ok(read) => bytes.extend_from_slice(&piece[..read]),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Err(late()),
                Err(why) => return Err(broken(format!("it cannot be read: {why}"))),
            }
        }
    }

    /// Decides about a request, logs that, and connects to the host.
    fn open(&self, request: &Request) -> Result<TcpStream, Answer> {
        let decided = self.addresses(request);
        let is_logged = self.note(Some(request), decided.as_ref().err());
        let addresses = decided?;
        // What cannot be logged does not happen.
        is_logged.map_err(|why| {
            Answer::about(request, 503, format!("the request cannot be logged: {why}"))
        })?;
        connect(&addresses, self.bounds.connect)
            .map_err(|why| Answer::about(request, 502, why.to_string()))
    }

    /// The addresses to which a request may connect.
    fn addresses(&self, request: &Request) -> Result<Vec<SocketAddr>, Answer> {
        let Request { host, port, .. } = request;
        let entry = HostRule::allowing(host, *port);
        if !self.rules.iter().any(|rule| rule.matches(host, *port)) {
            let why = format!(
                "the policy does not list it; if it is needed, ask the operator to add it to the \
                 policy, as in `network = [\"{entry}\"]`"
            );
            return Err(Answer::about(request, 403, why));
        }
        addresses::of_host(host, *port, &self.rules).map_err(|why| match &why {
            NoAddress::Unresolved(_) => Answer::about(request, 502, why.to_string()),
            NoAddress::Closed { address, .. } => {
                let address = HostRule::allowing(&Host::Address(*address), *port);
                let why = format!(
                    "{why}; if it is needed, ask the operator to add the address to the policy \
                     too, as in `network = [\"{entry}\", \"{address}\"]`"
                );
                Answer::about(request, 403, why)
            }
        })
    }

    /// Logs a request, with what was wrong with it.
    fn note(&self, request: Option<&Request>, answer: Option<&Answer>) -> io::Result<()> {
        let host = request.map(|request| request.host.to_string());
        self.log.append(&Line {
            host: host.as_deref(),
            port: request.map(|request| request.port),
            // A name that cannot be resolved was not refused.
            allowed: answer.is_none_or(|answer| answer.status == 502),
            reason: answer.map(|answer| answer.why.as_str()),
        })
    }

    /// Joins a client with its server until both have ended, or the proxy is dropped.
    fn join(&self, client: UnixStream, server: TcpStream, request: Request, rest: &[u8]) {
        let Request { head, mut body, .. } = request;
        let answer = match head {
            Some(_) => Vec::new(),
            None => b"HTTP/1.1 200 Connection established\r\n\r\n".to_vec(),
        };
        let mut first = head.unwrap_or_default();
        let belongs = body.take(rest);
        first.extend_from_slice(&rest[..belongs]);
        // Without it, a short message would wait for the answer to the one before.
        let _slower = server.set_nodelay(true);
        let Ok(relay) = Relay::new(client.into(), server.into(), body, [first, answer]) else {
            return;
        };
        let mut relays = vec![relay];
        while !relays.is_empty() && !relay::turn(&mut relays, Some(self.stop.as_fd())) {}
    }
}

/// Connects to the first of these addresses that answers.
fn connect(addresses: &[SocketAddr], within: Duration) -> io::Result<TcpStream> {
    let until = Instant::now() + within;
    let mut failed = io::Error::from(ErrorKind::AddrNotAvailable);
    for (index, address) in addresses.iter().enumerate() {
        // An address that does not answer must leave time for the others.
        let others = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
        let left = until.saturating_duration_since(Instant::now()) / others;
        // The system takes no timeout of zero.
        match TcpStream::connect_timeout(address, left.max(Duration::from_millis(1))) {
            Ok(server) => return Ok(server),
            Err(why) => {
                failed = io::Error::new(why.kind(), format!("cannot connect to {address}: {why}"));
            }
        }
    }
    Err(failed)
}

/// What a client is told if it gets no answer of a server.
#[derive(Debug)]
struct Answer {
    status: u16,
    /// The subject of the sentence.
    what: String,
    why: String,
}

impl Answer {
    fn about(request: &Request, status: u16, why: String) -> Self {
        Self { status, what: format!("`{}:{}`", request.host, request.port), why }
    }

    /// To a request whose host is not known.
    fn to_nobody(status: u16, why: String) -> Self {
        Self { status, what: "the request".to_owned(), why }
    }

    fn tell(&self, mut client: &UnixStream) -> io::Result<()> {
        let phrase = match self.status {
            // Many programs show only this.
            403 => "Refused by the policy",
            408 => "Request Timeout",
            431 => "Request Header Fields Too Large",
            502 => "Bad Gateway",
            503 => "Service Unavailable",
            _ => "Bad Request",
        };
        let Self { status, what, why } = self;
        let text = format!("{what} is not reached: {why}\n");
        let head = format!(
            "HTTP/1.1 {status} {phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            text.len()
        );
        client.write_all(&[head, text].concat().into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, os::unix::fs::PermissionsExt};

    use super::*;

    const QUICK: Bounds = Bounds {
        connections: 2,
        head: Duration::from_millis(300),
        connect: Duration::from_secs(10),
    };

    struct Served {
        proxy: Proxy,
        folder: tempfile::TempDir,
    }

    impl Served {
        fn new(rules: &[&str], bounds: Bounds) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let rules: Vec<_> = rules
                .iter()
                .map(|rule| HostRule::try_from((*rule).to_owned()).expect("a rule"))
                .collect();
            let proxy = Proxy::within(&rules, folder.path(), bounds).expect("it starts");
            Self { proxy, folder }
        }

        fn connect(&self) -> UnixStream {
            let client = UnixStream::connect(self.proxy.socket()).expect("it listens");
            client.set_read_timeout(Some(Duration::from_secs(30))).expect("it is set");
            client
        }

        fn ask(&self, text: &str) -> String {
            let mut client = self.connect();
            // A proxy that is full answers without reading.
            let _closed = client.write_all(text.as_bytes());
            all(&client)
        }

        fn log(&self) -> Vec<serde_json::Value> {
            let log = fs::read_to_string(self.folder.path().join("network.jsonl"));
            let log = log.unwrap_or_default();
            log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
        }
    }

    fn all(mut from: impl Read) -> String {
        let mut read = Vec::new();
        match from.read_to_end(&mut read) {
            // After the answer, if the proxy did not read all of the request.
            Err(why) if why.kind() == ErrorKind::ConnectionReset => {}
            ended => drop(ended.expect("it is read")),
        }
        String::from_utf8(read).expect("text")
    }

    /// A server that answers each connection with what it got, up to the empty line.
    fn echo() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        thread::spawn(move || {
            for mut server in listener.incoming().flatten() {
                let mut read = Vec::new();
                let mut piece = [0; 1024];
                while !read.windows(4).any(|end| end == b"\r\n\r\n") {
                    match server.read(&mut piece) {
                        Ok(0) | Err(_) => break,
                        Ok(length) => read.extend_from_slice(&piece[..length]),
                    }
                }
                let _gone = server.write_all(&[b"got: ", read.as_slice()].concat());
            }
        });
        port
    }

    #[test]
    fn listed_hosts_are_reached_and_others_are_refused_and_both_are_logged() {
        let port = echo();
        let served = Served::new(&[&format!("127.0.0.1:{port}"), "*.invalid"], BOUNDS);
        let tunnel = served.ask(&format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello\r\n\r\n"));
        assert_eq!(tunnel, "HTTP/1.1 200 Connection established\r\n\r\ngot: hello\r\n\r\n");
        let plain = served.ask(&format!("GET http://127.0.0.1:{port}/x HTTP/1.1\r\nA: b\r\n\r\n"));
        assert_eq!(
            plain,
            format!(
                "got: GET /x HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nA: b\r\n\r\n"
            )
        );
        let refused = served.ask("CONNECT evil.com:8443 HTTP/1.1\r\n\r\n");
        assert!(refused.starts_with("HTTP/1.1 403 Refused by the policy\r\n"), "{refused}");
        assert!(
            refused.contains("`evil.com:8443` is not reached")
                && refused.contains("network = [\"evil.com:8443\"]"),
            "{refused}"
        );
        assert!(served.ask("CONNECT x.invalid:443 HTTP/1.1\r\n\r\n").contains(" 502 "));
        assert!(served.ask("CONNECT a\u{1}b:443 HTTP/1.1\r\n\r\n").contains(" 400 "));
        let log: Vec<_> = served
            .log()
            .iter()
            .map(|line| {
                let (host, port) = (line["host"].as_str(), line["port"].as_u64());
                let reason = line.get("reason").is_some();
                (host.unwrap_or("-").to_owned(), port, line["allowed"] == true, reason)
            })
            .collect();
        let line = |host: &str, port: u16, allowed, reason| {
            (host.to_owned(), Some(port.into()), allowed, reason)
        };
        assert_eq!(
            log,
            [
                line("127.0.0.1", port, true, false),
                line("127.0.0.1", port, true, false),
                line("evil.com", 8443, false, true),
                line("x.invalid", 443, true, true),
                ("-".to_owned(), None, false, true),
            ]
        );
    }

    #[test]
    fn a_name_for_this_machine_is_refused_unless_it_is_localhost() {
        let port = echo();
        let localhost = format!("localhost:{port}");
        let served = Served::new(&[&localhost, "*.localhost"], BOUNDS);
        let asked = served.ask(&format!("CONNECT {localhost} HTTP/1.1\r\n\r\nhello\r\n\r\n"));
        assert!(asked.ends_with("got: hello\r\n\r\n"), "{asked}");
        for host in [format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
            assert!(served.ask(&format!("CONNECT {host} HTTP/1.1\r\n\r\n")).contains(" 403 "));
        }
        // The resolver of this machine may know it, as loopback, or not.
        let below = served.ask("GET http://a.localhost/ HTTP/1.1\r\n\r\n");
        assert!(
            below.contains("loopback address") || below.contains("cannot be resolved"),
            "{below}"
        );
    }

    #[test]
    fn a_slow_client_is_given_up_and_blocks_nobody() {
        let port = echo();
        let served = Served::new(&[&format!("127.0.0.1:{port}")], QUICK);
        let mut slow = served.connect();
        slow.write_all(b"CONNECT ").expect("it is sent");
        let asked = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello\r\n\r\n");
        assert!(served.ask(&asked).ends_with("got: hello\r\n\r\n"));
        assert!(all(&slow).contains(" 408 "));
        // It is not kept by a byte now and then.
        let mut dripping = served.connect();
        let began = Instant::now();
        while dripping.write_all(b"C").is_ok() && began.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(20));
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }

    #[test]
    fn connections_beyond_the_most_are_refused_and_places_are_free_again() {
        let port = echo();
        let served = Served::new(
            &[&format!("127.0.0.1:{port}")],
            Bounds { head: Duration::from_secs(30), ..QUICK },
        );
        let asked = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello\r\n\r\n");
        let held = [served.connect(), served.connect()];
        let full = all(&served.connect());
        assert!(full.contains(" 503 ") && full.contains("2 connections already"), "{full}");
        drop(held);
        let until = Instant::now() + Duration::from_secs(30);
        while !served.ask(&asked).ends_with("got: hello\r\n\r\n") {
            assert!(Instant::now() < until, "its place is free again");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_dropped_proxy_ends_its_connections_and_leaves_nothing() {
        let port = echo();
        let served = Served::new(&[&format!("127.0.0.1:{port}")], BOUNDS);
        let folder = served.proxy.folder.clone();
        let mode = fs::metadata(&folder).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let mut idle = served.connect();
        idle.write_all(format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n").as_bytes())
            .expect("it is sent");
        let mut answer = [0; 39];
        idle.read_exact(&mut answer).expect("it is joined");
        let Served { proxy, folder: output } = served;
        drop(proxy);
        assert_eq!(all(&idle), "", "the connection has ended");
        assert!(!folder.exists());
        // A host that was killed leaves its folder to the next one.
        fs::create_dir(&folder).expect("a folder");
        let listener = UnixListener::bind(folder.join(SOCKET)).expect("a socket");
        let start = || Proxy::start(&[], output.path()).expect("it starts");
        drop(start());
        assert!(folder.exists(), "it is in use");
        drop(listener);
        drop(start());
        assert!(!folder.exists(), "it was abandoned");
    }

    #[test]
    fn the_path_of_the_folder_may_be_long_and_what_cannot_be_logged_is_refused() {
        let port = echo();
        let folder = tempfile::tempdir().expect("a folder");
        let long = folder.path().join("x".repeat(120));
        fs::create_dir_all(long.join("network.jsonl")).expect("a folder in place of the log");
        let rule = HostRule::try_from(format!("127.0.0.1:{port}")).expect("a rule");
        let proxy = Proxy::start(&[rule], &long).expect("it starts");
        let mut client =
            at_any_length(&proxy.folder, |socket| UnixStream::connect(socket)).expect("it listens");
        write!(client, "CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n").expect("it is sent");
        let answer = all(&client);
        assert!(answer.contains(" 503 ") && answer.contains("cannot be logged"), "{answer}");
    }
}
