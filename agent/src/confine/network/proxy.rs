//! The proxy on the host: it answers the requests of commands, all of them on one thread.

use std::{
    convert::Infallible,
    fs::{self, DirBuilder},
    io::{self, ErrorKind},
    os::{
        fd::AsRawFd,
        unix::{fs::DirBuilderExt, net as unix},
    },
    path::{Path, PathBuf},
    process,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::fs::{Mode, OFlags};
use tokio::{
    net::UnixListener,
    runtime::Builder,
    sync::{Semaphore, oneshot},
    task::{LocalSet, spawn_local},
    time::sleep,
};

use super::{
    connection::{Bounds, Shared, serve},
    hosts::HostRule,
    log::Log,
};

/// The beginning of the names of the private folders, and the socket in each.
const FOLDER: &str = "network-";
const SOCKET: &str = "proxy";

/// The pause after the system could not accept a connection, such as for want of open files.
const PAUSE: Duration = Duration::from_millis(100);

const BOUNDS: Bounds =
    Bounds { connections: 64, head: Duration::from_secs(10), connect: Duration::from_secs(10) };

/// A proxy that runs until it is dropped. Then its connections end.
#[derive(Debug)]
pub(in crate::confine) struct Proxy {
    /// Only the host's user may enter it. It goes with the proxy.
    folder: PathBuf,
    /// Its end stops the thread.
    _stop: oneshot::Sender<Infallible>,
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
        let shared = Shared { rules: rules.into(), log: Log::new(output), bounds };
        let runtime = Builder::new_current_thread().enable_all().build()?;
        DirBuilder::new().mode(0o700).create(&folder)?;
        // From here on, an error drops the proxy and so removes its folder.
        let (stop, stopped) = oneshot::channel();
        let proxy = Self { folder, _stop: stop };
        let listener = at_any_length(&proxy.folder, |socket| unix::UnixListener::bind(socket))?;
        listener.set_nonblocking(true)?;
        let listener = {
            let _inside = runtime.enter();
            UnixListener::from_std(listener)?
        };
        thread::Builder::new().name("network".to_owned()).spawn(move || {
            LocalSet::new().block_on(&runtime, async {
                tokio::select! {
                    _ = stopped => {}
                    () = accept(listener, Rc::new(shared)) => {}
                }
            });
            // The connections have ended with their set. A name that is still being resolved must
            // not hold up this thread.
            runtime.shutdown_background();
        })?;
        Ok(proxy)
    }

    /// The socket, to be mounted for commands.
    pub(in crate::confine) fn socket(&self) -> PathBuf {
        self.folder.join(SOCKET)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It cannot be mended here. A folder that stays is removed by the next proxy.
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
            && at_any_length(&folder, |socket| unix::UnixStream::connect(socket))
                .is_err_and(|why| why.kind() == ErrorKind::ConnectionRefused)
        {
            // What cannot be removed is left for another time.
            let _stays = fs::remove_dir_all(&folder);
        }
    }
}

