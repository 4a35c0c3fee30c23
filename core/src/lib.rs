//! The Wakeful scheduler, in the order in which data flows.
//!
//! A host says a [`fact`]. A [`plane`] says which records follow. The [`machine`] seals them into a batch of [`entry`] bytes, which the
//! host stores; only then the [`state`] changes. At a boundary a [`ladder::View`] is read from the state, with the help of what
//! [`derive`](mod@derive) reads; the [`ladder`] gives one decision with its evidence; its consequences go the same way. What the host must
//! then do comes out as an [`effect`]. [`check`] has what must hold at each of these steps. [`explain`] says why; [`foreign`] reads what other runtimes wrote; [`host`] is the short loop for
//! hosts whose storage is synchronous.
//!
//! Nothing here knows a clock, a file, a thread or a float, and nothing iterates in hash order.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
// What is derived names this crate, here and elsewhere.
extern crate self as wakeful_core;

pub use wakeful_json as json;

mod tagged;

pub mod id;
pub mod time;

pub mod record;

pub mod state;

pub mod derive;

pub mod fact;

pub mod ladder;

pub mod shape;

mod consequence;

pub mod explain;

pub mod check;

pub mod machine;

pub mod foreign;

pub mod host;

#[cfg(feature = "oracle")]
pub mod oracle;
#[cfg(feature = "story")]
pub mod story;

/// The version of the JSON Schema under which payloads cross. It moves with the schema, and not with the interfaces that carry the payloads.
pub const SCHEMA_VERSION: &str = "0.1.0";
