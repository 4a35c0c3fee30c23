//! The n-th call of the store fails, for n = 1, 2, ... until none fails. Each failure gives a typed
//! error and changes no state, and the next attempt works (contract 3.2, I21).

use std::{cell::Cell, collections::BTreeSet, path::Path, rc::Rc};

use wakeful_core::{
    Boundary, Effect, EntryBytes, Head, Ledger, LedgerError, Options, Scheduler, SchedulerError,
    Seq, SnapshotIgnored,
};
use wakeful_host::{
    clock::VirtualClock,
    ledger::{SqliteFile, SqliteLedger},
};

use super::agent::{Agent, NOW, file_with, folded, ledger};
use crate::shared::prompt;

/// A ledger whose n-th call fails.
struct Failing {
    inner: SqliteLedger,
    /// Calls left until the one that fails, counted over all openings.
    left: Rc<Cell<u32>>,
    error: LedgerError,
    /// The name of the call that failed.
    failed: Rc<Cell<&'static str>>,
}

impl Failing {
    fn call(&self, name: &'static str) -> Result<(), LedgerError> {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        if left == 1 {
            self.failed.set(name);
            return Err(self.error.clone());
        }
        Ok(())
    }
}

impl Ledger for Failing {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        self.call("append")?;
        self.inner.append(expected, batch)
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        self.call("read")?;
        self.inner.read(after, limit)
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        self.call("load_snapshot")?;
        self.inner.load_snapshot()
    }

    fn store_snapshot(
        &mut self,
        head: &Head,
        write: &dyn Fn() -> String,
    ) -> Result<(), LedgerError> {
        self.call("store_snapshot")?;
        self.inner.store_snapshot(head, write)
    }
}

/// The result of one run of the script.
#[derive(Debug, Default, PartialEq)]
struct Came {
    head: Option<Head>,
    effects: Vec<Effect>,
    /// The failures in order: errors of calls, and snapshot failures that are only noted.
    failures: Vec<String>,
    /// The name of the call that failed.
    failed: &'static str,
}

impl Came {
    /// Tries once more after an error. The error must be the ledger's, and must have changed
    /// nothing.
    fn insist<T>(
        &mut self,
        agent: &mut Agent<Failing>,
        error: &LedgerError,
        attempt: impl Fn(&mut Agent<Failing>) -> Result<T, SchedulerError>,
    ) -> T {
        let before = agent.state().clone();
        match attempt(agent) {
            Ok(done) => done,
            Err(why) => {
                assert!(matches!(&why, SchedulerError::Ledger(found) if found == error), "{why}");
                assert_eq!(agent.state(), &before, "a failed call changes nothing");
                self.failures.push(why.to_string());
                attempt(agent).expect("the next attempt works")
            }
        }
    }
}

/// Drives an agent, whose log is just short of its first snapshot, through a turn and opens it
/// again. One call fails.
fn script(path: &Path, nth: u32, error: &LedgerError) -> Came {
    let file = SqliteFile::open(path).expect("it opens");
    let (left, failed) = (Rc::new(Cell::new(nth)), Rc::new(Cell::new("")));
    let mut came = Came::default();
    let open = |came: &mut Came| {
        let attempt = || {
            let lent = Failing {
                inner: ledger(&file, "a"),
                left: Rc::clone(&left),
                error: error.clone(),
                failed: Rc::clone(&failed),
            };
            Scheduler::drive(
                Options::new("a".into()),
                lent,
                VirtualClock::at(NOW),
                wakeful_host::provider::Elsewhere,
            )
        };
        let agent = attempt().or_else(|why| {
            assert!(matches!(&why, SchedulerError::Ledger(found) if found == error), "{why}");
            came.failures.push(why.to_string());
            attempt()
        });
        let agent = agent.expect("it opens at the second attempt");
        if let Some(SnapshotIgnored::Unreadable(why)) = &agent.opening().ignored {
            came.failures.push(why.clone());
        }
        agent
    };
    let mut agent = open(&mut came);
    let told = |came: &mut Came, agent: &mut Agent<Failing>, fact: &str| {
        let receipt = came.insist(agent, error, |agent| agent.propose(fact));
        came.effects.extend(receipt.effects);
    };
    told(&mut came, &mut agent, &prompt("late"));
    let step = came.insist(&mut agent, error, |agent| agent.step(Boundary::RunLoop));
    came.effects.extend(step.effects);
    let Some(Effect::StartTurn(turn)) = came.effects.last() else {
        panic!("a turn, not {:?}", came.effects)
    };
    let completed =
        format!(r#"{{"fact":"turn_terminal","run_id":"{}","kind":"completed"}}"#, turn.run_id);
    told(&mut came, &mut agent, &completed);
    came.insist(&mut agent, error, Scheduler::catch_up);
    came.failures.extend(agent.snapshot_failed().map(ToString::to_string));
    drop(agent);
    let agent = open(&mut came);
    assert_eq!(&folded("a", &mut ledger(&file, "a")), agent.state());
    came.head = Some(agent.state().head());
    came.failed = failed.get();
    came
}

#[test]
fn whichever_call_of_the_ledger_fails_nothing_has_changed_and_the_next_try_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let original = folder.path().join("ledger.sqlite");
    // The script reaches the first snapshot.
    drop(file_with(&original, 30));
    for error in [
        LedgerError::Failed { message: "the disk is on fire".into() },
        LedgerError::Conflict { found: Seq(7) },
    ] {
        let run = |nth: u32| {
            let path = folder.path().join(format!("run-{nth}.sqlite"));
            std::fs::copy(&original, &path).expect("a copy");
            script(&path, nth, &error)
        };
        let unhurt = run(0);
        assert_eq!(unhurt.failures, [""; 0]);
        let mut failed = BTreeSet::new();
        for nth in 1.. {
            let came = run(nth);
            assert_eq!(
                (came.head, &came.effects),
                (unhurt.head, &unhurt.effects),
                "call {nth}: one history, each effect once"
            );
            match came.failures.as_slice() {
                [] => break,
                [one] => assert_eq!(one, &error.to_string(), "call {nth}"),
                many => panic!("call {nth} failed, but the failures are: {many:?}"),
            }
            failed.insert(came.failed);
        }
        assert_eq!(
            failed,
            BTreeSet::from(["append", "load_snapshot", "read", "store_snapshot"]),
            "each kind of call has failed"
        );
    }
}
