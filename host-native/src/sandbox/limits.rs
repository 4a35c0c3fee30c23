//! The limits of one instance, with names, units and defaults, and the error for reaching one.

use std::fmt;

/// The limits of one instance. Reaching one ends only the instance. The ledger holds whole batches,
/// so another instance opens the agent and continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory, in bytes.
    pub memory_bytes: usize,
    /// Fuel per call; wasmtime counts about one unit per instruction. A call uses the same fuel on
    /// every run and every machine.
    pub fuel_per_call: u64,
    /// Extra fuel for each page of the ledger that the guest reads for the first time in a call.
    /// Without it a long ledger could not be opened.
    pub fuel_per_page: u64,
    /// The longest time of a call in milliseconds, including the host's own functions. Time
    /// in which the host waits for something else ([`waiting`](crate::waiting)) does not count.
    /// This is the outer safety net: unlike fuel it depends on the machine.
    pub call_ms: u64,
    /// The longest text that crosses at once, in bytes: an argument, an answer, a batch, a page of
    /// the ledger.
    pub payload_bytes: usize,
    /// The bytes that one call may append to the ledger, in all its batches.
    pub append_bytes: usize,
    /// The number of host calls within one call. Pages of the ledger that are read for the first
    /// time do not count.
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
            append_bytes: 256 << 20,
            host_calls: 100_000,
        }
    }
}

/// Limits that all instances of one guest share. They are fixed when the guest is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The number of instances at one time. If this process has too few addresses for so large a
    /// pool, it has fewer.
    pub instances: u32,
    /// Memory reserved for each instance, in bytes; an instance cannot have more.
    pub memory_bytes: usize,
    /// The guest's stack in a call, in bytes.
    pub stack_bytes: usize,
    /// Whether fuel is counted. A guest is faster without it, but then only the time limit ends a
    /// call, at a different point on each run.
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

/// One of the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::memory_bytes`], or [`Pool::memory_bytes`] if that is less.
    Memory,
    /// [`Limits::fuel_per_call`], plus [`Limits::fuel_per_page`] for each new page.
    Fuel,
    /// [`Limits::call_ms`].
    Time,
    /// [`Pool::stack_bytes`].
    Stack,
    /// [`Limits::payload_bytes`].
    Payload,
    /// [`Limits::append_bytes`].
    Appended,
    /// [`Limits::host_calls`].
    HostCalls,
}

impl Limit {
    /// The name of the field in [`Limits`] or [`Pool`].
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory_bytes",
            Self::Fuel => "fuel_per_call",
            Self::Time => "call_ms",
            Self::Stack => "stack_bytes",
            Self::Payload => "payload_bytes",
            Self::Appended => "append_bytes",
            Self::HostCalls => "host_calls",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Memory | Self::Stack | Self::Payload | Self::Appended => "bytes",
            Self::Fuel => "units",
            Self::Time => "ms",
            Self::HostCalls => "calls",
        }
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Breach {
    /// The limit.
    pub limit: Limit,
    /// Its value, in its unit.
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
