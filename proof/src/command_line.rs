//! The command line of `wakeful-proof`.

use clap::{Parser, Subcommand};

use crate::{fuzz, mutants, night};

/// The long checks, which `cargo xtask` calls.
#[derive(Debug, Parser)]
#[command(
    name = "wakeful-proof",
    bin_name = "cargo xtask",
    after_help = "exit code: 0 nothing is wrong, 1 something is or a build failed, \
                  2 the command line is wrong, 3 a tool is missing"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One parsed command line.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Command {
    /// Simulate the same families with the core of this tree and with that of a commit
    ///
    /// For each family it prints the first entry at which the two differ: agent, entry, and what
    /// each wrote. The other core is built in a copy of this tree, target/versions, with the host
    /// and the tests of this tree.
    Sim {
        /// Compare with the core of this commit
        #[arg(long, value_name = "REV")]
        against: String,
        /// The seed of the first family
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
        /// The number of families
        #[arg(long, value_name = "N")]
        families: Option<u64>,
        /// The number of wild days
        #[arg(long, value_name = "N")]
        days: Option<u64>,
    },
    /// Let libFuzzer look for bytes that break the decoder, the readers or the guest
    ///
    /// facts: the decoder of facts, the planes and the ladder, under the invariants. foreign: the
    /// reader of fixtures and data folders. ledger: the reader of entries, including entries that
    /// only a broken writer could have sealed. exports: the functions of the guest, in wasmtime.
    ///
    /// A panic, a trap, a broken invariant, a limit that is reached, or an input that takes half a
    /// minute is a finding; its input is then in fuzz/artifacts. This needs cargo-fuzz and a
    /// nightly compiler. Every test run replays what is in fuzz/corpus.
    Fuzz(fuzz::Request),
    /// Report which lines, rules and rows of the core the tests reach
    ///
    /// Builds the core, the host and the tests with rustc's counters (cargo-llvm-cov). Runs the
    /// unit tests of wakeful-core, and the tests of wakeful-tests that need only the source tree.
    /// For ladder, derive, record, state and fact of core/src it prints how many lines, regions and
    /// functions of each file were executed, and the lines that were not. It also prints each rule
    /// of the ladder with how often it decided and the test that names it, and how often each row
    /// of closure and continuation was reached.
    ///
    /// It fails if the executed lines of ladder or derive are below the floors in
    /// proof/src/coverage/mod.rs, if a rule never decided, if a row was never reached, or if no
    /// test names a rule. It needs cargo-llvm-cov, and rustup's component llvm-tools or the paths
    /// of LLVM's programs in LLVM_COV and LLVM_PROFDATA.
    Coverage,
    /// Change the core in small ways, one at a time, and see whether a test fails
    ///
    /// cargo-nextest runs the unit tests of the core and the tests of wakeful-tests that need no
    /// guest, until one fails; a guest that was built before the mutant would notice everything.
    /// The copy of the source tree is target/mutants/tree, and its builds are in
    /// target/mutants/target.
    ///
    /// Files whose mutants were all tried are listed in proof/src/mutants/settled.txt, which
    /// belongs into a commit. Such a file is tried again if its code changed. A run that was
    /// stopped continues with its file.
    ///
    /// It ends with the survivors, the counts, and the share of compiling mutants that were
    /// noticed. Survivors that may survive are listed in proof/src/mutants/survivors.txt, each with
    /// its reason; they count as missed. It fails if fewer than 95 % were noticed.
    Mutants(mutants::Request),
    /// Run the tests of the core under Miri, also for two unlike machines
    ///
    /// Miri is an interpreter that finds undefined behaviour and leaks: for this machine, for one
    /// with 32-bit words, and for one with the other byte order. The core has no unsafe code; some
    /// of its dependencies have. This needs a nightly compiler with Miri.
    Miri,
    /// Check licences, bans and sources of every dependency against deny.toml, with cargo-deny
    Deny,
    /// Check whether the public interfaces allow the next version
    ///
    /// Compares with the last release, with cargo-semver-checks. Without a release it says that
    /// there is nothing to compare with.
    Semver {
        /// Compare with this commit instead
        #[arg(long, value_name = "REV")]
        against: Option<String>,
    },
    /// Make deliberate mistakes in a copy, and see whether each method finds its own
    ///
    /// Makes the mistakes of proof/src/seeded/mistakes.rs, one at a time, in a copy of the tree,
    /// and runs the methods that must find each. The first run compiles most of the native side in
    /// the copy; a mistake takes some minutes. If a run of all finds all, it is kept in
    /// docs/proof/runs.json, and docs/proof.md is written again.
    Seeded {
        /// Only what these methods must find; in a name of two words, write a hyphen
        #[arg(value_name = "METHOD", value_parser = method)]
        methods: Vec<&'static str>,
    },
    /// Run every method for a share of the time, and keep what it printed
    ///
    /// Methods without an end share the time; the others take the time that they need. What each
    /// printed is kept in docs/proof/runs.json with command, commit and time, and docs/proof.md is
    /// written again. If a method fails, the others still run. The whole output of each is in
    /// target/xtask.
    Night(night::Request),
    /// Write docs/proof.md: statements, code, tests, methods, last numbers
    ///
    /// A test of wakeful-proof fails if the page is stale, if no method checks a statement, or if a
    /// test that it names is gone.
    Proof {
        /// Print what that test finds, and write nothing
        #[arg(long)]
        check: bool,
    },
}

/// The table of methods has names with blanks; on a command line they have hyphens.
fn method(name: &str) -> Result<&'static str, String> {
    let known = || crate::page::methods::METHODS.iter().map(|method| method.name);
    let all = || known().map(|name| name.replace(' ', "-")).collect::<Vec<_>>().join(", ");
    known()
        .find(|known| *known == name.replace('-', " "))
        .ok_or_else(|| format!("one of {}", all()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(line: &str) -> Result<Command, clap::Error> {
        Cli::try_parse_from(["wakeful-proof"].into_iter().chain(line.split_whitespace()))
            .map(|cli| cli.command)
    }

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn each_command_that_goes_to_this_program_is_known() {
        for name in xtask::forward::names_of_proof() {
            let told = parse(&format!("{name} --help")).expect_err("its help");
            assert_eq!(told.exit_code(), 0, "{name}: {told}");
        }
    }

    #[test]
    fn names_and_numbers_are_checked() {
        assert_eq!(
            parse("seeded unit-tests sim").expect("known"),
            Command::Seeded { methods: vec!["unit tests", "sim"] }
        );
        for (line, named) in [
            ("seeded luck", "unit-tests, tables"),
            ("night tables", "test, busy, model"),
            ("fuzz nothing", "facts, foreign, ledger, exports"),
            ("mutants --again --retry", "cannot be used with"),
            ("mutants --minutes all", "invalid value 'all'"),
            ("sim --days 2", "--against"),
        ] {
            let why = parse(line).expect_err("it is wrong");
            assert_eq!(why.exit_code(), 2, "{line}");
            assert!(why.to_string().contains(named), "{line}: {why}");
        }
    }

    #[test]
    fn mutants_takes_options_for_its_tool() {
        let Ok(Command::Mutants(request)) =
            parse("mutants --in plane,ladder -- --shard 1/8 --in-diff a.diff")
        else {
            panic!("it is understood")
        };
        assert_eq!(request.rooms, ["plane", "ladder"]);
        assert_eq!(request.options, ["--shard", "1/8", "--in-diff", "a.diff"]);
    }
}
