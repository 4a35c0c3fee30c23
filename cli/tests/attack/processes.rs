//! Other processes, and processes that a command leaves running.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    host::Host,
    kinds::{DAEMONS, LEFT_RUNNING, NEIGHBOURS, PROCESSES},
    row::{Outcome, ROW, Row, Who},
    scene::{PATIENCE, SECRET, Scene, unique},
};

pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "reads what another process has",
        kind: &PROCESSES,
        ways: &[
            "open('/proc/PID/environ').read()",
            "open('/proc/PID/root' + SECRET_FILE).read()",
            "open('/proc/PID/cwd/secret').read()",
            "[open(f).read() for f in glob.glob('/proc/PID/fd/*') if 'secret' in os.readlink(f)][0]",
        ],
        tries: |scene, way| {
            let other = scene.bystander("ready()");
            let code = way
                .replace("PID", &other.id().to_string())
                .replace("SECRET_FILE", &format!("'{}'", scene.text("outside/secret")));
            scene.leaked(&scene.python(&format!("print({code})")))
        },
        ..ROW
    },
    Row {
        name: "reads the memory of another process",
        kind: &PROCESSES,
        ways: &["/proc/PID/mem", "process_vm_readv", "ptrace"],
        tries: |scene, way| {
            let mut other = scene.bystander("ready(); print(ctypes.addressof(kept), flush=True)");
            let (pid, address) = (other.id(), other.next_line());
            let read = match way {
                "/proc/PID/mem" => format!(
                    "f = open('/proc/{pid}/mem', 'rb', 0); f.seek({address}); print(f.read(22))"
                ),
                "process_vm_readv" => format!(
                    "b = ctypes.create_string_buffer(22)\n\
                     class iov(ctypes.Structure): _fields_ = [('b', ctypes.c_void_p), ('n', \
                     ctypes.c_size_t)]\n\
                     mine, its = iov(ctypes.addressof(b), 22), iov({address}, 22)\n\
                     libc.process_vm_readv.restype = ctypes.c_ssize_t\n\
                     done(libc.process_vm_readv({pid}, ctypes.byref(mine), 1, ctypes.byref(its), 1, \
                     0))\n\
                     print(b.raw)"
                ),
                _ => format!(
                    "libc.ptrace.restype = ctypes.c_long\n\
                     libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, \
                     ctypes.c_void_p]\n\
                     done(libc.ptrace(16, {pid}, None, None)); os.waitpid({pid}, 0)\n\
                     words = [libc.ptrace(2, {pid}, {address} + 8 * i, None) for i in range(3)]\n\
                     print(struct.pack('3q', *words)[:22])"
                ),
            };
            scene.leaked(&scene.python(&read))
        },
        ..ROW
    },
    Row {
        name: "takes an open file of another process",
        kind: &PROCESSES,
        tries: |scene, _| {
            let mut other = scene.bystander("ready(); print(held.fileno(), flush=True)");
            let (pid, file) = (other.id(), other.next_line());
            let code = format!(
                "f = call({}, os.pidfd_open({pid}), {file}, 0); print(os.pread(f, 99, 0))",
                libc::SYS_pidfd_getfd
            );
            scene.leaked(&scene.python(&code))
        },
        ..ROW
    },
    Row {
        name: "inherits a file that the host was started with",
        kind: &PROCESSES,
        ways: &["cat <&9", "cat /proc/self/fd/9", "cat /dev/fd/9"],
        tries: |scene, way| {
            let secret = scene.text("outside/secret");
            Host::new(scene, &[&[way]]).started_by(&format!("exec 9<{secret}")).leaks()
        },
        ..ROW
    },
    Row {
        name: "ends or stops another process",
        kind: &PROCESSES,
        ways: &["kill -KILL PID", "kill -STOP PID", "kill -TERM PID"],
        tries: |scene, way| {
            let mut other = scene.bystander("ready()");
            let ran = scene.sh(&way.replace("PID", &other.id().to_string()));
            let is_hit = || other.stat(3) == "T" || !other.lives();
            ran.if_so(succeeds(scene, is_hit), "it is hit")
        },
        ..ROW
    },
    Row {
        name: "limits another process",
        kind: &PROCESSES,
        tries: |scene, _| {
            let other = scene.bystander("ready()");
            let pid = other.id();
            let ran =
                scene.python(&format!("resource.prlimit({pid}, resource.RLIMIT_NOFILE, (3, 3))"));
            let limits = fs::read_to_string(format!("/proc/{pid}/limits")).expect("it lives");
            let files = limits.lines().find(|line| line.starts_with("Max open files"));
            let words: Vec<_> = files.unwrap_or_default().split_whitespace().collect();
            ran.if_so(words.get(3) == Some(&"3"), "it may open three files")
        },
        ..ROW
    },
    Row {
        name: "sees the arguments of another process",
        kind: &NEIGHBOURS,
        tries: |scene, _| {
            let other = scene.bystander("ready()");
            let ran = scene.sh(&format!("tr '\\0' '\\n' < /proc/{}/cmdline", other.id()));
            ran.if_so(ran.out.contains(SECRET), "it prints them")
        },
        ..ROW
    },
    Row {
        name: "slows another process",
        kind: &NEIGHBOURS,
        ways: &["os.setpriority(os.PRIO_PROCESS, PID, 19)", "os.sched_setaffinity(PID, {0})"],
        tries: |scene, way| {
            let other = scene.bystander("ready()");
            let ran = scene.python(&way.replace("PID", &other.id().to_string()));
            let status = fs::read_to_string(format!("/proc/{}/status", other.id()));
            let is_pinned =
                status.is_ok_and(|text| text.lines().any(|line| line == "Cpus_allowed_list:\t0"));
            ran.if_so(other.stat(19) == "19" || is_pinned, "it is slowed")
        },
        who: Who::Others("the kernel lets a command without rights slow no process of root"),
        needs: || match thread::available_parallelism().map_or(1, usize::from) {
            1 => Err("the machine has one processor".to_owned()),
            _ => Ok(()),
        },
        ..ROW
    },
    Row {
        name: "leaves a process running",
        kind: &LEFT_RUNNING,
        ways: &["plain", "setsid", "setpgid", "cleared", "forked"],
        tries: leaves,
        ..ROW
    },
    Row {
        name: "leaves a daemon running",
        kind: &DAEMONS,
        ways: &["setsid cleared forked", "setpgid cleared forked", "setsid setpgid cleared forked"],
        tries: leaves,
        ..ROW
    },
    Row {
        name: "outlives a host that is killed",
        kind: &DAEMONS,
        ways: &["plain", "setsid cleared forked"],
        tries: |scene, way| {
            let mark = daemon(scene, way, true);
            let host = Host::new(scene, &[&["exec /usr/bin/python3 probe.py"]]);
            host.killed_when(|| scene.path("work/left").exists());
            survived(scene, &mark)
        },
        ..ROW
    },
];

