//! Benchmarks. Every figure is a ratio to something that is measured beside it in the same run,
//! because machines differ and are noisy.

pub mod against;
mod checks;
mod commands;
#[cfg(target_os = "linux")]
mod confined;
mod durable;
mod history;
mod items;
mod measure;
mod memory;
mod opening;
pub mod page;
mod peers;
mod postgres;
mod round;
mod sandbox;
mod script;

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use wakeful_counts::agent;

use self::measure::Cost;

/// How thoroughly to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Under four minutes: a tenth of the history, fewer turns.
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

/// The unit of a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Time, in nanoseconds.
    Nanoseconds,
    /// Memory, in bytes.
    Bytes,
    /// A number of things.
    Number,
}

impl Unit {
    /// An amount with the prefix that people would choose.
    fn tell(self, amount: Cost) -> String {
        let steps: &[(&str, f64)] = match self {
            Self::Nanoseconds => &[(" ns", 1.0), (" µs", 1e3), (" ms", 1e6), (" s", 1e9)],
            Self::Bytes => &[(" B", 1.0), (" kB", 1e3), (" MB", 1e6), (" GB", 1e9)],
            Self::Number => &[("", 1.0)],
        };
        let (name, size) = steps.iter().rfind(|(_, size)| amount >= *size).unwrap_or(&steps[0]);
        format!("{:.1}{name}", amount / size)
    }
}

/// A measured cost, and the cost that it is compared with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// What is measured.
    pub name: String,
    /// The unit of a cost.
    pub unit: Unit,
    /// The measured cost, in `unit`.
    pub cost: Cost,
    /// What it is compared with, measured in the same run.
    pub compared_with: String,
    /// The cost of that, in `unit`.
    pub base: Cost,
    /// `cost` divided by `base`.
    pub ratio: f64,
    /// The highest ratio that is allowed, if there is a goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<f64>,
}

impl Figure {
    fn new(
        name: impl Into<String>,
        cost: Cost,
        compared_with: impl Into<String>,
        base: Cost,
    ) -> Self {
        Self {
            name: name.into(),
            unit: Unit::Nanoseconds,
            cost,
            compared_with: compared_with.into(),
            base,
            ratio: cost / base,
            goal: None,
        }
    }

    fn in_bytes(self) -> Self {
        Self { unit: Unit::Bytes, ..self }
    }

    fn in_numbers(self) -> Self {
        Self { unit: Unit::Number, ..self }
    }

    fn within(self, goal: f64) -> Self {
        Self { goal: Some(goal), ..self }
    }

    /// Whether both measure the same thing beside the same.
    fn is_same(&self, other: &Self) -> bool {
        (&self.name, &self.compared_with) == (&other.name, &other.compared_with)
    }

    /// Its cells in a table: what, cost, compared with what, its cost, ratio, goal.
    fn row(&self) -> [String; 6] {
        let goal = self.goal.map_or(String::new(), |goal| {
            format!("{goal}{}", if self.holds() == Some(true) { "" } else { " MISSED" })
        });
        let ratio = match self.ratio {
            ..0.1 => format!("{:.4}", self.ratio),
            ratio => format!("{ratio:.2}"),
        };
        [
            self.name.clone(),
            self.unit.tell(self.cost),
            self.compared_with.clone(),
            self.unit.tell(self.base),
            ratio,
            goal,
        ]
    }

    /// Whether it is within its goal; `None` if it has none.
    #[must_use]
    pub fn holds(&self) -> Option<bool> {
        self.goal.map(|goal| self.ratio <= goal)
    }
}

/// A group of figures that are measured together.
pub struct Group {
    /// The name on the command line.
    pub name: &'static str,
    /// What it measures, for people.
    pub about: &'static str,
    measure: fn(Depth) -> Vec<Figure>,
}

impl Group {
    /// Measures all figures of the group, which may take minutes.
    #[must_use]
    pub fn measure(&self, depth: Depth) -> Vec<Figure> {
        (self.measure)(depth)
    }
}

/// All groups, in the order in which they are measured.
pub const GROUPS: &[Group] = &[
    Group {
        name: "round",
        about: "a full step of the native core, beside the same JSON alone",
        measure: round::figures,
    },
    Group {
        name: "sandbox",
        about: "the same steps in wasmtime, and what an instance costs",
        measure: sandbox::figures,
    },
    Group { name: "memory", about: "a thousand agents in one process", measure: memory::figures },
    Group {
        name: "script",
        about: "the same steps in Node and in Chromium",
        measure: script::figures,
    },
    Group {
        name: "peers",
        about: "a decision in Node, beside those of other libraries",
        measure: peers::figures,
    },
    Group {
        name: "history",
        about: "steps and decisions with a long history",
        measure: history::figures,
    },
    Group {
        name: "opening",
        about: "a long ledger, folded and from a snapshot",
        measure: opening::figures,
    },
    Group { name: "items", about: "steps with many live work items", measure: items::figures },
    Group {
        name: "commands",
        about: "the program's commands on a long ledger",
        measure: commands::figures,
    },
    Group {
        name: "crosscheck",
        about: "random stories in two engines, compared",
        measure: checks::figures,
    },
    #[cfg(target_os = "linux")]
    Group {
        name: "confined",
        about: "a command behind each wall, beside the same command bare",
        measure: confined::figures,
    },
    Group { name: "durable", about: "facts on a disk", measure: durable::figures },
    Group {
        name: "postgres",
        about: "a store in PostgreSQL, beside bare SQL",
        measure: postgres::figures,
    },
];

/// The figures as a table for people.
#[must_use]
pub fn table(figures: &[Figure]) -> String {
    let head = ["figure", "cost", "compared with", "its cost", "ratio", "goal"].map(str::to_owned);
    columns(&[head].into_iter().chain(figures.iter().map(Figure::row)).collect::<Vec<_>>())
}

/// Rows whose cells stand below each other.
fn columns(rows: &[[String; 6]]) -> String {
    let widths: [usize; 6] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    });
    rows.iter().fold(String::new(), |mut table, row| {
        let cells: Vec<_> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(table, "{}", cells.join("  ").trim_end());
        table
    })
}
