//! `wakeful trigger`: makes, lists and ends the external triggers of an agent (contract 15).

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};
use serde::Serialize;
use wakeful_core::{
    TriggerSummary,
    fact::{
        Fact,
        ingress::{ExternalTriggerCreated, ExternalTriggerNamed, ExternalTriggerRotated},
    },
    host::{Clock, Scheduler},
    id::ExternalTriggerId,
    json,
    record::{ingress::ExternalTrust, waiting::CallbackDeliveryMode},
    state::State,
};
use wakeful_host::{clock::SystemClock, token::Token};

use super::{
    CliError, Verdict,
    explain::word,
    ledger::{self, Place, ServerArgs},
    send::{self, Said},
    status::counted,
};

#[derive(Args)]
#[command(after_help = "\
    A token is shown once, when it is made: the ledger has only its hash. Those who have it \
    deliver with `wakeful send deliver`.\n\n\
    Exit codes:\n\
    \x20 0  done\n\
    \x20 1  ignored, such as a trigger whose id exists\n\
    \x20 2  the arguments or the ledger cannot be used\n\n\
    Examples:\n\
    \x20 wakeful trigger --ledger agent.sqlite create build \"the nightly build\"\n\
    \x20 wakeful trigger --ledger agent.sqlite create review --item w1 --once --expires 7d\n\
    \x20 wakeful trigger --ledger agent.sqlite list\n\
    \x20 wakeful trigger --server http://127.0.0.1:7171 --agent ada list\n\
    \x20 wakeful trigger --ledger agent.sqlite rotate build\n\
    \x20 wakeful trigger --ledger agent.sqlite revoke build")]
pub(super) struct Trigger {
    /// The ledger file, or the address of a store
    #[arg(long, visible_alias = "store", value_name = "FILE|URL", global = true)]
    ledger: Option<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
    /// The agent [default: the only one]
    #[arg(long, value_name = "ID", global = true)]
    agent: Option<String>,
    /// Use the time of the ledger's newest entry, for an agent that runs with --virtual
    #[arg(long = "virtual", global = true)]
    is_virtual: bool,
    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Make a trigger, and show its token
    Create {
        /// The id of the trigger
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        id: String,
        /// What is delivered, in words [default: the id]
        description: Option<String>,
        /// What a delivery becomes
        #[arg(long, value_enum, default_value = "hint")]
        mode: Mode,
        /// The work item whose waits alone it ends, and with which it ends [default: it serves the
        /// agent]
        #[arg(long, value_name = "ID")]
        item: Option<String>,
        /// End the trigger with its first delivery
        #[arg(long)]
        once: bool,
        /// How long it can be used, such as `90s`, `10m`, `12h` or `7d`
        #[arg(long, value_name = "TIME", value_parser = milliseconds)]
        expires: Option<u64>,
        /// Trust what is delivered as the signal of a configured integration, not only as evidence
        #[arg(long)]
        trusted: bool,
    },
    /// List the triggers that can be delivered to
    List,
    /// Give a trigger a new token, and show it; the old one stops working
    Rotate {
        /// The id of the trigger
        id: String,
    },
    /// End a trigger
    Revoke {
        /// The id of the trigger
        id: String,
    },
}

/// What a delivery becomes.
#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    /// A wake hint: several are one tick, and their contents are told together
    Hint,
    /// A message: each starts a turn of its own
    Message,
}

/// A time as people write it, in milliseconds.
fn milliseconds(text: &str) -> Result<u64, String> {
    let wrong = || "write a number and a unit, such as `90s`, `10m`, `12h` or `7d`".to_owned();
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let factor = match unit {
        's' => 1_000,
        'm' => 60_000,
        'h' => 3_600_000,
        'd' => 86_400_000,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    let total = number.checked_mul(factor).ok_or_else(|| "this is too long".to_owned())?;
    if total == 0 { Err("the time must be above zero".to_owned()) } else { Ok(total) }
}

impl What {
    /// Refuses the id of a work item or a trigger that does not exist.
    fn require(&self, state: &State) -> Result<(), CliError> {
        match self {
            Self::Create { item: Some(item), .. } => send::require_item(state, item),
            Self::Rotate { id } | Self::Revoke { id } => {
                if state.ingress().knows(&ExternalTriggerId::from(id.as_str())) {
                    return Ok(());
                }
                Err(CliError::NoSuchTrigger {
                    agent: state.control().agent_id.clone(),
                    asked: id.clone(),
                    triggers: ledger::listed(state.ingress().open.keys()),
                })
            }
            Self::Create { item: None, .. } | Self::List => Ok(()),
        }
    }
}

/// What `create` and `rotate` print as JSON.
#[derive(Serialize)]
struct Made<'a> {
    external_trigger_id: &'a str,
    token: &'a str,
    receipt: Said,
}

