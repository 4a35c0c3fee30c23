//! The model checker: every state that the real machine can come to, breadth first, by what can
//! come from outside, by time, and by death.
//!
//! A process knows nothing that is not in its ledger, so a state of the model is what is stored,
//! and every move opens the agent anew from there. An append is one move, so that a death can come
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
    /// Who takes part.
    pub cast: Cast,
    /// Where the search begins.
    pub openings: Vec<Opening>,
    /// It ends when so many shapes were found.
    pub shapes: usize,
    /// It goes so many moves far.
    pub depth: usize,
    /// How many threads search; with one the first finding is one of the shortest.
    pub threads: usize,
    /// Who stands between the machine and its ledger.
    pub adversary: Option<Adversary>,
}

/// What was searched.
#[derive(Clone, Debug)]
pub struct Report {
    /// From how many openings the search began.
    pub openings: usize,
    /// How many shapes were found.
    pub shapes: usize,
    /// How many moves were made between them.
    pub transitions: usize,
    /// How many moves the farthest is from the beginning.
    pub depth: usize,
    /// How many shapes stand at the edge: they were checked, and no move was made from them. At
    /// zero these are all the shapes that there are.
    pub edge: usize,
    /// From how many shapes the way to rest was walked, with every kind of answer of the provider:
    /// all but the edge, and those on the way.
    pub rested: usize,
    /// From how many others the way was walked to rest or to where the provider is waited for: the
    /// edge, and those that come on the way.
    pub rested_at_edge: usize,
    /// The longest way to rest, in appends.
    pub steps_to_rest: usize,
    /// How long it took.
    pub took: Duration,
    /// What was found to be broken, if anything.
    pub finding: Option<Finding>,
}

impl Report {
    /// Whether these are all the shapes that there are.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.edge == 0 && self.finding.is_none()
    }
}

/// How far a search has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// How many shapes were found.
    pub shapes: usize,
    /// From how many the way to rest was walked, or, at the edge, to the provider.
    pub rested: usize,
}

/// Something that is broken, and the way there.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What.
    pub broken: Broken,
    /// The way as a scenario.
    pub scenario: String,
    /// How many moves it is.
    pub moves: usize,
}

/// The space of all states.
struct Space {
    bounds: Bounds,
    inputs: Vec<Input>,
    rests: Rests,
    /// Whether something is broken, and nothing more is looked at.
    is_halted: AtomicBool,
    /// Whether enough shapes were found, and those that are left are the edge.
    is_enough: AtomicBool,
    /// From how many shapes moves were made.
    left: AtomicUsize,
}

/// A state of the space. The shape alone tells it from others, and whether something is broken.
///
/// A state is large and most wait long to be looked at, so only the state before is kept, which it
/// shares, and the move that made it.
#[derive(Clone, Debug)]
struct Standing {
    shape: u64,
    broken: Option<Arc<Broken>>,
    opening: usize,
    moves: usize,
    before: Stored,
    by: Option<Move>,
}

/// The state before, the move that was made there, and what is stored then.
type LookedAt = (Arc<State>, Option<Move>, Stored);

thread_local! {
    /// The state that this thread looks at: its moves are made one after the other.
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
const LIVE: &str = "every state comes to rest";

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

    /// What is stored in this state.
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

    /// A way from here on which the agent does not come to rest.
    fn restless(&self, standing: &Standing) -> Option<rest::Restless> {
        if standing.broken.is_some() || self.is_halted.load(Ordering::Relaxed) {
            return None;
        }
        let until = if self.is_edge(standing) { Until::Provider } else { Until::Rest };
        self.rests.from(&self.stored(standing), until, &self.inputs, self.bounds.adversary).err()
    }

    /// Ends the search where something does not hold.
    fn holds(&self, holds: bool) -> bool {
        self.is_halted.fetch_or(!holds, Ordering::Relaxed);
        holds
    }
}

/// Searches, and says from time to time how many shapes there are.
///
/// # Panics
/// Where a thread of the search does.
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
    searching.into_iter().for_each(|thread| thread.join().expect("the search goes through"));
    let took = began.elapsed();
    let space = checker.model();
    let (shapes, left) = (checker.unique_state_count(), space.left.load(Ordering::Relaxed));
    let (rested, rested_at_edge) = space.rests.counts();
    // The way to what is broken is gone once more.
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
        // stateright counts the states of a way, the first among them.
        depth: checker.max_depth().saturating_sub(1),
        edge: shapes.saturating_sub(left),
        rested,
        rested_at_edge,
        steps_to_rest: space.rests.longest(),
        took,
        finding,
    }
}

/// As many threads as there are cores.
#[must_use]
pub fn all_cores() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
