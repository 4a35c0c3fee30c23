//! Records: what a ledger keeps. Each kind has its own file, and none uses the state that is folded
//! from them.

pub mod budget;
pub mod chain;
pub mod context;
pub mod continuation;
pub mod control;
pub mod decision;
pub mod diagnostic;
pub mod edition;
pub mod effect;
pub mod entry;
pub mod event;
pub mod ingress;
pub mod key;
pub mod policy;
pub mod queue;
pub mod refusal;
pub mod task;
pub(crate) mod text;
pub mod turn;
pub mod waiting;
pub mod work;

use alloc::string::String;

use serde::Serialize;

use crate::record::{
    context::{BriefRecord, ToolExecutionRecord, TranscriptRecord},
    control::ControlRecord,
    event::EventRecord,
    ingress::ExternalTriggerRecord,
    queue::{entry::QueueEntryRecord, message::MessageRecord},
    task::TaskRecord,
    turn::TurnRecord,
    waiting::{TimerRecord, WaitConditionRecord, WaitingIntentRecord},
    work::WorkItemRecord,
};
use wakeful_json::{self as json, JsonError, RawJson, Readable, Value};

macro_rules! classes {
    ($( $(#[$doc:meta])* $wire:literal => $Class:ident, $Record:ident($Payload:ty); )*) => {
        /// The classes of a ledger, in the order in which an import writes them (contract 3.1,
        /// 3.7).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Readable)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Class { $( $(#[$doc])* #[serde(rename = $wire)] $Class, )* }

        impl Class {
            /// All classes, in that order.
            pub const ALL: &'static [Self] = &[$(Self::$Class),*];

            /// The name in files and entries.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$Class => $wire, )* }
            }
        }

        /// A record of one of the classes.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        // An entry has the class beside the record, so the record has no tag of its own.
        #[serde(untagged)]
        pub enum Record { $( $(#[$doc])* $Record($Payload), )* }

        impl Record {
            /// The class of this record.
            #[must_use]
            pub fn class(&self) -> Class {
                match self { $( Self::$Record(_) => Class::$Class, )* }
            }

            /// Reads a record of the given class.
            ///
            /// # Errors
            /// If the text is not a record of that class. The error has the place.
            pub fn decode(class: Class, text: &str) -> Result<Self, JsonError> {
                json::read_by(text, Self::way(class))
            }

            /// The function that reads records of a class.
            fn way(class: Class) -> fn(&Value<'_>) -> Self {
            // In the order of the declaration, so the number of a class is the place of its
            // function.
            const WAYS: &[fn(&Value<'_>) -> Record] =
                &[$(|value| Record::$Record(Readable::read(value))),*];
                WAYS[class as usize]
            }
        }
    };
}

classes! {
    /// Messages: prompts, events, ticks and results.
    "messages" => Messages, Message(MessageRecord);
    /// The way of each message through the queue.
    "queue_entries" => QueueEntries, QueueEntry(QueueEntryRecord);
    /// What happened, including decisions.
    "events" => Events, Event(EventRecord);
    /// What the model and its users said.
    "transcript" => Transcript, Transcript(TranscriptRecord);
    /// Tasks that run beside turns.
    "tasks" => Tasks, Task(TaskRecord);
    /// Work items and their snapshots.
    "work_items" => WorkItems, WorkItem(WorkItemRecord);
    /// Waits for something external.
    "waiting_intents" => WaitingIntents, WaitingIntent(WaitingIntentRecord);
    /// Waits of an item or of the agent.
    "wait_conditions" => WaitConditions, WaitCondition(WaitConditionRecord);
    /// Timers.
    "timers" => Timers, Timer(TimerRecord);
    /// External triggers.
    "external_triggers" => ExternalTriggers, ExternalTrigger(ExternalTriggerRecord);
    /// Tool calls that were executed.
    "tools" => Tools, Tool(ToolExecutionRecord);
    /// Briefs.
    "briefs" => Briefs, Brief(BriefRecord);
    /// Turns.
    "turns" => Turns, Turn(TurnRecord);
    /// Identity, lifecycle, focus and hints.
    "control" => Control, Control(ControlRecord);
    /// Lines of an import that no rule reads.
    "carried" => Carried, Carried(CarriedRecord);
}

/// A line of a foreign ledger whose class has no rules, kept so that an export can write it back
/// (contract 3.7).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CarriedRecord {
    /// The class: the name of its file without the extension.
    pub of_class: String,
    /// The line, byte for byte.
    pub line: RawJson,
}
