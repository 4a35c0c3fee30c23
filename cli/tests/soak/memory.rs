//! The memory of a process, and of what a state keeps of things that have ended.

use std::{fs, hint::black_box};

use wakeful_core::{
    host::Scheduler, machine::Options, record::decision::Boundary, time::Timestamp,
};
use wakeful_host::{clock::VirtualClock, ledger::MemoryLedger, provider::Elsewhere};

use crate::{audit::tombstones, shared::prompt};

/// The turns of the state by which the bytes of a tombstone are measured.
const TURNS: u32 = 3_000;

/// The copies of that state. One alone is too small to be seen beside the noise.
const COPIES: usize = 40;

/// The resident memory of a process in bytes; `None` if it has ended.
pub(crate) fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// The memory of a state with this many turns behind it and nothing open, and its tombstones.
fn after(turns: u32) -> (u64, u64) {
    const START: i64 = 1_780_000_000_000_000_000;
    let clock = VirtualClock::at(Timestamp::from_nanos(START));
    let options = Options::new("default".into());
    let mut scheduler =
        Scheduler::drive(options, MemoryLedger::default(), clock.clone(), Elsewhere)
            .expect("a new ledger");
    for turn in 0..turns {
        // The form of the ids of `wakeful send`, so that they are as long.
        let id = format!("sent-{}-10000", START + i64::from(turn));
        scheduler.propose(&prompt(&id, "Go on.", None)).expect("it is accepted");
        scheduler.step(Boundary::RunLoop).expect("a turn begins");
        let run = scheduler.state().turns().run.as_ref().expect("an open run").run_id.clone();
        let end = format!(r#"{{"fact":"turn_terminal","run_id":"{run}","kind":"completed"}}"#);
        scheduler.propose(&end).expect("it is accepted");
        clock.set(Timestamp::from_nanos(START + i64::from(turn)));
    }
    let own = std::process::id();
    let state = scheduler.state();
    let before = resident(own).expect("this process lives");
    let copies: Vec<_> = (0..COPIES).map(|_| state.clone()).collect();
    let bytes = resident(own).expect("this process lives").saturating_sub(before);
    let count = tombstones(&black_box(copies)[0]);
    (bytes / COPIES as u64, count)
}

/// The states of an agent: its engine has one, and the host folds another (decision 023).
const STATES: u64 = 2;

/// The measured bytes of a tombstone in an agent: what its states grow by if they have nothing
/// else.
pub(crate) fn bytes_of_a_tombstone() -> u64 {
    let (bytes, count) = after(TURNS);
    assert!(count >= u64::from(TURNS), "each message leaves a tombstone: {count}");
    bytes * STATES / count
}

/// The resident memory and the tombstones of an agent after some turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) turns: u64,
    pub(crate) resident: u64,
    pub(crate) tombstones: u64,
}

/// The sample in the middle, by its memory. One alone may fall into a moment of work.
pub(crate) fn median(samples: impl Iterator<Item = Sample>) -> Option<Sample> {
    let mut samples: Vec<_> = samples.collect();
    samples.sort_by_key(|sample| sample.resident);
    samples.get(samples.len() / 2).copied()
}

/// The most memory that an agent may have later: a tenth more, and its new tombstones.
pub(crate) fn limit(early: Sample, late: Sample, bytes_of_a_tombstone: u64) -> u64 {
    let new = late.tombstones.saturating_sub(early.tombstones);
    early.resident + early.resident / 10 + new * bytes_of_a_tombstone
}

#[test]
fn memory_that_grows_by_more_than_a_tenth_and_its_tombstones_is_too_much() {
    let sample = |resident, tombstones| Sample { turns: 0, resident, tombstones };
    let (early, late) = (sample(1_000, 10), sample(1_150, 20));
    assert_eq!(limit(early, late, 5), 1_150);
    assert!(late.resident > limit(early, late, 4));
    let samples = [sample(9, 0), sample(1, 0), sample(5, 0)];
    assert_eq!(median(samples.into_iter()), Some(sample(5, 0)));
}
