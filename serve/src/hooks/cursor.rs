//! How far a hook is: a position per agent, kept in the store. All positions are one text, and
//! those that moved since are another, so that an event writes little for any number of agents.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use wakeful_core::{
    id::{AgentId, Seq},
    json,
    time::Timestamp,
};
use wakeful_host::ledger::{Store, StoreError};

/// The kinds of what the store keeps: all positions of a hook, and those that moved since.
const ALL: &str = "hook_positions";
const MOVED: &str = "hook_moved";

/// The most agents that moved before all positions are written again.
const MOST_MOVED: usize = 256;

/// Positions by agent. An agent that is absent is at its beginning.
pub(super) type Positions = BTreeMap<AgentId, Seq>;

/// An event that could not be delivered yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owed {
    pub(super) event: String,
    pub(super) since: Timestamp,
}

#[derive(Default, Serialize, Deserialize)]
struct All {
    /// Counts how often they were written.
    version: u64,
    positions: Positions,
}

#[derive(Default, Serialize, Deserialize)]
struct Moved {
    /// The version of all positions that these move. Those of another version are in them already.
    of: u64,
    positions: Positions,
    owed: Option<Owed>,
}

/// The positions of a hook.
pub(super) struct Cursor {
    hook: String,
    version: u64,
    all: Positions,
    moved: BTreeSet<AgentId>,
    owed: Option<Owed>,
    is_saved: bool,
}

impl Cursor {
    /// The positions at which a new hook begins.
    pub(super) fn begin(store: &Store, hook: &str, at: &Positions) -> Result<(), StoreError> {
        // The second text goes first: it would move the new positions back or ahead.
        store.forget(MOVED, hook)?;
        let all = All { version: 0, positions: at.clone() };
        store.keep(ALL, hook, &json::write(&all))
    }

    pub(super) fn is_kept(store: &Store, hook: &str) -> Result<bool, StoreError> {
        Ok(store.kept(ALL)?.iter().any(|(name, _)| name == hook))
    }

    pub(super) fn forget(store: &Store, hook: &str) -> Result<(), StoreError> {
        store.forget(MOVED, hook)?;
        store.forget(ALL, hook).map(drop)
    }

    pub(super) fn load(store: &Store, hook: &str) -> Result<Self, StoreError> {
        let kept = |kind| -> Result<Option<String>, StoreError> {
            let all = store.kept(kind)?.into_iter();
            Ok(all.into_iter().find(|(name, _)| name == hook).map(|(_, text)| text))
        };
        let read = |text: String| serde_json::from_str(&text).ok();
        let All { version, positions: mut all } = kept(ALL)?.and_then(read).unwrap_or_default();
        let moved = kept(MOVED)?.and_then(|text| serde_json::from_str::<Moved>(&text).ok());
        let moved = moved.filter(|moved| moved.of == version).unwrap_or_default();
        let names = moved.positions.keys().cloned().collect();
        all.extend(moved.positions);
        let hook = hook.to_owned();
        Ok(Self { hook, version, all, moved: names, owed: moved.owed, is_saved: true })
    }

    pub(super) fn of(&self, agent: &AgentId) -> Seq {
        self.all.get(agent).copied().unwrap_or_default()
    }

    /// The hook knows everything up to here.
    pub(super) fn set(&mut self, agent: &AgentId, seq: Seq) {
        if self.of(agent) != seq {
            self.all.insert(agent.clone(), seq);
            self.moved.insert(agent.clone());
            self.is_saved = false;
        }
    }

    /// Since when this event is owed, now if it was not yet.
    pub(super) fn owe(&mut self, event: &str, now: Timestamp) -> Timestamp {
        if let Some(owed) = self.owed.as_ref().filter(|owed| owed.event == event) {
            return owed.since;
        }
        self.owed = Some(Owed { event: event.to_owned(), since: now });
        self.is_saved = false;
        now
    }

    /// The event was delivered, or given up.
    pub(super) fn settle(&mut self) {
        if self.owed.take().is_some() {
            self.is_saved = false;
        }
    }

    /// Writes what changed.
    pub(super) fn save(&mut self, store: &Store) -> Result<(), StoreError> {
        if self.is_saved {
            return Ok(());
        }
        if self.moved.len() > MOST_MOVED {
            let all = All { version: self.version + 1, positions: self.all.clone() };
            store.keep(ALL, &self.hook, &json::write(&all))?;
            self.version += 1;
            self.moved.clear();
        }
        let positions = self.moved.iter().map(|agent| (agent.clone(), self.of(agent))).collect();
        let moved = Moved { of: self.version, positions, owed: self.owed.clone() };
        store.keep(MOVED, &self.hook, &json::write(&moved))?;
        self.is_saved = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_kept_and_only_those_that_moved_are_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("a.sqlite")).expect("a store");
        let agent = |number: usize| AgentId::from(format!("agent-{number}").as_str());
        let begin = (0..1_000).map(|number| (agent(number), Seq(7))).collect();
        Cursor::begin(&store, "desk", &begin).expect("it writes");
        let mut cursor = Cursor::load(&store, "desk").expect("it reads");
        assert_eq!((cursor.of(&agent(3)), cursor.of(&"later".into())), (Seq(7), Seq(0)));
        cursor.set(&agent(3), Seq(9));
        let since = cursor.owe("evt_1", Timestamp::from_nanos(5));
        assert_eq!(cursor.owe("evt_1", Timestamp::from_nanos(9)), since);
        cursor.save(&store).expect("it writes");
        let moved = &store.kept(MOVED).expect("it reads")[0].1;
        assert!(moved.len() < 200, "{moved}");
        let mut cursor = Cursor::load(&store, "desk").expect("it reads");
        assert_eq!((cursor.of(&agent(3)), cursor.of(&agent(4))), (Seq(9), Seq(7)));
        assert_eq!(cursor.owe("evt_1", Timestamp::from_nanos(99)), since, "also after a restart");
        for number in 0..1_000 {
            cursor.set(&agent(number), Seq(20));
        }
        cursor.save(&store).expect("it writes");
        assert!(store.kept(MOVED).expect("it reads")[0].1.len() < 200);
        // As if the process had died between the two writes.
        store
            .keep(MOVED, "desk", r#"{"of":0,"positions":{"agent-3":9},"owed":null}"#)
            .expect("it writes");
        assert_eq!(Cursor::load(&store, "desk").expect("it reads").of(&agent(3)), Seq(20));
        Cursor::forget(&store, "desk").expect("it writes");
        assert_eq!(Cursor::load(&store, "desk").expect("it reads").of(&agent(3)), Seq(0));
    }
}
