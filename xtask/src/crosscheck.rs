//! `cargo xtask crosscheck`: plays all cases in all engines, and random stories, more of them in
//! faster engines.

use std::process::ExitCode;

use crate::{
    browser::{self, Browser},
    call::{Call, Failure, exit_code},
    packages,
    paths::Paths,
    python, run,
    stage::{stage, timed},
};

/// The number of random steps, and their seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Random {
    pub(crate) steps: u64,
    pub(crate) seed: u64,
}

impl Random {
    /// Everything: ten minutes on two cores.
    pub(crate) const WHOLE: Self = Self { steps: 1_000_000, seed: 1 };
    /// What every test run does.
    const SHARE: Self = Self { steps: 4_000, seed: 2 };
}

/// All engines.
const ENGINES: &str = "native,wasmtime,pulley,winch,node,chromium,python";

/// The engines that play random stories together, and their share of the steps.
const PARTS: [(&str, u64); 3] =
    [("native,wasmtime", 1), ("native,node,chromium", 10), ("wasmtime,pulley,winch,python", 50)];

/// Builds everything and compares. Returns the exit code of the first comparison that fails.
pub(crate) fn crosscheck(paths: &Paths, random: Random) -> Result<ExitCode, Failure> {
    run::build(paths)?;
    let browser = stage("browser", "finding a browser and its driver", || browser::find(paths))?;
    stage("workbench packages", "npm ci, for the driver of the browser", || {
        packages::install(paths, &paths.web_demo())
    })?;
    for call in calls(paths, &browser, random) {
        let status = call.pass_through()?;
        if !status.success() {
            return Ok(exit_code(status));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Does a share, with the programs that are built.
pub(crate) fn share(paths: &Paths, browser: &Browser) -> Result<(), Failure> {
    calls(paths, browser, Random::SHARE).into_iter().try_for_each(|call| {
        let status = call.pass_through()?;
        if status.success() {
            Ok(())
        } else {
            Err(Failure::new(format!("engines differ, or one cannot run ({status})")))
        }
    })
}

/// Plays the cases, and each share of the random stories.
fn calls(paths: &Paths, browser: &Browser, random: Random) -> Vec<Call> {
    // Without an environment, the engine itself reports why it cannot run and what it needs.
    if let Err(failure) =
        timed("python", "wasmtime's package, in target/python", || python::set_up(paths)).0
    {
        failure.show();
    }
    let call = |engines: &str| {
        let call = Call::new(paths, "crosscheck", paths.wakeful())
            .arg("crosscheck")
            .env("CHROME", &browser.chrome);
        call.args(["--engines", engines])
    };
    let cases = call(ENGINES);
    let parts = PARTS.map(|(engines, part)| {
        // At least one step, so that each group of engines plays at least one story.
        let steps = (random.steps / part).max(1).to_string();
        let seed = random.seed.to_string();
        call(engines).args(["--random", &steps, "--seed", &seed, "--write", "target/crosscheck"])
    });
    [cases].into_iter().chain(parts).collect()
}
