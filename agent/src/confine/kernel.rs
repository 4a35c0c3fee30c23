//! What the kernel enforces (Landlock), and what it cannot.

use std::{
    fs,
    os::fd::{AsFd, AsRawFd},
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use serde::{Deserialize, Serialize};

use super::{resources::Resources, user::User};

/// The Landlock ABIs that the rights need: files since Linux 6.2, devices since 6.10, TCP since
/// 6.7, signals and abstract sockets since 6.12.
const FILES: ABI = ABI::V3;
const DEVICES: ABI = ABI::V5;
const TCP: ABI = ABI::V4;
const SCOPES: ABI = ABI::V6;

/// The rights of a process and of everything that it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rights {
    /// Files and folders that may be read and executed.
    pub(super) read: Vec<PathBuf>,
    /// Files and folders that may also be written.
    pub(super) write: Vec<PathBuf>,
    /// Devices that may be used.
    pub(super) devices: Vec<PathBuf>,
    /// Whether TCP may be used.
    pub(super) network: bool,
    /// Whether it is an error if the kernel cannot restrict files and network.
    pub(super) is_required: bool,
    /// How much each process may use.
    pub(super) resources: Resources,
    /// The user that the command becomes; `None` leaves it that of the host.
    pub(super) user: Option<User>,
}

/// What this kernel can restrict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) files: bool,
    pub(super) tcp: bool,
    pub(super) scopes: bool,
}

impl Held {
    /// Asks the kernel. This restricts nothing.
    pub(super) fn here() -> Self {
        let strict = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        Self {
            files: strict().handle_access(AccessFs::from_all(FILES)).is_ok(),
            tcp: strict().handle_access(AccessNet::from_all(TCP)).is_ok(),
            scopes: strict().scope(Scope::from_all(SCOPES)).is_ok(),
        }
    }
}

/// Hides the memory of this process, which holds the key: the kernel writes no core dump of it, and
/// other processes of the same user can neither trace it nor read its memory and environment. Root
/// still can. Commands are not affected.
///
/// # Errors
/// If the kernel refuses it.
pub fn hide_memory() -> std::io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Whether an open file is at this real path. A command of another agent may have put a link in its
/// place since the path was resolved.
pub(super) fn is_at(file: &impl AsFd, path: &Path) -> bool {
    let own = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    fs::read_link(own).is_ok_and(|real| real == path)
}

impl Rights {
    /// Restricts this thread, and everything that it starts, to these rights, for good.
    ///
    /// # Errors
    /// If the kernel cannot do so and it is required, or a path cannot be passed to it.
    pub(super) fn restrict(&self) -> Result<(), RulesetError> {
        let level =
            if self.is_required { CompatLevel::HardRequirement } else { CompatLevel::BestEffort };
        let mut ruleset =
            Ruleset::default().set_compatibility(level).handle_access(AccessFs::from_all(FILES))?;
        if !self.network {
            ruleset = ruleset.handle_access(AccessNet::from_all(TCP))?;
        }
        // Devices and scopes need newer kernels, so they are never required.
        let ruleset = ruleset.set_compatibility(CompatLevel::BestEffort);
        let ruleset =
            ruleset.handle_access(AccessFs::from_all(DEVICES))?.scope(Scope::from_all(SCOPES))?;

        let read = AccessFs::from_read(FILES);
        // A device node in the workspace would give access to that device, so none may be created.
        let write = AccessFs::from_all(FILES) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
        let devices = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        let of_files = AccessFs::from_file(DEVICES);
        let mut created = ruleset.create()?;
        for (places, rights) in [(&self.read, read), (&self.write, write), (&self.devices, devices)]
        {
            for place in places {
                // A path that no longer exists needs no rule.
                let Ok(handle) = PathFd::new(place) else { continue };
                if !is_at(&handle, place) {
                    continue;
                }
                let rights = if place.is_dir() { rights } else { rights & of_files };
                created = created.add_rule(PathBeneath::new(handle, rights))?;
            }
        }
        created.restrict_self().map(drop)
    }
}
