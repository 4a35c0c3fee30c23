//! The model checker: searches the states that the real machine can reach, breadth first. Input
//! from outside, time and crashes are the moves.
//!
//! A process knows nothing that is not in its ledger. So a state of the model is what is stored,
//! and every move opens the agent anew from there. An append is one move, so a crash can come
//! between any two. States are counted by their shape.

pub mod adversary;
pub mod cast;
pub mod laws;
pub mod openings;
pub mod process;
pub mod rest;
pub mod ways;

use std::{
    cell::RefCell,
    hash::{Hash, Hasher},
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use stateright::{Checker, HasDiscoveries, Model, Property};
use wakeful_core::{record::decision::Boundary, state::State};

use self::{
    adversary::Adversary,
    cast::{Cast, Input},
    openings::Opening,
    process::{Asks, Broken, Move, Stored},
    rest::{Rests, Until},
};

/// What is searched, and how far.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// The participants.
    pub cast: Cast,
    /// The agents at the start of the search.
    pub openings: Vec<Opening>,
    /// The search ends when this number of shapes was found.
    pub shapes: usize,
    /// No state is farther than this number of moves from its opening.
    pub depth: usize,
    /// The number of threads. With one thread the first finding is one of the shortest.
    pub threads: usize,
    /// The seeded mistake, if any.
    pub adversary: Option<Adversary>,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Report {
    /// The number of openings.
    pub openings: usize,
    /// The number of shapes that were found.
    pub shapes: usize,
    /// The number of moves between them.
    pub transitions: usize,
    /// The largest number of moves from an opening.
    pub depth: usize,
    /// The number of shapes at the edge: they were checked, but no move was made from them. If it
    /// is 0, the search found all shapes that exist.
    pub edge: usize,
    /// The number of shapes from which the way to rest was walked with every kind of provider
    /// answer. These are all shapes that are not at the edge, and the shapes on their ways.
    pub rested: usize,
    /// The number of other shapes from which the way was walked until rest or until the provider
    /// must answer. These are the edge, and the shapes on their ways.
    pub rested_at_edge: usize,
    /// The longest way to rest, in appends.
    pub steps_to_rest: usize,
    /// The wall time.
    pub took: Duration,
    /// The first violation, if any.
    pub finding: Option<Finding>,
}

impl Report {
    /// Whether the search found all shapes that exist.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.edge == 0 && self.finding.is_none()
    }
}

/// The progress of a search.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The number of shapes that were found.
    pub shapes: usize,
    /// The number of shapes from which the way was walked, to rest or, at the edge, to the
    /// provider.
    pub rested: usize,
}

/// A violation, and the way to it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is violated.
    pub broken: Broken,
    /// The way as a scenario.
    pub scenario: String,
    /// The number of moves on the way.
    pub moves: usize,
}

/// The space of all states.
struct Space {
    bounds: Bounds,
    inputs: Vec<Input>,
    rests: Rests,
    /// Set at the first violation: from then on nothing more is searched.
    is_halted: AtomicBool,
    /// Set when enough shapes were found: those that are left become the edge.
    is_enough: AtomicBool,
    /// The number of shapes from which moves were made.
    left: AtomicUsize,
}

/// A state of the space. Two states are equal if their shapes are, and if both or neither are
/// broken.
///
/// A state is large, and most wait long until they are looked at. So only the shared state before
/// it is kept, and the move that leads here.
#[derive(Clone, Debug)]
struct Standing {
    shape: u64,
    broken: Option<Arc<Broken>>,
    opening: usize,
    moves: usize,
    before: Stored,
    by: Option<Move>,
}

/// The state before, the move from there, and the stored state that it gives.
type LookedAt = (Arc<State>, Option<Move>, Stored);

thread_local! {
    /// The state that this thread looks at. stateright asks for its moves one by one, so this saves
    /// a fold for each.
    static LOOKED_AT: RefCell<Option<LookedAt>> = const { RefCell::new(None) };
}

impl PartialEq for Standing {
    fn eq(&self, other: &Self) -> bool {
        (self.shape, self.broken.is_some()) == (other.shape, other.broken.is_some())
    }
}

impl Hash for Standing {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.shape, self.broken.is_some()).hash(state);
    }
}

impl Model for Space {
    type State = Standing;
    type Action = Move;

    fn init_states(&self) -> Vec<Standing> {
        let openings = self.bounds.openings.iter().enumerate();
        openings.map(|(at, opening)| Standing::new(at, process::begun(opening))).collect()
    }

    fn actions(&self, standing: &Standing, moves: &mut Vec<Move>) {
        if standing.broken.is_some()
            || self.is_halted.load(Ordering::Relaxed)
            || self.is_edge(standing)
        {
            return;
        }
        self.left.fetch_add(1, Ordering::Relaxed);
        let stored = self.stored(standing);
        let state = &*stored.state;
        moves.push(Move::Step(process::boundary(state)));
        // At a safe point the same state may decide differently: the interjection goes into the
        // run.
        if state.turns().run.is_some() && state.queue().interjection().is_some() {
            moves.push(Move::Step(Boundary::AfterToolResults));
        }
        moves.extend(
            self.inputs
                .iter()
                .enumerate()
                .filter(|(_, input)| (input.can_come)(state))
                .map(|(at, _)| Move::Say(at)),
        );
        if process::wake(state).is_some_and(|at| cast::may_wait_until(state, at)) {
            moves.push(Move::Wake);
        }
        moves.push(Move::Restart);
        if process::may_correct(state) {
            moves.push(Move::Correct);
        }
    }

