//! Where things are in the tree, so that each place is written once.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use crate::call::Failure;

/// The root of the tree, and the places below it.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    root: PathBuf,
}

impl Paths {
    /// Finds the root: cargo says where this package is, and without cargo it is looked for from the current folder upwards.
    pub(crate) fn find() -> Result<Self, Failure> {
        let from_cargo = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let start = from_cargo.or_else(|| env::current_dir().ok()).unwrap_or_default();
        start
            .ancestors()
            .find(|folder| folder.join("xtask/Cargo.toml").is_file() && folder.join("core/Cargo.toml").is_file())
            .map(|root| Self { root: root.to_owned() })
            .ok_or_else(|| Failure::new("this is not the tree of Wakeful; run `cargo xtask` inside it"))
    }

    /// The places below another root: a copy of the tree.
    pub(crate) fn of(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn at(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    pub(crate) fn target(&self) -> PathBuf {
        self.at("target")
    }

    /// What each stage printed.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.target().join("xtask").join(format!("{name}.log"))
    }

    /// The folder of what the guests are made into: the component, the web module, the seeded components.
    pub(crate) fn guest(&self) -> PathBuf {
        self.target().join("guest")
    }

    pub(crate) fn web_demo(&self) -> PathBuf {
        self.at("web-demo")
    }

    pub(crate) fn npm(&self) -> PathBuf {
        self.at("npm")
    }

    /// The command line of the native host.
    pub(crate) fn wakeful(&self) -> PathBuf {
        self.target().join("debug").join(program("wakeful"))
    }

    /// The program that lets families of agents live.
    pub(crate) fn sim(&self) -> PathBuf {
        self.target().join("debug").join(program("sim"))
    }

    /// The program that lets processes die.
    pub(crate) fn crash(&self) -> PathBuf {
        self.target().join("debug").join(program("crash"))
    }

    /// The program that searches the states of the machine.
    pub(crate) fn model(&self) -> PathBuf {
        self.target().join("debug").join(program("model"))
    }

    /// A program as it is released.
    pub(crate) fn released(&self, name: &str) -> PathBuf {
        self.target().join("release").join(program(name))
    }

    /// The build tools' program.
    pub(crate) fn tools(&self) -> PathBuf {
        self.target().join("tools/debug").join(program("wakeful-tools"))
    }
}

/// The file name of a program on this system.
pub(crate) fn program(name: &str) -> String {
    format!("{name}{}", env::consts::EXE_SUFFIX)
}

/// The program called `name` in a folder of PATH.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program(name))).find(|file| file.is_file())
}

/// Every file in a folder and below it, sorted.
pub(crate) fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
