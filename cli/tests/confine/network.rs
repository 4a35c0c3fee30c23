//! Hosts that are allowed by name: what a command reaches through the proxy of the host, and that
//! it reaches nothing else. The tests need bubblewrap, curl, python3 and git.

use std::{
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use wakeful_agent::{
    command::{Limits, Running, Spec},
    confine::{ConfineError, Confinement, Policy, Surroundings, Wall},
};

use super::{House, Ran};
use crate::{
    command::{ended, eventually},
    program::wakeful,
};

/// A server on the loopback of the host that answers each request with its first line and its host.
struct Server {
    port: u16,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        thread::spawn(move || {
            listener.incoming().flatten().for_each(|stream| drop(thread::spawn(|| answer(stream))));
        });
        Self { port }
    }

    /// A policy that lists the server under these names.
    fn policy(&self, names: &[&str]) -> String {
        let hosts: Vec<String> =
            names.iter().map(|name| format!("\"{name}:{}\"", self.port)).collect();
        format!("network = [{}]\n", hosts.join(", "))
    }
}

fn answer(mut stream: TcpStream) {
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(length) => head.extend_from_slice(&piece[..length]),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let line = |start: &str| head.lines().find(|line| line.starts_with(start)).unwrap_or("-");
    let said = format!("{} | {} | {}\n", line(""), line("Host:"), line("Connection:"));
    let text = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{said}",
        said.len()
    );
    let _gone = stream.write_all(text.as_bytes());
}

/// The lines of the log, without their times: host, port, whether allowed.
fn log(house: &House) -> Vec<(String, u64, bool)> {
    let text = fs::read_to_string(house.path("records/network.jsonl")).unwrap_or_default();
    text.lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            assert!(line["at"].is_string(), "{line}");
            assert_eq!(line["allowed"] == true, line.get("reason").is_none(), "{line}");
            let host = line["host"].as_str().unwrap_or("-").to_owned();
            (host, line["port"].as_u64().unwrap_or(0), line["allowed"] == true)
        })
        .collect()
}

#[test]
fn a_listed_host_is_reached_by_http_and_by_a_tunnel_and_each_request_is_logged() {
    let server = Server::start();
    let house = House::new();
    let port = server.port;
    let policy = server.policy(&["127.0.0.1", "localhost"]);
    let curl = "curl -sS --noproxy '' --max-time 600";
    for host in ["127.0.0.1", "localhost"] {
        let plain = format!("{curl} http://{host}:{port}/a?b");
        assert_eq!(
            house.run(&policy, &plain).is_well(&plain),
            format!("GET /a?b HTTP/1.1 | Host: {host}:{port} | Connection: close\n")
        );
        let tunnel = format!("{curl} --proxytunnel http://{host}:{port}/t");
        assert_eq!(
            house.run(&policy, &tunnel).is_well(&tunnel),
            format!("GET /t HTTP/1.1 | Host: {host}:{port} | -\n")
        );
    }
    let line = |host: &str| (host.to_owned(), u64::from(port), true);
    let expected = ["127.0.0.1", "127.0.0.1", "localhost", "localhost"].map(line);
    assert_eq!(log(&house), expected);
    // The folder with the socket is gone with the confinement.
    let left: Vec<_> = fs::read_dir(house.path("records"))
        .expect("it is there")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(left, ["network.jsonl"]);
}

#[test]
fn a_host_that_is_not_listed_is_refused_with_what_to_do() {
    let server = Server::start();
    let house = House::new();
    let port = server.port;
    let policy = server.policy(&["localhost"]);
    let curl = "curl -sS --noproxy '' --max-time 600";
    for (host, entry) in [
        (format!("127.0.0.1:{port}"), format!("127.0.0.1:{port}")),
        ("example.com".to_owned(), "example.com".to_owned()),
        ("localhost".to_owned(), "localhost".to_owned()),
        (format!("[::1]:{port}"), format!("[::1]:{port}")),
    ] {
        let cmd = format!("{curl} -g -w '%{{http_code}}' http://{host}/");
        let ran = house.run(&policy, &cmd);
        let text = ran.is_well(&cmd);
        assert!(text.ends_with("\n403") && text.contains(&format!("[\"{entry}\"]")), "{text}");
    }
    let tunnel = house.run(&policy, &format!("{curl} -v https://example.com/"));
    tunnel.is_held("a tunnel");
    assert!(tunnel.stderr.text.contains("403 Refused by the policy"), "{tunnel:?}");
    assert!(log(&house).iter().all(|(.., is_allowed)| !is_allowed), "{:?}", log(&house));
    assert_eq!(log(&house).len(), 5);
}

