//! Calls of the kernel that no command needs, and rights of root.

use std::fs;

use crate::{
    kinds::CALLS,
    row::{Outcome, ROW, Row, Who},
    scene::Scene,
};

/// Whether the kernel allows these calls to this user at all.
fn sysctl(name: &str, refused: &[&str]) -> Result<(), String> {
    let value = fs::read_to_string(format!("/proc/sys/{name}")).unwrap_or_default();
    match refused.contains(&value.trim()) && !crate::users::is_root() {
        true => Err(format!("the kernel refuses it to all but root ({name} = {})", value.trim())),
        false => Ok(()),
    }
}

/// Runs a probe that says so when its call has returned.
fn called(scene: &Scene, code: &str) -> Outcome {
    let ran = scene.python(&format!("{code}\nprint('the call', 'returned')"));
    ran.if_so(ran.out.contains("the call returned"), "the call is made")
}

pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "changes the mode of a device of the machine",
        kind: &CALLS,
        tries: |scene, _| {
            // To the mode that it has, so that the machine stays as it is.
            let code = "m = os.stat('/dev/zero').st_mode & 0o777\n\
                        os.chmod('/dev/zero', m); print('changed')";
            let ran = scene.python(code);
            ran.if_so(ran.out.contains("changed"), "the kernel let it")
        },
        who: Who::Root("others do not own devices"),
        ..ROW
    },
    Row {
        name: "reads a file outside by io_uring",
        kind: &CALLS,
        tries: |scene, _| {
            let code = format!(
                r#"
import mmap
p = ctypes.create_string_buffer(120)
ring = call({}, 4, p)
entries = struct.unpack_from('<2I', p.raw, 0)
sq, cq = struct.unpack_from('<8IQ', p.raw, 40), struct.unpack_from('<8IQ', p.raw, 80)
size = max(sq[6] + entries[0] * 4, cq[5] + entries[1] * 16)
m = mmap.mmap(ring, size, offset=0)
s = mmap.mmap(ring, entries[0] * 64, offset=0x10000000)
path = ctypes.create_string_buffer(b'{}')
s[0:64] = struct.pack('<BBHiQQIIQ', 18, 0, 0, -100, 0, ctypes.addressof(path), 0, os.O_RDONLY, 7) + b'\0' * 24
m[sq[6]:sq[6] + 4] = struct.pack('<I', 0)
m[sq[1]:sq[1] + 4] = struct.pack('<I', 1)
call({}, ring, 1, 1, 1, 0, 0)
_, result = struct.unpack_from('<Qi', m, cq[5])
print(os.read(done(result), 40))
"#,
                libc::SYS_io_uring_setup,
                scene.text("outside/secret"),
                libc::SYS_io_uring_enter
            );
            scene.leaked(&scene.python(&code))
        },
        needs: || {
            sysctl("kernel/io_uring_disabled", &["1", "2"])?;
            match fs::read_to_string("/proc/sys/kernel/io_uring_disabled").as_deref() {
                Ok("2\n") => {
                    Err("the kernel refuses it to all (kernel.io_uring_disabled)".to_owned())
                }
                _ => Ok(()),
            }
        },
        ..ROW
    },
    Row {
        name: "loads a map of bpf",
        kind: &CALLS,
        tries: |scene, _| {
            let map = "struct.pack('<5I', 2, 4, 4, 1, 0) + b'\\0' * 108";
            called(
                scene,
                &format!("call({}, 0, ctypes.create_string_buffer({map}), 128)", libc::SYS_bpf),
            )
        },
        needs: || sysctl("kernel/unprivileged_bpf_disabled", &["1", "2"]),
        ..ROW
    },
    Row {
        name: "handles its own page faults (userfaultfd)",
        kind: &CALLS,
        tries: |scene, _| called(scene, &format!("call({}, 1)", libc::SYS_userfaultfd)),
        ..ROW
    },
    Row {
        name: "opens performance counters",
        kind: &CALLS,
        tries: |scene, _| {
            // A counter of software events of itself, without the kernel's.
            let event =
                "struct.pack('<IIQQQQQ', 1, 128, 0, 0, 0, 0, 1 << 5 | 1 << 6) + b'\\0' * 80";
            let call = libc::SYS_perf_event_open;
            called(
                scene,
                &format!("call({call}, ctypes.create_string_buffer({event}), 0, -1, -1, 0)"),
            )
        },
        needs: || sysctl("kernel/perf_event_paranoid", &["3", "4"]),
        ..ROW
    },
    Row {
        name: "becomes root in a user namespace of its own",
        kind: &CALLS,
        ways: &["unshare", "clone"],
        tries: |scene, way| {
            if way == "unshare" {
                let ran = scene.sh("unshare -Ur grep CapEff /proc/self/status");
                return ran.if_so(ran.out.contains("CapEff:\t000001ff"), "it has all rights there");
            }
            // CLONE_NEWUSER and SIGCHLD.
            called(
                scene,
                &format!(
                    "p = call({}, 0x10000000 | 17, 0, 0, 0, 0)\nif p == 0: os._exit(7)\n\
                     assert os.waitpid(p, 0)[1] >> 8 == 7",
                    libc::SYS_clone
                ),
            )
        },
        needs: may_unshare,
        ..ROW
    },
    Row {
        name: "mounts over what it sees",
        kind: &CALLS,
        ways: &["unshare -Urm", "unshare -m"],
        tries: |scene, way| {
            let line =
                format!("mkdir -p m; {way} sh -c 'mount -t tmpfs none m && stat -f -c %T m'");
            let ran = scene.sh(&line);
            ran.if_so(ran.out.contains("tmpfs"), "its own file system is there")
        },
        who: Who::Root("the second way needs rights of root without a wall"),
        needs: may_unshare,
        ..ROW
    },
    Row {
        name: "mounts in a user namespace of its own",
        kind: &CALLS,
        tries: |scene, _| {
            let ran = scene
                .sh("mkdir -p m; unshare -Urm sh -c 'mount -t tmpfs none m && stat -f -c %T m'");
            ran.if_so(ran.out.contains("tmpfs"), "its own file system is there")
        },
        needs: may_unshare,
        ..ROW
    },
    Row {
        name: "changes its root, or opens a file by its handle",
        kind: &CALLS,
        ways: &["os.chroot('.')", "HANDLE"],
        tries: |scene, way| {
            let handle = format!(
                "b = ctypes.create_string_buffer(struct.pack('<Ii', 128, 0) + b'\\0' * 128)\n\
                 m = ctypes.c_int()\n\
                 call({}, -100, b'probe.py', b, ctypes.byref(m), 0)\n\
                 call({}, os.open('.', 0), b, 0)",
                libc::SYS_name_to_handle_at,
                libc::SYS_open_by_handle_at
            );
            called(scene, &way.replace("HANDLE", &handle))
        },
        who: Who::Root("others cannot do it without a wall"),
        ..ROW
    },
    Row {
        name: "keeps a right of root",
        kind: &CALLS,
        tries: |scene, _| {
            let ran = scene.sh("sed -n 's/^CapEff:\\t/rights /p' /proc/self/status");
            let hex = ran.out.lines().find_map(|line| line.strip_prefix("rights "));
            let rights = hex.and_then(|hex| u64::from_str_radix(hex, 16).ok()).expect("a number");
            // The owners of files do not matter to root; its other rights reach further.
            ran.if_so(rights & !0b1011 != 0, "it has more than rights over files")
        },
        who: Who::Root("others have none"),
        ..ROW
    },
    Row {
        name: "gains rights from a setuid program",
        kind: &CALLS,
        tries: |scene, _| {
            let ran = scene.sh("grep NoNewPrivs /proc/self/status");
            ran.if_so(ran.out.contains("NoNewPrivs:\t0"), "the kernel does not forbid it")
        },
        ..ROW
    },
    Row {
        name: "leaves a setuid program in the workspace",
        kind: &CALLS,
        ways: &[
            "chmod 4755 p",
            "cp /usr/bin/env q; chmod u+s q; mv q p",
            "install -m 4755 p q; mv q p",
            "os.fchmod(os.open('p', os.O_RDONLY), 0o4755)",
            "os.chmod('p', 0o4755, dir_fd=os.open('.', 0))",
            "call(437, -100, b'q', struct.pack('<3Q', os.O_CREAT | os.O_WRONLY, 0o4755, 0), 24); \
             os.rename('q', 'p')",
            "os.umask(0); os.open('q', os.O_CREAT | os.O_WRONLY, 0o4755); os.rename('q', 'p')",
            "call(452, -100, b'p', 0o4755, 0)",
        ],
        tries: |scene, way| {
            let ran = match way {
                code if code.contains("('") || code.contains("b'") => {
                    scene.python(&format!("open('p', 'w').close()\n{code}"))
                }
                _ => scene.sh(&format!("cp /bin/true p; {way}")),
            };
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(scene.path("work/p")).map(|file| file.permissions().mode());
            ran.if_so(mode.is_ok_and(|mode| mode & 0o4000 != 0), "the host's file has the right")
        },
        ..ROW
    },
];

fn may_unshare() -> Result<(), String> {
    let tried = std::process::Command::new("/usr/bin/unshare").args(["-Urm", "true"]).output();
    match tried {
        Ok(tried) if tried.status.success() => Ok(()),
        _ => Err("this machine allows no user namespaces".to_owned()),
    }
}
