//! The npm package's modules in Node and in Chromium: a full step there, beside the same step in
//! the native core.

use std::{
    io::{BufRead, BufReader, Write},
    process::{ChildStdin, ChildStdout, Command, Stdio},
};

use serde::Deserialize;
use serde_json::{Value, json};
use wakeful_host::ledger::MemoryLedger;

use super::{
    Depth, Figure, agent,
    measure::{Cost, beside},
    round::{self, AT_GOAL, GOAL},
};
use crate::paths;

/// The module that is optimised for speed: Node uses it, and pages may.
const FAST: &str = "npm-fast";
/// The module that is optimised for size: pages download it by default.
const SMALL: &str = "npm";
/// Rounds per measurement.
const ROUNDS: u64 = 200;
/// Rounds before anything is measured, so that the engine has compiled the hot functions.
const FIRST: u64 = 1_000;

/// Figures.
pub(super) fn figures(depth: Depth) -> Vec<Figure> {
    let (native, least) = native(depth);
    let [node, chromium, small] =
        [("engine.mjs", FAST), ("chromium.mjs", FAST), ("chromium.mjs", SMALL)]
            .map(|(engine, module)| measured(engine, module, depth));
    // The engines took a while, and the machine may have become slower or faster. So the native
    // core is measured again.
    let again = self::native(depth);
    let (native, least) = (native.min(again.0), least.min(again.1));
    let full = |what: &str, cost: &Measured| {
        Figure::new(format!("full step in {what}"), cost.round, "native core", native)
    };
    let at_goal = |what: &str, cost: &Measured| {
        Figure::new(format!("full step in {what}"), cost.round, AT_GOAL, least * GOAL).within(2.5)
    };
    let cold = |what: &str, cost: &Measured| {
        Figure::new(
            format!("cold decision after 1000 entries in {what}"),
            cost.cold,
            "`JSON.parse` of the same text",
            cost.parsed,
        )
    };
    vec![
        full("Node", &node),
        full("Chromium", &chromium),
        at_goal("Node", &node),
        at_goal("Chromium", &chromium),
        full("Chromium, of the module that is small to download", &small),
        cold("Node", &node).within(6.9),
        cold("Chromium", &chromium),
    ]
}

/// A full step, and the least that it must do.
fn native(depth: Depth) -> (Cost, Cost) {
    let mut agent = agent::native(MemoryLedger::default());
    (0..FIRST).for_each(|_| agent.round());
    let rounds = || {
        (0..ROUNDS).for_each(|_| agent.round());
        ROUNDS
    };
    let [full, least] = beside(depth.turns(), [Box::new(rounds), round::least()]);
    (full, least)
}

/// What an engine of the cross-check measures on its own, in nanoseconds.
#[derive(Deserialize)]
struct Measured {
    round: Cost,
    cold: Cost,
    parsed: Cost,
}

fn measured(engine: &str, module: &str, depth: Depth) -> Measured {
    let mut program = Command::new("node")
        .arg(paths::tree("wasm/web/js").join(engine))
        .arg(paths::guest(module))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|why| panic!("Node does not start: {why}"));
    let (mut asked, said) =
        (program.stdin.take().expect("a pipe"), program.stdout.take().expect("a pipe"));
    let mut said = BufReader::new(said);
    let ready = line(&mut said);
    assert!(ready.get("ready").is_some(), "{engine} cannot run: {ready}");
    let wanted = json!({ "first": FIRST, "rounds": ROUNDS, "turns": depth.turns() });
    ask(&mut asked, &json!({ "id": 1, "measure": wanted }));
    let answer = line(&mut said);
    drop(asked);
    program.wait().expect("the engine ends with its input");
    Measured::deserialize(&answer["nanos"])
        .unwrap_or_else(|why| panic!("{engine} did not report its figures ({why}): {answer}"))
}

fn ask(to: &mut ChildStdin, what: &Value) {
    writeln!(to, "{what}").expect("the engine reads its input");
}

fn line(from: &mut BufReader<ChildStdout>) -> Value {
    let mut line = String::new();
    from.read_line(&mut line).expect("the engine answers");
    serde_json::from_str(&line).unwrap_or_else(|why| panic!("the engine answered `{line}`: {why}"))
}
