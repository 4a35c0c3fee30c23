//! Tests of the program as its users see it: its commands, and the agents that it runs.

#[cfg(target_os = "linux")]
mod agent;
mod bad_input;
// The tests of the agent use the whole module.
#[allow(dead_code)]
#[cfg(target_os = "linux")]
#[path = "../../agent/tests/command/home.rs"]
mod command;
mod commands;
#[cfg(target_os = "linux")]
mod confine;
mod crosscheck;
#[cfg(target_os = "linux")]
mod fleet;
mod folders;
mod lists;
// The same is true here.
#[allow(dead_code)]
#[cfg(target_os = "linux")]
mod openai;
#[cfg(unix)]
mod pages;
// And these two. They are public where they are at home.
#[allow(dead_code)]
#[cfg(target_os = "linux")]
#[path = "../../tests/src/fleet/leftovers.rs"]
mod leftovers;
#[allow(dead_code, unreachable_pub)]
#[cfg(target_os = "linux")]
#[path = "../../tests/src/fleet/server.rs"]
mod postgres;
mod program;
mod run;
mod sandbox;
mod seeded;
mod serve;
#[cfg(unix)]
mod server;
#[path = "../../host-native/tests/shared.rs"]
mod shared;
mod shown;
mod sqlite;
mod stories;
#[cfg(target_os = "linux")]
mod worktree;
