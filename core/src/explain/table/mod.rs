//! The table of single facts that `why_not` tries: each fact of the vocabulary, with the ids in the
//! state (contract 11.2).
//!
//! `rows.rs` is the table. A row has the fields of its fact as JSON, with places such as `$item`
//! for what the state has. A row with two places is tried with every pair of their values.

mod rows;

use alloc::{format, string::String, vec::Vec};

use crate::{
    explain::{change::Change, supposition::Supposition},
    fact::Fact,
    id::{ExternalTriggerId, RunId, TaskId},
    record::{edition::Edition, waiting::WakeSource},
    state::State,
};
use wakeful_json as json;

pub use self::rows::ROWS;

/// How one fact of the vocabulary is tried.
#[derive(Debug)]
pub struct Row {
    /// The name of the fact.
    pub fact: &'static str,
    /// How it is tried.
    pub tried: Tried,
}

/// The tries of a fact, or why it needs none.
#[derive(Debug)]
pub enum Tried {
    /// Each of these, with all values of its places.
    As(&'static [Try]),
    /// Never, because no rule reads what it changes.
    Never(&'static str),
}

/// One way to fill the fields of a fact.
#[derive(Debug)]
pub struct Try {
    /// The fields as members of a JSON object.
    pub fields: &'static str,
    /// The change, in words.
    pub says: &'static str,
}

/// A place in a row, and what it stands for.
#[derive(Debug)]
pub struct Place {
    /// The name in the fields.
    pub name: &'static str,
    /// What is put there, in words.
    pub says: &'static str,
    values: fn(&State) -> Vec<Value>,
}

/// A value of a place: as JSON, and in words.
#[derive(Clone, Debug)]
struct Value {
    json: String,
    says: String,
}

/// The settings that are tried, each beside the others of the ledger: those that a decision reads,
/// with a very small and a very large value.
const SETTINGS: &[&str] = &[
    r#""lane_burst":1"#,
    r#""lane_burst":1000000"#,
    r#""replay_budget":1"#,
    r#""replay_budget":1000000"#,
    r#""offer_backoff_ms":[1]"#,
    r#""offer_backoff_ms":[1000000000000]"#,
    r#""autonomous_turns":1"#,
    r#""autonomous_turns":1000000"#,
    r#""system_wait_delay_ms":1"#,
    r#""system_wait_delay_ms":1000000000000"#,
    r#""terminal_reentry":"every""#,
    r#""terminal_reentry":"awaited""#,
    r#""overrides_waits":[]"#,
    r#""overrides_waits":["operator_input","task_result","external_event","timer_fire","internal_followup","system_tick"]"#,
];

/// The places, and what they stand for.
pub const PLACES: &[Place] = &[
    Place { name: "$message", says: "each message that is not settled", values: messages },
    Place { name: "$run", says: "the open run", values: open_run },
    Place {
        name: "$told",
        says: "each run whose rounds still count (contract 16.1)",
        values: told_runs,
    },
    Place { name: "$tasks", says: "all active tasks, as one list", values: all_tasks },
    Place { name: "$task", says: "each active task, and each that a wait names", values: tasks },
    Place { name: "$item", says: "each open work item", values: items },
    Place { name: "$owner", says: "the agent, and each open work item", values: owners },
    Place { name: "$about", says: "nothing, and each open work item", values: subjects },
    Place { name: "$intent", says: "each active intent", values: intents },
    Place { name: "$condition", says: "each active condition", values: conditions },
    Place { name: "$timer", says: "each active timer, and each that a wait names", values: timers },
    Place { name: "$trigger", says: "each trigger that can be delivered to", values: triggers },
    Place {
        name: "$delivery",
        says: "each trigger that can be delivered to, with its token",
        values: deliveries,
    },
    Place { name: "$named", says: "each trigger that a wait names", values: named_triggers },
    Place { name: "$edition", says: "each other edition", values: editions },
    Place {
        name: "$policy",
        says: "each setting that a decision reads, very small and very large, beside the others \
               of the ledger",
        values: policies,
    },
    Place { name: "$new", says: "a new id", values: new },
];

/// Every change of the table in this state.
pub(super) fn changes(state: &State) -> Vec<Change> {
    let tries = ROWS.iter().flat_map(|row| match row.tried {
        Tried::As(tries) => tries.iter().map(|each| (row.fact, each)).collect(),
        Tried::Never(_) => Vec::new(),
    });
    tries.flat_map(|(fact, each)| filled(fact, each, state)).collect()
}

/// Every fact of the table in this state.
#[must_use]
pub fn facts(state: &State) -> Vec<Fact> {
    changes(state).into_iter().map(|change| change.fact).collect()
}

/// A fact with every combination of the values of its places.
fn filled(fact: &str, each: &Try, state: &State) -> Vec<Change> {
    let comma = if each.fields.is_empty() { "" } else { "," };
    let mut all: Vec<Vec<(&Place, Value)>> = Vec::from([Vec::new()]);
    for place in PLACES.iter().filter(|place| parts(each.fields).any(|(_, at)| is(at, place))) {
        let values = (place.values)(state);
        let with = |chosen: &Vec<(&'static Place, Value)>, value: &Value| {
            chosen.iter().cloned().chain([(place, value.clone())]).collect()
        };
        all = all
            .iter()
            .flat_map(|chosen| values.iter().map(move |value| with(chosen, value)))
            .collect();
    }
    let changes = all.iter().filter_map(|chosen| {
        let fields = written(each.fields, chosen, |value| &value.json);
        let fact = Fact::decode(&format!(r#"{{"fact":"{fact}"{comma}{fields}}}"#));
        // An imported id may be longer than a fact may say.
        Some(Change { fact: fact.ok()?, says: written(each.says, chosen, |value| &value.says) })
    });
    changes.collect()
}

/// A template in parts: a text, and the place after it; `None` after the last text.
fn parts(template: &str) -> impl Iterator<Item = (&str, Option<&'static Place>)> {
    let mut rest = Some(template);
    core::iter::from_fn(move || {
        let text = rest?;
        let place = text.find('$').and_then(|at| {
            // The list has a longer name before a shorter one that begins it.
            let place = PLACES.iter().find(|place| text[at..].starts_with(place.name))?;
            Some((at, place))
        });
        let end = place.map(|(at, place)| &text[at + place.name.len()..]);
        rest = end;
        Some((place.map_or(text, |(at, _)| &text[..at]), place.map(|(_, place)| place)))
    })
}

fn is(at: Option<&Place>, place: &Place) -> bool {
    at.is_some_and(|at| at.name == place.name)
}

/// A template with the chosen values. Values are not searched for places, so an id may look like
/// one.
fn written(template: &str, chosen: &[(&Place, Value)], side: fn(&Value) -> &str) -> String {
    let mut out = String::new();
    for (text, at) in parts(template) {
        out.push_str(text);
        let value = chosen.iter().find(|(place, _)| is(at, place));
        value.iter().for_each(|(_, value)| out.push_str(side(value)));
    }
    out
}

fn quoted(id: &str) -> String {
    json::write(&id)
}

fn value(id: &str) -> Value {
    Value { json: quoted(id), says: format!("`{id}`") }
}

fn each<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<Value> {
    let mut found: Vec<&str> = Vec::new();
    ids.for_each(|id| {
        if !found.contains(&id) {
            found.push(id);
        }
    });
    found.into_iter().map(value).collect()
}

fn messages(state: &State) -> Vec<Value> {
    each(state.queue.open().map(|id| id.as_str()))
}

fn open_run(state: &State) -> Vec<Value> {
    each(state.turns.run.iter().map(|run| run.run_id.as_str()))
}

fn told_runs(state: &State) -> Vec<Value> {
    each(state.budgets.counted_runs().map(RunId::as_str))
}

fn sources(state: &State) -> impl Iterator<Item = &WakeSource> {
    state.waiting.conditions.values().flat_map(|wait| &wait.record.wake_sources)
}

fn tasks(state: &State) -> Vec<Value> {
    let named = sources(state).filter_map(|source| match source {
        WakeSource::TaskResult { task_id } => Some(task_id.as_str()),
        _ => None,
    });
    each(state.tasks.active.keys().map(TaskId::as_str).chain(named))
}

fn all_tasks(state: &State) -> Vec<Value> {
    let all: Vec<_> = state.tasks.active.keys().collect();
    Vec::from([Value { json: json::write(&all), says: String::new() }])
}

fn items(state: &State) -> Vec<Value> {
    each(state.work.items.keys().map(|id| id.as_str()))
}

/// Nothing and each item, where `none` says nothing in words and `before` goes before an item.
fn and_items(state: &State, none: &str, before: &str) -> Vec<Value> {
    let items = items(state).into_iter();
    let none = Value { json: "null".into(), says: none.into() };
    let items = items.map(|item| Value { says: format!("{before}{}", item.says), ..item });
    core::iter::once(none).chain(items).collect()
}

fn owners(state: &State) -> Vec<Value> {
    and_items(state, "the agent", "item ")
}

fn subjects(state: &State) -> Vec<Value> {
    and_items(state, "", " about item ")
}

fn intents(state: &State) -> Vec<Value> {
    each(state.waiting.intents.keys().map(|id| id.as_str()))
}

fn conditions(state: &State) -> Vec<Value> {
    each(state.waiting.conditions.keys().map(|id| id.as_str()))
}

fn timers(state: &State) -> Vec<Value> {
    let named = sources(state).filter_map(|source| match source {
        WakeSource::Timer { timer_id, .. } => timer_id.as_ref().map(|id| id.as_str()),
        _ => None,
    });
    each(state.waiting.timers.keys().map(|id| id.as_str()).chain(named))
}

fn triggers(state: &State) -> Vec<Value> {
    each(state.ingress.open.keys().map(ExternalTriggerId::as_str))
}

fn deliveries(state: &State) -> Vec<Value> {
    let open = state.ingress.open.iter();
    open.map(|(id, open)| Value {
        json: format!(
            r#""external_trigger_id":{},"token_hash":{}"#,
            quoted(id.as_str()),
            quoted(&open.record.token_hash)
        ),
        says: format!("`{id}`"),
    })
    .collect()
}

fn named_triggers(state: &State) -> Vec<Value> {
    let intents = state.waiting.intents.values();
    let intents = intents.map(|wait| wait.record.external_trigger_id.as_str());
    each(intents.chain(sources(state).filter_map(WakeSource::trigger).map(|id| id.as_str())))
}

fn editions(state: &State) -> Vec<Value> {
    let others = Edition::ALL.iter().filter(|edition| **edition != state.control.edition);
    others.map(|edition| Value { json: json::write(edition), says: format!("{edition}") }).collect()
}

fn policies(state: &State) -> Vec<Value> {
    let policy = &state.control.policy;
    let set = SETTINGS.iter().filter_map(|setting| {
        let supposed = Supposition::read(&format!(r#"{{"policy":{{{setting}}}}}"#)).ok()?;
        let set = supposed.over(policy).policy.filter(|set| set != policy)?;
        Some(Value { json: json::write(&set), says: format!("`{setting}`") })
    });
    set.collect()
}

fn new(state: &State) -> Vec<Value> {
    // No entry of this ledger can have named it, because the number is that of its head.
    each([format!("why-not-{}", state.head.seq).as_str()].into_iter())
}
