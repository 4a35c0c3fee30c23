//! Cursors of readers of all agents: a position for each agent, in a short text.
//!
//! Entries of different agents have no common order, so a cursor needs a position per agent. For
//! few agents the text has them all. For many, it names a base, which the store keeps, and has only
//! the agents whose positions differ from it. Readers that are near the newest entries share a
//! base, so the server writes one now and then, however many read.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use wakeful_core::{host::Clock, id::AgentId, json, time::Timestamp};
use wakeful_host::{
    clock::SystemClock,
    ledger::{Store, StoreError},
    token::hex,
};

/// The kind of the list of bases.
const LIST: &str = "cursor_base";

/// The kind of the positions of a base begins with this, and ends with its id. So one is read
/// without the others.
const POSITIONS: &str = "cursor_base/";

/// The most bases. The oldest is forgotten first.
const MOST: usize = 256;

/// The time after which a base is forgotten.
const AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The most bytes of the positions in a cursor. Clients send it back in a header.
pub(crate) const MOST_BYTES: usize = 2_048;

/// What stands for a cursor without a base: all agents are at their beginning.
const NONE: &str = "0";

/// Positions by agent.
pub(crate) type ByAgent = BTreeMap<AgentId, u64>;

/// Positions that the store keeps.
pub(crate) struct Base {
    pub(crate) id: String,
    /// By the number of the agent in this process.
    pub(crate) positions: Vec<u64>,
}

/// A base in the list.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Made {
    at: Timestamp,
}

#[derive(Default)]
struct Known {
    made: BTreeMap<String, Made>,
    newest: Option<Arc<Base>>,
    /// Those that more than one reader has named.
    shared: BTreeSet<String>,
}

/// The bases of a store.
pub(crate) struct Cursors {
    store: Store,
    known: Mutex<Known>,
    /// Held while a base is made.
    making: Mutex<()>,
}

/// A cursor as a client sends it.
pub(crate) struct Given {
    /// The base; `None` if all are at their beginning.
    pub(crate) base: Option<String>,
    /// The positions that differ from it.
    pub(crate) moved: ByAgent,
}

impl Given {
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (base, moved) = text.split_once('.')?;
        let moved = URL_SAFE_NO_PAD.decode(moved).ok()?;
        let base = (base != NONE).then(|| base.to_owned());
        Some(Self { base, moved: serde_json::from_slice(&moved).ok()? })
    }

    pub(crate) fn write(base: Option<&str>, moved: &ByAgent) -> String {
        format!("{}.{}", base.unwrap_or(NONE), URL_SAFE_NO_PAD.encode(json::write(moved)))
    }
}

