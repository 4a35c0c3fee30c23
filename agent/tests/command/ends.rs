//! How commands end: on their own, and by a stop or a limit.

use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

use wakeful_agent::command::{Cause, Limits, Running, Spec, StartError};

use super::{Home, PATIENCE, ended, eventually, lives};

const GRACE: Duration = Duration::from_millis(300);

fn impatient() -> Limits {
    Limits { stop_grace: GRACE, ..Limits::default() }
}

#[test]
fn an_exit_code_is_the_commands_own() {
    let home = Home::new();
    for code in [0, 1, 7, 255] {
        let (_, exit) = home.run(&format!("exit {code}"));
        assert_eq!((exit.code, exit.signal, exit.cause), (Some(code), None, Cause::Exited));
        assert_eq!(exit.is_success(), code == 0);
    }
    assert_eq!(home.run("no-such-program-anywhere").1.code, Some(127));
}

#[test]
fn a_signal_that_ends_a_command_is_told_by_its_number() {
    let (_, exit) = Home::new().run("kill -SEGV $$");
    assert_eq!((exit.code, exit.signal, exit.cause), (None, Some(11), Cause::Exited));
}

#[test]
fn a_command_runs_where_it_is_told_to_in_the_environment_it_is_given() {
    let home = Home::new();
    let mut spec = home.spec("pwd -P; env");
    spec.environment.insert("COLOUR".to_owned(), "blue and \"green\"".to_owned());
    let running = home.start(&spec, &Limits::default());
    ended(&running);
    let text = running.stdout().text;
    assert_eq!(
        text.lines().next().expect("a folder"),
        spec.workdir.canonicalize().expect("it is there").to_str().expect("text")
    );
    assert!(
        text.contains("COLOUR=blue and \"green\"\n")
            && text.contains(&format!("WAKEFUL_TASK={}\n", spec.mark)),
        "{text}"
    );
    assert!(!text.contains("CARGO"), "nothing of the host's environment: {text}");
}

#[test]
fn a_login_shell_reads_the_profile_and_another_does_not() {
    let home = Home::new();
    std::fs::write(home.path(".profile"), "export FROM_PROFILE=yes\n").expect("it is written");
    for (shell, login, expected) in [
        ("sh", true, "yes\n"),
        ("sh", false, "no\n"),
        ("bash", true, "yes\n"),
        ("bash", false, "no\n"),
    ] {
        let mut spec =
            Spec { shell: Some(shell.to_owned()), login, ..home.spec("echo ${FROM_PROFILE:-no}") };
        spec.environment.insert("HOME".to_owned(), spec.workdir.to_str().expect("text").to_owned());
        let running = home.start(&spec, &Limits::default());
        ended(&running);
        assert_eq!(running.stdout().text, expected, "{shell}, login {login}");
    }
}

#[test]
fn a_command_that_is_told_to_stop_may_clean_up() {
    let home = Home::new();
    let spec =
        home.spec("trap 'echo cleaned up; exit 3' TERM; echo ready; while :; do sleep 0.05; done");
    let running = home.start(&spec, &Limits { stop_grace: PATIENCE, ..Limits::default() });
    eventually("it is ready", || running.stdout().text == "ready\n");
    running.stop();
    let exit = ended(&running);
    assert_eq!((exit.code, exit.cause), (Some(3), Cause::Stopped));
    assert!(running.stdout().text.contains("cleaned up"));
}

/// Starts a command and its child that both ignore SIGTERM. Returns the ids of both.
fn stubborn(home: &Home, limits: &Limits) -> (Running, Vec<u32>) {
    let spec = home.spec(
        "trap '' TERM; echo $$ >> pids; sh -c 'echo $$ >> pids; while :; do sleep 1; done'; echo \
         not reached",
    );
    let running = home.start(&spec, limits);
    (running, home.pids("pids", 2))
}

#[test]
fn a_command_that_ignores_the_signal_to_end_is_killed_after_the_grace() {
    let home = Home::new();
    let (running, pids) = stubborn(&home, &impatient());
    let stopped = Instant::now();
    running.stop();
    let exit = ended(&running);
    assert_eq!((exit.signal, exit.cause), (Some(9), Cause::Stopped));
    assert!(stopped.elapsed() >= GRACE, "the grace period was not kept");
    assert!(!pids.into_iter().any(lives), "a process is alive");
}

