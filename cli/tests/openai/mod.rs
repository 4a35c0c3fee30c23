//! The server of a model, as the tests of the agent have it.

#[path = "../../../agent/tests/openai/answer.rs"]
pub(crate) mod answer;
#[path = "../../../agent/tests/openai/server.rs"]
pub(crate) mod server;
