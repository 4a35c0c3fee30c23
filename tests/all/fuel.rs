//! The fuel of the hot paths in the sandbox. Fuel is the same on every run, so a change that makes
//! a path dearer shows in review.

use std::{collections::BTreeMap, env};

use wakeful_counts::{
    agent::{Ticking, Turns},
    kept::Kept,
    paths::{self, Counted, Meter, Work},
    record::{self, Counts},
};
use wakeful_host::{
    engine::Engine,
    sandbox::{Guest, Limits, Sandbox},
};
use wakeful_tests::paths::{data, guest};

/// Remembers the fuel of each path.
struct Fuel {
    guest: Guest,
    used: Counts,
}

impl Meter for Fuel {
    type Engine = Sandbox<Kept, Ticking, Turns>;

    fn over(&self, ledger: Kept, turns: Turns) -> Self::Engine {
        Sandbox::new(&self.guest, ledger, Ticking::default(), turns, Limits::default())
            .expect("an instance")
    }

    fn count(&mut self, path: &str, agent: &mut Counted<Self>, work: Work<'_, Self>) {
        let before = agent.engine.fuel_spent().expect("the sandbox counts fuel");
        work(agent);
        let after = agent.engine.fuel_spent().expect("the sandbox counts fuel");
        self.used.insert(path.to_owned(), format!("{} units of fuel", after - before));
    }
}

#[test]
fn the_hot_paths_use_the_fuel_that_is_recorded() {
    let guest = Guest::load(&guest("wakeful.component.wasm")).expect("the guest loads");
    let mut fuel = Fuel { guest, used: Counts::new() };
    let ledgers: BTreeMap<String, Kept> = paths::ledgers().collect();
    paths::count(&mut fuel, &mut |name| ledgers[name].copied());
    let bless = env::var_os("WAKEFUL_BLESS").is_some();
    let holds = record::check(&data("counts/fuel.txt"), &fuel.used, bless);
    assert!(holds.expect("the recorded fuel"), "see above");
}
