//! `wakeful send`: sends something to an agent from outside. Another process may be driving the
//! agent.

use std::{
    path::{Path, PathBuf},
    process,
    time::{SystemTime, UNIX_EPOCH},
};

use clap::{Args, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};
use serde::Serialize;
use wakeful_core::{
    fact::{
        Fact,
        outcome::{Answer, Refusal},
        waiting::condition::WaitConditionNamed,
    },
    host::{Clock, Ledger, LedgerError, Receipt, Scheduler, SchedulerError},
    id::{AgentId, ExternalTriggerId, MessageId, Seq, WaitConditionId, WorkItemId},
    json::{self, RawJson, Readable},
    machine::Options,
    record::{
        chain::Head,
        control::WakeHint,
        queue::envelope::{MessageBody, Priority},
        waiting::EndedBy,
    },
    state::State,
    story::{Request, said},
    time::Timestamp,
};
use wakeful_host::{
    clock::{SystemClock, VirtualClock},
    engine::EngineError,
    ledger::{Address, PostgresStore},
    provider::Elsewhere,
};

use super::{
    CliError, Verdict, budget, deliver,
    explain::word,
    ledger::{self, Place, ServerArgs},
    style::{BAD, GOOD, painted},
};
use crate::client::{Message, Server, ServerError};

#[derive(Args)]
#[command(after_help = "\
    At a server this needs a token with the scopes `read` and `operate`. For a prompt to a named \
    agent, `prompt` is enough; its sender is then the name of the token.\n\n\
    Exit codes:\n\
    \x20 0  accepted\n\
    \x20 1  ignored, such as a message with a known id\n\
    \x20 2  it cannot be sent\n\n\
    Examples:\n\
    \x20 wakeful send --ledger agent.sqlite prompt \"Ship it.\"\n\
    \x20 wakeful send --ledger agent.sqlite hint \"the pipeline has ended\"\n\
    \x20 wakeful send --ledger agent.sqlite stop\n\
    \x20 wakeful send --ledger agent.sqlite budget --tokens-per-day 500000\n\
    \x20 wakeful send --server http://127.0.0.1:7171 --agent ada prompt \"Ship it.\"")]
