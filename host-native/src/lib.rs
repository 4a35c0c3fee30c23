//! The native host of the Wakeful scheduler.
//!
//! [`engine`] is one trait over the native core and the sandboxed guest, so that every command takes `--engine`. [`sandbox`] runs the
//! guest in wasmtime under limits. [`ledger`], [`clock`] and [`provider`] are what a host lends to the scheduler. [`driver`] drives a ledger with
//! an engine, and [`run`] is the loop of an agent that plays a story over it. [`crosscheck`] puts engines side by side: a [`case`] is played by
//! each of them, and their [`trace`]s are compared ([`compare`]).
//!
//! On Linux, `agent` is a real agent: a model, people, child agents, and processes. `command` runs commands and looks after them, `confine` is
//! what they may do, and `worktree` is where children work.
//! On Linux, `command` runs commands and looks after them, and `confine` is what they may do; `worktree` gives
//! a task a folder of its own.

#[cfg(target_os = "linux")]
pub mod agent;
pub mod archive;
pub mod case;
pub mod cli;
pub mod clock;
#[cfg(target_os = "linux")]
pub mod command;
pub mod compare;
#[cfg(target_os = "linux")]
pub mod confine;
pub mod conformance;
pub mod crosscheck;
pub mod doctor;
pub mod driver;
pub mod engine;
pub mod generator;
pub mod ledger;
pub mod provider;
pub mod run;
pub mod sandbox;
pub mod scenario;
pub mod schema;
mod source;
pub mod story;
mod toml_text;
pub mod trace;
#[cfg(target_os = "linux")]
pub mod worktree;
