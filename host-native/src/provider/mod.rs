//! Providers: who executes turns for a host.

mod elsewhere;
pub mod openai;
mod scripted;

pub use elsewhere::Elsewhere;
pub use scripted::ScriptedProvider;
