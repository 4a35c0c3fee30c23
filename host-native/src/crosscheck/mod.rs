//! The cross-check: engines side by side over the same cases, each compared with the first.

mod random;
mod shrink;

use std::thread;

use crate::{
    case::Case,
    compare::{self, Difference},
    trace::{Summary, Trace, TraceError, Tracer},
};

pub use random::{Found, Hunt, hunt};

/// How many cases each engine plays before they are compared, so that no more traces than these are kept.
const AT_ONCE: usize = 16;

/// Engines side by side; the first is the one that the others are compared with.
pub struct Panel {
    tracers: Vec<Tracer>,
}

/// What became of a case.
pub struct Row {
    /// How many steps the first engine took.
    pub steps: usize,
    /// The head and the decision after the last of them.
    pub summary: Option<Summary>,
    /// What each of the other engines did, in their order.
    pub verdicts: Vec<Verdict>,
}

impl Row {
    /// Whether all engines did the same.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.verdicts.iter().all(|verdict| *verdict == Verdict::Equal)
    }
}

/// What an engine did with a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same as the first engine, to the byte.
    Equal,
    /// Something else, first here.
    Differs(Difference),
    /// It broke down, and this is why.
    Broke(String),
}

/// The first engine broke down: nothing can be compared with it.
#[derive(Debug, thiserror::Error)]
#[error("{case}: {why}")]
pub struct NoReference {
    /// Over this case.
    pub case: String,
    /// Why.
    pub why: TraceError,
}

impl Panel {
    /// The engines, the one to compare with first.
    #[must_use]
    pub fn new(tracers: Vec<Tracer>) -> Self {
        Self { tracers }
    }

    /// The names of the engines, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.tracers.iter().map(Tracer::name).collect()
    }

    /// Plays cases with all engines, each in a thread of its own, and compares them: a row for each case.
    ///
    /// # Errors
    /// Where the first engine breaks down.
    pub fn check(&mut self, cases: &[Case], mut progress: impl FnMut(&[Case])) -> Result<Vec<Row>, NoReference> {
        let mut rows = Vec::new();
        for cases in cases.chunks(AT_ONCE) {
            progress(cases);
            let mut columns: Vec<_> = self.play(cases).into_iter().map(Vec::into_iter).collect();
            for case in cases {
                rows.push(row(case, columns.iter_mut().filter_map(Iterator::next))?);
            }
        }
        Ok(rows)
    }

    /// Plays one case with all engines, one after the other.
    ///
    /// # Errors
    /// Where the first engine breaks down.
    pub fn one(&mut self, case: &Case) -> Result<Row, NoReference> {
        row(case, self.tracers.iter_mut().map(|tracer| tracer.trace(case)))
    }

    /// What each engine did with each case.
    fn play(&mut self, cases: &[Case]) -> Vec<Vec<Result<Trace, TraceError>>> {
        thread::scope(|scope| {
            let playing: Vec<_> = self
                .tracers
                .iter_mut()
                .map(|tracer| scope.spawn(move || cases.iter().map(|case| tracer.trace(case)).collect::<Vec<_>>()))
                .collect();
            playing.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }
}

/// Compares what engines did with a case.
fn row(case: &Case, mut played: impl Iterator<Item = Result<Trace, TraceError>>) -> Result<Row, NoReference> {
    let reference = match played.next() {
        Some(played) => played.map_err(|why| NoReference { case: case.name.clone(), why })?,
        None => Trace { case: case.name.clone(), steps: Vec::new() },
    };
    let verdicts = played.map(|other| verdict(&reference, other)).collect();
    Ok(Row { steps: reference.steps.len(), summary: reference.summary(), verdicts })
}

fn verdict(reference: &Trace, other: Result<Trace, TraceError>) -> Verdict {
    match other {
        Ok(trace) => compare::first_difference(reference, &trace).map_or(Verdict::Equal, Verdict::Differs),
        Err(why) => Verdict::Broke(why.to_string()),
    }
}
