//! docs/proof.md: how Wakeful is checked against its contract, with which methods, and what they
//! found.

mod judged;
pub(crate) mod methods;
pub(crate) mod runs;
pub(crate) mod text;

use std::{fs, process::ExitCode};

use xtask::{call::Failure, paths::Paths, tidy};

/// The page.
pub(crate) const PAGE: &str = "docs/proof.md";

/// The numbers of the last run of each method.
pub(crate) const RUNS: &str = "docs/proof/runs.json";

/// The bugs that were found; people write this page.
pub(crate) const FOUND: &str = "docs/proof/found.md";

/// Writes the page.
pub(crate) fn proof(paths: &Paths) -> Result<ExitCode, Failure> {
    write(paths)?;
    anstream::println!("{PAGE}");
    Ok(ExitCode::SUCCESS)
}

/// Prints what the page lacks.
pub(crate) fn check(paths: &Paths) -> Result<ExitCode, Failure> {
    let findings = judged::check(&tidy::read(paths)?);
    findings.iter().for_each(|finding| anstream::println!("{finding}"));
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes the page from the tree.
pub(crate) fn write(paths: &Paths) -> Result<(), Failure> {
    let page = text::page(&tidy::read(paths)?).map_err(Failure::new)?;
    fs::write(paths.at(PAGE), page)
        .map_err(|why| Failure::new(format!("cannot write {PAGE}: {why}")))
}
