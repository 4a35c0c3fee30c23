//! Commands that are programs of their own, which read their options and have their own help: the
//! simulations and measurements of `wakeful-tests`, and the long checks of `wakeful-proof`. So this
//! program compiles quickly.

use std::{env, process::ExitCode};

use crate::{
    browser,
    call::{Call, Failure, exit_code},
    guests, native, packages,
    paths::{Paths, program},
    postgres, run,
    stage::stage,
    wall,
};

/// A program, and what it does.
struct Program {
    name: &'static str,
    does: &'static str,
    built: Built,
}

/// How a program is built and started.
#[derive(Clone, Copy)]
enum Built {
    /// As the tests are, with these programs beside it.
    ForTests(&'static [&'static str]),
    /// In the release profile, beside `wakeful`, whose path it gets as `--program`.
    Released,
    /// The bench, which also measures guests, other engines and a database.
    Bench,
    /// A command of `wakeful-proof`.
    Proof,
}

use Built::{Bench, ForTests, Proof, Released};

const PROGRAMS: [Program; 16] = [
    Program {
        name: "crash",
        does: "Kill processes after each append, and compare what comes of their stories",
        built: ForTests(&["wakeful"]),
    },
    Program {
        name: "sim",
        does: "Simulate families of agents over virtual days with faults at every import",
        built: ForTests(&[]),
    },
    Program {
        name: "model",
        does: "Search a million states of the machine, breadth first, and check each batch",
        built: ForTests(&[]),
    },
    Program {
        name: "load",
        does: "Put load on a server of 10,000 agents, kill it, and verify every ledger",
        built: Released,
    },
    Program {
        name: "fleet",
        does: "Run agents on three servers of one PostgreSQL store, and kill servers and primary",
        built: Released,
    },
    Program {
        name: "scale",
        does: "Simulate millions of agents, with what a turn costs on this machine",
        built: Released,
    },
    Program {
        name: "bench",
        does: "Measure what steps, decisions, openings and engines cost",
        built: Bench,
    },
    Program {
        name: "fuzz",
        does: "Let libFuzzer look for bytes that break the decoder, the readers or the guest",
        built: Proof,
    },
    Program {
        name: "coverage",
        does: "Report which lines, rules and rows of the core the tests reach",
        built: Proof,
    },
    Program {
        name: "mutants",
        does: "Change the core in small ways, one at a time, and see whether a test fails",
        built: Proof,
    },
    Program {
        name: "miri",
        does: "Run the tests of the core under Miri, also for two unlike machines",
        built: Proof,
    },
    Program {
        name: "deny",
        does: "Check licences, bans and sources of every dependency",
        built: Proof,
    },
    Program {
        name: "semver",
        does: "Check whether the public interfaces allow the next version",
        built: Proof,
    },
    Program {
        name: "seeded",
        does: "Make deliberate mistakes in a copy, and see whether each method finds its own",
        built: Proof,
    },
    Program {
        name: "night",
        does: "Run every method for a share of the time, and keep what it printed",
        built: Proof,
    },
    Program {
        name: "proof",
        does: "Write docs/proof.md: statements, code, tests, methods, last numbers",
        built: Proof,
    },
];

/// The names of these commands.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().map(|program| program.name)
}

/// The names of the commands of `wakeful-proof`.
pub fn names_of_proof() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().filter(|it| matches!(it.built, Proof)).map(|program| program.name)
}

/// Whether this is one of these commands.
pub(crate) fn knows(name: &str) -> bool {
    names().any(|known| known == name)
}

/// What such a command does.
pub(crate) fn does(name: &str) -> Option<&'static str> {
    PROGRAMS.iter().find(|program| program.name == name).map(|program| program.does)
}

