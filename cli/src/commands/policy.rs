//! `wakeful print policy`: the default policy for the commands of agents, or the check of a file.

use std::{
    env,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use wakeful_agent::confine::{Confinement, Policy, Surroundings, Wall, Workspace};
use wakeful_host::text;

use super::{
    CliError, Verdict,
    style::{BAD, GOOD, STRONG, painted},
};

#[derive(Args)]
#[command(after_help = "\
    Exit codes:\n\
    \x20 0  printed, or the file is valid\n\
    \x20 2  the file cannot be used\n\n\
    Examples:\n\
    \x20 wakeful print policy > policy.toml\n\
    \x20 wakeful print policy --check policy.toml\n\
    \x20 wakeful print policy --check policy.toml --wall container\n\
    \x20 wakeful run --ledger agent.sqlite --provider openai --workspace project --model qwen3 --policy policy.toml")]
pub(super) struct PolicyArgs {
    /// Check this policy file, and say what of it holds on this machine, instead of printing the
    /// default policy, in which each line is explained
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// What keeps commands in their workspace; this is tried on this machine
    #[arg(long, value_enum, default_value = "bubblewrap", requires = "check")]
    wall: WallName,
}

/// What keeps commands in their workspace.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum WallName {
    /// Namespaces of their own for each command
    Bubblewrap,
    /// The container in which this program runs (docs/agent.md)
    Container,
}

impl From<WallName> for Wall {
    fn from(name: WallName) -> Self {
        match name {
            WallName::Bubblewrap => Self::Bubblewrap,
            WallName::Container => Self::Container,
        }
    }
}

impl PolicyArgs {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        match &self.check {
            None => super::say::text(format_args!("{}", Policy::template())),
            Some(file) => {
                let policy = read(file)?;
                say!("{} `{}` is a valid policy", painted(GOOD, "ok:"), file.display());
                if let Some(hosts) = policy.network.hosts() {
                    say!("commands reach only these hosts:");
                    hosts.iter().for_each(|host| say!("  {host}, {}", host.ports()));
                }
                self.tell_what_holds(policy);
            }
        }
        Ok(Verdict::Well)
    }

    /// Says which wall holds on this machine, and what of the policy it does not enforce.
    fn tell_what_holds(&self, policy: Policy) {
        let wall = Wall::from(self.wall);
        // The rest of a confinement does not matter here.
        let around = Surroundings {
            wall,
            launcher: env::current_exe().unwrap_or_default(),
            home: env::home_dir(),
            scratch: env::temp_dir(),
            output: env::temp_dir(),
            also_read: Vec::new(),
            also_write: Vec::new(),
        };
        let tried =
            Workspace::new(Path::new(".")).map_err(|why| why.to_string()).and_then(|workspace| {
                Confinement::new(policy, workspace, &around).map_err(|why| why.to_string())
            });
        match tried {
            Err(why) => say!("{} {why}", painted(BAD, "here:")),
            Ok(confinement) => {
                say!("{} commands run behind {wall}", painted(STRONG, "here:"));
                for missing in confinement.describe() {
                    say!("{} {missing}", painted(STRONG, "not enforced:"));
                }
            }
        }
    }
}

/// Reads a policy file.
pub(super) fn read(file: &Path) -> Result<Policy, CliError> {
    let text = text::read(file).map_err(|why| CliError::Read { path: file.to_owned(), why })?;
    Policy::read(&text).map_err(|why| CliError::Policy { path: file.to_owned(), why })
}
