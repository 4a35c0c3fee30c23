//! Installs packages of Debian, if the machine runs Debian, the user is root, and did not forbid
//! it.

use std::env;

use crate::{
    call::{Call, Failure},
    paths::{self, Paths},
};

/// Installs packages for the stage `name`.
///
/// # Errors Returns `missing` if nothing may be installed here. It says what is missing, and how to
/// install it.
pub(crate) fn install(
    paths: &Paths,
    name: &str,
    packages: &[&str],
    missing: &str,
) -> Result<(), Failure> {
    let may =
        env::var_os("WAKEFUL_NO_INSTALL").is_none_or(|value| value.is_empty() || value == "0");
    // A closure, because it starts a program, which is needless if an earlier condition decides.
    let is_root =
        || Call::new(paths, name, "id").arg("-u").answer().is_ok_and(|user| user.trim() == "0");
    if !may || paths::on_path("apt-get").is_none() || !is_root() {
        return Err(Failure::new(missing));
    }
    anstream::eprintln!(
        "{name}: installing {} with apt-get (WAKEFUL_NO_INSTALL=1 forbids it)",
        packages.join(" and ")
    );
    let apt = |log: &str| Call::new(paths, log, "apt-get").env("DEBIAN_FRONTEND", "noninteractive");
    apt("apt-update").arg("update").build()?;
    apt("apt-install").args(["install", "-y", "--no-install-recommends"]).args(packages).build()
}
