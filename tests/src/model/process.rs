//! One move of the model: a process opens the agent from what is stored, proposes and appends, and
//! its batch is checked.

use std::{borrow::Cow, fmt, sync::Arc};

use wakeful_core::{
    check,
    fact::{Fact, control::Restarted},
    ladder::owed,
    machine::{Machine, Options, Proposal, ProposeError},
    record::{
        chain::{self, Head},
        decision::Boundary,
        effect::Effect,
        entry::{self, Entry, EntryBytes},
    },
    state::State,
    time::Timestamp,
};

use wakeful_lab::shape::Shape;

use super::{adversary::Adversary, cast::Input, laws, openings::Opening};
use crate::scenario;

/// A move of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Input arrives: the index of its fact in the inputs.
    Say(usize),
    /// The loop takes a step.
    Step(Boundary),
    /// Time advances to the next wake, and the loop takes a step.
    Wake,
    /// The process dies, and another one takes over the ledger.
    Restart,
    /// The clock turns out to have been ahead by [`AHEAD_MS`], and the ledger is set back.
    Correct,
}

/// How far a clock was ahead, in milliseconds: longer than the shortest timer.
const AHEAD_MS: u64 = 150_000;

/// The fact of a correction.
pub const CORRECTION: &str = r#"{"fact":"clock_corrected","elapsed_ms":0}"#;

/// The time that the right clock shows.
#[must_use]
pub fn right_time(state: &State) -> Timestamp {
    state.at().minus_nanos(i64::try_from(AHEAD_MS * 1_000_000).unwrap_or(i64::MAX))
}

/// Whether the clock may turn out to have been ahead: once, and only if an instant is owed. Without
/// this limit the space would be infinite.
#[must_use]
pub fn may_correct(state: &State) -> bool {
    state.corrected().is_none() && wake(state).is_some()
}

/// What is checked of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// Its batch, that the batch is the same after a rejection, and that its effects are found
    /// after an append that was not acknowledged.
    All,
    /// Its batch.
    Batch,
    /// Nothing: only the stored state is wanted. If the move was made before, this is its shape.
    Nothing(Option<u64>),
}

/// A property that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its name: the numbers of invariants of contract 14, or the statement of the contract that a
    /// law checks.
    pub name: Cow<'static, str>,
    /// What is wrong.
    pub says: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.says)
    }
}

/// A stored agent, and what the last batch broke.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The state that the entries give.
    pub state: Arc<State>,
    /// A hash of the state's shape, 64 bits.
    pub shape: u64,
    /// The property that the last batch broke, if any.
    pub broken: Option<Arc<Broken>>,
}

impl Stored {
    fn new(state: State, broken: Option<Broken>) -> Self {
        let shape = shape_of(&state);
        Self { state: Arc::new(state), shape, broken: broken.map(Arc::new) }
    }
}

