//! The handle: how other threads ask the one that owns an agent. Turns, commands and children run
//! beside it. What they want to say or to know they send to its mailbox as requests, which it takes
//! one after the other.

use std::sync::mpsc::{self, Receiver, Sender};

use wakeful_core::{
    fact::{Fact, outcome::Answer},
    id::MessageId,
    record::queue::envelope::Priority,
    story::{self, said},
};

use crate::actor::Actor;

/// Something that the owner of the agent is to do.
pub(crate) type Request = Box<dyn FnOnce(&mut Actor) + Send>;

/// The agent has ended: nobody answers any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the agent has ended")]
pub struct Ended;

/// Where an agent's requests arrive, in the order in which they were sent.
pub(crate) type Mailbox = Receiver<Request>;

/// Sends requests to an agent. Clones lead to the same agent.
#[derive(Clone)]
pub struct Handle(Sender<Request>);

impl Handle {
    /// A handle, and the mailbox that it leads to.
    pub(crate) fn new() -> (Self, Mailbox) {
        let (sender, mailbox) = mpsc::channel();
        (Self(sender), mailbox)
    }

    /// Has something done, and waits for what comes of it.
    ///
    /// # Errors
    /// Where the agent has ended.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(&mut Actor) -> T + Send + 'static,
    ) -> Result<T, Ended> {
        let (answer, answered) = mpsc::channel();
        // Who asked may have gone away meanwhile; then nobody needs the answer.
        self.tell(move |actor| drop(answer.send(request(actor))))?;
        answered.recv().map_err(|_| Ended)
    }

    /// Has something done, and does not wait.
    ///
    /// # Errors
    /// Where the agent has ended.
    pub(crate) fn tell(
        &self,
        request: impl FnOnce(&mut Actor) + Send + 'static,
    ) -> Result<(), Ended> {
        self.0.send(Box::new(request)).map_err(|_| Ended)
    }

    /// Says a fact to the agent; what became of it, or in words why it cannot be taken.
    ///
    /// # Errors
    /// Where the agent has ended.
    pub fn say(&self, fact: Fact) -> Result<Result<Answer, String>, Ended> {
        self.ask(move |actor| actor.propose(&fact))
    }

    /// Says something as the operator: into the open run at its next safe point, else as ordinary
    /// input.
    ///
    /// # Errors
    /// Where the agent has ended.
    pub fn prompt(&self, text: &str) -> Result<Result<Answer, String>, Ended> {
        let text = text.to_owned();
        self.ask(move |actor| actor.prompt(&text))
    }

    /// Has the agent shut down; it can go on later.
    ///
    /// # Errors
    /// Where the agent has ended already.
    pub fn shut_down(&self) -> Result<(), Ended> {
        self.say(story::Request::Shutdown.fact()).map(drop)
    }
}

impl Actor {
    /// The operator says something.
    pub(crate) fn prompt(&mut self, text: &str) -> Result<Answer, String> {
        let id = MessageId::from(format!("prompt-{}", self.state().next_seq()));
        let lane = self.state().turns().run.as_ref().map(|_| Priority::Interject);
        self.propose(&said::prompt(id, text, lane, None))
    }
}
