//! `wakeful send deliver`: delivers to an external trigger, from outside with its token (contract
//! 15.2), or as the operator with its id.

use std::io::{self, Read};

use clap::Args;
use serde::Serialize;
use wakeful_core::{
    fact::{
        Fact,
        ingress::{ExternalTriggerDelivered, TokenHash},
        outcome::Refusal,
    },
    id::{AgentId, DeliveryId, ExternalTriggerId},
    json,
    record::queue::envelope::MessageBody,
    state::State,
    story::said,
};
use wakeful_host::{clock::SystemClock, token::Token};

use super::{
    CliError, Verdict,
    ledger::{All, Place},
    send::{self, Send},
    style::{GOOD, painted},
};
use crate::client::{Delivery, Server};

#[derive(Args)]
#[command(after_help = "\
    The token says which agent and which trigger. `wakeful trigger create` and a live agent show \
    one when they make a trigger. A delivery counts once: with --id the same delivery can be \
    repeated until it is known to be recorded.\n\n\
    A server needs no other token for this. It tells nothing of the agent: a repeated delivery is as \
    good as the first, and --json prints {accepted}.\n\n\
    An operator, who may say anything to the agent, names the trigger by its id with --trigger and \
    needs no token of it.\n\n\
    Exit codes:\n\
    \x20 0  recorded\n\
    \x20 1  ignored, such as a delivery that is recorded already\n\
    \x20 2  no trigger has this token, or the content cannot be read\n\n\
    Examples:\n\
    \x20 wakeful send deliver --ledger agent.sqlite wkt_4be1... \"the build is green\"\n\
    \x20 wakeful send deliver --ledger agent.sqlite --type application/json wkt_4be1... - < build.json\n\
    \x20 wakeful send deliver --ledger agent.sqlite --id build-17 wkt_4be1...\n\
    \x20 wakeful send deliver --server https://agents.example.org wkt_4be1... \"the build is green\"\n\
    \x20 wakeful send deliver --ledger agent.sqlite --trigger build \"the build is green\"")]
pub(super) struct Deliver {
    /// The token; leave it out if the variable WAKEFUL_TOKEN has it, and with --trigger
    #[arg(value_name = "TOKEN")]
    first: Option<String>,
    /// The content; `-` reads it from standard input [default: no content]
    #[arg(value_name = "TEXT", conflicts_with = "trigger")]
    second: Option<String>,
    /// Deliver as the operator to the trigger with this id, of the agent that --agent names
    #[arg(long, value_name = "ID")]
    pub(super) trigger: Option<String>,
    /// The id of the delivery; a second one with this id is ignored [default: a new id]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The media type of the content; `application/json` is read as JSON
    #[arg(long = "type", value_name = "TYPE", conflicts_with = "trigger")]
    content_type: Option<String>,
    /// The system that delivers
    #[arg(long, value_name = "NAME", conflicts_with = "trigger")]
    source: Option<String>,
    /// That system's name for the event
    #[arg(long, value_name = "NAME", conflicts_with = "trigger")]
    event: Option<String>,
}

/// The variable with the token. Others see the arguments of a process, and not its variables.
const VARIABLE: &str = "WAKEFUL_TOKEN";

/// The content that stands for what standard input has.
const STANDARD_INPUT: &str = "-";

/// The token and the content among the texts of the command line and the variable.
fn told<'a>(
    first: Option<&'a str>,
    second: Option<&'a str>,
    variable: Option<&'a str>,
) -> Result<(Token, Option<&'a str>), CliError> {
    let named = |text: Option<&'a str>| {
        text.map(str::trim).filter(|text| !text.is_empty() && *text != STANDARD_INPUT)
    };
    let (token, content) = match (first, second, named(variable)) {
        (only, None, Some(token)) => (Some(token), only),
        (token, content, _) => (named(token), content),
    };
    Ok((Token::shown(token.ok_or(CliError::TokenMissing)?), content))
}

/// The content as a body. A token is refused, because the ledger would have it.
fn body(text: &str, content_type: Option<&str>) -> Result<MessageBody, CliError> {
    if Token::is_like(text.trim()) {
        return Err(CliError::TokenAsContent);
    }
    let is_json = content_type.is_some_and(|named| {
        let kind = named.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/json") || kind.ends_with("+json")
    });
    if !is_json {
        return Ok(MessageBody::text(text));
    }
    let value = json::read(text).map_err(CliError::Content)?;
    Ok(MessageBody::Json { value })
}

impl Deliver {
    /// Delivers with a token, which names the agent.
    pub(super) fn run(&self, send: &Send) -> Result<Verdict, CliError> {
        if send.agent.is_some() {
            return Err(CliError::TokenNamesAgent);
        }
        let variable = std::env::var(VARIABLE).ok();
        let (token, text) =
            told(self.first.as_deref(), self.second.as_deref(), variable.as_deref())?;
        let text = text.map(given).transpose()?;
        match send.server.place_without_token(send.ledger.as_deref())? {
            Place::Server(server) => self.deliver_at_server(send, &server, &token, text.as_deref()),
            place => self.deliver_in(send, &place, &token, text.as_deref()),
        }
    }

    /// The delivery of an operator to a trigger of the ledger, or an event that names a trigger
    /// that the host made up.
    pub(super) fn of_operator(&self, state: &State, trigger: &str) -> Result<Fact, CliError> {
        let text = self.first.as_deref().map(given).transpose()?;
        let content = text.as_deref().map(|text| body(text, None)).transpose()?;
        let trigger = ExternalTriggerId::from(trigger);
        let known = state.external_triggers().find(|it| it.external_trigger_id == trigger);
        let hash = known.and_then(|trigger| TokenHash::parse(&trigger.token_hash));
        Ok(match hash {
            Some(hash) => self.fact(trigger, hash, content),
            None => {
                let id = send::message_id(self.id.as_deref());
                said::delivery(id, trigger, text.unwrap_or_default())
            }
        })
    }

