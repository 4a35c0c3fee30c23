//! How much a command may use.

use wakeful_agent::command::{Cause, Limits, Running, Spec};

use super::House;
use crate::command::ended;

/// Starts processes until it cannot, and says how many there were.
const FORKS: &str = "import os, signal, sys
count = 0
try:
    while count < 2000:
        if os.fork() == 0:
            signal.pause()
        count += 1
except BlockingIOError:
    pass
print(count)";

#[test]
fn a_command_starts_no_more_processes_than_it_may() {
    let cmd = format!("python3 -c '{FORKS}'");
    let policy = "[limits]\nprocesses = 40\n";
    let house = House::new();
    let said = house.confinement(policy).describe().join("\n");
    let ran = house.run(policy, &cmd);
    let count: u64 = ran.is_well(&cmd).trim().parse().expect("a number");
    assert!((10..40).contains(&count), "{count} processes; {said}");
}

#[test]
fn one_agent_that_starts_many_processes_stops_no_other() {
    let many = House::new();
    let policy = "[limits]\nprocesses = 40\n";
    let confinement = many.confinement(policy);
    let cmd = format!("python3 -c '{FORKS}' > count; sleep 3600");
    let spec = Spec {
        workdir: many.path("work"),
        environment: confinement.environment(std::env::vars_os()),
        ..many.home.spec(&cmd)
    };
    let running =
        Running::start(&spec, &Limits::default(), Some(&confinement), &many.path("output"))
            .expect("it starts");
    crate::command::eventually("it has started all that it may", || {
        std::fs::read_to_string(many.path("work/count")).is_ok_and(|count| !count.is_empty())
    });
    House::new().run(policy, "true & true & wait").is_well("the other agent");
    running.stop();
    ended(&running);
}

#[test]
fn a_command_that_fills_the_disk_is_killed() {
    let policy = "[limits]\ndisk_bytes = 67108864\nstop_grace_ms = 60000\n";
    for place in [".", "$TMPDIR"] {
        let house = House::new();
        // It ignores the request to end, and goes on writing.
        let cmd = format!(
            "trap \"\" TERM; for n in $(seq 100); do head -c 8388608 /dev/zero > {place}/$n; \
                 sleep 0.05; done; sleep 3600"
        );
        let ran = house.run(policy, &cmd);
        assert_eq!(ran.exit.cause, Cause::DiskUsed, "{place}: {ran:?}");
    }
}
