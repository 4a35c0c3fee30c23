//! An ordered map whose search is compiled once.
//!
//! A `BTreeMap` is compiled once per pair of types. The state has two dozen maps, and the standard
//! library's code for them was an eighth of the web guest.

mod order;

use alloc::vec::Vec;
use core::{borrow::Borrow, cmp::Ordering, fmt, ops::Index};

use serde::{Serialize, Serializer};

use self::order::{Order, Slots, Spot};
use crate::Readable;

/// A map that iterates in the order of its keys.
#[derive(Clone)]
pub struct Map<K, V> {
    /// The members, in no order; a free slot is `None`.
    slots: Vec<Option<(K, V)>>,
    free: Vec<u32>,
    order: Order,
}

impl<K, V> Map<K, V> {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether the map has no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The members in the order of their keys.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { slots: &self.slots, order: self.order.slots() }
    }

    /// The members from the first one for which `is_before` is false. `is_before` must be true for
    /// every key before it and false for every key after it.
    pub fn since(&self, is_before: &dyn Fn(&K) -> bool) -> Iter<'_, K, V> {
        // INVARIANT: the order names no empty slot.
        let is_slot_before =
            |slot: u32| self.slots[slot as usize].as_ref().is_some_and(|(key, _)| is_before(key));
        Iter { slots: &self.slots, order: self.order.since(&is_slot_before) }
    }

    /// The keys in their order.
    #[must_use]
    pub fn keys(&self) -> Keys<'_, K, V> {
        Keys(self.iter())
    }

    /// The values in the order of their keys.
    #[must_use]
    pub fn values(&self) -> Values<'_, K, V> {
        Values(self.iter())
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The values, mutable, in no order.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.slots.iter_mut().flatten().map(|(_, value)| value)
    }
}

impl<K: Ord, V> Map<K, V> {
    #[inline(never)]
    fn find<Q: Ord + ?Sized>(&self, key: &Q, is_new: bool) -> Result<Spot, Spot>
    where
        K: Borrow<Q>,
    {
        // INVARIANT: the order names no empty slot.
        let compare = |slot: u32| {
            self.slots[slot as usize]
                .as_ref()
                .map_or(Ordering::Less, |(held, _)| held.borrow().cmp(key))
        };
        self.order.find(&compare, is_new)
    }

    /// The value of `key`.
    #[must_use]
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let spot = self.find(key, false).ok()?;
        self.slots[self.order.at(spot)].as_ref().map(|(_, value)| value)
    }

    /// The value of the key that `compare` finds equal to what is looked for. So a key of text is
    /// found without a copy of the text.
    #[must_use]
    pub fn get_by(&self, compare: &dyn Fn(&K) -> Ordering) -> Option<&V> {
        // INVARIANT: the order names no empty slot.
        let compare = |slot: u32| {
            self.slots[slot as usize].as_ref().map_or(Ordering::Less, |(held, _)| compare(held))
        };
        let spot = self.order.find(&compare, false);
        self.slots[self.order.at(spot.ok()?)].as_ref().map(|(_, value)| value)
    }

    /// The value of `key`, mutable.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let spot = self.find(key, false).ok()?;
        self.slots[self.order.at(spot)].as_mut().map(|(_, value)| value)
    }

    /// Whether the map has `key`.
    #[must_use]
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key, false).is_ok()
    }

    /// Sets the value of `key` and returns its previous value.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let slot = match self.find(&key, true) {
            Ok(spot) => self.order.at(spot),
            Err(spot) => self.make_room(spot),
        };
        self.slots[slot].replace((key, value)).map(|(_, before)| before)
    }

    /// The value of `key`, mutable; `value` is inserted if there is none.
    pub fn get_or_insert(&mut self, key: K, value: V) -> &mut V {
        let slot = match self.find(&key, true) {
            Ok(spot) => self.order.at(spot),
            Err(spot) => {
                let slot = self.make_room(spot);
                self.slots[slot] = Some((key, value));
                slot
            }
        };
        // INVARIANT: the order names no empty slot.
        self.slots[slot]
            .as_mut()
            .map_or_else(|| unreachable!("a slot of the order is empty"), |(_, value)| value)
    }

    /// Takes a free slot and gives it the place `spot` in the order. The caller must fill it.
    #[inline(never)]
    fn make_room(&mut self, spot: Spot) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            // INVARIANT: the state of an agent never has four thousand million members in one map.
            u32::try_from(self.slots.len() - 1)
                .unwrap_or_else(|_| unreachable!("a map has too many members"))
        });
        self.order.insert(spot, slot);
        slot as usize
    }

    /// Removes `key` and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let spot = self.find(key, false).ok()?;
        let slot = self.order.remove(spot);
        // Every slot fits into a `u32`, because `make_room` made it.
        self.free.extend(u32::try_from(slot));
        self.slots[slot].take().map(|(_, value)| value)
    }

    /// The member with the greatest key that is not greater than `key`.
    #[must_use]
    pub fn at_or_before(&self, key: &K) -> Option<(&K, &V)> {
        let slot = match self.find(key, false) {
            Ok(spot) => self.order.at(spot),
            Err(spot) => self.order.before(spot)?,
        };
        self.slots[slot].as_ref().map(|(key, value)| (key, value))
    }

    /// Keeps only the members for which `holds` is true.
    pub fn retain(&mut self, holds: impl Fn(&K, &V) -> bool) {
        // Usually nothing is removed, and the map stays as it is.
        if self.iter().all(|(key, value)| holds(key, value)) {
            return;
        }
        let before = core::mem::take(self);
        before
            .into_iter()
            .filter(|(key, value)| holds(key, value))
            .for_each(|(key, value)| drop(self.insert(key, value)));
    }
}

