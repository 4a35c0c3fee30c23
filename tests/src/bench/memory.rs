//! Memory: what one of a thousand agents in one process needs, natively and in the sandbox.

use std::fs;

use wakeful_host::{engine::Engine, ledger::MemoryLedger};

use super::{
    Depth, Figure,
    agent::{self, Agent},
    measure::Cost,
    sandbox::{agent_in, plugin},
};

/// The number of agents.
const AGENTS: usize = 1_000;
/// The rounds that each agent has played.
const ROUNDS: usize = 3;

/// A page of WebAssembly memory, in bytes: the least that a guest can have.
const PAGE: Cost = 65_536.0;

/// Figures; empty if the system does not report the memory of a process.
pub(super) fn figures(_: Depth) -> Vec<Figure> {
    let guests = plugin(true);
    // One agent runs first, so that what all of them share is not counted.
    lives(&mut agent_in(&guests));
    // The native agents come first: otherwise they would reuse memory that the sandbox gave back.
    let each = [each(|| agent::native(MemoryLedger::default())), each(|| agent_in(&guests))];
    let [Some(native), Some(sandboxed)] = each else { return Vec::new() };
    vec![
        Figure::new(
            format!("memory of one of {AGENTS} sandboxed agents"),
            sandboxed.bytes,
            "native core",
            native.bytes,
        )
        .in_bytes(),
        Figure::new(
            format!("memory of one of {AGENTS} sandboxed agents"),
            sandboxed.bytes,
            "two pages of WebAssembly memory",
            2.0 * PAGE,
        )
        .in_bytes()
        .within(0.93),
        Figure::new(
            "mappings of one of them",
            sandboxed.mappings,
            "native core",
            native.mappings.max(1.0),
        )
        .in_numbers(),
    ]
}

/// The memory of a process, or one agent's share of it.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    pub(super) bytes: Cost,
    mappings: Cost,
}

/// What one of many agents adds to the memory of the process.
fn each<E: Engine>(agent: impl Fn() -> Agent<E>) -> Option<Kept> {
    let before = kept()?;
    let agents: Vec<_> = (0..AGENTS)
        .map(|_| {
            let mut agent = agent();
            lives(&mut agent);
            agent
        })
        .collect();
    let after = kept()?;
    let share = |before: Cost, after: Cost| (after - before) / agents.len() as Cost;
    Some(Kept {
        bytes: share(before.bytes, after.bytes),
        mappings: share(before.mappings, after.mappings),
    })
}

fn lives(agent: &mut Agent<impl Engine>) {
    (0..ROUNDS).for_each(|_| agent.round());
}

/// The memory of this process now, if the system reports it. A page that several mappings share is
/// counted once: all guests have the same pages of constants.
pub(super) fn kept() -> Option<Kept> {
    let summary = fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let proportional =
        summary.lines().find_map(|line| line.strip_prefix("Pss:")?.trim().strip_suffix(" kB"))?;
    let mappings = fs::read_to_string("/proc/self/maps").ok()?.lines().count();
    Some(Kept { bytes: proportional.parse::<Cost>().ok()? * 1024.0, mappings: mappings as Cost })
}
