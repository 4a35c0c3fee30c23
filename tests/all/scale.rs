//! The simulation of a cell does what queues do, whatever a turn costs here.

use std::time::Duration;

use wakeful_tests::scale::{Costs, Plan, Told, Trouble, simulate, sized};

const TIME: Duration = Duration::from_secs(300);

const COSTS: Costs = Costs {
    turn_database: 0.008,
    turn_server: 0.020,
    turn_log: 20_000.0,
    turn_stored: 10_000.0,
    turn_numbers: 10.0,
    idle_database: 0.01,
    idle_server: 0.005,
    commit: 0.001,
};

/// 100 turns per second, of which each lasts ten seconds.
const PLAN: Plan = Plan {
    agents: 600_000,
    active: 1.0,
    rounds: 1.0,
    thinks: Duration::from_secs(10),
    idle: Duration::from_secs(60),
    cells: 1,
    servers: 4,
    database_cores: 4,
    server_cores: 4,
    turns_at_once: 1_000,
    resident_agents: 5_000,
    lease: Duration::from_secs(10),
};

fn told(trouble: Trouble) -> Told {
    simulate(&PLAN, &COSTS, trouble, TIME)
}

fn around(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.1, "{found}, not about {expected}");
}

#[test]
fn cores_are_busy_for_what_turns_cost() {
    let told = told(Trouble::Nothing);
    around(told.turns as f64, 100.0 * TIME.as_secs_f64());
    // The last ones are not given back yet.
    around(told.database, (100.0 * COSTS.turn_database + 4.0 * COSTS.idle_database) / 4.0);
    around(told.servers, 100.0 * COSTS.turn_server / 16.0);
    // It waits for a poll, of which there are four in each quarter of a second, and for its costs.
    assert!(told.half < 0.2 && told.most < 0.4, "{told:?}");
    assert!(told.open < 400 && told.resident < 3_000, "{told:?}");
}

#[test]
fn the_same_plan_gives_the_same_numbers() {
    let [one, other] = [(); 2].map(|()| format!("{:?}", told(Trouble::Death)));
    assert_eq!(one, other);
}

#[test]
fn troubles_end() {
    let death = told(Trouble::Death).recovery.expect("its agents are claimed again");
    assert!(death < 5.0, "{death}");
    let failover = told(Trouble::Failover(Duration::from_secs(20)));
    let recovery = failover.recovery.expect("what waited is done");
    assert!(recovery < 60.0 && failover.most > 10.0, "{failover:?}");
    let hour = told(Trouble::Hour(0.01));
    // 6,000 turns wait for the places of the servers, and the load goes on.
    assert!(hour.waited > 5_000 && hour.recovery.is_some(), "{hour:?}");
}

#[test]
fn what_is_too_much_is_never_done() {
    let costs = Costs { turn_database: 0.05, ..COSTS };
    let told = simulate(&PLAN, &costs, Trouble::Nothing, TIME);
    assert!(told.recovery.is_none() && told.database > 0.99, "{told:?}");
    assert!(sized(&PLAN, &costs).is_none(), "one cell is too few");
}

#[test]
fn what_is_full_first_is_named() {
    let first = |plan: Plan| {
        let sized = sized(&plan, &COSTS).expect("one cell is enough");
        (sized.limits[0].what, sized.plan.servers)
    };
    let (places, servers) = first(Plan { turns_at_once: 64, ..PLAN });
    assert!(places.contains("--turns-at-once") && servers > 20, "{places}, {servers} servers");
    let (room, _) = first(Plan { resident_agents: 500, ..PLAN });
    assert!(room.contains("--resident-agents"), "{room}");
    let (cores, _) = first(Plan { database_cores: 2, ..PLAN });
    assert!(cores.contains("database"), "{cores}");
}
