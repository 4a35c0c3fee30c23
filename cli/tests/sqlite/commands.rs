//! `wakeful status` and `wakeful log` on ledger files: the output for people and programs, and the
//! text of each error.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use rusqlite::Connection;
use serde_json::Value;
use wakeful::provider::ScriptedProvider;
use wakeful_core::{
    host::Scheduler,
    id::Seq,
    machine::Options,
    record::entry::EntryBytes,
    story::{self, Story},
};
use wakeful_host::{clock::VirtualClock, ledger::SqliteFile};

use super::agent::{entries, file_with, ledger, observed};
use crate::program::{Ran, arg, command, prompt, source, wakeful};

/// Plays the heartbeat of `tests/fixtures/stories` into a file.
pub(crate) fn heartbeat(path: &Path) -> SqliteFile {
    let text = std::fs::read_to_string(source("tests/fixtures/stories/heartbeat.json"))
        .expect("the story");
    let story = Story::read(&text).expect("a story");
    let (file, clock) =
        (SqliteFile::open(path).expect("it opens"), VirtualClock::at(story.starts_at));
    let stored = file.ledger(&story.agent_id);
    let options = Options::new(story.agent_id.clone());
    let provider = ScriptedProvider::new(story);
    let mut agent =
        Scheduler::drive(options, stored, clock.clone(), provider.clone()).expect("it opens");
    loop {
        match provider.next(agent.next_wake()) {
            story::Command::Done => return file,
            story::Command::Propose { fact } => {
                drop(agent.propose(fact.as_str()).expect("it is recorded"))
            }
            story::Command::Run => drop(agent.run_until_rest().expect("it reaches rest")),
            story::Command::SetClock { to } => clock.set(to),
        }
    }
}

fn lines(ran: &Ran) -> Vec<&str> {
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    ran.out.lines().collect()
}

/// The position at the beginning of each line.
fn positions(ran: &Ran) -> Vec<u64> {
    lines(ran)
        .iter()
        .map(|line| line.split_whitespace().next().expect("a position").parse().expect("a number"))
        .collect()
}

#[test]
fn status_tells_where_the_agent_stands_on_one_screen() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = heartbeat(&path);
    let ran = wakeful(["status", &arg(&path)]);
    let screen = lines(&ran);
    assert_eq!(screen[0], "default  asleep");
    assert_eq!(
        screen[1],
        "At rest: waits for timer `look-again`. Would wake at 2026-05-27T09:20:00Z."
    );
    for line in [
        "closure  waiting, awaiting timer",
        "queue    0 messages waiting",
        "tasks    0 active",
        "wakes    2026-05-27T09:20:00Z",
        "head     46@36a0da1572c1035fd5fbe0b1dbe206808b5ecbf584fa0777f679e0b296e312e6",
        "opened   from 46 entries",
    ] {
        assert!(screen.contains(&line), "`{line}` in\n{}", ran.out);
    }
    assert!(
        screen.len() < 24 && !ran.out.contains('\u{1b}'),
        "it fits on one screen, and has no colours without a terminal"
    );
    let json: Value = serde_json::from_str(&wakeful(["status", &arg(&path), "--json"]).out)
        .expect("one JSON object");
    assert_eq!(
        (&json["identity"]["agent_id"], &json["status"], &json["pending"]),
        (&"default".into(), &"asleep".into(), &0.into())
    );
    assert_eq!(json["closure"]["waiting_reason"], "awaiting_timer");
    drop(file);
}

