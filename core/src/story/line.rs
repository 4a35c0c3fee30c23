//! The script: what happens outside, line by line.

use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
};
use core::num::NonZeroU64;

use crate::{
    fact::{Fact, control::Restarted},
    id::{ExternalTriggerId, WorkItemId},
    record::{
        budget::{BudgetGranted, BudgetLimits, BudgetSet},
        control::{Marker, WakeHint},
        ingress::ExternalTrust,
        queue::envelope::{MessageBody, Priority},
        waiting::CallbackDeliveryMode,
    },
    story::{
        external::{self, trigger_words},
        fields::fields,
        said,
    },
    tagged::{names, read_through},
};
use wakeful_json::{RawJson, Readable};

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
    /// Something is delivered to an external trigger.
    Deliver {
        /// The trigger that is named.
        trigger: ExternalTriggerId,
        /// What is delivered, if there is content.
        text: Option<String>,
        /// The token that is shown. Absent if the ledger does not have the trigger: then a message
        /// names one that the host made up.
        token: Option<String>,
        /// The sender's id of the delivery; absent means one of this line.
        id: Option<String>,
    },
    /// A fact that its words say in full: about an external trigger, or the limits of a budget.
    Operation(Box<Fact>),
    /// A budget gets more, once.
    Grant {
        /// The item whose budget it is; absent means the agent.
        item: Option<WorkItemId>,
        /// What it gets.
        more: More,
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

/// What a grant adds to a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Readable)]
#[serde(deny_unknown_fields)]
pub struct More {
    /// Tokens that it adds.
    #[serde(default)]
    pub tokens: u64,
    /// Cost that it adds, in millionths.
    #[serde(default)]
    pub cost_micros: u64,
}

/// The limits of a budget. They are read with their place if one is unknown.
#[derive(Readable)]
#[serde(deny_unknown_fields)]
struct Limits {
    tokens_per_day: Option<NonZeroU64>,
    tokens_total: Option<NonZeroU64>,
    cost_micros_per_day: Option<NonZeroU64>,
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
        create_trigger: ExternalTriggerId,
        rotate_trigger: ExternalTriggerId,
        revoke_trigger: ExternalTriggerId,
        set_budget: Limits,
        grant_budget: More,
        wait_ms: u64,
        until: Until,
        text: String,
        lane: Priority,
        item: WorkItemId,
        trigger: ExternalTriggerId,
        what: String,
        mode: CallbackDeliveryMode,
        trust: ExternalTrust,
        once: bool,
        expires_ms: u64,
        token: String,
        id: String,
    }
}

impl TryFrom<LineFields> for Line {
    type Error = String;

    fn try_from(mut line: LineFields) -> Result<Self, String> {
        line.input()
            .or_else(|| line.on_triggers())
            .or_else(|| line.budget())
            .or_else(|| line.other())
            .unwrap_or_else(|| Err(only_one("it has none".to_string())))
    }
}

type Made = Option<Result<Line, String>>;

impl LineFields {
    fn input(&mut self) -> Made {
        Some(if let Some(text) = self.prompt.take() {
            let read = Line::Prompt { text, lane: self.lane.take(), item: self.item.take() };
            self.done("prompt", read)
        } else if let Some(trigger) = self.deliver.take() {
            let (text, token, id) = (self.text.take(), self.token.take(), self.id.take());
            if text.is_none() && token.is_none() {
                return Some(Err("`deliver` needs `text`: what is delivered".into()));
            }
            self.done("deliver", Line::Deliver { trigger, text, token, id })
        } else if let Some(reason) = self.hint.take() {
            let read = Line::Hint { reason, trigger: self.trigger.take(), text: self.text.take() };
            self.done("hint", read)
        } else {
            return None;
        })
    }

