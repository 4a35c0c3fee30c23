//! Circles of files: strongly connected components of the uses between files.

use std::collections::{BTreeMap, BTreeSet};

/// Which files each file uses.
pub(super) type Graph = BTreeMap<String, BTreeSet<String>>;

/// The circles of more than one file, largest first, each in the order of the paths.
pub(super) fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let mut walk = Walk {
        graph,
        order: BTreeMap::new(),
        lowest: BTreeMap::new(),
        open: Vec::new(),
        circles: Vec::new(),
    };
    for file in graph.keys() {
        if !walk.order.contains_key(file.as_str()) {
            walk.visit(file);
        }
    }
    let mut circles = walk.circles;
    circles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    circles
}

/// Tarjan's strongly connected components.
struct Walk<'a> {
    graph: &'a Graph,
    order: BTreeMap<&'a str, usize>,
    /// The earliest open file that each reaches.
    lowest: BTreeMap<&'a str, usize>,
    open: Vec<&'a str>,
    circles: Vec<Vec<String>>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, file: &'a str) -> usize {
        let number = self.order.len();
        self.order.insert(file, number);
        self.lowest.insert(file, number);
        self.open.push(file);
        let mut lowest = number;
        for used in self.graph.get(file).into_iter().flatten() {
            let reached = match self.order.get(used.as_str()) {
                None => self.visit(used),
                // Only an open file leads back. A finished one is in another circle, or in none.
                Some(order) if self.open.contains(&used.as_str()) => *order,
                Some(_) => continue,
            };
            lowest = lowest.min(reached);
        }
        self.lowest.insert(file, lowest);
        if lowest == number {
            let start = self.open.iter().rposition(|open| *open == file).unwrap_or_default();
            let mut circle: Vec<String> = self.open.drain(start..).map(str::to_owned).collect();
            circle.sort();
            if circle.len() > 1 {
                self.circles.push(circle);
            }
            // This component is complete: no open file is reachable from it.
            return usize::MAX;
        }
        lowest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &[&str])]) -> Graph {
        edges
            .iter()
            .map(|(from, to)| ((*from).to_owned(), to.iter().map(|to| (*to).to_owned()).collect()))
            .collect()
    }

    #[test]
    fn circles_are_found_and_what_hangs_on_them_is_not_in_them() {
        let graph = graph(&[
            ("a", &["b"]),
            ("b", &["c", "x"]),
            ("c", &["a"]),
            ("d", &["a", "e"]),
            ("e", &["d"]),
            ("x", &["y"]),
            ("y", &[]),
        ]);
        assert_eq!(circles(&graph), [vec!["a", "b", "c"], vec!["d", "e"]]);
    }

    #[test]
    fn two_ways_round_are_one_circle() {
        let graph = graph(&[("a", &["b", "c"]), ("b", &["d"]), ("c", &["d"]), ("d", &["a"])]);
        assert_eq!(circles(&graph), [["a", "b", "c", "d"]]);
    }
}
