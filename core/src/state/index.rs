//! The index: what every step asks for, sorted by how it is asked for, so that a step costs the
//! same however many items and waits live.
//!
//! It follows from the rest of the state and is stored nowhere:
//! [`State::apply`](crate::state::State::apply) keeps it, and whoever reads a stored state makes it
//! again.

use alloc::{string::String, vec::Vec};

use crate::{id::WorkItemId, time::Timestamp};
use wakeful_json::{Map, map};

/// A list of the index; each is in the order of what stands behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    /// Tasks that block, by item; those that block nobody under no owner.
    Blocking,
    /// Conditions by item; those without one under no owner.
    Conditions,
    /// Intents by the item whose own they are.
    Intents,
    /// Conditions that wait for the runtime.
    System,
    /// What comes to the agent by itself, by its instant: timers that fire, deadlines of
    /// conditions, blockers that are looked at again.
    Arrivals,
    /// Runnable items, in the order in which they are offered (contract 5.13).
    Runnable,
    /// Those of them that can be offered as queued work.
    Offered,
    /// Those of the latter that rested, by the instant from which they can be offered once more.
    Due,
    /// Those that cannot be offered yet, by the instant from which they can (contract 9.4).
    Resting,
}

/// Where something stands: its list, whose it is, what the list is sorted by, and what it is; so
/// written that the order of the bytes is that of the lists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Listing(pub(super) Vec<u8>);

/// What is listed: its kind, and its id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Subject(pub(super) String);

/// The lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Index {
    lists: Map<Listing, Subject>,
    /// How each subject stands, so that it is found when it changes.
    stands: Map<Subject, Standing>,
}

/// Where a subject stands, and the item whose wait it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Standing {
    pub(super) owner: Option<WorkItemId>,
    pub(super) listings: Vec<Listing>,
}

impl Subject {
    pub(super) fn new(kind: char, id: &str) -> Self {
        let mut text = String::from(kind);
        text.push_str(id);
        Self(text)
    }

    pub(super) fn is(&self, kind: char) -> bool {
        self.0.starts_with(kind)
    }

    pub(super) fn id(&self) -> &str {
        self.0.get(1..).unwrap_or_default()
    }
}

impl List {
    /// What all begin with that stand in this list under an owner, or under none.
    pub(super) fn prefix(self, owner: Option<&WorkItemId>) -> Listing {
        // An id may be empty, and is then one all the same.
        let (owner, length) =
            owner.map_or(("", 0), |owner| (owner.as_str(), owner.as_str().len() as u64 + 1));
        let mut listing = Listing(Vec::from([self as u8])).then(length);
        listing.0.extend_from_slice(owner.as_bytes());
        listing
    }
}

impl Listing {
    pub(super) fn then(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    pub(super) fn at(self, at: Timestamp) -> Self {
        // With the sign turned what was before the epoch comes first.
        self.then(at.as_nanos().cast_unsigned() ^ (1 << 63))
    }
}

/// What stands in a list up to a place, in its order.
pub(super) struct Listed<'a> {
    iter: map::Iter<'a, Listing, Subject>,
    end: Listing,
}

impl<'a> Iterator for Listed<'a> {
    type Item = &'a Subject;

    #[inline(never)]
    fn next(&mut self) -> Option<&'a Subject> {
        let (listing, subject) = self.iter.next()?;
        let is_within =
            listing.0.get(..self.end.0.len()).is_some_and(|begin| begin <= self.end.0.as_slice());
        is_within.then_some(subject)
    }
}

impl Index {
    /// Lists a subject as it stands now, and gives how it stood.
    pub(super) fn set(&mut self, subject: Subject, standing: Standing) -> Standing {
        let before = self.stands.remove(&subject).unwrap_or_default();
        if before.listings != standing.listings {
            for listing in &before.listings {
                self.lists.remove(listing);
            }
            for listing in &standing.listings {
                self.lists.insert(listing.clone(), subject.clone());
            }
        }
        if !standing.listings.is_empty() {
            self.stands.insert(subject, standing);
        }
        before
    }

    pub(super) fn between(&self, begin: &Listing, end: Listing) -> Listed<'_> {
        Listed { iter: self.lists.since(&|listing| listing < begin), end }
    }

    /// What stands in a list under somebody.
    pub(super) fn under_owner(&self, list: List, owner: Option<&WorkItemId>) -> Listed<'_> {
        let whole = list.prefix(owner);
        self.between(&whole, whole.clone())
    }

    /// What stands in a list that is sorted by instants up to one of them.
    pub(super) fn until(&self, list: List, until: Timestamp) -> Listed<'_> {
        let whole = list.prefix(None);
        self.between(&whole, whole.clone().at(until))
    }
}

impl Standing {
    pub(super) fn under(&mut self, list: List, owner: Option<&WorkItemId>) {
        self.owner = owner.cloned();
        self.listings.push(list.prefix(owner));
    }

    pub(super) fn at(&mut self, list: List, at: Timestamp) {
        self.listings.push(list.prefix(None).at(at));
    }
}
