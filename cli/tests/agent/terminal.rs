//! The conversation at a terminal, as the person who types sees it.

use std::{
    io::{Read, Write},
    process::Child,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    model::Asked,
    place::{KEY, Place},
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
    shown: Arc<Mutex<String>>,
    /// All bytes that arrived, with escape sequences.
    raw: Arc<Mutex<Vec<u8>>>,
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
        let shown = Arc::new(Mutex::new(String::new()));
        let raw = Arc::new(Mutex::new(Vec::new()));
        let (from, into, all) = (Arc::clone(&pty), Arc::clone(&shown), Arc::clone(&raw));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The terminal closes with the program.
            while let Ok(count) = (&*from).read(&mut bytes) {
                all.lock()
                    .expect("no thread panics with this lock")
                    .extend_from_slice(&bytes[..count]);
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                into.lock()
                    .expect("no thread panics with this lock")
                    .push_str(&anstream::adapter::strip_str(&text).to_string());
            }
        });
        Self { child, pty, shown, raw }
    }

    /// Types a line. The pause lets the program take the previous line: between two lines it does
    /// not read the terminal.
    fn types(&self, line: &str) {
        thread::sleep(Duration::from_millis(100));
        (&*self.pty).write_all(format!("{line}\r").as_bytes()).expect("a line is typed");
    }

    fn shown(&self) -> String {
        self.shown.lock().expect("no thread panics with this lock").clone()
    }

    /// Waits until the terminal shows this text.
    fn shows(&self, text: &str) {
        let until = Instant::now() + Duration::from_secs(30);
        while !self.shown().contains(text) {
            assert!(Instant::now() < until, "no `{text}` in\n{}", self.shown());
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn ends(mut self) -> (i32, String) {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(status) = self.child.try_wait().expect("it can be asked") {
                return (status.code().expect("it ends with an exit code"), self.shown());
            }
            assert!(Instant::now() < until, "it does not end:\n{}", self.shown());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn model(asked: &Asked) -> Answer {
    match asked.rounds() {
        0 if asked.trigger().contains("build") => {
            Answer::calls(&[("ExecCommand", json!({ "cmd": "sleep 1; echo built" }))])
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
fn somebody_types_interferes_asks_why_and_leaves() {
    let place = Place::with(Server::scripted(|request| model(&Asked::from_request(request))));
    let terminal = Terminal::open(&place);
    terminal.shows("/help for commands");
    terminal.types("hi there");
    terminal.shows("Hello.");
    terminal.types("build it");
    terminal.shows("StartModelTurn");
    thread::sleep(Duration::from_millis(300));
    terminal.types("please hurry");
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
