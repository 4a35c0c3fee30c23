//! The limits of a server. Nothing in it grows without one.

use std::time::Duration;

/// The limits of a server. At each of them a request is refused with 429 or 503 and `Retry-After`,
/// or what is beyond it waits in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Threads that look after agents which have something to do.
    pub workers: usize,
    /// Agents whose turns are run in this process at once. Others wait for their turn.
    pub turns_at_once: usize,
    /// Agents whose state is in memory. The one that was asked least recently is dropped first.
    pub resident_agents: usize,
    /// The time after which the state of an agent that nobody asks is dropped from memory.
    pub resident_idle: Duration,
    /// Requests that wait for one agent.
    pub queue_per_agent: usize,
    /// Requests that are answered at once.
    pub requests_at_once: usize,
    /// Requests of one token in a second.
    pub requests_per_second: u32,
    /// Wrong tokens of one address in a second.
    pub wrong_tokens_per_second: u32,
    /// Open streams.
    pub streams: usize,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// The longest that a request may wait with `Prefer: wait`.
    pub longest_wait: Duration,
    /// The time that a client has for the headers of a request, also of the next one.
    pub header_timeout: Duration,
    /// The time that a client has for the body of a request.
    pub read_timeout: Duration,
    /// The time that running turns have to end when the server is told to end.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            workers: 4,
            turns_at_once: 64,
            resident_agents: 1_000,
            resident_idle: Duration::from_secs(60),
            queue_per_agent: 64,
            requests_at_once: 256,
            requests_per_second: 1_000,
            wrong_tokens_per_second: 5,
            streams: 1_000,
            body_bytes: 1 << 20,
            longest_wait: Duration::from_secs(60),
            header_timeout: Duration::from_secs(30),
            read_timeout: Duration::from_secs(10),
            drain: Duration::from_secs(30),
        }
    }
}
