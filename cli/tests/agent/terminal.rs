//! The conversation at a terminal, as the person who types sees it.

use std::{
    io::{Read, Write},
    process::Child,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::json;
use wakeful_core::record::Record;

use super::{
    model::Asked,
    place::{KEY, Place, eventually},
    tasks::until,
};
use crate::{
    openai::{
        answer::{Answer, Events},
        server::Server,
    },
    shown::STEERING,
};

/// A program at its own terminal, and the output of the terminal so far.
struct Terminal {
    child: Child,
    pty: Arc<pty_process::blocking::Pty>,
    /// All bytes that arrived, with escape sequences.
    raw: Arc<Mutex<Vec<u8>>>,
    /// How many lines were typed.
    typed: AtomicUsize,
}

impl Terminal {
    fn open(place: &Place) -> Self {
        let (pty, pts) = pty_process::blocking::open().expect("a terminal");
        pty.resize(pty_process::Size::new(40, 120)).expect("a size");
        let (program, args) = place.words(&[]);
        let command = pty_process::blocking::Command::new(program)
            .args(args)
            .env("WAKEFUL_API_KEY", KEY)
            .env("TERM", "xterm");
        let child = command.spawn(pts).expect("wakeful starts");
        let pty = Arc::new(pty);
        let raw = Arc::new(Mutex::new(Vec::new()));
        let (from, all) = (Arc::clone(&pty), Arc::clone(&raw));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The terminal closes with the program.
            while let Ok(count) = (&*from).read(&mut bytes) {
                all.lock()
                    .expect("no thread panics with this lock")
                    .extend_from_slice(&bytes[..count]);
            }
        });
        Self { child, pty, raw, typed: AtomicUsize::new(0) }
    }

    /// Types a line once the program reads one: between two lines it does not read the terminal,
    /// and loses what is typed. The line editor marks the begin of each line with a sequence.
    fn types(&self, line: &str) {
        const READS: &[u8] = b"\x1b[?2004h";
        let typed = self.typed.fetch_add(1, Ordering::Relaxed);
        eventually("the program reads a line", || {
            let raw = self.raw.lock().expect("no thread panics with this lock");
            raw.windows(READS.len()).filter(|bytes| *bytes == READS).count() > typed
        });
        (&*self.pty).write_all(format!("{line}\r").as_bytes()).expect("a line is typed");
    }

    fn shown(&self) -> String {
        // All of it at once, because a sequence may arrive in two pieces.
        let raw = self.raw.lock().expect("no thread panics with this lock");
        anstream::adapter::strip_str(&String::from_utf8_lossy(&raw)).to_string()
    }

    /// Waits until the terminal shows this text.
    fn shows(&self, text: &str) {
        eventually(text, || self.shown().contains(text));
    }

    fn ends(mut self) -> (i32, String) {
        let mut ended = None;
        eventually("it ends", || {
            ended = self.child.try_wait().expect("it can be asked");
            ended.is_some()
        });
        (ended.and_then(|status| status.code()).expect("it ends with an exit code"), self.shown())
    }
}

fn model(asked: &Asked) -> Answer {
    match asked.rounds() {
        0 if asked.trigger().contains("build") => {
            let cmd = format!("touch begun; {}; echo built", until("go"));
            Answer::calls(&[("ExecCommand", json!({ "cmd": cmd }))])
        }
        0 if asked.trigger().contains("wait") => Answer::calls(&[(
            "WaitFor",
            json!({ "reason": "your word", "wake": "operator_input" }),
        )]),
        1 if asked.hears("hurry") => Answer::says("It is built, in a hurry.\nAnything else?"),
        _ => Answer::says("Hello."),
    }
}

#[test]
fn a_person_types_interferes_asks_why_and_leaves() {
    let place = Place::with(Server::scripted(|request| model(&Asked::from_request(request))));
    let terminal = Terminal::open(&place);
    terminal.shows("/help for commands");
    terminal.types("hi there");
    terminal.shows("Hello.");
    terminal.types("build it");
    eventually("the command begins", || place.workspace().join("begun").exists());
    terminal.types("please hurry");
    place.wait_for("default", "message", |entry| {
        let Record::Message(message) = &entry.record else { return None };
        (message.body.as_text() == "please hurry").then_some(())
    });
    std::fs::write(place.workspace().join("go"), "").expect("a file");
    terminal.shows("It is built, in a hurry.");
    terminal.shows("Anything else?");
    terminal.types("now wait");
    terminal.shows("waits for operator: your word");
    terminal.shows("WaitForOperator");
    terminal.types("/why");
    terminal.shows("At rest: waits for your word.");
    terminal.types("/why sleep");
    terminal.shows("It would be Sleep if");
    terminal.types("/status");
    terminal.shows("opened ");
    terminal.types("/tasks");
    terminal.shows("no active tasks");
    terminal.types("/items");
    terminal.shows("no active items");
    terminal.types("/waits");
    terminal.shows("until the operator answers");
    terminal.types("/why nothing");
    terminal.shows("there is no decision `nothing`");
    terminal.types("/dance");
    terminal.shows("there is no command /dance");
    terminal.types("/help");
    terminal.shows("/quit            shut the agent down");
    terminal.types("/stop");
    terminal.shows("Stop (");
    terminal.types("/start");
    terminal.shows("start requested");
    terminal.types("/quit");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("error: cannot"), "{shown}");
}

#[test]
fn what_the_model_says_does_not_steer_the_terminal() {
    let model = |asked: &Asked| match asked.rounds() {
        0 => Answer::calls(&[
            (STEERING, json!({})),
            ("ExecCommand", json!({ "cmd": format!("printf done; : '{STEERING}'") })),
            ("CreateWorkItem", json!({ "objective": STEERING })),
        ]),
        // Each character arrives alone, so every sequence is cut.
        _ => Answer::stream(
            STEERING
                .chars()
                .fold(Events::new(), |events, c| events.text(&c.to_string()))
                .text("\nThe end.\n")
                .finish("stop")
                .done(),
        ),
    };
    let place = Place::with(Server::scripted(move |request| model(&Asked::from_request(request))));
    let terminal = Terminal::open(&place);
    terminal.shows("/help for commands");
    terminal.types("go");
    terminal.shows("The end.");
    terminal.shows(r"\u001b]52;c;eA==\u0007");
    terminal.types("/status");
    terminal.shows("opened ");
    terminal.types("/quit");
    let raw = Arc::clone(&terminal.raw);
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    let raw = String::from_utf8(raw.lock().expect("the bytes").clone()).expect("UTF-8");
    // The line editor has sequences of its own, so only those of the model are looked for.
    for sequence in
        ["\u{1b}]52", "\u{1b}[2J", "\u{7}", "\u{9b}", "\u{202e}", "\u{2028}", "\u{feff}"]
    {
        assert!(!raw.contains(sequence), "{sequence:?} in {raw:?}");
    }
}
