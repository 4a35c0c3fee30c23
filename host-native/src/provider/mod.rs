//! Providers: who executes turns for a host.

mod scripted;

pub use scripted::ScriptedProvider;
