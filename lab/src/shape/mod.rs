//! The shape of a state: the state without names and without its place in the history. States that
//! will decide alike have equal shapes (contract 14). The model checker counts shapes.
//!
//! - Every id becomes a number wherever it occurs: in records, in keys, in metadata. Numbers follow
//!   the age of ids, which is the age of the oldest known entry of each.
//! - Each `seq` and the chain are left out.
//! - A past instant becomes `past`. A future instant becomes its distance from the state's time.
//! - Everything else stays as it is. So states of equal shape differ in nothing else that a rule
//!   could read.

mod tree;

use core::fmt::{self, Write};
use std::collections::{BTreeMap, BTreeSet};

use tree::Node;
use wakeful_core::{id::Seq, state::State, time::Timestamp};

/// A state without names and history. States of equal shape decide alike, apart from the names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape(Box<str>);

impl Shape {
    /// The shape of a state.
    #[must_use]
    pub fn from_state(state: &State) -> Self {
        let tree = tree::build(state);
        let mut writer = Writer { numbers: numbered(&tree), now: state.at(), out: String::new() };
        // INVARIANT: writing to a string cannot fail.
        let _ = writer.node(&tree);
        Self(writer.out.into_boxed_str())
    }

    /// The shape as text, which resembles JSON. Ids are written as `#1`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Numbers the ids by age: by the oldest known entry of each, then by the first place in the tree.
fn numbered(tree: &Node) -> BTreeMap<String, usize> {
    let mut ids = Ids::default();
    ids.read(tree);
    let mut by_age: Vec<_> = ids
        .first_at
        .iter()
        // An id whose entry is unknown counts as the youngest.
        .map(|(id, at)| (ids.oldest.get(id).copied().unwrap_or(Seq(u64::MAX)), *at, *id))
        .collect();
    by_age.sort_unstable();
    by_age.into_iter().enumerate().map(|(number, (.., id))| (id.to_string(), number)).collect()
}

#[derive(Default)]
struct Ids<'a> {
    first_at: BTreeMap<&'a str, usize>,
    oldest: BTreeMap<&'a str, Seq>,
}

impl<'a> Ids<'a> {
    /// Reads a part of the tree, and returns the oldest entry that it names.
    fn read(&mut self, node: &'a Node) -> Option<Seq> {
        match node {
            Node::Id(id) => {
                let next = self.first_at.len();
                self.first_at.entry(id).or_insert(next);
                None
            }
            Node::Seq(seq) => Some(*seq),
            Node::List(nodes) => nodes.iter().filter_map(|node| self.read(node)).min(),
            Node::Map(fields) => {
                fields.iter().filter_map(|(key, value)| self.field(key, value)).min()
            }
            Node::At(_) | Node::Chain | Node::Text(_) | Node::Plain(_) => None,
        }
    }

    fn field(&mut self, key: &'a Node, value: &'a Node) -> Option<Seq> {
        self.read(key);
        let oldest = self.read(value);
        if let (Node::Id(id), Some(seq)) = (key, oldest) {
            let known = self.oldest.entry(id).or_insert(seq);
            *known = seq.min(*known);
        }
        oldest
    }
}

struct Writer {
    numbers: BTreeMap<String, usize>,
    now: Timestamp,
    out: String,
}

impl Writer {
    fn node(&mut self, node: &Node) -> fmt::Result {
        match node {
            Node::Id(id) => self.id(id),
            Node::Seq(_) | Node::Chain => self.out.write_char('_'),
            Node::At(at) if *at <= self.now => self.out.write_str("past"),
            Node::At(at) => {
                write!(self.out, "+{}", at.as_nanos().saturating_sub(self.now.as_nanos()))
            }
            Node::Text(text) => self.text(text),
            Node::Plain(text) => self.out.write_str(text),
            Node::List(nodes) => {
                self.out.write_char('[')?;
                for node in nodes {
                    self.node(node)?;
                    self.out.write_char(',')?;
                }
                self.out.write_char(']')
            }
            Node::Map(fields) => {
                // The order of names means nothing, so the keys that are ids go by number.
                let number = |node: &Node| {
                    if let Node::Id(id) = node { self.numbers.get(id).copied() } else { None }
                };
                let mut fields: Vec<_> =
                    fields.iter().map(|(key, value)| (number(key), key, value)).collect();
                fields.sort_by_key(|(number, ..)| *number);
                self.out.write_char('{')?;
                for (_, key, value) in fields {
                    self.node(key)?;
                    self.out.write_char(':')?;
                    self.node(value)?;
                    self.out.write_char(',')?;
                }
                self.out.write_char('}')
            }
        }
    }

    fn id(&mut self, id: &str) -> fmt::Result {
        match self.numbers.get(id) {
            Some(number) => write!(self.out, "#{number}"),
            None => write!(self.out, "{id:?}"),
        }
    }

