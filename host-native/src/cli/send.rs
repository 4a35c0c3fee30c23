//! `wakeful send`: says something to an agent from outside, beside whoever drives it.

use std::{
    path::PathBuf,
    process,
    time::{SystemTime, UNIX_EPOCH},
};

use clap::{Args, Subcommand, ValueEnum};
use wakeful_core::{
    fact::{Answer, Fact},
    host::{Clock, Ledger, LedgerError, Receipt, Scheduler, SchedulerError},
    id::{ExternalTriggerId, MessageId, WorkItemId},
    json,
    machine::Options,
    plane::{
        control::WakeHint,
        queue::{MessageBody, Priority},
    },
    story::{Request, said},
    time::Timestamp,
};

use super::{
    CliError, Verdict,
    explain::word,
    ledger,
    style::{BAD, GOOD, painted},
};
use crate::{
    clock::{SystemClock, VirtualClock},
    driver,
    engine::EngineError,
    provider::Elsewhere,
};

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 accepted; 1 ignored; 2 it cannot be said.\n\nExamples:\n  wakeful send --ledger agent.sqlite prompt \"Ship it.\"\n  \
                        wakeful send --ledger agent.sqlite hint \"the pipeline has ended\"\n  wakeful send --ledger agent.sqlite stop"
)]
pub(super) struct Send {
    /// The file of ledgers
    #[arg(long, value_name = "FILE")]
    ledger: PathBuf,
    /// The agent [default: the only one in the file]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Say it at the time of the ledger's newest entry, for an agent that runs with --virtual
    #[arg(long = "virtual")]
    is_virtual: bool,
    /// Print what became of it as JSON: the core's `Receipt`
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Say something as the operator
    Prompt {
        /// What
        text: String,
        /// In which lane
        #[arg(long, value_enum, default_value = "normal")]
        lane: Lane,
        /// About which work item
        #[arg(long, value_name = "ID")]
        item: Option<String>,
        /// The id of the message, by which the ledger refuses a second one [default: a new one]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// Say: look again
    Hint {
        /// Why
        reason: String,
        /// The external trigger that it names
        #[arg(long, value_name = "ID")]
        trigger: Option<String>,
        /// What it says
        #[arg(long)]
        text: Option<String>,
    },
    /// Deliver something to an external trigger
    Deliver {
        /// The trigger
        trigger: String,
        /// What
        text: String,
        /// The id of the message, by which the ledger refuses a second one [default: a new one]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// Ask it not to run
    Stop,
    /// Ask it to run
    Start,
    /// Ask its process to end
    Shutdown,
    /// Propose any fact
    Fact {
        /// The fact, as JSON (contract 2.1)
        json: String,
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
    fn fact(&self) -> String {
        let fact = match self {
            Self::Fact { json } => return json.clone(),
            Self::Prompt { text, lane, item, id } => {
                said::prompt(message_id(id.as_deref()), text.as_str(), Some((*lane).into()), item.as_deref().map(WorkItemId::from))
            }
            Self::Deliver { trigger, text, id } => said::delivery(message_id(id.as_deref()), trigger.as_str().into(), text.as_str()),
            Self::Hint { reason, trigger, text } => Fact::WakeHintSubmitted(WakeHint {
                external_trigger_id: trigger.as_deref().map(ExternalTriggerId::from),
                body: text.as_deref().map(MessageBody::text),
                ..said::hint(reason.as_str())
            }),
            Self::Stop => Request::Stop.fact(),
            Self::Start => Request::Start.fact(),
            Self::Shutdown => Request::Shutdown.fact(),
        };
        json::write(&fact)
    }
}

/// An id that nobody else makes: by the clock and the process.
fn message_id(given: Option<&str>) -> MessageId {
    given.map_or_else(
        || {
            let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
            format!("sent-{nanos}-{}", process::id()).into()
        },
        MessageId::from,
    )
}

impl Send {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let (agent, ledger) = ledger::to_write(&self.ledger, self.agent.as_deref())?;
        let receipt = match self.is_virtual {
            true => {
                let at = driver::read(&mut ledger.clone(), wakeful_core::entry::Head::START, |_, _| {})?.1;
                say(&Options::new(agent), ledger, &VirtualClock::at(at.unwrap_or(Timestamp::from_nanos(0))), &self.what.fact())
            }
            false => say(&Options::new(agent), ledger, &SystemClock, &self.what.fact()),
        };
        let receipt = receipt.map_err(|why| EngineError::Refused(why.report()))?;
        if self.json {
            say!("{}", json::write(&receipt));
        } else {
            print(&receipt);
        }
        Ok(if receipt.answer == Answer::Accepted { Verdict::Well } else { Verdict::Differs })
    }
}

fn print(receipt: &Receipt) {
    match &receipt.answer {
        Answer::Accepted => say!("{}, the ledger ends at entry {}", painted(GOOD, "accepted"), receipt.head.seq),
        Answer::Ignored { reason, because } => {
            say!("{}: {}, because of entry {because}", painted(BAD, "ignored"), word(reason));
        }
    }
}

/// Proposes a fact as an observer. Where another writer was first, what that one said is read, and the same is said again.
fn say<L: Ledger + Clone>(options: &Options, ledger: L, clock: &(impl Clock + Clone), fact: &str) -> Result<Receipt, SchedulerError> {
    let is_conflict = |why: &SchedulerError| matches!(why, SchedulerError::Ledger(LedgerError::Conflict { .. }));
    let mut scheduler = Scheduler::observe(options.clone(), ledger, clock.clone(), Elsewhere)?;
    loop {
        match scheduler.propose(fact) {
            Err(why) if is_conflict(&why) => drop(scheduler.catch_up()?),
            said => return said,
        }
    }
}
