//! Entries: what a ledger keeps, in the bytes in which it keeps them (contract 3.1, 3.4).

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::{
    fmt::{self, Write as _},
    ops::Range,
};

use serde::{Serialize, Serializer};

use crate::{
    id::Seq,
    json::{self, JsonError, Part, RawJson, Readable, Value, through_readable},
    plane::{
        context::{BriefRecord, ToolExecutionRecord, TranscriptRecord},
        control::ControlRecord,
        queue::{MessageRecord, QueueEntryRecord},
        task::TaskRecord,
        turn::TurnRecord,
        waiting::{TimerRecord, WaitConditionRecord, WaitingIntentRecord},
        work::WorkItemRecord,
    },
    time::Timestamp,
};

macro_rules! classes {
    ($( $(#[$doc:meta])* $wire:literal => $Class:ident, $Record:ident($Payload:ty); )*) => {
        /// The classes of a ledger, in the order in which an import writes them (contract 3.1, 3.7).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Readable)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Class { $( $(#[$doc])* #[serde(rename = $wire)] $Class, )* }

        impl Class {
            /// All classes.
            pub const ALL: &'static [Self] = &[$(Self::$Class),*];

            /// The name, as in files and entries.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$Class => $wire, )* }
            }
        }

        /// One record, of one class.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(untagged)]
        pub enum Record { $( $(#[$doc])* $Record($Payload), )* }

        impl Record {
            /// Its class.
            #[must_use]
            pub fn class(&self) -> Class {
                match self { $( Self::$Record(_) => Class::$Class, )* }
            }

            /// Reads a record of a class.
            ///
            /// # Errors
            /// What is wrong with the text, and where.
            pub fn decode(class: Class, text: &str) -> Result<Self, JsonError> {
                json::read_by(text, Self::way(class))
            }

            /// How a record of a class is read.
            fn way(class: Class) -> fn(&Value<'_>) -> Self {
                const WAYS: &[fn(&Value<'_>) -> Record] = &[$(|value| Record::$Record(Readable::read(value))),*];
                WAYS[class as usize]
            }
        }
    };
}

classes! {
    /// What came in.
    "messages" => Messages, Message(MessageRecord);
    /// What became of it.
    "queue_entries" => QueueEntries, QueueEntry(QueueEntryRecord);
    /// What happened, decisions among it.
    "events" => Events, Event(EventRecord);
    /// What was said.
    "transcript" => Transcript, Transcript(TranscriptRecord);
    /// What runs in the background.
    "tasks" => Tasks, Task(TaskRecord);
    /// What is to be reached.
    "work_items" => WorkItems, WorkItem(WorkItemRecord);
    /// Waits for something external.
    "waiting_intents" => WaitingIntents, WaitingIntent(WaitingIntentRecord);
    /// Waits of an owner.
    "wait_conditions" => WaitConditions, WaitCondition(WaitConditionRecord);
    /// Timers.
    "timers" => Timers, Timer(TimerRecord);
    /// Tool calls.
    "tools" => Tools, Tool(ToolExecutionRecord);
    /// Briefs.
    "briefs" => Briefs, Brief(BriefRecord);
    /// Turns.
    "turns" => Turns, Turn(TurnRecord);
    /// Identity, lifecycle, focus and hints.
    "control" => Control, Control(ControlRecord);
    /// What an import carries and no rule reads.
    "carried" => Carried, Carried(CarriedRecord);
}

macro_rules! event_kinds {
    ($( $(#[$doc:meta])* $Kind:ident = $wire:literal; )*) => {
        /// The kinds of events that the core writes or reads; foreign ledgers hold others.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum EventKind { $( $(#[$doc])* $Kind, )* }

        impl EventKind {
            /// The name in the record.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$Kind => $wire, )* }
            }
        }
    };
}

event_kinds! {
    /// A decision of the ladder (contract 7.4).
    SchedulerDecision = "scheduler_decision";
    /// How a message met the prior closure (contract 6.3).
    ContinuationResolved = "continuation_resolved";
    /// The closure after a turn (contract 6.1).
    ClosureDecided = "closure_decided";
    /// The turn-end commit (contract 5.7).
    WorkItemTurnEndCommitted = "work_item_turn_end_committed";
    /// A turn was told of a recheck (contract 5.17).
    WorkItemRecheckConsumed = "work_item_recheck_consumed";
    /// What looks wrong, for operators (contract 11.3).
    SchedulerDiagnostic = "scheduler_diagnostic";
    /// The host or the provider failed (contract 6.2).
    RuntimeError = "runtime_error";
    /// The host began to execute a turn.
    TurnStarted = "turn_started";
    /// The result of a task was queued as a message.
    TaskResultQueued = "task_result_queued";
    /// The result of a task reached the model.
    TaskResultDelivered = "task_result_delivered";
    /// A work item was handed to another agent.
    WorkItemDelegated = "work_item_delegated";
    /// A delegation is over.
    WorkItemDelegationCompleted = "work_item_delegation_completed";
    /// A wake hint was folded into one that was pending elsewhere.
    WakeHintCoalesced = "wake_hint_coalesced";
    /// A wake hint was refused elsewhere.
    WakeHintIgnored = "wake_hint_ignored";
    /// The context of the model was compacted (contract 5.22).
    ContextCompacted = "context_compacted";
    /// A checkpoint was made (contract 5.22).
    CheckpointRecorded = "checkpoint_recorded";
    /// A round with the provider ended.
    ProviderRoundCompleted = "provider_round_completed";
    /// A round of tool calls ended.
    ToolRoundCompleted = "tool_round_completed";
    /// A fact changed nothing, and why (contract 2.2).
    FactIgnored = "fact_ignored";
}

/// Something that happened (class `events`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventRecord {
    /// When.
    pub created_at: Timestamp,
    /// What.
    pub kind: String,
    /// The particulars.
    #[serde(default)]
    pub data: Option<RawJson>,
}

impl EventRecord {
    /// An event that the core writes.
    #[must_use]
    pub fn of<T: Serialize>(kind: EventKind, at: Timestamp, data: &T) -> Self {
        Self { created_at: at, kind: kind.as_str().to_string(), data: Some(RawJson::of(data)) }
    }
}

/// A line of a foreign ledger whose class has no rules, kept so that an export can write it back (contract 3.7).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CarriedRecord {
    /// The class: its file without the ending.
    pub of_class: String,
    /// The line, carried as given.
    pub line: RawJson,
}

/// Where an entry stands, for the fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its position.
    pub seq: Seq,
    /// Whether a driver recorded it, as opposed to an import.
    pub live: bool,
}

/// The name of a whole history: equal chains mean equal entries (contract 3.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chain(blake3::Hash);

impl Chain {
    /// The chain before the first entry: all zero.
    pub const START: Self = Self(blake3::Hash::from_bytes([0; 32]));

    /// The chain after an entry with these canonical bytes.
    #[must_use]
    pub fn extend(self, canonical: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.0.as_bytes());
        hasher.update(canonical.as_bytes());
        Self(hasher.finalize())
    }

    /// A chain from its 32 bytes, as a store may keep it.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(blake3::Hash::from_bytes(bytes))
    }

    /// Its 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Reads 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        // Without a branch: which digit comes cannot be foreseen.
        let number = |digit: u8| (digit & 0xF) + 9 * (digit >> 6);
        let is_digit = |digit: u8| digit.is_ascii_digit() | (b'a'..=b'f').contains(&digit);
        let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
        let mut bytes = [0; 32];
        let mut are_digits = true;
        for (byte, digits) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            are_digits &= is_digit(digits[0]) & is_digit(digits[1]);
            *byte = number(digits[0]) << 4 | number(digits[1]) & 0xF;
        }
        are_digits.then(|| Self::from_bytes(bytes))
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digit = |number: u8| b"0123456789abcdef"[usize::from(number)];
        let mut text = [0; 64];
        for (digits, byte) in text.chunks_exact_mut(2).zip(self.0.as_bytes()) {
            digits.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        // INVARIANT: digits are ASCII.
        f.write_str(str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Chain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct("Chain", &crate::json::Printed(self))
    }
}

impl Readable for Chain {
    fn read(value: &Value<'_>) -> Self {
        Self::parse(&value.text("a string")).unwrap_or_else(|| {
            value.is_wrong(&"a chain is 64 lower-case hexadecimal digits");
            Self::START
        })
    }
}

through_readable!(Chain);

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Chain {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Chain".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$", "description": "BLAKE3 of the history" })
    }
}

