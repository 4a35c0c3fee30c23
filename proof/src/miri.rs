//! `cargo xtask miri`: the core's own tests in an interpreter that sees undefined behaviour, on
//! this machine and on two that are unlike it.
//!
//! The core has no `unsafe`; what it stands on has some: the reader of raw JSON, the hash, the
//! standard library's maps and texts. The other machines have words of 32 bits, and bytes in the
//! other order: what is written and hashed must be the same there.

use std::process::ExitCode;

use xtask::{
    call::{Call, Failure},
    needed::missing,
    paths::Paths,
    stage::{bold, green, stage},
    test::counts::Counts,
};

/// The machine's own target is left to rustc.
const OWN: &str = "this machine";

/// Machines that are interpreted: words of 64 bits, of 32, and bytes the other way round.
const MACHINES: [&str; 3] = [OWN, "i686-unknown-linux-gnu", "s390x-unknown-linux-gnu"];

/// The hash without its assembly, which Miri does not interpret and for which other machines would
/// need a C compiler of their own.
const PORTABLE: [&str; 2] = ["--features", "blake3/pure"];

/// Runs the core's tests on each machine.
pub(crate) fn miri(paths: &Paths) -> Result<ExitCode, Failure> {
    if in_nightly(paths, "miri-version").arg("--version").answer().is_err() {
        return Ok(missing(
            "Miri",
            "`rustup toolchain install nightly --component miri --component rust-src`",
        ));
    }
    let mut all = Vec::new();
    for machine in MACHINES {
        let log = format!("miri-{}", machine.split(['-', ' ']).next().unwrap_or_default());
        let target: &[&str] = if machine == OWN { &[] } else { &["--target", machine] };
        let call = in_nightly(paths, &log)
            .args(["test", "--package", "wakeful-core", "--lib"])
            .args(PORTABLE)
            .args(target);
        let printed =
            stage("miri", &format!("the tests of wakeful-core on {machine}"), || call.recorded())?;
        let counts = Counts::parse(&printed);
        if counts.is_empty() {
            return Err(Failure { what: format!("Miri ran no test on {machine}"), printed });
        }
        all.push(counts);
    }
    let all: Counts = all.into_iter().sum();
    let machines = MACHINES.join(", ");
    anstream::println!(
        "{}: {} tests on {machines}: {}",
        bold("miri"),
        all.passed,
        green("no undefined behaviour, no leak")
    );
    Ok(ExitCode::SUCCESS)
}

fn in_nightly(paths: &Paths, log: &str) -> Call {
    // Through rustup: a cargo that runs for this tree has a fixed compiler, which is no nightly.
    let call = Call::new(paths, log, "rustup").args(["run", "nightly", "cargo", "miri"]);
    call.env("CARGO_TARGET_DIR", paths.target().join("miri"))
}
