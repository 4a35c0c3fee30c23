//! The agent that is measured, and what a host does with it in one round.

use std::{cell::RefCell, rc::Rc};

use wakeful_core::{
    host::{Clock, Ledger, Provider, ProviderError},
    id::RunId,
    machine::Options,
    record::effect::Effect,
    time::Timestamp,
};
use wakeful_host::engine::{Engine, EngineError, Mode, Native};

/// The instant at which every clock starts.
const BEGIN: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);

/// The length of the fact of a message, in bytes.
const MESSAGE_BYTES: usize = 300;

/// A clock that advances by a millisecond each time it is read.
#[derive(Clone, Debug)]
pub(super) struct Ticking(Timestamp);

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
pub(super) struct Turns(Rc<RefCell<Option<RunId>>>);

impl Provider for Turns {
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError> {
        if let Effect::StartTurn(request) = effect {
            *self.0.borrow_mut() = Some(request.run_id.clone());
        }
        Ok(())
    }
}

/// An agent behind an engine, with its host.
pub(super) struct Agent<E> {
    pub(super) engine: E,
    turns: Turns,
    said: u64,
}

/// An agent in the native core, over a ledger.
pub(super) fn native<L: Ledger>(ledger: L) -> Agent<Native<L, Ticking, Turns>> {
    named("bench", ledger)
}

/// The same for an agent with this name.
pub(super) fn named<L: Ledger>(name: &str, ledger: L) -> Agent<Native<L, Ticking, Turns>> {
    let turns = Turns::default();
    Agent::opened(name, Native::new(ledger, Ticking::default(), turns.clone()), turns)
}

impl<E: Engine> Agent<E> {
    /// An agent that this host drives.
    pub(super) fn opened(name: &str, mut engine: E, turns: Turns) -> Self {
        expect_answer(engine.open(&Options::new(name.into()), Mode::Drive));
        Self { engine, turns, said: 0 }
    }

    /// A full step: propose and commit a message, decide on it, admit and settle its turn, and
    /// rest.
    pub(super) fn round(&mut self) {
        let fact = self.next_message();
        self.propose(&fact);
        self.rest();
        let run = self.turns.0.borrow_mut().take().expect("a message starts a turn");
        self.propose(&format!(r#"{{"fact":"turn_terminal","run_id":"{run}","kind":"completed"}}"#));
        self.rest();
    }

    /// The fact of a message with a new id.
    pub(super) fn next_message(&mut self) -> String {
        self.said += 1;
        message(&format!("message-{}", self.said))
    }

    /// Completes turns until no more start.
    pub(super) fn settle(&mut self) {
        loop {
            self.rest();
            let Some(run) = self.turns.0.borrow_mut().take() else { return };
            self.propose(&format!(
                r#"{{"fact":"turn_terminal","run_id":"{run}","kind":"completed"}}"#
            ));
        }
    }

    pub(super) fn propose(&mut self, fact: &str) {
        expect_answer(self.engine.propose(fact));
    }

    pub(super) fn rest(&mut self) {
        expect_answer(self.engine.run_until_rest());
    }
}

/// The fact of a message of the operator.
pub(super) fn message(id: &str) -> String {
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
