//! What a malicious model cannot do through its tools. The real program, its policy and the kernel
//! defend against it.

use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::symlink,
    path::Path,
};

use serde_json::{Value, json};
use wakeful_core::record::{Record, turn::TurnTerminalKind};

use super::{
    place::{KEY, Place},
    story::no_secret_in,
    tasks::until,
    turns::{calls, ended, output},
};
use crate::{
    openai::answer::{Answer, Events},
    program::{arg, wakeful},
};

const SECRET: &str = "nobody-may-read-this";

/// For chats of many megabytes, which a slow machine reads and answers slowly.
const LONG_CHATS: [&str; 8] = [
    "--context-tokens",
    "20000000",
    "--first-output-timeout",
    "36000",
    "--idle-timeout",
    "36000",
    "--answer-timeout",
    "36000",
];

/// An agent whose model makes these calls and then says that it is done.
fn calling(calls: Vec<(&'static str, Value)>) -> Place {
    Place::scripted(move |asked| {
        match (asked.trigger().starts_with("[operator]"), asked.rounds()) {
            (true, 0) => Answer::calls(&calls),
            _ => Answer::says("Done."),
        }
    })
}

fn exec(cmd: &str) -> (&'static str, Value) {
    ("ExecCommand", json!({ "cmd": cmd }))
}

fn answers(place: &Place) -> Vec<Value> {
    calls(&place.entries("default")).iter().map(output).collect()
}

fn kind(answer: &Value) -> &str {
    answer["error"]["kind"].as_str().unwrap_or("-")
}

#[test]
fn nothing_outside_the_workspace_is_read_or_written_whichever_way_it_is_tried() {
    let in_folder =
        |workdir: &str| ("ExecCommand", json!({ "cmd": "cat secret", "workdir": workdir }));
    let refused = vec![
        in_folder(".."),
        in_folder("link"),
        in_folder("sub/../../outside"),
        in_folder("/etc"),
        in_folder("sub/link"),
    ];
    let plain = [
        "cat ../outside/secret",
        "cat link/secret",
        "cat sub/../../outside/secret",
        "echo broken > ../outside/victim",
        "cat ~/.ssh/id",
        "cat ../agents.sqlite",
    ];
    let hidden = [
        "sh escape.sh",
        "bash -c \"$(cat escape.sh)\"",
        "python3 escape.py",
        "ln -s \"$(dirname \"$PWD\")/outside\" made; cat made/secret; echo broken > made/victim",
        "cp escape.sh copy; chmod +x copy; ./copy",
    ];
    let calls =
        refused.into_iter().chain(plain.iter().chain(&hidden).map(|cmd| exec(cmd))).chain([
            (
                "ExecCommand",
                json!({ "cmd": format!("{}; sh escape.sh", until("go")), "yield_time_ms": 50 }),
            ),
            exec("touch go"),
        ]);
    let place = calling(calls.collect());
    let (outside, home) = (place.folder().join("outside"), place.folder().join("home"));
    fs::create_dir_all(place.workspace().join("sub")).expect("a folder");
    fs::create_dir_all(home.join(".ssh")).expect("a folder");
    fs::create_dir(&outside).expect("a folder");
    for (path, text) in [
        (outside.join("secret"), SECRET),
        (home.join(".ssh/id"), SECRET),
        (outside.join("victim"), "whole"),
    ] {
        fs::write(path, text).expect("a file");
    }
    symlink(&outside, place.workspace().join("link")).expect("a link");
    symlink(&outside, place.workspace().join("sub/link")).expect("a link");
    let script = "d=$(dirname \"$PWD\"); cat \"$d/outside/secret\" \"$HOME/.ssh/id\" \
                  \"$d/agents.sqlite\"; echo broken > \"$d/outside/victim\"; cat \"$d\"/*/secret";
    fs::write(place.workspace().join("escape.sh"), script).expect("a script");
    let program = "import os, pathlib\n\
                   here = pathlib.Path(os.getcwd()).parent / 'outside'\n\
                   try:\n\
                   \x20   print((here / 'secret').read_text())\n\
                   finally:\n\
                   \x20   (here / 'victim').write_text('broken')\n";
    fs::write(place.workspace().join("escape.py"), program).expect("a program");

    let ran = place
        .run_in(&["--until-rest", "--prompt", "go"], &[("HOME", home.to_str().expect("text"))]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(fs::read_to_string(outside.join("victim")).expect("a file"), "whole");
    let answers = answers(&place);
    assert_eq!(answers[..5].iter().map(kind).collect::<Vec<_>>(), ["execution_root_violation"; 5]);
    assert_eq!(
        answers[14]["status"], "success",
        "a link may be created, but it leads nowhere: {}",
        answers[14]
    );
    assert!(
        answers[11]["result"]["stderr_preview"]
            .as_str()
            .is_some_and(|said| said.contains("No such file")),
        "{}",
        answers[11]
    );
    let all = format!(
        "{}{}",
        place.asked().join(""),
        place.entries("default").iter().map(|entry| format!("{entry:?}")).collect::<String>()
    );
    assert!(!all.contains(SECRET));
}

#[test]
fn the_environment_of_the_host_is_not_seen() {
    let look = "env; for p in self $PPID /proc/[0-9]*; do tr '\\0' '\\n\
                ' < /proc/${p##*/}/environ; done 2>/dev/null; true";
    let place = calling(vec![
        exec("env"),
        exec(look),
        exec("cat /proc/1/environ /proc/$PPID/environ; true"),
    ]);
    let ran = place.run_in(
        &["--until-rest", "--prompt", "go"],
        &[("MY_TOKEN", SECRET), ("OPENAI_API_KEY", "another-key-of-the-host")],
    );
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    for answer in answers(&place) {
        assert_eq!(kind(&answer), "-", "the command runs: {answer}");
        let seen = answer.to_string();
        for hidden in [SECRET, "MY_TOKEN", "API_KEY", "another-key", KEY, "[secret]"] {
            assert!(!seen.contains(hidden), "the command sees `{hidden}`: {seen}");
        }
    }
    assert!(
        answers(&place)[0].to_string().contains("PATH="),
        "the command sees the allowed variables"
    );
}

#[test]
fn commands_reach_the_hosts_that_the_policy_lists_and_no_others() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut asked = [0; 4096];
            let _first = stream.read(&mut asked);
            let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nreached\n");
        }
    });
    let get = |url: &str| exec(&format!("curl -sS --noproxy '' --max-time 20 {url}"));
    let place = calling(vec![
        get(&format!("http://localhost:{port}/")),
        get(&format!("http://127.0.0.1:{port}/")),
        get("http://169.254.169.254/latest/meta-data/"),
    ]);
    let policy = place.folder().join("policy.toml");
    fs::write(&policy, format!("network = [\"localhost:{port}\"]\n")).expect("a policy");
    let policy = policy.to_str().expect("text");
    // A container cannot hold a list, so nothing runs at all.
    let refused = place.run(&["--prompt", "go", "--policy", policy, "--wall", "container"]);
    assert!(refused.code != 0 && refused.err.contains("needs bubblewrap"), "{}", refused.err);
    assert!(place.asked().is_empty(), "the model was not asked");
    // The model is on the same machine: requests of the agent itself take no proxy.
    place.rest(&["--prompt", "go", "--policy", policy]);
    let answers = answers(&place);
    let said = |index: usize| answers[index]["result"]["stdout_preview"].as_str().unwrap_or("-");
    assert_eq!(said(0), "reached\n", "{}", answers[0]);
    assert!(said(1).contains("the policy does not list it"), "{}", answers[1]);
    assert!(said(2).contains("169.254.169.254"), "{}", answers[2]);
    let output = place.folder().join("agents.sqlite.home/output");
    let log = fs::read_to_string(output.join("network.jsonl")).expect("a log");
    let log: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let allowed: Vec<_> = log.iter().map(|line| line["allowed"] == true).collect();
    assert_eq!(allowed, [true, false, false], "{log:?}");
    let folders = fs::read_dir(output).expect("a folder").flatten();
    assert_eq!(
        folders.filter(|entry| entry.path().is_dir()).count(),
        0,
        "the socket has gone with the agent"
    );
}

