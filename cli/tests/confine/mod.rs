//! What commands may do: what the wall prevents. The tests need bubblewrap, and they fail with that
//! reason without it.

mod held;
mod limits;
mod network;
mod resolved;

use std::{
    fs,
    path::{Path, PathBuf},
};

use wakeful_agent::{
    command::{Excerpt, Exit, Running, Spec},
    confine::{Confinement, Policy, Surroundings, Wall, Workspace},
};

use crate::command::{Home, ended};

/// What a confined command must not read.
const SECRET: &str = "the-secret-of-the-home";

/// A home with secrets, which contains a workspace and a folder for temporary files.
struct House {
    home: Home,
}

impl House {
    fn new() -> Self {
        let house = Self { home: Home::new() };
        for (name, text) in [
            ("work/src/main.rs", "fn main() {}\n"),
            (".ssh/id_ed25519", SECRET),
            (".profile", "export PROFILE=read\n"),
            (".gitconfig", "[user]\n\tname = someone\n"),
        ] {
            house.write(name, text);
        }
        for name in ["scratch", "records"] {
            fs::create_dir(house.path(name)).expect("a folder");
        }
        house
    }

    /// A path below the home, with its links resolved.
    fn path(&self, name: &str) -> PathBuf {
        self.home.path("").canonicalize().expect("it is there").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder"))
            .and_then(|()| fs::write(path, text))
            .expect("it is written");
    }

    fn workspace(&self) -> Workspace {
        Workspace::new(&self.path("work")).expect("it is there")
    }

    fn around(&self) -> Surroundings {
        Surroundings {
            wall: Wall::default(),
            launcher: env!("CARGO_BIN_EXE_wakeful").into(),
            home: Some(self.path("")),
            scratch: self.path("scratch"),
            output: self.path("records"),
            also_read: Vec::new(),
            also_write: Vec::new(),
        }
    }

    fn confinement(&self, policy: &str) -> Confinement {
        let policy = if policy.is_empty() {
            Policy::default()
        } else {
            Policy::read(policy).expect("a policy")
        };
        Confinement::new(policy, self.workspace(), &self.around())
            .unwrap_or_else(|why| panic!("these tests need bubblewrap: {why}"))
    }

    fn run(&self, policy: &str, cmd: &str) -> Ran {
        self.run_as(policy, self.home.spec(cmd))
    }

    /// A path below the home, as text for a command line.
    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("text").to_owned()
    }

    fn run_as(&self, policy: &str, spec: Spec) -> Ran {
        let confinement = self.confinement(policy);
        let home = (std::ffi::OsString::from("HOME"), self.path("").into_os_string());
        let host = std::env::vars_os().filter(|(name, _)| name != "HOME").chain([home]);
        let spec =
            Spec { environment: confinement.environment(host), workdir: self.path("work"), ..spec };
        let limits = confinement.policy().limits.of_commands();
        let running = Running::start(&spec, &limits, Some(&confinement), &self.path("output"))
            .expect("it starts");
        let exit = ended(&running);
        Ran { exit, stdout: running.stdout(), stderr: running.stderr() }
    }
}

/// The result of a command.
#[derive(Debug)]
struct Ran {
    exit: Exit,
    stdout: Excerpt,
    stderr: Excerpt,
}

impl Ran {
    /// Checks that the command failed and did not print the secret.
    fn is_held(&self, cmd: &str) {
        assert!(!self.exit.is_success(), "{cmd}: {self:?}");
        assert!(
            !self.stdout.text.contains(SECRET) && !self.stderr.text.contains(SECRET),
            "{cmd}: {self:?}"
        );
    }

    fn is_well(&self, cmd: &str) -> &str {
        assert!(self.exit.is_success(), "{cmd}: {self:?}");
        &self.stdout.text
    }
}

fn link(to: impl AsRef<Path>, at: &Path) {
    std::os::unix::fs::symlink(to, at).expect("a link");
}