    /// A text that may contain ids between colons: a key, or a value in metadata. The generation at
    /// the end of a hint's key is left out, because it is a seq.
    fn text(&mut self, text: &str) -> fmt::Result {
        let (text, is_hint) =
            match text.strip_prefix("wake_hint:").and_then(|rest| rest.rsplit_once(':')) {
                Some((scope, _)) => (scope, true),
                None => (text, false),
            };
        if is_hint {
            self.out.write_str("wake_hint:")?;
        }
        // An id may itself contain colons, so the longest known one counts.
        let ends: BTreeSet<usize> =
            text.match_indices(':').map(|(at, _)| at).chain([text.len()]).collect();
        let mut from = 0;
        while from <= text.len() {
            let longest =
                ends.range(from..).rev().find(|end| self.numbers.contains_key(&text[from..**end]));
            let end = longest.or_else(|| ends.range(from..).next()).copied().unwrap_or(text.len());
            if longest.is_some() {
                self.id(&text[from..end])?
            } else {
                write!(self.out, "{:?}", &text[from..end])?
            }
            from = end + 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use wakeful_core::machine::{Machine, Options};

    /// The state of an agent `owner` after facts about these names, from `at` on.
    fn told(owner: &str, at: i64, names: [&str; 4]) -> State {
        told_more(owner, at, names, &[])
    }

    /// The same with more facts.
    fn told_more(owner: &str, at: i64, names: [&str; 4], more: &[&str]) -> State {
        let mut machine = Machine::new(Options::new(owner.into()));
        let mut now = Timestamp::from_nanos(at);
        machine.begin(now).expect("a fresh ledger");
        machine.committed();
        let [item, intent, trigger, message] = names;
        let facts = [
            r#"{"fact":"runtime_restarted"}"#.to_string(),
            format!(
                r#"{{"fact":"work_item_created","work_item_id":"{item}","objective":"ship it"}}"#
            ),
            format!(
                r#"{{"fact":"waiting_intent_created","waiting_intent_id":"{intent}",
                    "scope":"agent","description":"d","source":"ci",
                    "delivery_mode":"wake_hint","external_trigger_id":"{trigger}"}}"#
            ),
            r#"{"fact":"timer_created","timer_id":"k","duration_ms":60000}"#.to_string(),
            format!(
                r#"{{"fact":"message_queued","message":{{"id":"{message}","kind":"callback_event",
                    "origin":{{"kind":"callback","descriptor_id":"{trigger}"}},
                    "trust":"trusted_integration","body":{{"type":"text","text":"t"}},
                    "metadata":{{"external_trigger_id":"{trigger}"}}}}}}"#
            ),
            format!(
                r#"{{"fact":"wake_hint_submitted","reason":"look","waiting_intent_id":"{intent}"}}"#
            ),
        ];
        let mut tell = |fact: &str| {
            now = now.plus_ms(10);
            machine.propose_json(fact, now).expect("a fact");
            machine.committed();
        };
        for fact in facts.iter().map(String::as_str).chain(more.iter().copied()) {
            tell(fact);
        }
        machine.state().clone()
    }

    const START: i64 = 1_780_000_000_000_000_000;
    const NAMES: [&str; 4] = ["w", "i", "e", "m"];

    #[test]
    fn names_and_the_place_in_time_make_no_other_shape() {
        let shape = Shape::from_state(&told("default", START, NAMES));
        for (owner, at, names) in [
            ("default", START, ["z", "a", "q", "b"]),
            ("other", START, NAMES),
            ("default", START + 86_400_000_000_000, NAMES),
            ("other", START + 1, ["long:with:colons", "a", "long", "with"]),
        ] {
            let told = Shape::from_state(&told(owner, at, names));
            assert_eq!(told, shape, "{owner} {at} {names:?}");
        }
        let names_that_stand_nowhere = ["\"w\"", "\"i\"", "\"e\"", "\"m\"", "default"];
        assert!(
            names_that_stand_nowhere.iter().all(|name| !shape.as_str().contains(name)),
            "{}",
            shape.as_str()
        );
    }

    #[test]
    fn what_a_rule_could_read_makes_another_shape() {
        let more = |fact| Shape::from_state(&told_more("default", START, NAMES, &[fact]));
        let all = [
            r#"{"fact":"wake_hint_submitted","reason":"look again"}"#,
            r#"{"fact":"waiting_intent_cancelled","waiting_intent_id":"i"}"#,
            r#"{"fact":"work_item_completed","work_item_id":"w"}"#,
            r#"{"fact":"timer_cancelled","timer_id":"k"}"#,
            r#"{"fact":"timer_created","timer_id":"l","duration_ms":61000}"#,
            r#"{"fact":"stop_requested"}"#,
        ];
        let shapes: BTreeSet<Shape> = all.into_iter().map(more).collect();
        assert_eq!(shapes.len(), all.len());
        assert!(!shapes.contains(&Shape::from_state(&told("default", START, NAMES))));
    }
}
