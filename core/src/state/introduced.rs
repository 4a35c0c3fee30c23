//! What introduced each id: the first entry that has it, and a digest of its content (contract
//! 2.2).
//!
//! A host that repeats a fact because it is unsure gets the answer `duplicate`. A host that uses an
//! id for something else must hear that, or it believes that its content was recorded.

use alloc::string::String;

use serde::{Serialize, Serializer};
use wakeful_json::{self as json, Map, Readable, Value};

use crate::{
    id::{MessageId, Seq},
    record::{
        Record,
        budget::BudgetGranted,
        control::ControlRecord,
        entry::Place,
        event::EventKind,
        ingress::ExternalTriggerRecord,
        queue::message::MessageRecord,
        task::{TaskRecord, TaskStatus},
        waiting::{TimerRecord, WaitConditionRecord, WaitingIntentRecord},
        work::WorkItemRecord,
    },
    time::Timestamp,
};

/// The first content of each id.
///
/// The keys are digests of kind and id, because a second copy of every id would double the memory
/// of the tombstones. The ids themselves are compared where the planes keep them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Introduced(Map<Digest, First>);

/// What an id was first used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct First {
    /// The entry that introduced the id.
    seq: Seq,
    /// The digest of its content.
    content: Digest,
}

/// An FNV-1a hash of 64 bits. A collision would only give a refusal another name, so it need not be
/// hard to find one; what counts is the cost for each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Digest(u64);

/// The parameters of FNV-1a with 64 bits.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

impl Digest {
    const EMPTY: Self = Self(OFFSET);

    fn then(self, text: &str) -> Self {
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
        Self(text.as_bytes().iter().fold(self.0, mix))
    }
}

/// The digits of a number.
const DIGITS: usize = 16;

/// One text of three numbers for each id, with 16 hexadecimal digits each: the digest of the id,
/// the entry, the digest of the content. As JSON objects they were two thirds of a snapshot.
impl Serialize for Introduced {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(self.len() * 3 * DIGITS);
        for (id, First { seq, content }) in self.0.iter() {
            for number in [id.0, seq.0, content.0] {
                for at in (0..DIGITS).rev() {
                    let digit = (number >> (4 * at)) & 0xf;
                    text.push(char::from(b"0123456789abcdef"[digit as usize]));
                }
            }
        }
        // The name lets `shape` leave it out: no rule reads it.
        serializer.serialize_newtype_struct("Introduced", &text)
    }
}

impl Readable for Introduced {
    fn read(value: &Value<'_>) -> Self {
        let text = value.text("a string");
        let mut first = Map::new();
        for digits in text.as_bytes().chunks(3 * DIGITS) {
            let mut numbers = digits.chunks(DIGITS).map(number);
            let mut next = || numbers.next().flatten();
            let (Some(id), Some(seq), Some(content)) = (next(), next(), next()) else {
                value.is_wrong(&"three numbers with 16 hexadecimal digits are missing");
                break;
            };
            first.insert(Digest(id), First { seq: Seq(seq), content: Digest(content) });
        }
        Self(first)
    }
}

/// A number with all its digits.
fn number(digits: &[u8]) -> Option<u64> {
    let mut number = 0;
    for digit in digits {
        number = (number << 4) | u64::from(char::from(*digit).to_digit(16)?);
    }
    (digits.len() == DIGITS).then_some(number)
}

impl Introduced {
    /// The number of ids.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no id was introduced yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn apply(&mut self, place: &Place, record: &Record) {
        let Some((id, content)) = identified(record) else { return };
        // No fact may use an id of the core's form (contract 2.3), so these are never compared.
        if let Record::Message(message) = record
            && message.id == MessageId::made_at(&message.agent_id, place.seq)
        {
            return;
        }
        if !self.0.contains_key(&id) {
            self.0.insert(id, First { seq: place.seq, content: content.digest() });
        }
    }

    /// The entry that introduced this message; `None` for messages of the core and for unknown ids.
    #[must_use]
    pub fn message(&self, id: &MessageId) -> Option<Seq> {
        let digest = digest_of("m", id.as_str());
        self.0.get(&digest).map(|first| first.seq)
    }

    /// The entry that used the id of this record for another content, if there is one.
    #[must_use]
    pub fn conflict(&self, record: &Record) -> Option<Seq> {
        let (id, content) = identified(record)?;
        let first = self.0.get(&id)?;
        (first.content != content.digest()).then_some(first.seq)
    }
}

