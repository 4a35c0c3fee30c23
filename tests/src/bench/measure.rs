//! Measuring on a noisy machine: the subjects alternate, and the minimum of several turns counts.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The cost of one unit: nanoseconds, unless its figure has another [`Unit`](super::Unit).
pub(super) type Cost = f64;

/// The CPU time that this thread has used.
fn cpu() -> Duration {
    since_start(ClockId::ThreadCPUTime)
}

/// The CPU time that all threads of this process have used.
pub(super) fn of_process() -> Duration {
    since_start(ClockId::ProcessCPUTime)
}

fn since_start(clock: ClockId) -> Duration {
    let spent = clock_gettime(clock);
    Duration::new(spent.tv_sec.unsigned_abs(), u32::try_from(spent.tv_nsec).unwrap_or_default())
}

/// Something to measure: does its work once and returns the number of units of it.
pub(super) type Subject<'a> = Box<dyn FnMut() -> u64 + 'a>;

/// The CPU time of a unit of each subject, on this thread only.
pub(super) fn beside<const N: usize>(turns: u32, subjects: [Subject<'_>; N]) -> [Cost; N] {
    turn_about(turns, subjects, cpu)
}

/// The wall time of a unit of each subject, for subjects that wait for disks.
pub(super) fn elapsed<const N: usize>(turns: u32, subjects: [Subject<'_>; N]) -> [Cost; N] {
    let started = Instant::now();
    turn_about(turns, subjects, || started.elapsed())
}

/// The least cost of each subject. They measure themselves, because what they prepare must not
/// count.
pub(super) fn least<const N: usize>(
    turns: u32,
    mut subjects: [Box<dyn FnMut() -> Cost + '_>; N],
) -> [Cost; N] {
    let mut least = [Cost::INFINITY; N];
    for _ in 0..turns {
        for (least, subject) in least.iter_mut().zip(&mut subjects) {
            *least = least.min(subject());
        }
    }
    least
}

/// The wall time of a unit of some work.
pub(super) fn timed(units: u64, work: impl FnOnce()) -> Cost {
    let started = Instant::now();
    work();
    per_unit(started.elapsed(), units)
}

/// The subjects alternate, so that other work of the machine disturbs them alike.
fn turn_about<const N: usize>(
    turns: u32,
    mut subjects: [Subject<'_>; N],
    spent: impl Fn() -> Duration,
) -> [Cost; N] {
    let mut least = [Cost::INFINITY; N];
    for _ in 0..turns {
        for (least, subject) in least.iter_mut().zip(&mut subjects) {
            let before = spent();
            let units = subject();
            *least = least.min(per_unit(spent() - before, units));
        }
    }
    least
}

fn per_unit(time: Duration, units: u64) -> Cost {
    time.as_secs_f64() * 1e9 / units as f64
}