#[test]
fn without_the_proxy_nothing_is_reached() {
    let server = Server::start();
    let house = House::new();
    let port = server.port;
    let policy = server.policy(&["127.0.0.1", "localhost"]);
    let ways = [
        format!("curl -sS --noproxy '*' --max-time 10 http://127.0.0.1:{port}/"),
        format!("exec 3<> /dev/tcp/127.0.0.1/{port}"),
        "exec 3<> /dev/tcp/1.1.1.1/443".to_owned(),
        "exec 3<> /dev/udp/1.1.1.1/53 && echo x >&3".to_owned(),
        "python3 -c 'import socket; socket.getaddrinfo(\"example.com\", 443)'".to_owned(),
    ];
    for way in ways {
        let spec = Spec { shell: Some("bash".to_owned()), ..house.home.spec(&way) };
        house.run_as(&policy, spec).is_held(&way);
    }
    assert_eq!(log(&house), []);
    // The socket itself leads to the same proxy.
    let direct = "python3 -c '\nimport socket\ns = socket.socket(socket.AF_UNIX)\n\
                  s.connect(\"/run/wakeful/proxy\")\ns.sendall(b\"CONNECT evil.com:443 \
                  HTTP/1.1\\r\\n\\r\\n\")\nprint(s.recv(999).decode())\n'";
    assert!(house.run(&policy, direct).is_well(direct).contains(" 403 "));
    let removed =
        "rm -f /run/wakeful/proxy; mv /run/wakeful/proxy /tmp/; test -S /run/wakeful/proxy";
    house.run(&policy, removed).is_well("commands cannot remove it");
    let closed = "test ! -e /run/wakeful/proxy && test -z \"$http_proxy$HTTPS_PROXY$all_proxy\"";
    house.run("", closed).is_well("without a list there is no proxy");
    house.run("network = true", closed).is_well("without a list there is no proxy");
}

#[test]
fn the_forwarder_is_confined_and_in_nobodys_way() {
    let server = Server::start();
    let house = House::new();
    let policy = server.policy(&["localhost"]);
    let children = "python3 -c '\nimport os\ntry:\n    os.wait()\nexcept ChildProcessError:\n    \
                    print(\"no children\")\n'";
    let bash = |cmd: &str| Spec { shell: Some("bash".to_owned()), ..house.home.spec(cmd) };
    assert_eq!(
        house.run_as(&policy, bash(&format!("exec {children}"))).is_well(children),
        "no children\n"
    );
    let confined = "pid=$(pgrep -f 'confined-forwar[d]') && grep -h -E 'NoNewPrivs|Seccomp:|CapEff' \
                    /proc/$pid/status && tr '\\0' '\\n' < /proc/$pid/environ | wc -l";
    let ran = house.run(&policy, confined);
    let text = ran.is_well(confined);
    assert!(text.contains("NoNewPrivs:\t1") && text.contains("Seccomp:\t2"), "{text}");
    let kept = text
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:\t"))
        .and_then(|hex| u64::from_str_radix(hex, 16).ok());
    assert_eq!(kept.map(|all| all & !0b1011), Some(0), "{text}");
    assert!(text.ends_with("\n0\n"), "it has no environment: {text}");
    let ended = format!(
        "trap '' TERM; kill 0; curl -sS --noproxy '' --max-time 600 http://localhost:{}/",
        server.port
    );
    assert!(
        house.run_as(&policy, bash(&ended)).is_well(&ended).contains("GET /"),
        "a signal to the group of the command does not end it"
    );
    let serves = "python3 -m http.server 8000 > served 2>&1 & for _ in $(seq 6000); do curl -sS \
                  --max-time 600 http://127.0.0.1:8000/ > /dev/null 2>&1 && exit 0; sleep 0.05; \
                  done; exit 1";
    house.run_as(&policy, bash(serves)).is_well("a command reaches its own servers");
    let status = house.run(&policy, "exit 7");
    assert_eq!(status.exit.code, Some(7), "{status:?}");
}

#[test]
fn a_slow_client_does_not_block_another_and_commands_run_beside_each_other() {
    let server = Server::start();
    let house = House::new();
    let confinement = house.confinement(&server.policy(&["127.0.0.1"]));
    let start = |number: usize, cmd: &str| {
        let spec = Spec {
            workdir: house.path("work"),
            environment: confinement.environment(std::env::vars_os()),
            shell: Some("bash".to_owned()),
            ..house.home.spec(cmd)
        };
        let output = house.path(&format!("output-{number}"));
        Running::start(&spec, &Limits::default(), Some(&confinement), &output).expect("it starts")
    };
    // It holds connections and sends a byte of each head now and then.
    let slow = start(
        0,
        "for n in $(seq 10 29); do eval \"exec $n<> /dev/tcp/127.0.0.1/3128\"; echo -n C >&$n; \
         done; touch held; while sleep 0.5; do for n in $(seq 10 29); do echo -n O >&$n; done; \
         done",
    );
    eventually("the slow client holds its connections", || house.path("work/held").exists());
    let began = Instant::now();
    let get = format!(
        "for n in 1 2 3; do curl -sS --noproxy '' --max-time 600 http://127.0.0.1:{}/$n; done",
        server.port
    );
    let others: Vec<Running> = (1..=6).map(|number| start(number, &get)).collect();
    for other in &others {
        let exit = ended(other);
        let ran = Ran { exit, stdout: other.stdout(), stderr: other.stderr() };
        assert_eq!(ran.is_well(&get).matches("GET /").count(), 3, "{ran:?}");
    }
    assert!(slow.exit().is_none(), "it is still there");
    assert!(began.elapsed() < Duration::from_mins(2), "{:?}", began.elapsed());
    slow.stop();
    ended(&slow);
    assert_eq!(log(&house).iter().filter(|(.., is_allowed)| *is_allowed).count(), 18);
}