/// Accepts connections. Nothing that one connection does ends it.
async fn accept(listener: UnixListener, shared: Rc<Shared>) {
    let places = Arc::new(Semaphore::new(shared.bounds.connections));
    loop {
        match (listener.accept().await, Arc::clone(&places).try_acquire_owned()) {
            (Ok((client, _)), Ok(place)) => {
                drop(spawn_local(serve(client, Rc::clone(&shared), Rc::new(place))));
            }
            (Ok((client, _)), Err(_)) => shared.turn_away(client),
            (Err(_), _) => sleep(PAUSE).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
        os::unix::{fs::PermissionsExt, net::UnixStream},
        time::Instant,
    };

    use super::{
        super::connection::{HEAD_BYTES, HEADERS},
        *,
    };

    const QUICK: Bounds = Bounds {
        connections: 2,
        head: Duration::from_millis(300),
        connect: Duration::from_mins(10),
    };

    /// The same, for clients that are not given up, also on a slow machine.
    const PATIENT: Bounds = Bounds { head: Duration::from_mins(10), ..QUICK };

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
            client.set_read_timeout(Some(Duration::from_mins(10))).expect("it is set");
            client
        }

        fn ask(&self, text: &str) -> String {
            let mut client = self.connect();
            // A proxy that is full answers without reading.
            let _closed = client.write_all(text.as_bytes());
            all(&client)
        }

        /// The log, as soon as it has this many lines: what cannot be read is logged after its
        /// answer.
        fn log(&self, count: usize) -> Vec<serde_json::Value> {
            let until = Instant::now() + Duration::from_mins(10);
            loop {
                let log = fs::read_to_string(self.folder.path().join("network.jsonl"));
                let log = log.unwrap_or_default();
                if log.lines().count() >= count {
                    return log
                        .lines()
                        .map(|line| serde_json::from_str(line).expect("JSON"))
                        .collect();
                }
                assert!(Instant::now() < until, "{count} lines: {log}");
                thread::sleep(Duration::from_millis(5));
            }
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

    /// A server that says what it got up to an empty line, and for `/all` up to the end of the
    /// chunks. Then it closes.
    fn echo() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        thread::spawn(move || {
            for mut server in listener.incoming().flatten() {
                let mut read = Vec::new();
                let mut piece = [0; 1024];
                let is_over = |read: &[u8]| {
                    let end: &[u8] = if read.windows(5).any(|at| at == b" /all") {
                        b"0\r\n\r\n"
                    } else {
                        b"\r\n\r\n"
                    };
                    read.windows(end.len()).any(|at| at == end)
                };
                while !is_over(&read) {
                    match server.read(&mut piece) {
                        Ok(0) | Err(_) => break,
                        Ok(length) => read.extend_from_slice(&piece[..length]),
                    }
                }
                let said = [b"got: ", read.as_slice()].concat();
                let head = match read.starts_with(b"hello") {
                    true => String::new(),
                    false => format!(
                        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nKeep-Alive: 5\r\nConnection: \
                         X-Hop\r\nX-Hop: 1\r\n\r\n",
                        said.len()
                    ),
                };
                let _gone = server.write_all(&[head.as_bytes(), &said].concat());
            }
        });
        port
    }

    /// What the server got of a request. Lines of the head are sorted, because their order has no
    /// meaning.
    fn got(answer: &str) -> (String, Vec<String>, String) {
        let (_, got) = answer.split_once("got: ").expect(answer);
        let (head, body) = got.split_once("\r\n\r\n").expect(answer);
        let (first, headers) = head.split_once("\r\n").expect(answer);
        let mut headers: Vec<_> = headers.split("\r\n").map(str::to_owned).collect();
        headers.sort();
        (first.to_owned(), headers, body.to_owned())
    }

    #[test]
    fn listed_hosts_are_reached_and_others_are_refused_and_both_are_logged() {
        let port = echo();
        let served = Served::new(&[&format!("127.0.0.1:{port}"), "*.invalid"], BOUNDS);
        let tunnel = served.ask(&format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello\r\n\r\n"));
        assert!(tunnel.starts_with("HTTP/1.1 200 OK\r\n"), "{tunnel}");
        assert!(tunnel.ends_with("\r\n\r\ngot: hello\r\n\r\n"), "{tunnel}");
        assert!(!tunnel.to_lowercase().contains("content-length"), "{tunnel}");
        let plain = served.ask(&format!("GET http://127.0.0.1:{port}/x HTTP/1.1\r\nA: b\r\n\r\n"));
        let host = format!("Host: 127.0.0.1:{port}");
        let expected = ["A: b", "Connection: close", &host].map(str::to_owned).to_vec();
        assert_eq!(got(&plain), ("GET /x HTTP/1.1".to_owned(), expected, String::new()));
        assert!(!plain.to_lowercase().contains("x-hop"), "{plain}");
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
            .log(5)
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
    fn a_server_gets_its_own_part_of_the_url_and_no_header_for_the_proxy() {
        let port = echo();
        let served = Served::new(&[&format!("127.0.0.1:{port}")], BOUNDS);
        let asked = served.ask(&format!(
            "POST HTTP://127.0.0.1:{port}?b=c#d HTTP/1.1\r\nHost: evil.com\r\nhost: \
             evil.org\r\nConnection: keep-alive, X-Private, Content-Length\r\nX-Private: \
             1\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic x\r\nKeep-Alive: \
             5\r\nTE: trailers\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc"
        ));
        let host = format!("Host: 127.0.0.1:{port}");
        let expected = ["Connection: close", "Content-Length: 3", &host].map(str::to_owned);
        let (first, headers, _) = got(&asked);
        assert_eq!((first.as_str(), headers), ("POST /?b=c HTTP/1.1", expected.to_vec()));
    }

    #[test]
    fn a_body_is_framed_again_and_what_follows_it_does_not_reach_the_server() {
        let port = echo();
        let served = Served::new(&[&format!("127.0.0.1:{port}")], BOUNDS);
        let next = format!("GET http://127.0.0.1:{port}/smuggled HTTP/1.1\r\n\r\n");
        // The length contradicts the chunks, and the chunks have an extension and a trailer.
        for length in ["", "Content-Length: 4\r\n"] {
            let asked = served.ask(&format!(
                "POST http://127.0.0.1:{port}/all HTTP/1.1\r\n{length}Transfer-Encoding: \
                 chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\n{next}"
            ));
            let (_, headers, body) = got(&asked);
            assert!(headers.iter().all(|line| !line.starts_with("Content-Length")), "{headers:?}");
            assert_eq!(body, "3\r\nabc\r\n0\r\n\r\n");
        }
        let asked = served.ask(&format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n{next}"));
        assert!(!got(&asked).2.contains("smuggled") && !asked.contains("/smuggled"), "{asked}");
        assert_eq!(served.log(3).len(), 3, "one request for each connection");
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let port = echo();
        let served = Served::new(&[&format!("127.0.0.1:{port}"), "a.b", "c.d"], BOUNDS);
        let get = |headers: &str| format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n{headers}\r\n");
        let many = "A: b\r\n".repeat(HEADERS + 1);
        let long = format!("A: {}\r\n", "x".repeat(HEAD_BYTES));
        let table = [
            (get("Content-Length: 1\r\nContent-Length: 2\r\n"), 400),
            (get("Transfer-Encoding: gzip, chunked\r\n"), 400),
            (get("Transfer-Encoding: chunked, gzip\r\n"), 400),
            (get("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400),
            (get("Content-Length: +1\r\n"), 400),
            (get("Content-Length: \r\n"), 400),
            (get("Content-Length: 99999999999999999999\r\n"), 400),
            (get("Bad Name: 1\r\n"), 400),
            (get("A: 1\r\n folded\r\n"), 400),
            (get("Transfer-Encoding: chunked\r\n").replace("HTTP/1.1", "HTTP/1.0"), 400),
            (get(&many), 431),
            (get(&long), 431),
            ("GET / HTTP/1.1\r\nHost: a.b\r\n\r\n".to_owned(), 400),
            ("GET https://a.b/ HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("GET ftp://a.b/ HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("GET http:///x HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("GET http://me@a.b/ HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("GET http://a.b\\@c.d/ HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("GET http://a.b%00.c.d/ HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("GET http://127.1/ HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("CONNECT a.b HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("CONNECT a.b:0 HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("CONNECT a.b:80 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello".to_owned(), 400),
            ("CONNECT http://a.b:80 HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("CONNECT a.b\u{1}c:80 HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("CONNECT a.b\u{0}:80 HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("CONNECT a\u{7f}.b:80 HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("CONNECT *.b:80 HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("\u{16}\u{3}\u{1}".to_owned(), 400),
        ];
        for (text, status) in &table {
            let answer = served.ask(text);
            let start = format!("HTTP/1.1 {status} ");
            // To HTTP 1.0 the answer has that version.
            assert!(
                answer.replacen("HTTP/1.0", "HTTP/1.1", 1).starts_with(&start),
                "{text:?}: {answer}"
            );
        }
        let log = served.log(table.len());
        assert_eq!(log.len(), table.len());
        assert!(log.iter().all(|line| line["allowed"] == false && line["host"].is_null()));
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
        let served = Served::new(&[&format!("127.0.0.1:{port}")], PATIENT);
        let mut slow = served.connect();
        slow.write_all(b"CONNECT ").expect("it is sent");
        let asked = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello\r\n\r\n");
        assert!(served.ask(&asked).ends_with("got: hello\r\n\r\n"));
        let served = Served::new(&[&format!("127.0.0.1:{port}")], QUICK);
        let mut slow = served.connect();
        slow.write_all(b"CONNECT ").expect("it is sent");
        assert_eq!(all(&slow), "", "it is closed");
        assert_eq!(all(&served.connect()), "", "also one that says nothing");
        // It is not kept by a byte now and then.
        let mut dripping = served.connect();
        while dripping.write_all(b"C").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
        assert!(served.log(3).iter().all(|line| line["allowed"] == false));
    }

    #[test]
    fn a_client_that_is_gone_leaves_its_place_although_its_server_is_silent() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let served = Served::new(&[&format!("127.0.0.1:{port}")], PATIENT);
        for _ in 0..4 {
            let mut client = served.connect();
            let asked = format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n");
            client.write_all(asked.as_bytes()).expect("it is sent");
            let (mut server, _) = listener.accept().expect("a connection");
            server.read_exact(&mut [0; 16]).expect("the request has begun");
            drop(client);
            // The server sees the end, and the next client has a place.
            assert!(all(&mut server).ends_with("\r\n\r\n"));
        }
        assert!(served.log(4).iter().all(|line| line["allowed"] == true));
    }

    #[test]
    fn connections_beyond_the_most_are_refused_and_places_are_free_again() {
        let port = echo();
        let served = Served::new(&[&format!("127.0.0.1:{port}")], PATIENT);
        let asked = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello\r\n\r\n");
        let held = [served.connect(), served.connect()];
        let full = all(&served.connect());
        assert!(full.contains(" 503 ") && full.contains("2 connections already"), "{full}");
        drop(held);
        let until = Instant::now() + Duration::from_mins(10);
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
        let mut answer = [0; 12];
        idle.read_exact(&mut answer).expect("it is joined");
        assert_eq!(&answer, b"HTTP/1.1 200");
        let Served { proxy, folder: output } = served;
        drop(proxy);
        assert!(!all(&idle).contains("got"), "the connection has ended");
        assert!(!folder.exists());
        // A host that was killed leaves its folder to the next one.
        fs::create_dir(&folder).expect("a folder");
        let listener = unix::UnixListener::bind(folder.join(SOCKET)).expect("a socket");
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
