//! What a command is given, what it says, and what could be replaced under the agent.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::{
    host::Host,
    kinds::{REPLACED, SECRETS},
    row::{ROW, Row},
    scene::{KEY, UNCHANGED},
    users,
};

pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "reads a secret of the host's environment",
        kind: &SECRETS,
        ways: &["env", "cat /proc/self/environ", "echo $DATABASE_URL"],
        tries: |scene, way| scene.leaked(&scene.sh(way)),
        ..ROW
    },
    Row {
        name: "lets variables of the host choose what its shell runs",
        kind: &SECRETS,
        tries: |scene, _| {
            scene.write("outside/bash_env", "touch chosen\n");
            let ran = scene.sh("true");
            ran.if_so(scene.path("work/chosen").exists(), "the shell ran the file")
        },
        ..ROW
    },
    Row {
        name: "prints the key of the host",
        kind: &SECRETS,
        ways: &[
            "cat key",
            "cat key >&2",
            "base64 -w0 key",
            "printf 'x'; base64 -w0 key",
            "head -c 9 key; sleep 0.2; tail -c +10 key",
        ],
        tries: |scene, way| {
            scene.write("work/key", KEY);
            let ran = scene.sh(way);
            let said = format!("{}{}", ran.out, ran.err);
            let encoded = "c2stYXR0YWNrLTAxMjM0NTY3ODlhYmNkZW";
            ran.if_so(said.contains(KEY) || said.contains(&encoded[..28]), "the key is printed")
        },
        ..ROW
    },
    Row {
        name: "replaces the program of the host",
        kind: &REPLACED,
        tries: |scene, _| {
            let program = scene.path("work/wakeful");
            fs::copy(users::program(), &program).expect("a copy");
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it can run");
            let line = "rm wakeful; echo broken > wakeful";
            let refused = Host::new(scene, &[&[line]]).with_program(program.clone()).is_refused();
            let is_replaced = fs::metadata(&program).map_or(0, |file| file.len()) < 100;
            match (refused, is_replaced) {
                (false, true) => Ok("the program is replaced".to_owned()),
                (refused, _) => Err(format!("refused to start: {refused}")),
            }
        },
        ..ROW
    },
    Row {
        name: "replaces a ledger in the workspace",
        kind: &REPLACED,
        ways: &["ledger.sqlite", "src/ledger.sqlite", "up/work/ledger.sqlite"],
        tries: |scene, place| {
            std::os::unix::fs::symlink(scene.path(""), scene.path("work/up")).expect("a link");
            scene.write(&format!("work/{place}.before"), UNCHANGED);
            let line = format!("rm -f {place}*; echo broken > {place}");
            let host = Host::new(scene, &[&[&line]]).with_ledger(scene.path("work").join(place));
            let refused = host.is_refused();
            let is_replaced = scene.read(&format!("work/{place}")).contains("broken");
            match (refused, is_replaced) {
                (false, true) => Ok("the ledger is replaced".to_owned()),
                (refused, _) => Err(format!("refused to start: {refused}")),
            }
        },
        ..ROW
    },
    Row {
        name: "replaces the temporary folder of the next command",
        kind: &crate::kinds::FILES,
        ways: &[
            "mv $TMPDIR $TMPDIR.away; ln -s OUTSIDE $TMPDIR",
            "rmdir $TMPDIR; ln -s OUTSIDE $TMPDIR",
            "rmdir /tmp; ln -s OUTSIDE $TMPDIR/x",
        ],
        tries: |scene, way| {
            if scene.wall.is_none() {
                // Without a wall, the next command reads anything.
                return scene.leaked(&scene.sh(&format!("cat {}/secret", scene.text("outside"))));
            }
            let _first = scene.sh(&way.replace("OUTSIDE", &scene.text("outside")));
            let next = scene.sh("cat $TMPDIR/secret /tmp/secret $TMPDIR/x/secret; echo broken > \
                                 $TMPDIR/victim; echo broken > /tmp/victim");
            let leaked = scene.leaked(&next);
            if scene.is_changed() { Ok("a file outside is changed".to_owned()) } else { leaked }
        },
        ..ROW
    },
];
