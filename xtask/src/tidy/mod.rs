//! `cargo xtask tidy`: what no compiler checks. Each check reads the whole tree and gives findings.

pub mod citations;
mod dependencies;
mod fixtures;
mod frozen;
mod gaps;
mod hosts;
mod ignored;
mod layers;
mod machine;
mod measured;
mod named_files;
mod names;
mod opening;
mod released;
mod size;
pub mod statements;
pub mod test_parts;
mod times;
pub mod tree;
mod unfinished;
mod versions;
mod words;
mod world;

use std::{fmt, process::ExitCode};

use crate::{
    call::Failure,
    paths::Paths,
    stage::{bold, green},
};
use tree::Tree;

/// One thing to put right.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, from the root.
    pub path: String,
    /// From 1; 0 when it is about the file as a whole.
    pub line: usize,
    /// What is wrong, and what to do.
    pub text: String,
}

impl Finding {
    /// About a line of a file; 0 for the file as a whole.
    pub fn new(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line.max(1), self.text)
    }
}

const CHECKS: [fn(&Tree) -> Vec<Finding>; 19] = [
    opening::check,
    layers::check,
    names::check,
    named_files::check,
    machine::check,
    hosts::check,
    unfinished::check,
    dependencies::check,
    citations::check,
    gaps::check,
    fixtures::check,
    world::check,
    released::check,
    versions::check,
    frozen::check,
    size::check,
    times::check,
    words::check,
    measured::check,
];

/// Check what no compiler checks: layers, words, names, citations
///
/// Prints each finding as `file:line: what is wrong; what to do`:
///
/// layers: a module of the core uses only modules above it in core/src/lib.rs
///
/// words: size of README and ARCHITECTURE, no phrase of a list; frozen texts are in one place
///
/// files: opening comment, names, unfinished code, switched-off tests
///
/// machines: paths of one machine, registry hosts
///
/// lists: reasons for dependencies, fixture folders, released worlds, versions, times on pages
///
/// citations: each statement of docs/contract.md has code and a test that cite it, as `contract
/// 5.3`, `D4` or `I16`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct Options {
    /// First print a line per statement: its number, the first code and the first test that cite it
    /// (`-` for none), `(live)`
    #[arg(long)]
    statements: bool,
    /// First print the statements that nothing cites
    #[arg(long)]
    uncited: bool,
    /// First print the lines of code: product, tests and tools
    #[arg(long)]
    size: bool,
    /// First write docs/times.md with what the last `run`, `test` and `test --all` took
    #[arg(long)]
    times: bool,
}

/// Prints what is asked for, the findings, and what the tree does not cite yet.
pub(crate) fn tidy(paths: &Paths, options: Options) -> Result<ExitCode, Failure> {
    if options.times {
        crate::times::write(paths)?;
    }
    let tree = read(paths)?;
    if options.uncited {
        anstream::println!("not cited: {}", gaps::uncited(&tree).join(" "));
    }
    if options.statements {
        anstream::print!("{}", gaps::listing(&tree));
    }
    if options.size {
        anstream::print!("{}", size::listing(&tree));
    }
    let findings = findings(&tree);
    for finding in &findings {
        anstream::println!("{finding}");
    }
    anstream::println!("{}: {}", bold("citations"), gaps::summary(&tree));
    if findings.is_empty() {
        anstream::println!(
            "{}: {} in {} files",
            bold("tidy"),
            green("no finding"),
            tree.files.len()
        );
        return Ok(ExitCode::SUCCESS);
    }
    anstream::println!(
        "{}: {} findings in {} files",
        bold("tidy"),
        findings.len(),
        tree.files.len()
    );
    Ok(ExitCode::FAILURE)
}

/// The same as a stage of the tests: a failure that lists the findings.
pub(crate) fn check(paths: &Paths) -> Result<(), Failure> {
    let findings = findings(&read(paths)?);
    if findings.is_empty() {
        return Ok(());
    }
    let printed: Vec<String> = findings.iter().map(ToString::to_string).collect();
    Err(Failure {
        what: format!("{} findings of tidy", findings.len()),
        printed: printed.join("\n"),
    })
}

/// Reads the tree.
///
/// # Errors
/// If a file cannot be read.
pub fn read(paths: &Paths) -> Result<Tree, Failure> {
    Tree::read(paths.root()).map_err(|why| Failure::new(format!("cannot read the tree: {why}")))
}

fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(tree)).collect();
    findings.sort();
    findings
}