pub(super) struct Send {
    /// The ledger file, or the address of a store
    #[arg(long, visible_alias = "store", value_name = "FILE|URL", global = true)]
    pub(super) ledger: Option<PathBuf>,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    /// The agent [default: the only one]
    #[arg(long, value_name = "ID", global = true)]
    pub(super) agent: Option<String>,
    /// Use the time of the ledger's newest entry, for an agent that runs with --virtual
    #[arg(long = "virtual", global = true)]
    pub(super) is_virtual: bool,
    /// Print the result as JSON: a `Receipt` (see `wakeful print schema`), or {stored_for}: the
    /// worker of a store that records it later
    #[arg(long, global = true)]
    pub(super) json: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Send a prompt as the operator
    Prompt {
        /// The prompt
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        text: String,
        /// The lane of the queue
        #[arg(long, value_enum, default_value = "normal")]
        lane: Lane,
        /// The work item that the prompt is about
        #[arg(long, value_name = "ID")]
        item: Option<String>,
        /// The id of the message; a second message with this id is ignored [default: a new id]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// Ask the agent to look again
    Hint {
        /// The reason
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        reason: String,
        /// The external trigger that the hint names
        #[arg(long, value_name = "ID")]
        trigger: Option<String>,
        /// The content of the hint
        #[arg(long)]
        text: Option<String>,
    },
    /// Deliver to an external trigger: with its token, or as the operator
    Deliver(deliver::Deliver),
    /// End a wait, because what it waits for is known
    EndWait {
        /// The id of the wait; `wakeful status` lists the waits
        #[arg(value_name = "ID")]
        wait: String,
    },
    /// Stop the agent: nothing runs until it is started
    Stop,
    /// Start the agent again after a stop
    Start,
    /// Shut down the agent's process
    Shutdown,
    /// Set limits of a budget; a limit that is not named stays as it is
    Budget(budget::Set),
    /// Add to a budget once; what is added to the limit of a day is for that day
    Grant(budget::Grant),
    /// Report any fact
    Fact {
        /// The fact, as JSON (contract 2.1)
        #[arg(value_name = "JSON")]
        fact: String,
    },
}

/// A lane of the queue.
#[derive(Clone, Copy, ValueEnum)]
enum Lane {
    /// Into the open run, at a safe point
    Interject,
    /// Before ordinary input
    Next,
    /// Ordinary input
    Normal,
    /// After everything else
    Background,
}

impl From<Lane> for Priority {
    fn from(lane: Lane) -> Self {
        match lane {
            Lane::Interject => Self::Interject,
            Lane::Next => Self::Next,
            Lane::Normal => Self::Normal,
            Lane::Background => Self::Background,
        }
    }
}

impl What {
    fn fact(&self, state: &State) -> Result<String, CliError> {
        let fact = match self {
            // Unchanged, so that the core names the place of a mistake in the text that was given.
            Self::Fact { fact } => return Ok(fact.clone()),
            Self::Prompt { text, lane, item, id } => said::prompt(
                message_id(id.as_deref()),
                text.as_str(),
                Some((*lane).into()),
                item.as_deref().map(WorkItemId::from),
            ),
            Self::Deliver(delivery) => {
                delivery.of_operator(state, delivery.trigger.as_deref().unwrap_or_default())?
            }
            Self::Budget(set) => set.fact(state),
            Self::Grant(grant) => grant.fact(),
            Self::Hint { reason, trigger, text } => Fact::WakeHintSubmitted(WakeHint {
                external_trigger_id: trigger.as_deref().map(ExternalTriggerId::from),
                body: text.as_deref().map(MessageBody::text),
                ..said::hint(reason.as_str())
            }),
            Self::EndWait { wait } => Fact::WaitConditionCancelled(WaitConditionNamed {
                wait_condition_id: wait.as_str().into(),
                ended_by: Some(EndedBy::Operator),
            }),
            Self::Stop => Request::Stop.fact(),
            Self::Start => Request::Start.fact(),
            Self::Shutdown => Request::Shutdown.fact(),
        };
        Ok(json::write(&fact))
    }

    /// Refuses a work item that does not exist, and the end of a wait that does not. The scheduler
    /// would accept a prompt, and nothing would report the wrong id.
    fn require(&self, state: &State) -> Result<(), CliError> {
        match self {
            Self::Prompt { item: Some(asked), .. }
            | Self::Budget(budget::Set { item: Some(asked), .. })
            | Self::Grant(budget::Grant { item: Some(asked), .. }) => require_item(state, asked),
            Self::EndWait { wait } => {
                let waits = &state.waiting().conditions;
                if waits.contains_key(&WaitConditionId::from(wait.as_str())) {
                    return Ok(());
                }
                Err(CliError::NoSuchWait {
                    agent: state.control().agent_id.clone(),
                    asked: wait.clone(),
                    waits: ledger::listed(waits.keys()),
                })
            }
            _ => Ok(()),
        }
    }
}

/// Refuses the id of a work item that does not exist.
pub(super) fn require_item(state: &State, asked: &str) -> Result<(), CliError> {
    if state.work().items.contains_key(&WorkItemId::from(asked)) {
        return Ok(());
    }
    Err(CliError::NoSuchItem {
        agent: state.control().agent_id.clone(),
        asked: asked.to_owned(),
        items: ledger::listed(state.work().items.keys()),
    })
}

/// The given id, otherwise one that is unique by the clock and the process.
pub(super) fn message_id(given: Option<&str>) -> MessageId {
    given.map_or_else(|| new_id().into(), MessageId::from)
}

/// An id that is unique by the clock and the process.
pub(super) fn new_id() -> String {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("sent-{nanos}-{}", process::id())
}

/// What became of a fact.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Said {
    /// The agent answered: a `Receipt`, also as a server sends it.
    Answered {
        #[serde(flatten)]
        answer: Answer,
        head: Head,
        effects: RawJson,
    },
    /// It is in the inbox of the agent, and the worker that drives it records it. A server does
    /// not say which one that is.
    Stored { stored_for: Option<String> },
}

