//! Who commands are, and what is left of the rights of root.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
};

use rustix::{
    io,
    process::{DumpableBehavior, Gid, Uid, geteuid, set_dumpable_behavior},
    thread::{
        CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities,
        configure_capability_in_ambient_set, set_capabilities, set_capabilities_secure_bits,
        set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
    },
};
use serde::{Deserialize, Serialize};

/// The users that systems keep free for services which have no name (systemd's `DynamicUser`).
const FREE: std::ops::RangeInclusive<u32> = 61_184..=65_519;

/// The capability that commands keep if the host is root: they may use files of other owners, and
/// the mounts say which. They may not change owners or modes of such files, because the
/// devices are files of the whole machine.
const LEFT_TO_ROOT: CapabilitySet = CapabilitySet::DAC_OVERRIDE;

/// The capabilities that it takes to become another user. A container may have taken them.
const NEEDED: CapabilitySet = CapabilitySet::SETUID
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETPCAP)
    .union(LEFT_TO_ROOT);

/// A user without a name, for the commands of a host that is root. The kernel does not limit the
/// number of root's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct User(u32);

impl User {
    /// The user of an agent's commands, by the folder of its temporary files; `None` if the host is
    /// not root, may not become another user, or has no such user.
    pub(super) fn of_commands(scratch: &Path) -> Option<Self> {
        // Each agent has another one, so one that starts many processes stops no other.
        let mut hasher = DefaultHasher::new();
        scratch.hash(&mut hasher);
        let span = u64::from(FREE.end() - FREE.start() + 1);
        let offset = u32::try_from(hasher.finish() % span).unwrap_or(0);
        let user = FREE.start() + offset;
        let exists = ["/proc/self/uid_map", "/proc/self/gid_map"]
            .iter()
            .all(|map| fs::read_to_string(map).is_ok_and(|map| is_mapped(&map, user)));
        let may = capabilities(None).is_ok_and(|own| own.effective.contains(NEEDED));
        (geteuid().is_root() && exists && may).then_some(Self(user))
    }

    fn take_over(self) -> io::Result<()> {
        // Otherwise the kernel takes all rights away with the name of root, and later answers
        // programs that ask for their access as if they had none.
        let kept = CapabilitiesSecureBits::NO_SETUID_FIXUP;
        set_capabilities_secure_bits(kept | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED)?;
        let (user, group) = (Uid::from_raw(self.0), Gid::from_raw(self.0));
        set_thread_groups(&[])?;
        set_thread_res_gid(group, group, group)?;
        set_thread_res_uid(user, user, user)
    }
}

/// Whether a map of user ids has this one: lines of a first id inside, one outside, and a count.
fn is_mapped(map: &str, user: u32) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        let (Some(Ok(first)), Some(Ok(_)), Some(Ok(count))) =
            (numbers.next(), numbers.next(), numbers.next())
        else {
            return false;
        };
        (first..first.saturating_add(count)).contains(&u64::from(user))
    })
}

/// Gives up what root may do beside using files, for good, and becomes another user if one is
/// given. With all rights a command could read the memory and the environment of any process.
pub(super) fn give_up_rights(user: Option<User>) -> io::Result<()> {
    // Otherwise the next program that root executes would regain all capabilities.
    set_no_new_privs(true)?;
    user.map_or(Ok(()), User::take_over)?;
    let left = capabilities(None)?.permitted.intersection(LEFT_TO_ROOT);
    set_capabilities(None, CapabilitySets { effective: left, permitted: left, inheritable: left })?;
    if user.is_some() {
        // A user that is not root keeps rights over an `exec` only so.
        left.iter().try_for_each(|one| configure_capability_in_ambient_set(one, true))?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_exists_if_the_namespace_maps_it() {
        let whole = "         0          0 4294967295\n";
        assert!(is_mapped(whole, *FREE.end()));
        let rootless = "0 1000 1\n1 100000 65536\n";
        assert!(is_mapped(rootless, *FREE.start()));
        for too_few in ["0 1000 1\n", "0 0 61184\n", "", "0 0\n", "a b c\n"] {
            assert!(!is_mapped(too_few, *FREE.start()), "{too_few:?}");
        }
    }
}
