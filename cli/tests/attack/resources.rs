//! How much a command may use.

use std::fs;

use crate::{
    kinds::{LIMITS, PROCESSES_OF_USERS, SHARED_MEMORY},
    row::{Outcome, ROW, Row, Who},
    scene::Scene,
};

pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "starts, as root, more processes than the policy says",
        kind: &LIMITS,
        ways: &["processes", "threads"],
        tries: multiplies,
        who: Who::Root("the host gives its commands another user"),
        is_alone: true,
        ..ROW
    },
    Row {
        name: "starts, as a user that is not root, more processes than the policy says",
        kind: &PROCESSES_OF_USERS,
        ways: &["processes", "threads"],
        tries: multiplies,
        who: Who::Others("root has its own row"),
        is_alone: true,
        ..ROW
    },
    Row {
        name: "uses more memory than the policy says",
        kind: &LIMITS,
        ways: &[
            "bytearray(300 << 20)",
            "mmap.mmap(-1, 300 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANON)",
        ],
        tries: fills,
        ..ROW
    },
    Row {
        name: "uses more shared memory than the policy says",
        kind: &SHARED_MEMORY,
        ways: &["mmap.mmap(-1, 300 << 20)"],
        tries: fills,
        ..ROW
    },
    Row {
        name: "writes a longer file than the policy says",
        kind: &LIMITS,
        ways: &["work/big", "tmp"],
        tries: |scene, place| {
            let path = if place == "tmp" { "${TMPDIR:-../scratch}/big" } else { "big" };
            let line = format!("head -c 3000000 /dev/zero > {path}");
            let ran = scene.sh_under("[limits]\nfile_bytes = 1000000\n", &line);
            let length = |name| fs::metadata(scene.path(name)).map_or(0, |file| file.len());
            ran.if_so(length("work/big").max(length("scratch/big")) > 1_000_000, "it is longer")
        },
        ..ROW
    },
    Row {
        name: "opens more files than the policy says",
        kind: &LIMITS,
        tries: |scene, _| {
            let code = "all = []\nfor n in range(200):\n\x20   all.append(open('probe.py'))\n\
                        \x20   if n == 150: os.mkdir('opened')";
            let ran = scene.python_under("[limits]\nopen_files = 64\n", code);
            ran.if_so(scene.path("work/opened").exists(), "it had 150 files open")
        },
        ..ROW
    },
    Row {
        name: "uses a processor for longer than the policy says",
        kind: &LIMITS,
        tries: |scene, _| {
            let code = "while time.process_time() < 2.5: pass\nopen('used', 'w').write('all')";
            let ran = scene.python_under("[limits]\ncpu_seconds = 1\n", code);
            ran.if_so(scene.read("work/used") == "all", "it used 2.5 seconds")
        },
        ..ROW
    },
    Row {
        name: "raises its own limits again",
        kind: &LIMITS,
        tries: |scene, _| {
            let code = "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 1024))\n\
                        print('limit', resource.getrlimit(resource.RLIMIT_NOFILE)[1])";
            let ran = scene.python_under("[limits]\nopen_files = 64\n", code);
            ran.if_so(ran.out.contains("limit 1024"), "it may open more")
        },
        needs: || {
            let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
            match limits.maximum.is_none_or(|most| most >= 1024) {
                true => Ok(()),
                false => Err("the limit of this user is low already".to_owned()),
            }
        },
        ..ROW
    },
];

/// Starts processes or threads, of which the policy allows 100.
fn multiplies(scene: &Scene, way: &str) -> Outcome {
    let code = match way {
        "processes" => {
            "n = 0\n\
             for _ in range(300):\n\
             \x20   p = os.fork()\n\
             \x20   if p == 0: time.sleep(3); os._exit(0)\n\
             \x20   n += 1; open('count', 'w').write(str(n))"
        }
        _ => {
            "import threading\nn = 0\n\
             for _ in range(300):\n\
             \x20   threading.Thread(target=time.sleep, args=(3,), daemon=True).start()\n\
             \x20   n += 1; open('count', 'w').write(str(n))\n\
             os._exit(0)"
        }
    };
    let ran = scene.python_under("[limits]\nprocesses = 100\n", code);
    let count = scene.read("work/count").parse().unwrap_or(0);
    ran.if_so(count > 200, "there were more than two hundred at once")
}

/// Writes to 300 MiB of memory, of which the policy allows 128.
fn fills(scene: &Scene, memory: &str) -> Outcome {
    let code = format!(
        "import mmap\nb = {memory}\nfor i in range(0, 300 << 20, 4096): b[i] = 1\n\
         open('used', 'w').write('all')"
    );
    let ran = scene.python_under("[limits]\nmemory_bytes = 134217728\n", &code);
    ran.if_so(scene.read("work/used") == "all", "it used 300 MiB")
}
