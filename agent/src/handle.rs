//! The handle: how other threads reach the one that owns an agent. Turns, commands and children
//! send requests to its mailbox, and it takes them one after the other.

use std::sync::mpsc::{self, Receiver, Sender};

use wakeful_core::{
    fact::{Fact, outcome::Answer},
    host::ErrorReport,
    id::{MessageId, WorkItemId},
    record::{chain::Head, queue::envelope::Priority},
    story::{self, said},
};

use crate::actor::Actor;

/// A request: a function that the owner of the agent runs.
pub(crate) type Request = Box<dyn FnOnce(&mut Actor) + Send>;

/// The agent has ended and answers no more requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the agent has ended")]
pub struct Ended;

/// The requests of an agent, in the order in which they were sent.
pub(crate) type Mailbox = Receiver<Request>;

/// Sends requests to an agent. Clones send to the same agent.
#[derive(Clone)]
pub struct Handle(Sender<Request>);

impl Handle {
    /// A handle, and the mailbox that it sends to.
    pub(crate) fn new() -> (Self, Mailbox) {
        let (sender, mailbox) = mpsc::channel();
        (Self(sender), mailbox)
    }

    /// Sends a request and waits for its result.
    ///
    /// # Errors
    /// If the agent has ended.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(&mut Actor) -> T + Send + 'static,
    ) -> Result<T, Ended> {
        let (answer, answered) = mpsc::channel();
        // The caller may have gone away meanwhile and no longer need the answer.
        self.tell(move |actor| drop(answer.send(request(actor))))?;
        answered.recv().map_err(|_| Ended)
    }

    /// Sends a request without waiting for it.
    ///
    /// # Errors
    /// If the agent has ended.
    pub(crate) fn tell(
        &self,
        request: impl FnOnce(&mut Actor) + Send + 'static,
    ) -> Result<(), Ended> {
        self.0.send(Box::new(request)).map_err(|_| Ended)
    }

    /// Proposes a fact. The inner result says what became of it, or why it was not accepted.
    ///
    /// # Errors
    /// If the agent has ended.
    pub fn say(&self, fact: Fact) -> Result<Result<Answer, String>, Ended> {
        self.ask(move |actor| actor.propose(&fact))
    }

    /// Proposes a fact that is written as JSON. The inner result is what became of it, with the
    /// newest entry, or why it was not accepted.
    ///
    /// # Errors
    /// If the agent has ended.
    pub fn report(&self, fact: &str) -> Result<Result<(Answer, Head), ErrorReport>, Ended> {
        let fact = fact.to_owned();
        self.ask(move |actor| actor.report(&fact))?
    }

    /// Sends a prompt of the operator. If a run is open, it is interjected at the next safe point;
    /// otherwise it queues as ordinary input. `about` is the work item that it is about.
    ///
    /// # Errors
    /// If the agent has ended.
    pub fn prompt(
        &self,
        text: &str,
        about: Option<WorkItemId>,
    ) -> Result<Result<Answer, String>, Ended> {
        let text = text.to_owned();
        self.ask(move |actor| actor.prompt(&text, about))
    }

    /// Shuts the agent down. It can be opened again later.
    ///
    /// # Errors
    /// If the agent has already ended.
    pub fn shut_down(&self) -> Result<(), Ended> {
        self.say(story::Request::Shutdown.fact()).map(drop)
    }
}

impl Actor {
    /// Proposes a prompt of the operator, about a work item if one is named.
    pub(crate) fn prompt(
        &mut self,
        text: &str,
        about: Option<WorkItemId>,
    ) -> Result<Answer, String> {
        if let Some(item) = about.as_ref().filter(|id| !self.state().work().items.contains_key(id))
        {
            return Err(format!("there is no work item `{item}`; /status lists the work items"));
        }
        let id = MessageId::from(format!("prompt-{}", self.state().next_seq()));
        // Without an open run there is nothing to interject into (contract 5.9), so the message
        // queues as usual.
        let lane = self.state().turns().run.as_ref().map(|_| Priority::Interject);
        self.propose(&said::prompt(id, text, lane, about))
    }
}
