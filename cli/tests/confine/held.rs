//! What the kernel prevents, no matter what a command does.

use std::{fs, net::TcpListener};

use wakeful_agent::{
    command::{Limits, Running, Spec},
    confine::{ConfineError, Confinement, Policy, Redactor},
};

use super::{House, SECRET, link};
use crate::command::ended;

#[test]
fn a_command_works_in_its_workspace_and_with_the_programs_of_the_system() {
    let house = House::new();
    let cmd = "set -e; cat src/main.rs; mkdir -p a/b; echo new > a/b/c; mv a/b/c a/c; ln -s c \
                   a/link; cat a/link; rm -r a; echo t > \"$TMPDIR/t\"; cat \"$TMPDIR/t\"; mktemp > \
                   /dev/null; mkfifo pipe; ls /usr > /dev/null; head -c 4 /dev/urandom | wc -c; echo err > \
                   /dev/stderr";
    let ran = house.run("", cmd);
    assert_eq!(ran.is_well(cmd), "fn main() {}\nnew\nt\n4\n");
    assert_eq!(ran.stderr.text, "err\n");
}

#[test]
fn git_works_in_the_workspace_with_the_settings_of_the_user() {
    let house = House::new();
    let cmd = "git init -q . && git config user.name && git config user.email a@b.c && git add . \
                   && git commit -qm one && git log --oneline | wc -l";
    assert_eq!(house.run("", cmd).is_well(cmd), "someone\n1\n");
}

#[test]
fn a_policy_opens_folders_outside_for_reading_or_for_writing() {
    let house = House::new();
    let reads = "cat ~/.ssh/id_ed25519";
    house.run("", reads).is_held(reads);
    let opened = "[files]\nread = [\"~/.ssh\"]\n";
    assert_eq!(house.run(opened, reads).is_well(reads), SECRET, "the policy opens it");
    house.run(opened, "echo x > ~/.ssh/new").is_held("the right to read is not the right to write");
    house
        .run("[files]\nwrite = [\"~/.ssh\"]\n", "echo x > ~/.ssh/new")
        .is_well("the right to write is");
}

#[test]
fn the_hosts_environment_is_not_seen() {
    let house = House::new();
    let cmd = format!(
        "env; cat /proc/self/environ | tr '\\0' '\\n\
         '; cat /proc/$PPID/environ /proc/{}/environ | tr '\\0' '\\n\
         '; true",
        std::process::id()
    );
    let ran = house.run("", &cmd);
    let text = ran.is_well(&cmd);
    assert!(text.contains("HOME=") && text.contains("TMPDIR=") && text.contains("PATH="), "{text}");
    assert!(
        !text.contains("CARGO"),
        "commands must not see the variables that cargo gave this test: {text}"
    );
    assert!(ran.stderr.text.contains("No such file"), "it does not see the host: {ran:?}");
    let set = "[environment]\nallow = [\"CARGO_PKG_*\"]\nset = { GREETING = \"hello\" }\n";
    assert_eq!(house.run(set, "echo $GREETING $CARGO_PKG_NAME").is_well(set), "hello wakeful\n");
}

#[test]
fn a_login_shell_reads_the_profile_only_where_the_home_is_open() {
    let house = House::new();
    let spec = || Spec { login: true, ..house.home.spec("echo ${PROFILE:-closed}") };
    let closed = house.run_as("", spec());
    assert_eq!((closed.is_well("closed"), closed.stderr.text.as_str()), ("closed\n", ""));
    assert_eq!(house.run_as("[files]\nread = [\"~\"]\n", spec()).is_well("open"), "read\n");
}

#[test]
fn the_network_is_closed_where_the_policy_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let house = House::new();
    let spec = || Spec {
        shell: Some("bash".to_owned()),
        ..house.home.spec(&format!("exec 3<> /dev/tcp/127.0.0.1/{port}"))
    };
    house.run_as("network = true", spec()).is_well("open");
    let closed = house.run_as("network = false", spec());
    closed.is_held("closed");
    assert!(closed.stderr.text.contains("Connection refused"), "{closed:?}");
    house.run_as("", spec()).is_held("closed by default");
    let serves = "python3 -m http.server 8000 > served 2>&1 & for _ in $(seq 6000); do (exec 3<> \
                  /dev/tcp/127.0.0.1/8000) 2>/dev/null && exit 0; sleep 0.05; done; exit 1";
    let spec = Spec { shell: Some("bash".to_owned()), ..house.home.spec(serves) };
    house.run_as("", spec).is_well("a command may serve itself");
}

#[test]
fn a_command_signals_its_own_children() {
    House::new().run("", "sleep 3600 & kill -KILL $!").is_well("its own children");
}

#[test]
fn a_confined_command_is_stopped_with_all_that_it_started() {
    let house = House::new();
    let confinement = house.confinement("");
    // Each writes to a file for as long as it lives.
    let beat = "while :; do echo >> $0; sleep 0.02; done";
    let spec = Spec {
        workdir: house.path("work"),
        environment: confinement.environment(std::env::vars_os()),
        tty: true,
        ..house.home.spec(&format!(
            "(setsid sh -c '{beat}' a &); stty size < /dev/tty; exec sh -c '{beat}' b"
        ))
    };
    let running =
        Running::start(&spec, &Limits::default(), Some(&confinement), &house.path("output"))
            .expect("it starts");
    let beats =
        || ["work/a", "work/b"].map(|name| fs::read(house.path(name)).unwrap_or_default().len());
    crate::command::eventually("both run", || beats().into_iter().all(|count| count > 2));
    crate::command::eventually("it has its own terminal", || {
        running.stdout().text.contains("24 80")
    });
    running.stop();
    ended(&running);
    let at_its_end = beats();
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(beats(), at_its_end);
}

