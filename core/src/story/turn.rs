//! A turn of a story: when it is played, and what the provider then does.

use alloc::{string::String, vec::Vec};

use crate::{
    id::{MessageId, RunId, WorkItemId},
    record::{
        effect::TurnRequest,
        queue::envelope::{MessageBody, MessageKind},
    },
    story::moves::Move,
};
use wakeful_json::{RawJson, Readable, Value, through_readable};

/// A turn of a story: a list of facts, or a table with `when`, `repeat` and one of `moves` and
/// `facts`.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The messages that it fits; absent means all.
    pub when: When,
    /// Whether it is played for every fitting message, or only for the first.
    pub repeat: bool,
    /// What the provider does.
    pub does: Does,
}

/// What the provider does in a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Does {
    /// It reports these facts as they are. `$run` and `$message` stand for the ids of the run and
    /// of its message.
    Facts(Vec<RawJson>),
    /// It plays these moves, and completes the turn if they do not end it.
    Moves(Vec<Move>),
}

/// The messages that a turn fits. Every given field must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Readable)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The kind of the message.
    pub kind: Option<MessageKind>,
    /// A part of the message's text.
    pub text: Option<String>,
    /// The item that the turn is about.
    pub item: Option<WorkItemId>,
}

impl When {
    fn fits(&self, cue: &Cue) -> bool {
        self.kind.is_none_or(|kind| kind == cue.kind)
            && self.text.as_ref().is_none_or(|text| cue.text.contains(text.as_str()))
            && self.item.as_ref().is_none_or(|item| Some(item) == cue.item.as_ref())
    }
}

impl Turn {
    pub(super) fn fits(&self, cue: &Cue) -> bool {
        self.when.fits(cue)
    }
}

/// The start of a turn, as far as a story looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cue {
    /// The id of the run.
    pub run_id: RunId,
    /// The message that started the turn.
    pub message_id: MessageId,
    /// The kind of the message.
    pub kind: MessageKind,
    /// The text of the message; empty for structured content.
    pub text: String,
    /// The item that the turn is about.
    pub item: Option<WorkItemId>,
}

impl From<&TurnRequest> for Cue {
    fn from(request: &TurnRequest) -> Self {
        Self {
            run_id: request.run_id.clone(),
            message_id: request.message.id.clone(),
            kind: request.message.kind,
            text: words(&request.message.body),
            item: request.work_item.as_ref().map(|binding| binding.work_item_id.clone()),
        }
    }
}

/// The text of a body. It is empty for structured content, because not every engine keeps the text
/// of that, and all engines must play alike.
pub(super) fn words(body: &MessageBody) -> String {
    match body {
        MessageBody::Text { text } | MessageBody::Brief { text, .. } => text.clone(),
        MessageBody::Json { .. } => String::new(),
    }
}

#[derive(Readable)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    when: When,
    #[serde(default)]
    repeat: bool,
    moves: Option<Vec<Move>>,
    facts: Option<Vec<RawJson>>,
}

impl Readable for Turn {
    fn read(value: &Value<'_>) -> Self {
        // The short form: a list is the facts of a turn that fits every message.
        if !value.is_object() {
            if !value.is_array() {
                value.has_wrong_type(
                    "a list of facts, or a table with `when`, `repeat` and one of `moves` and \
                     `facts`",
                );
            }
            return Self {
                when: When::default(),
                repeat: false,
                does: Does::Facts(Vec::read(value)),
            };
        }
        let table = Table::read(value);
        let does = match (table.moves, table.facts) {
            (Some(moves), None) => Does::Moves(moves),
            (None, Some(facts)) => Does::Facts(facts),
            _ => {
                value.is_wrong(&"a turn has one of `moves` and `facts`");
                Does::Facts(Vec::new())
            }
        };
        Self { when: table.when, repeat: table.repeat, does }
    }
}

through_readable!(Turn);

#[cfg(test)]
mod tests {
    use super::*;
    use wakeful_json as json;

    #[test]
    fn a_turn_is_a_list_of_facts_or_a_table_of_moves() {
        let facts: Turn = json::read(r#"[{"fact":"stop_requested"}]"#).expect("facts");
        assert!(matches!(facts.does, Does::Facts(facts) if facts.len() == 1));
        let moves: Turn =
            json::read(r#"{"when":{"kind":"timer_tick"},"repeat":true,"moves":[{"says":"hm"}]}"#)
                .expect("moves");
        assert!(moves.repeat && moves.when.kind == Some(MessageKind::TimerTick));
    }

    #[test]
    fn what_is_no_turn_says_what_one_is() {
        let why = |text: &str| json::read::<Turn>(text).expect_err("not a turn");
        assert!(
            why("5").message.contains("a list of facts, or a table with `when`"),
            "{}",
            why("5")
        );
        assert!(why("{}").message.contains("one of `moves` and `facts`"));
        assert!(why(r#"{"moves":[],"facts":[]}"#).message.contains("one of `moves` and `facts`"));
        let unknown = why("{\"moves\": [],\n \"wenn\": {}}");
        assert_eq!((unknown.line, unknown.path.as_str()), (2, "wenn"));
        let deep = why("{\"moves\": [\n {\"says\": \"x\"},\n {\"say\": \"x\"}]}");
        assert_eq!((deep.line, deep.path.as_str()), (3, "moves[1].say"));
    }

    #[test]
    fn all_that_a_cue_must_have_must_fit() {
        let cue = Cue {
            run_id: "r".into(),
            message_id: "m".into(),
            kind: MessageKind::OperatorPrompt,
            text: "ship the release".into(),
            item: Some("release".into()),
        };
        let fits = |text: &str| json::read::<When>(text).expect("a cue").fits(&cue);
        assert!(
            fits("{}") && fits(r#"{"text":"release","item":"release","kind":"operator_prompt"}"#)
        );
        assert!(
            !fits(r#"{"text":"build"}"#)
                && !fits(r#"{"item":"build"}"#)
                && !fits(r#"{"kind":"timer_tick","text":"release"}"#)
        );
    }
}
