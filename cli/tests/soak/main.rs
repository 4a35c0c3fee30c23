//! A soak of a live agent: the real program against a model's server with every quirk drawn at
//! random, in a world that sends, stops and kills at random.
//!
//! `cargo xtask soak` runs it for 10,000 turns of a virtual month. Without a wish in the
//! environment it is short, and its clock is the machine's.
//!
//! The same seed draws the same numbers. It does not repeat a soak exactly, because real processes
//! decide which request comes first.

#![cfg(target_os = "linux")]

mod audit;
mod clock;
// The simulation uses the whole module.
#[allow(dead_code, unreachable_pub)]
#[path = "../../../tests/src/dice.rs"]
mod dice;
mod faults;
mod memory;
mod model;
// The tests of the agent use the whole module.
#[allow(dead_code)]
#[path = "../openai/mod.rs"]
mod openai;
mod render;
mod shared;
mod world;

use std::{env, path::PathBuf};

use shared::Mistake;
use world::{Wish, World};

/// A short soak: it fits into a test run.
const SHORT: u64 = 150;

/// The soak that the environment wishes for.
fn wished() -> Wish {
    let number = |name: &str, default: u64| {
        env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    Wish {
        turns: number("WAKEFUL_SOAK_TURNS", SHORT),
        seed: number("WAKEFUL_SOAK_SEED", 1),
        engine: env::var("WAKEFUL_SOAK_ENGINE").unwrap_or_else(|_| "native".to_owned()),
        faketime: env::var_os("WAKEFUL_SOAK_FAKETIME").map(PathBuf::from),
        mistake: Mistake::None,
        is_told: env::var_os("WAKEFUL_SOAK_TURNS").is_some(),
    }
}

/// Runs a soak. Returns what is wrong.
fn soak(wish: Wish) -> Vec<String> {
    let mut world = World::new(wish).expect("a world");
    let (lines, wrong) = world.run().unwrap_or_else(|why| (Vec::new(), vec![why]));
    lines.iter().for_each(|line| println!("{line}"));
    for (quirk, times) in world.shared.drawn() {
        eprintln!("drawn {times:6} times: {quirk}");
    }
    wrong
}

#[test]
fn an_agent_among_random_quirks_loses_no_turn_and_does_nothing_twice() {
    let wrong = soak(wished());
    wrong.iter().take(50).for_each(|line| println!("soak: wrong: {line}"));
    assert!(wrong.is_empty(), "{} things are wrong", wrong.len());
}

fn with(mistake: Mistake) -> Vec<String> {
    let mut wish = wished();
    wish.turns = 25;
    wish.mistake = mistake;
    soak(wish)
}

#[test]
fn a_call_that_is_executed_twice_is_found() {
    let wrong = with(Mistake::ExecutesTwice);
    assert!(wrong.iter().any(|line| line.contains("was executed 2 times")), "{wrong:?}");
}

#[test]
fn a_message_that_is_lost_is_found() {
    let wrong = with(Mistake::LosesAMessage);
    assert_eq!(wrong, ["the message with mark-9999999 is not in the ledger"]);
}
