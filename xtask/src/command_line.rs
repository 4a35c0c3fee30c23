//! What a developer can type, and the help for it.

use std::num::NonZeroU16;

use crate::{
    crosscheck::Random,
    fuzz,
    mutants::{ROOMS, Request, Shard, Which},
    tidy::Listing,
};

/// One understood command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Build everything, then compare the engines.
    Run,
    /// Build everything, then serve the workbench; on this port, or on a free one.
    Serve { port: Option<NonZeroU16> },
    /// Build and test everything.
    Test,
    /// Build and pack the npm package.
    Npm,
    /// Check what no compiler checks; list statements of the contract beside the findings.
    Tidy { list: Listing },
    /// Let processes die, with the options of the program that does it.
    Crash(Vec<String>),
    /// Let families of agents live, with the options of the program that does it.
    Sim(Vec<String>),
    /// Search the states that the machine can come to, with the options of the program that does it.
    Model(Vec<String>),
    /// Compare all engines over all cases, and over random stories.
    Crosscheck(Random),
    /// Let a fuzzer look for bytes that break something.
    Fuzz(fuzz::Request),
    /// Write the page about the component's interface.
    World,
    /// Measure what the tests of the core execute.
    Coverage,
    /// Change the core in small ways, and ask whether the tests notice.
    Mutants(Request),
    /// Print this text.
    Help(&'static str),
}

pub(crate) const USAGE: &str = "\
Builds, runs and tests Wakeful.

usage: cargo xtask <command>

  run         build both guests and the native host, then compare the engines on every story, fixture and scenario
  serve       build everything and serve the workbench on a local port
  test        every check and every test, with a table of times and counts
  npm         build and pack the npm package, and say what it weighs
  tidy        what no compiler checks: file openings, lengths, names, dependencies, citations
  crosscheck  compare all engines, also Chromium and Python, over all cases and over random stories
  crash       let processes die after each append of scenarios and random stories, and for real, and compare what comes of it
  sim         let families of agents live through virtual days with faults at every import, and ask what was left undone
  model       search the states that the machine can come to, breadth first, and check every batch, ranking and way to rest
  fuzz        let libFuzzer look for bytes over which the decoder, the readers or the guest break down
  world       write docs/world.md, the interface of the component, from its WIT
  coverage    what the tests execute of the core's decisions, and whether every rule was hit and is named by a test
  mutants     change the core in small ways, one at a time, and ask whether some test notices
  help        this text; `cargo xtask <command> --help` says more

exit code: 0 all went well, 1 something failed, 2 the command line was not understood, 3 a program that measures is not installed";

const RUN: &str = "\
usage: cargo xtask run

Works in a clean clone with rustup, a C compiler and Node 20 or newer. Adds the wasm targets where they are missing, builds the build
tools once, both guests and the native host, then runs every story, fixture folder and scenario through the engines native, wasmtime,
pulley, winch and node, and compares their traces. The last line is `N cases, N steps, 5 engines, N differences`.

exit code: 0 no difference, 1 a difference or a failed build, 2 the command line was not understood, 3 an engine cannot run here";

const SERVE: &str = "\
usage: cargo xtask serve [--port N]

Builds the guests, the native host and the workbench, records the traces that the workbench shows, and serves it on 127.0.0.1 until it is
interrupted (Ctrl-C).

  --port N   serve on this port; without it the system gives a free one

exit code: 0 the server ended, 1 a build failed or the port is in use, 2 the command line was not understood";

const TEST: &str = "\
usage: cargo xtask test

Runs every check and every test: tidy, format, clippy, the core on wasm32v1-none, native tests, guests in Node and in headless Chromium,
and the workbench. A stage that fails does not stop the others, except those that need what it makes. The last line is
`N passed, N failed, N skipped`, summed from what the test runners counted; a stage without tests counts as one check.
What each stage printed is kept in target/xtask.

environment:
  CI=true               a skipped test is a failure
  CHROME, CHROMEDRIVER  the browser and its driver; without them they are looked for on PATH
  WAKEFUL_NO_INSTALL=1  never install a browser (otherwise apt-get does, for root, when none is there)

exit code: 0 nothing failed, 1 something failed, 2 the command line was not understood";

const NPM: &str = "\
usage: cargo xtask npm

Builds the web module and the npm package over it (npm/), and packs it: target/npm/wakeful-scheduler-VERSION.tgz, whose content is in
target/npm/package. Prints the sizes of the module, of what carries values into it, and of the tarball. `cargo xtask test` tests it as small
projects consume it.

