//! The help of each command.

const FUZZ: &str = "\
usage: cargo xtask fuzz [--seconds N] [--keep] [TARGET...]

Builds the guests and the targets, and lets libFuzzer try inputs on each of them: facts (the fact \
                    decoder, planes and ladder, under the
invariants), foreign (the reader of fixtures and data folders), ledger (the reader of entries, \
                    also of such as only a broken writer could have
sealed) and exports (what the guest offers, in wasmtime). A panic, a trap, a broken invariant, a \
                    limit that is reached or an input that takes
half a minute is a finding; its input is then in fuzz/artifacts. Needs cargo-fuzz and a nightly \
                    compiler.
Every test run replays what is in fuzz/corpus.

  --seconds N   try each target so long; 600 without it
  --keep        take into fuzz/corpus what reaches more than what is there

exit code: 0 no finding, 1 a finding or a failed build, 2 the command line was not understood, 3 \
                    cargo-fuzz is not installed";

const COVERAGE: &str = "\
usage: cargo xtask coverage

Builds the core, the host and the tests with rustc's counters (cargo-llvm-cov), and runs the unit \
                        tests of wakeful-core and those tests of
wakeful-tests that need the source tree alone (no built guest, no recordings beside the tree). For \
                        core/src/ladder, derive, record, state
and fact it prints: lines, regions and functions of each file and how many of them were executed; \
                        the lines that were
not; each rule of the ladder with how often it decided and the test that names it; each row of \
                        closure and continuation with how often it was
reached.

It fails where the lines executed of ladder or derive are below the floors in \
                        proof/src/coverage/mod.rs, where a rule never decided, where
a row was never reached, and where no test names a rule (a scenario by `rule=<id>`, a fixture by \
                        its expected rule, a Rust test in its body).

cargo-llvm-cov measures; it needs rustup's component llvm-tools, or LLVM_COV and LLVM_PROFDATA \
                        with the paths of LLVM's programs. What it builds
and writes is in target/coverage, beside a copy of the dependencies that are compiled already.

exit code: 0 nothing is missing, 1 something is or a test failed, 2 the command line was not \
                        understood, 3 cargo-llvm-cov or llvm-tools is
not installed";

const MUTANTS: &str = "\
usage: cargo xtask mutants [--in ROOM,...] [--again | --retry | --list] [--minutes N]
       cargo xtask mutants -- OPTIONS

Changes the core in small ways, one at a time (cargo-mutants makes the changes), and asks whether \
                       some test notices. The judges are the unit
tests of the core and the tests of wakeful-tests that need no guest, until one fails \
                       (cargo-nextest runs them); a guest that was built before
would notice everything. It works in a copy of the source tree, target/mutants/tree, and builds in \
                       target/mutants/target: the first run builds
the dependencies there, then a mutant takes a quarter of a minute, and no other build has to wait.

Files whose mutants were all tried stand in proof/src/mutants/settled.txt, which belongs into a \
                       commit. Such a file is tried again when its code
is different; comments, layout, imports and its path do not count. A run that was ended goes on \
                       with the file that it was at.

  --in ROOM,...   folders and files of core/src, without .rs; without it record, state, derive, \
                       fact, ladder and machine
  --again         try all mutants, also of settled files
  --retry         try only what survived; for new tests
  --list          print the files that would be tried, and try none
  --minutes N     begin no further file after N minutes
  -- OPTIONS      options of cargo-mutants, with these judges; nothing is kept. A part of all \
                       mutants: `-- --shard 0/8`; the code that a
                  diff touches: `-- --in-diff FILE`; names: `-- --re REGEX`

It ends with survivors, counts (caught: a test failed; timeout: the tests did not end; missed: it \
                       survived; unviable: it does not compile)
and the share of those that compile and were noticed, by a test that failed or did not end. \
                       Survivors that may survive stand in
proof/src/mutants/survivors.txt, each with its reason; they count as missed. A line there that \
                       does not survive any more is reported.

exit code: 0 at least 95 % were noticed, 1 fewer were or the tests fail without a mutant, 2 the \
                       command line was not understood,
