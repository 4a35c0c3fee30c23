//! The desk: how other threads ask the one that owns an agent. Turns, commands and children run beside it; whatever they want to say or
//! to know they ask here, one after the other.

use std::sync::mpsc::{self, Receiver, Sender};

use wakeful_core::{
    fact::{Fact, outcome::Answer},
    id::MessageId,
    record::queue::envelope::Priority,
    story::{Request, said},
};

use super::office::Office;

/// Something that the owner of the agent is to do.
pub(super) type Errand = Box<dyn FnOnce(&mut Office) + Send>;

/// The agent has ended: nobody answers any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the agent has ended")]
pub struct Ended;

/// Where errands for an agent are left. Clones lead to the same agent.
#[derive(Clone)]
pub struct Desk(Sender<Errand>);

impl Desk {
    /// A desk, and where its errands come out.
    pub(super) fn open() -> (Self, Receiver<Errand>) {
        let (sender, errands) = mpsc::channel();
        (Self(sender), errands)
    }

    /// Has something done, and waits for what comes of it.
    ///
    /// # Errors
    /// Where the agent has ended.
    pub(super) fn ask<T: Send + 'static>(&self, errand: impl FnOnce(&mut Office) -> T + Send + 'static) -> Result<T, Ended> {
        let (answer, answered) = mpsc::channel();
        // Who asked may have gone away meanwhile; then nobody needs the answer.
        self.tell(move |office| drop(answer.send(errand(office))))?;
        answered.recv().map_err(|_| Ended)
    }

    /// Has something done, and does not wait.
    ///
    /// # Errors
    /// Where the agent has ended.
    pub(super) fn tell(&self, errand: impl FnOnce(&mut Office) + Send + 'static) -> Result<(), Ended> {
        self.0.send(Box::new(errand)).map_err(|_| Ended)
    }

    /// Says a fact to the agent; what became of it, or in words why it cannot be taken.
    ///
    /// # Errors
    /// Where the agent has ended.
    pub fn say(&self, fact: Fact) -> Result<Result<Answer, String>, Ended> {
        self.ask(move |office| office.propose(&fact))
    }

    /// Says something as the operator: into the open run at its next safe point, else as ordinary input.
    ///
    /// # Errors
    /// Where the agent has ended.
    pub fn prompt(&self, text: &str) -> Result<Result<Answer, String>, Ended> {
        let text = text.to_owned();
        self.ask(move |office| office.prompt(&text))
    }

    /// Has the agent shut down; it can go on later.
    ///
    /// # Errors
    /// Where the agent has ended already.
    pub fn shut_down(&self) -> Result<(), Ended> {
        self.say(Request::Shutdown.fact()).map(drop)
    }
}

impl Office {
    /// The operator says something.
    pub(super) fn prompt(&mut self, text: &str) -> Result<Answer, String> {
        let id = MessageId::from(format!("prompt-{}", self.state().next_seq()));
        let lane = self.state().turns.run.as_ref().map(|_| Priority::Interject);
        self.propose(&said::prompt(id, text, lane, None))
    }
}