exit code: 0 it is packed, 1 a build failed, 2 the command line was not understood";

const TIDY: &str = "\
usage: cargo xtask tidy [--statements | --uncited]

Checks what no compiler checks, and prints each finding as `file:line: what is wrong; what to do`: the opening comment of each source
file, its length and its name, paths of one machine, registry hosts, unfinished and switched-off code, the reasons for dependencies in
ARCHITECTURE.md, citations of the contract, the shape of the fixture folders, docs/world.md, and the files of released worlds.

A comment cites a statement of the contract as `contract 5.3`, `D4` or `I16`. A statement that neither code nor a test cites is a finding,
unless it holds only live. Tests are what stands below a folder `tests` or `e2e` (scenarios and READMEs of fixtures included),
in `*.test.*`, and under `#[cfg(test)]`; code is the rest of core, host-native, wasm and web-demo.

  --statements   a line per statement first: its number, the first code and the first test that cite it (`-`: none), `(live)`
  --uncited      name the statements that nothing cites

exit code: 0 no finding, 1 findings, 2 the command line was not understood";

const CROSSCHECK: &str = "\
usage: cargo xtask crosscheck [--random N] [--seed N]

Builds everything, finds a browser, makes a Python environment in target/python, and runs `wakeful crosscheck`: all stories, fixtures and
scenarios in native, wasmtime, pulley, winch, node, chromium and python; then random stories until they have taken N steps in native and
wasmtime, a tenth of it in native, node and chromium, a fiftieth of it in wasmtime, pulley, winch and python. A story over which engines
differ is made as small as it can be and written to target/crosscheck. Where Python or its package cannot be had, the engine says why, and the
exit code is 3. `cargo xtask test` does a small share of it.

  --random N   so many steps; 1000000 without it, which takes ten minutes on two cores
  --seed N     where the drawing of stories begins; the same seed draws the same stories

exit code: 0 no difference, 1 a difference or a failed build, 2 the command line was not understood, 3 an engine cannot run here";

const CRASH: &str = "\
usage: cargo xtask crash [--stories N] [--kills N] [--seed N]

Lets processes die, and compares what comes of their stories with what came of those that nobody killed. Every scenario and N random stories
are cut after each append and go on from what the ledger holds then; each story dies once more on its way from there. N more are played by
real processes, `wakeful run` on a SQLite file, which are killed (SIGKILL) at drawn instants. No obligation may be lost, no message processed
twice, no recorded tool call made again; stories in which nothing races must come to the same end. A line per part says how much was tried.
A story that fails is made as small as it can be and printed. `cargo xtask test` does a tenth of it.

  --stories N   random stories that are cut after each append; 10000 without it, which takes a quarter of an hour on two cores
  --kills N     random stories whose processes are killed; 200 without it
  --seed N      where the drawing of stories begins; the same seed draws the same stories

exit code: 0 nothing was lost and nothing done twice, 1 something was or a build failed, 2 the command line was not understood";

const SIM: &str = "\
usage: cargo xtask sim [--seed N] [--families N] [--days N] [--minutes N] [--editions]

Lets families of agents live: an agent and the children that its turns make, each with its ledger, over virtual days. Ledgers fail before and
after they have stored, others write first, snapshots are lost or damaged, providers do not answer, processes are killed, clocks jump, input
comes twice and late, and turns do whatever they like. Each fifth batch is checked against the invariants. After its wild days a family has calm
ones, in which nothing fails: then no run, message, task or item may be left, and no result untold. Prints what befell how often, what was
wrong, and a digest: equal digests mean equal histories. A family is determined by its seed, its days and the commit.

  --seed N      the seed of the first family; 0 without it
  --families N  how many; 200 without it, which takes ten minutes on two cores
  --days N      how many wild days each lives; 10 without it
  --minutes N   go on for so long, instead of so many families
  --editions    say where each family first decides otherwise in the other edition, instead

exit code: 0 nothing was wrong, 1 something was or a build failed, 2 the command line was not understood";

const MODEL: &str = "\
usage: cargo xtask model [--shapes N] [--depth N] [--small] [--json]

