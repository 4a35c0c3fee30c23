//! Files that are not the command's own.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
};

use crate::{
    kinds::{CALLS, CLOSED, METADATA},
    row::{ROW, Row, Who},
    scene::{SECRET, unique},
};

pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "writes a file outside",
        ways: &[
            "echo broken > VICTIM",
            "echo broken > ../outside/victim",
            "echo broken > out/victim",
            "(cd ../outside && echo broken > victim)",
            "sh -c 'sh -c \"echo broken > VICTIM\"'",
            "sh script.sh",
            "rm VICTIM",
            "mv VICTIM .",
            "mv src/main.rs VICTIM",
            "ln VICTIM hard && echo broken > hard",
            "ln -s VICTIM soft && echo broken > soft",
            "truncate -s 0 VICTIM",
            "cp src/main.rs VICTIM",
            "dd if=src/main.rs of=VICTIM",
            "mkdir ../outside/new",
            "touch out/new",
            "ln -s /etc/passwd ../outside/new",
            "setsid --wait sh -c 'echo broken > ../outside/victim'",
            "env -i /bin/sh -c 'echo broken > ../outside/victim'",
            "echo broken > /proc/self/cwd/../outside/victim",
            "echo broken > /proc/self/root/VICTIM",
        ],
        tries: |scene, way| {
            let ran = scene.sh(&way.replace("VICTIM", &scene.text("outside/victim")));
            ran.if_so(scene.is_changed(), "the file outside is changed")
        },
        ..ROW
    },
    Row {
        name: "reads a file of the home",
        ways: &[
            "cat ~/.ssh/id_of_the_home",
            "cat ../home/.ssh/id_of_the_home",
            "cat keys/id_of_the_home",
            "cp ../home/.ssh/id_of_the_home copy",
            "ln ../home/.ssh/id_of_the_home hard && cat hard",
            "ln -s ../home/.ssh/id_of_the_home soft && cat soft",
            "sh script.sh",
            "sh -c 'cd ../home && cat .ssh/id_of_the_home'",
            "ls ~/.ssh",
            "ls keys/",
            "cat < ../home/.ssh/id_of_the_home",
            "grep -rh the-secret ~",
            "tar cf - -C ../home .ssh | cat",
            "cat /proc/self/root$HOME/.ssh/id_of_the_home",
            "bash -c 'source ~/.ssh/id_of_the_home'",
        ],
        tries: |scene, way| scene.leaked(&scene.sh(way)),
        ..ROW
    },
    Row {
        name: "reads the ledger",
        ways: &["cat ../agents.sqlite", "ln -s ../agents.sqlite l; cat l"],
        tries: |scene, way| scene.leaked(&scene.sh(way)),
        ..ROW
    },
    Row {
        name: "changes the ledger",
        ways: &[
            "echo broken >> ../agents.sqlite",
            "rm ../agents.sqlite",
            "mv probe.py ../agents.sqlite",
        ],
        tries: |scene, way| {
            scene.write("work/probe.py", "");
            let ran = scene.sh(way);
            ran.if_so(scene.read("agents.sqlite") != SECRET, "the ledger is changed")
        },
        ..ROW
    },
    Row {
        name: "reads settings of the system that not everybody may read",
        kind: &CLOSED,
        tries: |scene, _| {
            let path = closed_setting().expect("it was there");
            let ran = scene.sh(&format!("cat '{path}' > copy; cat copy | wc -c"));
            let copied = fs::read(scene.path("work/copy")).unwrap_or_default();
            let real = fs::read(&path).expect("root reads it");
            ran.if_so(copied == real, "the workspace has a copy")
        },
        who: Who::Root("others cannot read them without a wall"),
        needs: || {
            let none = "no file below a folder of /etc is closed to others and has a content";
            closed_setting().map(drop).ok_or_else(|| none.to_owned())
        },
        ..ROW
    },
    Row {
        name: "reads the passwords of the system",
        ways: &["cat /etc/shadow", "cat /proc/self/root/etc/shadow", "cp /etc/shadow s; cat s"],
        tries: |scene, way| {
            let ran = scene.sh(way);
            ran.if_so(ran.out.contains("root:"), "the line of root is shown")
        },
        who: Who::Root("others cannot read them without a wall"),
        ..ROW
    },
    Row {
        name: "opens a setting of the kernel for writing",
        ways: &[
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/panic",
            "/sys/kernel/mm/transparent_hugepage/enabled",
        ],
        tries: |scene, way| {
            // It is opened and nothing is written: the bare attack must not harm the machine.
            let code = format!("os.open('{way}', os.O_WRONLY); print('it is open')");
            let ran = scene.python(&code);
            ran.if_so(ran.out.contains("it is open"), "it is open for writing")
        },
        who: Who::Root("others cannot open them without a wall"),
        needs: || {
            let path = "/sys/kernel/mm/transparent_hugepage/enabled";
            fs::metadata(path).map(drop).map_err(|why| format!("{path}: {why}"))
        },
        ..ROW
    },
    Row {
        name: "makes a group of processes for itself (cgroup)",
        tries: |scene, _| {
            let name = format!("wakeful-attack-{}", unique());
            let line = format!(
                "for d in $(find /sys/fs/cgroup -maxdepth 2 -name cgroup.procs -printf '%h\\n'); \
                 do mkdir $d/{name} 2>/dev/null && echo made; done"
            );
            let ran = scene.sh(&line);
            let places = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory"];
            let mut found = false;
            for entry in fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten() {
                found |= fs::remove_dir(entry.path().join(&name)).is_ok();
            }
            for place in places {
                found |= fs::remove_dir(format!("{place}/{name}")).is_ok();
            }
            ran.if_so(found, "the group was there")
        },
        who: Who::Root("others cannot make one without a wall"),
        needs: || match fs::read_dir("/sys/fs/cgroup").is_ok_and(|mut all| all.next().is_some()) {
            true => Ok(()),
            false => Err("/sys/fs/cgroup is empty".to_owned()),
        },
        ..ROW
    },
    Row {
        name: "reads the machine's disk",
        tries: |scene, _| {
            let disk = disk().expect("it was there");
            let ran = scene.sh(&format!("head -c 4096 {disk} | wc -c"));
            ran.if_so(ran.out.contains("4096"), "the first bytes are read")
        },
        who: Who::Root("others cannot read it without a wall"),
        needs: || disk().map(drop).ok_or_else(|| "there is no disk in /dev".to_owned()),
        ..ROW
    },
    Row {
        name: "makes a node for the machine's memory or disk",
        ways: &["mknod node b 254 0", "mknod node c 1 1"],
        tries: |scene, way| {
            let ran = scene.sh(way);
            ran.if_so(scene.path("work/node").exists(), "the node is in the workspace")
        },
        who: Who::Root("others cannot make one without a wall"),
        ..ROW
    },
    Row {
        name: "reads or writes a file of another process in /dev/shm",
        ways: &["cat SHARED", "echo broken > SHARED"],
        tries: |scene, way| {
            let shared = format!("/dev/shm/wakeful-attack-{}", unique());
            fs::write(&shared, SECRET).expect("it is written");
            let ran = scene.sh(&way.replace("SHARED", &shared));
            let is_changed = fs::read_to_string(&shared).is_ok_and(|text| text != SECRET);
            fs::remove_file(&shared).expect("it was there");
            if is_changed { Ok("it is changed".to_owned()) } else { scene.leaked(&ran) }
        },
        ..ROW
    },
    Row {
        name: "changes the mode of a file outside",
        kind: &METADATA,
        ways: &["chmod 777 VICTIM", "chmod 777 out/victim"],
        tries: |scene, way| {
            let victim = scene.text("outside/victim");
            let ran = scene.sh(&way.replace("VICTIM", &victim));
            let mode = fs::metadata(victim).expect("it is there").permissions().mode();
            ran.if_so(mode & 0o777 == 0o777, "everybody may write it")
        },
        who: Who::Others("commands of root are another user, who may not change what root owns"),
        ..ROW
    },
    Row {
        name: "changes the times of a file outside",
        kind: &METADATA,
        tries: |scene, _| {
            let victim = scene.text("outside/victim");
            let ran = scene.python(&format!("os.utime('{victim}', (1, 1))"));
            ran.if_so(fs::metadata(victim).expect("it is there").mtime() == 1, "it is from 1970")
        },
        who: Who::Others("commands of root are another user, who may not change what root owns"),
        ..ROW
    },
    Row {
        name: "changes the owner of a file outside",
        kind: &CALLS,
        tries: |scene, _| {
            let victim = scene.text("outside/victim");
            let ran = scene.sh(&format!("chown 1:1 {victim}"));
            ran.if_so(fs::metadata(victim).expect("it is there").uid() == 1, "it has another owner")
        },
        who: Who::Root("others cannot give files away without a wall"),
        ..ROW
    },
    Row {
        name: "sets an attribute of a file outside",
        kind: &METADATA,
        tries: |scene, _| {
            let victim = scene.text("outside/victim");
            let ran = scene.python(&format!("os.setxattr('{victim}', 'user.attack', b'1')"));
            let seen = scene.host_python("print(os.listxattr('victim'))");
            ran.if_so(seen.contains("user.attack"), "the host sees it")
        },
        ..ROW
    },
    Row {
        name: "asks whether a file outside exists",
        kind: &METADATA,
        tries: |scene, _| {
            let secret = scene.text("outside/secret");
            let inode = fs::metadata(&secret).expect("it is there").ino().to_string();
            let ran = scene.python(&format!("print(os.stat('{secret}').st_ino)"));
            ran.if_so(ran.out.contains(&inode), "it knows the number of the file")
        },
        ..ROW
    },
    Row {
        name: "watches a folder outside",
        kind: &METADATA,
        tries: |scene, _| {
            let outside = scene.text("outside");
            let _beats = scene.bystander(
                "ready()\nwhile True: open('beat-of-the-host', 'w').close(); time.sleep(0.02)",
            );
            let ran = scene.python(&format!(
                "w = done(libc.inotify_init())\n\
                 done(libc.inotify_add_watch(w, b'{outside}', 0xfff))\n\
                 print(os.read(w, 4096))"
            ));
            ran.if_so(ran.out.contains("beat-of-the-host"), "it sees what the host writes")
        },
        ..ROW
    },
];

/// A file below a folder of `/etc` that only root may read, and that has a content.
fn closed_setting() -> Option<String> {
    use std::process::Command;
    let found = Command::new("find")
        .args("/etc -xdev -mindepth 2 -type f ! -perm -o=r -size +0 -print -quit".split(' '))
        .output()
        .ok()?;
    let path = String::from_utf8(found.stdout).ok()?.trim().to_owned();
    (!path.is_empty()).then_some(path)
}

/// A disk that root can read.
fn disk() -> Option<String> {
    let names = fs::read_dir("/sys/block").ok()?.flatten().map(|entry| entry.file_name());
    let paths = names.map(|name| format!("/dev/{}", name.to_string_lossy()));
    let is_full = |path: &String| {
        use std::io::Read;
        let mut bytes = [0; 4096];
        fs::File::open(path).and_then(|mut disk| disk.read_exact(&mut bytes)).is_ok()
    };
    paths.into_iter().find(is_full)
}