#[test]
fn why_answers_for_a_ledger_as_it_does_for_the_story_that_was_played_into_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = heartbeat(&path);
    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    for options in [&[][..], &["--not", "Sleep"]] {
        let of = |subject: &str| {
            lines(&wakeful(["why", subject].iter().chain(options)))
                .iter()
                .skip(1)
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        let answer = of(&arg(&path));
        assert!(
            answer.len() > 3 && answer[0].starts_with("At rest: waits for timer"),
            "{answer:?}"
        );
        assert_eq!(answer, of(&story), "{options:?}");
    }
    let both = wakeful(["why", &arg(&path), &story, "--json"]);
    let answers: Vec<Value> =
        lines(&both).iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(
        (&answers[0]["case"], &answers[1]["case"]),
        (&"default".into(), &"heartbeat".into())
    );
    assert_eq!(answers[0]["explanation"], answers[1]["explanation"]);
    drop(file);
}

#[test]
fn status_says_from_which_snapshot_it_went_on_and_why_from_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 37);
    let ran = wakeful(["status", &arg(&path)]);
    assert!(
        lines(&ran).contains(&"opened   from the snapshot at entry 65 and 10 entries after it"),
        "{}",
        ran.out
    );
    assert!(lines(&ran).contains(&"queue    37 messages waiting"), "{}", ran.out);
    Connection::open(&path)
        .and_then(|file| file.execute("UPDATE snapshots SET text = '{}'", []))
        .expect("it is damaged");
    let ran = wakeful(["status", &arg(&path)]);
    let line = "opened   from 75 entries; the snapshot cannot be read: missing field `format`";
    assert!(lines(&ran).iter().any(|found| found.starts_with(line)), "{}", ran.out);
    drop(file);
}

#[test]
fn an_agent_is_named_where_the_file_holds_several() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = SqliteFile::open(&path).expect("it opens");
    for words in ["status", "list tasks", "list items", "list waits", "why", "log", "doctor"] {
        let ran = command(words, &[&arg(&path)]);
        let said = format!(
            "error: `{}` holds no agent yet: start one with `wakeful run`, or make one at a server\n",
            path.display()
        );
        assert_eq!((ran.code, ran.err.as_str()), (2, said.as_str()));
    }
    drop(observed("a", ledger(&file, "a")));
    drop(observed("b", ledger(&file, "b")));
    let ran = wakeful(["log", &arg(&path)]);
    let said = format!(
        "error: `{}` holds 2 agents: name one of them with --agent: `a`, `b`\n",
        path.display()
    );
    assert_eq!((ran.code, ran.err.as_str()), (2, said.as_str()));
    for words in ["status", "list tasks", "list items", "list waits", "why", "log", "doctor"] {
        assert_eq!(command(words, &[&arg(&path), "--agent", "b"]).code, 0);
        let ran = command(words, &[&arg(&path), "--agent", "c"]);
        let said = format!("error: `{}` holds no agent `c`; it holds: `a`, `b`\n", path.display());
        assert_eq!((ran.code, ran.err.as_str()), (2, said.as_str()));
    }
}

#[test]
fn all_agents_of_a_file_are_shown_one_after_the_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = SqliteFile::open(&path).expect("it opens");
    ["a", "b"].iter().for_each(|id| drop(observed(id, ledger(&file, id))));
    for words in ["status", "list tasks", "list items", "list waits", "why", "doctor"] {
        let both = command(words, &[&arg(&path)]);
        assert_eq!(both.code, 0, "{words}: {}", both.err);
        let each = ["a", "b"].map(|id| command(words, &[&arg(&path), "--agent", id]).out);
        assert_eq!(both.out, each.join("\n"), "{words}");
        let lines = command(words, &[&arg(&path), "--json"]).out;
        let objects = lines.lines().map(serde_json::from_str::<Value>);
        assert_eq!(objects.filter_map(Result::ok).count(), 2, "{words}: {lines}");
    }
}

