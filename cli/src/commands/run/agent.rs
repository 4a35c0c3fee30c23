//! Runs one agent with a model.

use std::{path::PathBuf, sync::Arc, thread};

use clap::Args;
use wakeful_agent::{Agent, AgentError, Audience, Ending, Until, confine::hide_memory};
use wakeful_core::id::AgentId;

use super::{
    RunArgs,
    conversation::Conversation,
    joined,
    patience::{Endless, Hurry},
};
use crate::commands::{
    CliError, Verdict,
    ledger::{self, Place as Where},
    model::{self, ModelArgs, Place},
};

/// The agent if none is named.
const AGENT: &str = "default";

#[derive(Args)]
pub(super) struct OpenAiArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// The folder in which the agent's commands work
    #[arg(long, value_name = "DIR", default_value = ".")]
    workspace: PathBuf,
    /// The agent's own folder, for output of commands and temporary files [default: the ledger's
    /// path with `.home`]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Send this prompt first, as the operator
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
}

/// Runs an agent with a model, in conversation with the person at the terminal.
pub(super) fn live(args: &RunArgs) -> Result<Verdict, CliError> {
    // Before anything else: the environment holds the key already.
    hide_memory().map_err(CliError::Memory)?;
    let given = &args.openai;
    let agent_id = AgentId::from(args.agent.as_deref().unwrap_or(AGENT));
    let ledger = Where::named(&args.ledger)?;
    ledger::require_plain(&ledger, &agent_id)?;
    let workspace = model::workspace(&given.workspace)?;
    let home = ledger::home_of(&ledger, given.home.as_deref())?;
    let is_file = matches!(ledger, Where::File(_));
    let checked =
        given.model.checked(&workspace, is_file.then_some(args.ledger.as_path()), &home)?;
    let hurry = Hurry::default();
    let (conversation, lines) =
        Conversation::open(args.json, &agent_id, ledger.clone(), hurry.clone())?;
    let signals = super::signals(hurry.clone())?;
    let (told, of) = (conversation.clone(), agent_id.clone());
    let patience = Endless::new(hurry, move |said: &str| told.notice(&of, said));
    let joined = joined::join(&ledger, Arc::new(patience))?;
    let store = &joined.0;
    let mut stored = ledger::Stored::Local(store.ledger(&agent_id));
    ledger::verify(&ledger, &agent_id, &mut stored)?;
    if let Some(notice) = checked.notice() {
        conversation.notice(&agent_id, notice);
    }
    let place = Place {
        agent_id: agent_id.clone(),
        store: store.clone(),
        engines: args.driver.engines()?,
        workspace,
        home,
        trusts_clock: args.trust_clock,
        audience: Arc::new(conversation.clone()),
    };
    let setup = given.model.setup(checked, place)?;
    let failed = |why| match why {
        AgentError::Drive(why) => super::ended(why, store),
        why => CliError::Agent(why),
    };
    let lost = setup.lost.clone();
    joined::guard(store, move || lost.cancel());
    let mut agent = Agent::open(setup).map_err(failed)?;
    let handle = agent.handle();
    // The thread of the agent waits for its requests, so another one waits for signals.
    let told = handle.clone();
    thread::spawn(move || while signals.recv().is_ok_and(|()| told.shut_down().is_ok()) {});
    if let Some(prompt) = &given.prompt {
        agent.prompt(prompt);
    }
    let until = if args.until_rest { Until::Rest } else { Until::Told };
    conversation.listen(lines, handle);
    let ending = agent.live(until);
    // Also after a failure: what the agent has said must be seen.
    conversation.end();
    joined::give_back(store, &agent_id, agent.next_wake().ok().flatten());
    match ending.map_err(failed)? {
        Ending::Rested | Ending::ShutDown | Ending::Stopped => Ok(Verdict::Well),
        Ending::Failed => {
            Err(CliError::TurnFailed { why: agent.failure().unwrap_or_default().to_owned() })
        }
    }
}

impl OpenAiArgs {
    /// Whether a first prompt was given.
    pub(super) fn prompts(&self) -> bool {
        self.prompt.is_some()
    }
}
