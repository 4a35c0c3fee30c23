//! The short loop for hosts with synchronous storage: [`Scheduler`] over a ledger, a clock and a
//! provider.
//!
//! A host with asynchronous storage drives the [`Machine`](crate::Machine) itself.
//!
//! Your own ledger, under an agent that only observes:
//!
//! ```
//! use wakeful_core::{
//!     Boundary, Clock, DecisionKind, EntryBytes, Head, Ledger, LedgerError, Options, Provider,
//!     ProviderError, Scheduler, Seq, Timestamp,
//! };
//! # use wakeful_core::Effect;
//!
//! #[derive(Default)]
//! struct Lines(Vec<EntryBytes>);
//!
//! impl Ledger for Lines {
//!     fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
//!         let chain = self.0.last().and_then(EntryBytes::chain).unwrap_or(Head::START.chain);
//!         let found = Head { seq: Seq(self.0.len() as u64), chain };
//!         if found != *expected {
//!             return Err(LedgerError::Conflict { found: found.seq });
//!         }
//!         self.0.extend_from_slice(batch); // a real store syncs before it returns
//!         Ok(())
//!     }
//!
//!     fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
//!         let after = usize::try_from(after.0).unwrap_or(usize::MAX);
//!         Ok(self.0.iter().skip(after).take(limit as usize).cloned().collect())
//!     }
//! }
//!
//! struct Noon;
//!
//! impl Clock for Noon {
//!     fn now(&mut self) -> Timestamp {
//!         Timestamp::parse("2026-05-27T12:00:00Z").expect("an instant")
//!     }
//! }
//!
//! # struct Nobody;
//! # impl Provider for Nobody {
//! #     fn carry_out(&mut self, _: &Effect) -> Result<(), ProviderError> { Ok(()) }
//! # }
//! let mut scheduler =
//!     Scheduler::observe(Options::new("ada".into()), Lines::default(), Noon, Nobody)?;
//! let fact = r#"{"fact": "timer_created", "timer_id": "look-again", "duration_ms": 60000}"#;
//! scheduler.propose(fact)?;
//! let explained = scheduler.explain(Boundary::RunLoopIdle);
//! assert_eq!(explained.decision.kind, DecisionKind::WaitForTimer);
//! let next_wake = scheduler.next_wake().map(|at| at.to_string());
//! assert_eq!(next_wake.as_deref(), Some("2026-05-27T12:01:00Z"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `Nobody` is a [`Provider`] that does nothing, because an observer starts no turns. To test your
//! own ledger, call [`suite::ledger`].

pub mod error;
pub mod export;
pub mod imports;
pub mod opening;
pub mod past;
pub mod scheduler;
pub mod steady;
pub mod suite;

pub use wakeful_json::ErrorPlace;

pub use self::{
    error::{ErrorCode, ErrorReport, SchedulerError},
    export::folder_of,
    imports::{Clock, Ledger, LedgerError, Provider, ProviderError},
    scheduler::{FIRST_SNAPSHOT, Receipt, Replay, Scheduler, StepReport},
    steady::{Remedy, Steady},
};
