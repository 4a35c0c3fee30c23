//! Builds the guests: the component, the module for browsers and Node, and components for tests.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    call::{Call, Failure},
    paths::Paths,
};

/// The target that the guests are compiled for: no WASI, so their imports are ours alone.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Compiles the component and the module for browsers and Node.
///
/// It calls cargo for each, because one call would unify the features of the packages.
pub(crate) fn compile(paths: &Paths) -> Result<(), Failure> {
    compile_component(paths, "component", "wakeful-component")?;
    compile_web(paths, "web", WORKBENCH)
}

/// Makes of what [`compile`] compiled what hosts load.
pub(crate) fn make(paths: &Paths) -> Result<(), Failure> {
    componentize(paths, "wakeful_component", "wakeful.component")?;
    // Visitors of the workbench download this module, so it compresses well too.
    bind(paths, "web", WORKBENCH)?;
    order(paths, "web")
}

/// Both, for commands that have no stages.
pub fn build(paths: &Paths) -> Result<(), Failure> {
    compile(paths)?;
    make(paths)
}

/// A web module: a profile, and features.
type Web = (&'static str, &'static [&'static str]);

/// With the parts that only the cross-check and the workbench need.
const WORKBENCH: Web = ("workbench", &["--features", "workbench"]);

/// The fast module of the npm package, which answers every question.
const FAST: Web = ("guest", &["--features", "questions"]);

/// The small module of the npm package.
const SMALL: Web = ("web", &[]);

/// Builds the two web modules of the npm package. The functions of the small one are ordered so
/// that it compresses well.
pub fn build_package(paths: &Paths) -> Result<(), Failure> {
    for (folder, web) in [("npm-fast", FAST), ("npm", SMALL)] {
        compile_web(paths, folder, web)?;
        bind(paths, folder, web)?;
    }
    order(paths, "npm")
}

/// Builds the component that misbehaves, which only tests load.
pub(crate) fn build_for_tests(paths: &Paths) -> Result<(), Failure> {
    compile_component(paths, "hostile", "wakeful-hostile")?;
    componentize(paths, "wakeful_hostile", "hostile.component")
}

fn compile_component(paths: &Paths, log: &str, package: &str) -> Result<(), Failure> {
    Call::cargo(paths, log, "build")
        .args(["-p", package, "--target", TARGET, "--profile", "guest"])
        .build()
}

fn compile_web(paths: &Paths, folder: &str, (profile, features): Web) -> Result<(), Failure> {
    Call::cargo(paths, &format!("{folder}-module"), "build")
        .args(["-p", "wakeful-web", "--target", TARGET, "--profile", profile])
        .args(features)
        .build()
}

/// Orders the functions of a web module so that it compresses well.
fn order(paths: &Paths, folder: &str) -> Result<(), Failure> {
    Call::new(paths, &format!("{folder}-order"), paths.tools())
        .arg("order")
        .arg(paths.guest().join(folder).join("wakeful_web_bg.wasm"))
        .build()
}

/// Writes what JavaScript loads into this folder of the guests.
fn bind(paths: &Paths, folder: &str, (profile, _): Web) -> Result<(), Failure> {
    Call::new(paths, &format!("{folder}-bindgen"), paths.tools())
        .arg("bindgen")
        .arg(paths.target().join(TARGET).join(profile).join("wakeful_web.wasm"))
        .arg(paths.guest().join(folder))
        .build()
}

/// Makes a component from the compiled module, unless it is newer than both the module and the
/// tool.
fn componentize(paths: &Paths, from: &str, name: &str) -> Result<(), Failure> {
    make_folder(&paths.guest())?;
    let from = module(&paths.target(), from);
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
    fn what_is_not_there_is_never_newer() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(!is_newer(&here.with_file_name("no such file"), &[&here]));
        assert!(!is_newer(&here, &[&here.with_file_name("no such file")]));
        assert!(!is_newer(&here, &[&here]));
    }
}
