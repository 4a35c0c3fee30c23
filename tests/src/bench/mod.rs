//! What things cost: every figure is a ratio to something that is measured beside it in the same run, since machines differ and are noisy.

mod agent;
mod durable;
mod history;
mod items;
mod measure;
mod opening;
mod round;
mod sandbox;
mod script;

use std::fmt::Write as _;

use serde::Serialize;

use self::measure::Cost;

/// How thoroughly is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Under three minutes: a tenth of the history, fewer turns.
    Quick,
    /// Everything.
    Whole,
}

impl Depth {
    fn turns(self) -> u32 {
        match self {
            Self::Quick => 5,
            Self::Whole => 15,
        }
    }
}

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What is measured.
    pub name: String,
    /// What one costs, in nanoseconds.
    pub cost: Cost,
    /// What it is compared with.
    pub compared_with: String,
    /// What one of those costs, in nanoseconds.
    pub base: Cost,
    /// How many times as much it costs.
    pub ratio: f64,
    /// The most that the ratio may be, where there is a goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<f64>,
}

impl Figure {
    fn new(name: impl Into<String>, cost: Cost, compared_with: impl Into<String>, base: Cost) -> Self {
        Self { name: name.into(), cost, compared_with: compared_with.into(), base, ratio: cost / base, goal: None }
    }

    fn within(self, goal: f64) -> Self {
        Self { goal: Some(goal), ..self }
    }

    /// Whether it is within its goal, where it has one.
    #[must_use]
    pub fn holds(&self) -> Option<bool> {
        self.goal.map(|goal| self.ratio <= goal)
    }
}

/// A group of figures that are measured together.
pub struct Group {
    /// Its name.
    pub name: &'static str,
    /// What it measures.
    pub about: &'static str,
    measure: fn(Depth) -> Vec<Figure>,
}

impl Group {
    /// Measures.
    #[must_use]
    pub fn measure(&self, depth: Depth) -> Vec<Figure> {
        (self.measure)(depth)
    }
}

/// All groups, in the order in which they are measured.
pub const GROUPS: [Group; 7] = [
    Group { name: "round", about: "a full step of the native core, beside the same JSON alone", measure: round::figures },
    Group { name: "sandbox", about: "the same steps in wasmtime, and what an instance costs", measure: sandbox::figures },
    Group { name: "script", about: "the same steps in Node and in Chromium", measure: script::figures },
    Group { name: "history", about: "steps and decisions with a long history", measure: history::figures },
    Group { name: "opening", about: "a long ledger, folded and from a snapshot", measure: opening::figures },
    Group { name: "items", about: "steps with many live work items", measure: items::figures },
    Group { name: "durable", about: "facts on a disk", measure: durable::figures },
];

/// A duration as people read it.
fn time(nanos: Cost) -> String {
    let (unit, nanos_of_unit) = match nanos {
        nanos if nanos < 1e3 => ("ns", 1.0),
        nanos if nanos < 1e6 => ("µs", 1e3),
        nanos if nanos < 1e9 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    format!("{:.1} {unit}", nanos / nanos_of_unit)
}

/// The figures as a table, to be read.
#[must_use]
pub fn table(figures: &[Figure]) -> String {
    let mut rows = vec![["figure", "cost", "compared with", "its cost", "ratio", "goal"].map(str::to_owned)];
    rows.extend(figures.iter().map(|figure| {
        let goal = figure.goal.map_or(String::new(), |goal| format!("{goal}{}", if figure.holds() == Some(true) { "" } else { " MISSED" }));
        let ratio = if figure.ratio < 0.1 { format!("{:.4}", figure.ratio) } else { format!("{:.2}", figure.ratio) };
        [figure.name.clone(), time(figure.cost), figure.compared_with.clone(), time(figure.base), ratio, goal]
    }));
    let widths: [usize; 6] = std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default());
    rows.iter().fold(String::new(), |mut table, row| {
        let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(table, "{}", cells.join("  ").trim_end());
        table
    })
}
