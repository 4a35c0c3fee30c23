//! Reading the input: the agent's state and the records. Fields that a vector leaves out get their
//! defaults (`conformance` README, inputs).

use std::collections::BTreeMap;

use wakeful_core::{
    machine::import::Import,
    record::{
        Class, Record,
        waiting::{WaitConditionRecord, recoverability::Recoverability},
    },
    time::Timestamp,
};
use wakeful_json::{self as json, JsonError, RawJson, Readable};

type Fields = BTreeMap<String, RawJson>;

/// An input, ready for the import.
pub(super) struct Given {
    pub(super) now: Timestamp,
    pub(super) pending: u64,
    pub(super) import: Import,
    /// The number of events in the reference runtime's folder after these records were appended.
    pub(super) events_on_disk: usize,
}

#[derive(Readable)]
struct Input {
    agent: Fields,
    now: Timestamp,
    #[serde(default)]
    records: Records,
    #[serde(default)]
    log: Vec<Logged>,
}

#[derive(Readable)]
struct Logged {
    kind: Class,
    record: Fields,
}

/// Records class by class, in the order in which they were appended.
#[derive(Default, Readable)]
#[serde(default)]
struct Records {
    work_items: Vec<Fields>,
    tasks: Vec<Fields>,
    waiting_intents: Vec<Fields>,
    wait_conditions: Vec<Fields>,
    timers: Vec<Fields>,
    messages: Vec<Fields>,
    queue_entries: Vec<Fields>,
    events: Vec<Fields>,
    briefs: Vec<Fields>,
}

impl Records {
    fn in_order(self) -> impl Iterator<Item = Logged> {
        let classes = [
            (Class::WorkItems, self.work_items),
            (Class::Tasks, self.tasks),
            (Class::WaitingIntents, self.waiting_intents),
            (Class::WaitConditions, self.wait_conditions),
            (Class::Timers, self.timers),
            (Class::Messages, self.messages),
            (Class::QueueEntries, self.queue_entries),
            (Class::Events, self.events),
            (Class::Briefs, self.briefs),
        ];
        classes.into_iter().flat_map(|(kind, records)| {
            records.into_iter().map(move |record| Logged { kind, record })
        })
    }
}

/// The time of everything for which a vector has no time.
const LONG_AGO: &str = r#""2026-01-01T00:00:00Z""#;

/// The defaults of the fields that a record of this class may leave out.
fn defaults(class: Class) -> &'static [(&'static str, &'static str)] {
    const OWNER: (&str, &str) = ("agent_id", r#""default""#);
    const CREATED: (&str, &str) = ("created_at", LONG_AGO);
    const UPDATED: (&str, &str) = ("updated_at", LONG_AGO);
    match class {
        Class::WorkItems => &[
            OWNER,
            CREATED,
            UPDATED,
            ("id", r#""work""#),
            ("objective", r#""""#),
            ("revision", "1"),
            ("state", r#""open""#),
            ("plan_status", r#""draft""#),
        ],
        Class::Tasks => &[
            OWNER,
            CREATED,
            UPDATED,
            ("id", r#""task""#),
            ("kind", r#""command_task""#),
            ("status", r#""running""#),
        ],
        Class::WaitingIntents => &[
            OWNER,
            CREATED,
            ("id", r#""intent""#),
            ("status", r#""active""#),
            ("description", r#""""#),
            ("source", r#""""#),
            ("delivery_mode", r#""wake_hint""#),
            ("external_trigger_id", r#""trigger""#),
            ("scope", r#""agent""#),
            ("trigger_count", "0"),
        ],
        Class::WaitConditions => &[
            OWNER,
            CREATED,
            UPDATED,
            ("id", r#""wait""#),
            ("status", r#""active""#),
            ("kind", r#""external""#),
            ("waiting_for", r#""""#),
        ],
        Class::Timers => &[
            OWNER,
            CREATED,
            ("id", r#""timer""#),
            ("status", r#""active""#),
            ("duration_ms", "1000"),
            ("repeat", "false"),
        ],
        Class::Messages => &[
            OWNER,
            CREATED,
            ("id", r#""msg""#),
            ("kind", r#""webhook_event""#),
            ("origin", r#"{"kind":"webhook","source":"fixture"}"#),
            ("trust", r#""trusted_integration""#),
            ("priority", r#""normal""#),
            ("body", r#"{"type":"text","text":"t"}"#),
        ],
        Class::QueueEntries => &[
            OWNER,
            CREATED,
            UPDATED,
            ("message_id", r#""msg""#),
            ("status", r#""queued""#),
            ("priority", r#""normal""#),
        ],
        Class::Events => &[CREATED, ("kind", r#""noop""#)],
        Class::Briefs => {
            &[OWNER, CREATED, ("id", r#""brief""#), ("kind", r#""ack""#), ("text", r#""""#)]
        }
        _ => &[],
    }
}

/// The other spelling of a field. A record that has it needs no default.
fn alias(field: &str) -> Option<&'static str> {
    match field {
        "agent_id" => Some("session_id"),
        "description" => Some("summary"),
        _ => None,
    }
}

fn filled(mut record: Fields, class: Class) -> Result<String, JsonError> {
    for (field, value) in defaults(class) {
        let is_given = record.contains_key(*field)
            || alias(field).is_some_and(|other| record.contains_key(other));
        if !is_given {
            record.insert((*field).into(), json::read(value)?);
        }
    }
    Ok(json::write(&record))
}

pub(super) fn read(input: &str) -> Result<Given, JsonError> {
    let Input { mut agent, now, records, log } = json::read(input)?;
    for (field, value) in [("id", r#""default""#), ("status", r#""booting""#), ("pending", "0")] {
        if !agent.contains_key(field) {
            agent.insert(field.into(), json::read(value)?);
        }
    }
    // Our state counts waiting messages itself; the reference runtime reads this cached number.
    let pending = agent.get("pending").map_or(Ok(0), RawJson::read)?;
    let mut lines = Vec::new();
    for logged in records.in_order().chain(log) {
        lines.push((logged.kind, filled(logged.record, logged.kind)?));
    }
    let mut events_on_disk = 0;
    for (class, line) in &lines {
        events_on_disk += usize::from(leaves_event(*class, line)?);
    }
    let lines = lines.iter().map(|(class, line)| (*class, line.as_str()));
    let import = Import::of_records(&json::write(&agent), lines)?;
    Ok(Given { now, pending, import, events_on_disk })
}

/// Whether appending this record leaves an event in the reference runtime's folder. An event does,
/// and so does an external wait that nothing else wakes: a condition, or the mirror of an intent
/// (`observed-decisions.md` 2.8.2).
fn leaves_event(class: Class, line: &str) -> Result<bool, JsonError> {
    let is_stranded = |condition: &WaitConditionRecord| {
        condition.recoverability().is_some_and(|how| how != Recoverability::Recoverable)
    };
    Ok(match Record::decode(class, line)? {
        Record::Event(_) => true,
        Record::WaitCondition(condition) => is_stranded(&condition),
        Record::WaitingIntent(intent) => is_stranded(&WaitConditionRecord::mirror(&intent)),
        _ => false,
    })
}
