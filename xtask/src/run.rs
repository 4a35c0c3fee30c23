//! `cargo xtask run`: shows the decisions of one story and of the fixtures, then builds everything
//! and compares the engines.

use std::{process::ExitCode, time::Instant};

use crate::{
    call::{Call, Failure, exit_code},
    crosscheck,
    graph::{self, Ground, Lane, Row, Stage, Tier, Work},
    guests, native,
    paths::{Paths, program},
    set_up,
    stage::Took,
    tools,
};

/// The program that needs the core alone. It compiles in seconds, long before the engines.
const FIRST: &str = "first-story";

/// What it plays: a story, and the fixtures.
const PLAYED: [&str; 2] = ["tests/fixtures/stories/heartbeat.json", "tests/fixtures/scheduler"];

const CORE: Stage = Stage {
    name: "core",
    tier: Tier::Test,
    does: "building the core alone",
    needs: &[],
    lane: Lane::Native,
    work: Work::Check(|ground| native::build_programs(ground.paths, &[FIRST])),
};

// `test` has these four too.
pub(crate) const SET_UP: Stage = Stage {
    name: "set-up",
    tier: Tier::Test,
    does: "checking Node and the wasm targets",
    needs: &[],
    lane: Lane::Beside,
    work: Work::Check(|ground| set_up::set_up(ground.paths)),
};

pub(crate) const TOOLS: Stage = Stage {
    name: "tools",
    tier: Tier::Test,
    does: "building what makes guests, from wasm-bindgen and wit-component",
    needs: &[],
    lane: Lane::Native,
    work: Work::Check(|ground| tools::build(ground.paths)),
};

pub(crate) const GUEST_MODULES: Stage = Stage {
    name: "guest modules",
    tier: Tier::Test,
    does: "compiling the component and the web module",
    needs: &["set-up"],
    lane: Lane::Beside,
    work: Work::Check(|ground| guests::compile(ground.paths)),
};

pub(crate) const GUESTS: Stage = Stage {
    name: "guests",
    tier: Tier::Test,
    does: "making what hosts load",
    needs: &["guest modules", "tools"],
    lane: Lane::Beside,
    work: Work::Check(|ground| guests::make(ground.paths)),
};

const HOST: Stage = Stage {
    name: "host",
    tier: Tier::Test,
    does: "building the native host",
    needs: &["tools"],
    lane: Lane::Native,
    work: Work::Check(|ground| native::build_programs(ground.paths, &["wakeful"])),
};

const COMPARE: Stage = Stage {
    name: "compare",
    tier: Tier::Test,
    does: "playing all cases in each engine",
    needs: &["host", "guests"],
    lane: Lane::Beside,
    work: Work::Check(|ground| crosscheck::cases(ground.paths)),
};

/// Shows first decisions, builds everything and compares the engines.
pub(crate) fn run(paths: &Paths) -> Result<ExitCode, Failure> {
    let begun = Instant::now();
    let mut rows = staged(paths, &[&CORE])?;
    for played in PLAYED {
        anstream::println!("\n{played}:");
        let status = Call::new(paths, FIRST, paths.target().join("debug").join(program(FIRST)))
            .arg(played)
            .pass_through()?;
        if !status.success() {
            return Ok(exit_code(status));
        }
    }
    anstream::println!();
    rows.extend(staged(paths, &[&SET_UP, &TOOLS, &GUEST_MODULES, &GUESTS, &HOST, &COMPARE])?);
    let whole = Took { clock: begun.elapsed(), processor: graph::processor(&rows) };
    graph::report(paths, "run", &rows, whole);
    Ok(ExitCode::SUCCESS)
}

/// Builds the guests and the native program, without tests.
pub(crate) fn build(paths: &Paths) -> Result<(), Failure> {
    staged(paths, &[&SET_UP, &TOOLS, &GUEST_MODULES, &GUESTS, &HOST]).map(drop)
}

/// Runs these stages, and fails if one of them fails.
fn staged(paths: &Paths, stages: &[&Stage]) -> Result<Vec<Row>, Failure> {
    let rows = graph::run(stages, &Ground::new(paths));
    match rows.iter().find(|row| row.counts.failed > 0) {
        None => Ok(rows),
        Some(row) => Err(Failure::new(format!("the stage `{}` failed", row.name))),
    }
}
