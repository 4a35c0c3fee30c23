//! What commands leave behind: processes that detach, and those of a host that was killed.

use std::{
    env, fs,
    process::{Command, Stdio},
    time::Duration,
};

use wakeful_agent::command::{Cause, Limits, Spec, sweep};

use super::{Home, PATIENCE, ended, eventually, lives};

/// Forks twice and leaves group, session and parent, with the streams still open. Its id goes into
/// `pids`.
const DETACH: &str = "(setsid sh -c 'echo $$ >> pids; exec sleep 3600' &)";

#[test]
fn a_process_that_detaches_neither_holds_the_command_open_nor_outlives_it() {
    let home = Home::new();
    for tty in [false, true] {
        let running = home.start(
            &Spec {
                tty,
                ..home.spec(&format!(
                    "{DETACH}; while ! test -s pids; do sleep 0.01; done; echo done"
                ))
            },
            &Limits::default(),
        );
        let exit = ended(&running);
        assert!(exit.is_success(), "{exit:?}");
        assert!(running.stdout().text.contains("done"));
        for pid in home.pids("pids", 1) {
            assert!(!lives(pid), "tty {tty}: {pid} lives");
        }
        fs::remove_file(home.path("pids")).expect("it was there");
    }
}

#[test]
fn a_stop_reaches_what_detached_and_what_ignores_the_signal_to_end() {
    let home = Home::new();
    let deaf = "(setsid sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do sleep 1; done' &)";
    let limits = Limits { stop_grace: Duration::from_millis(300), ..Limits::default() };
    let running =
        home.start(&home.spec(&format!("{DETACH}; {deaf}; echo $$ >> pids; sleep 3600")), &limits);
    let pids = home.pids("pids", 3);
    assert!(pids.iter().all(|pid| lives(*pid)));
    running.stop();
    assert_eq!(ended(&running).cause, Cause::Stopped);
    assert!(!pids.into_iter().any(lives));
}

#[test]
fn a_stop_reaches_a_child_that_cleared_its_environment() {
    let home = Home::new();
    let running = home.start(
        &home.spec("setsid env -i /bin/sh -c 'echo $$ >> pids; exec /bin/sleep 3600' & sleep 3600"),
        &Limits::default(),
    );
    let pids = home.pids("pids", 1);
    running.stop();
    ended(&running);
    assert!(!pids.into_iter().any(lives));
}

#[test]
fn a_process_that_gets_away_from_all_marks_does_not_hold_the_command_open() {
    let home = Home::new();
    let (running, exit) = home.run(
        "(setsid env -i /bin/sh -c 'echo $$ >> pids; exec /bin/sleep 3600' &); while ! test -s \
         pids; do sleep 0.01; done; echo done",
    );
    assert!(exit.is_success());
    assert_eq!(running.stdout().text, "done\n");
    for pid in home.pids("pids", 1) {
        assert!(lives(pid), "a process without any link to the command is not found");
        assert!(
            Command::new("kill")
                .args(["-KILL", &pid.to_string()])
                .status()
                .expect("kill")
                .success()
        );
    }
}

#[test]
fn other_commands_live_on_when_one_is_stopped() {
    let home = Home::new();
    let [one, other] =
        [(); 2].map(|()| home.start(&home.spec("echo $$ >> pids; sleep 3600"), &Limits::default()));
    let pids = home.pids("pids", 2);
    one.stop();
    ended(&one);
    assert_eq!(other.exit(), None);
    assert_eq!(pids.iter().filter(|pid| lives(**pid)).count(), 1);
    other.stop();
    ended(&other);
}

/// The folder of the host, in the child process of this test.
const HOST: &str = "WAKEFUL_TEST_HOST";

#[test]
fn what_a_killed_host_left_behind_is_swept_by_its_mark() {
    const NAME: &str = "command::family::what_a_killed_host_left_behind_is_swept_by_its_mark";
    if let Some(folder) = env::var_os(HOST) {
        // The host: it starts two commands, one of which detaches a process, and is then killed.
        let home = Home::new();
        for (number, cmd) in ["echo $$ >> pids; sleep 3600", DETACH].into_iter().enumerate() {
            let cmd = if number == 0 { cmd.to_owned() } else { format!("{cmd}; sleep 3600") };
            let spec = Spec {
                workdir: folder.clone().into(),
                mark: format!("{}/{number}", folder.display()),
                ..home.spec(&cmd)
            };
            home.start(&spec, &Limits::default());
        }
        std::thread::sleep(PATIENCE);
        return;
    }
    let home = Home::new();
    let mark = home.path("").canonicalize().expect("it is there");
    let mut host = Command::new(env::current_exe().expect("this test has a path"));
    host.args([NAME, "--exact"]).env(HOST, &mark).stdout(Stdio::null());
    let mut host = host.spawn().expect("a host");
    let pids = home.pids("pids", 2);
    host.kill().and_then(|()| host.wait()).expect("it is killed");
    assert!(pids.iter().all(|pid| lives(*pid)), "the commands outlive their host");

    let mark = mark.to_str().expect("text");
    assert_eq!(sweep(&format!("{mark}/no-such-task")), 0);
    assert!(pids.iter().all(|pid| lives(*pid)), "another mark does not match them");
    assert!(sweep(&format!("{mark}/")) >= 3, "two shells, one of them with a child");
    eventually("the processes are gone", || !pids.iter().any(|pid| lives(*pid)));
    assert_eq!(sweep(mark), 0);
}