#[test]
fn names_and_ids_from_a_model_are_looked_up_and_nothing_else() {
    let bad = [
        "../../etc/passwd",
        "a; touch pwned",
        "a\ntouch pwned",
        "a\0b",
        "",
        "' OR 1=1 --",
        "$(touch pwned)",
        "task-1/../task-2",
    ];
    let tries = |id: &str| {
        vec![
            ("TaskStatus", json!({ "task_id": id })),
            ("TaskOutput", json!({ "task_id": id, "block": false })),
            ("TaskInput", json!({ "task_id": id, "input": "x" })),
            ("TaskStop", json!({ "task_id": id })),
            ("PickWorkItem", json!({ "work_item_id": id })),
            ("GetWorkItem", json!({ "work_item_id": id })),
            ("UpdateWorkItem", json!({ "work_item_id": id, "objective": "x" })),
            ("CompleteWorkItem", json!({ "work_item_id": id })),
            ("WaitFor", json!({ "reason": "x", "wake": "task_result", "resource": id })),
            ("WaitFor", json!({ "reason": "x", "wake": "operator_input", "work_item_id": id })),
            ("ExecCommand", json!({ "cmd": "true", "shell": id })),
            ("ExecCommand", json!({ "cmd": "true", "workdir": format!("sub/{id}/..") })),
            ("AgentGet", json!({ "agent_id": id })),
            ("SpawnAgent", json!({ "initial_message": "x", "agent_id": id })),
            ("SpawnAgent", json!({ "initial_message": "x", "workspace_mode": id })),
        ]
    };
    let place = calling(bad.iter().flat_map(|id| tries(id)).collect());
    place.rest(&["--prompt", "go"]);
    let answers = answers(&place);
    assert_eq!(answers.len(), bad.len() * 15);
    for answer in &answers {
        // A shell that is none is looked up behind the wall.
        let is_no_program = answer["result"]["exit_status"] == 126;
        let why = answer["error"]["message"].as_str();
        assert!(is_no_program || why.is_some_and(|why| !why.is_empty()), "{answer}");
    }
    let mut left = vec![place.folder().to_owned()];
    while let Some(folder) = left.pop() {
        for found in fs::read_dir(folder).expect("a folder") {
            let path = found.expect("an entry").path();
            assert!(!path.to_string_lossy().contains("pwned"), "{}", path.display());
            left.extend(path.is_dir().then_some(path));
        }
    }
}

