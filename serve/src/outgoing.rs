//! What all requests share that the server sends to others.

use std::time::Duration;

use ureq::{config::ConfigBuilder, typestate::AgentScope};
use wakeful_agent::http;

/// The time that a receiver has to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most bytes that are read of an answer.
pub(crate) const ANSWER_BYTES: u64 = 16 << 10;

/// A client with limits of time and of bytes.
pub(crate) fn client() -> ConfigBuilder<AgentScope> {
    http::client().timeout_global(Some(PATIENCE)).max_response_header_size(ANSWER_BYTES as usize)
}

/// Half of the wait to all of it, so that those who failed together do not come back together.
pub(crate) fn jittered(wait: Duration) -> Duration {
    let mut byte = [0];
    // Without random bytes the wait is only as long as that of others.
    let _ = getrandom::fill(&mut byte);
    wait.mul_f64(0.5 + f64::from(byte[0]) / 512.0)
}