Searches the states that the real machine can come to, breadth first: two work items, two tasks, two timers, an external trigger, an operator,
hints, waits, stop, start, shutdown, a provider that succeeds, fails or says nothing, time, and a death between any two appends. States are
counted by their shape. Each batch is checked against the invariants of contract 14 and against what must hold of its effects; each
state must come to rest whatever the provider answers, and owe nothing then; where turns make no progress, a ranking must fall. It
prints shapes, transitions, depth, whether these are all, the longest way to rest and the time. What is broken is printed as a scenario,
the shortest that was found. Every test run searches 50000 shapes, and asks that eight seeded mistakes are found.

  --shapes N   end when so many shapes were found; 1000000 without it
  --depth N    go so many moves far
  --small      one item, one task, one prompt
  --json       print one line of JSON

exit code: 0 nothing is broken, 1 something is or a build failed, 2 the command line was not understood";

const FUZZ: &str = "\
usage: cargo xtask fuzz [--seconds N] [--keep] [TARGET...]

Builds the guests and the targets, and lets libFuzzer try inputs on each of them: facts (the fact decoder, planes and ladder, under the
invariants), foreign (the reader of fixtures and data folders), ledger (the reader of entries, also of such as only a broken writer could have
sealed) and exports (what the guest offers, in wasmtime). A panic, a trap, a broken invariant, a limit that is reached or an input that takes
half a minute is a finding; its input is then in fuzz/artifacts. Needs cargo-fuzz and a nightly compiler.
Every test run replays what is in fuzz/corpus.

  --seconds N   try each target so long; 600 without it
  --keep        take into fuzz/corpus what reaches more than what is there

exit code: 0 no finding, 1 a finding or a failed build, 2 the command line was not understood, 3 cargo-fuzz is not installed";

const WORLD: &str = "\
usage: cargo xtask world

Writes docs/world.md from wasm/wit/0.1.0: what the component imports and exports, with types and words. `cargo xtask tidy` says when the
page is not what the WIT says.

exit code: 0 it is written, 1 the WIT cannot be read, 2 the command line was not understood";

const COVERAGE: &str = "\
usage: cargo xtask coverage

Builds the core, the host and the tests with rustc's counters, runs the unit tests of wakeful-core and those tests of wakeful-tests that
need the source tree alone (no built guest, no recordings beside the tree), and prints, for core/src/ladder, core/src/derive and
core/src/plane: lines, regions and functions of each file and how many of them were executed; the lines that were not; each rule of the
ladder with how often it decided and the test that names it; each row of closure and continuation with how often it was reached.

It fails where the lines executed of ladder or derive are below the floors in xtask/src/coverage/mod.rs, where a rule never decided, where
a row was never reached, and where no test names a rule (a scenario by `rule=<id>`, a fixture by its expected rule, a Rust test in its body).

It needs llvm-profdata and llvm-cov of the LLVM that rustc has. They are looked for in rustup's component llvm-tools, then on PATH as
`llvm-cov-22`, then on PATH as `llvm-cov` where that says the right number. What it writes is in target/coverage.

exit code: 0 nothing is missing, 1 something is or a test failed, 2 the command line was not understood, 3 llvm-profdata and llvm-cov
are not installed";

const MUTANTS: &str = "\
usage: cargo xtask mutants [--in ROOM,...] [--shard K/N] [--resume | --retry] [--list]

Changes core/src/ladder and core/src/derive in small ways, one at a time (cargo-mutants makes the changes), and asks whether some test
notices. Judges are the unit tests of the core and the host, and the tests of wakeful-tests that need no guest; a guest that was built
before would notice everything. It works in a copy of the source tree, target/mutants/tree, and builds in target/mutants/target: the first
run builds the dependencies there, then a mutant takes most of a minute, one after the other, and no other build has to wait. What became of
each is kept in target/mutants/results.txt.

  --in ROOM,...   folders of core/src: ladder, derive, plane; without it ladder and derive
  --shard K/N     only the K-th of N equal parts, K from 1; every N-th mutant
  --resume        keep the results of an earlier run, also of one that was interrupted, and try what was not tried
  --retry         keep them, and try again what survived or did not end; for new tests
  --list          print the names of the mutants that would be tried, and try none

It ends with survivors, counts (caught: a test failed; timeout: the tests did not end; missed: it survived; unviable: it does not compile)
and the share of those that compile and were noticed, by a test that failed or did not end. Survivors that may survive stand in
xtask/src/mutants/survivors.txt, each with its reason; they count as missed. A line there that does not survive any more is reported.

exit code: 0 at least 95 % were noticed, 1 fewer were or the tests fail without a mutant, 2 the command line was not understood,
3 cargo-mutants is not installed";

