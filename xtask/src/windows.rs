//! Checks the published crates for Windows; nothing runs there. docs/platforms.md has the table of
//! platforms.

use crate::{
    call::{Call, Failure},
    debian,
    paths::{self, Paths},
    set_up,
};

/// The crates that are published.
pub const PUBLISHED: [&str; 7] = [
    "wakeful-json-derive",
    "wakeful-json",
    "wakeful-core",
    "wakeful-host",
    "wakeful-agent",
    "wakeful-serve",
    "wakeful",
];

/// The GNU target of Windows, because other systems have a compiler and libraries for it.
const TARGET: &str = "x86_64-pc-windows-gnu";

/// The C compiler, by the name that the crate `cc` searches. SQLite, ring and BLAKE3 have C code or
/// assembly.
const COMPILER: &str = "x86_64-w64-mingw32-gcc";

const HOW: &str = "install MinGW (Debian: apt-get install gcc-mingw-w64-x86-64)";

/// Installs what is missing, and checks the crates for Windows.
pub(crate) fn check(paths: &Paths) -> Result<(), Failure> {
    set_up::add_targets(paths, &[TARGET])?;
    if paths::on_path(COMPILER).is_none() {
        debian::install(
            paths,
            "windows",
            &["gcc-mingw-w64-x86-64"],
            &format!("`{COMPILER}` is not on PATH; {HOW}"),
        )?;
    }
    let packages = PUBLISHED.iter().flat_map(|name| ["-p", name]);
    Call::cargo(paths, "windows", "check").args(packages).args(["--target", TARGET]).build()
}
