//! `cargo xtask scale`: what a turn costs on this machine, and how many cells and servers
//! millions of agents need with it.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use wakeful_tests::scale::{self, Costs, Plan};

/// Measure what a turn costs, and simulate cells of millions of agents with it.
///
/// The costs are measured with a server, a model and a PostgreSQL of three nodes on this machine.
/// Cells are simulated in virtual time, quiet and in trouble: a server dies, there is no
/// primary, a hundredth of all agents is due at once. `--costs` takes costs that were measured
/// before.
#[derive(Parser)]
#[command(
    name = "scale",
    after_help = "exit code: 0 enough cells were found, 1 otherwise, 2 the command line is \
                  wrong"
)]
struct Options {
    /// Agents of all cells.
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    agents: u64,
    /// The agents of a hundred that get something to do in a minute.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    active: f64,
    /// The rounds of a turn.
    #[arg(long, value_name = "N", default_value_t = 3.0)]
    rounds: f64,
    /// The time of the model for a round, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    thinks: f64,
    /// The time after which an agent that rests is given back, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    idle: f64,
    /// Cores of the primary of a cell.
    #[arg(long, value_name = "N", default_value_t = 16)]
    database_cores: usize,
    /// Cores of a server.
    #[arg(long, value_name = "N", default_value_t = 8)]
    server_cores: usize,
    /// Open turns of a server.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    turns_at_once: usize,
    /// Agents that a server has at once.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    resident_agents: usize,
    /// Costs that were measured before, as JSON.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "program",
        required_unless_present = "program"
    )]
    costs: Option<PathBuf>,
    /// The program to measure.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match options.costs() {
        Ok(costs) => options.told(&costs),
        Err(why) => {
            anstream::eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

impl Options {
    fn costs(&self) -> Result<Costs, Box<dyn std::error::Error + Send + Sync>> {
        let Some(program) = &self.program else {
            let file = self.costs.clone().unwrap_or_default();
            let text = std::fs::read_to_string(&file)
                .map_err(|why| format!("cannot read `{}`: {why}", file.display()))?;
            return serde_json::from_str(&text)
                .map_err(|why| format!("`{}` does not have costs: {why}", file.display()).into());
        };
        let folder = tempfile::tempdir()?;
        let costs = scale::measure(program, folder.path())?;
        println!("{}", serde_json::to_string_pretty(&costs)?);
        Ok(costs)
    }

    fn told(&self, costs: &Costs) -> ExitCode {
        let plan = Plan {
            agents: self.agents,
            active: self.active,
            rounds: self.rounds,
            thinks: Duration::from_secs_f64(self.thinks),
            idle: Duration::from_secs_f64(self.idle),
            cells: 1,
            servers: 1,
            database_cores: self.database_cores,
            server_cores: self.server_cores,
            turns_at_once: self.turns_at_once,
            resident_agents: self.resident_agents,
            lease: Duration::from_secs(10),
        };
        for doubled in 0..12 {
            let plan = Plan { cells: 1 << doubled, ..plan };
            let Some(sized) = scale::sized(&plan, costs) else {
                println!("{} cells: too few cores for the database", plan.cells);
                continue;
            };
            sized.lines(costs).iter().for_each(|line| println!("{line}"));
            return ExitCode::SUCCESS;
        }
        println!("no number of cells up to 2048 is enough");
        ExitCode::FAILURE
    }
}