/// Reads the words after `cargo xtask`.
///
/// # Errors
/// One sentence that says which word was not understood.
pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Command, String> {
    let words: Vec<String> = words.collect();
    let (name, options) = match words.split_first() {
        None => return Err("a command is missing".to_owned()),
        Some((name, options)) => (name.as_str(), options),
    };
    if matches!(name, "help" | "--help" | "-h") {
        return match options {
            [] => Ok(Command::Help(USAGE)),
            [of, ..] => help_of(of).map(Command::Help).ok_or_else(|| format!("there is no command `{of}`")),
        };
    }
    let help = help_of(name).ok_or_else(|| format!("there is no command `{name}`"))?;
    if options.iter().any(|option| option == "--help" || option == "-h") {
        return Ok(Command::Help(help));
    }
    let words: Vec<&str> = options.iter().map(String::as_str).collect();
    match (name, words.as_slice()) {
        ("run", []) => Ok(Command::Run),
        ("test", []) => Ok(Command::Test),
        ("npm", []) => Ok(Command::Npm),
        ("mutants", options) => mutants(options),
        ("crosscheck", options) => crosscheck(options),
        ("crash", options) => crash(options),
        ("sim", options) => sim(options),
        ("model", options) => model(options),
        ("fuzz", options) => fuzz(options),
        ("world", []) => Ok(Command::World),
        ("coverage", []) => Ok(Command::Coverage),
        ("tidy", []) => Ok(Command::Tidy { list: Listing::None }),
        ("tidy", ["--uncited"]) => Ok(Command::Tidy { list: Listing::Uncited }),
        ("tidy", ["--statements"]) => Ok(Command::Tidy { list: Listing::Statements }),
        ("serve", []) => Ok(Command::Serve { port: None }),
        ("serve", ["--port", port]) => port_of(port),
        ("serve", [option]) if option.starts_with("--port=") => port_of(&option["--port=".len()..]),
        ("serve", ["--port"]) => Err("`--port` needs a number from 1 to 65535".to_owned()),
        (_, [first, ..]) => Err(format!("`{name}` does not take `{first}` here")),
        (_, []) => Err(format!("there is no command `{name}`")),
    }
}

fn port_of(text: &str) -> Result<Command, String> {
    let port = text.parse().map_err(|_| format!("`--port` needs a number from 1 to 65535, not `{text}`"))?;
    Ok(Command::Serve { port: Some(port) })
}

/// The options of the other program, which are numbers. They are looked at here, before anything is built.
fn crash(options: &[&str]) -> Result<Command, String> {
    numbers("crash", &["--stories", "--kills", "--seed"], options)?;
    Ok(Command::Crash(options.iter().map(|option| (*option).to_owned()).collect()))
}

/// The options of the other program: numbers, and one that is none.
fn sim(options: &[&str]) -> Result<Command, String> {
    let counted: Vec<_> = options.iter().copied().filter(|option| *option != "--editions").collect();
    numbers("sim", &["--seed", "--families", "--days", "--minutes"], &counted)?;
    Ok(Command::Sim(options.iter().map(|option| (*option).to_owned()).collect()))
}

/// The options of the other program: numbers and words.
fn model(options: &[&str]) -> Result<Command, String> {
    let (_, numbered): (Vec<&str>, Vec<&str>) = options.iter().partition(|option| ["--small", "--json"].contains(option));
    numbers("model", &["--shapes", "--depth"], &numbered)?;
    Ok(Command::Model(options.iter().map(|option| (*option).to_owned()).collect()))
}

fn crosscheck(options: &[&str]) -> Result<Command, String> {
    let mut random = Random::WHOLE;
    for (name, number) in numbers("crosscheck", &["--random", "--seed"], options)? {
        *(if name == "--random" { &mut random.steps } else { &mut random.seed }) = number;
    }
    Ok(Command::Crosscheck(random))
}

fn fuzz(options: &[&str]) -> Result<Command, String> {
    let mut request = fuzz::Request { targets: Vec::new(), seconds: fuzz::SECONDS, keeps: false };
    let mut words = options.iter().flat_map(|option| option.split('='));
    while let Some(word) = words.next() {
        if word == "--seconds" {
            let number = words.next().unwrap_or_default();
            request.seconds = number.parse().map_err(|_| format!("`--seconds` needs a number, not `{number}`"))?;
        } else if word == "--keep" {
            request.keeps = true;
        } else {
            let known = fuzz::TARGETS.into_iter().find(|target| *target == word);
            request.targets.push(known.ok_or_else(|| format!("`fuzz` knows {}, not `{word}`", fuzz::TARGETS.join(", ")))?);
        }
    }
    if request.targets.is_empty() {
        request.targets = fuzz::TARGETS.to_vec();
    }
    Ok(Command::Fuzz(request))
}