fn shape_of(state: &State) -> u64 {
    let digest = chain::Chain::START.extend(Shape::from_state(state).as_str());
    digest.as_bytes().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn options() -> Options {
    Options::new("default".into())
}

/// The agent of an opening.
///
/// # Panics
/// If a line of the opening is not a command: the model itself is wrong then.
#[must_use]
pub fn begun(opening: &Opening) -> Stored {
    let text = opening.lines().collect::<Vec<_>>().join("\n");
    let (ledger, _) = scenario::ledgers(&text).pop().expect("a scenario has an agent");
    let broken = ledger
        .breaches()
        .first()
        .map(|breach| Broken { name: breach.id.into(), says: breach.says.clone() });
    Stored::new(ledger.state(), broken)
}

fn restarted() -> Fact {
    Fact::RuntimeRestarted(Restarted::default())
}

/// A machine that continues from this state.
fn opened(state: &State) -> Machine {
    Machine::standing(options(), state.clone())
}

/// A machine as another process opens it, from a snapshot of this state.
fn reopened(state: &State) -> Machine {
    Machine::resume(options(), &opened(state).snapshot()).expect("a snapshot of this program")
}

/// The fact with the id of the open run in it.
fn of_run(fact: &str, state: &State) -> String {
    let run = state.turns().run.as_ref().map_or("none", |run| run.run_id.as_str());
    fact.replace("$run", run)
}

/// Proposes a move; `None` if the machine has nothing to append.
fn proposed(
    machine: &mut Machine,
    what: Move,
    inputs: &[Input],
) -> Result<Option<Proposal>, ProposeError> {
    let now = machine.state().at();
    match what {
        Move::Say(at) => {
            let fact = of_run(&inputs[at].fact, machine.state());
            machine.propose_json(&fact, now).map(Some)
        }
        Move::Step(boundary) => machine.step(boundary, now),
        Move::Wake => {
            let Some(at) = wake(machine.state()) else { return Ok(None) };
            machine.step(machine.boundary(), at)
        }
        Move::Restart => machine.propose(restarted(), now).map(Some),
        Move::Correct => {
            let now = right_time(machine.state());
            machine.propose_json(CORRECTION, now).map(Some)
        }
    }
}

/// The next wake of this state, if it is after now.
#[must_use]
pub fn wake(state: &State) -> Option<Timestamp> {
    owed::next_wake(state, state.at()).filter(|at| *at > state.at())
}

/// The boundary of the loop's next step.
#[must_use]
pub fn boundary(state: &State) -> Boundary {
    opened(state).boundary()
}

/// Makes a move; `None` if nothing is appended.
///
/// With [`Asks::All`] two more things are checked. The first proposal is rejected, and the second
/// must have the same batch (I21). An append that was not acknowledged, but is found in the ledger,
/// must have the same effects as one that was (contract 3.2).
///
/// An adversary may change the state that the machine sees, its batch and its effects.
#[must_use]
pub fn moved(
    stored: &Stored,
    what: Move,
    inputs: &[Input],
    adversary: Option<Adversary>,
    asks: Asks,
) -> Option<Stored> {
    let before = &*stored.state;
    let fact = if let Move::Say(at) = what { Some(inputs[at].fact.as_str()) } else { None };
    let seen = adversary.and_then(|adversary| adversary.state(before, fact));
    let mut machine = if what == Move::Restart {
        reopened(before)
    } else {
        opened(seen.as_ref().unwrap_or(before))
    };
    let stuck = |name: &'static str, says: String| {
        Some(Stored {
            broken: Some(Arc::new(Broken { name: name.into(), says })),
            ..stored.clone()
        })
    };
    let first = match proposed(&mut machine, what, inputs) {
        Ok(first) => first,
        Err(why) => return stuck("2.2", format!("{what:?} is refused: {why}")),
    };
    if what == Move::Wake && first.is_none() {
        return stuck("9.3", "a wake finds nothing to do".to_owned());
    }
    if asks == Asks::All {
        machine.rejected();
        if proposed(&mut machine, what, inputs).ok().flatten() != first {
            return stuck("I21", format!("{what:?} proposes another batch after a rejection"));
        }
    }
    let bytes = first.as_ref().map_or(&[][..], |proposal| &proposal.batch);
    let entries = read(before.head(), bytes);
    let released = machine.committed();
    let records = adversary.and_then(|adversary| adversary.records(before, &entries));
    let (batch, after) = match records {
        Some(records) => {
            let at = entries.last().map_or(before.at(), |entry| entry.at);
            let (batch, _) = entry::seal_all(before.head(), at, records);
            let after = folded(before, &batch);
            (batch, after)
        }
        None => {
            let after =
                if seen.is_some() { folded(before, &entries) } else { machine.state().clone() };
            (entries, after)
        }
    };
    if batch.is_empty() {
        return None;
    }
    if let Asks::Nothing(shape) = asks {
        let shape = shape.unwrap_or_else(|| shape_of(&after));
        return Some(Stored { state: Arc::new(after), shape, broken: None });
    }
    let effects =
        adversary.map_or_else(|| released.clone(), |adversary| adversary.effects(&released));
    let doubt = || unacknowledged(seen.as_ref().unwrap_or(before), what, inputs, bytes, &released);
    let broken = (asks == Asks::All)
        .then(doubt)
        .flatten()
        .or_else(|| breaches(before, &batch, &after))
        .or_else(|| laws::broken(before, &batch, &after, &effects));
    Some(Stored::new(after, broken))
}

/// All invariants that a batch breaks, as one property.
fn breaches(before: &State, batch: &[Entry], after: &State) -> Option<Broken> {
    let broken = check::breaches(before, batch, after);
    let join = |part: fn(&check::Breach) -> &str| broken.iter().map(part).collect::<Vec<_>>();
    (!broken.is_empty()).then(|| Broken {
        name: join(|breach| breach.id).join(", ").into(),
        says: join(|breach| &breach.says).join("; "),
    })
}

fn folded(before: &State, batch: &[Entry]) -> State {
    let mut state = before.clone();
    batch.iter().for_each(|entry| state.apply(entry));
    state
}

/// The entries of a batch as the ledger gives them back.
fn read(mut head: Head, batch: &[EntryBytes]) -> Vec<Entry> {
    let entry = |bytes: &EntryBytes| {
        let entry = bytes.open(&head).expect("sealed on this head");
        head = entry.head();
        entry
    };
    batch.iter().map(entry).collect()
}

/// Checks that the effects of a stored batch are found when it is read back, if the ledger did not
/// acknowledge it.
fn unacknowledged(
    state: &State,
    what: Move,
    inputs: &[Input],
    batch: &[EntryBytes],
    effects: &[Effect],
) -> Option<Broken> {
    if effects.is_empty() {
        return None;
    }
    let mut machine = opened(state);
    let again = proposed(&mut machine, what, inputs).ok().flatten();
    machine.unacknowledged();
    batch.iter().for_each(|bytes| machine.load(bytes).expect("sealed on this head"));
    let holds = again.is_some_and(|again| again.batch == batch) && machine.found() == effects;
    (!holds).then(|| Broken {
        name: "3.2".into(),
        says: format!(
            "the effects of {what:?} are not found after an append that was not acknowledged"
        ),
    })
}
