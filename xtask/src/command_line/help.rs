//! The help: of all commands in a line each, and of each at length.

pub(crate) const USAGE: &str = "\
Builds, runs and tests Wakeful.

usage: cargo xtask <command>

  run         play a first story, build guests and native host, compare the engines on every \
                                story, fixture and scenario
  serve       build everything and serve the workbench on a local port
  test        every check and every test, with a table of times and counts
  npm         build and pack the npm package, and say what it weighs
  package     pack the crates as a registry gives them out, install the program from them, and use \
                                it
  tidy        what no compiler checks: file openings, lengths, names, dependencies, citations
  crosscheck  compare all engines, also Chromium and Python, over all cases and over random stories
  crash       let processes die after each append of scenarios and random stories, and for real, \
                                and compare what comes of it
  sim         let families of agents live through virtual days with faults at every import, and \
                                ask what was left undone
  model       search the states that the machine can come to, breadth first, and check every \
                                batch, ranking and way to rest
  bench       measure what steps, decisions, openings and engines cost, each beside something \
                                measured in the same run
  fuzz        let libFuzzer look for bytes over which the decoder, the readers or the guest break \
                                down
  world       write docs/world.md, the interface of the component, from its WIT
  coverage    what the tests execute of the core's decisions, and whether every rule was hit and \
                                is named by a test
  mutants     change the core in small ways, one at a time, and ask whether some test notices
  miri        interpret the tests of the core, on this machine and on two unlike it: undefined \
                                behaviour, leaks
  deny        licences, bans and sources of every dependency
  semver      whether the public interfaces allow what the versions say
  seeded      make mistakes on purpose, in a copy, and ask the methods whether they find them
  night       run every method for a share of the time, and keep what it printed
  proof       write docs/proof.md: statements, code, tests, methods, the numbers of the last runs
  help        this text; `cargo xtask <command> --help` says more

exit code: 0 all went well, 1 something failed, 2 the command line was not understood, 3 a program \
                                that measures is not installed";

const RUN: &str = "\
usage: cargo xtask run

Works in a clean clone with rustup, a C compiler and Node 20 or newer. First builds the core \
                   alone, plays one story with it, and prints each
decision with the rule that fired. Then adds the wasm targets if they are missing, builds the \
                   build tools once, the guests and, beside them,
the native host, and runs every story, fixture folder and scenario through the engines native, \
                   wasmtime, pulley, winch and node, to compare
their traces. The last line is `N cases, N steps, 5 engines, N differences`.

exit code: 0 no difference, 1 a difference or a failed build, 2 the command line was not \
                   understood, 3 an engine cannot run here";

const SERVE: &str = "\
usage: cargo xtask serve [--port N]

Builds the guests, the native host and the workbench, records the traces that the workbench shows, \
                     and serves it on 127.0.0.1 until it is
interrupted (Ctrl-C).

  --port N   serve on this port; without it the system gives a free one

exit code: 0 the server ended, 1 a build failed or the port is in use, 2 the command line was not \
                     understood";

const TEST: &str = "\
usage: cargo xtask test [--bless]

Runs every check and every test: tidy, format, clippy, the core on wasm32v1-none, the published
crates on Windows, native tests, guests in Node and in headless Chromium,
and the workbench. A stage that fails does not stop the others, except those that need what it \
                    makes. The last line is
`N passed, N failed, N skipped`, summed from what the test runners counted; a stage without tests \
                    counts as one check.
What each stage printed is kept in target/xtask.

  --bless   keep what the hot paths cost now in fuel (host-native/tests/fuel.txt), instead of \
                    comparing with what is kept

environment:
  CI=true               a skipped test is a failure
  CHROME, CHROMEDRIVER  the browser and its driver; without them they are looked for on PATH
  WAKEFUL_NO_INSTALL=1  never install a browser or MinGW (otherwise apt-get does, for root, when \
                    one is missing)

exit code: 0 nothing failed, 1 something failed, 2 the command line was not understood";

const NPM: &str = "\
usage: cargo xtask npm

Builds the web module and the npm package over it (npm/), and packs it: \
                   target/npm/wakeful-scheduler-VERSION.tgz, whose content is in
target/npm/package. Prints the sizes of the module, of what carries values into it, and of the \
                   tarball. `cargo xtask test` tests it as small
projects consume it.

exit code: 0 it is packed, 1 a build failed, 2 the command line was not understood";

