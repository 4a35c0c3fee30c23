//! `cargo xtask miri`: runs the core's unit tests under Miri, for this machine and for two unlike
//! ones.
//!
//! The core has no `unsafe`, but the reader of raw JSON, the hash and the standard library have
//! some. The other machines have 32-bit words and the other byte order; what is written and hashed
//! must be the same there.

use std::process::ExitCode;

use xtask::{
    call::{Call, Failure},
    graph::Counts,
    needed::missing,
    paths::Paths,
    stage::{bold, green, stage},
};

/// rustc selects the target of this machine.
const OWN: &str = "this machine";

/// The machines: this one, one with 32-bit words, and one with the other byte order.
const MACHINES: [&str; 3] = [OWN, "i686-unknown-linux-gnu", "s390x-unknown-linux-gnu"];

/// The hash without assembly. Miri cannot interpret assembly, and other machines would need their
/// own C compiler.
const PORTABLE: [&str; 2] = ["--features", "blake3/pure"];

/// Runs the core's tests for each machine.
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
    // Through rustup, because the cargo of this tree has a fixed compiler, which is not a nightly.
    let call = Call::new(paths, log, "rustup").args(["run", "nightly", "cargo", "miri"]);
    call.env("CARGO_TARGET_DIR", paths.target().join("miri"))
}
