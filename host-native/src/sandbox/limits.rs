//! Limits: what one instance may use, with names, units and defaults.

/// What one instance may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory, in bytes.
    pub memory_bytes: usize,
    /// Fuel per call; wasmtime counts about one unit per instruction.
    pub fuel_per_call: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory_bytes: 256 << 20, fuel_per_call: 10_000_000_000 }
    }
}
