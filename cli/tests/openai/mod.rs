//! The model server of the agent's tests.

#[path = "../../../agent/tests/openai/answer.rs"]
pub(crate) mod answer;
#[path = "../../../agent/tests/openai/server.rs"]
pub(crate) mod server;
#[path = "../../../agent/tests/openai/strict.rs"]
pub(crate) mod strict;
