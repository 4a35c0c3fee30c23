//! The help: one line per command, and the full text of each.

pub(crate) const USAGE: &str = "\
Build, run and test Wakeful.

usage: cargo xtask <command>

every day:
  run         play a first story, build everything, and compare the engines on all cases
  serve       build everything, and serve the workbench on a local port
  test        run every check and every test, with a table of times and counts
  tidy        check what no compiler checks: layers, words, widths, names, citations

packages:
  npm         build and pack the npm package, and print its size
  package     pack the crates, install the program from them, and use it

longer checks:
  crosscheck  compare all engines, also Chromium and Python, over cases and random stories
  crash       kill processes after each append, and compare what comes of their stories
  sim         simulate families of agents over virtual days with faults at every import
  soak        run a live agent for a virtual month against a server with random quirks
  attack      let commands attack what is not theirs, without a wall and behind each wall
  model       search a million states of the machine, breadth first, and check each batch
  load        put load on a server of 10,000 agents, kill it, and verify every ledger
  fleet       run agents on three servers of one PostgreSQL store, and kill servers and primary
  scale       simulate millions of agents, with what a turn costs on this machine
  bench       measure what steps, decisions, openings and engines cost
  fuzz        let libFuzzer look for bytes that break the decoder, the readers or the guest
  coverage    report which lines, rules and rows of the core the tests reach
  mutants     change the core in small ways, one at a time, and see whether a test fails
  miri        run the tests of the core under Miri, also for two unlike machines
  deny        check licences, bans and sources of every dependency
  semver      check whether the public interfaces allow the next version
  seeded      make deliberate mistakes in a copy, and see whether each method finds its own
  night       run every method for a share of the time, and keep what it printed

generated pages:
  world       write docs/world.md, the interface of the component, from its WIT
  proof       write docs/proof.md: statements, code, tests, methods, last numbers

  help        print this text; `cargo xtask <command> --help` says more

exit code: 0 success, 1 something failed, 2 the command line is wrong, 3 a tool is missing";

const RUN: &str = "\
usage: cargo xtask run

Builds everything and compares the engines.
It works in a clean clone with rustup, a C compiler and Node 20 or newer.

First it builds the core alone, plays one story with it, and prints each decision with the
rule that fired. Then it adds the wasm targets if they are missing, and builds the build tools
(once), the guests and the native host. Finally it plays every story, fixture folder and
scenario in the engines native, wasmtime, pulley, winch and node, and compares their traces.
The last line is `N cases, N steps, 5 engines, N differences`.

exit code: 0 no difference, 1 a difference or a failed build, 2 the command line is wrong,
           3 an engine cannot run here";

const SERVE: &str = "\
usage: cargo xtask serve [--port N]

Builds the guests, the native host and the workbench, records the traces that the workbench
shows, and serves it on 127.0.0.1 until Ctrl-C.

  --port N   serve on this port; by default the system selects a free one

exit code: 0 the server ended, 1 a build failed or the port is in use,
           2 the command line is wrong";

const TEST: &str = "\
usage: cargo xtask test [--bless]

Runs every check and every test: tidy, format, clippy, the core on wasm32v1-none, the published
crates on Windows, native tests, guests in Node and in headless Chromium, and the workbench.
If a stage fails, the others still run, except those that need what it makes. The last line is
`N passed, N failed, N skipped`, the sum of what the test runners counted; a stage without
tests counts as one check. A stage that does not end in 25 minutes is ended, and has failed. The output of each stage is in target/xtask.

  --bless   store the fuel that the hot paths use now (host-native/tests/fuel.txt), instead of
            comparing with what is stored

environment:
  CI=true               a skipped test is a failure
  CHROME, CHROMEDRIVER  the browser and its driver; by default they are searched on PATH
  PG_BIN                the folder of PostgreSQL's programs; by default the newest of Debian's
  WAKEFUL_NO_INSTALL=1  never install a browser, MinGW, PostgreSQL or bubblewrap; by default root
                        installs what is missing with apt-get

exit code: 0 nothing failed, 1 something failed, 2 the command line is wrong";

