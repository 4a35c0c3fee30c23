//! A real agent on the Wakeful scheduler: a model, people, child agents, and processes. It is an
//! example of a host, and frozen: it gets what changes of the contract need, and nothing else.
//!
//! An [`Agent`] lives on a ledger of `wakeful_host`. [`command`] runs its commands, [`confine`]
//! limits what they may do, and [`worktree`] gives its children a place to work. All of these need
//! Linux and the feature `linux` (on by default). [`openai`] is the client of the model, [`http`]
//! is what it shares with other clients, and [`supervision`] reads what a ledger says about
//! children; these are on every system.

#[cfg(all(target_os = "linux", feature = "linux"))]
mod actor;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod agent;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod budget;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod checkpoint;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod child;
#[cfg(all(target_os = "linux", feature = "linux"))]
pub mod command;
#[cfg(all(target_os = "linux", feature = "linux"))]
pub mod confine;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod context;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod cut;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod effects;
#[cfg(all(target_os = "linux", feature = "linux"))]
pub mod gc;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod ground;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod handle;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod history;
pub mod http;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod jobs;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod listener;
pub mod openai;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod prompt;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod round;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod rounds;
pub mod supervision;
pub mod toml_text;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod tools;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod turn;
#[cfg(all(target_os = "linux", feature = "linux"))]
pub mod worktree;

#[cfg(all(target_os = "linux", feature = "linux"))]
pub use self::{
    agent::{Agent, AgentError, Ending, Until},
    context::{Audience, Setup},
    handle::{Ended, Handle},
};
