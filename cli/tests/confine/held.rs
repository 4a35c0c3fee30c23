//! What the kernel prevents, no matter what a command does. No command here is judged by its words
//! first.

use std::{fs, net::TcpListener};

use wakeful_agent::{
    command::{Limits, Running, Spec, StartError},
    confine::{ConfineError, Confinement, Policy, Redactor},
};

use super::{House, SECRET, link};
use crate::command::{ended, lives};

#[test]
fn a_command_works_in_its_workspace_and_with_the_programs_of_the_system() {
    let house = House::new();
    let cmd = "set -e; cat src/main.rs; mkdir -p a/b; echo new > a/b/c; mv a/b/c a/c; ln -s c \
               a/link; cat a/link; rm -r a; echo t > \"$TMPDIR/t\"; cat \"$TMPDIR/t\"; mktemp > \
               /dev/null; ls /usr > /dev/null; head -c 4 /dev/urandom | wc -c; echo err > \
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
fn nothing_outside_is_written_whichever_way_it_is_tried() {
    let house = House::new();
    link(house.path(""), &house.path("work/up"));
    house.write("victim", "as it was");
    house.write("work/script.sh", "echo broken > ../victim\n");
    let ways = [
        "echo broken > VICTIM",
        "echo broken > ../victim",
        "echo broken > up/victim",
        "(cd .. && echo broken > victim)",
        "sh -c 'sh -c \"echo broken > VICTIM\"'",
        "sh script.sh",
        "rm VICTIM",
        "mv VICTIM .",
        "mv src/main.rs VICTIM",
        "ln VICTIM hard && echo broken > hard",
        "truncate -s 0 VICTIM",
        "cp src/main.rs VICTIM",
        "dd if=src/main.rs of=VICTIM",
        "mkdir ../new",
        "touch up/new",
        "setsid --wait sh -c 'echo broken > ../victim'",
        "env -i /bin/sh -c 'echo broken > ../victim'",
        "echo broken > /proc/self/cwd/../victim",
    ];
    for cmd in ways {
        House::works_freely(cmd);
        house.run("", &cmd.replace("VICTIM", &house.text("victim"))).is_held(cmd);
        assert_eq!(
            fs::read_to_string(house.path("victim")).expect("it is there"),
            "as it was",
            "{cmd}"
        );
        assert!(!house.path("new").exists(), "{cmd}");
    }
    house.run("", "echo 0 > /proc/sys/kernel/panic").is_held("a setting of the kernel");
}

#[test]
fn nothing_of_the_home_is_read_whichever_way_it_is_tried() {
    let house = House::new();
    link(house.path(".ssh"), &house.path("work/keys"));
    house.write("work/script.sh", "cat ~/.ssh/id_ed25519\n");
    let ways = [
        "cat ~/.ssh/id_ed25519",
        "cat ../.ssh/id_ed25519",
        "cat keys/id_ed25519",
        "cp ../.ssh/id_ed25519 copy && cat copy",
        "ln ../.ssh/id_ed25519 hard && cat hard",
        "sh script.sh",
        "sh -c 'cd .. && cat .ssh/id_ed25519'",
        "ls ~",
        "ls keys/",
        "cat < ../.ssh/id_ed25519",
        "grep -r the-secret ~",
        "tar cf - -C .. .ssh | cat; test ${PIPESTATUS[0]} = 0",
    ];
    for cmd in ways {
        House::works_freely(cmd);
        house.run("", cmd).is_held(cmd);
    }
    let opened = "[files]\nread = [\"~/.ssh\"]\n";
    assert_eq!(house.run(opened, ways[0]).is_well(ways[0]), SECRET, "the policy opens it");
    house.run(opened, "echo x > ~/.ssh/new").is_held("the right to read is not the right to write");
    house
        .run("[files]\nwrite = [\"~/.ssh\"]\n", "echo x > ~/.ssh/new")
        .is_well("the right to write is");
}

#[test]
fn no_device_is_made_and_no_right_of_root_is_kept() {
    let house = House::new();
    // The machine's own disk, as a file that may be read.
    house.run("", "mknod disk b 254 0").is_held("a block device");
    house.run("", "mknod memory c 1 1").is_held("a character device");
    let capabilities = house.run("", "grep CapEff /proc/self/status");
    let capabilities = capabilities
        .is_well("its capabilities")
        .trim_end()
        .rsplit('\t')
        .next()
        .and_then(|hex| u64::from_str_radix(hex, 16).ok());
    assert_eq!(capabilities.map(|all| all & !0b1011), Some(0), "even if the host is root");
    house.run("", "mkfifo pipe").is_well("a named pipe is not a device");
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
    assert_eq!(
        ran.stderr.text.matches("Permission denied").count(),
        2,
        "the command cannot read the host's processes: {ran:?}"
    );
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
fn tcp_is_closed_where_the_policy_says_so() {
    let house = House::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let spec = || Spec {
        shell: Some("bash".to_owned()),
        ..house.home.spec(&format!("exec 3<> /dev/tcp/127.0.0.1/{port}"))
    };
    house.run_as("network = true", spec()).is_well("open");
    let closed = house.run_as("network = false", spec());
    closed.is_held("closed");
    assert!(closed.stderr.text.contains("Permission denied"), "{closed:?}");
    let not_held = |policy: &str| house.confinement(policy).describe().join("\n");
    assert!(
        not_held("network = false").contains("UDP")
            && not_held("network = false").contains("sockets of local services")
    );
    let open = not_held("network = true");
    assert!(
        !open.contains("UDP") && !open.contains("Landlock"),
        "everything else is prevented here: {open}"
    );
}

#[test]
fn other_processes_of_the_user_get_no_signals() {
    let house = House::new();
    let other = Running::start(
        &house.home.spec("echo $$ > pid; exec sleep 3600"),
        &Limits::default(),
        None,
        &house.path("other"),
    )
    .expect("it starts");
    let pid = house.home.pids("pid", 1)[0];
    let cmd = format!("kill -KILL {pid}");
    house.run("", &cmd).is_held(&cmd);
    assert!(lives(pid));
    house.run("", "sleep 3600 & kill -KILL $!").is_well("its own children get signals");
    other.stop();
    ended(&other);
}

#[test]
fn a_confined_command_is_stopped_with_all_that_it_started() {
    let house = House::new();
    let confinement = house.confinement("");
    let spec = Spec {
        workdir: house.path("work"),
        environment: confinement.environment(std::env::vars_os()),
        tty: true,
        ..house.home.spec(
            "(setsid sh -c 'echo $$ >> pids; exec sleep 3600' &); echo $$ >> pids; test -t 0 && \
             stty size < /dev/tty; sleep 3600",
        )
    };
    let running =
        Running::start(&spec, &Limits::default(), Some(&confinement), &house.path("output"))
            .expect("it starts");
    let pids = house.home.pids("work/pids", 2);
    crate::command::eventually("it has its own terminal", || {
        running.stdout().text.contains("24 80")
    });
    running.stop();
    ended(&running);
    assert!(!pids.into_iter().any(lives));
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
        Confinement::new(Policy::default(), house.workspace(), &around()).expect("Landlock");
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
    let rights = r#"{"read":["/usr","/lib","/lib64","/bin"],"write":[],"devices":[],
        "network":true,"is_required":true}"#;
    let (code, text) = launch(&["confined-exec", "--spec-json", rights, "--", "/no/such/program"]);
    assert!(code == Some(126) && text.contains("cannot run `/no/such/program`"), "{text}");
    assert_eq!(
        launch(&["confined-exec", "--spec-json", rights, "--", "/bin/sh", "-c", "exit 9"]).0,
        Some(9)
    );
}

#[test]
fn without_its_launcher_a_command_does_not_run_at_all() {
    let house = House::new();
    let around = wakeful_agent::confine::Surroundings {
        launcher: house.path("no-launcher"),
        ..house.around()
    };
    let confinement =
        Confinement::new(Policy::default(), house.workspace(), &around).expect("Landlock");
    let spec = Spec { workdir: house.path("work"), ..house.home.spec("touch ran") };
    let refused =
        Running::start(&spec, &Limits::default(), Some(&confinement), &house.path("output"))
            .expect_err("it does not start");
    assert!(
        matches!(&refused, StartError::Spawn { program, .. } if program.ends_with("no-launcher")),
        "{refused}"
    );
    assert!(!house.path("work/ran").exists());
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