#[test]
fn git_and_python_find_the_proxy_by_themselves() {
    let server = Server::start();
    let house = House::new();
    let policy = server.policy(&["localhost"]);
    let python = "python3 -c '\nimport urllib.request\nurllib.request.urlopen(\"https://evil.com/\")\
                  \n'";
    let refused = house.run(&policy, python);
    refused.is_held(python);
    assert!(refused.stderr.text.contains("403 Refused by the policy"), "{refused:?}");
    let git = "git ls-remote https://evil.com/x.git";
    let refused = house.run(&policy, git);
    refused.is_held(git);
    assert!(refused.stderr.text.contains("403"), "{refused:?}");
    let refused = |host: &str| (host.to_owned(), 443, false);
    assert_eq!(log(&house), [refused("evil.com"), refused("evil.com")]);
}

#[test]
fn a_container_cannot_hold_a_list_of_hosts_so_nothing_runs() {
    let house = House::new();
    let around = Surroundings { wall: Wall::Container, ..house.around() };
    let policy = Policy::read("network = [\"crates.io\"]").expect("a policy");
    let why = Confinement::new(policy, house.workspace(), &around).expect_err("refused");
    assert!(matches!(why, ConfineError::Hosts), "{why}");
    assert!(why.to_string().contains("needs bubblewrap"), "{why}");
}

#[test]
fn a_host_that_cannot_start_the_proxy_runs_nothing() {
    let house = House::new();
    let around = Surroundings { output: house.path("nowhere"), ..house.around() };
    let policy = Policy::read("network = [\"crates.io\"]").expect("a policy");
    let refused = Confinement::new(policy, house.workspace(), &around).expect_err("refused");
    assert!(matches!(&refused, ConfineError::Proxy { path, .. } if path.ends_with("nowhere")));
}

#[test]
fn a_forwarder_that_is_misused_says_what_it_is() {
    for arguments in [&["confined-forward"][..], &["confined-forward", "{}"]] {
        let out = std::process::Command::new(env!("CARGO_BIN_EXE_wakeful"))
            .args(arguments)
            .stdin(std::process::Stdio::null())
            .output()
            .expect("it runs");
        let text = [out.stdout, out.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let why = if arguments.len() == 1 { "is for the host itself" } else { "line 1 column" };
        assert!(text.contains(why), "{text}");
    }
}

#[test]
fn a_checked_policy_shows_its_hosts() {
    let house = House::new();
    house.write("policy.toml", "network = [\"crates.io\", \"*.pypi.org\", \"a.b:8443\"]\n");
    let file = house.text("policy.toml");
    let shown = wakeful(["print", "policy", "--check", &file]);
    assert_eq!(
        (shown.code, shown.out),
        (
            0,
            format!(
                "ok: `{file}` is a valid policy\ncommands reach only these hosts:\n  crates.io, \
                 ports 80 and 443\n  *.pypi.org, ports 80 and 443\n  a.b:8443, port 8443\nhere: \
                 commands run behind bubblewrap\n"
            )
        )
    );
    let weaker = wakeful(["print", "policy", "--check", &file, "--wall", "container"]);
    assert!(weaker.out.contains("here: commands are not run: a list of hosts"), "{}", weaker.out);
    house.write("policy.toml", "network = [\n  \"crates.io\",\n  \"10.0.0.0/8\",\n]\n");
    let refused = wakeful(["print", "policy", "--check", &file]);
    assert!(
        refused.code == 2
            && refused.err.contains("range of addresses")
            && refused.err.contains("line 3 column 3"),
        "{}",
        refused.err
    );
}

#[test]
fn the_forwarder_ends_with_its_command() {
    let server = Server::start();
    let house = House::new();
    let confinement = house.confinement(&server.policy(&["localhost"]));
    let forwarders = || {
        let entries = fs::read_dir("/proc").expect("it is there").flatten();
        // Those of other tests have other folders mounted.
        let is_one = |process: &Path| {
            let read = |name: &str| fs::read(process.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&read("cmdline")).contains("confined-forward\0")
                && String::from_utf8_lossy(&read("mountinfo")).contains(&house.text("scratch"))
        };
        entries.filter(|entry| is_one(&entry.path())).count()
    };
    for tty in [false, true] {
        let spec = Spec {
            workdir: house.path("work"),
            environment: confinement.environment(std::env::vars_os()),
            tty,
            ..house.home.spec("echo started; exec sleep 3600")
        };
        let output = house.path(&format!("output-{tty}"));
        let running = Running::start(&spec, &Limits::default(), Some(&confinement), &output)
            .expect("it starts");
        eventually("it runs", || running.stdout().text.contains("started"));
        assert_eq!(forwarders(), 1);
        running.stop();
        ended(&running);
        eventually("the forwarder has ended", || forwarders() == 0);
    }
}
