//! Agents with a model in this process: each is opened when it has something to do, and dropped
//! when it rests.

use std::{
    collections::BTreeSet,
    fs, io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use crate::runner::{Runner, RunnerError, Watch};
use wakeful_agent::{
    Agent, AgentError, Audience, Setup, Until, confine::Workspace, openai::Cancel,
};
use wakeful_core::{
    id::{AgentId, Seq},
    record::{
        chain::Head,
        entry::{Entry, EntryBytes},
    },
};

/// Runs the turns of agents with a model.
pub struct Models {
    setup: Setup,
    folders: Folders,
    /// What was said to be not enforced. It is the same for all agents of this process.
    not_enforced: Arc<Mutex<BTreeSet<String>>>,
}

impl Models {
    /// Runs agents with this setup, apart from the id of each, its audience and, with
    /// [`Folders::Each`], its workspace. The commands of the agents work in these folders.
    #[must_use]
    pub fn new(setup: Setup, folders: Folders) -> Self {
        Self { setup, folders, not_enforced: Arc::default() }
    }
}

/// The folders in which the commands of agents work.
pub enum Folders {
    /// All in the workspace of the setup.
    One,
    /// Each in a folder of its own in this one, which is made when it is needed.
    Each(PathBuf),
}

impl Folders {
    fn of(&self, agent: &AgentId, shared: &Workspace) -> io::Result<Workspace> {
        match self {
            Self::One => Ok(shared.clone()),
            Self::Each(folder) => {
                let own = folder.join(file_name(agent.as_str()));
                fs::create_dir_all(&own)?;
                Workspace::new(&own)
            }
        }
    }
}

impl Runner for Models {
    fn live(&self, agent: &AgentId, watch: Arc<dyn Watch>) -> Result<Head, RunnerError> {
        let failed = |why: &dyn std::fmt::Display| RunnerError::Failed(why.to_string());
        let workspace = self.folders.of(agent, &self.setup.workspace).map_err(|why| {
            failed(&format!("the folder of the agent's commands cannot be made: {why}"))
        })?;
        let lost = Cancel::new();
        let setup = Setup {
            agent_id: agent.clone(),
            lost: lost.clone(),
            workspace,
            audience: Arc::new(Heard {
                watch: Arc::clone(&watch),
                not_enforced: Arc::clone(&self.not_enforced),
            }),
            ..self.setup.clone()
        };
        let mut living = Agent::open(setup).map_err(|why| match why {
            AgentError::Own(why) if why.is_driven() => RunnerError::Driven(why.to_string()),
            why => failed(&why),
        })?;
        watch.cut_by(Box::new(move || lost.cancel()));
        let handle = living.handle();
        watch.ends_by(Box::new(move || {
            // One that has ended already needs no end.
            let _ = handle.shut_down();
        }));
        let handle = living.handle();
        watch.hears_by(Arc::new(move |fact| handle.report(fact).ok()));
        living.live(Until::Idle).map_err(|why| match why {
            why @ AgentError::Lost { .. } => RunnerError::Driven(why.to_string()),
            why => failed(&why),
        })?;
        Ok(living.state().head())
    }
}

/// Passes on to the server what an agent and its children do.
struct Heard {
    watch: Arc<dyn Watch>,
    not_enforced: Arc<Mutex<BTreeSet<String>>>,
}

impl Audience for Heard {
    fn entry(&self, agent: &AgentId, entry: &Entry, _: &EntryBytes) {
        self.watch.appended(agent, Seq(entry.seq.0));
    }

    fn text(&self, agent: &AgentId, delta: &str) {
        self.watch.text(agent, delta);
    }

    fn calls(&self, _: &AgentId, _: &str) {}

    fn notice(&self, agent: &AgentId, notice: &str) {
        self.watch.notice(agent, notice);
    }

    fn not_enforced(&self, agent: &AgentId, missing: &str) {
        let mut known = self.not_enforced.lock().unwrap_or_else(PoisonError::into_inner);
        if known.insert(missing.to_owned()) {
            self.watch.notice(agent, &format!("{missing} (for all agents of this server)"));
        }
    }
}

/// A name for a file that differs for each id, whatever letters it has.
fn file_name(id: &str) -> String {
    let mut name = String::new();
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            other => name.push_str(&format!("%{other:02x}")),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::Hear;

    /// Notes what it is told.
    #[derive(Default)]
    struct Notes(Mutex<Vec<String>>);

    impl Watch for Notes {
        fn appended(&self, _: &AgentId, _: Seq) {}

        fn text(&self, _: &AgentId, _: &str) {}

        fn notice(&self, agent: &AgentId, notice: &str) {
            self.0.lock().expect("it is whole").push(format!("{agent}: {notice}"));
        }

        fn ends_by(&self, _: Box<dyn Fn() + Send + Sync>) {}

        fn cut_by(&self, _: Box<dyn Fn() + Send + Sync>) {}

        fn hears_by(&self, _: Arc<Hear>) {}
    }

    #[test]
    fn what_is_not_enforced_is_said_once_for_all_agents() {
        let (notes, not_enforced) = (Arc::<Notes>::default(), Arc::<Mutex<BTreeSet<_>>>::default());
        for agent in ["a", "b"] {
            let heard = Heard {
                watch: Arc::clone(&notes) as Arc<dyn Watch>,
                not_enforced: Arc::clone(&not_enforced),
            };
            heard.not_enforced(&agent.into(), "commands can use the network");
            heard.notice(&agent.into(), "it is slow");
        }
        let said = notes.0.lock().expect("it is whole");
        let expected = [
            "a: commands can use the network (for all agents of this server)",
            "a: it is slow",
            "b: it is slow",
        ];
        assert_eq!(*said, expected);
    }

    #[test]
    fn the_folder_of_an_agent_is_a_plain_name_of_its_own() {
        assert_eq!(file_name("ada-2_b"), "ada-2_b");
        assert_eq!(file_name("../ada"), "%2e%2e%2fada");
        assert_eq!(file_name("a%2f"), "a%252f");
        assert_ne!(file_name("a/b"), file_name("a%2fb"));
    }
}