impl Trigger {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let place = self.server.place(self.ledger.as_deref())?;
        match &self.what {
            What::List => self.list(&place),
            What::Create { id, description, mode, item, once, expires, trusted } => {
                let token = Token::random()?;
                let created = ExternalTriggerCreated {
                    external_trigger_id: ExternalTriggerId::from(id.as_str()),
                    token_hash: token.hash(),
                    work_item_id: item.as_deref().map(Into::into),
                    description: description.clone().unwrap_or_else(|| id.clone()),
                    delivery_mode: match mode {
                        Mode::Hint => CallbackDeliveryMode::WakeHint,
                        Mode::Message => CallbackDeliveryMode::EnqueueMessage,
                    },
                    trust: if *trusted {
                        ExternalTrust::TrustedIntegration
                    } else {
                        ExternalTrust::UntrustedExternal
                    },
                    one_shot: *once,
                    expires_at: None,
                    expires_in_ms: *expires,
                };
                self.make(&place, id, &token, &Fact::ExternalTriggerCreated(created))
            }
            What::Rotate { id } => {
                let token = Token::random()?;
                let rotated = ExternalTriggerRotated {
                    external_trigger_id: ExternalTriggerId::from(id.as_str()),
                    token_hash: token.hash(),
                };
                self.make(&place, id, &token, &Fact::ExternalTriggerRotated(rotated))
            }
            What::Revoke { id } => {
                let named = ExternalTriggerNamed {
                    external_trigger_id: ExternalTriggerId::from(id.as_str()),
                };
                let said = self.say(&place, &Fact::ExternalTriggerRevoked(named))?;
                if self.json {
                    say!("{}", json::write(&said));
                } else {
                    send::print(&said);
                }
                Ok(said.verdict())
            }
        }
    }

    fn say(&self, place: &Place, fact: &Fact) -> Result<Said, CliError> {
        let agent = self.agent.as_deref();
        send::say(place, agent, self.is_virtual, |state| {
            self.what.require(state)?;
            Ok(json::write(fact))
        })
    }

    /// Reports a fact, and shows the token if it was accepted.
    fn make(
        &self,
        place: &Place,
        id: &str,
        token: &Token,
        fact: &Fact,
    ) -> Result<Verdict, CliError> {
        let (agent, ledger) = ledger::to_read(place, self.agent.as_deref())?;
        // The triggers of a ledger that no driver has taken over are inert (contract 15.1).
        if !send::observed(place, &agent, ledger, SystemClock)?.state().is_driven() {
            return Err(CliError::NeverRan(agent));
        }
        let receipt = self.say(place, fact)?;
        let outcome = receipt.verdict();
        if receipt.refusal().is_some() {
            send::print(&receipt);
        } else if self.json {
            let made = Made { external_trigger_id: id, token: token.as_str(), receipt };
            say!("{}", json::write(&made));
        } else {
            say!("{}", token.as_str());
            let [option, named] = place.options();
            let deliver = format!("wakeful send deliver {option} {named} TOKEN");
            mention!("this token is shown once; deliver with: {deliver}");
        }
        Ok(outcome)
    }

    fn list(&self, place: &Place) -> Result<Verdict, CliError> {
        let (agent, ledger) = ledger::to_read(place, self.agent.as_deref())?;
        let scheduler = send::observed(place, &agent, ledger, SystemClock)?;
        let triggers = active(&scheduler);
        if self.json {
            say!("{}", json::write(&triggers));
            return Ok(Verdict::Well);
        }
        if triggers.is_empty() {
            say!(
                "agent `{agent}` has no external triggers; make one with `wakeful trigger create`"
            );
        }
        for trigger in &triggers {
            say!("{}", told(trigger));
        }
        Ok(Verdict::Well)
    }
}

/// A trigger in one line.
pub(super) fn told(trigger: &TriggerSummary) -> String {
    let item =
        trigger.work_item_id.as_ref().map_or_else(String::new, |id| format!(", item `{id}`"));
    let once = if trigger.one_shot { ", once" } else { "" };
    let expires = trigger.expires_at.map_or_else(String::new, |at| format!(", expires at {at}"));
    let deliveries = usize::try_from(trigger.delivery_count).unwrap_or(usize::MAX);
    let awaited = match trigger.awaited_by.as_slice() {
        [] => String::new(),
        waits => format!(", awaited by {}", quoted(waits)),
    };
    format!(
        "`{}` {}{item}{once}{expires}, {}{awaited}: {}",
        trigger.external_trigger_id,
        word(trigger.delivery_mode),
        counted(deliveries, "delivery"),
        trigger.description
    )
}

/// Ids in backticks.
fn quoted(ids: &[String]) -> String {
    ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

/// The triggers that can be delivered to.
fn active<L: wakeful_core::host::Ledger, C: Clock, P: wakeful_core::host::Provider>(
    scheduler: &Scheduler<L, C, P>,
) -> Vec<TriggerSummary> {
    scheduler.summary().active_external_triggers
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(milliseconds("90s"), Ok(90_000));
        assert_eq!(milliseconds("7d"), Ok(604_800_000));
        for wrong in ["", "7", "d", "0s", "1w", "-1s", "999999999999999999d"] {
            assert!(milliseconds(wrong).is_err(), "`{wrong}`");
        }
    }
}