#[test]
fn agents_are_listed_with_what_they_wait_for_and_what_is_odd() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = SqliteFile::open(&path).expect("it opens");
    let nobody = wakeful(["agents", &arg(&path)]);
    assert!(nobody.code == 2 && nobody.err.contains("holds no agent yet"), "{}", nobody.err);
    let facts: [(&str, &[&str]); 3] = [
        ("calm", &[]),
        (
            "waiting",
            &[
                r#"{"fact":"work_item_created","work_item_id":"i","objective":"It."}"#,
                r#"{"fact":"wait_condition_registered","wait_condition_id":"w","work_item_id":"i",
                    "kind":"operator","waiting_for":"a word","wake_sources":[{"kind":"operator_input"}]}"#,
            ],
        ),
        (
            "stuck",
            &[
                r#"{"fact":"work_item_created","work_item_id":"i","objective":"It."}"#,
                r#"{"fact":"work_item_blocked","work_item_id":"i","blocked_by":"the weather"}"#,
            ],
        ),
    ];
    for (id, facts) in facts {
        let mut agent = observed(id, ledger(&file, id));
        for fact in facts {
            agent.propose(fact).expect("it is recorded");
        }
    }
    let shown = wakeful(["agents", &arg(&path)]);
    assert_eq!(shown.code, 1, "one is odd: {}", shown.err);
    let lines: Vec<&str> = shown.out.lines().collect();
    assert!(lines[0].starts_with("agent    posture"), "{}", shown.out);
    assert!(lines.iter().any(|line| line.starts_with("calm ")), "{}", shown.out);
    assert!(
        lines.iter().any(|line| line.starts_with("waiting ") && line.ends_with(": a word")),
        "{}",
        shown.out
    );
    let odd = wakeful(["agents", &arg(&path), "--odd", "--json"]);
    let rows: Vec<Value> =
        odd.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [row] = rows.as_slice() else { panic!("one is odd: {rows:?}") };
    assert_eq!(row["agent"]["identity"]["agent_id"], "stuck");
    assert_eq!(row["oldest_wait"], Value::Null);
    assert!(row["odd"][0]["message"].is_string() && row["head"]["seq"].is_u64(), "{row}");
}

#[test]
fn what_is_no_ledger_is_refused_by_every_command_and_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let (missing, text) = (folder.path().join("none.sqlite"), folder.path().join("notes.txt"));
    std::fs::write(&text, "notes\n").expect("a text file");
    for words in ["status", "list tasks", "list items", "list waits", "log", "doctor"] {
        let said = |path: &Path| {
            let ran = command(words, &[&arg(path)]);
            assert_eq!((ran.code, ran.out.as_str()), (2, ""));
            ran.err.replace(&folder.path().display().to_string(), "")
        };
        assert_eq!(
            said(&missing),
            "error: `/none.sqlite` does not exist: name the ledger of an agent; `wakeful run` \
             makes one\n"
        );
        assert_eq!(
            said(&text),
            "error: `/notes.txt` is not a Wakeful ledger; it was not changed\n"
        );
        assert_eq!(
            said(folder.path()),
            "error: `` is a folder: name a file in it, as in `/ledger.sqlite`\n"
        );
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("the folder").count(),
        1,
        "no file was created"
    );
}

#[test]
fn log_prints_a_line_per_entry_with_decisions_and_their_reasons() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = heartbeat(&path);
    let ran = wakeful(["log", &arg(&path)]);
    assert_eq!(positions(&ran), (1..=46).collect::<Vec<_>>());
    let all = lines(&ran);
    assert!(all[0].ends_with("control     genesis of agent `default`, format 2"), "{}", all[0]);
    assert!(
        all[1].contains("2026-05-27T09:00:00Z")
            && all[1].ends_with("control     runtime restarted"),
        "{}",
        all[1]
    );
    let decision =
        "decision    StartModelTurn (OperatorPrompt) by rule 3.head_starts_turn, message `";
    assert!(
        all.iter().any(|line| line.contains(decision)
            && line.contains(", because queue head (entry 3), continuation reenters (entry 3)")),
        "{}",
        ran.out
    );
    assert!(
        all.iter().any(|line| line.contains("timer       `look-again` active, due at ")),
        "{}",
        ran.out
    );
    assert!(
        all.iter().any(|line| line.contains("turn        1 terminal completed, run `default:run-")),
        "{}",
        ran.out
    );
    let json = wakeful(["log", &arg(&path), "--json"]);
    let stored: Vec<EntryBytes> =
        lines(&json).into_iter().map(|line| EntryBytes::from_stored(line.to_owned())).collect();
    assert_eq!(
        stored,
        entries(&mut ledger(&file, "default")),
        "the lines of the ledger, byte for byte"
    );
}

