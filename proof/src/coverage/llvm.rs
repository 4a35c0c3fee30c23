//! The two programs that read what an instrumented program wrote: llvm-profdata and llvm-cov, of the LLVM that rustc has.

use std::{
    env,
    path::{Path, PathBuf},
};

use xtask::{
    call::{Call, Failure},
    paths::{self, Paths},
};

/// Both programs, of one release.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Llvm {
    pub(super) profdata: PathBuf,
    pub(super) cov: PathBuf,
}

/// What `rustc -vV` says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rustc {
    /// The triple of the machine that it runs on.
    host: String,
    /// The first number of its LLVM: the format of profiles changes with it.
    pub(super) llvm: u32,
}

impl Rustc {
    pub(super) fn ask(paths: &Paths) -> Result<Self, Failure> {
        let said = Call::new(paths, "rustc", rustc()).arg("-vV").answer()?;
        Self::of(&said).ok_or_else(|| Failure::new("`rustc -vV` names no host and no LLVM version; coverage needs a rustc with LLVM"))
    }

    fn of(said: &str) -> Option<Self> {
        let field = |name: &str| said.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        Some(Self { host: field("host:")?.to_owned(), llvm: major(field("LLVM version:")?)? })
    }

    /// What to type where the programs are missing.
    pub(super) fn how_to_install(&self) -> String {
        format!("`rustup component add llvm-tools`, or with `apt-get install llvm-{0}` (LLVM {0}, as rustc has)", self.llvm)
    }
}

/// Looks for the programs: in rustup's component llvm-tools, then on PATH with the number in their names, then on PATH without one where
/// they say the right number themselves. Nothing where there are none.
pub(super) fn find(paths: &Paths, rustc_is: &Rustc) -> Result<Option<Llvm>, Failure> {
    let sysroot = Call::new(paths, "rustc", rustc()).args(["--print", "sysroot"]).answer()?;
    let component = Path::new(sysroot.trim()).join("lib/rustlib").join(&rustc_is.host).join("bin");
    let in_component = |name: &str| {
        let file = component.join(format!("{name}{}", env::consts::EXE_SUFFIX));
        file.is_file().then_some(file)
    };
    let numbered = |name: &str| paths::on_path(&format!("{name}-{}", rustc_is.llvm));
    let of_right_number = |name: &str| {
        let file = paths::on_path(name)?;
        let says = Call::new(paths, "llvm", &file).arg("--version").answer().ok()?;
        (version_of_program(&says) == Some(rustc_is.llvm)).then_some(file)
    };
    Ok(both(in_component).or_else(|| both(numbered)).or_else(|| both(of_right_number)))
}

/// Both programs from one place: a mixed pair may be of two releases.
fn both(find: impl Fn(&str) -> Option<PathBuf>) -> Option<Llvm> {
    Some(Llvm { profdata: find("llvm-profdata")?, cov: find("llvm-cov")? })
}

fn rustc() -> PathBuf {
    env::var_os("RUSTC").map_or_else(|| PathBuf::from("rustc"), PathBuf::from)
}

/// `22` of `Debian LLVM version 22.1.8`, in any line.
fn version_of_program(says: &str) -> Option<u32> {
    says.lines().find_map(|line| major(line.split("LLVM version").nth(1)?.trim_start_matches([':', ' '])))
}

fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_and_the_number_are_read() {
        let said =
            "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nrelease: 1.95.0\nLLVM version: 22.1.2\n";
        let rustc = Rustc::of(said).expect("both are there");
        assert_eq!(rustc, Rustc { host: "x86_64-unknown-linux-gnu".to_owned(), llvm: 22 });
        assert!(rustc.how_to_install().contains("`apt-get install llvm-22`"));
        assert_eq!(Rustc::of("host: x86_64-unknown-linux-gnu\n"), None, "another code generator");
    }

    #[test]
    fn a_program_of_another_number_is_told_apart() {
        assert_eq!(version_of_program("Debian LLVM version 22.1.8\n  Optimized build.\n"), Some(22));
        assert_eq!(version_of_program("LLVM (http://llvm.org/):\n  LLVM version 14.0.6\n"), Some(14));
        assert_eq!(version_of_program("USAGE: llvm-profdata <merge|show|overlap> [args...]\n"), None);
    }

    #[test]
    fn one_program_without_the_other_is_none() {
        assert_eq!(both(|name| (name == "llvm-cov").then(|| PathBuf::from(name))), None);
        let found = both(|name| Some(PathBuf::from(name))).expect("both");
        assert_eq!((found.profdata, found.cov), (PathBuf::from("llvm-profdata"), PathBuf::from("llvm-cov")));
    }
}
