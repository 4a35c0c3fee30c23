//! How it is known that Wakeful keeps its contract: the methods, what they found, and docs/proof.md, which is made of them.

pub(crate) mod methods;
pub(crate) mod page;
pub(crate) mod runs;

use std::{fs, process::ExitCode};

use crate::{call::Failure, paths::Paths, tidy};

/// The page.
pub(crate) const PAGE: &str = "docs/proof.md";

/// The numbers of the last run of each method.
pub(crate) const RUNS: &str = "docs/proof/runs.json";

/// The bugs that were found, as people write them.
pub(crate) const FOUND: &str = "docs/proof/found.md";

/// Writes the page.
pub(crate) fn proof(paths: &Paths) -> Result<ExitCode, Failure> {
    write(paths)?;
    anstream::println!("{PAGE}");
    Ok(ExitCode::SUCCESS)
}

/// Writes it as the tree is now.
pub(crate) fn write(paths: &Paths) -> Result<(), Failure> {
    let page = page::page(&tidy::read(paths)?).map_err(Failure::new)?;
    fs::write(paths.at(PAGE), page).map_err(|why| Failure::new(format!("cannot write {PAGE}: {why}")))
}
