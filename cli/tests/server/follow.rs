//! `wakeful log --follow` at a server: nothing is left out or printed twice, whatever breaks.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use super::place::{Place, kill, until};

/// A command that follows, and what it has printed.
struct Following {
    process: Child,
    printed: Arc<Mutex<Vec<String>>>,
}

impl Following {
    fn start(place: &Place, more: &[&str]) -> Self {
        let args = ["log", "--agent", "ada", "--follow", "--json"];
        let mut process = place
            .command(args.into_iter().chain(more.iter().copied()))
            .env("WAKEFUL_SERVER_TOKEN", &place.token)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let printed = Arc::<Mutex<Vec<String>>>::default();
        let lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let kept = Arc::clone(&printed);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.lock().expect("lines").push(line);
            }
        });
        Self { process, printed }
    }

    fn printed(&self) -> Vec<String> {
        self.printed.lock().expect("lines").clone()
    }

    fn reaches(&self, lines: &[String]) {
        until("all entries are printed", || self.printed().len() >= lines.len());
        assert_eq!(self.printed(), lines);
    }

    /// Interrupts it, and returns its exit code and what it said beside the entries.
    fn end(mut self) -> (Option<i32>, String) {
        kill(&self.process, "-INT");
        let code = self.process.wait().expect("it ends").code();
        let mut said = String::new();
        self.process.stderr.take().expect("stderr").read_to_string(&mut said).expect("UTF-8");
        (code, said)
    }
}

#[test]
fn following_goes_on_over_restarts_of_the_server_without_gap_or_double() {
    let mut place = Place::new();
    let following = Following::start(&place, &[]);
    place.say("ada", "before");
    following.reaches(&place.lines("ada"));
    for (signal, text) in [("-KILL", "after a kill"), ("-INT", "after an end")] {
        // The first entries may be pages. What breaks is the stream.
        until("it has its stream", || place.streams() == 1);
        place.stop(signal);
        // Another process writes while there is no server.
        place.say("ada", text);
        place.start();
        following.reaches(&place.lines("ada"));
        place.say("ada", "and later");
        following.reaches(&place.lines("ada"));
    }
    let (code, said) = following.end();
    assert_eq!(code, Some(0), "{said}");
    let lines: Vec<_> = said.lines().collect();
    // One line for each break, and one for its end.
    assert_eq!(lines.len(), 4, "{said}");
    for (at, line) in lines.iter().enumerate() {
        let part = if at % 2 == 0 { "cannot be reached" } else { "again" };
        assert!(line.contains(&place.url) && line.contains(part), "{said}");
    }
}

#[test]
fn following_begins_and_ends_where_it_is_told() {
    let place = Place::new();
    place.say("ada", "one");
    let before = place.lines("ada");
    let newest = Following::start(&place, &["--limit", "2"]);
    let after = Following::start(&place, &["--after", "3", "--limit", &before.len().to_string()]);
    until("both have begun", || newest.printed().len() == 2 && !after.printed().is_empty());
    place.say("ada", "two");
    place.say("ada", "three");
    let all = place.lines("ada");
    newest.reaches(&all[before.len() - 2..]);
    let mut after = after;
    let code = after.process.wait().expect("it ends by itself").code();
    until("its output was read", || after.printed().len() == before.len());
    assert_eq!((code, after.printed()), (Some(0), all[3..3 + before.len()].to_vec()));
    assert_eq!(newest.end(), (Some(0), String::new()));
}

#[test]
fn following_ends_when_it_cannot_go_on() {
    let mut place = Place::new();
    let mut following = Following::start(&place, &[]);
    following.reaches(&place.lines("ada"));
    place.stop("-KILL");
    // The token ends while there is no server.
    let file = place.file().display().to_string();
    assert_eq!(crate::program::wakeful(["token", "revoke", "operator", "--ledger", &file]).code, 0);
    place.token = place.grant("other", &["read"], None);
    place.start();
    let code = following.process.wait().expect("it ends").code();
    let mut said = String::new();
    following.process.stderr.take().expect("stderr").read_to_string(&mut said).expect("UTF-8");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("refuses the token (401)"), "{said}");
}
