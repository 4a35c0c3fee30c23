//! `wakeful token`: makes, lists and ends the tokens of a server.

use std::path::PathBuf;

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use serde::Serialize;
use wakeful_core::{id::AgentId, json};
use wakeful_host::ledger::Store;
use wakeful_serve::{Grant, Scope};

use super::{
    CliError, Verdict,
    serve::CannotServe,
    style::{STRONG, painted},
};

#[derive(Args)]
#[command(after_help = "\
    A token has scopes: `read` sees agents and their entries; `prompt` speaks as the operator; \
    `operate` reports facts, runs turns, and makes, starts and stops agents; `ingress` reports \
    events of a system outside. It is for all agents, or for one. The store has its hash only, so \
    it is shown once. A running server learns of it at once.\n\n\
    Exit codes:\n\
    \x20 0  done\n\
    \x20 1  there is no such token to revoke\n\
    \x20 2  it cannot be done\n\n\
    Examples:\n\
    \x20 wakeful token create dashboard --scope read --ledger agents.sqlite\n\
    \x20 wakeful token create host --scope read --scope operate --agent ada --ledger agents.sqlite\n\
    \x20 wakeful token list --ledger agents.sqlite\n\
    \x20 wakeful token revoke dashboard --ledger agents.sqlite")]
pub(super) struct Token {
    /// Print the result as JSON: {name, scopes, agent_id}, for `create` with `token`
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: What,
}

/// The place of the tokens.
#[derive(Args)]
struct At {
    /// The ledger file of the server, or the address of its store
    #[arg(long, visible_alias = "store", value_name = "FILE|URL")]
    ledger: PathBuf,
}

#[derive(Subcommand)]
enum What {
    /// Make a token, and print it once
    Create {
        #[command(flatten)]
        at: At,
        /// A name for people, as in messages and lists
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        name: String,
        /// What it may be used for; may be repeated
        #[arg(long, value_name = "SCOPE", required = true)]
        scope: Vec<Scope>,
        /// The only agent that it is for [default: all]
        #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
        agent: Option<String>,
    },
    /// List the tokens, without the tokens themselves
    List {
        #[command(flatten)]
        at: At,
    },
    /// End a token
    Revoke {
        #[command(flatten)]
        at: At,
        /// The name of the token
        name: String,
    },
}

/// A token as JSON.
#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    scopes: Vec<Scope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
}

impl<'a> Shown<'a> {
    fn of(grant: &'a Grant) -> Self {
        Self {
            name: &grant.name,
            scopes: grant.scopes.iter().copied().collect(),
            agent_id: grant.agent_id.as_ref(),
            token: None,
        }
    }
}

impl Token {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        match &self.what {
            What::Create { at, name, scope, agent } => {
                let file = Store::open(&at.ledger)?;
                let agent_id = agent.as_deref().map(AgentId::from);
                let made = wakeful_serve::grant(&file, name, scope.clone(), agent_id.clone());
                let token = made.map_err(CannotServe::from)?;
                if self.json {
                    let mut scopes = scope.clone();
                    scopes.sort_unstable();
                    scopes.dedup();
                    let agent_id = agent_id.as_ref();
                    say!("{}", json::write(&Shown { name, scopes, agent_id, token: Some(&token) }));
                } else {
                    say!("{token}");
                    mention!("this token is shown once; keep it where only its user can read it");
                }
            }
            What::List { at } => {
                let grants = wakeful_serve::grants(&Store::open_read_only(&at.ledger)?)?;
                if self.json {
                    say!("{}", json::write(&grants.iter().map(Shown::of).collect::<Vec<_>>()));
                    return Ok(Verdict::Well);
                }
                if grants.is_empty() {
                    say!("there are no tokens; make one with `wakeful token create`");
                }
                for grant in &grants {
                    let scopes: Vec<_> = grant.scopes.iter().map(|scope| scope.name()).collect();
                    let of = grant
                        .agent_id
                        .as_ref()
                        .map_or_else(|| "all agents".to_owned(), |id| format!("agent `{id}`"));
                    say!("{}: {}, {of}", painted(STRONG, &grant.name), scopes.join(", "));
                }
            }
            What::Revoke { at, name } => {
                if !wakeful_serve::revoke(&Store::open(&at.ledger)?, name)? {
                    mention!("there is no token `{name}`; `wakeful token list` shows the tokens");
                    return Ok(Verdict::Differs);
                }
                if self.json {
                    say!(
                        "{}",
                        json::write(&Shown {
                            name,
                            scopes: Vec::new(),
                            agent_id: None,
                            token: None
                        })
                    );
                } else {
                    say!("the token `{name}` has ended");
                }
            }
        }
        Ok(Verdict::Well)
    }
}
