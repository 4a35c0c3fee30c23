//! Networks, local services, and what processes share without files.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    },
    sync::mpsc::RecvTimeoutError,
    time::Duration,
};

use crate::{
    kinds::{ABSTRACT, CALLS, CLOSED, IPC, PROCESSES, SERVICES, TCP},
    row::{Outcome, ROW, Row, Who},
    scene::{Ran, SECRET, Scene, unique},
};

/// What a client of a service says.
const TOKEN: &str = "hello-from-the-command";

/// Whether a client that said the token has come. The command has ended already, so it is there at
/// once or not at all.
fn came<S: Read + Write>(ran: &Ran, accept: impl Fn() -> std::io::Result<S>) -> Outcome {
    let mut said = String::new();
    // An error is a client that went away; it said nothing.
    let _read = accept().and_then(|mut stream| stream.read_to_string(&mut said));
    ran.if_so(said.contains(TOKEN), "the service is told something")
}

fn tcp(scene: &Scene, protocol: &str, flags: &str) -> Outcome {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    server.set_nonblocking(true).expect("it can");
    let port = server.local_addr().expect("an address").port();
    let ran = scene.python(&format!(
        "s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, {protocol}); s.settimeout(3)\n\
         {}; s.close()",
        flags.replace("PORT", &port.to_string())
    ));
    came(&ran, || server.accept().map(|(stream, _)| stream))
}

fn has_mptcp() -> Result<(), String> {
    match std::fs::read_to_string("/proc/sys/net/mptcp/enabled").as_deref() {
        Ok("1\n") => Ok(()),
        _ => Err("the kernel has no MPTCP (net.mptcp.enabled)".to_owned()),
    }
}

pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "connects to a server of the machine",
        kind: &TCP,
        ways: &[
            "s.connect(('127.0.0.1', PORT)); s.sendall(b'hello-from-the-command')",
            "s.settimeout(None); s.sendto(b'hello-from-the-command', 0x20000000, ('127.0.0.1', PORT))",
        ],
        tries: |scene, way| tcp(scene, "0", way),
        ..ROW
    },
    Row {
        name: "connects to a server of the machine by MPTCP",
        kind: &TCP,
        tries: |scene, _| {
            tcp(
                scene,
                "262",
                "s.connect(('127.0.0.1', PORT)); s.sendall(b'hello-from-the-command')",
            )
        },
        needs: has_mptcp,
        ..ROW
    },
    Row {
        name: "serves at a port of the machine",
        kind: &TCP,
        ways: &["0", "262"],
        tries: |scene, protocol| {
            serves(scene, &format!("s = socket.socket(2, 1, {protocol}); s.bind(('127.0.0.1', 0))"))
        },
        needs: has_mptcp,
        ..ROW
    },
    Row {
        name: "serves without asking for a port",
        kind: &SERVICES,
        tries: |scene, _| serves(scene, "s = socket.socket()"),
        ..ROW
    },
    Row {
        name: "connects to an abstract socket",
        kind: &TCP,
        tries: |scene, _| abstract_socket(scene, ""),
        ..ROW
    },
    Row {
        name: "connects to an abstract socket while the policy opens the network",
        kind: &ABSTRACT,
        tries: |scene, _| abstract_socket(scene, "network = true"),
        ..ROW
    },
    Row {
        name: "connects to the socket file of a local service",
        kind: &SERVICES,
        ways: &["outside/s", "home/s", "home/.ssh/agent"],
        tries: |scene, name| {
            let path = scene.path(name);
            let server = UnixListener::bind(&path).expect("a short path");
            server.set_nonblocking(true).expect("it can");
            let ran = scene.python(&format!(
                "s = socket.socket(socket.AF_UNIX)\n\
                 os.chdir('{}'); s.connect('{}')\n\
                 s.sendall(b'{TOKEN}')",
                path.parent().expect("a folder").display(),
                path.file_name().expect("a name").to_str().expect("text"),
            ));
            came(&ran, || server.accept().map(|(stream, _)| stream))
        },
        ..ROW
    },
    Row {
        name: "connects to a socket file of root below a folder of the system",
        kind: &CLOSED,
        tries: |scene, _| {
            let folder = tempfile::Builder::new().prefix("wakeful-attack-").tempdir_in("/opt");
            let folder = folder.expect("root makes it");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(folder.path(), mode).expect("it is root's");
            let path = folder.path().join("s");
            let server = UnixListener::bind(&path).expect("a short path");
            server.set_nonblocking(true).expect("it can");
            let ran = scene.python(&format!(
                "s = socket.socket(1); s.connect('{}'); s.sendall(b'{TOKEN}')",
                path.display()
            ));
            came(&ran, || server.accept().map(|(stream, _)| stream))
        },
        who: Who::Root("others cannot make one there"),
        needs: || match std::path::Path::new("/opt").is_dir() {
            true => Ok(()),
            false => Err("there is no /opt".to_owned()),
        },
        ..ROW
    },
    Row {
        name: "tells a terminal multiplexer what to run",
        kind: &SERVICES,
        tries: |scene, _| {
            let socket = scene.text("outside/tmux");
            let tmux = |words: &str| {
                let line = format!("TERM=xterm tmux -f /dev/null -S '{socket}' {words}");
                std::process::Command::new("/bin/sh").args(["-c", &line]).status()
            };
            let begun = tmux("new-session -d 'sleep 3600'").expect("a shell starts");
            assert!(begun.success(), "tmux does not start");
            let ran = scene.sh(&format!(
                "tmux -S '{socket}' run-shell 'echo > {}/new'",
                scene.text("outside")
            ));
            let is_seen = crate::processes::succeeds(scene, || scene.path("outside/new").exists());
            let _ended = tmux("kill-server");
            ran.if_so(is_seen, "it ran a command outside")
        },
        who: Who::Others("tmux refuses the user that a host of root gives its commands"),
        needs: || match std::path::Path::new("/usr/bin/tmux").is_file() {
            true => Ok(()),
            false => {
                Err("tmux is not installed (the row before is the same without it)".to_owned())
            }
        },
        ..ROW
    },
    Row {
        name: "sends to a UDP server of the machine",
        kind: &SERVICES,
        tries: |scene, _| {
            let server = UdpSocket::bind("127.0.0.1:0").expect("a port");
            server.set_nonblocking(true).expect("it can");
            let port = server.local_addr().expect("an address").port();
            let ran = scene.python(&format!(
                "s = socket.socket(2, socket.SOCK_DGRAM); s.sendto(b'{TOKEN}', ('127.0.0.1', \
                 {port}))"
            ));
            let mut bytes = [0; 100];
            ran.if_so(server.recv(&mut bytes).is_ok(), "the server gets it")
        },
        ..ROW
    },
    Row {
        name: "reads System V shared memory",
        kind: &IPC,
        tries: |scene, _| {
            let key = unique();
            let shared = "libc.shmat.restype = ctypes.c_void_p\n\
                          libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]\n";
            let id = scene.host_python(&format!(
                "{shared}m = done(libc.shmget({key}, 4096, 0o1666)); p = libc.shmat(m, None, 0)\n\
                 ctypes.memmove(p, sys.argv[1].encode(), 22); print(m)"
            ));
            let ran = scene.python(&format!(
                "{shared}m = done(libc.shmget({key}, 0, 0))\n\
                 print(ctypes.string_at(libc.shmat(m, None, 0o10000), 22))"
            ));
            scene.host_python(&format!("done(libc.shmctl({}, 0, None))", id.trim()));
            scene.leaked(&ran)
        },
        ..ROW
    },
    Row {
        name: "reads a POSIX message queue",
        kind: &PROCESSES,
        tries: |scene, _| {
            let name = format!("/wakeful-attack-{}", unique());
            let queue = "mq = ctypes.CDLL('librt.so.1', use_errno=True)\n";
            scene.host_python(&format!(
                "{queue}q = done(mq.mq_open(b'{name}', os.O_CREAT | os.O_RDWR, 0o600, None))\n\
                 done(mq.mq_send(q, sys.argv[1].encode(), 22, 0))"
            ));
            let ran = scene.python(&format!(
                "{queue}q = done(mq.mq_open(b'{name}', os.O_RDONLY | os.O_NONBLOCK))\n\
                 b = ctypes.create_string_buffer(8192); done(mq.mq_receive(q, b, 8192, None)); \
                 print(b.value)"
            ));
            scene.host_python(&format!("{queue}done(mq.mq_unlink(b'{name}'))"));
            scene.leaked(&ran)
        },
        ..ROW
    },
    Row {
        name: "reads a key from the keyring of the user",
        kind: &CALLS,
        tries: |scene, _| {
            let name = format!("wakeful-attack-{}", unique());
            // -4 is the keyring of the user.
            let id = scene.host_python(&format!(
                "print(call({}, b'user', b'{name}', sys.argv[1].encode(), 22, -4))",
                libc::SYS_add_key
            ));
            let ran = scene.python(&format!(
                "k = call({0}, 10, -4, b'user', b'{name}', 0)\n\
                 b = ctypes.create_string_buffer(64); call({0}, 11, k, b, 64); print(b.value)",
                libc::SYS_keyctl
            ));
            scene.host_python(&format!("call({}, 9, {}, -4)", libc::SYS_keyctl, id.trim()));
            scene.leaked(&ran)
        },
        ..ROW
    },
    Row {
        name: "opens a raw or packet socket",
        kind: &CALLS,
        ways: &[
            "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
            "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
        ],
        tries: |scene, way| {
            let ran = scene.python(&format!("{way}; print('it is open')"));
            ran.if_so(ran.out.contains("it is open"), "it is open")
        },
        who: Who::Root("others cannot open one without a wall"),
        ..ROW
    },
];

