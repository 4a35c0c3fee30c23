//! A plugin host: agents share one compiled guest and one SQLite file. Each agent has its own
//! instance with limits, and its own ledger.
//!
//! `plugin-host GUEST LEDGERS AGENT TEXT` sends TEXT to AGENT as its operator, and prints the
//! decisions and why.

use std::{env, error::Error, path::Path};

use serde_json::{Value, json};
use wakeful_core::{Boundary, Options};
use wakeful_host::{
    clock::SystemClock,
    engine::{Engine, Mode},
    ledger::SqliteFile,
    provider::Elsewhere,
    sandbox::{Limits, Plugin, Pool, Runtime},
};

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = env::args().skip(1).collect();
    let [guest, ledgers, agent, text] = given.as_slice() else {
        return Err("usage: plugin-host GUEST LEDGERS AGENT TEXT".into());
    };

    // Once per process: the runtime, the guest and the file. `Elsewhere` is a provider that leaves
    // turns to other programs.
    let runtime = Runtime::new(Pool { instances: 100, ..Pool::default() })?;
    let plugin = Plugin::new(&runtime.load(Path::new(guest))?)?;
    let file = SqliteFile::open(Path::new(ledgers))?;

    // Once per agent: an instance with limits. If it reaches a limit it is gone, but the ledger is
    // whole.
    let options = Options::new(agent.as_str().into());
    let limits = Limits { memory_bytes: 64 << 20, call_ms: 1_000, ..Limits::default() };
    let mut scheduler =
        plugin.instance(file.ledger(&options.agent_id), SystemClock, Elsewhere, limits)?;
    let head: Value = serde_json::from_str(&scheduler.open(&options, Mode::Drive)?)?;

    // Report a fact, then take decisions.
    let message = json!({ "id": format!("said-after-{}", head["seq"]), "kind": "operator_prompt", "origin": { "kind": "operator" },
        "trust": "trusted_operator", "body": { "type": "text", "text": text } });
    scheduler.propose(&json!({ "fact": "message_queued", "message": message }).to_string())?;
    let steps: Vec<Value> = serde_json::from_str(&scheduler.run_until_rest()?)?;
    let fuel = scheduler.fuel();
    for decision in
        steps.iter().map(|step| &step["decision"]).filter(|decision| decision.is_object())
    {
        println!(
            "{} ({}) for {fuel} units of fuel",
            text_of(&decision["decision"]),
            text_of(&decision["reason"])
        );
    }
    let explanation: Value = serde_json::from_str(&scheduler.explain(Boundary::RunLoopIdle)?)?;
    println!("{}", text_of(&explanation["sentence"]));
    Ok(())
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
