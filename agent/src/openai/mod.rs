//! A client for chat completions over HTTP, with streaming and tool calls: the provider `openai`.
//!
//! An [`Endpoint`] asks a server for one [`Round`] of a [`Chat`] at a time. The chat is sent in a
//! form that every server accepts (`conversation`, `dialect`). The bytes arrive from an exchange on
//! a thread of its own (`exchange`). They are split into events (`framing`, `sse`), parsed (`wire`)
//! and joined into a round (`assembly`, `calls`). An error is a [`ChatError`], which says whether a
//! retry may help and what to do. [`Cancel`] ends a request at any moment.

pub mod arguments;
mod assembly;
mod calls;
mod cancel;
mod chat;
mod conversation;
mod dialect;
mod endpoint;
mod error;
mod exchange;
mod extra;
mod framing;
mod options;
mod round;
mod secret;
mod server_message;
mod sse;
mod wire;

pub(crate) use cancel::Listening;

pub use cancel::Cancel;
pub use chat::{Chat, ChatMessage, ToolCall, ToolDefinition};
pub use endpoint::{Endpoint, Watch};
pub use error::{ChatError, Phase, Unreachable};
pub use extra::Extra;
pub use options::{EndpointOptions, OptionsError, Patience, Retries};
pub use round::{Finish, Round, Timing, Usage};
pub use secret::Secret;
#[cfg(all(feature = "linux", target_os = "linux"))]
pub(crate) use secret::is_distinct;
pub use server_message::ServerMessage;
