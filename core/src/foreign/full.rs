//! Full records: the lines that the reference runtime or an export writes. They keep their own
//! times and agents.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use crate::record::{
    Class, Record, chain::Chain, control::ControlRecord, ingress::ExternalTriggerRecord,
    waiting::intent,
};
use wakeful_json::{self as json, JsonError, Readable};

/// The key that only the full form of a class has; `None` if the class has no short form.
fn mark(class: Class) -> Option<&'static str> {
    match class {
        Class::Messages => Some("body"),
        Class::Tasks => Some("kind"),
        Class::WaitingIntents => Some("status"),
        Class::Timers => Some("duration_ms"),
        Class::WorkItems | Class::QueueEntries | Class::Events | Class::Briefs | Class::Tools => {
            Some("created_at")
        }
        Class::Transcript
        | Class::WaitConditions
        | Class::Turns
        | Class::ExternalTriggers
        | Class::Control
        | Class::Carried => None,
    }
}

/// Whether a line is a full record.
pub(super) fn is_full(class: Class, text: &str) -> bool {
    mark(class).is_none_or(|key| json::has_member(text, key))
}

/// Whether a line belongs to one of our classes but has the reference runtime's shape, which the
/// scheduler does not read.
pub(super) fn is_carried(class: Class, text: &str) -> bool {
    class == Class::Transcript && json::has_member(text, "kind")
}

/// The records of a full line. `mirrored` says whether the folder has separate records for the
/// mirrors of its intents.
pub(super) fn records(class: Class, text: &str, mirrored: bool) -> Result<Vec<Record>, JsonError> {
    match Record::decode(class, text)? {
        Record::ExternalTrigger(trigger) if trigger.token_hash.is_empty() => {
            let token_hash = hash_of_url(text)?;
            Ok(Vec::from([Record::ExternalTrigger(ExternalTriggerRecord {
                token_hash,
                ..trigger
            })]))
        }
        Record::Control(ControlRecord::Genesis(_)) => Err(JsonError::at_field(
            "control",
            "a ledger creates its own `genesis`: remove this line",
        )),
        // contract 5.16: an intent and its mirror condition are recorded together.
        Record::WaitingIntent(intent) if !mirrored => Ok(intent::with_mirror(intent).into()),
        record => Ok(Vec::from([record])),
    }
}

/// The hash of the URL of an imported trigger, for one that has no hash of its token. The URL holds
/// the token, so it is not kept (contract 15.1).
fn hash_of_url(text: &str) -> Result<String, JsonError> {
    #[derive(Readable)]
    struct Addressed {
        trigger_url: Option<String>,
    }
    let url = json::read::<Addressed>(text)?.trigger_url;
    Ok(url.map_or_else(String::new, |url| Chain::START.extend(&url).to_string()))
}