/// Options that are numbers, of a command that takes these.
fn numbers<'a>(command: &str, known: &[&str], options: &[&'a str]) -> Result<Vec<(&'a str, u64)>, String> {
    let mut words = options.iter().flat_map(|option| option.split('='));
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        if !known.contains(&word) {
            return Err(format!("`{command}` does not take `{word}` here"));
        }
        let number = words.next().unwrap_or_default();
        found.push((word, number.parse().map_err(|_| format!("`{word}` needs a number, not `{number}`"))?));
    }
    Ok(found)
}

fn mutants(options: &[&str]) -> Result<Command, String> {
    let mut request = Request { rooms: ROOMS[..2].to_vec(), shard: Shard::WHOLE, which: Which::All, only_list: false };
    let mut words = options.iter().flat_map(|option| match option.split_once('=') {
        Some((name, value)) if option.starts_with("--") => vec![name, value],
        _ => vec![*option],
    });
    while let Some(word) = words.next() {
        match word {
            "--in" => request.rooms = rooms(words.next().unwrap_or_default())?,
            "--shard" => {
                let text = words.next().unwrap_or_default();
                request.shard = Shard::of(text).ok_or_else(|| format!("`--shard` needs K/N with K from 1 to N, not `{text}`"))?;
            }
            "--resume" | "--retry" if request.which != Which::All => {
                return Err("`--resume` and `--retry` are two ways to go on; take one, once".to_owned());
            }
            "--resume" => request.which = Which::Untried,
            "--retry" => request.which = Which::Survivors,
            "--list" => request.only_list = true,
            other => return Err(format!("`mutants` does not take `{other}` here")),
        }
    }
    Ok(Command::Mutants(request))
}

fn rooms(text: &str) -> Result<Vec<&'static str>, String> {
    let known = |name: &str| ROOMS.into_iter().find(|room| *room == name);
    text.split(',').map(|name| known(name).ok_or_else(|| format!("`--in` needs some of {}, not `{name}`", ROOMS.join(",")))).collect()
}