/// The newest entry of a ledger, and with it the whole history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Head {
    /// Its position; 0 where there is none.
    pub seq: Seq,
    /// Its chain.
    pub chain: Chain,
}

impl Head {
    /// The head of an empty ledger.
    pub const START: Self = Self { seq: Seq(0), chain: Chain::START };
}

impl Default for Head {
    fn default() -> Self {
        Self::START
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.seq, self.chain)
    }
}

/// A record with its place in the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its position.
    pub seq: Seq,
    /// When its batch was made.
    pub at: Timestamp,
    /// What it keeps.
    pub record: Record,
    /// The chain up to and with it.
    pub chain: Chain,
}

/// An entry as a ledger stores it: one line of JSON, `{"seq":..,"at":..,"class":..,"record":..,"chain":..}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EntryBytes(String);

/// The stored text ends with the chain; what stands before it, closed by a brace, are the canonical bytes.
const CHAIN_PREFIX: &str = ",\"chain\":\"";
const CHAIN_SUFFIX_LEN: usize = CHAIN_PREFIX.len() + 64 + "\"}".len();

#[derive(Serialize)]
struct Canonical<'a> {
    seq: Seq,
    at: Timestamp,
    class: Class,
    record: &'a Record,
}

#[derive(Readable)]
struct Stored {
    seq: Seq,
    at: Timestamp,
    class: Class,
    record: Part,
}