#[test]
fn a_second_stop_kills_at_once() {
    let home = Home::new();
    let (running, pids) =
        stubborn(&home, &Limits { stop_grace: Duration::from_secs(3600), ..Limits::default() });
    running.stop();
    assert_eq!(running.wait(Duration::from_millis(200)), None, "the first stop waits an hour");
    running.stop();
    let exit = ended(&running);
    assert_eq!((exit.signal, exit.cause), (Some(9), Cause::Stopped));
    assert!(!pids.into_iter().any(lives));
}

#[test]
fn a_command_that_takes_too_long_is_stopped() {
    let deaf = "trap '' TERM; touch begun; while :; do sleep 1; done";
    for (cmd, signal) in [("touch begun; sleep 3600", 15), (deaf, 9)] {
        let home = Home::new();
        // On a slow machine the limit may pass before the command begins: then it is a longer one.
        for wall in [250, 2_500, 25_000].map(Duration::from_millis) {
            let running = home.start(&home.spec(cmd), &Limits { wall: Some(wall), ..impatient() });
            let exit = ended(&running);
            assert_eq!(exit.cause, Cause::TimedOut, "{cmd}");
            assert!(exit.duration >= wall);
            if home.path("begun").exists() {
                assert_eq!(exit.signal, Some(signal), "{cmd}");
                break;
            }
        }
        assert!(home.path("begun").exists(), "{cmd}");
    }
}

#[test]
fn a_stop_after_the_end_changes_nothing() {
    let (running, exit) = Home::new().run("true");
    running.stop();
    running.stop();
    assert_eq!(running.exit(), Some(exit));
}

#[test]
fn all_who_asked_before_or_after_the_end_learn_of_it() {
    let home = Home::new();
    let (tell, told) = mpsc::channel();
    let running = home
        .start(&Spec { accepts_input: true, ..home.spec("read line; exit 5") }, &Limits::default());
    for who in ["first", "second"] {
        let tell = tell.clone();
        running.on_exit(move |exit| tell.send((who, exit.code)).expect("a receiver"));
    }
    assert!(told.try_recv().is_err(), "the command has not ended");
    running.close_input().expect("it takes input");
    assert_eq!([told.recv(), told.recv()], [Ok(("first", Some(5))), Ok(("second", Some(5)))]);
    running.on_exit(move |exit| tell.send(("late", exit.code)).expect("a receiver"));
    assert_eq!(told.recv(), Ok(("late", Some(5))));
}

#[test]
fn what_cannot_be_started_says_why() {
    let home = Home::new();
    let start = |spec: &Spec, output: &str| {
        Running::start(spec, &Limits::default(), None, &home.path(output))
            .map(|_| ())
            .expect_err("it does not start")
    };
    let nowhere = start(&Spec { workdir: home.path("nowhere"), ..home.spec("true") }, "output");
    assert!(
        matches!(&nowhere, StartError::NoFolder(path) if path.ends_with("nowhere")),
        "{nowhere}"
    );
    for tty in [false, true] {
        let no_shell = start(
            &Spec { shell: Some("/no/such/shell".to_owned()), tty, ..home.spec("true") },
            "output",
        );
        assert!(
            matches!(&no_shell, StartError::Spawn { program, .. } if program == "/no/such/shell"),
            "tty {tty}: {no_shell}"
        );
    }
    let no_file = start(&home.spec("true"), "no/such/folder/output");
    assert!(matches!(&no_file, StartError::Output { .. }), "{no_file}");
}

#[test]
fn fifty_commands_run_at_once() {
    let home = Home::new();
    let start = |number: usize| {
        home.start(
            &home.spec(&format!(
                "while ! test -e go; do sleep 0.1; done; echo {number}; exit {number}"
            )),
            &Limits::default(),
        )
    };
    let all: Vec<Running> = (0..50).map(start).collect();
    assert!(all.iter().all(|running| running.exit().is_none()), "all of them run");
    std::fs::write(home.path("go"), "").expect("it is written");
    for (number, running) in all.iter().enumerate() {
        assert_eq!(ended(running).code, i32::try_from(number).ok());
        assert_eq!(running.stdout().text, format!("{number}\n"));
    }
}
