//! How the deliveries to a trigger must be signed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::id::ExternalTriggerId;

use crate::{
    asked::{Answer, Asked},
    problem::Problem,
    signing::{Check, Scheme},
};

/// How deliveries must be signed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSignature {
    /// How the sender signs.
    scheme: Scheme,
    /// The secret that the sender has; a new one if absent.
    #[serde(default)]
    #[schemars(length(min = 16))]
    secret: Option<String>,
}

/// How deliveries are signed from now on.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Signed {
    /// How the sender signs.
    scheme: Scheme,
    /// The secret for the sender. It is shown once, and only if it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// The trigger of the path, which must be there.
fn trigger(asked: &Asked) -> Result<ExternalTriggerId, Problem> {
    let id = ExternalTriggerId::from(asked.part("trigger"));
    let cell = asked.cell()?;
    let is_there = asked.agents.with(&cell, |scheduler, _| {
        let mut triggers = scheduler.state().external_triggers();
        Ok(triggers.any(|trigger| trigger.external_trigger_id == id))
    })?;
    if is_there { Ok(id) } else { Err(Problem::no_trigger()) }
}

pub(crate) fn put(asked: &Asked) -> Result<Answer, Problem> {
    let new: NewSignature = asked.json()?;
    let trigger = trigger(asked)?;
    let is_new = new.secret.is_none();
    let check = Check::new(new.scheme, new.secret).map_err(Problem::unfit)?;
    asked.agents.checks.put(asked.agents.store(), &asked.agent(), &trigger, &check)?;
    let secret = is_new.then_some(check.secret);
    Ok(Answer::ok(&Signed { scheme: check.scheme, secret }))
}

pub(crate) fn end(asked: &Asked) -> Result<Answer, Problem> {
    let trigger = trigger(asked)?;
    asked.agents.checks.forget(asked.agents.store(), &asked.agent(), &trigger)?;
    Ok(Answer::nothing())
}
