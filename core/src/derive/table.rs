//! Decision tables: the first row that holds decides (contract 6.1, 6.3).

/// A row of a table over facts `F` with verdict `V`.
#[derive(Debug)]
pub struct Row<F, V> {
    /// The id of the row.
    pub id: &'static str,
    holds: fn(&F) -> bool,
    gives: fn(&F) -> V,
}

impl<F, V> Row<F, V> {
    /// A row that gives its verdict if it holds.
    pub(super) const fn new(id: &'static str, holds: fn(&F) -> bool, gives: fn(&F) -> V) -> Self {
        Self { id, holds, gives }
    }
}

/// The verdict of the first row that holds; `None` if no row does.
pub(super) fn first<'a, F: 'a, V: 'a>(
    mut rows: impl Iterator<Item = &'a Row<F, V>>,
    facts: &F,
) -> Option<V> {
    rows.find(|row| (row.holds)(facts)).map(|row| (row.gives)(facts))
}
