//! The command line of the Wakeful scheduler, as a library.
//!
//! [`commands`] are what `wakeful` does. [`run`] is the loop of an agent that plays a story.
//! [`crosscheck`] puts engines side by side: a [`case`] is played by each of them, and their
//! [`trace`]s are compared ([`compare`]). [`conformance`] answers recorded inputs of the reference
//! runtime. The host itself is `wakeful_host`, and a real agent is `wakeful_agent`.

pub mod case;
pub mod commands;
pub mod compare;
pub mod conformance;
pub mod crosscheck;
pub mod engine;
#[cfg(feature = "random")]
pub mod generator;
pub mod provider;
pub mod run;
pub mod scenario;
pub mod schema;
mod source;
pub mod story;
pub mod trace;
