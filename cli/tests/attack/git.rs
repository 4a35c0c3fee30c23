//! Repositories that a command has prepared for the git of the host, or for that of the operator.

use std::{path::Path, process::Command, time::Duration};

use crate::{
    host::{Host, exec, spawn},
    kinds::{GIT, WAITS},
    row::{Outcome, ROW, Row},
    scene::{PATIENCE, Scene},
};

/// Makes the workspace a repository with one commit.
fn repository(scene: &Scene) {
    repository_with(scene, &[]);
}

/// The same with scripts that a child finds in its worktree.
fn repository_with(scene: &Scene, scripts: &[&str]) {
    for (at, script) in scripts.iter().enumerate() {
        scene.write(&format!("work/child-{at}"), &format!("{script}\n"));
    }
    let line = "cd work && git init -q -b main && echo text > a.txt && git add a.txt \
                $(ls | grep ^child-) && git commit -qm one";
    let made = host_sh(scene, line);
    assert!(made, "git does not make a repository");
}

fn host_sh(scene: &Scene, line: &str) -> bool {
    let ran = Command::new("/bin/sh")
        .args(["-c", line])
        .env_clear()
        .envs(scene.environment())
        .current_dir(scene.path(""))
        .output()
        .expect("sh starts");
    ran.status.success()
}

/// What a host without a wall does instead of starting a child and cleaning up after it.
const BY_HAND: &str = "git worktree add -q -b task ../tree HEAD; git -C ../tree status --porcelain; \
                       git worktree remove --force ../tree; git branch -D task; git worktree prune";

/// A command prepares the repository, and then the host makes a worktree.
fn prepared(scene: &Scene, line: &str) -> Outcome {
    repository(scene);
    let outside = scene.text("outside");
    let evil = format!(
        "#!/bin/sh\ncat {outside}/secret > {outside}/new 2>&1\ncp {outside}/secret \
         {}/stolen\ncat\n",
        scene.text("work")
    );
    scene.write("work/evil", &evil);
    let line = format!("chmod +x evil; {}", line.replace("OUTSIDE", &outside));
    let calls = vec![vec![exec(&line)], vec![spawn()]];
    let bare = format!("{line}\n{BY_HAND}");
    let host = Host::calling(scene, [calls, Vec::new()], &bare).run();
    let is_hit = scene.path("outside/new").exists() || scene.path("work/stolen").exists();
    host.if_so(is_hit, "its program ran outside")
}

pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "lets git of the host run a filter",
        kind: &GIT,
        ways: &[
            "git config filter.f.smudge $PWD/evil",
            "git config filter.f.smudge $PWD/evil; git config core.worktree OUTSIDE/..",
            "git config filter.f.process $PWD/evil; git config filter.f.smudge $PWD/evil",
        ],
        tries: |scene, way| {
            // The filter is set last, so that the command itself does not run it.
            let begin = "echo '*.txt filter=f' > .gitattributes; git add .gitattributes; git commit \
                         -qm two; ";
            prepared(scene, &format!("{begin}{way}"))
        },
        ..ROW
    },
    Row {
        name: "lets git of the host run a hook",
        kind: &GIT,
        ways: &[
            "cp evil .git/hooks/post-checkout",
            "mkdir h; cp evil h/post-checkout; git config core.hooksPath $PWD/h",
            "cp evil .git/hooks/reference-transaction",
            "git config core.fsmonitor $PWD/evil",
        ],
        tries: prepared,
        ..ROW
    },
    Row {
        name: "puts a program named git on the path of the host",
        kind: &GIT,
        tries: |scene, _| {
            repository(scene);
            let outside = scene.text("outside");
            scene.write("work/bin/git", &format!("#!/bin/sh\ncp {outside}/secret {outside}/new\n"));
            let line = "chmod +x bin/git";
            let calls = vec![vec![exec(line)], vec![spawn()]];
            let before = format!("export PATH='{}':$PATH", scene.text("work/bin"));
            let host = Host::calling(scene, [calls, Vec::new()], &format!("{line}\n{BY_HAND}"))
                .started_by(&before)
                .run();
            host.if_so(scene.path("outside/new").exists(), "its program ran outside")
        },
        ..ROW
    },
    Row {
        name: "lets git of the host delete a folder outside",
        kind: &GIT,
        tries: |scene, _| {
            repository(scene);
            // Git deletes what it knows as a worktree and does not find, also through a link.
            let line = format!(
                "mkdir -p .git/worktrees; ln -s {} .git/worktrees/gone",
                scene.text("outside")
            );
            let calls = vec![vec![exec(&line)], vec![spawn()]];
            let bare = format!("{line}\n{BY_HAND}");
            let host = Host::calling(scene, [calls, Vec::new()], &bare).run();
            host.if_so(scene.is_changed(), "the folder is deleted")
        },
        ..ROW
    },
    Row {
        name: "lets git of the host say what is in a file outside",
        kind: &GIT,
        ways: &[
            "ln -sf OUTSIDE/secret .git/commondir",
            "ln -sf OUTSIDE/secret .git/HEAD",
            "ln -sf OUTSIDE/secret .git/config",
            "git config include.path OUTSIDE/secret",
        ],
        tries: |scene, way| {
            repository(scene);
            let line = way.replace("OUTSIDE", &scene.text("outside"));
            let calls = vec![vec![exec(&line)], vec![spawn()]];
            // Git names the line in its error, or the file that it cannot read as settings.
            let bare = format!("{line}\n{BY_HAND}; cat .git/HEAD; cat ../outside/secret");
            Host::calling(scene, [calls, Vec::new()], &bare).leaks()
        },
        ..ROW
    },
    Row {
        name: "lets git of the host wait for ever",
        kind: &WAITS,
        ways: &["rm .git/config; mkfifo .git/config", "rm .git/HEAD; mkfifo .git/HEAD"],
        tries: |scene, way| {
            repository(scene);
            let calls = vec![vec![exec(way)], vec![spawn()]];
            let bare = format!("{way}\ntrap '' INT; {BY_HAND}");
            let host = Host::calling(scene, [calls, Vec::new()], &bare);
            let is_fifo = || {
                use std::os::unix::fs::FileTypeExt;
                let is_one = |name| {
                    let kind = std::fs::metadata(scene.path(name)).map(|file| file.file_type());
                    kind.is_ok_and(|kind| kind.is_fifo())
                };
                is_one("work/.git/config") || is_one("work/.git/HEAD")
            };
            // Without a wall it must not end, and behind one it must, however slow the machine is.
            let within = if scene.wall.is_none() { Duration::from_secs(8) } else { PATIENCE };
            match host.stops(is_fifo, within) {
                true => Err("the host ended when it was told to".to_owned()),
                false => Ok("the host did not end when it was told to".to_owned()),
            }
        },
        is_alone: true,
        is_slow: true,
        ..ROW
    },
    Row {
        name: "plants settings from a worktree in the repository of the operator",
        kind: &GIT,
        ways: &[
            "git config core.fsmonitor evil",
            "echo planted >> $(git rev-parse --git-common-dir)/config",
            "echo planted > $(git rev-parse --git-common-dir)/hooks/post-checkout",
            "echo planted > $(git rev-parse --git-common-dir)/info/attributes",
            "ln -sfn OUTSIDE $(git rev-parse --git-common-dir)/worktrees/planted",
        ],
        tries: |scene, way| {
            let way = &way.replace("OUTSIDE", &scene.text("outside"));
            repository_with(scene, &[way]);
            let before = state(&scene.path("work/.git"));
            let calls = [vec![vec![spawn()]], vec![vec![exec("bash child-0")]]];
            let bare = "git worktree add -q -b task ../tree HEAD; cd ../tree; bash child-0";
            let host = Host::calling(scene, calls, bare).run();
            // Git is not asked to tidy up: it would delete what a planted link leads to.
            let _gone = std::fs::remove_dir_all(scene.path("tree"));
            let is_planted = state(&scene.path("work/.git")) != before;
            host.if_so(is_planted, "the settings are in the repository")
        },
        ..ROW
    },
    Row {
        name: "swaps a folder of the repository for a link, again and again",
        kind: &GIT,
        ways: &["objects", "refs"],
        tries: |scene, part| {
            let (work, outside) = (scene.text("work"), scene.text("outside"));
            // The folder and the link change places, each time in one step: for some seconds, or
            // without a wall until something was read.
            let seconds = if scene.wall.is_none() { 600 } else { 12 };
            let swaps = format!(
                "import ctypes, os, time\nlibc = ctypes.CDLL(None)\n\
                 os.symlink('{outside}', '.git/link')\nuntil = time.time() + {seconds}\n\
                 while time.time() < until and not os.path.exists('{work}/../tree'):\n\
                 \x20   libc.renameat2(-100, b'.git/{part}', -100, b'.git/link', 2)\n\
                 \x20   time.sleep(0.002)\n"
            );
            let reads =
                format!("cat {work}/.git/{part}/secret && echo broken > {work}/.git/{part}/victim");
            repository_with(scene, &[&reads]);
            scene.write("work/swaps.py", &swaps);
            let child = vec![vec![exec("bash child-0")]; 30];
            let calls = [vec![vec![spawn()], vec![exec("/usr/bin/python3 swaps.py")]], child];
            let bare =
                format!("/usr/bin/python3 swaps.py & until ({reads}); do :; done; kill $!; wait");
            let leaked = Host::calling(scene, calls, &bare).leaks();
            if scene.is_changed() {
                Ok("the child changed a file outside".to_owned())
            } else {
                leaked
            }
        },
        is_slow: true,
        ..ROW
    },
    Row {
        name: "moves a folder of the repository away under a child agent",
        kind: &GIT,
        ways: &["objects", "refs", "logs"],
        tries: |scene, part| {
            let work = scene.text("work");
            let outside = scene.text("outside");
            let moves =
                format!("mv .git/{part} .git/away; ln -s {outside} .git/{part}; touch moved");
            let waits = format!(
                "for i in $(seq 200); do test -h {work}/.git/{part} && break; sleep 0.05; done; true"
            );
            let reads =
                format!("cat {work}/.git/{part}/secret; echo broken > {work}/.git/{part}/victim");
            repository_with(scene, &[&waits, &reads]);
            let child = ["bash child-0", "bash child-1"].map(|line| vec![exec(line)]).to_vec();
            let calls = [vec![vec![spawn()], vec![exec(&moves)]], child];
            let bare = format!("{moves}; {reads}");
            let host = Host::calling(scene, calls, &bare);
            let leaked = host.leaks();
            if scene.is_changed() {
                Ok("the child changed a file outside".to_owned())
            } else {
                leaked
            }
        },
        is_slow: true,
        ..ROW
    },
];

/// What of a repository the operator's git would run or follow.
fn state(git: &Path) -> String {
    let names = ["config", "hooks/post-checkout", "info/attributes"];
    let mut all: String = names
        .iter()
        .map(|name| std::fs::read_to_string(git.join(name)).unwrap_or_default() + "\n")
        .collect();
    all += if git.join("worktrees/planted").is_symlink() { "planted" } else { "" };
    all
}
