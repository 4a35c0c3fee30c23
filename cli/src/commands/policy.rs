//! `wakeful policy`: what the commands of agents may do where nothing is said, and whether a file
//! that says it can be used.

use std::{fs, path::PathBuf};

use clap::Args;
use wakeful_agent::confine::Policy;

use super::{
    CliError, Verdict,
    style::{GOOD, painted},
};

#[derive(Args)]
#[command(after_help = "Exit codes: 0 printed, or in order; 2 the file cannot be \
                        used.\n\nExamples:\n  wakeful policy > policy.toml\n  wakeful policy \
                        policy.toml\n  wakeful run --ledger agent.sqlite --provider openai \
                        --model qwen3 --policy policy.toml")]
pub(super) struct PolicyArgs {
    /// A policy to check; without one the default is printed, with what each line means
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

impl PolicyArgs {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        match &self.file {
            None => super::say::text(format_args!("{}", Policy::template())),
            Some(file) => {
                read(file)?;
                say!("{} `{}` can be used", painted(GOOD, "in order:"), file.display());
            }
        }
        Ok(Verdict::Well)
    }
}

/// The policy in a file.
pub(super) fn read(file: &PathBuf) -> Result<Policy, CliError> {
    let text =
        fs::read_to_string(file).map_err(|why| CliError::Read { path: file.clone(), why })?;
    Policy::read(&text).map_err(|why| CliError::Policy { path: file.clone(), why })
}
