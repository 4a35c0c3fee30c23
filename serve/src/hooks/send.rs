//! Sending an event: over HTTP to addresses that may be reached, signed by Standard Webhooks, or to
//! a program. Neither may take long.

use std::{
    env,
    io::Write,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use ureq::{
    Agent,
    config::Config,
    http::{StatusCode, Uri, header},
    unversioned::{
        resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver},
        transport::{DefaultConnector, NextTimeout},
    },
};
use wakeful_agent::http;

use super::{Hook, event::Event};
use crate::{
    outgoing::{ANSWER_BYTES, client},
    signing,
};

/// The time that a program has for an event.
const PROGRAM_PATIENCE: Duration = Duration::from_secs(30);

/// How often the end of a program is looked for.
const LOOK: Duration = Duration::from_millis(10);

/// What a program gets of the environment of the server, which may hold the key of a provider.
const ENVIRONMENT: [&str; 5] = ["HOME", "LANG", "PATH", "TMPDIR", "TZ"];

/// The addresses of the data of a machine in a cloud, besides the link-local ones.
const METADATA: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// Why no hook may have this URL; `None` if one may.
pub(super) fn fault_in(url: &str, allows_http: bool) -> Option<String> {
    let Ok(uri) = url.parse::<Uri>() else {
        return Some(format!("`{url}` is not a URL: write it as https://desk.example/hook"));
    };
    let host = uri.host().unwrap_or_default();
    if host.is_empty() || uri.authority().is_some_and(|it| it.as_str().contains('@')) {
        return Some(format!("`{url}` must have a host, and neither a name nor a password"));
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse::<IpAddr>().ok();
    if let Some(address) = address.filter(|address| is_refused(*address)) {
        return Some(format!(
            "no hook may reach {address}: it is a link-local address or not that of one machine"
        ));
    }
    let is_here = http::is_loopback(host);
    match uri.scheme_str() {
        Some("https") => None,
        Some("http") if allows_http || is_here => None,
        Some("http") => Some(format!(
            "`{url}` would send events in plain text: use https, or start the server with \
             --allow-http-hooks"
        )),
        _ => Some(format!("`{url}` must begin with https://")),
    }
}

/// Whether no hook may reach an address: those of links, on which clouds serve secrets of a
/// machine, and those that are not of one machine.
fn is_refused(address: IpAddr) -> bool {
    let address = address.to_canonical();
    if METADATA.contains(&address) {
        return true;
    }
    match address {
        IpAddr::V4(v4) => {
            v4.is_link_local() || v4.is_broadcast() || v4.is_multicast() || v4.octets()[0] == 0
        }
        IpAddr::V6(v6) => {
            // A gateway between the protocols has the IPv4 address at the end.
            let part = v6.segments();
            let [.., high, low] = part;
            let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
            let is_embedded = matches!(part, [0x64, 0xff9b, 0, 0, 0, 0, ..])
                || matches!(part, [0, 0, 0, 0, 0, 0, ..]) && !v6.is_loopback();
            v6.is_unicast_link_local()
                || v6.is_multicast()
                || v6.is_unspecified()
                || is_embedded && is_refused(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
        }
    }
}

/// Resolves names, and leaves out the addresses that no hook may reach. The connection goes to what
/// is left, so a name cannot point elsewhere a moment later.
#[derive(Debug)]
struct Guarded {
    allows_http: bool,
}

impl Resolver for Guarded {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        let is_plain = uri.scheme_str() != Some("https") && !self.allows_http;
        let may = |address: &&SocketAddr| {
            let ip = address.ip().to_canonical();
            !is_refused(ip) && (!is_plain || ip.is_loopback())
        };
        let mut left = self.empty();
        found.iter().filter(may).for_each(|address| left.push(*address));
        if left.is_empty() {
            let why = "its name stands for an address that no hook may reach";
            return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, why).into());
        }
        Ok(left)
    }
}

/// Why an event was not delivered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Undelivered {
    pub(super) why: String,
    /// What the receiver says of the next time.
    pub(super) next: Next,
}

/// What the receiver says of the next time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing.
    Unsaid,
    /// After this time at the earliest.
    After(Duration),
    /// It is gone for good, and wants no event any more.
    Never,
}

impl Undelivered {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), next: Next::Unsaid }
    }
}

/// Sends events.
pub(super) enum Sender {
    Http(Box<Agent>),
    Program(PathBuf),
}

impl Sender {
    pub(super) fn over_http(allows_http: bool) -> Self {
        // A proxy would resolve the name itself.
        let config = client().proxy(None).build();
        let resolver = Guarded { allows_http };
        let agent = Agent::with_parts(config, DefaultConnector::default(), resolver);
        Self::Http(Box::new(agent))
    }

    /// Sends an event. It is delivered if the receiver answers with a status of success, or if the
    /// program ends with 0.
    pub(super) fn send(&self, hook: &Hook, event: &Event) -> Result<(), Undelivered> {
        match self {
            Self::Http(agent) => post(agent, &hook.url, &hook.secret, event),
            Self::Program(program) => {
                run(program, event, PROGRAM_PATIENCE).map_err(Undelivered::new)
            }
        }
    }
}