/// Why stored bytes are no entry of this ledger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// The text cannot be read.
    #[error("entry {expected} cannot be read: {why}")]
    Malformed {
        /// The position that was due.
        expected: Seq,
        /// What is wrong, and where.
        why: JsonError,
    },
    /// An entry is missing, or out of order.
    #[error("entry {found} stands where entry {expected} is due")]
    OutOfOrder {
        /// The position that was due.
        expected: Seq,
        /// The position that is there.
        found: Seq,
    },
    /// The entry does not follow from the one before it.
    #[error("entry {seq} breaks the chain: its bytes or an earlier entry were changed")]
    BrokenChain {
        /// The entry.
        seq: Seq,
    },
}

impl Entry {
    /// Makes the entry that follows `head`, with the bytes to store.
    #[must_use]
    pub fn seal(head: &Head, at: Timestamp, record: Record) -> (Self, EntryBytes) {
        let seq = head.seq.next();
        let mut text = json::write(&Canonical { seq, at, class: record.class(), record: &record });
        seeded_entry_byte(&mut text);
        let chain = head.chain.extend(&text);
        let entry = Self { seq, at, record, chain };
        (entry, EntryBytes::join(text, &chain))
    }

    /// The head of a ledger that ends with this entry.
    #[must_use]
    pub fn head(&self) -> Head {
        Head { seq: self.seq, chain: self.chain }
    }
}

impl EntryBytes {
    /// Bytes that a ledger gave back.
    #[must_use]
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The line.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The line from its canonical bytes and its chain; [`EntryBytes::split`] takes it apart again.
    #[must_use]
    pub fn join(canonical: String, chain: &Chain) -> Self {
        let mut line = canonical;
        line.truncate(line.strip_suffix('}').map_or(line.len(), str::len));
        // Writing into memory does not fail.
        write!(line, "{CHAIN_PREFIX}{chain}\"}}").ok();
        Self(line)
    }

    /// The canonical bytes and the chain, for a store that keeps them apart; none where the line does not end with a chain. Verifies
    /// nothing.
    #[must_use]
    pub fn split(&self) -> Option<(String, Chain)> {
        let (body, chain) = self.parts()?;
        Some(([body, "}"].concat(), chain))
    }

    /// The chain with which the line ends; none where it ends otherwise. Verifies nothing.
    #[must_use]
    pub fn chain(&self) -> Option<Chain> {
        self.parts().map(|(_, chain)| chain)
    }