const PACKAGE: &str = "\
usage: cargo xtask package [--no-install]

Packs wakeful-core-derive, wakeful-core and wakeful into target/package/package, each as a \
                       registry gives it out; the host carries the built
guest and its worlds. Looks into each, then installs the program from the unpacked crates into a \
                       folder outside of the tree, and has it explain a
story natively and in its sandbox. They are packed in target/package/tree, a copy in which the \
                       host's folder has its guest: a release is
published from there (CONTRIBUTING.md). `cargo xtask test` packs them too.

  --no-install   pack and look into them only; compiling the installed program takes four minutes \
                       on two cores

exit code: 0 they are packed and work, 1 something is missing or failed, 2 the command line was \
                       not understood";

const TIDY: &str = "\
usage: cargo xtask tidy [--statements | --uncited]

Checks what no compiler checks, and prints each finding as `file:line: what is wrong; what to do`: \
                    the opening comment of each source
file, its length and its name, paths of one machine, registry hosts, unfinished and switched-off \
                    code, the reasons for dependencies in
ARCHITECTURE.md, citations of the contract, the shape of the fixture folders, docs/world.md, and \
                    the files of released worlds.

A comment cites a statement of the contract as `contract 5.3`, `D4` or `I16`. A statement that \
                    neither code nor a test cites is a finding,
unless it holds only live. Tests are what stands below a folder `tests` or `e2e` (scenarios and \
                    READMEs of fixtures included),
in `*.test.*`, and under `#[cfg(test)]`; code is the rest of core, host-native, agent, cli, wasm \
                    and web-demo.

  --statements   a line per statement first: its number, the first code and the first test that \
                    cite it (`-`: none), `(live)`
  --uncited      name the statements that nothing cites

exit code: 0 no finding, 1 findings, 2 the command line was not understood";

const CROSSCHECK: &str = "\
usage: cargo xtask crosscheck [--random N] [--seed N]

Builds everything, finds a browser, makes a Python environment in target/python, and runs `wakeful \
                          crosscheck`: all stories, fixtures and
scenarios in native, wasmtime, pulley, winch, node, chromium and python; then random stories until \
                          they have taken N steps in native and
wasmtime, a tenth of it in native, node and chromium, a fiftieth of it in wasmtime, pulley, winch \
                          and python. A story over which engines
differ is made as small as it can be and written to target/crosscheck. Where Python or its package \
                          cannot be had, the engine says why, and the
exit code is 3. `cargo xtask test` does a small share of it.

  --random N   so many steps; 1000000 without it, which takes ten minutes on two cores
  --seed N     where the drawing of stories begins; the same seed draws the same stories

exit code: 0 no difference, 1 a difference or a failed build, 2 the command line was not \
                          understood, 3 an engine cannot run here";

const CRASH: &str = "\
usage: cargo xtask crash [--stories N] [--kills N] [--seed N]

Lets processes die, and compares what comes of their stories with what came of those that nobody \
                     killed. Every scenario and N random stories
are cut after each append and go on from what the ledger holds then; each story dies once more on \
                     its way from there. N more are played by
real processes, `wakeful run` on a SQLite file, which are killed (SIGKILL) at drawn instants. No \
                     obligation may be lost, no message processed
twice, no recorded tool call made again; stories in which nothing races must come to the same end. \
                     A line per part says how much was tried.
A story that fails is made as small as it can be and printed. `cargo xtask test` does a twentieth \
                     of it.

  --stories N   random stories that are cut after each append; 10000 without it, which takes a \
                     quarter of an hour on two cores
  --kills N     random stories whose processes are killed; 200 without it
  --seed N      where the drawing of stories begins; the same seed draws the same stories

exit code: 0 nothing was lost and nothing done twice, 1 something was or a build failed, 2 the \
                     command line was not understood";

const SIM: &str = "\
usage: cargo xtask sim [--seed N] [--families N] [--days N] [--minutes N | --hours N | --editions \
                   | --against REV]

Lets families of agents live: an agent and the children that its turns make, each with its ledger, \
                   over virtual days. Ledgers fail before and
after they have stored, others write first, snapshots are lost or damaged, providers do not \
                   answer, processes are killed, clocks jump, input
comes twice and late, and turns do whatever they like. Each fifth batch is checked against the \
                   invariants. After its wild days a family has calm
ones, in which nothing fails: then no run, message, task or item may be left, and no result \
                   untold. Prints what befell how often, what was