#[test]
fn log_shows_the_newest_or_the_first_after_a_position() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 600);
    let shown = |more: &[&str]| {
        let mut args = vec!["log".to_owned(), arg(&path)];
        args.extend(more.iter().map(|more| (*more).to_owned()));
        positions(&wakeful(args))
    };
    assert_eq!(shown(&["--limit", "3"]), [1199, 1200, 1201]);
    assert_eq!(shown(&["--limit", "5000"]).len(), 1201);
    assert_eq!(shown(&["--after", "7", "--limit", "3"]), [8, 9, 10]);
    assert_eq!(shown(&["--after", "1199"]), [1200, 1201]);
    assert_eq!(shown(&["--after", "1201"]), [0; 0]);
    assert_eq!(shown(&["--after", "0", "--limit", "1"]), [1]);
    assert_eq!(shown(&["--diagnostics"]), [0; 0]);
    let ran = wakeful(["log", &arg(&path), "--after", "1202"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (2, "error: the ledger ends at entry 1201: there is nothing after entry 1202\n")
    );
    assert_eq!(wakeful(["log", &arg(&path), "--limit", "0"]).code, 2);
    drop(file);
}

#[test]
fn log_picks_out_what_looked_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 3);
    let mut agent = observed("a", ledger(&file, "a"));
    for error in ["the provider is gone", "still\ngone \u{1b}[31m"] {
        let fact = serde_json::json!({"fact": "runtime_error", "error": error});
        agent.propose(&fact.to_string()).expect("it is recorded");
    }
    agent.propose(&prompt("more")).expect("it is recorded");
    let ran = wakeful(["log", &arg(&path), "--diagnostics"]);
    assert_eq!(positions(&ran), [8, 9]);
    assert!(lines(&ran)[0].ends_with("error       the provider is gone"), "{}", ran.out);
    assert!(lines(&ran)[1].ends_with("error       still gone [31m"), "{}", ran.out);
    assert_eq!(positions(&wakeful(["log", &arg(&path), "--diagnostics", "--limit", "1"])), [9]);
}

#[test]
fn log_stops_at_an_entry_that_breaks_the_chain() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 3);
    let sql = "UPDATE entries SET canonical = replace(canonical, 'm1', 'm9') WHERE seq = 4";
    Connection::open(&path).and_then(|file| file.execute(sql, [])).expect("it is changed");
    for more in [["--after", "0"], ["--limit", "5"], ["--after", "3"]] {
        let ran = wakeful([["log", &arg(&path)], more].concat());
        let said = format!(
            "error: `{}`, agent `a`: entry 4 breaks the chain: its bytes or an earlier entry were \
             changed\n",
            path.display()
        );
        assert_eq!((ran.code, ran.err), (2, said));
    }
    let ran = wakeful(["status", &arg(&path)]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(
        ran.err.ends_with(
            "entry 4 breaks the chain: its bytes or an earlier entry were changed: run `wakeful \
             doctor` for details\n"
        ),
        "{}",
        ran.err
    );
    assert_eq!(
        positions(&wakeful(["log", &arg(&path), "--after", "4"])),
        [5, 6, 7],
        "the entries after it can still be read"
    );
    drop(file);
}

