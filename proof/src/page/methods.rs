//! The methods: what each looks for, where its tests are, how a night runs it, and what shows that
//! it can fail.

/// One way of checking the contract.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    /// What it does, in a sentence.
    pub(crate) does: &'static str,
    /// Path prefixes of its tests. It checks the statements that these tests cite.
    pub(crate) rooms: &'static [&'static str],
    /// How a night runs it. `None` if every test run has all of it.
    pub(crate) command: Option<Command>,
    /// Tests that make it fail, as file and name, in addition to the mistakes of `cargo xtask
    /// seeded`.
    pub(crate) fails: &'static [(&'static str, &'static str)],
}

/// A command of `cargo xtask` that is a method.
pub(crate) struct Command {
    /// The command line for a number of minutes. Commands with an end ignore the number.
    pub(crate) line: fn(u64) -> String,
    /// Its share of a night.
    pub(crate) share: u64,
    /// The lines with its numbers contain this text.
    pub(crate) tells: &'static str,
}

/// All methods: first those of every test run, then those without an end, then those about the code
/// and the tests themselves.
pub(crate) const METHODS: [Method; 26] = [
    Method {
        name: "unit tests",
        does: "single functions, tested beside their code",
        rooms: &["core/src/", "host-native/src/", "agent/src/", "cli/src/"],
        command: None,
        fails: &[],
    },
    Method {
        name: "tables",
        does: "every variant of an enum crossed with the others, so that a new one cannot be forgotten; bad facts, each with its typed error",
        rooms: &[
            "tests/all/tables/",
            "tests/all/bad_facts.rs",
            "tests/all/numbers.rs",
            "tests/all/instants.rs",
            "tests/all/sources.rs",
        ],
        command: None,
        fails: &[],
    },
    Method {
        name: "counts",
        does: "instructions, allocations and fuel of the hot paths, alone and beside 10,000 things of 19 kinds, as they are recorded",
        rooms: &["tests/counts/", "tests/all/fuel.rs"],
        command: None,
        fails: &[],
    },
    Method {
        name: "scenarios",
        does: "short scripts as text: what the host does, and below it everything that can be observed",
        rooms: &[
            "tests/scenarios/",
            "tests/all/failure_classes.rs",
            "tests/all/stories.rs",
            "tests/all/scenarios.rs",
        ],
        command: None,
        fails: &[],
    },
    Method {
        name: "fixtures",
        does: "folders in the reference runtime's layout are read, replayed, exported and read again",
        rooms: &[
            "tests/fixtures/",
            "tests/all/fixtures.rs",
            "tests/all/round_trips.rs",
            "tests/all/coverage_of_fixtures.rs",
        ],
        command: None,
        fails: &[],
    },
    Method {
        name: "properties",
        does: "random facts with shuffles, duplicates and losses, and hosts that fail: the invariants after each batch, the fold at each prefix",
        rooms: &[
            "tests/all/properties.rs",
            "tests/all/invariants.rs",
            "tests/all/past.rs",
            "tests/all/why_not.rs",
            "tests/all/outbox.rs",
            "tests/all/failing.rs",
            "tests/all/two_writers.rs",
        ],
        command: None,
        fails: &[(
            "tests/all/invariants.rs",
            "each_seeded_breach_is_reported_by_its_invariant_alone",
        )],
    },
    Method {
        name: "conformance",
        does: "the answers of the reference runtime to random inputs; a difference must be one that the contract names",
        rooms: &[
            "tests/all/conformance.rs",
            "tests/all/ledgers.rs",
            "tests/conformance/",
            "lab/src/",
        ],
        command: None,
        fails: &[
            ("tests/all/conformance.rs", "without_any_one_rule_the_vectors_fail"),
            (
                "tests/all/conformance.rs",
                "without_any_one_row_of_the_closure_table_the_vectors_fail",
            ),
            (
                "tests/all/conformance.rs",
                "without_any_one_row_of_the_continuation_table_the_vectors_fail",
            ),
        ],
    },
    Method {
        name: "time",
        does: "thirty days of an agent in virtual time: timers, deadlines, backoffs and offers, with clocks that jump",
        rooms: &["tests/src/time/", "tests/all/time.rs"],
        command: None,
        fails: &[],
    },
    Method {
        name: "hosts",
        does: "the command line, the sandbox, SQLite, agents, commands and the model client, with real files and real processes",
        rooms: &[
            "host-native/tests/",
            "agent/tests/",
            "cli/tests/",
            "tests/all/suite.rs",
            "examples/",
            "wasm/hostile/",
            "wasm/python/",
        ],
        command: None,
        fails: &[],
    },
    Method {
        name: "pages",
        does: "the npm package in projects that consume it, and the workbench in a real browser",
        rooms: &["web-demo/", "npm/", "wasm/web/"],
        command: None,
        fails: &[],
    },
    Method {
        name: "test",
        does: "everything above, and a share of the methods below",
        rooms: &[],
        command: Some(Command { line: |_| "test --all".to_owned(), share: 0, tells: " passed, " }),
        fails: &[("xtask/src/graph/mod.rs", "a_failed_stage_fails_what_needs_it_and_nothing_else")],
    },
    Method {
        name: "busy",
        does: "the native tests three times in a row beside four busy processes: none depends on the speed of the machine",
        rooms: &[],
        command: Some(Command { line: |_| "busy".to_owned(), share: 0, tells: "busy: " }),
        fails: &[("xtask/src/graph/mod.rs", "a_failed_stage_fails_what_needs_it_and_nothing_else")],
    },
    Method {
        name: "model",
        does: "model checking, breadth first: the invariants at each batch, a way to rest from each state, a ranking that falls",
        rooms: &["tests/src/model/", "tests/all/model.rs"],
        command: Some(Command {
            line: |minutes| format!("model --shapes {}", 70_000 * minutes),
            share: 15,
            tells: " shapes, ",
        }),
        fails: &[
            ("tests/all/model.rs", "reason_class_matching_is_found"),
            ("tests/all/model.rs", "duplicates_by_window_are_found"),
            ("tests/all/model.rs", "a_suppressed_rule_that_hides_the_next_is_found"),
            ("tests/all/model.rs", "a_cleared_blocker_is_found"),
            ("tests/all/model.rs", "a_lost_interjection_is_found"),
            ("tests/all/model.rs", "a_recheck_consumed_unseen_is_found"),
            ("tests/all/model.rs", "a_result_before_its_wait_is_found"),
            ("tests/all/model.rs", "a_spin_is_found"),
        ],
    },
    Method {
        name: "sim",
        does: "simulated families of agents over virtual days, with faults at every import, kills, jumping clocks and wild turns; at the end nothing may be left undone",
        rooms: &["tests/src/sim/", "tests/all/sim.rs"],
        command: Some(Command {
            line: |minutes| format!("sim --minutes {minutes}"),
            share: 10,
            tells: " families, ",
        }),
        fails: &[("tests/all/sim.rs", "a_host_that_loses_a_message_is_found_out")],
    },
    Method {
        name: "crash",
        does: "processes die after each append, and real ones are killed; the results are compared with those without a crash",
        rooms: &["tests/src/crash/", "tests/all/crash.rs"],
        command: Some(Command {
            line: |minutes| format!("crash --stories {} --kills {}", 600 * minutes, 12 * minutes),
            share: 10,
            tells: " deaths ",
        }),
        fails: &[],
    },
    Method {
        name: "fleet",
        does: "three servers on one store in PostgreSQL, in networks of their own, are killed, cut off and stopped, and Patroni elects another primary again and again; every ledger is verified",
        rooms: &["tests/src/fleet/", "tests/all/postgres/"],
        command: Some(Command {
            line: |_| "fleet --patroni --namespaces".to_owned(),
            share: 0,
            tells: "acknowledged",
        }),
        fails: &[],
    },
    Method {
        name: "soak",
        does: "the real program for a virtual month, against a server with every quirk at random, in a world that stops, kills and restarts it: no turn lost, no call executed twice, and memory within a limit",
        rooms: &["cli/tests/soak/"],
        command: Some(Command { line: |_| "soak".to_owned(), share: 0, tells: "soak: " }),
        fails: &[
            ("cli/tests/soak/main.rs", "a_call_that_is_executed_twice_is_found"),
            ("cli/tests/soak/main.rs", "a_message_that_is_lost_is_found"),
            (
                "cli/tests/soak/memory.rs",
                "memory_that_grows_by_more_than_a_tenth_and_its_tombstones_is_too_much",
            ),
        ],
    },
    Method {
        name: "attack",
        does: "commands attack what is not theirs, each in several ways: every attack succeeds without a wall, and behind bubblewrap none but those that SECURITY.md names",
        rooms: &["cli/tests/attack/"],
        command: Some(Command { line: |_| "attack".to_owned(), share: 0, tells: "attack: " }),
        fails: &[
            ("cli/tests/attack/main.rs", "a_wall_that_does_not_hold_is_found"),
            ("cli/tests/attack/main.rs", "an_attack_that_cannot_succeed_is_found"),
        ],
    },
    Method {
        name: "crosscheck",
        does: "the same stories in seven engines: entries, decisions, explanations and fuel, byte for byte; random stories are shrunk if they differ",
        rooms: &["cli/tests/crosscheck.rs", "cli/tests/seeded.rs", "cli/src/crosscheck/"],
        command: Some(Command {
            line: |minutes| format!("crosscheck --random {}", 80_000 * minutes),
            share: 12,
            tells: " differences",
        }),
        fails: &[
            ("cli/tests/seeded.rs", "an_altered_reason_code_is_found_by_case_step_and_path"),
            ("cli/tests/seeded.rs", "an_altered_entry_is_found_by_its_entry_and_its_head"),
            ("cli/tests/seeded.rs", "random_stories_find_an_altered_entry"),
        ],
    },
    Method {
        name: "fuzz",
        does: "libFuzzer on the decoder, the transitions, the foreign reader, the ledger reader and the exports of the guest",
        rooms: &["tests/src/fuzz.rs", "tests/all/corpora.rs"],
        command: Some(Command {
            line: |minutes| format!("fuzz --seconds {}", 15 * minutes),
            share: 12,
            tells: " inputs in ",
        }),
        fails: &[],
    },
    Method {
        name: "miri",
        does: "the core's unit tests under Miri, also for a machine with 32-bit words and one with the other byte order",
        rooms: &[],
        command: Some(Command { line: |_| "miri".to_owned(), share: 0, tells: " tests on " }),
        fails: &[],
    },
    Method {
        name: "coverage",
        does: "coverage of ladder, derivations, records, facts and state: floors, every rule, every row",
        rooms: &[],
        command: Some(Command {
            line: |_| "coverage".to_owned(),
            share: 0,
            tells: "lines executed",
        }),
        fails: &[("proof/src/coverage/mod.rs", "what_was_not_executed_or_not_named_is_found")],
    },
    Method {
        name: "mutants",
        does: "mutation testing: the core is changed in small ways, one at a time, and some test must fail",
        rooms: &[],
        command: Some(Command {
            line: |minutes| format!("mutants --minutes {minutes}"),
            share: 15,
            tells: " tried: ",
        }),
        fails: &[("proof/src/mutants/mod.rs", "too_few_that_were_noticed_are_a_failure")],
    },
    Method {
        name: "tidy",
        does: "code and tests cite every statement of the contract; also what no compiler checks",
        rooms: &[],
        command: Some(Command { line: |_| "tidy".to_owned(), share: 0, tells: "tidy: " }),
        fails: &[],
    },
    Method {
        name: "deny",
        does: "licences, bans and sources of every dependency",
        rooms: &[],
        command: Some(Command { line: |_| "deny".to_owned(), share: 0, tells: "deny: " }),
        fails: &[],
    },
    Method {
        name: "semver",
        does: "whether the public interface allows the next version, compared with the last release",
        rooms: &[],
        command: Some(Command { line: |_| "semver".to_owned(), share: 0, tells: "semver: " }),
        fails: &[],
    },
];

/// The methods that run every invariant of contract 14 over each batch that they append.
pub(crate) const OF_INVARIANTS: [&str; 7] =
    ["scenarios", "properties", "time", "model", "sim", "crash", "fuzz"];
