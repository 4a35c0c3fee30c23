//! The binary's own tests: the command line as its users see it, and the sandbox with guests that are not ours.

mod agent;
mod asking;
mod bad_input;
#[cfg(target_os = "linux")]
mod command;
mod commands;
#[cfg(target_os = "linux")]
mod confine;
mod crosscheck;
mod driver;
mod folders;
mod fuel;
mod limits;
mod lying;
mod openai;
#[cfg(unix)]
mod pages;
mod program;
mod run;
mod sandbox;
mod seeded;
mod sqlite;
mod stories;
#[cfg(target_os = "linux")]
mod worktree;