impl From<Receipt> for Said {
    fn from(receipt: Receipt) -> Self {
        let effects = RawJson::from_value(&receipt.effects);
        Self::Answered { answer: receipt.answer, head: receipt.head, effects }
    }
}

/// The receipt of a server. It may say more.
#[derive(Readable)]
struct Received {
    reason: Option<Refusal>,
    because: Option<Seq>,
    head: Option<Head>,
    effects: Option<RawJson>,
}

impl Said {
    fn received(server: &Server, text: &str) -> Result<Self, CliError> {
        let Received { reason, because, head, effects } = json::read(text)
            .map_err(|why| CliError::NoReceipt { place: server.to_string(), why })?;
        let (Some(head), Some(effects)) = (head, effects) else {
            return Ok(Self::Stored { stored_for: None });
        };
        let answer = match (reason, because) {
            (Some(reason), Some(because)) => Answer::Ignored { reason, because },
            _ => Answer::Accepted,
        };
        Ok(Self::Answered { answer, head, effects })
    }

    pub(super) fn verdict(&self) -> Verdict {
        match self {
            Self::Answered { answer: Answer::Ignored { .. }, .. } => Verdict::Differs,
            _ => Verdict::Well,
        }
    }

    /// Why the agent ignores it, if it does.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::Answered { answer: Answer::Ignored { reason, .. }, .. } => Some(*reason),
            _ => None,
        }
    }
}

/// An observer of an agent. A driver would take the agent over, and interrupt its run and tasks
/// (contract 5.23).
pub(super) fn observed<L: Ledger, C: Clock>(
    place: &Place,
    agent: &AgentId,
    ledger: L,
    clock: C,
) -> Result<Scheduler<L, C, Elsewhere>, CliError> {
    let opened = Scheduler::observe(Options::new(agent.clone()), ledger, clock, Elsewhere);
    opened.map_err(|why| place.unreadable(agent, why))
}

/// Proposes a fact to an agent that another process may be driving. `fact` makes it from the state.
/// If `is_virtual`, it has the time of the ledger's newest entry.
pub(super) fn say(
    place: &Place,
    agent: Option<&str>,
    is_virtual: bool,
    fact: impl FnOnce(&State) -> Result<String, CliError>,
) -> Result<Said, CliError> {
    match place {
        Place::Server(_) | Place::Store(_) if is_virtual => Err(CliError::OwnClock),
        Place::Store(address) => say_in_store(place, address, agent, fact),
        Place::Server(server) => {
            let (agent, ledger) = ledger::to_read(place, agent)?;
            let scheduler = observed(place, &agent, ledger, SystemClock)?;
            let fact = fact(scheduler.state())?;
            Said::received(server, &server.fact(&agent, &fact)?)
        }
        Place::File(path) if !is_virtual => say_in(path, agent, SystemClock, fact),
        Place::File(path) => {
            // The time is known only when the ledger has been read. It is set before anything is
            // proposed.
            let clock = VirtualClock::at(Timestamp::from_nanos(0));
            say_in(path, agent, clock.clone(), |state| {
                clock.set(state.at());
                fact(state)
            })
        }
    }
}

/// Appends a fact to an agent that no worker drives. Otherwise it goes into the agent's inbox.
fn say_in_store(
    place: &Place,
    address: &Address,
    agent: Option<&str>,
    fact: impl FnOnce(&State) -> Result<String, CliError>,
) -> Result<Said, CliError> {
    // First, because to open a store for writing makes it.
    let (agent, _) = ledger::to_read(place, agent)?;
    let store = PostgresStore::open(address)?;
    let mut scheduler = observed(place, &agent, store.ledger(&agent), SystemClock)?;
    let fact = fact(scheduler.state())?;
    loop {
        if let Some(worker) = store.driver(&agent)? {
            store.send(&agent, &new_id(), &fact)?;
            return Ok(Said::Stored { stored_for: Some(worker) });
        }
        match said_beside_others(&mut scheduler, &fact) {
            Ok(receipt) => return Ok(receipt.into()),
            // A worker has claimed it since.
            Err(_) if store.driver(&agent)?.is_some() => {}
            Err(why) => return Err(EngineError::Refused(why.report()).into()),
        }
    }
}

