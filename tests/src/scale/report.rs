//! What this many agents need, and what gives way first when they have more to do.

use std::time::Duration;

use super::{Costs, Plan, Told, Trouble, simulate};

/// The time of a simulation.
const TIME: Duration = Duration::from_secs(600);
/// The share of its cores that a database or a server may be busy on average.
const BUSY: f64 = 0.6;
/// The connections of a server to its store.
const CONNECTIONS: usize = 16;
/// PostgreSQL must have frozen all rows before this many transaction numbers were taken.
const NUMBERS: f64 = 2_147_483_648.0;
/// A failover as Patroni does it with its default times.
const FAILOVER: Duration = Duration::from_secs(20);
/// The share of all agents that wait for the same full hour.
const HOUR: f64 = 0.01;

/// A resource, and how many times the load it bears.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// What it is.
    pub what: &'static str,
    /// As many times the load makes it full.
    pub bears: f64,
}

/// Cells that are large enough.
#[derive(Clone, Debug)]
pub struct Sizing {
    /// They.
    pub plan: Plan,
    /// What is full first, second and so on.
    pub limits: Vec<Limit>,
    /// The troubles, and what became of them.
    pub told: Vec<(&'static str, Told)>,
}

/// The least servers for these cells, so that nothing is busy for more than the allowed share;
/// `None` if there are too few cells.
#[must_use]
pub fn sized(plan: &Plan, costs: &Costs) -> Option<Sizing> {
    let least = limits(&Plan { servers: 1, ..*plan }, costs);
    let of = |what: &str| least.iter().find(|limit| limit.what == what).map_or(1.0, |it| it.bears);
    if of(DATABASE) * BUSY < 1.0 {
        return None;
    }
    let needed = [SERVER, TURNS, RESIDENT].map(|what| 1.0 / (of(what) * BUSY));
    // One more, because one may be dead.
    let servers = needed.into_iter().fold(1.0, f64::max).ceil() as usize + 1;
    let plan = Plan { servers, ..*plan };
    let troubles = [
        ("quiet", Trouble::Nothing),
        ("a server dies", Trouble::Death),
        ("no primary for 20 s", Trouble::Failover(FAILOVER)),
        ("1 % of all agents at once", Trouble::Hour(HOUR)),
    ];
    let told = troubles.map(|(name, trouble)| (name, simulate(&plan, costs, trouble, TIME)));
    Some(Sizing { limits: limits(&plan, costs), told: told.into(), plan })
}

const DATABASE: &str = "the cores of the database";
const SERVER: &str = "the cores of the servers";
const TURNS: &str = "open turns of the servers (--turns-at-once)";
const RESIDENT: &str = "agents of the servers (--resident-agents)";

/// How many times its load each part of a cell bears, the least first.
fn limits(plan: &Plan, costs: &Costs) -> Vec<Limit> {
    let (rate, servers) = (plan.turns_per_second(), plan.servers as f64);
    let open = plan.thinks.as_secs_f64() * plan.rounds;
    let bears = |has: f64, idle: f64, needs: f64| ((has - idle) / needs).max(0.0);
    let mut limits = vec![
        Limit {
            what: DATABASE,
            bears: bears(
                plan.database_cores as f64,
                costs.idle_database * servers,
                rate * costs.turn_database * plan.rounds,
            ),
        },
        Limit {
            what: SERVER,
            bears: bears(
                servers * plan.server_cores as f64,
                costs.idle_server * servers,
                rate * costs.turn_server * plan.rounds,
            ),
        },
        Limit { what: TURNS, bears: bears(servers * plan.turns_at_once as f64, 0.0, rate * open) },
        Limit {
            what: RESIDENT,
            bears: bears(
                servers * plan.resident_agents as f64,
                0.0,
                rate * (open + plan.idle.as_secs_f64()),
            ),
        },
    ];
    limits.sort_by(|one, other| one.bears.total_cmp(&other.bears));
    limits
}

impl Sizing {
    /// For people, in lines.
    #[must_use]
    pub fn lines(&self, costs: &Costs) -> Vec<String> {
        let plan = &self.plan;
        let rate = plan.turns_per_second();
        let turns = rate * plan.rounds;
        let day = 86_400.0;
        let mut lines = vec![
            format!(
                "{} cells with {} servers each: {} agents and {rate:.0} turns per second in each",
                plan.cells,
                plan.servers,
                plan.agents / plan.cells
            ),
            format!(
                "  a primary has {} connections, writes {:.1} MB of log per second, and {:.0} GB of \
                 tables per day",
                CONNECTIONS * plan.servers,
                turns * costs.turn_log / 1e6,
                turns * costs.turn_stored * day / 1e9
            ),
            format!(
                "  its transaction numbers last {:.1} days between two freezes of all tables",
                NUMBERS / (turns * costs.turn_numbers) / day
            ),
        ];
        for limit in &self.limits {
            lines.push(format!("  {:<44} full at {:.1} times the load", limit.what, limit.bears));
        }
        for (name, told) in &self.told {
            let recovery = match told.recovery {
                Some(seconds) => format!("over after {seconds:.1} s"),
                None => "NOT OVER".to_owned(),
            };
            lines.push(format!(
                "  {name:<26} {} turns, asked after {:.2} s (half) and {:.2} s (99 %), database \
                 {:.0} % busy, servers {:.0} %, {} open at one, {recovery}",
                told.turns,
                told.half,
                told.most,
                told.database * 100.0,
                told.servers * 100.0,
                told.open,
            ));
        }
        lines
    }
}
