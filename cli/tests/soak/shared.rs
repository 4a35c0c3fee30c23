//! What the world and the model's server know together, and what each counts for the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use wakeful_core::{record::queue::envelope::Priority, story::said};

/// A word whose content the model's server refuses to read.
pub(crate) const REFUSED: &str = "unspeakable-word";

/// A mistake that is made on purpose, to see that the soak finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// Everything is as it should be.
    None,
    /// Each command appends its token twice, as if its call were executed twice.
    ExecutesTwice,
    /// A message that was accepted is taken for one that the ledger lost.
    LosesAMessage,
}

/// What the model can name: it reads this from the state instead of searching its prompt.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) items: Vec<String>,
    pub(crate) waits: Vec<String>,
    pub(crate) tasks: Vec<String>,
}

/// What both sides share.
pub(crate) struct Shared {
    pub(crate) mistake: Mistake,
    /// Whether the server has no more quirks and the model only finishes what is open.
    is_calm: AtomicBool,
    tokens: AtomicU64,
    known: Mutex<Known>,
    told_unknown: Mutex<BTreeSet<String>>,
    complaints: Mutex<Vec<String>>,
    drawn: Mutex<BTreeMap<&'static str, u64>>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(mistake: Mistake) -> Self {
        Self {
            mistake,
            is_calm: AtomicBool::new(false),
            tokens: AtomicU64::new(0),
            known: Mutex::default(),
            told_unknown: Mutex::default(),
            complaints: Mutex::default(),
            drawn: Mutex::default(),
        }
    }

    /// A token that no other call has.
    pub(crate) fn token(&self, kind: &str) -> String {
        format!("{kind}{:07}", self.tokens.fetch_add(1, Ordering::SeqCst))
    }

    pub(crate) fn calm_down(&self) {
        self.is_calm.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::SeqCst)
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }

    /// Counts a quirk that was drawn.
    pub(crate) fn count(&self, quirk: &'static str) {
        *lock(&self.drawn).entry(quirk).or_default() += 1;
    }

    /// How often each quirk was drawn.
    pub(crate) fn drawn(&self) -> BTreeMap<&'static str, u64> {
        lock(&self.drawn).clone()
    }

    /// Keeps a call that the prompt calls unknown.
    pub(crate) fn is_told_unknown(&self, token: String) {
        lock(&self.told_unknown).insert(token);
    }

    pub(crate) fn told_unknown(&self) -> BTreeSet<String> {
        lock(&self.told_unknown).clone()
    }

    /// Keeps what is wrong with a request.
    pub(crate) fn complain(&self, why: String) {
        lock(&self.complaints).push(why);
    }

    pub(crate) fn complaints(&self) -> Vec<String> {
        lock(&self.complaints).clone()
    }
}

/// The tokens in a text that begin with one of these letters: `tok-` of commands that end at once,
/// `bg-` of those that go on as tasks.
pub(crate) fn tokens_in(text: &str) -> impl Iterator<Item = String> + '_ {
    ["tok-", "bg-"].into_iter().flat_map(move |kind| {
        text.match_indices(kind).filter_map(move |(at, _)| {
            let token = text.get(at..at + kind.len() + 7)?;
            token[kind.len()..].bytes().all(|byte| byte.is_ascii_digit()).then(|| token.to_owned())
        })
    })
}

/// A prompt of the operator, as a fact.
pub(crate) fn prompt(id: &str, text: &str, lane: Option<Priority>) -> String {
    wakeful_core::json::write(&said::prompt(id.into(), text, lane, None))
}
