//! The help of each command.

const FUZZ: &str = "\
usage: cargo xtask fuzz [--seconds N] [--keep] [TARGET...]

Builds the guests and the targets, and lets libFuzzer try inputs on each of them:

  facts     the decoder of facts, the planes and the ladder, under the invariants
  foreign   the reader of fixtures and data folders
  ledger    the reader of entries, also of entries that only a broken writer could have sealed
  exports   the functions of the guest, in wasmtime

A panic, a trap, a broken invariant, a limit that is reached, or an input that takes half a minute
is a finding; its input is then in fuzz/artifacts. This needs cargo-fuzz and a nightly compiler.
Every test run replays what is in fuzz/corpus.

  --seconds N   try each target for this time; by default 600
  --keep        add to fuzz/corpus the inputs that reach more code than those in it

exit code: 0 no finding, 1 a finding or a failed build, 2 the command line is wrong,
           3 cargo-fuzz is missing";

const COVERAGE: &str = "\
usage: cargo xtask coverage

Builds the core, the host and the tests with rustc's counters (cargo-llvm-cov). Runs the unit tests
of wakeful-core, and the tests of wakeful-tests that need only the source tree. For ladder,
derive, record, state and fact of core/src it prints how many lines, regions and functions of each
file were executed, and the lines that were not. It also prints each rule of the ladder with how
often it decided and the test that names it, and how often each row of closure and continuation
was reached.

It fails if the executed lines of ladder or derive are below the floors in
proof/src/coverage/mod.rs, if a rule never decided, if a row was never reached, or if no test
names a rule. A scenario names a rule by `rule=<id>`, a fixture by its expected rule, and a Rust
test in its body.

It needs cargo-llvm-cov, and rustup's component llvm-tools or the paths of LLVM's programs in
LLVM_COV and LLVM_PROFDATA. What it builds and writes is in target/coverage, beside a copy of the
compiled dependencies.

exit code: 0 nothing is missing, 1 something is or a test failed, 2 the command line is wrong,
           3 cargo-llvm-cov or llvm-tools is missing";

const MUTANTS: &str = "\
usage: cargo xtask mutants [--in FLOOR,...] [--again | --retry | --list] [--minutes N]
       cargo xtask mutants -- OPTIONS

Changes the core in small ways, one at a time (cargo-mutants), and checks whether a test fails.
cargo-nextest runs the unit tests of the core and the tests of wakeful-tests that need no guest,
until one fails; a guest that was built before the mutant would notice everything. The copy of the
source tree is target/mutants/tree, and its builds are in target/mutants/target. The first run
builds the dependencies there; then a mutant takes a quarter of a minute, and no other build has
to wait.

Files whose mutants were all tried are listed in proof/src/mutants/settled.txt, which belongs into
a commit. Such a file is tried again if its code changed; comments, layout, imports and its path
do not count. A run that was stopped continues with its file.

  --in FLOOR,...  folders and files of core/src, without .rs; by default record, state, derive,
                  fact, ladder and machine
  --again         try all mutants, also of settled files
  --retry         try only the survivors; for new tests
  --list          print the files that would be tried, and try none
  --minutes N     begin no further file after N minutes
  -- OPTIONS      options of cargo-mutants; nothing is kept. One shard of all mutants:
                  `-- --shard 0/8`; the code that a diff touches: `-- --in-diff FILE`; by name:
                  `-- --re REGEX`

It ends with the survivors, the counts, and the share of compiling mutants that were noticed.
The counts are caught (a test failed), timeout (the tests did not end), missed (it survived) and
unviable (it does not compile). Survivors that may survive are listed in
proof/src/mutants/survivors.txt, each with its reason; they count as missed. A line there that no
longer survives is reported.

exit code: 0 at least 95 % were noticed, 1 fewer were or the tests fail without a mutant,
           2 the command line is wrong, 3 cargo-mutants or cargo-nextest is missing";

const MIRI: &str = "\
usage: cargo xtask miri

Runs the unit tests of wakeful-core under Miri, an interpreter that finds undefined behaviour and
leaks: for this machine, for one with 32-bit words, and for one with the other byte order. The
core has no unsafe code; some of its dependencies have. This needs a nightly compiler with Miri.

exit code: 0 nothing was found, 1 something was, 2 the command line is wrong, 3 Miri is missing";

const DENY: &str = "\
usage: cargo xtask deny

Checks licences, bans and sources of every dependency of the three workspaces against deny.toml,
with cargo-deny. It works offline.

exit code: 0 all agree with deny.toml, 1 one does not, 2 the command line is wrong,
           3 cargo-deny is missing";

const SEMVER: &str = "\
usage: cargo xtask semver [--against REV]

Compares the public interfaces of wakeful-core and wakeful with those of the last release, with
cargo-semver-checks: the versions must allow what changed. Without a release it says that there is
nothing to compare with.

  --against REV   compare with this commit instead

exit code: 0 the versions allow it, 1 they do not, 2 the command line is wrong,
           3 cargo-semver-checks is missing";

const SEEDED: &str = "\
usage: cargo xtask seeded [METHOD...]

Checks that each method can fail. Makes the mistakes of proof/src/seeded/mistakes.rs, one at a
time, in a copy of the tree, and runs the methods that must find each. The tree itself is never
touched. In a name of two words, write a hyphen: `unit-tests`. The first run compiles most of the
native side in the copy; a mistake takes some minutes. If a run of all finds all, it is kept in
docs/proof/runs.json, and docs/proof.md is written again.

exit code: 0 every mistake was found, 1 one was not or no longer applies,
           2 the command line is wrong";

const NIGHT: &str = "\
usage: cargo xtask night [--minutes N] [METHOD...]

Runs every method, one after the other. Methods without an end share N minutes; the others take
the time that they need. What each printed is kept in docs/proof/runs.json with command, commit
and time, and docs/proof.md is written again. If a method fails, the others still run. The whole
output of each is in target/xtask.

  --minutes N   the time to share; by default 480
  METHOD        only these

exit code: 0 all held, 1 one failed or its tools are missing, 2 the command line is wrong";

const PROOF: &str = "\
usage: cargo xtask proof [--check]

Writes docs/proof.md from the tree, docs/proof/runs.json and docs/proof/found.md. A test of
wakeful-proof fails if the page is stale, if no method checks a statement, or if a test that it
names is gone.

  --check   print what that test finds, and write nothing

exit code: 0 it is written, or nothing was found, 1 something was or cannot be read,
           2 the command line is wrong";

pub(super) const SIM_AGAINST: &str = "\
usage: cargo xtask sim --against REV [--seed N] [--families N] [--days N]

Simulates the same families with the core of this tree and with the core of a commit. For each
family it prints the first entry at which the two differ: agent, entry, and what each wrote. The
other core is built in a copy of this tree, target/versions, with the host and the tests of this
tree.

example:
  cargo xtask sim --against HEAD~5 --families 4

exit code: 0 all families are the same, 1 some differ, or the other core does not compile or did
           not reach their end, 2 the command line is wrong";

/// The help of a command.
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