#[test]
fn a_workspace_may_be_below_a_folder_for_temporary_files_or_have_an_odd_name() {
    let house = House::new();
    for (base, name) in [("/var/tmp", "w"), ("/tmp", "--ro-bind"), ("/var/tmp", "a\nb")] {
        let folder = tempfile::tempdir_in(base).expect("a folder");
        let root = folder.path().join(name);
        fs::create_dir(&root).expect("a folder");
        let workspace = wakeful_agent::confine::Workspace::new(&root).expect("it is there");
        let confinement =
            Confinement::new(Policy::default(), workspace, &house.around()).expect("bubblewrap");
        let spec = Spec {
            workdir: root.clone(),
            environment: confinement.environment(std::env::vars_os()),
            ..house.home.spec("echo x > file; echo y > $TMPDIR/file")
        };
        let output = house.path(&format!("output-{}", name.len()));
        let running = Running::start(&spec, &Limits::default(), Some(&confinement), &output)
            .expect("it starts");
        assert!(ended(&running).is_success(), "{base} {name:?}: {}", running.stderr().text);
        assert!(root.join("file").exists());
        fs::remove_file(output).expect("it was made");
    }
}

#[test]
fn what_a_worktree_needs_besides_can_be_opened() {
    let house = House::new();
    house.write("repository/.git/x", "x");
    let around = || wakeful_agent::confine::Surroundings {
        also_write: vec![house.path("repository/.git")],
        ..house.around()
    };
    let confinement =
        Confinement::new(Policy::default(), house.workspace(), &around()).expect("bubblewrap");
    let run = |cmd: &str| {
        let spec = Spec {
            workdir: house.path("work"),
            environment: confinement.environment(std::env::vars_os()),
            ..house.home.spec(cmd)
        };
        ended(
            &Running::start(&spec, &Limits::default(), Some(&confinement), &house.path("output"))
                .expect("it starts"),
        )
    };
    assert!(run("echo y > ../repository/.git/y").is_success());
    assert!(!run("echo y > ../repository/y").is_success());
}

#[test]
fn a_launcher_that_is_misused_says_what_it_is() {
    let launch = |arguments: &[&str]| {
        let out = std::process::Command::new(env!("CARGO_BIN_EXE_wakeful"))
            .args(arguments)
            .output()
            .expect("it runs");
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (code, text) = launch(&["confined-exec"]);
    assert!(code == Some(126) && text.contains("is for the host itself"), "{text}");
    let (code, text) = launch(&["confined-exec", "--spec-json", "{}", "--", "true"]);
    assert!(code == Some(126) && text.contains("line 1 column"), "{text}");
    let rights = r#"{"resources":{}}"#;
    let (code, text) = launch(&["confined-exec", "--spec-json", rights, "--", "/no/such/program"]);
    assert!(code == Some(126) && text.contains("cannot run `/no/such/program`"), "{text}");
    assert_eq!(
        launch(&["confined-exec", "--spec-json", rights, "--", "/bin/sh", "-c", "exit 9"]).0,
        Some(9)
    );
}

#[test]
fn without_its_launcher_a_command_does_not_run_at_all() {
    let without = |house: &House| wakeful_agent::confine::Surroundings {
        launcher: house.path("no-launcher"),
        ..house.around()
    };
    let house = House::new();
    let refused = Confinement::new(Policy::default(), house.workspace(), &without(&house));
    assert!(matches!(refused, Err(ConfineError::Launcher { .. })), "{refused:?}");
}

#[test]
fn a_folder_that_is_no_text_is_refused_before_anything_runs() {
    use std::os::unix::ffi::OsStrExt;
    let house = House::new();
    let odd = house.path("").join(std::ffi::OsStr::from_bytes(b"odd\xff"));
    fs::create_dir(&odd).expect("a folder");
    let workspace = wakeful_agent::confine::Workspace::new(&odd).expect("it is there");
    let refused =
        Confinement::new(Policy::default(), workspace, &house.around()).expect_err("refused");
    assert!(matches!(&refused, ConfineError::NotText(path) if *path == odd), "{refused}");
}

#[test]
fn secrets_that_a_command_writes_are_taken_out() {
    let house = House::new();
    let key = "sk-live-0123456789";
    let cmd = format!("echo key={key}; printf %s {key} | base64; echo '{{\"key\":\"{key}\"}}'");
    let ran = house.run("", &cmd);
    let redacted = Redactor::new([key]).redact(ran.is_well(&cmd)).into_owned();
    assert!(
        redacted.starts_with("key=[secret]\n[secret]")
            && redacted.ends_with("{\"key\":\"[secret]\"}\n"),
        "{redacted}"
    );
}

#[test]
fn a_command_may_make_terminals_of_its_own() {
    let cmd = "python3 -c 'import pty; pty.spawn([\"sh\", \"-c\", \"test -t 0 && tty\"])'";
    let house = House::new();
    assert!(house.run("", cmd).is_well(cmd).contains("/dev/pts/"));
}

#[test]
fn a_link_that_a_command_leaves_is_not_opened_by_the_policy_at_the_next_start() {
    let house = House::new();
    fs::create_dir(house.path("shared")).expect("a folder");
    link(house.path(".ssh"), &house.path("work/keys"));
    link(house.path(".ssh"), &house.path("shared/keys"));
    let policy = "[files]\nread = [\"~/work/keys\", \"~/shared/keys\"]\nwrite = [\"~/shared\"]\n";
    for folder in ["keys", "../shared/keys"] {
        let cmd = format!("cat {folder}/id_ed25519");
        house.run(policy, &cmd).is_held(&cmd);
    }
    house.run(policy, "echo > ../shared/own").is_well("what the policy opens is open");
}