const NPM: &str = "\
usage: cargo xtask npm

Builds the web module and the npm package over it (npm/), and packs it as
target/npm/wakeful-scheduler-VERSION.tgz; its content is in target/npm/package. Prints the sizes
of the module, of its glue code and of the tarball. `cargo xtask test` tests the tarball in
small projects that consume it.

exit code: 0 it is packed, 1 a build failed, 2 the command line is wrong";

const PACKAGE: &str = "\
usage: cargo xtask package [--no-install]

Packs the published crates into target/package/package as a registry would hand them out; the
host carries the built guest and its worlds. Checks each, then installs the program from the
unpacked crates into a folder outside of the tree, and lets it explain a story natively and in
its sandbox. The crates are packed in target/package/tree, a copy in which the host's folder
holds its guest. A release is published from there (CONTRIBUTING.md).
`cargo xtask test` packs them too.

  --no-install   only pack and check; compiling the installed program takes four minutes on two
                 cores

exit code: 0 they are packed and work, 1 something is missing or failed,
           2 the command line is wrong";

const TIDY: &str = "\
usage: cargo xtask tidy [--statements | --uncited]

Checks what no compiler checks, and prints each finding as `file:line: what is wrong; what to
do`:

  layers      a module of the core uses only modules above it in core/src/lib.rs
  words       size of README and ARCHITECTURE, one sentence per line in Markdown, sentences of
              at most 40 words, no phrase of a list; frozen texts are in one place
  files       opening comment, length, names, 100 columns, unfinished code, switched-off tests
  machines    paths of one machine, registry hosts
  lists       reasons for dependencies, fixture folders, docs/world.md, released worlds,
              versions
  citations   each statement of docs/contract.md has code and a test that cite it

A comment cites a statement as `contract 5.3`, `D4` or `I16`. Tests are what is below a folder
`tests` or `e2e` (scenarios and READMEs of fixtures included), in `*.test.*`, and under
`#[cfg(test)]`; code is the rest of core, host-native, agent, cli, wasm and web-demo.

  --statements   first print a line per statement: its number, the first code and the first test
                 that cite it (`-` for none), `(live)`
  --uncited      first print the statements that nothing cites

exit code: 0 no finding, 1 findings, 2 the command line is wrong";

const CROSSCHECK: &str = "\
usage: cargo xtask crosscheck [--random N] [--seed N]

Builds everything, finds a browser, makes a Python environment in target/python, and runs
`wakeful crosscheck`. All stories, fixtures and scenarios are played in native, wasmtime, pulley,
winch, node, chromium and python. Then random stories are played until they have taken N steps
in native and wasmtime, a tenth of that in native, node and chromium, and a fiftieth in
wasmtime, pulley, winch and python. A story over which engines differ is shrunk and written to
target/crosscheck. If Python or its package is missing, the engine says why, and the exit code
is 3. `cargo xtask test` does a small share of this.

  --random N   the number of steps; by default 1000000, which takes ten minutes on two cores
  --seed N     the seed of the random stories; the same seed gives the same stories

exit code: 0 no difference, 1 a difference or a failed build, 2 the command line is wrong,
           3 an engine cannot run here";

const CRASH: &str = "\
usage: cargo xtask crash [--stories N] [--kills N] [--seed N]

Lets processes die, and compares their stories with those that ran to their end. Every scenario
and N random stories are cut after each append and continue from what the ledger holds then;
each dies once more on its way from there. N more are played by real processes, `wakeful run`
on a SQLite file, which are killed (SIGKILL) at random instants. No obligation may be lost, no
message processed twice and no recorded tool call repeated; a story without races must reach the
same end. A line per part says how much was tried. A story that fails is shrunk and printed.
`cargo xtask test` does a twentieth of this.

  --stories N   random stories that are cut after each append; by default 10000, which takes a
                quarter of an hour on two cores
  --kills N     random stories whose processes are killed; by default 200
  --seed N      the seed of the random stories; the same seed gives the same stories

exit code: 0 nothing was lost and nothing done twice, 1 something was or a build failed,
           2 the command line is wrong";