impl Cursors {
    pub(crate) fn load(store: &Store) -> Result<Self, StoreError> {
        let listed = store.kept(LIST)?.into_iter();
        let made = listed
            .map(|(id, text)| {
                // One that cannot be read is the oldest, and goes first.
                let oldest = Made { at: Timestamp::from_nanos(0) };
                (id, serde_json::from_str(&text).unwrap_or(oldest))
            })
            .collect();
        Ok(Self {
            store: store.clone(),
            known: Known { made, ..Known::default() }.into(),
            making: Mutex::default(),
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a base can still be named for a while.
    pub(crate) fn lasts(&self, id: &str) -> bool {
        self.known().made.get(id).is_some_and(|made| age(*made) < AGE / 2)
    }

    /// The base that was made last by this process.
    pub(crate) fn newest(&self) -> Option<Arc<Base>> {
        self.known().newest.clone()
    }

    /// While this is held, no other reader makes a base. So readers that wake together share one.
    pub(crate) fn making(&self) -> MutexGuard<'_, ()> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another reader names this base too.
    pub(crate) fn share(&self, base: &Base) {
        self.known().shared.insert(base.id.clone());
    }

    /// The reader that made this base has long sent its client a newer one. So a reader of a long
    /// past does not push out the bases of others.
    pub(crate) fn let_go(&self, id: &str) -> Result<(), StoreError> {
        {
            let mut known = self.known();
            if known.shared.contains(id) || known.made.remove(id).is_none() {
                return Ok(());
            }
        }
        self.forget(id)
    }

    fn forget(&self, id: &str) -> Result<(), StoreError> {
        self.store.forget(&format!("{POSITIONS}{id}"), "")?;
        self.store.forget(LIST, id).map(drop)
    }

    /// The positions of a base; `None` if it is not kept, or no longer.
    pub(crate) fn find(&self, id: &str) -> Result<Option<ByAgent>, StoreError> {
        let made = self.known().made.get(id).copied();
        if made.is_none_or(|made| age(made) >= AGE) {
            return Ok(None);
        }
        let kept = self.store.kept(&format!("{POSITIONS}{id}"))?;
        Ok(kept.first().and_then(|(_, text)| serde_json::from_str(text).ok()))
    }

    /// Keeps positions as a new base.
    pub(crate) fn keep(
        &self,
        positions: Vec<u64>,
        by_agent: &ByAgent,
    ) -> Result<Arc<Base>, StoreError> {
        let mut bytes = [0; 12];
        // Without random bytes there is no secret to lose: the id only has to be new.
        if getrandom::fill(&mut bytes).is_err() {
            bytes[..8].copy_from_slice(&SystemClock.now().as_nanos().to_be_bytes());
        }
        let id = hex(&bytes);
        let made = Made { at: SystemClock.now() };
        // It is in the list first, so that nothing is kept that the list does not name.
        self.store.keep(LIST, &id, &json::write(&made))?;
        self.store.keep(&format!("{POSITIONS}{id}"), "", &json::write(by_agent))?;
        let base = Arc::new(Base { id: id.clone(), positions });
        let old = {
            let mut known = self.known();
            known.made.insert(id, made);
            known.newest = Some(Arc::clone(&base));
            let mut by_age: Vec<_> =
                known.made.iter().map(|(id, made)| (made.at, id.clone())).collect();
            by_age.sort();
            let too_many = by_age.len().saturating_sub(MOST);
            let old: Vec<_> = by_age
                .into_iter()
                .enumerate()
                .filter(|(place, (at, _))| *place < too_many || age(Made { at: *at }) >= AGE)
                .map(|(_, (_, id))| id)
                .collect();
            for id in &old {
                known.made.remove(id);
                known.shared.remove(id);
            }
            old
        };
        for id in old {
            self.forget(&id)?;
        }
        Ok(base)
    }
}

fn age(made: Made) -> Duration {
    SystemClock.now().duration_since(made.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_are_kept_up_to_a_number_and_an_age() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("a.sqlite")).expect("a store");
        let cursors = Cursors::load(&store).expect("it reads");
        let positions = ByAgent::from([("ada".into(), 3)]);
        let made: Vec<_> = (0..MOST + 2)
            .map(|_| cursors.keep(vec![3], &positions).expect("it writes").id.clone())
            .collect();
        let cursors = Cursors::load(&store).expect("it reads");
        let find = |id: &str| cursors.find(id).expect("it reads");
        assert_eq!((find(&made[0]), find(&made[1]), find("x")), (None, None, None));
        assert_eq!(find(&made[2]), Some(positions.clone()));
        assert_eq!(store.kept(LIST).expect("it reads").len(), MOST);
        assert!(cursors.lasts(&made[2]));
        let long_ago = SystemClock.now().as_nanos() - i64::try_from(AGE.as_nanos()).expect("small");
        let old = Made { at: Timestamp::from_nanos(long_ago) };
        store.keep(LIST, &made[5], &json::write(&old)).expect("it writes");
        let cursors = Cursors::load(&store).expect("it reads");
        assert_eq!(cursors.find(&made[5]).expect("it reads"), None);
        assert!(!cursors.lasts(&made[5]));
        cursors.keep(vec![3], &positions).expect("it writes");
        assert_eq!(store.kept(&format!("{POSITIONS}{}", made[5])).expect("it reads"), []);
    }

    #[test]
    fn a_reader_lets_go_what_no_other_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("a.sqlite")).expect("a store");
        let cursors = Cursors::load(&store).expect("it reads");
        let made: Vec<_> =
            (0..2).map(|_| cursors.keep(vec![3], &ByAgent::new()).expect("it writes")).collect();
        cursors.share(&made[1]);
        for base in &made {
            cursors.let_go(&base.id).expect("it writes");
        }
        let kept = |base: &Base| cursors.find(&base.id).expect("it reads").is_some();
        assert_eq!((kept(&made[0]), kept(&made[1])), (false, true));
        assert_eq!(store.kept(LIST).expect("it reads").len(), 1);
    }

    #[test]
    fn a_cursor_reads_back_and_anything_else_does_not() {
        let moved = ByAgent::from([("ada".into(), 3), ("käthe \n".into(), 9)]);
        for base in [None, Some("0a1b")] {
            let text = Given::write(base, &moved);
            assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text}");
            let given = Given::read(&text).expect("a cursor");
            assert_eq!((given.base.as_deref(), given.moved), (base, moved.clone()));
        }
        for text in ["", "7", "0", "0.!", "0.e30x", "0.WzFd"] {
            assert!(Given::read(text).is_none(), "{text}");
        }
    }
}
