//! Nothing that a command prints steers a terminal, whatever the ledger, the case or the arguments
//! hold. Control characters are visible, and the only escape sequences are the program's styles.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use wakeful_core::{
    host::Ledger,
    id::AgentId,
    record::{
        Record,
        chain::Head,
        control::ControlRecord,
        decision::Decision,
        entry::{Entry, EntryBytes},
    },
};
use wakeful_host::ledger::SqliteFile;

use crate::program::{Ran, arg, source, wakeful};

/// One of each kind: sequences of C0 and C1, line control, DEL, directions, separators, and
/// characters without a form.
pub(crate) const STEERING: &str = "\u{1b}]52;c;eA==\u{7}\u{1b}[2J\u{1b}[1m\u{9b}31m\u{9d}0;t\u{9c}\
                                   \r\u{8}\u{7f}\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}\u{2029}\
                                   \u{200b}\u{feff}\u{e0041}";

/// The styles of the program and of its command line parser.
#[cfg(target_os = "linux")]
const STYLES: [&str; 8] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[4m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[22m",
];

/// What a text does to a terminal besides being shown. Line breaks and tabs do not count.
pub(crate) fn steering(text: &str) -> BTreeSet<char> {
    let is_steering = |c: &char| {
        !matches!(c, '\n' | '\t')
            && (c.is_control() || STEERING.contains(*c) && !c.is_ascii_graphic())
    };
    text.chars().filter(is_steering).collect()
}

/// A record that has [`STEERING`] in every text that can take it. `None` if it takes none.
fn steered(entry: &Entry, text: &str) -> Record {
    let class = entry.record.class();
    let line: Value = serde_json::from_str(text).expect("an entry");
    let mut record = line["record"].clone();
    let is_decision = |record: &Record| match record {
        Record::Event(event) => event.data().is_some_and(|data| data.read::<Decision>().is_ok()),
        _ => false,
    };
    for pointer in texts("", &record) {
        // Commands show an event by its kind.
        if matches!(entry.record, Record::Event(_)) && pointer == "/kind" {
            continue;
        }
        let mut changed = record.clone();
        let text = changed.pointer_mut(&pointer).expect("a text");
        *text = format!("{}{STEERING}", text.as_str().expect("a text")).into();
        // Names and instants cannot have it. A decision must stay one, so that it is shown as such.
        let read = Record::decode(class, &changed.to_string());
        if read.is_ok_and(|read| is_decision(&read) == is_decision(&entry.record)) {
            record = changed;
        }
    }
    Record::decode(class, &record.to_string()).expect("a record")
}

/// The pointers to all texts in a value.
fn texts(pointer: &str, value: &Value) -> Vec<String> {
    match value {
        Value::String(_) => vec![pointer.to_owned()],
        Value::Array(items) => (0..)
            .zip(items)
            .flat_map(|(at, item): (usize, _)| texts(&format!("{pointer}/{at}"), item))
            .collect(),
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, member)| {
                let name = name.replace('~', "~0").replace('/', "~1");
                texts(&format!("{pointer}/{name}"), member)
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn opened(lines: &str) -> Vec<(Entry, String)> {
    let mut head = Head::START;
    lines
        .lines()
        .map(|line| {
            let bytes = EntryBytes::from_stored(line.to_owned());
            let entry = bytes.open(&head).expect("an entry");
            head = entry.head();
            (entry, line.to_owned())
        })
        .collect()
}

/// Kept ledgers that together have every kind of record that the kept ledgers have.
fn ledgers() -> Vec<(String, Vec<(Entry, String)>)> {
    let mut files: Vec<PathBuf> = fs::read_dir(source("tests/ledgers/v2"))
        .expect("the kept ledgers")
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    files.sort();
    let (mut seen, mut chosen) = (BTreeSet::new(), Vec::new());
    for file in files {
        let entries = opened(&fs::read_to_string(&file).expect("a ledger"));
        let kinds: BTreeSet<String> = entries
            .iter()
            .map(|(entry, _)| match &entry.record {
                Record::Event(event) => event.kind.clone(),
                record => record.class().as_str().to_owned(),
            })
            .collect();
        if !kinds.is_subset(&seen) {
            seen.extend(kinds);
            let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
            chosen.push((name, entries));
        }
    }
    assert!(seen.len() > 25, "{seen:?}");
    chosen
}

/// Writes a ledger in which every text steers, and returns how many of its entries do.
fn write(path: &Path, entries: &[(Entry, String)]) -> usize {
    let (mut head, mut steers) = (Head::START, 0);
    let mut ledger = None;
    for (entry, text) in entries {
        let record = steered(entry, text);
        let ledger = ledger.get_or_insert_with(|| {
            let Record::Control(ControlRecord::Genesis(genesis)) = &record else {
                panic!("a ledger begins with its genesis")
            };
            assert!(genesis.agent_id.as_str().contains('\u{1b}'), "ids are steered too");
            SqliteFile::open(path).expect("a file").ledger(&genesis.agent_id)
        });
        let (sealed, bytes) = Entry::seal(&head, entry.at, record);
        steers += usize::from(!steering(bytes.as_str()).is_empty());
        ledger.append(&head, &[bytes]).expect("it is stored");
        head = sealed.head();
    }
    steers
}

/// What a command prints at a terminal, with the terminal's own line ends taken out.
#[cfg(target_os = "linux")]
fn at_terminal(args: &[&str]) -> String {
    use std::io::Read;

    let (mut pty, pts) = pty_process::blocking::open().expect("a terminal");
    pty.resize(pty_process::Size::new(40, 200)).expect("a size");
    let mut child = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_wakeful"))
        .args(args)
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .spawn(pts)
        .expect("wakeful starts");
    let mut shown = Vec::new();
    let mut bytes = [0; 4096];
    // The terminal closes with the program.
    while let Ok(count @ 1..) = pty.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..count]);
    }
    child.wait().expect("it ends");
    String::from_utf8(shown).expect("UTF-8").replace("\r\n", "\n")
}

