//! `wakeful list`: what agents have, one kind after its name.

use clap::Subcommand;

use super::{CliError, Verdict, budget, heads, items, tasks, waits};

#[derive(Subcommand)]
pub(super) enum List {
    /// List the tasks of agents, by what they hold up
    Tasks(tasks::Tasks),
    /// List the work items of agents, by their scheduling state
    Items(items::Items),
    /// List what agents wait for, by what can end it, and how a person can end it
    Waits(waits::Waits),
    /// List the head of each ledger, and find the ledgers that were set back since
    Heads(heads::Heads),
    /// List what is used of the budgets of agents and of their work items
    Budgets(budget::Budgets),
    /// List, and remove, what ended tasks left on the disk: output files and worktrees
    #[cfg(target_os = "linux")]
    Leftovers(super::leftovers::Leftovers),
}

impl List {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        match self {
            Self::Tasks(list) => list.run(),
            Self::Items(list) => list.run(),
            Self::Waits(list) => list.run(),
            Self::Heads(list) => list.run(),
            Self::Budgets(list) => list.run(),
            #[cfg(target_os = "linux")]
            Self::Leftovers(list) => list.run(),
        }
    }
}