wrong, and a digest: equal digests mean equal histories. A family is determined by its seed, its \
                   days and the commit.
`cargo xtask sim --hours 8` goes on for a night, `cargo xtask sim --seed 7 --families 1` plays the \
                   family of seed 7 again.

  --seed N          the seed of the first family; 0 without it
  --families N      how many; 20 without it; of ten wild days each takes about a minute and a half \
                   of one core
  --days N          how many wild days each lives; 10 without it
  --minutes N       go on for so long, instead of so many families
  --hours N         the same in hours
  --histories DIR   write what each agent wrote to DIR/SEED/AGENT.jsonl too
  --editions        say where each family first decides otherwise in the other edition, instead
  --against REV     let the same families live with the core of this commit too; `cargo xtask sim \
                   --against REV --help`

exit code: 0 nothing was wrong, 1 something was or a build failed, 2 the command line was not \
                   understood";

const MODEL: &str = "\
usage: cargo xtask model [--shapes N] [--depth N] [--small NAME] [--write FOLDER] [--adversary \
                     NAME] [--json]

Searches the states that the real machine can come to, breadth first: two work items, two tasks, \
                     two timers, an external trigger, an operator,
hints, waits, stop, start, shutdown, a provider that succeeds, fails or says nothing, time, and a \
                     death between any two appends. It begins
from thirteen openings at once: an agent that knows nothing, and such as are in the middle of \
                     something (tests/src/model/openings.rs). States
are counted by their shape. Each batch is checked against the invariants of contract 14 and \
                     against what must hold of its effects; each
state must come to rest, whether its turns complete, owe a retry or fail for good, and owe nothing \
                     then; where turns make no progress, a ranking
must fall. States at the edge, from which no move was made, are walked to rest as far as no answer \
                     of the provider is needed.
It prints openings, shapes, transitions, depth, how many stand at the edge, from how many shapes \
                     the way to rest was walked, the longest
such way and the time. What is broken is printed and written as a scenario, the shortest that was \
                     found, which tests/scenarios could hold
as it is. Every test run searches 50000 shapes, and asks that eight seeded mistakes are found; \
                     `cargo xtask model --shapes 50000 --adversary
window` shows how one is.

  --shapes N         end when so many shapes were found; 1000000 without it
  --depth N          go so many moves far
  --small NAME       search from nothing, with few who take part: SMALL_NAMES
  --write FOLDER     where what is broken is written; target/model without it
  --adversary NAME   let the checker find a seeded mistake: reason-class, window, hidden-rule, \
                     cleared-blocker, lost-interjection,
                     unseen-recheck, late-wait or spin
  --json             print one line of JSON

exit code: 0 nothing is broken, 1 something is or a build failed, 2 the command line was not \
                     understood";

const BENCH: &str = "\
usage: cargo xtask bench [--quick] [--json FILE] [GROUP...]

Builds the guests, the npm package's module and an optimised native host, and measures: CPU time, \
                     and of several turns the least. Every figure
is a ratio to something that is measured beside it in the same run, since machines differ and are \
                     noisy; what stands beside other work on the
same machine differs by a tenth between runs. docs/performance.md says what the figures are and \
                     has a whole run.

  --quick      under three minutes, once everything is built: a tenth of the history, fewer turns
  --json FILE  write the figures to FILE too
  GROUP        only these: round, sandbox, memory, script, peers, history, opening, items, \
                     commands, durable

exit code: 0 every goal is met, 1 one is missed or a build failed, 2 the command line was not \
                     understood";

const WORLD: &str = "\
usage: cargo xtask world

Writes docs/world.md from wasm/wit/0.1.0: what the component imports and exports, with types and \
                     words. `cargo xtask tidy` says when the
page is not what the WIT says.

exit code: 0 it is written, 1 the WIT cannot be read, 2 the command line was not understood";

/// What a command says of itself.
pub(super) fn text(name: &str) -> Option<&'static str> {
    match name {
        "run" => Some(RUN),
        "serve" => Some(SERVE),
        "test" => Some(TEST),
        "npm" => Some(NPM),
        "package" => Some(PACKAGE),
        "tidy" => Some(TIDY),
        "crosscheck" => Some(CROSSCHECK),
        "crash" => Some(CRASH),
        "sim" => Some(SIM),
        "model" => Some(MODEL),
        "bench" => Some(BENCH),
        "world" => Some(WORLD),
        _ => None,
    }
}