const LOAD: &str = "\
usage: cargo xtask load [--agents N] [--active N] [--rate N] [--seconds N] [--streams N]
                        [--kills N] [--counts]

Serves many agents with `wakeful serve` in a process of its own. Most of them rest; it prints
what one costs while its state is in memory, and at rest, and what the idle server uses. It
compares an append through the server with one by the library. Then it delivers to the active
agents at a steady rate, while hosts run their turns and streams follow them, and prints the time
from a delivery to the recorded decision. Then the server is killed (SIGKILL) again and again
while clients repeat what was not acknowledged. At the end each active ledger is verified:
nothing acknowledged may be lost, and nothing recorded twice. `cargo xtask test` does a small
part of this.

  --agents N    agents in the server; by default 10000
  --active N    agents that are delivered to; by default 100
  --rate N      deliveries in a second; by default 200
  --seconds N   the time of the load; by default 30
  --streams N   open streams; by default 500
  --kills N     kills under load; by default 200
  --counts      judge only what is lost, doubled or refused, and measure no memory

exit code: 0 each figure is within its limit, 1 one is not or a build failed,
           2 the command line is wrong";

const FLEET: &str = "\
usage: cargo xtask fleet [--agents N] [--rate N] [--quiet N] [--seconds N] [--faults-each N]
                         [--primary-each N] [--patroni] [--namespaces] [--older FILE]

Runs agents on three servers of one store: a PostgreSQL with two synchronous standbys, and
`wakeful serve` in processes of their own. Half of the agents have a model, whose server notes each
question; hosts run the turns of the others. Clients deliver to any server, and repeat what was not
acknowledged. Servers are killed, or paused for longer than their lease, and the primary is killed.
At the end each ledger is verified: nothing acknowledged may be lost, nothing recorded twice, each
message has a completed turn, no turn runs twice but those that were open at a fault or while the
store did not commit, and the turns of a dead server run again within its lease and two seconds,
unless a node of the store was just being copied on the same cores.
`cargo xtask test` does a small part of this.

  --agents N        agents of the store; by default 1000
  --rate N          deliveries in a second; by default 40
  --quiet N         seconds before the first fault; by default 30
  --seconds N       seconds with faults; by default 600
  --faults-each N   seconds between two faults of servers; by default 20
  --primary-each N  seconds between two kills of the primary; by default 90
  --patroni         have Patroni elect the primary, whose node is killed and stopped in turn
  --namespaces      give each server a namespace of the network, in which it is cut off; needs root
  --older FILE      begin with servers of this program, and replace them one by one by those of
                    this tree, as an upgrade does

exit code: 0 all of this holds, 1 something does not or a build failed,
           2 the command line is wrong, 3 PostgreSQL or Patroni is missing";

const SCALE: &str = "\
usage: cargo xtask scale [--agents N] [--active PERCENT] [--rounds N] [--thinks SECONDS]
                         [--idle SECONDS] [--database-cores N] [--server-cores N]
                         [--turns-at-once N] [--resident-agents N] [--costs FILE]

Measures what a turn costs, with a server, a model and a PostgreSQL of three nodes on this machine,
and simulates cells (a store and its servers) of millions of agents with it, in virtual time: quiet, while a
server dies, while there is no primary for 20 seconds, and when a hundredth of all agents is due at
once. It prints how many cells and servers are needed, and what is full first.

  --agents N           agents of all cells; by default 10000000
  --active PERCENT     agents of a hundred that get something to do in a minute; by default 1
  --rounds N           rounds of a turn; by default 3
  --thinks SECONDS     the time of the model for a round; by default 5
  --idle SECONDS       the time after which an agent that rests is given back; by default 60
  --database-cores N   cores of the primary of a cell; by default 16
  --server-cores N     cores of a server; by default 8
  --turns-at-once N    open turns of a server; by default 1000
  --resident-agents N  agents that a server has at once; by default 10000
  --costs FILE         costs that were measured before, as JSON, in place of a measurement

