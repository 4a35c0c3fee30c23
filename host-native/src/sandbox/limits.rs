//! Limits: what one instance may use, with names, units and defaults; and what it means to reach
//! one.

use std::fmt;

/// What one instance may use. Reaching a limit ends the instance and nothing else: the ledger holds
/// whole batches only, so the agent is opened in another instance and goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory, in bytes.
    pub memory_bytes: usize,
    /// Fuel per call; wasmtime counts about one unit per instruction. It is the same on every run
    /// and on every machine.
    pub fuel_per_call: u64,
    /// More fuel for each page of the ledger that the guest reads for the first time in a call:
    /// opening takes as long as the ledger is.
    pub fuel_per_page: u64,
    /// How long a call may take, in milliseconds, the host's own functions included. The outer net:
    /// unlike fuel it depends on the machine.
    pub call_ms: u64,
    /// The longest text that crosses in one go, in bytes: an argument, an answer, a batch, a page
    /// of the ledger.
    pub payload_bytes: usize,
    /// How often one call may call the host, pages of the ledger that it reads for the first time
    /// aside.
    pub host_calls: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 256 << 20,
            fuel_per_call: 10_000_000_000,
            fuel_per_page: 1_000_000_000,
            call_ms: 30_000,
            payload_bytes: 64 << 20,
            host_calls: 100_000,
        }
    }
}

/// What all instances of one guest share; it is fixed when the guest is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// How many instances there may be at once.
    pub instances: u32,
    /// Memory that is kept ready for each, in bytes; no instance can have more.
    pub memory_bytes: usize,
    /// Stack of the guest in a call, in bytes.
    pub stack_bytes: usize,
    /// Whether fuel is counted. A guest is quicker without, and what cuts a call short is then its
    /// time alone, which no two runs share.
    pub counts_fuel: bool,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            instances: 1000,
            memory_bytes: Limits::default().memory_bytes,
            stack_bytes: 1 << 20,
            counts_fuel: true,
        }
    }
}

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::memory_bytes`], or [`Pool::memory_bytes`] where that is less.
    Memory,
    /// [`Limits::fuel_per_call`], with [`Limits::fuel_per_page`] for what was read.
    Fuel,
    /// [`Limits::call_ms`].
    Time,
    /// [`Pool::stack_bytes`].
    Stack,
    /// [`Limits::payload_bytes`].
    Payload,
    /// [`Limits::host_calls`].
    HostCalls,
}

impl Limit {
    /// Its name, as in [`Limits`] and [`Pool`].
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory_bytes",
            Self::Fuel => "fuel_per_call",
            Self::Time => "call_ms",
            Self::Stack => "stack_bytes",
            Self::Payload => "payload_bytes",
            Self::HostCalls => "host_calls",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Memory | Self::Stack | Self::Payload => "bytes",
            Self::Fuel => "units",
            Self::Time => "ms",
            Self::HostCalls => "calls",
        }
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Breach {
    /// Which.
    pub limit: Limit,
    /// How much there was, in its unit.
    pub most: u64,
}

impl Breach {
    pub(super) fn new(limit: Limit, most: usize) -> Self {
        Self { limit, most: most as u64 }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the limit `{}` of {} {}", self.limit.name(), self.most, self.limit.unit())
    }
}