fn help_of(name: &str) -> Option<&'static str> {
    match name {
        "run" => Some(RUN),
        "serve" => Some(SERVE),
        "test" => Some(TEST),
        "npm" => Some(NPM),
        "tidy" => Some(TIDY),
        "crosscheck" => Some(CROSSCHECK),
        "crash" => Some(CRASH),
        "sim" => Some(SIM),
        "model" => Some(MODEL),
        "fuzz" => Some(FUZZ),
        "world" => Some(WORLD),
        "coverage" => Some(COVERAGE),
        "mutants" => Some(MUTANTS),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Command, String> {
        read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn every_command_is_understood_and_has_a_help() {
        assert_eq!(of("run"), Ok(Command::Run));
        assert_eq!(of("test"), Ok(Command::Test));
        assert_eq!(of("npm"), Ok(Command::Npm));
        assert_eq!(of("world"), Ok(Command::World));
        assert_eq!(of("coverage"), Ok(Command::Coverage));
        assert_eq!(of("tidy --uncited"), Ok(Command::Tidy { list: Listing::Uncited }));
        assert_eq!(of("tidy --statements"), Ok(Command::Tidy { list: Listing::Statements }));
        assert_eq!(of("serve --port 4173"), Ok(Command::Serve { port: NonZeroU16::new(4173) }));
        assert_eq!(of("serve --port=4173"), Ok(Command::Serve { port: NonZeroU16::new(4173) }));
        for name in ["run", "serve", "test", "npm", "tidy", "crosscheck", "crash", "sim", "model", "fuzz", "world", "coverage", "mutants"] {
            let Ok(Command::Help(text)) = of(&format!("{name} --help")) else { panic!("{name} has no help") };
            assert!(text.starts_with(&format!("usage: cargo xtask {name}")), "{text}");
            assert!(USAGE.contains(&format!("\n  {name} ")), "{name} is not in the overview");
        }
    }

    #[test]
    fn the_options_of_crosscheck_are_numbers() {
        assert_eq!(of("crosscheck"), Ok(Command::Crosscheck(Random::WHOLE)));
        assert_eq!(of("crosscheck --random=5 --seed 7"), Ok(Command::Crosscheck(Random { steps: 5, seed: 7 })));
        assert!(of("crosscheck --random").is_err_and(|why| why.contains("needs a number")));
        assert!(of("crosscheck --engines all").is_err_and(|why| why.contains("does not take `--engines`")));
    }

    #[test]
    fn the_targets_of_the_fuzzer_are_known_by_name() {
        let request =
            |targets: &[&'static str], seconds, keeps| Ok(Command::Fuzz(fuzz::Request { targets: targets.to_vec(), seconds, keeps }));
        assert_eq!(of("fuzz"), request(&fuzz::TARGETS, 600, false));
        assert_eq!(of("fuzz --seconds=5 --keep facts ledger"), request(&["facts", "ledger"], 5, true));
        assert!(of("fuzz nothing").is_err_and(|why| why.contains("facts, foreign, ledger, exports, not `nothing`")));
        assert!(of("fuzz --seconds").is_err_and(|why| why.contains("needs a number")));
    }

    #[test]
    fn the_options_of_sim_are_numbers_and_a_word() {
        let options = ["--families=4", "--editions", "--days", "2"].map(str::to_owned).to_vec();
        assert_eq!(of("sim --families=4 --editions --days 2"), Ok(Command::Sim(options)));
        assert!(of("sim --days x").is_err_and(|why| why.contains("not `x`")));
    }

    #[test]
    fn the_options_of_crash_are_numbers() {
        assert_eq!(of("crash"), Ok(Command::Crash(Vec::new())));
        let options = ["--stories=40", "--kills", "2"].map(str::to_owned).to_vec();
        assert_eq!(of("crash --stories=40 --kills 2"), Ok(Command::Crash(options)));
        for (line, named) in
            [("crash --kills", "`--kills` needs a number, not ``"), ("crash --seed x", "not `x`"), ("crash 40", "does not take `40`")]
        {
            let Err(why) = of(line) else { panic!("{line} is understood") };
            assert!(why.contains(named), "{line}: {why}");
        }
    }

    #[test]
    fn the_options_of_model_are_numbers_and_words() {
        let options = ["--json", "--shapes", "5", "--depth=3"].map(str::to_owned).to_vec();
        assert_eq!(of("model --json --shapes 5 --depth=3"), Ok(Command::Model(options)));
        assert!(of("model --shapes --json").is_err_and(|why| why.contains("`--shapes` needs a number")));
        assert!(of("model --large").is_err_and(|why| why.contains("does not take `--large`")));
    }

    #[test]
    fn mutants_are_asked_for_by_room_part_and_history() {
        let request = |line: &str| match of(line) {
            Ok(Command::Mutants(request)) => request,
            other => panic!("{line}: {other:?}"),
        };
        let plain = request("mutants");
        assert_eq!(plain, Request { rooms: vec!["ladder", "derive"], shard: Shard::WHOLE, which: Which::All, only_list: false });
        assert_eq!(request("mutants --in plane,ladder --list").rooms, ["plane", "ladder"]);
        assert_eq!(request("mutants --in=derive --resume").which, Which::Untried);
        assert_eq!(request("mutants --retry --shard=2/5").which, Which::Survivors);
        assert_eq!(Some(request("mutants --shard 2/5").shard), Shard::of("2/5"));
        for (line, named) in [
            ("mutants --in", "`--in` needs some of ladder,derive,plane"),
            ("mutants --in ladder,machine", "not `machine`"),
            ("mutants --shard 6/5", "not `6/5`"),
            ("mutants --resume --retry", "take one"),
            ("mutants --all", "`--all`"),
        ] {
            assert!(of(line).is_err_and(|why| why.contains(named)), "{line}");
        }
    }

    #[test]
    fn a_wrong_word_is_named() {
        for (line, named) in [("", "missing"), ("fly", "`fly`"), ("run --fast", "`--fast`"), ("help fly", "`fly`")] {
            assert!(of(line).is_err_and(|why| why.contains(named)), "{line}");
        }
        for line in ["serve --port", "serve --port 0", "serve --port 65536", "serve --port x", "serve --port="] {
            assert!(of(line).is_err_and(|why| why.contains("1 to 65535")), "{line}");
        }
    }
}
