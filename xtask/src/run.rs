//! `cargo xtask run`: shows the decisions of one story, then builds everything and compares the
//! engines.

use std::{process::ExitCode, thread};

use crate::{
    call::{self, Call, Failure, exit_code},
    guests, native,
    paths::{Paths, program},
    set_up,
    stage::stage,
    tools,
};

/// The program that plays a story with the core alone. It compiles in seconds, long before the
/// engines.
const FIRST: &str = "first-story";

/// The story.
const STORY: &str = "tests/fixtures/stories/heartbeat.json";

/// Plays a story, then builds everything and compares the engines. Returns the exit code of the
/// comparison.
pub(crate) fn run(paths: &Paths) -> Result<ExitCode, Failure> {
    stage("core", "building the core alone", || native::build_programs(paths, &[FIRST]))?;
    anstream::println!("{STORY}:");
    let played = Call::new(paths, FIRST, paths.target().join("debug").join(program(FIRST)))
        .arg(STORY)
        .pass_through()?;
    if !played.success() {
        return Ok(exit_code(played));
    }
    anstream::println!();
    build(paths)?;
    let call = Call::new(paths, "crosscheck", paths.wakeful()).arg("crosscheck");
    call.args(["--engines", "native,wasmtime,pulley,winch,node"]).pass_through().map(exit_code)
}

/// The first stages of `run`, `serve` and `crosscheck`: they build the guests and the native
/// program, without tests.
///
/// Both are built at once, because each has long phases on a single core: the guests are optimised
/// as a whole, and one crate of wasmtime blocks the others.
pub(crate) fn build(paths: &Paths) -> Result<(), Failure> {
    stage("set-up", "checking Node and the wasm targets", || set_up::set_up(paths))?;
    thread::scope(|scope| {
        let native = scope.spawn(|| {
            stage("native", "building the native host", || {
                native::build_programs(paths, &["wakeful"])
            })
        });
        // Two progress bars on one line are unreadable, so only the longer build shows one.
        let guests = call::without_progress(|| {
            stage("tools", "building wasm-bindgen and wit-component (once)", || {
                tools::build(paths)
            })?;
            stage("guests", "building the component and the web module", || guests::build(paths))
        });
        let native = native.join().unwrap_or_else(|_| {
            Err(Failure::new("the thread that builds the native host broke down"))
        });
        match (guests, native) {
            // Both outputs are shown, because each was kept back while the other build ran.
            (Err(guests), Err(native)) => Err(Failure {
                what: format!("{}; {}", guests.what, native.what),
                printed: format!("{}\n{}", guests.printed, native.printed),
            }),
            (guests, native) => guests.and(native),
        }
    })
}
