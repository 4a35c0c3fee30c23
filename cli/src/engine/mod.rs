//! Engines that run in other programs.

mod process;
mod remote;

pub(crate) use process::Process;
pub use process::ProcessError;
pub(crate) use remote::Remote;