/// Builds the program of a command, and runs it with these options. A path among the options is
/// relative to the folder in which the developer typed it.
pub(crate) fn forward(paths: &Paths, words: &[String]) -> Result<ExitCode, Failure> {
    let found = words.split_first().and_then(|(name, options)| {
        PROGRAMS.iter().find(|program| program.name == name).map(|program| (program, options))
    });
    let Some((Program { name, built, .. }, options)) = found else {
        return Err(Failure::new("this command has no program"));
    };
    // Help needs no database and no guest.
    let only_help = options.iter().any(|option| option == "--help" || option == "-h");
    match built {
        // A comparison needs another core in a copy of the tree.
        ForTests(_) if *name == "sim" && options.iter().any(|it| it.starts_with("--against")) => {
            proof(paths, words)
        }
        ForTests(_) | Released | Bench if only_help => for_tests(paths, &[name], options),
        ForTests(beside) => for_tests(paths, &[&[*name], *beside].concat(), options),
        Released => {
            let mut options = options.to_vec();
            if *name != "load" && !options.iter().any(|it| it.starts_with("--costs")) {
                stage("postgres", "PostgreSQL, of which each store is made", || {
                    postgres::find(paths)
                })?;
            }
            if *name == "fleet" {
                stage("wall", "bubblewrap, behind which agents run commands", || {
                    wall::find(paths)
                })?;
            }
            if let Some(at) = options.iter().position(|option| option == "--patroni") {
                let patroni =
                    stage("patroni", "Patroni and etcd, which elect the primary", || {
                        postgres::patroni(paths)
                    })?;
                options.insert(at + 1, patroni.display().to_string());
            }
            released(paths, name, &options)
        }
        Bench => bench(paths, options),
        Proof => proof(paths, words),
    }
}

/// Builds programs as the tests are built, and runs the first one.
fn for_tests(paths: &Paths, names: &[&str], options: &[String]) -> Result<ExitCode, Failure> {
    stage("native", "building this program", || native::build_programs(paths, names))?;
    let file = paths.target().join("debug").join(program(names[0]));
    started(paths, Call::new(paths, names[0], file), options)
}

/// Builds a program in the release profile and runs it, with the command line unless it gets what
/// was measured before.
fn released(paths: &Paths, name: &str, options: &[String]) -> Result<ExitCode, Failure> {
    let starts_servers = !options.iter().any(|option| option.starts_with("--costs"));
    let names: &[&str] = if starts_servers { &[name, "wakeful"] } else { &[name] };
    stage("release", "this program and what it starts, optimised", || {
        names.iter().try_for_each(|program| native::build_released(paths, program))
    })?;
    let call = Call::new(paths, name, paths.released(name));
    let call = match starts_servers {
        true => call.arg("--program").arg(paths.released("wakeful")),
        false => call,
    };
    started(paths, call, options)
}

fn bench(paths: &Paths, options: &[String]) -> Result<ExitCode, Failure> {
    run::build(paths)?;
    stage("npm module", "the web module as the npm package has it", || {
        guests::build_package(paths)
    })?;
    let browser = stage("browser", "finding a browser and its driver", || browser::find(paths))?;
    stage("workbench packages", "npm ci, for the driver of the browser", || {
        packages::install(paths, &paths.web_demo())
    })?;
    stage("peers", "npm ci, for what decisions are compared with", || {
        packages::install(paths, &paths.at("tests/peers"))
    })?;
    stage("postgres", "PostgreSQL, for the store that is in it", || postgres::find(paths))?;
    stage("release", "core, host and the bench, optimised", || {
        // Some groups measure the program `wakeful`, which they start from the same folder.
        ["bench", "wakeful"].iter().try_for_each(|program| native::build_released(paths, program))
    })?;
    let call = Call::new(paths, "bench", paths.released("bench")).env("CHROME", &browser.chrome);
    started(paths, call, options)
}

/// Builds `wakeful-proof`, then replaces this process with it.
fn proof(paths: &Paths, words: &[String]) -> Result<ExitCode, Failure> {
    let call = Call::cargo(paths, "proof", "run").folder(here(paths)).args([
        "--quiet",
        "--package",
        "wakeful-proof",
        "--manifest-path",
    ]);
    call.arg(paths.at("Cargo.toml")).arg("--").args(words).become_it()
}

fn started(paths: &Paths, call: Call, options: &[String]) -> Result<ExitCode, Failure> {
    call.folder(here(paths)).args(options).pass_through().map(exit_code)
}

fn here(paths: &Paths) -> std::path::PathBuf {
    env::current_dir().unwrap_or_else(|_| paths.root().to_owned())
}