/// What a record says, without what differs when the same fact is said again: times, and the
/// conversation that it belongs to.
enum Content<'a> {
    Message(&'a MessageRecord),
    Task(&'a TaskRecord),
    WorkItem(&'a WorkItemRecord),
    Intent(&'a WaitingIntentRecord),
    Condition(&'a WaitConditionRecord),
    Timer(&'a TimerRecord),
    Trigger(&'a ExternalTriggerRecord),
    Grant(&'a BudgetGranted),
    Other(&'a str),
}

/// The digest of the id that a record may introduce, and its content.
fn identified(record: &Record) -> Option<(Digest, Content<'_>)> {
    let delegation: String;
    let (kind, id, content) = match record {
        Record::Message(it) => ("m", it.id.as_str(), Content::Message(it)),
        Record::Task(it) => ("t", it.id.as_str(), Content::Task(it)),
        Record::WorkItem(it) => ("w", it.id.as_str(), Content::WorkItem(it)),
        Record::WaitingIntent(it) => ("i", it.id.as_str(), Content::Intent(it)),
        // The mirror of an intent is introduced by its intent.
        Record::WaitCondition(it) if !it.is_mirror() => {
            ("c", it.id.as_str(), Content::Condition(it))
        }
        Record::Timer(it) => ("r", it.id.as_str(), Content::Timer(it)),
        Record::ExternalTrigger(it) => ("x", it.external_trigger_id.as_str(), Content::Trigger(it)),
        Record::Control(ControlRecord::BudgetGranted(it)) => {
            ("g", it.grant_id.as_str(), Content::Grant(it))
        }
        Record::Event(it) if it.known() == Some(EventKind::WorkItemDelegated) => {
            delegation = it.particular("delegation_id")?;
            ("d", delegation.as_str(), Content::Other(it.data()?.as_str()))
        }
        _ => return None,
    };
    Some((digest_of(kind, id), content))
}

fn digest_of(kind: &str, id: &str) -> Digest {
    Digest::EMPTY.then(kind).then(id)
}

impl Content<'_> {
    fn digest(&self) -> Digest {
        let never = Timestamp::default();
        let text = match self {
            Self::Message(it) => json::write(&MessageRecord {
                created_at: never,
                correlation_id: None,
                causation_id: None,
                ..(*it).clone()
            }),
            Self::Task(it) => json::write(&TaskRecord {
                // A host may report any status first.
                status: TaskStatus::Queued,
                created_at: never,
                updated_at: never,
                parent_message_id: None,
                ..(*it).clone()
            }),
            Self::WorkItem(it) => json::write(&WorkItemRecord {
                created_at: never,
                updated_at: never,
                ..(*it).clone()
            }),
            Self::Intent(it) => json::write(&WaitingIntentRecord {
                created_at: never,
                correlation_id: None,
                causation_id: None,
                ..(*it).clone()
            }),
            Self::Condition(it) => json::write(&it.without_times()),
            Self::Timer(it) => {
                json::write(&TimerRecord { created_at: never, next_fire_at: None, ..(*it).clone() })
            }
            Self::Grant(it) => json::write(it),
            Self::Trigger(it) => json::write(&ExternalTriggerRecord {
                created_at: never,
                expires_at: it.expires_at.filter(|_| it.expires_in_ms.is_none()),
                ..(*it).clone()
            }),
            Self::Other(text) => return Digest::EMPTY.then(text),
        };
        Digest::EMPTY.then(&text)
    }
}