fn say_in(
    path: &Path,
    agent: Option<&str>,
    clock: impl Clock,
    fact: impl FnOnce(&State) -> Result<String, CliError>,
) -> Result<Said, CliError> {
    let (agent, ledger) = ledger::to_write(path, agent)?;
    let mut scheduler = observed(&Place::from(path), &agent, ledger, clock)?;
    let fact = fact(scheduler.state())?;
    let receipt = said_beside_others(&mut scheduler, &fact);
    Ok(receipt.map_err(|why| EngineError::Refused(why.report()))?.into())
}

impl Send {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        if let What::Deliver(delivery) = &self.what
            && delivery.trigger.is_none()
        {
            return delivery.run(self);
        }
        let place = self.server.place(self.ledger.as_deref())?;
        let agent = self.agent.as_deref();
        let said = say(&place, agent, self.is_virtual, |state| {
            self.what.require(state)?;
            self.what.fact(state)
        });
        let said = match (said, &place, agent) {
            // The token may be one that can only prompt.
            (Err(CliError::Server(why)), Place::Server(server), Some(agent))
                if why.is_forbidden() =>
            {
                self.what.prompt(server, &AgentId::from(agent), why)?
            }
            (said, ..) => said?,
        };
        self.tell(&said);
        Ok(said.verdict())
    }

    /// Prints what became of a fact.
    pub(super) fn tell(&self, said: &Said) {
        if self.json {
            say!("{}", json::write(said));
        } else {
            print(said);
        }
    }
}

impl What {
    /// Says a prompt with the right to do only that. Anything else stays refused.
    fn prompt(&self, server: &Server, agent: &AgentId, why: ServerError) -> Result<Said, CliError> {
        let Self::Prompt { text, lane, item, id } = self else { return Err(why.into()) };
        let lane = Priority::from(*lane).to_string();
        let message =
            Message { text, lane: &lane, work_item_id: item.as_deref(), key: id.as_deref() };
        let said = server.say(agent, &message);
        Said::received(server, &said.map_err(|why| ledger::no_such_agent(server, agent, why))?)
    }
}

pub(super) fn print(said: &Said) {
    let (answer, head) = match said {
        Said::Answered { answer, head, .. } => (answer, head),
        Said::Stored { stored_for } => {
            let worker = stored_for.as_deref().map_or("that drives the agent", |it| it);
            say!("{}, the worker {worker} records it", painted(GOOD, "stored"));
            return;
        }
    };
    match answer {
        Answer::Accepted => {
            say!("{}, the ledger ends at entry {}", painted(GOOD, "accepted"), head.seq)
        }
        // No entry decides this. The number only says how far the ledger was read.
        Answer::Ignored { reason: Refusal::Unknown, because } => {
            say!(
                "{}: it names something that the agent does not have, up to entry {because}",
                painted(BAD, "ignored")
            );
        }
        Answer::Ignored { reason: Refusal::ConflictingDuplicate, because } => {
            say!(
                "{}: entry {because} has this id and another content; use a new id",
                painted(BAD, "ignored")
            );
        }
        Answer::Ignored { reason, because } => {
            say!("{}: {}, because of entry {because}", painted(BAD, "ignored"), word(reason));
        }
    }
}

/// Proposes a fact. If another writer appended first, its entries are read and the fact is proposed
/// again.
fn said_beside_others<L: Ledger, C: Clock>(
    scheduler: &mut Scheduler<L, C, Elsewhere>,
    fact: &str,
) -> Result<Receipt, SchedulerError> {
    loop {
        match scheduler.propose(fact) {
            // Without new entries the same conflict would come again and again.
            Err(SchedulerError::Ledger(LedgerError::Conflict { .. }))
                if scheduler.catch_up()? > 0 => {}
            said => return said,
        }
    }
}
