//! The agent that is measured, and what a host does with it in one full step.

use std::{cell::RefCell, rc::Rc};

use wakeful_core::{Clock, Effect, Ledger, Options, Provider, ProviderError, RunId, Timestamp};
use wakeful_host::engine::{Engine, EngineError, Mode, Native};

/// The instant at which every clock starts.
const BEGIN: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);

/// The length of the fact of a message, in bytes.
const MESSAGE_BYTES: usize = 300;

/// A clock that advances by a millisecond each time it is read.
#[derive(Clone, Debug)]
pub struct Ticking(Timestamp);

impl Default for Ticking {
    fn default() -> Self {
        Self(BEGIN)
    }
}

impl Clock for Ticking {
    fn now(&mut self) -> Timestamp {
        self.0 = self.0.plus_ms(1);
        self.0
    }
}

/// A provider that only remembers which turn to execute.
#[derive(Clone, Debug, Default)]
pub struct Turns(Rc<RefCell<Option<RunId>>>);

impl Provider for Turns {
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError> {
        if let Effect::StartTurn(request) = effect {
            *self.0.borrow_mut() = Some(request.run_id.clone());
        }
        Ok(())
    }
}

/// An agent behind an engine, with its host.
pub struct Agent<E> {
    /// The engine.
    pub engine: E,
    turns: Turns,
    said: u64,
}

/// An agent in the native core, over a ledger.
pub fn native<L: Ledger>(ledger: L) -> Agent<Native<L, Ticking, Turns>> {
    named("bench", ledger)
}

/// The same for an agent with this name.
pub fn named<L: Ledger>(name: &str, ledger: L) -> Agent<Native<L, Ticking, Turns>> {
    let turns = Turns::default();
    Agent::opened(name, Native::new(ledger, Ticking::default(), turns.clone()), turns)
}

impl<E: Engine> Agent<E> {
    /// An agent that this host drives.
    ///
    /// # Panics
    /// If the engine does not open it.
    pub fn opened(name: &str, engine: E, turns: Turns) -> Self {
        let mut agent = Self::new(engine, turns);
        agent.open(name);
        agent
    }

    /// An agent that is not open yet. The provider of its engine is a clone of `turns`.
    pub fn new(engine: E, turns: Turns) -> Self {
        Self { engine, turns, said: 0 }
    }

    /// Opens its ledger, to drive it.
    ///
    /// # Panics
    /// If the engine does not open it.
    pub fn open(&mut self, name: &str) {
        expect_answer(self.engine.open(&Options::new(name.into()), Mode::Drive));
    }

    /// A full step: propose and commit a message, decide on it, admit and settle its turn, and
    /// rest.
    ///
    /// # Panics
    /// If no turn starts.
    pub fn round(&mut self) {
        let fact = self.next_message();
        self.propose(&fact);
        self.rest();
        let end = self.end_of_turn().expect("a message starts a turn");
        self.propose(&end);
        self.rest();
    }

    /// The fact that ends the open turn, once.
    pub fn end_of_turn(&mut self) -> Option<String> {
        let run = self.turns.0.borrow_mut().take()?;
        Some(format!(r#"{{"fact":"turn_terminal","run_id":"{run}","kind":"completed"}}"#))
    }

    /// The fact of a message with a new id.
    pub fn next_message(&mut self) -> String {
        self.said += 1;
        message(&format!("message-{}", self.said))
    }

    /// Says messages with other ids than another agent of the same ledger did, which said this
    /// number.
    pub fn goes_on_after(&mut self, said: u64) {
        self.said = said;
    }

    /// Completes turns until no more start.
    pub fn settle(&mut self) {
        loop {
            self.rest();
            let Some(end) = self.end_of_turn() else { return };
            self.propose(&end);
        }
    }

    /// Proposes a fact in JSON text.
    ///
    /// # Panics
    /// If the engine refuses it.
    pub fn propose(&mut self, fact: &str) {
        expect_answer(self.engine.propose(fact));
    }

    /// Steps until there is nothing left to do.
    ///
    /// # Panics
    /// If the engine gives an error.
    pub fn rest(&mut self) {
        expect_answer(self.engine.run_until_rest());
    }
}

/// The fact of a message of the operator.
pub fn message(id: &str) -> String {
    let begin = format!(
        r#"{{"fact":"message_queued","message":{{"id":"{id}","kind":"operator_prompt","origin":{{"kind":"operator"}},"trust":"trusted_operator","body":{{"type":"text","text":""#
    );
    let end = r#""}}}"#;
    let text = "What became of it since we spoke? ".repeat(10);
    let room = MESSAGE_BYTES - begin.len() - end.len();
    format!("{begin}{}{end}", &text[..room])
}

fn expect_answer<T>(answer: Result<T, EngineError>) -> T {
    match answer {
        Ok(value) => value,
        Err(why) => panic!("the measured engine gave an error: {why}"),
    }
}