fn post(agent: &Agent, url: &str, secret: &str, event: &Event) -> Result<(), Undelivered> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let signed = signing::signature(secret, &event.id, now, event.body.as_bytes())
        .ok_or("the hook's secret cannot be read: delete the hook and make it again")
        .map_err(Undelivered::new)?;
    let sent = agent
        .post(url)
        .header("content-type", "application/cloudevents+json; charset=utf-8")
        .header("webhook-id", &event.id)
        .header("webhook-timestamp", now.to_string())
        .header("webhook-signature", signed)
        .send(&event.body);
    let mut answer = sent.map_err(|why| Undelivered::new(why.to_string()))?;
    let status = answer.status();
    // What is read lets the connection be used again, and says nothing.
    let _ = answer.body_mut().with_config().limit(ANSWER_BYTES).read_to_vec();
    if status.is_success() {
        return Ok(());
    }
    let why = format!("the receiver answered {status}");
    // Standard Webhooks says what both mean.
    let next = match answer.headers().get(header::RETRY_AFTER).and_then(|it| it.to_str().ok()) {
        _ if status == StatusCode::GONE => Next::Never,
        Some(text) => {
            http::wait_asked_for(text, SystemTime::now()).map_or(Next::Unsaid, Next::After)
        }
        None => Next::Unsaid,
    };
    Err(Undelivered { why, next })
}

/// Runs a program with an event on its standard input.
fn run(program: &Path, event: &Event, patience: Duration) -> Result<(), String> {
    let known = ENVIRONMENT.iter().filter_map(|name| Some((name, env::var_os(name)?)));
    let mut child = Command::new(program)
        .env_clear()
        .envs(known)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|why| format!("`{}` cannot be started: {why}", program.display()))?;
    // A program that does not read must not hold up the server.
    if let Some(mut input) = child.stdin.take() {
        let text = format!("{}\n", event.body);
        // What it did not read is its own affair: its end says whether it has the event.
        thread::spawn(move || input.write_all(text.as_bytes()));
    }
    let until = Instant::now() + patience;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("the program ended with {status}")),
            Ok(None) if Instant::now() < until => thread::sleep(LOOK),
            ended => {
                // One that has ended meanwhile cannot be killed, and is waited for all the same.
                let _ = child.kill();
                let _ = child.wait();
                let ended = ended.err().map(|why| why.to_string());
                let late = || format!("the program did not end within {} s", patience.as_secs());
                return Err(ended.unwrap_or_else(late));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_go_encrypted_and_not_to_links() {
        for url in [
            "https://desk.example/hook",
            "https://10.0.0.7:8443/hook",
            "http://localhost:9/",
            "http://127.0.0.1/x",
            "http://[::1]:80/",
        ] {
            assert_eq!(fault_in(url, false), None, "{url}");
        }
        for url in [
            "http://desk.example/hook",
            "http://10.0.0.7/",
            "http://localhost.desk.example/",
            "ftp://desk.example/",
            "desk.example",
            "/hook",
            "",
            "https://me:secret@desk.example/",
            "https://169.254.169.254/latest",
            "https://[fe80::1]/",
            "https://[::ffff:169.254.169.254]/",
            "https://[64:ff9b::a9fe:a9fe]/",
            "https://[::a9fe:a9fe]/",
            "https://[fd00:ec2::254]/",
            "https://100.100.100.200/",
            "https://0.0.0.0/",
            "https://[::]/",
            "https://224.0.0.1/",
            "https://255.255.255.255/",
        ] {
            assert!(fault_in(url, false).is_some(), "{url}");
        }
        assert_eq!(fault_in("http://desk.example/hook", true), None);
        assert!(fault_in("http://169.254.169.254/", true).is_some());
    }

    fn over(url: &str, secret: &str, event: &Event) -> Result<(), Undelivered> {
        let Sender::Http(agent) = Sender::over_http(true) else { unreachable!("it is over HTTP") };
        post(&agent, url, secret, event)
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_fails_or_never_ends_has_not_got_the_event() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().expect("a folder");
        let program = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a file");
            let all = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, all).expect("a program");
            path
        };
        // More than a pipe holds.
        let event = Event { id: "evt_1".into(), body: "x".repeat(300_000) };
        let soon = Duration::from_millis(300);
        let long = Duration::from_mins(10);
        let out = folder.path().join("out");
        let takes = program("takes", &format!("cat > {}", out.display()));
        assert_eq!(run(&takes, &event, long), Ok(()));
        assert_eq!(std::fs::read_to_string(&out).expect("a file"), event.body.clone() + "\n");
        assert_eq!(run(&program("ignores", "exit 0"), &event, long), Ok(()));
        let why = run(&program("fails", "cat > /dev/null; exit 3"), &event, long);
        assert!(why.expect_err("it fails").contains("exit status: 3"));
        let why = run(&program("sleeps", "exec sleep 3600"), &event, soon).expect_err("it is late");
        assert!(why.contains("did not end within"), "{why}");
        let why = run(&folder.path().join("none"), &event, soon).expect_err("there is none");
        assert!(why.contains("cannot be started"), "{why}");
    }

    #[test]
    fn a_name_is_resolved_before_it_is_trusted() {
        // The system reads these as 169.254.169.254, and a check of the text would not.
        for url in ["http://2852039166/", "http://0xa9.0xfe.0xa9.0xfe/", "http://169.254.43518/"] {
            let event = Event { id: "evt_1".into(), body: "{}".into() };
            let secret = signing::new_secret().expect("bytes");
            let why = over(url, &secret, &event).expect_err(url).why;
            assert!(why.contains("an address that no hook may reach"), "{url}: {why}");
        }
    }
}
