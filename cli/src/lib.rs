//! The command line of the Wakeful scheduler, as a library.
//!
//! [`commands`] has the commands of `wakeful`. [`run`] is the loop of an agent that plays a story.
//! [`crosscheck`] plays each [`case`] in several engines and compares their [`trace`]s
//! ([`compare`]). [`facts`] plays
//! an example of each fact. The host is in `wakeful_host`, and an agent with a model is in
//! `wakeful_agent`.

pub mod case;
mod client;
pub mod commands;
pub mod compare;
pub mod crosscheck;
pub mod engine;
pub mod facts;
#[cfg(feature = "random")]
pub mod generator;
pub mod provider;
pub mod run;
pub mod scenario;
pub mod schema;
mod source;
pub mod story;
pub mod trace;
