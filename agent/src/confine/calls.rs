//! The system calls that commands may not make: what namespaces do not cover.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// Why the filter cannot be applied.
pub(super) type FilterError = seccompiler::Error;

/// Calls that no command needs: they change mounts, namespaces, keys or the machine, or look into
/// other processes.
const NEVER: [i64; 42] = [
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_syslog,
];

/// Kinds of sockets that a command may make: local ones, those of the internet, and those that ask
/// the kernel about the network.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The bit of a mode that gives a program the rights of its owner. A command of root could leave
/// such a program in the workspace, and anyone who runs it would be root.
const SETUID: u64 = 0o4000;

/// Calls with a mode, and which argument it is.
#[cfg(target_arch = "x86_64")]
const WITH_MODE: [(i64, u8); 7] = [
    (libc::SYS_chmod, 1),
    (libc::SYS_creat, 1),
    (libc::SYS_mknod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
];
#[cfg(not(target_arch = "x86_64"))]
const WITH_MODE: [(i64, u8); 4] =
    [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2), (libc::SYS_mknodat, 2)];

/// Calls that make a file if their flags say so, and which argument the flags are. The mode
/// follows them.
#[cfg(target_arch = "x86_64")]
const THAT_MAKE: [(i64, u8); 2] = [(libc::SYS_open, 1), (libc::SYS_openat, 2)];
#[cfg(not(target_arch = "x86_64"))]
const THAT_MAKE: [(i64, u8); 1] = [(libc::SYS_openat, 2)];

/// A newer `fchmodat`. Its number is the same on all processors, and `libc` has it only for some.
const FCHMODAT2: i64 = 452;

/// A protocol of TCP that no command needs.
const MPTCP: u64 = 262;

/// The filters: most refused calls answer that they are not permitted. `clone3` and `openat2`,
/// whose flags a filter cannot read, answer that they do not exist, so that programs use `clone`
/// and `openat`.
pub(super) fn filters() -> Result<[BpfProgram; 2], FilterError> {
    let not_permitted = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let unknown = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let program = |rules, action| {
        let arch = std::env::consts::ARCH.try_into()?;
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?;
        Ok::<_, FilterError>(filter.try_into()?)
    };
    Ok([
        program(refused()?, not_permitted)?,
        program(
            [libc::SYS_clone3, libc::SYS_openat2].map(|call| (call, Vec::new())).into(),
            unknown,
        )?,
    ])
}

/// Restricts this thread, and everything that it starts, for good.
pub(super) fn restrict() -> Result<(), FilterError> {
    filters()?.iter().try_for_each(|program| seccompiler::apply_filter(program))
}

fn refused() -> Result<BTreeMap<i64, Vec<SeccompRule>>, FilterError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        NEVER.iter().map(|call| (*call, Vec::new())).collect();
    let word =
        |argument, op, value| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value);
    let rule = |conditions| SeccompRule::new(conditions);
    let equals = SeccompCmpOp::Eq;
    // Typing into the terminal of another process.
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        let typed = rule(vec![word(1, equals.clone(), request)?])?;
        rules.entry(libc::SYS_ioctl).or_default().push(typed);
    }
    let other = FAMILIES
        .iter()
        .map(|family| word(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())))
        .collect::<Result<Vec<_>, _>>()?;
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        rules.entry(call).or_default().push(rule(other.clone())?);
        rules.entry(call).or_default().push(rule(vec![word(2, equals.clone(), MPTCP)?])?);
    }
    let has = |argument, bits| word(argument, SeccompCmpOp::MaskedEq(bits), bits);
    for (call, mode) in WITH_MODE {
        rules.entry(call).or_default().push(rule(vec![has(mode, SETUID)?])?);
    }
    // Without one of these flags the mode has no meaning and can be anything. The second is the bit
    // of `O_TMPFILE` that `O_DIRECTORY` does not have.
    let makes = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];
    for (call, flags) in THAT_MAKE {
        for flag in makes.map(|flag| u64::from(flag.unsigned_abs())) {
            let setuid = vec![has(flags, flag)?, has(flags + 1, SETUID)?];
            rules.entry(call).or_default().push(rule(setuid)?);
        }
    }
    // No command needs a message that opens its connection (TCP fast open).
    for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
        let opens = has(flags, u64::from(libc::MSG_FASTOPEN.unsigned_abs()))?;
        rules.entry(call).or_default().push(rule(vec![opens])?);
    }
    // The limits of another process.
    rules.insert(libc::SYS_prlimit64, vec![rule(vec![word(0, SeccompCmpOp::Ne, 0)?])?]);
    let user = libc::CLONE_NEWUSER.unsigned_abs();
    let in_own_namespace = SeccompCmpOp::MaskedEq(u64::from(user));
    rules.insert(libc::SYS_clone, vec![rule(vec![word(0, in_own_namespace, u64::from(user))?])?]);
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_can_be_built_for_this_machine() {
        assert!(filters().expect("filters").iter().all(|program| program.len() > 3));
    }
}
