//! A client for chat completions over HTTP, with streaming and tool calls: the provider `openai`.
//!
//! An [`Endpoint`] asks a server for one [`Round`] of a [`Chat`] at a time. The bytes arrive from
//! an exchange on a thread of its own (`exchange`). They are split into chunks (`framing`, `sse`),
//! parsed (`wire`) and joined into a round (`assembly`). An error is a [`ChatError`], which says
//! whether a retry may help and what to do. [`Cancel`] ends a request at any moment.

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
