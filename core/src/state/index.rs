//! The index: lists of what every step needs, sorted by how it is looked up. A step then costs the
//! same however many items and waits are alive.
//!
//! The index follows from the rest of the state and is not stored.
//! [`State::apply`](crate::state::State::apply) keeps it up to date, and opening a snapshot builds
//! it again.

use alloc::{string::String, vec::Vec};

use crate::{id::WorkItemId, record::waiting::WaitConditionKind, time::Timestamp};
use wakeful_json::{Map, map};

/// A list of the index. Its members are in the order of their listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    /// Blocking tasks by item. Tasks without an item are under no owner.
    Blocking,
    /// Conditions by item.
    Conditions,
    /// The agent's own conditions that count, by kind. The mirrors of its intents are not listed.
    Own,
    /// Intents of item scope, by item.
    Intents,
    /// System waits.
    System,
    /// What waits for the operator, by item: conditions, and items that need input. The agent's own
    /// conditions are under no owner.
    Asking,
    /// The same, newest first.
    Asked,
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

    pub(super) fn at(mut self, at: Timestamp) -> Self {
        self.0.extend_from_slice(&sortable(at));
        self
    }
}

/// An instant as bytes whose order is that of instants.
fn sortable(at: Timestamp) -> [u8; 8] {
    // With the sign bit flipped, unsigned order is the order of instants before and after the
    // epoch.
    (at.as_nanos().cast_unsigned() ^ (1 << 63)).to_be_bytes()
}

/// The subjects of a list up to a place, in its order.
pub(super) struct Listed<'a> {
    iter: map::Iter<'a, Listing, Subject>,
    end: End,
}

/// The place up to which a list is read.
enum End {
    /// Under no owner: the list, and an instant. On the stack, because each entry asks two such
    /// lists what is due.
    Instant([u8; 17]),
    /// Under an owner.
    Owner(Listing),
}

impl End {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Instant(bytes) => bytes,
            Self::Owner(listing) => &listing.0,
        }
    }
}

impl<'a> Iterator for Listed<'a> {
    type Item = &'a Subject;

    #[inline(never)]
    fn next(&mut self) -> Option<&'a Subject> {
        let (listing, subject) = self.iter.next()?;
        // Only the beginning counts: after it a place has its sort key and subject, which `end`
        // lacks.
        let end = self.end.bytes();
        let is_within = listing.0.get(..end.len()).is_some_and(|begin| begin <= end);
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

    /// The subjects of a list under one owner, or under none.
    pub(super) fn under_owner(&self, list: List, owner: Option<&WorkItemId>) -> Listed<'_> {
        self.whole(list.prefix(owner))
    }

    /// The agent's own conditions of one kind.
    pub(super) fn own(&self, kind: WaitConditionKind) -> Listed<'_> {
        self.whole(List::Own.prefix(None).then(kind as u64))
    }

    /// The conditions that name an external trigger.
    pub(super) fn naming(&self, trigger: &str) -> Listed<'_> {
        self.whole(List::Named.prefix_of(Some(trigger)))
    }

    /// The first subject of a list that is under an owner.
    pub(super) fn first_owned(&self, list: List) -> Option<&Subject> {
        // Every owner comes after the subjects without one, and an empty id is the first owner.
        let owned = list.prefix_of(Some(""));
        self.from(list, &|listing| *listing < owned)
    }

    /// Whether a list has a subject under an owner that comes after this one.
    pub(super) fn has_owner_after(&self, list: List, owner: &WorkItemId) -> bool {
        let own = list.prefix(Some(owner));
        self.from(list, &|listing| *listing < own || listing.0.starts_with(&own.0)).is_some()
    }

    /// The first subject of a list from a place on.
    fn from(&self, list: List, is_before: &dyn Fn(&Listing) -> bool) -> Option<&Subject> {
        let (listing, subject) = self.lists.since(is_before).next()?;
        (listing.0.first() == Some(&(list as u8))).then_some(subject)
    }

    fn whole(&self, prefix: Listing) -> Listed<'_> {
        let iter = self.lists.since(&|listing| listing < &prefix);
        Listed { iter, end: End::Owner(prefix) }
    }

    /// The subjects of a list sorted by instant, up to `until`.
    pub(super) fn until(&self, list: List, until: Timestamp) -> Listed<'_> {
        // The bytes of `list.prefix(None).at(until)`.
        let mut end = [0; 17];
        end[0] = list as u8;
        let (whole, instant) = end.split_at_mut(9);
        instant.copy_from_slice(&sortable(until));
        let whole = &*whole;
        let iter = self.lists.since(&|listing| listing.0.as_slice() < whole);
        Listed { iter, end: End::Instant(end) }
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