fn require_visible(shown: &str, of: &str) {
    let steers = steering(shown);
    assert!(steers.is_empty(), "{of}: {steers:?} in {shown:?}");
}

#[test]
fn no_command_prints_what_steers_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut said_escaped = BTreeSet::new();
    for (name, entries) in ledgers() {
        let path = folder.path().join(format!("{name}.sqlite"));
        assert!(write(&path, &entries) > 0, "{name}");
        let file = arg(&path);
        let case = arg(&folder.path().join(format!("{name}.case")));
        let commands: [&[&str]; 21] = [
            &["status", &file],
            &["status", &file, "--json"],
            &["list", "tasks", &file, "--all"],
            &["list", "items", &file, "--all"],
            &["list", "waits", &file, "--all"],
            &["list", "waits", &file, "--all", "--json"],
            &["why", &file],
            &["why", &file, "--not", "Sleep"],
            &["why", &file, "--json"],
            &["log", &file],
            &["log", &file, "--diagnostics"],
            &["doctor", &file],
            &["doctor", &file, "--json"],
            &["list", "heads", &file],
            &["replay", &file, "--edition", "2026-05-08"],
            &["export", &file, "-o", &case],
            &["explain", &case],
            &["explain", &case, "--json"],
            &["replay", &case],
            &["replay", &case, "--json"],
            &["crosscheck", &case, "--engines", "native"],
        ];
        for args in commands {
            let of = format!("{name}: {:?}", &args[..1]);
            let Ran { out, err, .. } = wakeful(args);
            require_visible(&out, &of);
            require_visible(&err, &of);
            if (out + &err).contains(r"\u001b]52;c;eA==\u0007") {
                let name = if args[0] == "list" { args[1] } else { args[0] };
                said_escaped.insert(name.to_owned());
            }
        }
        // Programs get the exact bytes of entries, because the hash is made of them.
        let lines = wakeful(["log", &file, "--json"]).out;
        assert_eq!(opened(&lines).len(), entries.len(), "{name}");
        #[cfg(target_os = "linux")]
        for args in [&["status", &file][..], &["log", &file], &["log", &file, "--json"]] {
            let styled = at_terminal(args);
            let plain = STYLES.iter().fold(styled, |text, style| text.replace(style, ""));
            require_visible(&plain, &format!("{name}: {args:?} at a terminal"));
        }
    }
    // Otherwise nothing of the ledgers was shown, and this test would show nothing either.
    let all = ["status", "tasks", "items", "waits", "why", "log", "doctor", "export", "explain"];
    for command in all {
        assert!(said_escaped.contains(command), "{command} showed no text: {said_escaped:?}");
    }
}