exit code: 0 enough cells were found, 1 they were not or a build failed,
           2 the command line is wrong, 3 PostgreSQL is missing";

const SIM: &str = "\
usage: cargo xtask sim [--seed N] [--families N] [--days N] [--minutes N | --hours N]
                       [--histories DIR] [--editions | --against REV]

Simulates families of agents over virtual days: an agent and the children that its turns make,
each with its ledger. Ledgers fail before and after they have stored, are held and replaced, other
writers are first, snapshots are lost or damaged, providers do not answer and refuse content,
processes are killed, clocks jump and flap, machines are suspended, input is long, arrives twice
and late, and turns do anything. Every fifth batch is checked against the invariants.

After its wild days a family has calm days, in which nothing fails: then no run, message, task or
item may be left, and no result unreported. It prints how often each fault happened, what was
wrong, and a digest: equal digests mean equal histories. Seed, days and commit determine a family.

examples:
  cargo xtask sim --hours 8              simulate for a night
  cargo xtask sim --seed 7 --families 1  play the family of seed 7 again

  --seed N          the seed of the first family; by default 0
  --families N      the number of families; by default 20. A family of ten wild days takes about
                    a minute and a half of one core
  --days N          the number of wild days; by default 10
  --minutes N       continue for this time, instead of a number of families
  --hours N         the same in hours
  --histories DIR   also write the ledger of each agent to DIR/SEED/AGENT.jsonl
  --editions        print instead where each family first decides differently in the other edition
  --against REV     play the same families with the core of this commit too;
                    see `cargo xtask sim --against REV --help`

exit code: 0 nothing was wrong, 1 something was or a build failed, 2 the command line is wrong";

const SOAK: &str = "\
usage: cargo xtask soak [--turns N] [--seed N] [--engine native|wasmtime]

Runs `wakeful run --provider openai` for 10000 turns against a scripted server. The server draws
each answer, refusal and fault of docs/providers.md at random. The world types, sends, repeats ids,
interjects, stops, starts, shuts down, kills (SIGKILL) and restarts at random, and sends events that
are very long or have a word that the server refuses. The agent's clock moves on by thirty days;
libfaketime moves it, and only its wall clock. Each command of the model appends a token of its own
to a file, so that a call that is executed twice shows.

At the end each message has exactly one end, each run has one, each prompt has a turn that says how
it ended, no token is there twice, each recorded command has its effect, and no recorded call was
told as unknown. The agent rests with nothing owed, and `wakeful doctor` finds nothing; up to 2000
turns it is thorough. The process that lives to the end is asked no `/why` and no `/status`.
Resident memory at the end is at most 1.1 times that after a tenth of the turns, and the measured
bytes of each new tombstone. Processes end only in the first tenth of the turns: after that one
process lives to the end, so that its memory can be compared. Progress and the number of each quirk
go to standard error. The seed draws the same numbers again, but real processes decide which request
comes first. `cargo xtask test` runs 150 turns, by the machine's clock.

examples:
  cargo xtask soak                        a virtual month, a quarter of an hour on two cores
  cargo xtask soak --turns 2000 --seed 7  a fifth of it, with other numbers
  cargo xtask soak --engine wasmtime      the same with the sandboxed core

  --turns N       the number of turns; by default 10000; below 2000 memory is not compared
  --seed N        the seed of the numbers; by default 1
  --engine NAME   the engine of the agent; by default native

environment:
  WAKEFUL_NO_INSTALL=1  never install libfaketime; by default root installs it with apt-get

exit code: 0 nothing was wrong, 1 something was or a build failed, 2 the command line is wrong,
           3 libfaketime is missing";

const ATTACK: &str = "\
usage: cargo xtask attack [--row NAME] [--json]

Lets commands attack what is not theirs: files, processes, terminals, networks, calls of the kernel,
limits, git of the host, secrets. Each attack is tried in several ways, three times: without a wall,
behind bubblewrap, and with Landlock alone. Whether it succeeded is seen from the host, such as by a
file outside that changed or a process that is still there. Without a wall each must succeed, so that
the suite can fail. Behind bubblewrap each must be held. With Landlock alone it is held or open.
SECURITY.md names each kind that is open, and a test compares it with the rows.

