//! What the confinements of an agent's commands are made of, and those of git. The collection of
//! what an agent left needs the same, without a live agent.

use std::path::{Path, PathBuf};

use wakeful_core::id::TaskId;

use crate::{
    confine::{ConfineError, Confinement, Network, Policy, Surroundings, Wall, Workspace},
    worktree::{self, Layout, Worktree},
};

/// The folders of an agent, and what its commands may do there.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    pub(crate) workspace: Workspace,
    /// The agent's own folder.
    pub(crate) home: PathBuf,
    pub(crate) policy: Policy,
    pub(crate) wall: Wall,
    /// The program that confines commands.
    pub(crate) launcher: PathBuf,
    pub(crate) also_read: Vec<PathBuf>,
    pub(crate) also_write: Vec<PathBuf>,
}

impl Ground {
    /// The folder for the output of commands and the log of their requests.
    pub(crate) fn output(&self) -> PathBuf {
        self.home.join("output")
    }

    /// The confinement of the agent's commands.
    pub(crate) fn confinement(&self) -> Result<Confinement, ConfineError> {
        self.confined(self.policy.clone())
    }

    /// The same for a program that needs no network.
    pub(crate) fn without_network(&self) -> Result<Confinement, ConfineError> {
        self.confined(Policy { network: Network::Closed, ..self.policy.clone() })
    }

    fn confined(&self, policy: Policy) -> Result<Confinement, ConfineError> {
        let around = Surroundings {
            wall: self.wall,
            launcher: self.launcher.clone(),
            home: std::env::home_dir(),
            scratch: self.home.join("tmp"),
            output: self.output(),
            also_read: self.also_read.clone(),
            also_write: self.also_write.clone(),
        };
        Confinement::new(policy, self.workspace.clone(), &around)
    }

    /// The confinement of git while it makes and removes a worktree: that of the agent's own
    /// commands, without network, with the worktree and the `.git`. Commands can choose what git
    /// runs for their repository, so that must not have more rights than they.
    pub(crate) fn of_git(
        &self,
        layout: &Layout,
        worktree: &Path,
    ) -> Result<Confinement, ConfineError> {
        // Git forgets the worktrees that it does not see.
        let seen = vec![layout.repository.clone(), layout.worktrees.clone()];
        let written = vec![layout.git.clone(), worktree.to_owned()];
        let ground = Self {
            also_read: [self.also_read.clone(), seen].concat(),
            also_write: [self.also_write.clone(), written].concat(),
            ..self.clone()
        };
        ground.without_network()
    }

    /// The ground of the child that a task supervises.
    ///
    /// # Errors
    /// If its worktree or the repository of that is gone.
    pub(crate) fn of_child(
        &self,
        task: &TaskId,
        worktree: Option<&Worktree>,
    ) -> Result<Self, String> {
        let home = self.home.join(CHILDREN).join(task.as_str());
        let inherited = Self { home, ..self.clone() };
        let Some(worktree) = worktree else { return Ok(inherited) };
        let workspace = Workspace::new(&worktree.worktree_path).map_err(|why| why.to_string())?;
        let layout = worktree::layout(&worktree.original_cwd).map_err(|why| why.to_string())?;
        let mut policy = inherited.policy.clone();
        policy
            .environment
            .set_for_git(&[("safe.directory", "*"), ("core.logAllRefUpdates", "false")]);
        Ok(Self {
            workspace,
            policy,
            // Git in a worktree writes to the `.git` of the repository, which is outside the
            // worktree. The settings and hooks there stay closed: its parent and the operator
            // execute them.
            also_write: [self.also_write.clone(), layout.of_worktree(worktree)].concat(),
            also_read: [self.also_read.clone(), vec![layout.git]].concat(),
            ..inherited
        })
    }
}

/// The folder with the homes of an agent's children, in its own home.
pub(crate) const CHILDREN: &str = "children";
