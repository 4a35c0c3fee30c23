//! Whether this process is in a container, which is then the wall.
//!
//! The operator asked for that wall, so these signs only prevent mistakes: an attacker gains
//! nothing by faking one.

use std::{fs, path::Path};

/// Files that an engine makes in a container: Docker, Podman, and the systemd inside.
const FILES: [&str; 3] = [".dockerenv", "run/.containerenv", "run/systemd/container"];

/// The variable that systemd-nspawn, LXC and Podman give to the first process.
const VARIABLE: &str = "container=";

/// The process namespace of the machine itself; the kernel has its number as a constant
/// (`PROC_PID_INIT_INO`). Kubernetes leaves no other sign.
const OF_THE_MACHINE: &str = "pid:[4026531836]";

/// The sign below this root that says so; `None` if there is none.
pub(super) fn sign(root: &Path) -> Option<String> {
    let file = FILES.into_iter().find(|file| root.join(file).exists());
    let variable = || {
        let first = fs::read(root.join("proc/1/environ")).unwrap_or_default();
        let value = first
            .split(|byte| *byte == 0)
            .find_map(|one| one.strip_prefix(VARIABLE.as_bytes()))
            .filter(|value| !value.is_empty())?;
        Some(format!("`{VARIABLE}{}`", String::from_utf8_lossy(value).escape_debug()))
    };
    let namespace = || {
        let own = fs::read_link(root.join("proc/self/ns/pid")).ok()?;
        (own != Path::new(OF_THE_MACHINE)).then(|| "processes of its own".to_owned())
    };
    file.map(|file| format!("`/{file}`")).or_else(variable).or_else(namespace)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// The sign below a root with this process namespace, environment of the first process and
    /// file.
    fn found(namespace: &str, environment: &str, file: Option<&str>) -> Option<String> {
        let root = tempfile::tempdir().expect("a folder");
        for folder in ["proc/1", "proc/self/ns", "run/systemd"] {
            fs::create_dir_all(root.path().join(folder)).expect("a folder");
        }
        symlink(namespace, root.path().join("proc/self/ns/pid")).expect("a link");
        fs::write(root.path().join("proc/1/environ"), environment).expect("a file");
        if let Some(file) = file {
            fs::write(root.path().join(file), "").expect("a file");
        }
        sign(root.path())
    }

    #[test]
    fn each_sign_of_a_container_is_enough_and_a_machine_has_none() {
        let machine = OF_THE_MACHINE;
        assert_eq!(found(machine, "PATH=/bin\0my_container=x\0container=\0", None), None);
        assert_eq!(found(machine, "", Some("etc-dockerenv")), None);
        for file in FILES {
            assert_eq!(found(machine, "", Some(file)), Some(format!("`/{file}`")));
        }
        let given = found(machine, "PATH=/bin\0container=lxc\0", None);
        assert_eq!(given.as_deref(), Some("`container=lxc`"));
        let own = found("pid:[4026532171]", "PATH=/bin\0", None);
        assert_eq!(own.as_deref(), Some("processes of its own"));
        let nothing = tempfile::tempdir().expect("a folder");
        assert_eq!(sign(nothing.path()), None, "nothing is known without `/proc`");
    }
}