3 cargo-mutants or cargo-nextest is not installed";

const MIRI: &str = "\
usage: cargo xtask miri

Runs the unit tests of wakeful-core in Miri, an interpreter that finds undefined behaviour and \
                    leaks, on this machine, on one whose words have 32
bits, and on one whose bytes stand the other way round. The core itself has no unsafe code; what \
                    it stands on has some. Needs a nightly compiler
with Miri.

exit code: 0 nothing was found, 1 something was, 2 the command line was not understood, 3 Miri is \
                    not installed";

const DENY: &str = "\
usage: cargo xtask deny

Checks licences, bans and sources of every dependency of the three workspaces against deny.toml, \
                    with cargo-deny. It asks no server.

exit code: 0 all are as deny.toml has them, 1 one is not, 2 the command line was not understood, 3 \
                    cargo-deny is not installed";

const SEMVER: &str = "\
usage: cargo xtask semver [--against REV]

Compares the public interfaces of wakeful-core and wakeful with those of the last release, with \
                      cargo-semver-checks: what changed must be
allowed by the versions. Without a release there is nothing to compare with, and it says so.

  --against REV   compare with this commit instead

exit code: 0 the versions allow it, 1 they do not, 2 the command line was not understood, 3 \
                      cargo-semver-checks is not installed";

const SEEDED: &str = "\
usage: cargo xtask seeded [METHOD...]

A method that never failed is not trusted. Makes the mistakes that proof/src/seeded/mistakes.rs \
                      lists, one at a time, in a copy of the tree, and
asks the methods beside each: they must fail, and say why. The tree itself is never touched. A \
                      name of two words has a hyphen here: `unit-tests`.
The first run compiles a good part of the native side in the copy; a mistake takes some minutes. A \
                      run of all that found all is kept in
docs/proof/runs.json, and docs/proof.md is written again.

exit code: 0 every mistake was found, 1 one was not or cannot be made any more, 2 the command line \
                      was not understood";

const NIGHT: &str = "\
usage: cargo xtask night [--minutes N] [METHOD...]

Runs every method by itself, one after the other: those that go on for as long as they are given \
                     share N minutes, the others take what they take.
What each printed is kept in docs/proof/runs.json, with command, commit and time, and \
                     docs/proof.md is written again. One that fails does not stop
the others. What each printed as a whole is in target/xtask.

  --minutes N   the time that is shared; 480 without it
  METHOD        only these

exit code: 0 all held, 1 one failed or its tools are not installed, 2 the command line was not \
                     understood";

const PROOF: &str = "\
usage: cargo xtask proof [--check]

Writes docs/proof.md from the tree, docs/proof/runs.json and docs/proof/found.md. A test of \
                     wakeful-proof fails when the page is not what they
say, when no method checks a statement, and when a test that it names is gone.

  --check   print what that test finds, and write nothing

exit code: 0 it is written, or nothing was found, 1 something was or cannot be read, 2 the command \
                     line was not understood";

pub(super) const SIM_AGAINST: &str = "\
usage: cargo xtask sim --against REV [--seed N] [--families N] [--days N]

Lets the same families live with the core of this tree and with the core of a commit, and says of \
                                      each the first entry at which the two part:
agent, entry, what the one and the other wrote. The other core is built in a copy of this tree, \
                                      target/versions, with the host and the tests
of this tree. `cargo xtask sim --against HEAD~5 --families 4`

exit code: 0 all families are the same, 1 some part, or the other core does not compile or they \
                                      did not live to their end, 2 the command line
was not understood";

/// What a command says of itself.
pub(super) fn text(name: &str) -> Option<&'static str> {
    match name {
        "fuzz" => Some(FUZZ),
        "coverage" => Some(COVERAGE),
        "mutants" => Some(MUTANTS),
        "miri" => Some(MIRI),
        "deny" => Some(DENY),
        "semver" => Some(SEMVER),
        "seeded" => Some(SEEDED),
        "night" => Some(NIGHT),
        "proof" => Some(PROOF),
        _ => None,
    }
}
