//! `lab trace`: prints what the native core does with a case. Also writes the bundle that the
//! workbench opens.

use std::{fs, path::PathBuf};

use clap::Args;
use serde::Serialize;
use wakeful::{
    case::{self, Case, CaseKind},
    trace::{Trace, Tracer},
};
use wakeful_core::foreign::Folder;

use super::Failure;

#[derive(Args)]
pub(super) struct TraceArgs {
    /// Fixture folders, stories (`.toml`, `.json`), or folders of either
    #[arg(required = true, value_name = "CASE")]
    cases: Vec<PathBuf>,
    /// Write the cases and their traces to this file, which the workbench can open
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
}

#[derive(Serialize)]
struct Bundle<'a> {
    cases: Vec<Bundled<'a>>,
}

#[derive(Serialize)]
struct Bundled<'a> {
    case: &'a str,
    kind: &'static str,
    shows: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<&'a Folder>,
    #[serde(skip_serializing_if = "Option::is_none")]
    story: Option<&'a str>,
    trace: Trace,
}

impl<'a> Bundled<'a> {
    fn new(case: &'a Case, trace: Trace) -> Self {
        let (kind, files, story) = match &case.kind {
            CaseKind::Fixture(folder) => ("fixture", Some(folder), None),
            CaseKind::Story(_, text) => ("story", None, Some(text.as_str())),
        };
        Self { case: &case.name, kind, shows: case.shows(), files, story, trace }
    }
}

impl TraceArgs {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let cases = case::load_all(&self.cases)?;
        let mut bundled = Vec::new();
        for case in &cases {
            let trace =
                Tracer::Native.trace(case).map_err(|why| format!("{}: {why}", case.name))?;
            if self.bundle.is_none() {
                println!("{}", serde_json::to_string(&trace)?);
            }
            bundled.push(Bundled::new(case, trace));
        }
        if let Some(file) = &self.bundle {
            fs::write(file, serde_json::to_string(&Bundle { cases: bundled })?)
                .map_err(|why| format!("cannot write `{}`: {why}", file.display()))?;
        }
        Ok(())
    }
}
