//! `cargo xtask seeded`: makes deliberate mistakes, one at a time, in a copy of the tree, and
//! checks that the methods find them.

pub(crate) mod mistakes;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{ExitCode, ExitStatus},
    time::Instant,
};

use crate::{
    night::{self, Programs},
    page::{
        self,
        runs::{self, Ran},
    },
};
use mistakes::{Change, FoundBy, MISTAKES, Mistake, Run};
use xtask::{
    call::{Call, Failure},
    copy, guests, native, packages,
    paths::Paths,
    stage::{bold, green, red, stage, timed},
    tools, web_demo,
};

/// The command, and the name of its last run.
pub(crate) const SEEDED: &str = "seeded";

/// The copy, below target.
const COPY: &str = "seeded/tree";

/// The built artifacts that the copy gets.
const BUILT: [&str; 5] = [
    "target/debug/deps",
    "target/debug/build",
    "target/debug/.fingerprint",
    "target/tools",
    "fuzz/target",
];

/// Makes each mistake that one of these methods must find, and runs them. All methods if none is
/// named.
pub(crate) fn seeded(paths: &Paths, methods: &[&'static str]) -> Result<ExitCode, Failure> {
    let is_asked = |found: &&FoundBy| methods.is_empty() || methods.contains(&found.method);
    // At the start: the run takes hours, and the commit may change meanwhile.
    let (commit_of_tree, begun) = (night::commit(paths)?, Instant::now());
    let copy = stage("copy", &format!("the tree, in target/{COPY}"), || fresh(paths))?;
    copy::take_over(paths, &copy, &BUILT)?;
    commit(&copy)?;
    let programs = Programs::copy(paths)?;
    let (mut asked, mut missed) = (0_usize, Vec::new());
    for mistake in MISTAKES {
        let found_by: Vec<&FoundBy> = mistake.found_by.iter().filter(is_asked).collect();
        if found_by.is_empty() {
            continue;
        }
        // Undoes the mistake before this one.
        drop(fresh(paths)?);
        mistake.changes.iter().try_for_each(|change| make(&copy, change))?;
        anstream::println!("{} ({}): {}", bold("mistake"), mistake.layer, mistake.name);
        for found in found_by {
            asked += 1;
            if !is_found(&programs, &copy, found)? {
                missed.push((mistake, found));
            }
        }
    }
    drop(fresh(paths)?);
    programs.remove();
    for (Mistake { name, .. }, FoundBy { method, .. }) in &missed {
        anstream::println!("{}: {method} does not find that {name}", red("missed"));
    }
    let verdict = format!("{} of {asked} found", asked - missed.len());
    // Only a whole success is kept, because the page says that each mistake is found.
    if methods.is_empty() && missed.is_empty() {
        let ran = Ran {
            line: SEEDED.to_owned(),
            commit: commit_of_tree,
            seconds: begun.elapsed().as_secs(),
            numbers: vec![verdict.clone()],
        };
        runs::keep(paths, SEEDED, &ran)?;
        page::write(paths)?;
    }
    anstream::println!(
        "{}: {}",
        bold("seeded"),
        if missed.is_empty() { green(verdict).to_string() } else { red(verdict).to_string() }
    );
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Makes a copy without a mistake. Each build there is used only for minutes, so the tree's own
/// packages are not optimised; dependencies stay as they are.
fn fresh(paths: &Paths) -> Result<PathBuf, Failure> {
    let copy = copy::update(paths, COPY)?;
    let file = copy.join(".cargo/config.toml");
    let packages = native::SELECTION.iter().filter(|word| **word != "-p");
    let settings: String = packages
        .map(|name| format!("\n[profile.dev.package.{name}]\nopt-level = 0\ndebug = false\n"))
        .collect();
    let written = fs::read_to_string(&file).and_then(|text| fs::write(&file, text + &settings));
    written
        .map(|()| copy)
        .map_err(|why| Failure::new(format!("cannot write {}: {why}", file.display())))
}

/// Makes the copy a git repository with one commit, the tree without a mistake. Public interfaces
/// are compared with this commit.
fn commit(copy: &Path) -> Result<(), Failure> {
    let there = Paths::from_root(copy.to_owned());
    let git = |args: &[&str]| {
        let me = ["-c", "user.name=seeded", "-c", "user.email=seeded@localhost"];
        Call::new(&there, "seeded-git", "git").args(me).args(args).recorded()
    };
    git(&["init", "--quiet"])?;
    git(&["add", "--all"])?;
    // The copy of an earlier run has its repository already, perhaps without a change.
    git(&["commit", "--quiet", "--allow-empty", "--message", "the tree"]).map(drop)
}

/// Replaces a text that occurs once in its file.
fn make(copy: &Path, Change { file, from, to }: &Change) -> Result<(), Failure> {
    let path = copy.join(file);
    let text = fs::read_to_string(&path)
        .map_err(|why| Failure::new(format!("cannot read {}: {why}", path.display())))?;
    // Two places would make two mistakes. None would leave the tree as it is.
    if text.matches(from).count() != 1 {
        return Err(Failure::new(format!(
            "the text that a mistake changes does not stand once in {file}; tell \
             proof/src/seeded/mistakes.rs"
        )));
    }
    fs::write(&path, text.replacen(from, to, 1))
        .map_err(|why| Failure::new(format!("cannot write {}: {why}", path.display())))
}

/// Whether the method fails with the expected message.
fn is_found(
    programs: &Programs,
    copy: &Path,
    FoundBy { method, run, says }: &FoundBy,
) -> Result<bool, Failure> {
    let there = Paths::from_root(copy.to_owned());
    let ((status, printed), took) =
        match timed(method, "it must fail", || call(programs, &there, method, *run)?.told()) {
            (Ok(told), took) => (told, took),
            (Err(failure), _) => return Err(failure),
        };
    let is_found = has_failed(status) && printed.contains(says);
    let log = there.log(&format!("night-{method}"));
    if is_found {
        anstream::println!("  {method}: {} in {} s", green("found"), took.clock.as_secs());
    } else {
        anstream::println!(
            "  {method}: {} ({status}, and `{says}` is not said); {}",
            red("not found"),
            log.display()
        );
    }
    Ok(is_found)
}

/// Whether it failed on its own: not by a wrong command line, nor by a missing tool.
fn has_failed(status: ExitStatus) -> bool {
    !status.success() && !matches!(status.code(), Some(2 | 3))
}

fn call(programs: &Programs, there: &Paths, method: &str, run: Run) -> Result<Call, Failure> {
    match run {
        Run::Command(line) => Ok(programs.with(there, method, line)),
        Run::Tests(target, begin) => {
            let target = if target == "lib" { vec!["--lib"] } else { vec!["--test", target] };
            Ok(Call::cargo(there, &format!("night-{method}"), "test")
                .args(native::SELECTION)
                .args(target)
                .args(["--", begin]))
        }
        Run::Workbench => {
            tools::build(there)?;
            guests::build(there)?;
            packages::install(there, &there.web_demo())?;
            Ok(web_demo::script(there, "test"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::methods::METHODS;

    #[test]
    fn what_a_mistake_changes_stands_once_in_its_file() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root");
        for Change { file, from, to } in MISTAKES.iter().flat_map(|mistake| mistake.changes) {
            let text = fs::read_to_string(root.join(file)).expect("a file");
            assert_eq!(text.matches(from).count(), 1, "{file}: {from}");
            assert_ne!(from, to, "{file}");
        }
    }

    #[test]
    fn every_method_can_fail() {
        for method in &METHODS {
            let finds = MISTAKES
                .iter()
                .flat_map(|mistake| mistake.found_by)
                .any(|found| found.method == method.name);
            assert!(finds || !method.fails.is_empty(), "{} was never seen to fail", method.name);
        }
    }

    #[test]
    fn what_must_find_a_mistake_is_a_method() {
        for found in MISTAKES.iter().flat_map(|mistake| mistake.found_by) {
            assert!(METHODS.iter().any(|method| method.name == found.method), "{}", found.method);
        }
    }
}