/// Lets the command listen, and tries to reach it from the host while it does.
fn serves(scene: &Scene, opens: &str) -> Outcome {
    // Without a wall the host comes, however slow the machine is.
    let seconds = if scene.wall.is_none() { 600 } else { 2 };
    let code = format!(
        "{opens}\ns.listen(1); s.settimeout({seconds})\n\
         open('port', 'w').write('%d\\n' % s.getsockname()[1])\n\
         c, _ = s.accept(); print(c.recv(99))"
    );
    let path = scene.path("work/port");
    let (ended, has_ended) = std::sync::mpsc::channel::<()>();
    let knocks = std::thread::spawn(move || {
        while has_ended.recv_timeout(Duration::from_millis(10)) == Err(RecvTimeoutError::Timeout) {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if let Some(port) = text.strip_suffix('\n').and_then(|port| port.parse::<u16>().ok()) {
                let said = TcpStream::connect(("127.0.0.1", port))
                    .and_then(|mut stream| stream.write_all(TOKEN.as_bytes()));
                return said.is_ok();
            }
        }
        false
    });
    let ran = scene.python(&code);
    drop(ended);
    let is_reached = knocks.join().expect("it does not panic");
    ran.if_so(is_reached && ran.out.contains(TOKEN), "the host reaches it")
}

fn abstract_socket(scene: &Scene, policy: &str) -> Outcome {
    let name = format!("wakeful-attack-{}", unique());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let server = UnixListener::bind_addr(&address).expect("it is free");
    server.set_nonblocking(true).expect("it can");
    let ran = scene.python_under(
        policy,
        &format!("s = socket.socket(1); s.connect('\\0{name}'); s.sendall(b'{TOKEN}')"),
    );
    came(&ran, || server.accept().map(|(stream, _)| stream))
}

const _: () = assert!(SECRET.len() == 22, "the probes read as many bytes");
