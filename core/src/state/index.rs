//! The index: lists of what every step needs, sorted by how it is looked up. A step then costs the
//! same however many items and waits are alive.
//!
//! The index follows from the rest of the state and is not stored.
//! [`State::apply`](crate::state::State::apply) keeps it up to date, and opening a snapshot builds
//! it again.

use alloc::{string::String, vec::Vec};

use crate::{id::WorkItemId, time::Timestamp};
use wakeful_json::{Map, map};

/// A list of the index. Its members are in the order of their listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    /// Blocking tasks by item. Tasks without an item are under no owner.
    Blocking,
    /// Conditions by item. Conditions without an item are under no owner.
    Conditions,
    /// Intents of item scope, by item.
    Intents,
    /// System waits.
    System,
    /// Conditions by each external trigger that they name.
    Named,
    /// External triggers by the instant at which they expire.
    Expiring,
    /// What arrives on its own, by instant: timers, deadlines of conditions, rechecks of blocked
    /// items.
    Arrivals,
    /// Runnable items in the order in which they are offered (contract 5.13).
    Runnable,
    /// The runnable items that can be offered as queued work, in the same order.
    Offered,
    /// The items in `Offered` that have rested, by the instant of their next offer.
    Due,
    /// The runnable items that cannot be offered yet, by the instant of their next offer (contract
    /// 9.4).
    Resting,
}

/// A place in a list: the list, the owner, the sort key and the subject. They are encoded so that
/// the order of the bytes is the order of the list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Listing(pub(super) Vec<u8>);

/// A listed thing: one letter for its kind, then its id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Subject(pub(super) String);

/// All lists together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Index {
    lists: Map<Listing, Subject>,
    /// The places of each subject, so that it can be found when it changes.
    stands: Map<Subject, Standing>,
}

/// The places of a subject, and the item whose wait it is.
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
    /// The common beginning of all places in this list under one owner, or under none.
    pub(super) fn prefix(self, owner: Option<&WorkItemId>) -> Listing {
        self.prefix_of(owner.map(WorkItemId::as_str))
    }

    /// The same, if the owner is not an item.
    pub(super) fn prefix_of(self, owner: Option<&str>) -> Listing {
        // The length is stored plus one: an empty id is valid and differs from no owner.
        let (owner, length) = owner.map_or(("", 0), |owner| (owner, owner.len() as u64 + 1));
        let mut listing = Listing(Vec::from([self as u8])).then(length);
        listing.0.extend_from_slice(owner.as_bytes());
        listing
    }
}

impl Listing {
    pub(super) fn then(mut self, number: u64) -> Self {
        // Big-endian, so that the order of the bytes is the order of the numbers.
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    pub(super) fn at(self, at: Timestamp) -> Self {
        // With the sign bit flipped, unsigned order is the order of instants before and after the
        // epoch.
        self.then(at.as_nanos().cast_unsigned() ^ (1 << 63))
    }
}

/// The subjects of a list up to a place, in its order.
pub(super) struct Listed<'a> {
    iter: map::Iter<'a, Listing, Subject>,
    end: Listing,
}

impl<'a> Iterator for Listed<'a> {
    type Item = &'a Subject;

    #[inline(never)]
    fn next(&mut self) -> Option<&'a Subject> {
        let (listing, subject) = self.iter.next()?;
        // Only the beginning counts: after it a place has its sort key and subject, which `end`
        // lacks.
        let is_within =
            listing.0.get(..self.end.0.len()).is_some_and(|begin| begin <= self.end.0.as_slice());
        is_within.then_some(subject)
    }
}

impl Index {
    /// Lists a subject at its new places, and returns the old ones.
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
        // What is listed nowhere is forgotten, so the index does not grow with history (I24).
        if !standing.listings.is_empty() {
            self.stands.insert(subject, standing);
        }
        before
    }

    pub(super) fn between(&self, begin: &Listing, end: Listing) -> Listed<'_> {
        Listed { iter: self.lists.since(&|listing| listing < begin), end }
    }

    /// The subjects of a list under one owner, or under none.
    pub(super) fn under_owner(&self, list: List, owner: Option<&WorkItemId>) -> Listed<'_> {
        let whole = list.prefix(owner);
        self.between(&whole, whole.clone())
    }

    /// The conditions that name an external trigger.
    pub(super) fn naming(&self, trigger: &str) -> Listed<'_> {
        let whole = List::Named.prefix_of(Some(trigger));
        self.between(&whole, whole.clone())
    }

    /// The subjects of a list sorted by instant, up to `until`.
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
