//! A native host of the Wakeful scheduler.
//!
//! [`engine`] is one trait over the native core and the sandboxed guest. [`sandbox`] runs the guest
//! in wasmtime under limits. A host provides the scheduler with a [`ledger`], a [`clock`] and a
//! [`provider`]. [`driver`] drives a ledger with an engine. [`doctor`] reads a whole ledger and
//! reports what is wrong with it. [`archive`] moves the beginning of a ledger into another file.
//!
//! `sandbox` is behind the feature `sandbox` (wasmtime). [`ledger::SqliteFile`], `doctor` and
//! `archive` are behind the feature `sqlite`. Both features are on by default.
//!
//! # An agent in a program
//!
//! Without a sandbox the core runs in the program itself. The host provides a ledger, a clock and a
//! provider:
//!
//! ```
//! use wakeful_host::{
//!     clock::SystemClock,
//!     ledger::SqliteFile,
//! };
//! use wakeful_core::{Effect, Options, Provider, ProviderError, Scheduler};
//!
//! /// Starts the work for a turn and returns at once. A fact reports later how the turn ended.
//! struct Turns;
//!
//! impl Provider for Turns {
//!     fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError> {
//!         if let Effect::StartTurn(request) = effect {
//!             println!("ask the model, as {}", request.run_id);
//!         }
//!         Ok(())
//!     }
//! }
//!
//! # let folder = std::env::temp_dir().join(format!("wakeful-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("agents.sqlite");
//! let ledger = SqliteFile::open(&path)?.ledger(&"ada".into());
//! let mut scheduler = Scheduler::drive(Options::new("ada".into()), ledger, SystemClock, Turns)?;
//! scheduler.propose(
//!     r#"{"fact": "message_queued", "message": {"id": "m1", "kind": "operator_prompt",
//!         "origin": {"kind": "operator"}, "trust": "trusted_operator",
//!         "body": {"type": "text", "text": "check the build"}}}"#,
//! )?;
//! for step in scheduler.run_until_rest()? {
//!     if let Some(decision) = step.decision {
//!         println!("{} ({})", decision.kind, decision.reason); // StartModelTurn (OperatorPrompt)
//!     }
//! }
//! let run = scheduler.state().open_run().expect("a turn runs").run_id.clone();
//!
//! // Later, when the model has answered:
//! let ended = format!(r#"{{"fact": "turn_terminal", "run_id": "{run}", "kind": "completed"}}"#);
//! scheduler.propose(&ended)?;
//! scheduler.run_until_rest()?;
//! assert_eq!(scheduler.next_wake(), None, "it sleeps until the next fact");
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A host in production sets one alarm for `next_wake`, and proposes each fact as it arrives.
//! `wakeful status agents.sqlite` shows the agent at any time. [`sandbox::Plugin`] does the same
//! with the guest in wasmtime.

/// The example of the README, which its test runs.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// The first program of a newcomer.
#[cfg(doctest)]
#[doc = include_str!("../../docs/start.md")]
struct Start;

#[cfg(feature = "sqlite")]
pub mod archive;
pub mod clock;
#[cfg(feature = "sqlite")]
pub mod doctor;
pub mod driver;
pub mod engine;
pub mod ledger;
pub mod provider;
#[cfg(feature = "sandbox")]
pub mod sandbox;
pub mod text;
pub mod token;
pub mod waiting;