#[test]
fn log_follows_a_writer_and_ends_well_at_an_interrupt() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 2);
    let mut agent = observed("a", ledger(&file, "a"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_wakeful"))
        .args(["log", &arg(&path), "--follow", "--limit", "2"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("wakeful starts");
    let mut out = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut next = || out.next().expect("a line").expect("text");
    assert!(next().starts_with("     4  "), "the newest two first");
    assert!(next().starts_with("     5  "));
    for number in 0..5 {
        agent.propose(&prompt(&format!("later-{number}"))).expect("it is recorded");
        let line = next();
        assert!(
            line.contains(&format!(
                "message     operator prompt `later-{number}`: hello later-{number}"
            )),
            "{line}"
        );
        assert!(next().contains(&format!("queue       `later-{number}` queued")));
    }
    let told = Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status()
        .expect("a shell runs");
    assert!(told.success());
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(
        (ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()),
        (Some(0), "")
    );
    assert_eq!(agent.state().head().seq, Seq(15), "`log --follow` writes nothing");
}

#[test]
fn log_ends_well_when_nobody_reads_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 1000);
    let mut child = Command::new(env!("CARGO_BIN_EXE_wakeful"))
        .args(["log", &arg(&path)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("wakeful starts");
    let mut first = String::new();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut first).expect("a line");
    assert!(first.starts_with("     1  "), "{first}");
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(
        (ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()),
        (Some(0), "")
    );
    drop(file);
}

/// Damage before the newest snapshot, which opening an agent would not read, and what is said.
const BEFORE_THE_SNAPSHOT: [(&str, &str); 5] = [
    (
        "UPDATE entries SET canonical = replace(canonical, 'm9', 'm8') WHERE seq = 21",
        "entry 21 breaks the chain",
    ),
    ("UPDATE entries SET chain = zeroblob(32) WHERE seq = 21", "entry 21 breaks the chain"),
    ("UPDATE entries SET canonical = 'no entry' WHERE seq = 21", "entry 21"),
    ("DELETE FROM entries WHERE seq = 5", "found entry 6, expected entry 5"),
    ("DELETE FROM entries WHERE seq > 101", "217"),
];

#[test]
fn damage_before_the_snapshot_is_an_error_of_every_command_and_nothing_is_appended() {
    for (damage, said) in BEFORE_THE_SNAPSHOT {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger.sqlite");
        drop(file_with(&path, 150));
        let (ledger, out) = (arg(&path), arg(&folder.path().join("out")));
        let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
        let file = Connection::open(&path).expect("it opens");
        assert!(file.execute(damage, []).expect("it is damaged") > 0, "{damage}");
        let count = || -> u32 {
            let all = "SELECT count(*) + (SELECT count(*) FROM snapshots) FROM entries";
            file.query_row(all, [], |row| row.get(0)).expect("a number")
        };
        let before = count();
        for args in [
            &["status", &ledger][..],
            &["status", &ledger, "--json"],
            &["list", "tasks", &ledger],
            &["list", "items", &ledger],
            &["list", "waits", &ledger],
            &["why", &ledger],
            &["log", &ledger],
            &["export", &ledger, "--output", &out],
            &["replay", &ledger, "--edition", "2026-05-08"],
            &["archive", &ledger, "--before-snapshot"],
            &["archive", &ledger, "--before-now"],
            &["send", "--ledger", &ledger, "prompt", "hello"],
            &["send", "--ledger", &ledger, "--virtual", "prompt", "hello"],
            &["send", "--ledger", &ledger, "stop"],
            &["run", "--ledger", &ledger, "--agent", "a", "--story", &story, "--until-rest"],
        ] {
            // The log of a ledger that ends early is what is left of it.
            if args[0] == "log" && said == "217" {
                continue;
            }
            let ran = wakeful(args);
            assert_eq!(ran.code, 2, "{damage}: {args:?}: {}{}", ran.out, ran.err);
            assert!(ran.err.contains(said), "{damage}: {args:?}: {}", ran.err);
            assert_eq!(count(), before, "{damage}: {args:?}");
        }
    }
}
