//! What the hot paths of the core cost, counted and not timed: fuel of the guest, instructions and
//! allocations of the native core. A count is the same on every run, so a change that makes a path
//! dearer is found, however noisy the machine is.

pub mod agent;
pub mod kept;
pub mod paths;
pub mod record;
pub mod situation;
