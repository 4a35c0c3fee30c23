//! `wakeful policy`: prints the default policy for the commands of agents, or checks a policy file.

use std::path::{Path, PathBuf};

use clap::Args;
use wakeful_agent::confine::Policy;
use wakeful_host::text;

use super::{
    CliError, Verdict,
    style::{GOOD, painted},
};

#[derive(Args)]
#[command(after_help = "\
    Exit codes:\n\
    \x20 0  printed, or the file is valid\n\
    \x20 2  the file cannot be used\n\n\
    Examples:\n\
    \x20 wakeful policy > policy.toml\n\
    \x20 wakeful policy policy.toml\n\
    \x20 wakeful run --ledger agent.sqlite --provider openai --model qwen3 --policy policy.toml")]
pub(super) struct PolicyArgs {
    /// The policy file to check; without it, print the default policy, in which each line is
    /// explained
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

impl PolicyArgs {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        match &self.file {
            None => super::say::text(format_args!("{}", Policy::template())),
            Some(file) => {
                read(file)?;
                say!("{} `{}` is a valid policy", painted(GOOD, "ok:"), file.display());
            }
        }
        Ok(Verdict::Well)
    }
}

/// Reads a policy file.
pub(super) fn read(file: &Path) -> Result<Policy, CliError> {
    let text = text::read(file).map_err(|why| CliError::Read { path: file.to_owned(), why })?;
    Policy::read(&text).map_err(|why| CliError::Policy { path: file.to_owned(), why })
}