#[test]
fn strings_of_a_megabyte_are_refused_in_few_words_and_the_turn_goes_on() {
    let long = "x".repeat(1_000_000);
    let place = calling(vec![
        ("TaskStatus", json!({ "task_id": long })),
        ("PickWorkItem", json!({ "work_item_id": long })),
        ("GetWorkItem", json!({ "work_item_id": long })),
        ("CreateWorkItem", json!({ "objective": long })),
        ("WaitFor", json!({ "reason": long, "wake": "operator_input" })),
        ("Enqueue", json!({ "text": long })),
        ("SpawnAgent", json!({ "initial_message": long })),
        ("ExecCommand", json!({ "cmd": long })),
        ("ExecCommand", json!({ "cmd": "true", "shell": long })),
        ("ExecCommand", json!({ "cmd": "true", "workdir": long })),
        ("TaskList", json!({ long.as_str(): 1 })),
    ]);
    place.rest(&[&["--prompt", "go"], &LONG_CHATS[..]].concat());
    let entries = place.entries("default");
    for call in calls(&entries) {
        assert_eq!(output(&call)["status"], "error", "{}", call.tool_name);
        assert!(
            call.output.as_str().len() < 10_000,
            "{}: {} bytes",
            call.tool_name,
            call.output.as_str().len()
        );
        assert!(
            call.input.as_str().len() < 300_000,
            "{}: {} bytes",
            call.tool_name,
            call.input.as_str().len()
        );
    }
    assert_eq!(calls(&entries).len(), 11, "each call is recorded");
    assert_eq!(ended(&entries)[0].kind, Some(TurnTerminalKind::Completed));
}