impl<K: Ord + Borrow<Q>, Q: Ord + ?Sized, V> Index<&Q> for Map<K, V> {
    type Output = V;

    /// The value of a key that must be present.
    fn index(&self, key: &Q) -> &V {
        self.get(key).unwrap_or_else(|| panic!("the map has no such key"))
    }
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), order: Order::default() }
    }
}

/// The members of a map in the order of their keys.
pub struct Iter<'a, K, V> {
    slots: &'a [Option<(K, V)>],
    order: Slots<'a>,
}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self { slots: self.slots, order: self.order.clone() }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.slots[self.order.next()?].as_ref().map(|(key, value)| (key, value))
    }
}

/// The keys of a map in their order.
pub struct Keys<'a, K, V>(Iter<'a, K, V>);

impl<K, V> Clone for Keys<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, K, V> Iterator for Keys<'a, K, V> {
    type Item = &'a K;

    fn next(&mut self) -> Option<&'a K> {
        self.0.next().map(|(key, _)| key)
    }
}

/// The values of a map in the order of their keys.
pub struct Values<'a, K, V>(Iter<'a, K, V>);

impl<K, V> Clone for Values<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, K, V> Iterator for Values<'a, K, V> {
    type Item = &'a V;

    fn next(&mut self) -> Option<&'a V> {
        self.0.next().map(|(_, value)| value)
    }
}

impl<'a, K, V> IntoIterator for &'a Map<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

/// The members of a map, moved out in the order of their keys.
pub struct IntoIter<K, V> {
    slots: Vec<Option<(K, V)>>,
    order: alloc::vec::IntoIter<usize>,
}

impl<K, V> Iterator for IntoIter<K, V> {
    type Item = (K, V);

    fn next(&mut self) -> Option<(K, V)> {
        self.slots[self.order.next()?].take()
    }
}

impl<K, V> IntoIterator for Map<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> IntoIter<K, V> {
        let (mut order, mut slots) = (Vec::with_capacity(self.len()), self.order.slots());
        while let Some(slot) = slots.next() {
            order.push(slot);
        }
        IntoIter { slots: self.slots, order: order.into_iter() }
    }
}

impl<K: Ord, V> Extend<(K, V)> for Map<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, members: I) {
        members.into_iter().for_each(|(key, value)| drop(self.insert(key, value)));
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let mut map = Self::new();
        map.extend(members);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for Map<K, V> {
    fn from(members: [(K, V); N]) -> Self {
        members.into_iter().collect()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for Map<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other)
    }
}

impl<K: Eq, V: Eq> Eq for Map<K, V> {}

impl<K: Serialize, V: Serialize> Serialize for Map<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, K: Readable + Ord, V: Readable> serde::Deserialize<'de> for Map<K, V> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::deserialize(deserializer)
    }
}

/// The schema of an object whose members have these types.
#[cfg(feature = "schema")]
impl<K: schemars::JsonSchema, V: schemars::JsonSchema> schemars::JsonSchema for Map<K, V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        <alloc::collections::BTreeMap<K, V>>::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        <alloc::collections::BTreeMap<K, V>>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use alloc::{collections::BTreeMap, format};

    use super::*;
    use crate as json;

    /// An upper bound of the keys. Small under Miri, which is a thousand times slower.
    const KEYS: u64 = if cfg!(miri) { 600 } else { 3_000 };

    /// Pseudo-random numbers, the same in every run.
    fn numbers(count: usize, below: u64) -> impl Iterator<Item = u64> {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        (0..count).map(move |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        })
    }

    #[test]
    fn it_behaves_like_the_map_of_the_standard_library() {
        let (mut ours, mut theirs) = (Map::new(), BTreeMap::new());
        for (step, number) in numbers(if cfg!(miri) { 1_200 } else { 60_000 }, KEYS).enumerate() {
            if number % 3 == 0 {
                let key = number / 2;
                assert_eq!(ours.remove(&key), theirs.remove(&key));
            } else if number % 3 == 1 {
                assert_eq!(ours.insert(number, step), theirs.insert(number, step));
            } else {
                assert_eq!(
                    *ours.get_or_insert(number, step),
                    *theirs.entry(number).or_insert(step)
                );
            }
            assert_eq!(
                (ours.len(), ours.get(&step_of(step))),
                (theirs.len(), theirs.get(&step_of(step)))
            );
        }
        assert!(ours.iter().eq(&theirs) && ours.len() > KEYS as usize / 6, "{}", ours.len());
        for key in 0..KEYS {
            assert_eq!(ours.at_or_before(&key), theirs.range(..=key).next_back());
        }
        ours.retain(|key, _| key % 2 == 0);
        theirs.retain(|key, _| key % 2 == 0);
        assert!(ours.clone().into_iter().eq(theirs.clone()));
        assert_eq!(
            (format!("{ours:?}"), json::write(&ours)),
            (format!("{theirs:?}"), json::write(&theirs))
        );
        assert_eq!(json::read::<Map<u64, usize>>(&json::write(&ours)).expect("a map"), ours);
    }

    fn step_of(step: usize) -> u64 {
        step as u64 % KEYS
    }

    #[test]
    fn maps_with_equal_members_are_equal() {
        let forwards: Map<_, _> = (0..KEYS).map(|key| (key, ())).collect();
        let mut backwards: Map<_, _> = (0..2 * KEYS).rev().map(|key| (key, ())).collect();
        assert_ne!(forwards, backwards);
        backwards.retain(|key, ()| *key < KEYS);
        assert_eq!(forwards, backwards);
    }
}