/// Writes a program that becomes a daemon in these ways, and returns its mark.
fn daemon(scene: &Scene, ways: &str, waits: bool) -> String {
    let mark = format!("600.{}", unique());
    let has = |way: &str| ways.split(' ').any(|one| one == way);
    let mut code = String::from("import os, time\ndef fork():\n    if os.fork(): after()\n");
    code += if waits { "def after(): time.sleep(600)\n" } else { "def after(): os._exit(0)\n" };
    code += "fork()\n";
    // Otherwise the pipes of the command would stay open.
    code += "null = os.open('/dev/null', os.O_RDWR)\nfor n in range(3): os.dup2(null, n)\n";
    if has("setsid") {
        code += "os.setsid()\n";
    }
    if has("setpgid") {
        code += "try: os.setpgid(0, 0)\nexcept PermissionError: pass\n";
    }
    if has("forked") {
        code += "if os.fork(): os._exit(0)\n";
    }
    let environment = if has("cleared") { "{}" } else { "os.environ" };
    // It says when it has left. Its mark is one of its words before and after that.
    let line = ": > left; exec /usr/bin/sleep $0";
    code += &format!("os.execve('/bin/sh', ['sh', '-c', '{line}', '{mark}'], {environment})\n");
    scene.write("work/probe.py", &code);
    mark
}

fn leaves(scene: &Scene, ways: &str) -> Outcome {
    let mark = daemon(scene, ways, false);
    let _ran = scene.sh("/usr/bin/python3 probe.py; until test -e left; do sleep 0.05; done");
    survived(scene, &mark)
}

/// Succeeds if the process with this mark stays. It is ended then.
fn survived(scene: &Scene, mark: &str) -> Outcome {
    let patience = if scene.wall.is_some() { PATIENCE } else { SHORT };
    if soon(patience, || find(mark).is_none()) {
        return Err("it ended".to_owned());
    }
    while let Some(pid) = find(mark) {
        let _gone = kill_process(pid, Signal::KILL);
        thread::sleep(Duration::from_millis(10));
    }
    Ok("it was still there".to_owned())
}

/// The process with this argument.
fn find(mark: &str) -> Option<Pid> {
    let has_mark = |id: i32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == mark.as_bytes())
    };
    let ids = fs::read_dir("/proc").ok()?.flatten();
    let mut ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.find(|id| has_mark(*id)).and_then(Pid::from_raw)
}

/// How long one waits for what must not happen.
const SHORT: Duration = Duration::from_millis(1500);

/// Whether an attack succeeds. Without a wall it must, however slow the machine is.
pub(crate) fn succeeds(scene: &Scene, is_so: impl FnMut() -> bool) -> bool {
    soon(if scene.wall.is_none() { PATIENCE } else { SHORT }, is_so)
}

/// Whether something becomes so in this time.
fn soon(patience: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + patience;
    while Instant::now() < until {
        if is_so() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    is_so()
}