#[test]
fn an_answer_that_is_longer_than_a_fact_may_be_ends_its_turn_all_the_same() {
    let place = Place::scripted(|_| Answer::says(&"word ".repeat(400_000)));
    place.rest(&[&["--prompt", "go"], &LONG_CHATS[..]].concat());
    let turns = ended(&place.entries("default"));
    assert_eq!(
        turns.iter().map(|turn| turn.kind).collect::<Vec<_>>(),
        [Some(TurnTerminalKind::Completed)]
    );
    let said = turns[0].last_assistant_message.as_deref().expect("words");
    assert!(said.len() < 300_000 && said.ends_with(" [...]"), "{} bytes", said.len());
}

#[test]
fn the_key_goes_nowhere_although_it_is_in_a_file_of_the_workspace() {
    let place = Place::scripted(|asked| {
        match (asked.trigger().starts_with("[operator]"), asked.rounds()) {
            (true, 0) => Answer::calls(&[
                exec("cat leak.txt; cat leak.txt >&2; base64 -w0 leak.txt"),
                (
                    "ExecCommand",
                    json!({
                        "cmd": format!(
                            "cat leak.txt; {}; head -c 12 leak.txt; sleep 0.1; tail -c +13 leak.txt",
                            until("go")
                        ),
                        "yield_time_ms": 100,
                    }),
                ),
                (
                    "ExecCommand",
                    json!({
                        "cmd": format!("cat leak.txt; {}", until("go")),
                        "tty": true,
                        "yield_time_ms": 50,
                    }),
                ),
            ]),
            (true, 1) => {
                let task = asked.results()[1]["result"]["task_handle"]["task_id"].clone();
                Answer::calls(&[
                    exec("touch go"),
                    ("TaskOutput", json!({ "task_id": task })),
                    exec(&format!("echo {KEY}")),
                    ("Enqueue", json!({ "text": KEY })),
                ])
            }
            (true, _) => {
                let (first, rest) = KEY.split_at(9);
                Answer::stream(
                    Events::new()
                        .text(&format!("It is {first}"))
                        .text(&format!("{rest}, so be it. sk-te"))
                        .finish("stop")
                        .done(),
                )
            }
            _ => Answer::says("So it is."),
        }
    });
    let leak = place.workspace().join("leak.txt");
    fs::write(&leak, KEY).expect("a file");
    let out = place.rest(&["--prompt", "go"]);
    let encoded = "c2stdGVzdC00YzFmMGI3N2E5ZDI0ZTZi";
    assert!(
        out.contains("It is [secret], so be it. sk-te"),
        "text that only begins like the key is shown:\n{out}"
    );
    let ledger: String =
        place.entries("default").iter().map(|entry| format!("{entry:?}")).collect();
    // The calls of the model go back to it as it wrote them: they are executed like that too.
    let prompts = place
        .asked()
        .join("")
        .replace(&format!("echo {KEY}"), "its command")
        .replace(&format!("\\\"text\\\":\\\"{KEY}\\\""), "its message");
    assert!(prompts.contains("its command") && prompts.contains("its message"));
    for (what, text) in [("terminal", &out), ("prompts", &prompts), ("ledger", &ledger)] {
        assert!(
            !text.contains(KEY) && !text.contains(&encoded[..encoded.len() - 2]),
            "the {what} has the key"
        );
        assert!(text.contains("[secret]"), "the {what} marks the place of the key");
    }
    let answers = answers(&place);
    assert_eq!(
        answers[4]["result"]["task"]["output_preview"], "[secret][secret]",
        "also if it came in two pieces"
    );
    assert_eq!(answers[5]["result"]["stdout_preview"], "[secret]\n");
    let records = place
        .entries("default")
        .into_iter()
        .filter(|entry| matches!(entry.record, Record::Tool(_)))
        .count();
    assert_eq!(records, 7);
    fs::remove_file(leak).expect("it is there");
    no_secret_in(&place);
}

