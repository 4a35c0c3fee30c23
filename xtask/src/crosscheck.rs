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

/// Compare all engines, also Chromium and Python, over cases and random stories
///
/// Builds everything, finds a browser, makes a Python environment in target/python, and runs
/// `wakeful crosscheck`. All stories, fixtures and scenarios are played in native, wasmtime,
/// pulley, winch, node, chromium and python. Then random stories are played until they have taken N
/// steps in native and wasmtime, a tenth of that in native, node and chromium, and a fiftieth in
/// wasmtime, pulley, winch and python. A story over which engines differ is shrunk and written to
/// target/crosscheck. If Python or its package is missing, the engine says why, and the exit code
/// is 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
pub(crate) struct Random {
    /// The number of steps; the default takes ten minutes on two cores
    #[arg(long = "random", value_name = "N", default_value_t = 1_000_000)]
    pub(crate) steps: u64,
    /// The seed of the random stories; the same seed gives the same stories
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// What every run of all tests does.
const SHARE: Random = Random { steps: 4_000, seed: 2 };

/// The engines of `run`: native code, the component in a sandbox, and the browser's module.
const FIRST: &str = "native,wasmtime,node";

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

/// Plays all cases in the first engines, with the programs that are built.
pub(crate) fn cases(paths: &Paths) -> Result<(), Failure> {
    let call = Call::new(paths, "crosscheck", paths.wakeful());
    judged(call.args(["crosscheck", "--engines", FIRST]))
}

fn judged(call: Call) -> Result<(), Failure> {
    let status = call.pass_through()?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("engines differ, or one cannot run ({status})")))
    }
}

/// Does a share, with the programs that are built.
pub(crate) fn share(paths: &Paths, browser: &Browser) -> Result<(), Failure> {
    calls(paths, browser, SHARE).into_iter().try_for_each(judged)
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
