//! `cargo xtask deny`: checks licences, bans and sources of every dependency against deny.toml.

use std::{collections::BTreeSet, fs, process::ExitCode};

use crate::licences;
use xtask::{
    call::{Call, Failure},
    needed::missing,
    paths::Paths,
    stage::{bold, green},
};

/// The workspaces; each has its own lock file.
const WORKSPACES: [&str; 3] = [".", "fuzz", "xtask/tools"];

/// Runs cargo-deny on each workspace.
pub(crate) fn deny(paths: &Paths) -> Result<ExitCode, Failure> {
    if Call::cargo(paths, "deny-version", "deny").arg("--version").answer().is_err() {
        return Ok(missing("cargo-deny", "`cargo install --locked cargo-deny`"));
    }
    for workspace in WORKSPACES {
        let manifest = paths.at(workspace).join("Cargo.toml");
        let call = Call::cargo(paths, "deny", "deny")
            .arg("--manifest-path")
            .arg(&manifest)
            .arg("--config")
            .arg(paths.at("deny.toml"));
        let status = call
            .args([
                "--locked",
                "--all-features",
                "check",
                "--allow",
                "unused-wrapper",
                "licenses",
                "bans",
                "sources",
            ])
            .pass_through()?;
        if !status.success() {
            return Err(Failure::new(format!(
                "the packages of {} are not as deny.toml has them ({status})",
                manifest.display()
            )));
        }
    }
    let (packages, others) = (packages(paths)?, licences::check(paths)?);
    anstream::println!(
        "{}: {packages} packages in {} workspaces, {}",
        bold("deny"),
        WORKSPACES.len(),
        green("licences, bans and sources are as deny.toml has them")
    );
    anstream::println!(
        "{}: {others} packages of npm and PyPI, {}",
        bold("deny"),
        green("their licences are as deny.toml has them")
    );
    Ok(ExitCode::SUCCESS)
}

/// The number of different packages in the lock files.
fn packages(paths: &Paths) -> Result<usize, Failure> {
    let mut names = BTreeSet::new();
    for workspace in WORKSPACES {
        let lock = paths.at(workspace).join("Cargo.lock");
        let text = fs::read_to_string(&lock)
            .map_err(|why| Failure::new(format!("cannot read {}: {why}", lock.display())))?;
        names.extend(locked(&text));
    }
    Ok(names.len())
}

/// Name and version of each package of a lock file.
fn locked(text: &str) -> impl Iterator<Item = (String, String)> {
    let value = |line: Option<&str>, key: &str| {
        Some(line?.strip_prefix(key)?.trim_matches([' ', '=', '"']).to_owned())
    };
    text.split("[[package]]\n").skip(1).filter_map(move |package| {
        let mut lines = package.lines();
        Some((value(lines.next(), "name")?, value(lines.next(), "version")?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_a_lock_are_told_apart_by_name_and_version() {
        let lock = "version = 4\n\n\
                    [[package]]\n\
                    name = \"a\"\n\
                    version = \"1.0.0\"\n\n\
                    [[package]]\n\
                    name = \"a\"\n\
                    version = \"2.0.0\"\n\
                    dependencies = []\n";
        let found: Vec<_> = locked(lock).collect();
        assert_eq!(
            found,
            [("a", "1.0.0"), ("a", "2.0.0")]
                .map(|(name, version)| (name.to_owned(), version.to_owned()))
        );
    }
}
