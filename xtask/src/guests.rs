//! Builds the guests: the component, the module for browsers and Node, and components with seeded
//! faults.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{
    call::{Call, Failure},
    paths::Paths,
};

/// The target that the guests are compiled for: no WASI, so their imports are ours alone.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// The faults that a component can be compiled with. They prove that the cross-check and the tests
/// notice a wrong engine.
const SEEDED: [&str; 2] = ["reason", "entry_byte"];

/// Builds the component, one of the world before it, the oracle and the web module in the form that
/// hosts load.
///
/// It calls cargo for each, because one call would unify the features of the packages.
pub fn build(paths: &Paths) -> Result<(), Failure> {
    make_folder(&paths.guest())?;
    compile(paths, "component", "wakeful-component", &paths.target()).build()?;
    componentize(paths, &paths.target(), "wakeful_component", "wakeful.component")?;
    let quick = paths.target().join("quick");
    compile_quickly(paths, "oracle", "wakeful-oracle", &quick).build()?;
    componentize(paths, &quick, "wakeful_oracle", "oracle.component")?;
    build_web(paths)
}

/// Builds the web module with the parts that only the cross-check and the workbench need. Visitors
/// of the workbench download it, so it compresses well too.
fn build_web(paths: &Paths) -> Result<(), Failure> {
    bind(paths, "web", "workbench", &["--features", "workbench"])?;
    order(paths, "web")
}

/// Builds the two web modules of the npm package: the fast one, which answers every question, and
/// the small one, whose functions are ordered so that it compresses well.
pub fn build_package(paths: &Paths) -> Result<(), Failure> {
    bind(paths, "npm-fast", "guest", &["--features", "questions"])?;
    bind(paths, "npm", "web", &[])?;
    order(paths, "npm")
}

/// Orders the functions of a web module so that it compresses well.
fn order(paths: &Paths, folder: &str) -> Result<(), Failure> {
    Call::new(paths, &format!("{folder}-order"), paths.tools())
        .arg("order")
        .arg(paths.guest().join(folder).join("wakeful_web_bg.wasm"))
        .build()
}

/// Compiles the web module in a profile, and writes what JavaScript loads into this folder of the
/// guests.
fn bind(paths: &Paths, folder: &str, profile: &str, features: &[&str]) -> Result<(), Failure> {
    Call::cargo(paths, &format!("{folder}-module"), "build")
        .args(["-p", "wakeful-web", "--target", TARGET, "--profile", profile])
        .args(features)
        .build()?;
    Call::new(paths, &format!("{folder}-bindgen"), paths.tools())
        // A bundler would look for the module at the default path, which is not where we keep it.
        .args(["bindgen", "--target", "web", "--omit-default-module-path"])
        .args(["--out-name", "wakeful_web", "--out-dir"])
        .arg(paths.guest().join(folder))
        .arg(paths.target().join(TARGET).join(profile).join("wakeful_web.wasm"))
        .build()
}

/// Builds the components with deliberate faults: a hostile one, and one per seeded fault. Each of
/// the latter has its own target folder, because its flags differ.
pub fn build_seeded(paths: &Paths) -> Result<(), Failure> {
    make_folder(&paths.guest())?;
    compile(paths, "hostile", "wakeful-hostile", &paths.target()).build()?;
    componentize(paths, &paths.target(), "wakeful_hostile", "hostile.component")?;
    for fault in SEEDED {
        let target = paths.target().join("seeded").join(fault);
        compile_quickly(paths, &format!("seeded-{fault}"), "wakeful-component", &target)
            .env("RUSTFLAGS", seeded_flags(env::var("RUSTFLAGS").ok().as_deref(), fault))
            .build()?;
        let name = format!("seeded-{fault}.component");
        componentize(paths, &target, "wakeful_component", &name)?;
    }
    Ok(())
}

fn seeded_flags(given: Option<&str>, fault: &str) -> String {
    let flag = format!("--cfg seeded_divergence=\"{fault}\"");
    given.map_or_else(|| flag.clone(), |given| format!("{given} {flag}"))
}

fn compile(paths: &Paths, log: &str, package: &str, target: &Path) -> Call {
    Call::cargo(paths, log, "build")
        .args(["-p", package, "--target", TARGET, "--profile", "guest"])
        .env("CARGO_TARGET_DIR", target)
}

/// Compiles a guest that only tests load. Its size and speed do not matter, so its crates compile
/// in parallel and without link-time optimisation.
fn compile_quickly(paths: &Paths, log: &str, package: &str, target: &Path) -> Call {
    compile(paths, log, package, target)
        .env("CARGO_PROFILE_GUEST_LTO", "off")
        .env("CARGO_PROFILE_GUEST_CODEGEN_UNITS", "16")
}

/// Makes a component from the compiled module, unless it is newer than both the module and the
/// tool.
fn componentize(paths: &Paths, target: &Path, from: &str, name: &str) -> Result<(), Failure> {
    let from = module(target, from);
    let to = paths.guest().join(format!("{name}.wasm"));
    if is_newer(&to, &[&from, &paths.tools()]) {
        return Ok(());
    }
    Call::new(paths, &format!("componentize-{name}"), paths.tools())
        .arg("componentize")
        .arg(from)
        .arg(to)
        .build()
}

fn module(target: &Path, name: &str) -> PathBuf {
    target.join(TARGET).join("guest").join(format!("{name}.wasm"))
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder)
        .map_err(|why| Failure::new(format!("cannot make the folder {}: {why}", folder.display())))
}

fn is_newer(made: &Path, of: &[&Path]) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let Some(made) = time(made) else { return false };
    of.iter().all(|path| time(path).is_some_and(|path| path < made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_the_environment_are_kept_beside_the_seeded_one() {
        assert_eq!(seeded_flags(None, "reason"), "--cfg seeded_divergence=\"reason\"");
        assert_eq!(
            seeded_flags(Some("-C debuginfo=1"), "reason"),
            "-C debuginfo=1 --cfg seeded_divergence=\"reason\""
        );
    }

    #[test]
    fn what_is_not_there_is_never_newer() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(!is_newer(&here.with_file_name("no such file"), &[&here]));
        assert!(!is_newer(&here, &[&here.with_file_name("no such file")]));
        assert!(!is_newer(&here, &[&here]));
    }
}