    /// What stands before the chain, and the chain.
    fn parts(&self) -> Option<(&str, Chain)> {
        let (body, tail) = self.0.split_at_checked(self.0.len().checked_sub(CHAIN_SUFFIX_LEN)?)?;
        let chain = Chain::parse(tail.strip_prefix(CHAIN_PREFIX)?.strip_suffix("\"}")?)?;
        Some((body, chain))
    }

    /// Reads the entry that follows `head` and verifies that it does.
    ///
    /// # Errors
    /// Where the text is no entry, not the next one, or not of this history.
    pub fn open(&self, head: &Head) -> Result<Entry, EntryError> {
        let expected = head.seq.next();
        let malformed = |why| EntryError::Malformed { expected, why };
        let (canonical, chain) = self.split().ok_or_else(|| malformed(JsonError::at_field("chain", "an entry ends with its chain")))?;
        let stored: Stored = json::read(&canonical).map_err(malformed)?;
        if stored.seq != expected {
            return Err(EntryError::OutOfOrder { expected, found: stored.seq });
        }
        if head.chain.extend(&canonical) != chain {
            return Err(EntryError::BrokenChain { seq: expected });
        }
        let Part(Range { start, end }) = stored.record;
        let record = json::read_scanned_by(&canonical[start..end], Record::way(stored.class));
        let record = record.map_err(|why| malformed(why.shifted(start)))?;
        Ok(Entry { seq: stored.seq, at: stored.at, record, chain })
    }
}

/// Seals records one after the other, from `head` on.
#[must_use]
pub fn seal_all(mut head: Head, at: Timestamp, records: Vec<Record>) -> (Vec<Entry>, Vec<EntryBytes>) {
    records
        .into_iter()
        .map(|record| {
            let (entry, bytes) = Entry::seal(&head, at, record);
            head = entry.head();
            (entry, bytes)
        })
        .unzip()
}

/// The cross-check's own test builds a guest with this seed: one byte of every message text differs.
#[cfg(seeded_divergence = "entry_byte")]
fn seeded_entry_byte(text: &mut String) {
    *text = text.replacen("\"text\":\"S", "\"text\":\"s", 1);
}

#[cfg(not(seeded_divergence = "entry_byte"))]
fn seeded_entry_byte(_: &mut String) {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plane::control::Marker;

    fn sealed() -> (Entry, EntryBytes) {
        let record = Record::Control(ControlRecord::StartRequested(Marker {}));
        Entry::seal(&Head::START, Timestamp::from_nanos(0), record)
    }

    #[test]
    fn an_entry_reads_back_as_it_was_sealed() {
        let (entry, bytes) = sealed();
        assert_eq!(bytes.open(&Head::START), Ok(entry));
    }

    #[test]
    fn a_line_is_taken_apart_and_put_together_again() {
        let (entry, bytes) = sealed();
        let (canonical, chain) = bytes.split().expect("it ends with its chain");
        assert_eq!((chain, Chain::START.extend(&canonical)), (entry.chain, entry.chain));
        assert_eq!(EntryBytes::join(canonical.clone(), &Chain::from_bytes(*chain.as_bytes())), bytes);
        for text in ["", "{}", "\u{e9}\"}"] {
            assert_eq!(EntryBytes(text.into()).split(), None, "`{text}`");
        }
    }

    #[test]
    fn a_changed_byte_breaks_the_chain() {
        let (_, bytes) = sealed();
        let changed = EntryBytes(bytes.0.replace("1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z"));
        assert_eq!(changed.open(&Head::START), Err(EntryError::BrokenChain { seq: Seq(1) }));
    }

    #[test]
    fn an_entry_of_another_place_is_refused() {
        let (entry, bytes) = sealed();
        let why = bytes.open(&entry.head()).expect_err("entry 1 after entry 1");
        assert_eq!(why, EntryError::OutOfOrder { expected: Seq(2), found: Seq(1) });
    }

    #[test]
    fn text_that_is_no_entry_says_what_is_missing() {
        let why = EntryBytes("{}".into()).open(&Head::START).expect_err("no entry");
        assert!(why.to_string().contains("ends with its chain"), "{why}");
    }
}
