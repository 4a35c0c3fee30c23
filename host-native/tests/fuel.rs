//! The fuel of the hot paths in the sandbox. Fuel is the same on every run, so a change that makes
//! a path dearer shows in review.

use std::{collections::BTreeMap, env, fmt::Write as _, fs};

use wakeful_core::{Boundary, Options, Timestamp};
use wakeful_host::{
    clock::VirtualClock,
    engine::{Engine, Mode},
    ledger::MemoryLedger,
    provider::Elsewhere,
    sandbox::{Limits, Sandbox},
};

use crate::shared::{product, source};

/// The recorded fuel, one path per line.
const KEPT: &str = "host-native/tests/fuel.txt";

/// The allowed difference in hundredths, for a new patch version of the compiler.
const TOLERANCE: u64 = 2;

type Agent = Sandbox<MemoryLedger, VirtualClock, Elsewhere>;

fn agent(ledger: &MemoryLedger) -> Agent {
    let clock = VirtualClock::at(Timestamp::parse("2026-05-27T09:00:00Z").expect("an instant"));
    Sandbox::new(&product(), ledger.clone(), clock, Elsewhere, Limits::default())
        .expect("an instance")
}

fn message(number: usize) -> String {
    let text = "What became of it since we spoke? ".repeat(4);
    format!(
        r#"{{"fact":"message_queued","message":{{"id":"message-{number}","kind":"operator_prompt","origin":{{"kind":"operator"}},"trust":"trusted_operator","body":{{"type":"text","text":"{text}"}}}}}}"#
    )
}

/// The fact that ends the open turn.
fn ends(agent: &mut Agent) -> String {
    let state: serde_json::Value =
        serde_json::from_str(&agent.state().expect("a state")).expect("JSON");
    let run = state["turns"]["run"]["run_id"].as_str().expect("an open run").to_owned();
    format!(r#"{{"fact":"turn_terminal","run_id":"{run}","kind":"completed"}}"#)
}

/// The fuel of each path.
fn used() -> BTreeMap<&'static str, u64> {
    let mut used = BTreeMap::new();
    let ledger = MemoryLedger::default();
    let options = Options::new("default".into());
    let mut agent = agent(&ledger);
    agent.open(&options, Mode::Drive).expect("it opens");
    used.insert("open a new ledger", agent.fuel());
    for number in 0..100 {
        agent.propose(&message(number)).expect("a message");
        used.insert("propose a message", agent.fuel());
        agent.run_until_rest().expect("a turn starts");
        used.insert("decide and admit its turn", agent.fuel());
        let ends = ends(&mut agent);
        agent.propose(&ends).expect("the turn ends");
        used.insert("settle the turn", agent.fuel());
        agent.run_until_rest().expect("it rests");
    }
    agent.explain(Boundary::RunLoopIdle).expect("an explanation");
    used.insert("explain", agent.fuel());
    let mut second = self::agent(&ledger);
    second.open(&options, Mode::Observe).expect("it opens");
    used.insert("open a ledger of 100 turns", second.fuel());
    used
}

#[test]
fn the_hot_paths_use_the_fuel_that_is_kept() {
    let used = used();
    let file = source(KEPT);
    if env::var_os("WAKEFUL_BLESS").is_some() {
        let lines = used.iter().fold(String::new(), |mut lines, (path, fuel)| {
            let _ = writeln!(lines, "{path}: {fuel}");
            lines
        });
        fs::write(&file, lines).expect("the file is written");
    }
    let text = fs::read_to_string(&file).expect("the recorded fuel");
    let kept: BTreeMap<&str, u64> = text
        .lines()
        .map(|line| line.split_once(": ").expect("a path and its fuel"))
        .map(|(path, fuel)| (path, fuel.parse().expect("a number")))
        .collect();
    assert!(
        kept.keys().eq(used.keys()),
        "{KEPT} lists other paths: `cargo xtask test --bless` writes it"
    );
    let wrong: Vec<_> = used
        .iter()
        .filter(|(path, fuel)| fuel.abs_diff(kept[*path]) * 100 > kept[*path] * TOLERANCE)
        .map(|(path, fuel)| {
            format!("`{path}` takes {fuel} units of fuel, {} are recorded", kept[path])
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{}\nif that is intended, record it with `cargo xtask test --bless`",
        wrong.join("\n")
    );
}