    fn fact(
        &self,
        external_trigger_id: ExternalTriggerId,
        token_hash: TokenHash,
        content: Option<MessageBody>,
    ) -> Fact {
        let id = self.id.as_deref();
        Fact::ExternalTriggerDelivered(ExternalTriggerDelivered {
            external_trigger_id,
            token_hash,
            delivery_id: id.map_or_else(|| DeliveryId::from(send::new_id()), DeliveryId::from),
            content,
            content_type: self.content_type.clone(),
            source: self.source.clone(),
            event_type: self.event.clone(),
        })
    }

    fn deliver_in(
        &self,
        send: &Send,
        place: &Place,
        token: &Token,
        text: Option<&str>,
    ) -> Result<Verdict, CliError> {
        let content = text.map(|text| body(text, self.content_type.as_deref())).transpose()?;
        let (agent, trigger) = find(place, token)?;
        let fact = json::write(&self.fact(trigger, token.hash(), content));
        let said = send::say(place, Some(agent.as_str()), send.is_virtual, |_| Ok(fact))?;
        send.tell(&said);
        match said.refusal() {
            // Another process took the token away since the ledger was read.
            Some(Refusal::WrongToken | Refusal::AlreadyTerminal) => {
                Err(CliError::NoSuchToken(place.to_string()))
            }
            _ => Ok(said.verdict()),
        }
    }

    fn deliver_at_server(
        &self,
        send: &Send,
        server: &Server,
        token: &Token,
        text: Option<&str>,
    ) -> Result<Verdict, CliError> {
        if send.is_virtual {
            return Err(CliError::OwnClock);
        }
        // Checked here too, so that a token is not even sent as content.
        text.map(|text| body(text, self.content_type.as_deref())).transpose()?;
        server.deliver(
            token.as_str(),
            &Delivery {
                content: text.unwrap_or_default(),
                content_type: self.content_type.as_deref(),
                id: self.id.as_deref(),
                source: self.source.as_deref(),
                event: self.event.as_deref(),
            },
        )?;
        if send.json {
            say!("{}", json::write(&Delivered { accepted: true }));
        } else {
            say!("{}", painted(GOOD, "accepted"));
        }
        Ok(Verdict::Well)
    }
}

/// What a server says of a delivery.
#[derive(Serialize)]
struct Delivered {
    accepted: bool,
}

/// The content that was given, or what standard input has.
fn given(text: &str) -> Result<String, CliError> {
    if text != STANDARD_INPUT {
        return Ok(text.to_owned());
    }
    let mut text = String::new();
    io::stdin()
        .read_to_string(&mut text)
        .map_err(|why| CliError::Read { path: "standard input".into(), why })?;
    Ok(text)
}

/// The agent and the trigger with this token.
fn find(place: &Place, token: &Token) -> Result<(AgentId, ExternalTriggerId), CliError> {
    let hash = token.hash();
    let all = All::of(place)?;
    for agent in &all.agents {
        let scheduler = send::observed(place, agent, all.open(agent)?, SystemClock)?;
        let mut triggers = scheduler.state().external_triggers();
        if let Some(known) = triggers.find(|trigger| trigger.token_hash == hash.as_str()) {
            return Ok((agent.clone(), known.external_trigger_id.clone()));
        }
    }
    Err(CliError::NoSuchToken(place.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_an_argument_or_the_variable() {
        let table = [
            (Some("t"), None, None, Ok(("t", None))),
            (Some(" t\n"), Some("x"), None, Ok(("t", Some("x")))),
            (Some("x"), None, Some("t"), Ok(("t", Some("x")))),
            (None, None, Some("t\n"), Ok(("t", None))),
            (Some("u"), Some("x"), Some("t"), Ok(("u", Some("x")))),
            (Some("t"), None, Some(" "), Ok(("t", None))),
            (Some("t"), Some(""), None, Ok(("t", Some("")))),
            (Some("t"), Some("wkt_4be1"), None, Ok(("t", Some("wkt_4be1")))),
            (None, None, None, Err("there is no token")),
            (Some(""), None, None, Err("there is no token")),
            (Some(""), Some("x"), None, Err("there is no token")),
            (Some(""), Some("x"), Some("t"), Err("there is no token")),
            (Some("-"), None, None, Err("there is no token")),
            (Some("-"), None, Some("t"), Ok(("t", Some("-")))),
        ];
        for (first, second, variable, expected) in table {
            let case = (first, second, variable);
            match (told(first, second, variable), expected) {
                (Ok((token, content)), Ok(expected)) => {
                    assert_eq!((token.as_str(), content), expected, "{case:?}");
                }
                (Err(why), Err(expected)) => {
                    assert!(why.to_string().starts_with(expected), "{case:?}: {why}");
                }
                (told, expected) => {
                    panic!("{case:?}: {:?}, not {expected:?}", told.map_err(|why| why.to_string()))
                }
            }
        }
    }

    #[test]
    fn a_token_is_not_delivered_as_content() {
        let token = Token::random().expect("bytes");
        let line = format!("{}\n", token.as_str());
        for content_type in [None, Some("application/json")] {
            let refused = body(&line, content_type).expect_err("a token");
            assert!(matches!(refused, CliError::TokenAsContent), "{refused}");
        }
        assert_eq!(body("wkt_4be1", None).expect("a text"), MessageBody::text("wkt_4be1"));
    }
}
