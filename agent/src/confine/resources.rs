//! How much each process of a command may use, as the kernel enforces it.

use rustix::{
    io,
    process::{Resource, Rlimit, setrlimit},
};
use serde::{Deserialize, Serialize};

/// Limits of the kernel; `None` means that there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Resources {
    /// The number of processes and threads of the command. It does not bind root.
    pub(super) processes: Option<u64>,
    /// The memory of a process, in bytes.
    pub(super) memory_bytes: Option<u64>,
    /// The CPU time of a process, in seconds.
    pub(super) cpu_seconds: Option<u64>,
    /// The number of open files of a process.
    pub(super) open_files: Option<u64>,
    /// The length of a file that a process writes, in bytes.
    pub(super) file_bytes: Option<u64>,
}

impl Resources {
    /// Limits this process and everything that it starts.
    pub(super) fn restrict(&self) -> io::Result<()> {
        let limits = [
            (Resource::Nproc, self.processes),
            // Not the address space: runtimes reserve much more of it than they use.
            (Resource::Data, self.memory_bytes),
            (Resource::Cpu, self.cpu_seconds),
            (Resource::Nofile, self.open_files),
            (Resource::Fsize, self.file_bytes),
            // A core dump would hold what the process had in memory.
            (Resource::Core, Some(0)),
        ];
        for (resource, most) in limits {
            if most.is_some() {
                setrlimit(resource, Rlimit { current: most, maximum: most })?;
            }
        }
        Ok(())
    }
}