#[test]
fn what_commands_could_change_is_refused_with_what_to_do() {
    let place = Place::scripted(|_| Answer::says("never asked"));
    let inside = place.workspace().join("agents.sqlite");
    let url = place.url();
    let run = |ledger: &Path, workspace: &Path, more: &[&str]| {
        let own = ["run", "--provider", "openai", "--model", "m", "--base-url", &url];
        let (ledger, workspace) = (arg(ledger), arg(workspace));
        let own = own.into_iter().chain(["--ledger", &ledger, "--workspace", &workspace]);
        let all = own.chain(["--until-rest"]).chain(more.iter().copied());
        wakeful(all.map(str::to_owned).collect::<Vec<_>>())
    };
    let ran = run(&inside, &place.workspace(), &[]);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("could change its ledger") && ran.err.contains("--workspace"),
        "{}",
        ran.err
    );
    assert!(!inside.exists(), "it is not made");
    let home = arg(&place.workspace().join("home"));
    let ran = run(&place.ledger(), &place.workspace(), &["--home", &home]);
    assert!(ran.code == 2 && ran.err.contains("with --home"), "{}", ran.err);
    let (real, linked) =
        (place.workspace().join("real.sqlite"), place.folder().join("linked.sqlite"));
    fs::write(&real, "").expect("a file");
    symlink(&real, &linked).expect("a link");
    let ran = run(&linked, &place.workspace(), &[]);
    assert!(ran.code == 2 && ran.err.contains("could change its ledger"), "{}", ran.err);
    let shared = place.folder().join("shared");
    fs::create_dir(&shared).expect("a folder");
    let policy = place.folder().join("policy.toml");
    let opens = format!("[files]\nwrite = [\"{}\"]\n", shared.display());
    fs::write(&policy, opens).expect("a policy");
    let more = ["--policy", policy.to_str().expect("text")];
    let ran = run(&shared.join("agents.sqlite"), &place.workspace(), &more);
    assert!(ran.code == 2 && ran.err.contains("open another folder with --policy"), "{}", ran.err);
    let around = Path::new(env!("CARGO_BIN_EXE_wakeful")).parent().expect("a folder");
    let ran = run(&place.ledger(), around, &[]);
    assert!(ran.code == 2 && ran.err.contains("install it elsewhere"), "{}", ran.err);
}

#[test]
fn the_ledger_says_which_wall_held_and_what_it_did_not_enforce() {
    for (wall, open) in [("bubblewrap", None), ("container", Some("the network of the container"))]
    {
        let place = calling(vec![exec("echo done > here")]);
        let ran = match open {
            None => place.run(&["--until-rest", "--prompt", "go"]),
            Some(_) => {
                place.in_container("exec \"$@\" --until-rest --prompt go", &["--wall", wall])
            }
        };
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(place.workspace().join("here").exists());
        let entries = place.entries("default");
        let held: Vec<Value> = entries
            .iter()
            .filter_map(|entry| match &entry.record {
                Record::Transcript(piece) => serde_json::from_str(piece.data.as_str()).ok(),
                _ => None,
            })
            .filter(|piece: &Value| piece["kind"] == "confinement")
            .collect();
        let [held] = held.as_slice() else { panic!("one per process: {held:?}") };
        assert_eq!((&held["wall"], &held["network"]), (&json!(wall), &json!(false)));
        let not_enforced = held["not_enforced"].to_string();
        assert!(open.is_none_or(|open| not_enforced.contains(open)), "{held}");
        assert!(open.is_none_or(|open| ran.out.contains(open)), "it is said at start: {}", ran.out);
    }
}
