//! The input of commands, and how they use a terminal.

use std::process;

use wakeful_agent::command::{InputError, Limits, Running, Spec};

use super::{Home, ended, eventually};

fn start(home: &Home, cmd: &str, tty: bool) -> Running {
    home.start(&Spec { tty, accepts_input: true, ..home.spec(cmd) }, &Limits::default())
}

/// Handles interrupts as `wakeful run` does. Commands inherit ignored signals, and a shell script
/// makes its background jobs ignore this one.
fn hear_interrupts() {
    ctrlc::set_handler(|| process::exit(130)).expect("the only handler");
}

#[test]
fn a_command_reads_what_it_is_given_until_the_end() {
    let home = Home::new();
    let running = start(&home, "cat; echo over", false);
    assert_eq!(running.write(b"one\n"), Ok(4));
    eventually("it answers", || running.stdout().text == "one\n");
    assert_eq!(running.write(b"two\n"), Ok(4));
    assert_eq!(running.close_input(), Ok(()));
    assert_eq!(running.write(b"three\n"), Err(InputError::Closed));
    assert!(ended(&running).is_success());
    assert_eq!(running.stdout().text, "one\ntwo\nover\n");
}

#[test]
fn more_than_a_pipe_holds_arrives_whole() {
    let home = Home::new();
    let running = start(&home, "sleep 0.3; wc -c", false);
    assert_eq!(running.write(&vec![b'x'; 1_000_000]), Ok(1_000_000));
    running.close_input().expect("it takes input");
    ended(&running);
    assert_eq!(running.stdout().text.trim(), "1000000");
}

#[test]
fn a_command_without_input_reads_its_end_at_once_and_takes_none() {
    let home = Home::new();
    let (running, exit) = home.run("cat; echo over");
    assert!(exit.is_success());
    assert_eq!(running.stdout().text, "over\n");
    assert_eq!(running.write(b"one\n"), Err(InputError::NotAccepted));
}

#[test]
fn a_command_that_closed_its_input_or_ended_takes_no_more() {
    let home = Home::new();
    let running = start(&home, "exec <&-; echo closed; sleep 3600", false);
    eventually("it closed its input", || running.stdout().text == "closed\n");
    let refused = || running.write(b"x") == Err(InputError::Closed);
    eventually("a write is refused", refused);
    running.stop();
    ended(&running);
    assert!(refused());
}

#[test]
fn a_command_on_a_terminal_finds_one_of_a_known_size() {
    let home = Home::new();
    let spec = Spec {
        tty: true,
        ..home.spec("test -t 0 && test -t 1 && test -t 2 && stty size < /dev/tty && echo err >&2")
    };
    let running = home.start(&spec, &Limits::default());
    let exit = ended(&running);
    assert_eq!(running.stdout().text, "24 80\r\nerr\r\n");
    assert_eq!(running.stderr().text, "");
    assert!(exit.is_success(), "{exit:?}");
    assert_eq!(
        home.run("test -t 0 || test -t 1 || test -t 2").1.code,
        Some(1),
        "a plain command has no terminal"
    );
}

#[test]
fn a_command_on_a_terminal_reads_lines_and_the_end() {
    let home = Home::new();
    for (typed, line) in
        [("name\n", "name"), ("in the middle of a line", "in the middle of a line")]
    {
        let running = start(&home, "stty -echo; echo ready; cat; echo over", true);
        eventually("it is ready", || running.stdout().text == "ready\r\n");
        running.write(typed.as_bytes()).expect("it takes input");
        running.close_input().expect("it takes input");
        assert_eq!(running.write(b"more"), Err(InputError::Closed));
        assert!(ended(&running).is_success());
        let text = running.stdout().text;
        assert!(text.contains(line) && text.ends_with("over\r\n"), "{text:?}");
    }
}

#[test]
fn an_interrupt_that_is_typed_reaches_what_runs_on_the_terminal() {
    hear_interrupts();
    let home = Home::new();
    let running = start(
        &home,
        "trap 'echo interrupted; exit 130' INT; echo ready; while :; do sleep 0.05; done",
        true,
    );
    eventually("it is ready", || running.stdout().text.contains("ready"));
    running.write(b"\x03").expect("it takes input");
    assert_eq!(ended(&running).code, Some(130));
    assert!(running.stdout().text.contains("interrupted"));
}
