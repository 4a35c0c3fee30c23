//! Every fact, with an example that is played while it is printed.
//!
//! [`life`] has the facts that a driving host says, in the order of an agent's life, and
//! [`observed`] those that only observers and imports need. [`play`] plays both with the native
//! scheduler, so each printed answer is what a host gets. [`fields`] reads the fields from the JSON
//! Schema, and [`page`] makes the Markdown page.

pub mod fields;
pub mod layout;
pub mod life;
pub mod observed;
pub mod page;
pub mod play;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use wakeful_core::fact::outcome::Answer;

use fields::{Described, Field};
use play::{PlayError, Said};

/// Who says a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SaidBy {
    /// A host that drives the agent.
    Driver,
    /// An observer or an import of what another runtime did.
    Observer,
}

/// All that is printed about one fact.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// Its name on the wire.
    pub fact: String,
    /// Its description in the schema.
    pub says: String,
    /// Who says it.
    pub said_by: SaidBy,
    /// The part of an agent's life that it belongs to.
    pub chapter: &'static str,
    /// When a driver says it, or why it does not.
    pub when: &'static str,
    /// The example, as it was said.
    pub example: Value,
    /// The answer to the example: a driver's for a fact that drivers say, else an observer's.
    #[serde(flatten)]
    pub answer: Answer,
    /// The answer that a driver gets, for a fact that drivers do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_a_driver: Option<Answer>,
    /// The effects of the example, by name.
    pub effects: Vec<&'static str>,
    /// What followed, up to the rest.
    #[serde(flatten)]
    pub rest: Rest,
    /// Its fields.
    pub fields: Vec<Field>,
    /// The name of the type of its fields. Facts of one type have the same fields.
    #[serde(skip)]
    pub shape: String,
}

/// What followed an example: the steps of the agent until it rested.
#[derive(Debug, Default, Serialize)]
pub struct Rest {
    /// The decisions, without those that say only that nothing has changed.
    pub decisions: Vec<Decided>,
    /// The time until `next_wake`, in milliseconds. `None` if the agent waits for facts only, or if
    /// a run is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakes_in_ms: Option<i64>,
}

/// A decision that followed an example.
#[derive(Debug, Serialize)]
pub struct Decided {
    /// Its kind.
    pub decision: &'static str,
    /// Its reason, as one code.
    pub reason: String,
}

/// A part of the page: a fact, or what happens before the next one.
#[derive(Debug)]
pub enum Part {
    /// A fact.
    Fact(Box<Entry>),
    /// What else happens.
    Meanwhile {
        /// What happens, in words.
        says: &'static str,
        /// The facts that are said.
        said: Vec<Said>,
        /// What followed the last of them, or the time that passed.
        rest: Rest,
    },
}

/// A chapter of the page.
#[derive(Debug)]
pub struct Told {
    /// Its heading.
    pub title: &'static str,
    /// What its facts have in common.
    pub says: &'static str,
    /// Its facts, and what happens between them.
    pub parts: Vec<Part>,
}

/// Plays both lives, and returns every fact in the order of the page.
///
/// # Errors
/// If the scheduler cannot read an example, or the schema cannot be read.
pub fn told() -> Result<Vec<Told>, PlayError> {
    let described = fields::of_facts()?;
    let mut told = play::driven(&described)?;
    told.push(play::observed(&described)?);
    Ok(told)
}

/// The facts of all chapters, in order.
pub fn entries(told: &[Told]) -> impl Iterator<Item = &Entry> {
    told.iter().flat_map(|chapter| &chapter.parts).filter_map(|part| match part {
        Part::Fact(entry) => Some(&**entry),
        Part::Meanwhile { .. } => None,
    })
}

/// What the schema says about each fact, by its name.
pub type AllDescribed = BTreeMap<String, Described>;
