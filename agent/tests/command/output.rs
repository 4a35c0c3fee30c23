//! The output of commands, and what is kept of it.

use std::{fs, sync::Arc};

use wakeful_agent::{
    command::{Limits, STREAM_BYTES, Spec},
    confine::Redactor,
};

use super::{Home, ended, eventually};

#[test]
fn the_streams_are_kept_apart_and_together_in_the_order_in_which_they_come() {
    let home = Home::new();
    let until = |name: &str| format!("until test -e {name}; do sleep 0.02; done");
    let cmd = format!("echo out; {}; echo err >&2; {}; echo out again", until("one"), until("two"));
    let running = home.start(&home.spec(&cmd), &Limits::default());
    eventually("the first line", || running.stdout().text == "out\n");
    fs::write(home.path("one"), "").expect("a file");
    eventually("the second line", || running.stderr().text == "err\n");
    fs::write(home.path("two"), "").expect("a file");
    let exit = ended(&running);
    assert_eq!(running.stdout().text, "out\nout again\n");
    assert_eq!(running.stderr().text, "err\n");
    assert_eq!(fs::read_to_string(running.output()).expect("a file"), "out\nerr\nout again\n");
    assert_eq!((exit.output_bytes, exit.left_out_bytes, exit.output_fault), (18, 0, None));
}

#[test]
fn output_can_be_read_while_the_command_runs() {
    let home = Home::new();
    let running = home.start(&home.spec("echo early; sleep 3600"), &Limits::default());
    eventually("the file has it", || running.preview(100).expect("a file").text == "early\n");
    assert_eq!(running.exit(), None);
    running.stop();
    ended(&running);
}

#[test]
fn a_flood_is_capped_and_the_command_goes_on_to_its_end() {
    const FLOOD: u64 = 100 * 1024 * 1024;
    const CAP: u64 = 64 * 1024;
    let home = Home::new();
    let spec = home.spec(&format!(
        "echo first; yes 'a line of the flood' | head -c {FLOOD}; echo; echo last; exit 4"
    ));
    let running = home.start(&spec, &Limits { output_bytes: CAP, ..Limits::default() });
    let exit = ended(&running);
    assert_eq!(exit.code, Some(4));
    assert_eq!(exit.output_bytes, FLOOD + "first\n\nlast\n".len() as u64);
    let text = fs::read_to_string(running.output()).expect("a file");
    assert!(text.len() as u64 <= CAP + 100, "{}", text.len());
    assert!(text.starts_with("first\na line") && text.ends_with("\nlast\n"));
    assert!(text.contains(&format!("\n[wakeful: {} bytes left out]\n", exit.left_out_bytes)));
    let stdout = running.stdout();
    assert!(
        stdout.is_cut()
            && stdout.text.len() <= STREAM_BYTES + 100
            && stdout.text.ends_with("\nlast\n")
    );
    assert_eq!(
        running.preview(1000).expect("a file").text.len() / 1000,
        1,
        "a preview is as long as allowed"
    );
}

#[test]
fn a_secret_is_nowhere_in_what_is_kept_of_the_output_however_it_is_cut() {
    const SECRET: &str = "sk-0123456789abcdef";
    let home = Home::new();
    let limits = Limits { output_bytes: 1000, ..Limits::default() };
    let flood = format!(
        "for i in $(seq 200); do printf 'a{SECRET}'; printf '{}' >&2; printf '{}' >&2; done",
        &SECRET[..7],
        &SECRET[7..]
    );
    for cmd in [
        format!(
            "printf 'one {}'; sleep 0.1; printf '{}, two'; printf 'sk-0'",
            &SECRET[..9],
            &SECRET[9..]
        ),
        flood,
    ] {
        let spec = Spec { redactor: Arc::new(Redactor::new([SECRET])), ..home.spec(&cmd) };
        let running = home.start(&spec, &limits);
        ended(&running);
        let file = fs::read_to_string(running.output()).expect("a file");
        let kept = [
            file,
            running.stdout().text,
            running.stderr().text,
            running.preview(100).expect("a preview").text,
        ]
        .join("|");
        assert!(kept.contains("[secret]"), "{kept}");
        let parts = (0..=SECRET.len() - 8).map(|at| &SECRET[at..at + 8]);
        assert_eq!(parts.filter(|part| kept.contains(part)).collect::<Vec<_>>(), [""; 0], "{kept}");
        if kept.starts_with("one") {
            assert!(
                kept.starts_with("one [secret], twosk-0|"),
                "the beginning of a secret is shown once the output ends: {kept}"
            );
        }
    }
}

#[test]
fn a_disk_that_is_full_is_told_and_stops_nothing() {
    let home = Home::new();
    let running = wakeful_agent::command::Running::start(
        &home.spec("echo lost; exit 6"),
        &Limits::default(),
        None,
        "/dev/full".as_ref(),
    )
    .expect("it starts");
    let exit = ended(&running);
    assert_eq!((exit.code, exit.output_bytes, exit.left_out_bytes), (Some(6), 5, 5));
    assert!(exit.output_fault.is_some_and(|why| why.contains("No space left")));
    assert_eq!(running.stdout().text, "lost\n", "the copy in memory is complete");
}
