//! The script: what happens outside, line by line.

use alloc::{
    format,
    string::{String, ToString},
};

use crate::{
    fact::{Fact, control::Restarted},
    id::{ExternalTriggerId, WorkItemId},
    record::{
        control::{Marker, WakeHint},
        queue::envelope::{MessageBody, Priority},
    },
    story::{fields::fields, said},
    tagged::{names, read_through},
};
use wakeful_json::RawJson;

/// One thing that happens outside. The next line is played when the agent rests.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// A fact is reported.
    Fact(RawJson),
    /// The operator sends a prompt.
    Prompt {
        /// The text of the prompt.
        text: String,
        /// The lane of the prompt; absent means normal.
        lane: Option<Priority>,
        /// The item that the prompt is about.
        item: Option<WorkItemId>,
    },
    /// A message is delivered to an external trigger.
    Deliver {
        /// The trigger that is named.
        trigger: ExternalTriggerId,
        /// The text of the message.
        text: String,
    },
    /// A wake hint arrives.
    Hint {
        /// Why the agent should look.
        reason: String,
        /// The trigger that the hint names.
        trigger: Option<ExternalTriggerId>,
        /// The content of the hint, if there is any.
        text: Option<String>,
    },
    /// The agent gets a request.
    Control(Request),
    /// This many milliseconds pass.
    Wait(u64),
    /// Time passes until the agent's next wake.
    UntilWake,
}

names! {
    /// A request to an agent from outside.
    pub enum Request {
        /// The agent may run again.
        Start,
        /// The agent must not run.
        Stop,
        /// The agent prepares for the end of the process.
        Shutdown,
        /// The agent takes over the ledger again, as a new process does.
        Restart,
    }
}

/// The instants that `until` can name.
#[derive(wakeful_json::Readable)]
#[serde(rename_all = "snake_case")]
enum Until {
    NextWake,
}

impl Request {
    /// The fact that reports the request.
    #[must_use]
    pub fn fact(self) -> Fact {
        match self {
            Self::Start => Fact::StartRequested(Marker {}),
            Self::Stop => Fact::StopRequested(Marker {}),
            Self::Shutdown => Fact::ShutdownRequested(Marker {}),
            Self::Restart => Fact::RuntimeRestarted(Restarted::default()),
        }
    }
}

fields! {
    /// The fields of all lines. [`Line`] is read through this type.
    LineFields {
        fact: RawJson,
        prompt: String,
        deliver: ExternalTriggerId,
        hint: String,
        control: Request,
        wait_ms: u64,
        until: Until,
        text: String,
        lane: Priority,
        item: WorkItemId,
        trigger: ExternalTriggerId,
    }
}

impl TryFrom<LineFields> for Line {
    type Error = String;

    fn try_from(mut line: LineFields) -> Result<Self, String> {
        if let Some(text) = line.prompt.take() {
            let read = Self::Prompt { text, lane: line.lane.take(), item: line.item.take() };
            line.done("prompt", read)
        } else if let Some(trigger) = line.deliver.take() {
            let text = line.text.take().ok_or("`deliver` needs `text`: what is delivered")?;
            line.done("deliver", Self::Deliver { trigger, text })
        } else if let Some(reason) = line.hint.take() {
            let read = Self::Hint { reason, trigger: line.trigger.take(), text: line.text.take() };
            line.done("hint", read)
        } else if let Some(request) = line.control.take() {
            line.done("control", Self::Control(request))
        } else if let Some(fact) = line.fact.take() {
            line.done("fact", Self::Fact(fact)).map_err(only_one)
        } else if let Some(ms) = line.wait_ms.take() {
            line.done("wait_ms", Self::Wait(ms)).map_err(only_one)
        } else if let Some(Until::NextWake) = line.until.take() {
            line.done("until", Self::UntilWake).map_err(only_one)
        } else {
            Err(only_one("it has none".to_string()))
        }
    }
}

fn only_one(what: String) -> String {
    format!(
        "a line has exactly one of `fact`, `prompt`, `deliver`, `hint`, `control`, `wait_ms` and \
         `until`: {what}"
    )
}

read_through!(Line, LineFields, Self::UntilWake);

impl Line {
    /// The fact of this line; `None` if it only lets time pass. Its message or hint has `id`, so
    /// that a process that plays the line again adds it only once.
    #[must_use]
    pub(super) fn fact(&self, id: &str) -> Option<RawJson> {
        let fact = match self {
            Self::Fact(fact) => return Some(fact.clone()),
            Self::Prompt { text, lane, item } => {
                said::prompt(id.into(), text.as_str(), *lane, item.clone())
            }
            Self::Deliver { trigger, text } => {
                said::delivery(id.into(), trigger.clone(), text.as_str())
            }
            Self::Hint { reason, trigger, text } => Fact::WakeHintSubmitted(WakeHint {
                external_trigger_id: trigger.clone(),
                body: text.as_ref().map(MessageBody::text),
                // A hint has no id of its own; `Recall` knows it by this one.
                correlation_id: Some(id.to_string()),
                ..said::hint(reason.as_str())
            }),
            Self::Control(request) => request.fact(),
            Self::Wait(_) | Self::UntilWake => return None,
        };
        Some(RawJson::from_value(&fact))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakeful_json as json;

    fn refused(text: &str) -> String {
        json::read::<Line>(text).expect_err("not a line").message
    }

    #[test]
    fn a_line_with_two_meanings_is_refused() {
        let why = refused(r#"{"wait_ms":1,"until":"next_wake"}"#);
        assert!(
            why.contains("exactly one of") && why.contains("`until` does not go with `wait_ms`"),
            "{why}"
        );
    }

    #[test]
    fn a_line_without_a_meaning_is_refused() {
        assert!(refused("{}").contains("exactly one of"));
    }

    #[test]
    fn a_field_that_does_not_belong_to_its_verb_is_named() {
        assert_eq!(
            refused(r#"{"prompt":"go","trigger":"t"}"#),
            "`trigger` does not go with `prompt`"
        );
        assert_eq!(refused(r#"{"deliver":"t"}"#), "`deliver` needs `text`: what is delivered");
    }

    #[test]
    fn an_unknown_field_is_named_where_it_stands() {
        let why = json::read::<Line>("{\n  \"prompt\": \"go\",\n  \"lain\": \"next\"\n}")
            .expect_err("no such field");
        assert_eq!((why.line, why.path.as_str()), (3, "lain"));
        assert!(
            why.message.contains("unknown field `lain`") && why.message.contains("`lane`"),
            "{}",
            why.message
        );
    }

    #[test]
    fn words_become_the_facts_that_they_stand_for() {
        let fact = |text: &str| {
            json::read::<Line>(text)
                .expect("a line")
                .fact("s:1")
                .map(|fact| fact.as_str().to_string())
        };
        assert_eq!(fact(r#"{"control":"stop"}"#).as_deref(), Some(r#"{"fact":"stop_requested"}"#));
        assert!(
            fact(r#"{"prompt":"go","lane":"next"}"#)
                .is_some_and(|fact| fact.contains(r#""id":"s:1""#) && fact.contains(r#""next""#))
        );
        assert!(
            fact(r#"{"hint":"ci","text":"green"}"#)
                .is_some_and(|fact| fact.contains(r#""correlation_id":"s:1""#))
        );
        assert_eq!(fact(r#"{"wait_ms":5}"#), None);
    }
}