    fn next_state(&self, standing: &Standing, what: Move) -> Option<Standing> {
        let before = self.stored(standing);
        let Stored { shape, broken, .. } = self.moved(&before, what, Asks::All)?;
        Some(Standing {
            shape,
            broken,
            opening: standing.opening,
            moves: standing.moves + 1,
            before,
            by: Some(what),
        })
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(SAFE, |space: &Self, standing: &Standing| {
                space.holds(standing.broken.is_none())
            }),
            Property::always(LIVE, |space: &Self, standing: &Standing| {
                space.holds(space.restless(standing).is_none())
            }),
        ]
    }
}

const SAFE: &str = "every batch keeps the invariants";
const LIVE: &str = "every state reaches rest";

impl Standing {
    fn new(opening: usize, before: Stored) -> Self {
        Self {
            shape: before.shape,
            broken: before.broken.clone(),
            opening,
            moves: 0,
            before,
            by: None,
        }
    }
}

impl Space {
    fn moved(&self, stored: &Stored, what: Move, asks: Asks) -> Option<Stored> {
        process::moved(stored, what, &self.inputs, self.bounds.adversary, asks)
    }

    /// Whether no move is made from this state.
    fn is_edge(&self, standing: &Standing) -> bool {
        standing.moves >= self.bounds.depth || self.is_enough.load(Ordering::Relaxed)
    }

    /// What is stored in this state, which is computed again if the thread has not just done so.
    fn stored(&self, standing: &Standing) -> Stored {
        let Standing { before, by, .. } = standing;
        LOOKED_AT.with_borrow_mut(|looked_at| match looked_at {
            Some((known, made, stored)) if Arc::ptr_eq(known, &before.state) && made == by => {
                stored.clone()
            }
            _ => {
                let stored = by
                    .and_then(|what| self.moved(before, what, Asks::Nothing(Some(standing.shape))))
                    .unwrap_or_else(|| before.clone());
                *looked_at = Some((before.state.clone(), *by, stored.clone()));
                stored
            }
        })
    }

    /// A way from here on which the agent does not reach rest, if there is one.
    fn restless(&self, standing: &Standing) -> Option<rest::Restless> {
        if standing.broken.is_some() || self.is_halted.load(Ordering::Relaxed) {
            return None;
        }
        let until = if self.is_edge(standing) { Until::Provider } else { Until::Rest };
        self.rests.from(&self.stored(standing), until, &self.inputs, self.bounds.adversary).err()
    }

    /// Ends the search if a property does not hold.
    fn holds(&self, holds: bool) -> bool {
        self.is_halted.fetch_or(!holds, Ordering::Relaxed);
        holds
    }
}

/// Searches, and reports the progress twenty times a second.
///
/// # Panics
/// If a thread of the search panics.
pub fn search(bounds: &Bounds, told: impl Fn(Progress)) -> Report {
    let began = Instant::now();
    let space = Space {
        bounds: bounds.clone(),
        inputs: cast::inputs(bounds.cast),
        rests: Rests::default(),
        is_halted: AtomicBool::new(false),
        is_enough: AtomicBool::new(false),
        left: AtomicUsize::new(0),
    };
    let builder = space.checker().threads(bounds.threads).finish_when(HasDiscoveries::Any);
    let mut checker = builder.spawn_bfs();
    let searching = checker.handles();
    while searching.iter().any(|thread| !thread.is_finished()) {
        thread::sleep(Duration::from_millis(50));
        let shapes = checker.unique_state_count();
        let (rested, rested_at_edge) = checker.model().rests.counts();
        told(Progress { shapes, rested: rested + rested_at_edge });
        if shapes >= bounds.shapes {
            checker.model().is_enough.store(true, Ordering::Relaxed);
        }
    }
    searching.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    let took = began.elapsed();
    let space = checker.model();
    let (shapes, left) = (checker.unique_state_count(), space.left.load(Ordering::Relaxed));
    let (rested, rested_at_edge) = space.rests.counts();
    // The finding is walked again for its scenario, so the search must not be halted.
    space.is_halted.store(false, Ordering::Relaxed);
    space.is_enough.store(false, Ordering::Relaxed);
    let finding = checker
        .discoveries()
        .into_values()
        .next()
        .map(|path| ways::finding(space, path.into_vec()));
    Report {
        openings: bounds.openings.len(),
        shapes,
        transitions: checker.state_count(),
        // stateright counts the states on a way including the first, so there is one move fewer.
        depth: checker.max_depth().saturating_sub(1),
        edge: shapes.saturating_sub(left),
        rested,
        rested_at_edge,
        steps_to_rest: space.rests.longest(),
        took,
        finding,
    }
}

/// The number of cores.
#[must_use]
pub fn all_cores() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
