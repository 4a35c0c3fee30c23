//! The places of the tree, each written once.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use crate::call::Failure;

/// The root of the tree, and the places below it.
#[derive(Clone, Debug)]
pub struct Paths {
    root: PathBuf,
}

impl Paths {
    /// Finds the root. Cargo says where this package is; without cargo, the search goes upwards
    /// from the current folder.
    pub fn find() -> Result<Self, Failure> {
        let from_cargo = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let start = from_cargo.or_else(|| env::current_dir().ok()).unwrap_or_default();
        start
            .ancestors()
            .find(|folder| {
                folder.join("xtask/Cargo.toml").is_file()
                    && folder.join("core/Cargo.toml").is_file()
            })
            .map(|root| Self { root: root.to_owned() })
            .ok_or_else(|| {
                Failure::new("this is not the tree of Wakeful; run `cargo xtask` inside it")
            })
    }

    /// The places in a copy of the tree.
    pub fn from_root(root: PathBuf) -> Self {
        Self { root }
    }

    /// The folder of the workspace.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path from the root, with `/` between folders.
    pub fn at(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// The target folder of cargo, which also holds what these programs keep.
    pub fn target(&self) -> PathBuf {
        self.at("target")
    }

    /// The folder with the output of each stage.
    pub fn log(&self, name: &str) -> PathBuf {
        self.target().join("xtask").join(format!("{name}.log"))
    }

    /// The folder of the built guests: the component, the web module, the seeded components.
    pub fn guest(&self) -> PathBuf {
        self.target().join("guest")
    }

    /// The folder of the workbench.
    pub fn web_demo(&self) -> PathBuf {
        self.at("web-demo")
    }

    /// The folder of the npm package.
    pub fn npm(&self) -> PathBuf {
        self.at("npm")
    }

    /// The command line of the native host.
    pub fn wakeful(&self) -> PathBuf {
        self.target().join("debug").join(program("wakeful"))
    }

    /// A program in its release profile.
    pub fn released(&self, name: &str) -> PathBuf {
        self.target().join("release").join(program(name))
    }

    /// The build tools' program.
    pub fn tools(&self) -> PathBuf {
        self.target().join("debug").join(program("wakeful-tools"))
    }
}

/// The file name of a program on this system.
pub fn program(name: &str) -> String {
    format!("{name}{}", env::consts::EXE_SUFFIX)
}

/// The program called `name` in a folder of PATH.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program(name))).find(|file| file.is_file())
}

/// Every file in a folder and below it, sorted.
pub fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
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
