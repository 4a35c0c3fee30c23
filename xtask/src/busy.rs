//! `cargo xtask busy`: the native tests beside four busy processes, three times in a row. A test
//! that depends on the speed of the machine fails there.

use std::{
    process::{Child, Command, ExitCode, Stdio},
    time::Instant,
};

use crate::{
    call::Failure,
    graph::{self, Ground, Stage},
    paths::Paths,
    stage::{Took, bold},
    test,
};

/// Processes that do nothing but compute.
const BUSY: usize = 4;

/// How often the tests run. A test that fails sometimes should fail once.
const TIMES: usize = 3;

/// Builds the tests, then runs them three times beside busy processes.
pub(crate) fn busy(paths: &Paths) -> Result<ExitCode, Failure> {
    let stages = test::with_needs("native tests")?;
    let (tests, needs): (Vec<&Stage>, Vec<&Stage>) =
        stages.into_iter().partition(|stage| stage.name == "native tests");
    let ground = Ground::new(paths);
    let mut rows = graph::run(&needs, &ground);
    let begun = Instant::now();
    if graph::sum(&rows).failed == 0 {
        let _busy = (0..BUSY).map(|_| Busy::start()).collect::<Result<Vec<_>, _>>()?;
        rows = (0..TIMES).flat_map(|_| graph::run(&tests, &ground)).collect();
    }
    let whole = Took { clock: begun.elapsed(), processor: graph::processor(&rows) };
    graph::report(paths, "busy", &rows, whole);
    let all = graph::sum(&rows);
    anstream::println!("{}: {all}, {TIMES} times beside {BUSY} busy processes", bold("busy"));
    Ok(if all.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A process that computes until this value is dropped.
struct Busy(Child);

impl Busy {
    fn start() -> Result<Self, Failure> {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
        let child = command.spawn();
        child.map(Self).map_err(|why| Failure::new(format!("cannot start `sh`: {why}")))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // One that has ended already needs no end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
