//! The cross-check: several engines play the same cases and scenarios, and each is compared with
//! the first.

mod pieces;
#[cfg(feature = "random")]
mod random;
#[cfg(feature = "random")]
mod shrink;

use std::thread;

use crate::{
    case::Case,
    compare::{self, Difference},
    scenario::Scenario,
    trace::{Summary, Trace, TraceError, Tracer},
};

pub use pieces::{LeftOut, Pieces, load};
#[cfg(feature = "random")]
pub use random::{Found, Hunt, hunt};

/// How many pieces each engine plays before they are compared. It limits the traces in memory.
const AT_ONCE: usize = 16;

/// A case or a scenario that engines play.
#[derive(Clone, Debug)]
pub enum Piece {
    /// A fixture or a story.
    Case(Case),
    /// A scenario of the tests.
    Scenario(Scenario),
}

impl Piece {
    /// The name of the case or scenario.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Case(case) => &case.name,
            Self::Scenario(scenario) => &scenario.name,
        }
    }

    fn played(&self, tracer: &mut Tracer) -> Result<Trace, TraceError> {
        match self {
            Self::Case(case) => tracer.trace(case),
            Self::Scenario(scenario) => tracer.perform(scenario),
        }
    }
}

/// The engines of a cross-check. The first is the reference: the others are compared with it.
pub struct Panel {
    tracers: Vec<Tracer>,
}

/// The result for a piece.
pub struct Row {
    /// The number of steps that the first engine took.
    pub steps: usize,
    /// The head and the decision after the last step.
    pub summary: Option<Summary>,
    /// The verdict on each of the other engines, in their order.
    pub verdicts: Vec<Verdict>,
}

impl Row {
    /// Whether all engines gave the same trace.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.verdicts.iter().all(|verdict| *verdict == Verdict::Equal)
    }
}

/// The verdict on an engine over a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its trace equals the first engine's, to the byte.
    Equal,
    /// Its trace differs, first here.
    Differs(Difference),
    /// It failed, for this reason.
    Broke(String),
}

/// The first engine failed, so there is nothing to compare with.
#[derive(Debug, thiserror::Error)]
#[error("{case}: {why}")]
pub struct NoReference {
    /// The name of the piece.
    pub case: String,
    /// Why.
    pub why: TraceError,
}

impl Panel {
    /// Takes the engines, the reference first.
    #[must_use]
    pub fn new(tracers: Vec<Tracer>) -> Self {
        Self { tracers }
    }

    /// The names of the engines, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.tracers.iter().map(Tracer::name).collect()
    }

    /// Plays pieces with all engines, each in its own thread, and compares them. Returns a row per
    /// piece.
    ///
    /// # Errors
    /// If the first engine fails.
    pub fn check(
        &mut self,
        pieces: &[Piece],
        mut progress: impl FnMut(&[Piece]),
    ) -> Result<Vec<Row>, NoReference> {
        let mut rows = Vec::new();
        for pieces in pieces.chunks(AT_ONCE) {
            progress(pieces);
            let mut columns: Vec<_> = self.play(pieces).into_iter().map(Vec::into_iter).collect();
            for piece in pieces {
                rows.push(row(piece, columns.iter_mut().filter_map(Iterator::next))?);
            }
        }
        Ok(rows)
    }

    /// Plays one piece with all engines, one after the other.
    ///
    /// # Errors
    /// If the first engine fails.
    #[cfg(feature = "random")]
    pub fn one(&mut self, piece: &Piece) -> Result<Row, NoReference> {
        row(piece, self.tracers.iter_mut().map(|tracer| piece.played(tracer)))
    }

    /// The traces, by engine and piece.
    fn play(&mut self, pieces: &[Piece]) -> Vec<Vec<Result<Trace, TraceError>>> {
        thread::scope(|scope| {
            let playing: Vec<_> = self
                .tracers
                .iter_mut()
                .map(|tracer| {
                    scope.spawn(move || {
                        pieces.iter().map(|piece| piece.played(tracer)).collect::<Vec<_>>()
                    })
                })
                .collect();
            playing
                .into_iter()
                .map(|thread| {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        })
    }
}

/// Compares the traces of a piece with the first of them.
fn row(
    piece: &Piece,
    mut played: impl Iterator<Item = Result<Trace, TraceError>>,
) -> Result<Row, NoReference> {
    let reference = match played.next() {
        Some(played) => played.map_err(|why| NoReference { case: piece.name().to_owned(), why })?,
        // No engine can run here. The command reports that with its exit code.
        None => Trace { case: piece.name().to_owned(), steps: Vec::new() },
    };
    let verdicts = played.map(|other| verdict(&reference, other)).collect();
    Ok(Row { steps: reference.steps.len(), summary: reference.summary(), verdicts })
}

fn verdict(reference: &Trace, other: Result<Trace, TraceError>) -> Verdict {
    match other {
        Ok(trace) => {
            compare::first_difference(reference, &trace).map_or(Verdict::Equal, Verdict::Differs)
        }
        Err(why) => Verdict::Broke(why.to_string()),
    }
}
