//! The wire of the provider `openai`: chat completions over HTTP, with streaming and tool calls.
//!
//! An [`Endpoint`] asks a server for one [`Round`] of a [`Chat`] at a time. The bytes come from an
//! exchange on a thread of its own (`exchange`), are told apart as chunks (`framing`, `sse`), read
//! (`wire`) and joined (`assembly`). What goes wrong is a [`ChatError`], which says whether to try
//! again and what to do. [`Cancel`] ends it all, at any moment.

mod assembly;
mod cancel;
mod chat;
mod endpoint;
mod error;
mod exchange;
mod framing;
mod options;
mod round;
mod secret;
mod sse;
mod wire;

pub use cancel::Cancel;
pub use chat::{Chat, ChatMessage, ToolCall, ToolDefinition};
pub use endpoint::{Endpoint, Watch};
pub use error::{ChatError, Phase, ServerMessage, Unreachable};
pub use options::{EndpointOptions, OptionsError, Patience, Retries};
pub use round::{Finish, Round, Timing, Usage};
pub use secret::Secret;
