//! Providers: who executes turns for a host.

mod elsewhere;
mod scripted;

pub use elsewhere::Elsewhere;
pub use scripted::ScriptedProvider;
