//! The mistakes: each change, and the methods that must find it.

use std::fmt;

/// The part of the tree with a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    Core,
    Shells,
    Packages,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Core => "core",
            Self::Shells => "shells",
            Self::Packages => "packages",
        })
    }
}

/// One mistake.
pub(crate) struct Mistake {
    /// The effect, in a few words.
    pub(crate) name: &'static str,
    pub(crate) layer: Layer,
    pub(crate) changes: &'static [Change],
    pub(crate) found_by: &'static [FoundBy],
}

/// A text that occurs once in a file, and its replacement.
pub(crate) struct Change {
    pub(crate) file: &'static str,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
}

/// A method that must fail.
pub(crate) struct FoundBy {
    pub(crate) method: &'static str,
    /// What to run.
    pub(crate) run: Run,
    /// A part of its output, so that it does not fail for another reason.
    pub(crate) says: &'static str,
}

/// What to run in the copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Run {
    /// A command of `cargo xtask`.
    Command(&'static str),
    /// Tests of one native target: the target, and a prefix of the test names.
    Tests(&'static str, &'static str),
    /// The workbench's tests, with a guest that is built for them.
    Workbench,
}

use Layer::{Core, Packages, Shells};
use Run::{Command, Tests, Workbench};

pub(crate) const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "work is ticked before a pending wake hint",
        layer: Core,
        changes: &[Change {
            file: "core/src/ladder/edition.rs",
            from: "    rule::HEAD_REDUCED,\n\
                       \x20   rule::WAKE_HINT,\n\
                       \x20   rule::CONTINUE_ACTIVE,\n\
                       \x20   rule::QUEUED_AVAILABLE,\n",
            to: "    rule::HEAD_REDUCED,\n\
                     \x20   rule::CONTINUE_ACTIVE,\n\
                     \x20   rule::QUEUED_AVAILABLE,\n\
                     \x20   rule::WAKE_HINT,\n",
        }],
        found_by: &[
            FoundBy { method: "tables", run: Tests("all", "tables::"), says: "FAILED" },
            FoundBy { method: "scenarios", run: Tests("all", "scenarios::"), says: "FAILED" },
            FoundBy { method: "fixtures", run: Tests("all", "fixtures::"), says: "FAILED" },
            FoundBy { method: "properties", run: Tests("all", "properties::"), says: "I10" },
            FoundBy { method: "conformance", run: Tests("all", "conformance::"), says: "FAILED" },
            FoundBy { method: "model", run: Command("model --shapes 20000"), says: "I10" },
            FoundBy { method: "fuzz", run: Command("fuzz --seconds 120 facts"), says: "I10" },
        ],
    },
    Mistake {
        name: "a restart does not replay the message of the run that it interrupted",
        layer: Core,
        changes: &[Change {
            file: "core/src/state/queue/lanes.rs",
            from: "        if slot.in_run {\n            return;",
            to: "        if slot.in_run || slot.status == Some(QueueStatus::Dequeued) {\n\
                \x20           return;",
        }],
        found_by: &[
            FoundBy { method: "time", run: Tests("all", "time::"), says: "FAILED" },
            FoundBy { method: "sim", run: Command("sim --families 2 --days 2"), says: "wrong" },
            FoundBy {
                method: "crash",
                run: Command("crash --stories 40 --kills 4"),
                says: "DIFFERENT",
            },
        ],
    },
    Mistake {
        name: "a reading of each step walks over all waits",
        layer: Core,
        changes: &[Change {
            file: "core/src/derive/closure.rs",
            from: "intents: state.waiting.intents.len(),",
            to: "intents: state.waiting.intents.values().map(|wait| wait.seq.0.min(1) as usize).sum(),",
        }],
        found_by: &[FoundBy {
            method: "counts",
            run: Command("test counts"),
            says: "`full step beside 10000 intents of items` takes",
        }],
    },
    Mistake {
        name: "each entry is copied once more",
        layer: Core,
        changes: &[Change {
            file: "core/src/machine/mod.rs",
            from: "        for entry in &open.entries {\n            self.state.apply(entry);",
            to: "        for entry in &open.entries {\n            self.state.apply(&entry.clone());",
        }],
        found_by: &[FoundBy {
            method: "counts",
            run: Command("test counts"),
            says: "`propose a message` takes",
        }],
    },
    Mistake {
        name: "milliseconds are added as microseconds",
        layer: Core,
        changes: &[Change {
            file: "core/src/time.rs",
            from: ".saturating_mul(1_000_000);\n        Self(self.0.saturating_add",
            to: ".saturating_mul(1_000);\n        Self(self.0.saturating_add",
        }],
        found_by: &[FoundBy { method: "unit tests", run: Tests("lib", "time::"), says: "FAILED" }],
    },
    Mistake {
        name: "SQLite stores a batch on another history of the same length",
        layer: Shells,
        changes: &[Change {
            file: "host-native/src/ledger/sqlite/ledger.rs",
            from: "    if found != *expected {",
            to: "    if found.seq != expected.seq {",
        }],
        found_by: &[FoundBy { method: "hosts", run: Tests("host", "sqlite::"), says: "FAILED" }],
    },
    Mistake {
        name: "an append compares the owner of an agent, and not the epoch of its claim",
        layer: Shells,
        changes: &[Change {
            file: "host-native/src/ledger/postgres/append.rs",
            from: "            AND (want.owner IS NULL OR agents.epoch = want.epoch)\n",
            to: "",
        }],
        found_by: &[FoundBy { method: "fleet", run: Tests("all", "postgres::"), says: "FAILED" }],
    },
    Mistake {
        name: "an agent is given back without a look at what came for it meanwhile",
        layer: Shells,
        changes: &[Change {
            file: "host-native/src/ledger/postgres/worker.rs",
            from: "            WHEN inbox_seq > $6 THEN now()\n",
            to: "            WHEN inbox_seq < -$6 THEN now()\n",
        }],
        found_by: &[FoundBy { method: "fleet", run: Tests("all", "postgres::"), says: "FAILED" }],
    },
    Mistake {
        name: "a lease is not renewed while an agent is driven",
        layer: Shells,
        changes: &[Change {
            file: "host-native/src/ledger/postgres/worker.rs",
            from: "    fn renew(&self) -> Result<(), PostgresError> {\n",
            to: "    fn renew(&self) -> Result<(), PostgresError> {\n        \
                 if self.held().values().any(|held| matches!(held, Held::IsDriven(_))) {\n            \
                 return Ok(());\n        }\n",
        }],
        found_by: &[FoundBy { method: "fleet", run: Tests("all", "postgres::"), says: "FAILED" }],
    },
    Mistake {
        name: "a primary that was replaced is asked as if it were the new one",
        layer: Shells,
        changes: &[Change {
            file: "host-native/src/ledger/postgres/connection.rs",
            from: "self.system == newest.system && self.timeline < newest.timeline",
            to: "self.system == newest.system && self.timeline < 0",
        }],
        found_by: &[FoundBy {
            method: "fleet",
            run: Tests("lib", "fleet::cluster::"),
            says: "FAILED",
        }],
    },
    Mistake {
        name: "what a primary shows after a crash counts as stored, also if no standby has it",
        layer: Shells,
        changes: &[Change {
            file: "host-native/src/ledger/postgres/append.rs",
            from: "            self.call(\"append\", async |it| it.execute(CONFIRM, &[&agent]).await)?;\n",
            to: "",
        }],
        found_by: &[FoundBy {
            method: "fleet",
            run: Tests("lib", "fleet::cluster::"),
            says: "FAILED",
        }],
    },
    Mistake {
        name: "the workbench compares a trace with itself",
        layer: Shells,
        changes: &[Change {
            file: "web-demo/src/case/compare.ts",
            from: "!same(ours[name], theirs[name])",
            to: "!same(ours[name], ours[name])",
        }],
        found_by: &[FoundBy {
            method: "pages",
            run: Workbench,
            says: "the first difference is named by step",
        }],
    },
    Mistake {
        name: "an id is read past its end, without a check",
        layer: Core,
        changes: &[
            Change {
                file: "core/src/lib.rs",
                from: "#![forbid(unsafe_code)]\n",
                to: "#![allow(unsafe_code)]\n",
            },
            Change {
                file: "core/src/id.rs",
                from: "            pub fn as_str(&self) -> &str {\n                &self.0\n",
                to: "            pub fn as_str(&self) -> &str {\n\
                    \x20               unsafe { self.0.get_unchecked(..self.0.len() + \
                    1).get_unchecked(..self.0.len()) }\n",
            },
        ],
        found_by: &[FoundBy { method: "miri", run: Command("miri"), says: "Undefined Behavior" }],
    },
    Mistake {
        name: "a function of the public interface is gone",
        layer: Core,
        changes: &[Change {
            file: "core/src/record/edition.rs",
            from: "    pub fn has_offers(",
            to: "    pub(crate) fn has_offers(",
        }],
        found_by: &[FoundBy {
            method: "semver",
            run: Command("semver --against HEAD"),
            says: "has_offers",
        }],
    },
    Mistake {
        name: "a package has a licence that asks for more than its notice",
        layer: Packages,
        changes: &[Change {
            file: "Cargo.toml",
            from: "license = \"Apache-2.0\"",
            to: "license = \"AGPL-3.0-only\"",
        }],
        found_by: &[FoundBy { method: "deny", run: Command("deny"), says: "AGPL-3.0" }],
    },
    Mistake {
        name: "a comment cites a statement that the contract does not have",
        layer: Core,
        changes: &[Change {
            file: "core/src/time.rs",
            from: "after `now` (contract 5.20).",
            to: "after `now` (contract 5.99).",
        }],
        found_by: &[FoundBy { method: "tidy", run: Command("tidy"), says: "5.99" }],
    },
];