As root everything runs a second time as `nobody`. A row that does not apply to a user or a machine
is printed with the reason. Progress goes to standard error. `cargo xtask test` tries the first way
of each row, as the current user.

examples:
  cargo xtask attack                           all rows, a few minutes on two cores
  cargo xtask attack --row 'reads the ledger'  one row
  cargo xtask attack --json                    the rows for a program

  --row NAME  run one row, by the name in the table
  --json      print the rows as JSON, with what was seen for each way

needs: apt-get install bubblewrap python3 util-linux git

exit code: 0 all came out as expected, 1 something did not or a build failed, 2 the command line is
           wrong, 3 a tool is missing";

const MODEL: &str = "\
usage: cargo xtask model [--shapes N] [--depth N] [--small NAME] [--write FOLDER]
                         [--adversary NAME] [--json]

Checks the real machine by searching the states that it can reach, breadth first. Two work items,
two tasks, two timers, an external trigger, an operator, hints, waits, stop, start, shutdown, a
provider that succeeds, fails or is silent, time, and a crash between any two appends take part.
The search starts from thirteen openings at once: an agent that knows nothing, and agents in the
middle of something (tests/src/model/openings.rs). States are counted by their shape. Each batch
is checked against the invariants of contract 14 and against the laws of its effects. Each state
must reach rest, whether its turns complete, owe a retry or fail for good, and owe nothing then;
if turns make no progress, a ranking must fall. States at the edge of the search are walked to
rest as far as this needs no answer of the provider.

It prints openings, shapes, transitions, depth, the states at the edge, the shapes from which the
way to rest was walked, the longest such way, and the time. A violation is printed and written as
the shortest scenario that shows it, ready for tests/scenarios. Every test run searches 50000
shapes, and requires that eight seeded mistakes are found.

example:
  cargo xtask model --shapes 50000 --adversary window   see how a seeded mistake is found

  --shapes N         stop after this number of shapes; by default 1000000
  --depth N          stop after this number of moves
  --small NAME       start from nothing, with a small cast: hint, timer, timer-and-hint,
                     task, prompt, item, item-and-prompt
  --write FOLDER     the folder for scenarios; by default target/model
  --adversary NAME   let the checker find a seeded mistake: reason-class, window, hidden-rule,
                     cleared-blocker, lost-interjection, unseen-recheck, late-wait or spin
  --json             print one line of JSON

exit code: 0 nothing is broken, 1 something is or a build failed, 2 the command line is wrong";

const BENCH: &str = "\
usage: cargo xtask bench [--quick] [--json FILE] [GROUP...]

Builds the guests, the npm package's module and an optimised native host, finds PostgreSQL, and
measures CPU time, or wall time if a disk is involved: the minimum of several turns. Machines
differ and are noisy, so every figure is a ratio to something that is measured beside it in the
same run. Beside other work on the same machine a figure differs by a tenth between runs.
docs/performance.md explains the figures and has a whole run.

  --quick      a tenth of the history and fewer turns: under four minutes once all is built
  --json FILE  also write the figures to FILE
  GROUP        only these: round, sandbox, memory, script, peers, history, opening, items,
               commands, durable, postgres

exit code: 0 every goal is met, 1 one is missed or a build failed, 2 the command line is wrong";

const WORLD: &str = "\
usage: cargo xtask world

Writes docs/world.md from wasm/wit/0.2.0: what the component imports and exports, with types and
documentation. `cargo xtask tidy` fails if the page and the WIT differ.

exit code: 0 it is written, 1 the WIT cannot be read, 2 the command line is wrong";

/// The help of a command.
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
        "soak" => Some(SOAK),
        "attack" => Some(ATTACK),
        "model" => Some(MODEL),
        "load" => Some(LOAD),
        "fleet" => Some(FLEET),
        "scale" => Some(SCALE),
        "bench" => Some(BENCH),
        "world" => Some(WORLD),
        _ => None,
    }
}
