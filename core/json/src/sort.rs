//! Sorting that is compiled once instead of once per item type.

use alloc::vec::Vec;
use core::cmp::Ordering;

/// Sorts by `compare`. The sort is stable.
pub fn sort_by<T>(items: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    // Sort places instead of items: the library's sort then exists for `usize` only.
    let order = order(items.len(), &|a, b| compare(&items[a], &items[b]));
    let mut unsorted: Vec<_> = core::mem::take(items).into_iter().map(Some).collect();
    items.extend(order.into_iter().filter_map(|at| unsorted[at].take()));
}

/// Sorts by `key`. The sort is stable.
pub fn sort_by_key<T, K: Ord>(items: &mut Vec<T>, key: impl Fn(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

/// The places `0..count`, sorted by `compare`.
#[inline(never)]
fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<_> = (0..count).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_items_keep_their_order() {
        let mut items: Vec<_> =
            (0..1_000_u32).map(|number| (number * 7_919 % 31, number)).collect();
        let mut by_library = items.clone();
        by_library.sort_by_key(|(first, _)| *first);
        sort_by(&mut items, |a, b| a.0.cmp(&b.0));
        assert_eq!(items, by_library);
    }
}