#[test]
fn errors_show_arguments_and_names_without_obeying_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let odd = |name: &str| arg(&folder.path().join(format!("{name}\u{1b}[2J\u{9b}\u{202e}")));
    let (missing, story) = (odd("missing"), odd("story.toml"));
    fs::write(&story, format!("agent = \"{}\"", "\u{9b}\u{202e}")).expect("a file");
    let file = folder.path().join("agent.sqlite");
    assert_eq!(write(&file, &ledgers().remove(0).1).min(1), 1);
    let file = arg(&file);
    let table: [&[&str]; 13] = [
        &[STEERING],
        &["status", STEERING, STEERING],
        &["status", &missing],
        &["status", &file, "--agent", STEERING],
        &["status", &file, STEERING],
        &["send", "--ledger", &file, "fact", STEERING],
        &["send", "--ledger", &file, "prompt", "x", "--item", STEERING],
        &["send", "--ledger", &file, "end-wait", STEERING],
        &["send", "--ledger", &file, "prompt", "x", "--id", STEERING],
        &["replay", &missing],
        &["explain", &story],
        &["print", STEERING],
        &["run", "--ledger", &missing, "--story", &story],
    ];
    for args in table {
        let Ran { code, out, err } = wakeful(args);
        assert!(code != 0, "{args:?}");
        assert!(!err.is_empty(), "{args:?}");
        require_visible(&out, &format!("{args:?}"));
        require_visible(&err, &format!("{args:?}"));
    }
}

#[test]
fn an_id_with_a_control_character_is_refused_where_it_comes_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = arg(&folder.path().join("agent.sqlite"));
    let story = source("tests/fixtures/stories/heartbeat.json");
    let run = |agent: &str| {
        let run = ["run", "--ledger", &file, "--story", &arg(&story), "--virtual", "--until-rest"];
        wakeful(run.into_iter().chain(["--agent", agent]))
    };
    let ran = run("a\u{1b}b");
    assert_eq!(ran.code, 2);
    let says = "id contains the control character U+001B";
    assert!(ran.err.contains(says), "{}", ran.err);
    assert_eq!(run("a").code, 0);
    let prompt = wakeful(["send", "--ledger", &file, "prompt", "x", "--id", "m\u{1b}"]);
    assert_eq!(prompt.code, 2);
    assert!(prompt.err.contains("message.id") && prompt.err.contains(says), "{}", prompt.err);
    // A ledger that has such an agent from before is still found by its id.
    let old = folder.path().join("old.sqlite");
    write(&old, &ledgers().remove(0).1);
    let agent = format!("{}{STEERING}", AgentId::from("default"));
    assert_eq!(wakeful(["status", &arg(&old), "--agent", &agent]).code, 0);
}

/// Only one file prints. Whatever another one printed would not be made visible.
#[test]
fn all_output_goes_through_one_place() {
    let mut printing = Vec::new();
    let mut folders = vec![source("cli/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source file");
            let prints = ["anstream::", "println!", "print!(", "stdout()", "stderr()"];
            // Whether there is a terminal may be asked anywhere.
            let text = text.replace("stdout().is_terminal()", "");
            if prints.iter().any(|print| text.contains(print)) {
                printing.push(path.strip_prefix(source("")).expect("below it").to_owned());
            }
        }
    }
    assert_eq!(printing, [Path::new("cli/src/commands/say.rs")]);
}
