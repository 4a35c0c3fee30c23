//! The cross-check: engines side by side over the same cases and scenarios, each compared with the
//! first.

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

/// How many pieces each engine plays before they are compared, so that no more traces than these
/// are kept.
const AT_ONCE: usize = 16;

/// Something that engines play.
#[derive(Clone, Debug)]
pub enum Piece {
    /// A case.
    Case(Case),
    /// A scenario of the tests.
    Scenario(Scenario),
}

impl Piece {
    /// Its name.
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

/// Engines side by side; the first is the one that the others are compared with.
pub struct Panel {
    tracers: Vec<Tracer>,
}

/// What became of a piece.
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

/// What an engine did with a piece.
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
    /// Over this piece.
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

    /// Plays pieces with all engines, each in a thread of its own, and compares them: a row for
    /// each.
    ///
    /// # Errors
    /// Where the first engine breaks down.
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
    /// Where the first engine breaks down.
    #[cfg(feature = "random")]
    pub fn one(&mut self, piece: &Piece) -> Result<Row, NoReference> {
        row(piece, self.tracers.iter_mut().map(|tracer| piece.played(tracer)))
    }

    /// What each engine did with each piece.
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

/// Compares what engines did with a piece.
fn row(
    piece: &Piece,
    mut played: impl Iterator<Item = Result<Trace, TraceError>>,
) -> Result<Row, NoReference> {
    let reference = match played.next() {
        Some(played) => played.map_err(|why| NoReference { case: piece.name().to_owned(), why })?,
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