    fn budget(&mut self) -> Made {
        Some(if let Some(limits) = self.set_budget.take() {
            let fact = Fact::BudgetSet(BudgetSet {
                work_item_id: self.item.take(),
                limits: BudgetLimits {
                    tokens_per_day: limits.tokens_per_day,
                    tokens_total: limits.tokens_total,
                    cost_micros_per_day: limits.cost_micros_per_day,
                },
            });
            self.done("set_budget", Line::Operation(Box::new(fact)))
        } else if let Some(more) = self.grant_budget.take() {
            let item = self.item.take();
            if (more.tokens, more.cost_micros) == (0, 0) {
                return Some(Err("`grant_budget` needs `tokens` or `cost_micros` above 0".into()));
            }
            self.done("grant_budget", Line::Grant { item, more })
        } else {
            return None;
        })
    }

    fn other(&mut self) -> Made {
        Some(if let Some(request) = self.control.take() {
            self.done("control", Line::Control(request))
        } else if let Some(fact) = self.fact.take() {
            self.done("fact", Line::Fact(fact)).map_err(only_one)
        } else if let Some(ms) = self.wait_ms.take() {
            self.done("wait_ms", Line::Wait(ms)).map_err(only_one)
        } else if let Some(Until::NextWake) = self.until.take() {
            self.done("until", Line::UntilWake).map_err(only_one)
        } else {
            return None;
        })
    }
}

trigger_words!(LineFields => Line);

fn only_one(what: String) -> String {
    format!(
        "a line has exactly one of `fact`, `prompt`, `deliver`, `hint`, `control`, \
         `create_trigger`, `rotate_trigger`, `revoke_trigger`, `set_budget`, `grant_budget`, \
         `wait_ms` and `until`: {what}"
    )
}

read_through!(Line, LineFields, Self::UntilWake);

impl Line {
    /// The trigger that this line makes.
    pub(super) fn makes(&self) -> Option<&ExternalTriggerId> {
        match self {
            Self::Operation(fact) => external::made(fact),
            _ => None,
        }
    }

    /// Whether this line sets these limits.
    pub(super) fn sets(&self, budget: &BudgetSet) -> bool {
        let Self::Operation(fact) = self else { return false };
        matches!(&**fact, Fact::BudgetSet(set) if set == budget)
    }

    /// The fact of this line; `None` if it only lets time pass. Its message or hint has `id`, so
    /// that a process that plays the line again adds it only once.
    #[must_use]
    pub(super) fn fact(&self, id: &str) -> Option<RawJson> {
        let fact = match self {
            Self::Fact(fact) => return Some(fact.clone()),
            Self::Prompt { text, lane, item } => {
                said::prompt(id.into(), text.as_str(), *lane, item.clone())
            }
            Self::Deliver { trigger, text, token, id: given } => {
                let (id, text) = (given.as_deref().unwrap_or(id), text.as_deref());
                match token {
                    Some(token) => external::delivered(trigger.clone(), token, id.into(), text),
                    None => said::delivery(id.into(), trigger.clone(), text.unwrap_or_default()),
                }
            }
            Self::Operation(fact) => return Some(RawJson::from_value(&**fact)),
            Self::Grant { item, more } => Fact::BudgetGranted(BudgetGranted {
                grant_id: id.into(),
                work_item_id: item.clone(),
                tokens: more.tokens,
                cost_micros: more.cost_micros,
            }),
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
        assert_eq!(
            refused(r#"{"rotate_trigger":"t"}"#),
            "`rotate_trigger` needs `token`: the new one"
        );
        assert_eq!(
            refused(r#"{"revoke_trigger":"t","token":"x"}"#),
            "`token` does not go with `revoke_trigger`"
        );
        assert_eq!(
            refused(r#"{"grant_budget":{}}"#),
            "`grant_budget` needs `tokens` or `cost_micros` above 0"
        );
        assert!(refused(r#"{"set_budget":{"tokens_per_day":0}}"#).contains("zero"));
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
    fn an_unknown_limit_is_named_where_it_stands() {
        let why = json::read::<Line>("{\"set_budget\": {\n  \"tokens\": 5}}").expect_err("a limit");
        assert_eq!((why.line, why.path.as_str()), (2, "set_budget.tokens"));
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
