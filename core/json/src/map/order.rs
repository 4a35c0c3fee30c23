//! The order of a map's members. It knows no key or value types, so it is compiled once for all
//! maps.

use alloc::vec::Vec;
use core::cmp::Ordering;

/// The largest number of slots in a chunk.
const CHUNK: usize = 256;

/// The slots of a map, in the order of their keys. They are in chunks, so that an insertion or
/// removal moves one chunk and not the whole order.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// INVARIANT: no chunk is empty.
    chunks: Vec<Vec<u32>>,
    len: usize,
}

/// A place in an order.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    chunk: usize,
    at: usize,
}

impl Order {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// `Ok` with the place of the slot that compares equal, or `Err` with the place to insert it.
    /// `is_new` says that it is likely to be inserted.
    #[inline(never)]
    pub(super) fn find(
        &self,
        compare: &dyn Fn(u32) -> Ordering,
        is_new: bool,
    ) -> Result<Spot, Spot> {
        // Most new keys come after all others, and those of a snapshot all do.
        if is_new
            && let Some(chunk) = self.chunks.last()
            && chunk.last().is_some_and(|slot| compare(*slot).is_lt())
        {
            return Err(Spot { chunk: self.chunks.len() - 1, at: chunk.len() });
        }
        let after = self.chunks.partition_point(|chunk| compare(chunk[0]).is_le());
        // A slot before all others belongs into the first chunk.
        let chunk = after.saturating_sub(1);
        let found = self
            .chunks
            .get(chunk)
            .map_or(Err(0), |chunk| chunk.binary_search_by(|slot| compare(*slot)));
        found.map(|at| Spot { chunk, at }).map_err(|at| Spot { chunk, at })
    }

    /// The slot at a place that is occupied.
    #[inline(never)]
    pub(super) fn at(&self, spot: Spot) -> usize {
        self.chunks[spot.chunk][spot.at] as usize
    }

    /// The slot before a place; `None` at the start.
    pub(super) fn before(&self, spot: Spot) -> Option<usize> {
        let slot = match spot.at.checked_sub(1) {
            Some(at) => self.chunks[spot.chunk][at],
            None => *self.chunks[spot.chunk.checked_sub(1)?].last()?,
        };
        Some(slot as usize)
    }

    #[inline(never)]
    pub(super) fn insert(&mut self, spot: Spot, slot: u32) {
        // In an empty order, `find` names the first chunk before there is one.
        if self.chunks.is_empty() {
            self.chunks.push(Vec::new());
        }
        let chunk = &mut self.chunks[spot.chunk];
        chunk.insert(spot.at, slot);
        if chunk.len() > CHUNK {
            // Most keys arrive in ascending order. A split at the end then leaves this chunk full.
            let stays = if spot.at == CHUNK { CHUNK } else { CHUNK / 2 };
            let rest = chunk.split_off(stays);
            self.chunks.insert(spot.chunk + 1, rest);
        }
        self.len += 1;
    }

    #[inline(never)]
    pub(super) fn remove(&mut self, spot: Spot) -> usize {
        let slot = self.chunks[spot.chunk].remove(spot.at);
        // `find` looks at the first slot of each chunk, so no chunk may stay empty.
        if self.chunks[spot.chunk].is_empty() {
            self.chunks.remove(spot.chunk);
        }
        self.len -= 1;
        slot as usize
    }

    /// The slots from the first one for which `is_before` is false.
    #[inline(never)]
    pub(super) fn since(&self, is_before: &dyn Fn(u32) -> bool) -> Slots<'_> {
        let chunk =
            self.chunks.partition_point(|chunk| chunk.last().is_some_and(|last| is_before(*last)));
        let at = self
            .chunks
            .get(chunk)
            .map_or(0, |chunk| chunk.partition_point(|slot| is_before(*slot)));
        Slots { order: self, spot: Spot { chunk, at } }
    }

    pub(super) fn slots(&self) -> Slots<'_> {
        Slots { order: self, spot: Spot { chunk: 0, at: 0 } }
    }
}

/// An iterator over the slots in their order.
#[derive(Clone)]
pub(super) struct Slots<'a> {
    order: &'a Order,
    spot: Spot,
}

impl Slots<'_> {
    #[inline(never)]
    pub(super) fn next(&mut self) -> Option<usize> {
        let chunk = self.order.chunks.get(self.spot.chunk)?;
        let slot = chunk[self.spot.at];
        self.spot.at += 1;
        if self.spot.at == chunk.len() {
            self.spot = Spot { chunk: self.spot.chunk + 1, at: 0 };
        }
        Some(slot as usize)
    }
}
