//! How far cells carry: what a turn costs is measured on this machine, and cells and servers
//! of millions of agents are simulated with it.
//!
//! A cell is a fleet: one store and its servers. Cells share nothing, so each of them is simulated
//! alone with its share of the agents ([`cell`]). What it does under a load and in
//! which trouble is counted in virtual time; only the costs ([`costs`]) are real.

mod cell;
mod costs;
mod report;

pub use self::{
    cell::{Told, Trouble, simulate},
    costs::{Costs, measure},
    report::{Limit, Sizing, sized},
};

use std::time::Duration;

/// The cells that are simulated, which are all alike.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Agents of all cells.
    pub agents: u64,
    /// The agents of a hundred that get something to do in a minute.
    pub active: f64,
    /// Rounds of a turn: each is a question to the model, and appends what it answers.
    pub rounds: f64,
    /// The time that the model takes for a round, on average.
    pub thinks: Duration,
    /// The time after which a server gives an agent back that rests.
    pub idle: Duration,
    /// Cells.
    pub cells: u64,
    /// Servers of a cell.
    pub servers: usize,
    /// Cores of the primary of a cell.
    pub database_cores: usize,
    /// Cores of a server.
    pub server_cores: usize,
    /// Open turns of a server (`--turns-at-once`).
    pub turns_at_once: usize,
    /// Agents that a server has at once (`--resident-agents`).
    pub resident_agents: usize,
    /// The lease of a server.
    pub lease: Duration,
}

impl Plan {
    /// What is to do per second in each cell, in turns.
    #[must_use]
    pub fn turns_per_second(&self) -> f64 {
        self.agents as f64 * self.active / 100.0 / 60.0 / self.cells as f64
    }
}
