//! The index: lists of what every step needs, sorted by how it is looked up. A step then costs the
//! same however many items and waits are alive.
//!
//! The index follows from the rest of the state and is not stored.
//! [`State::apply`](crate::state::State::apply) keeps it up to date, and opening a snapshot builds
//! it again.

use alloc::{string::String, vec::Vec};

use crate::{
    id::{ExternalTriggerId, WorkItemId},
    time::Timestamp,
};
use wakeful_json::{Map, map};

/// A list of the index. Its members are in the order of their listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    /// Blocking tasks by item, the most recently updated first. Tasks without an item are under no
    /// owner.
    Blocking,
    /// Conditions by item, in the order of contract 5.13.
    Conditions,
    /// The agent's own conditions that count, in the same order. The mirrors of its intents are not
    /// listed.
    Own,
    /// Intents of item scope, by item.
    Intents,
    /// Intents of the agent's scope.
    AgentIntents,
    /// What names a task, a timer, a trigger or a message, by that.
    Naming,
    /// Waits for something external that name no trigger.
    Unnamed,
    /// System waits whose tick is due. Each of these three lists has only conditions that would be
    /// ticked: the agent's own, and those of items that wait for nothing else.
    Ticks,
    /// System waits by the instant at which their tick is due.
    LaterTicks,
    /// System waits whose tick was emitted.
    Ticked,
    /// What waits for the operator, by item: conditions, and items that need input. The agent's own
    /// conditions are under no owner.
    Asking,
    /// The same, newest first.
    Asked,
    /// External triggers by the only item that they serve.
    Serving,
    /// External triggers by the instant at which they expire.
    Expiring,
    /// What arrives on its own, by instant: timers, deadlines of conditions, retries, rechecks of
    /// blocked items.
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

/// The number of lists.
const LISTS: usize = List::Resting as usize + 1;

/// The letters of the kinds of subjects.
pub(super) const TASK: char = 't';

pub(super) const CONDITION: char = 'c';

pub(super) const INTENT: char = 'i';

pub(super) const TIMER: char = 'r';

pub(super) const TRIGGER: char = 'x';

pub(super) const ITEM: char = 'w';

/// A retry, by the first message of its lineage.
pub(super) const RETRY: char = 'y';

/// A message that is named by the retry that follows it or that it makes.
pub(super) const MESSAGE: char = 'm';

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
    /// The length of each list.
    lengths: [usize; LISTS],
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

    /// The id, if it is of this kind.
    pub(super) fn of_kind(&self, kind: char) -> Option<&str> {
        self.0.strip_prefix(kind)
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
    fn list(&self) -> usize {
        self.0.first().copied().unwrap_or_default().into()
    }

    pub(super) fn then(mut self, number: u64) -> Self {
        // Big-endian, so that the order of the bytes is the order of the numbers.
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    pub(super) fn at(self, at: Timestamp) -> Self {
        self.then(sortable(at))
    }
}

/// An instant as a number whose order is that of instants.
pub(super) fn sortable(at: Timestamp) -> u64 {
    // With the sign bit flipped, unsigned order is the order of instants before and after the
    // epoch.
    at.as_nanos().cast_unsigned() ^ (1 << 63)
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
                // A subject may be listed twice at one place, as one that names a task twice.
                if self.lists.remove(listing).is_some()
                    && let Some(length) = self.lengths.get_mut(listing.list())
                {
                    *length -= 1;
                }
            }
            for listing in &standing.listings {
                if self.lists.insert(listing.clone(), subject.clone()).is_none()
                    && let Some(length) = self.lengths.get_mut(listing.list())
                {
                    *length += 1;
                }
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

    /// The subjects of a list under one owner and with this sort key.
    pub(super) fn of_rank(&self, list: List, owner: &WorkItemId, rank: u64) -> Listed<'_> {
        self.whole(list.prefix(Some(owner)).then(rank))
    }

    /// What names a task, a timer, a trigger or a message.
    pub(super) fn naming(&self, named: &Subject) -> Listed<'_> {
        self.whole(List::Naming.prefix_of(Some(&named.0)))
    }

    /// Whether an active wait names this external trigger.
    pub(super) fn names_trigger(&self, id: &ExternalTriggerId) -> bool {
        self.naming(&Subject::new(TRIGGER, id.as_str())).next().is_some()
    }

    /// The length of a list.
    pub(super) fn length(&self, list: List) -> usize {
        self.lengths.get(list as usize).copied().unwrap_or_default()
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
        instant.copy_from_slice(&sortable(until).to_be_bytes());
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
