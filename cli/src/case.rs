//! Cases: what a replay or a cross-check plays. A fixture folder is a ledger to observe, a story is
//! an agent to drive.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use wakeful_core::{foreign::Folder, json::JsonError, story::Story};
use wakeful_host::ledger::Format;

use crate::{scenario::NoCommand, story};

/// Something to play.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name: that of its folder or file.
    pub name: String,
    /// Where it was read; none where it was made.
    pub path: Option<PathBuf>,
    /// What it is.
    pub kind: CaseKind,
}

/// What a case is.
#[derive(Clone, Debug)]
pub enum CaseKind {
    /// A fixture folder: its texts by path.
    Fixture(Folder),
    /// A story and its JSON text.
    Story(Box<Story>, String),
}

impl Case {
    /// What it shows, in a sentence; empty where it does not say.
    #[must_use]
    pub fn shows(&self) -> &str {
        match &self.kind {
            CaseKind::Fixture(folder) => folder.get("README.md").map_or("", |text| text.trim()),
            CaseKind::Story(story, _) => &story.shows,
        }
    }
}

/// Why there is no case.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// Nothing is there.
    #[error("`{}` does not exist", .0.display())]
    NoSuchPath(PathBuf),
    /// It holds the ledgers of agents.
    #[error("`{}` is a file of ledgers: `wakeful status`, `why` and `log` read it, and `wakeful export` makes a case of it", .0.display())]
    Ledgers(PathBuf),
    /// The folder holds nothing to play.
    #[error("`{}` holds no case: a fixture is a folder with `agent.json`, `expected.json` and `ledger/`, a data folder has `.holon/`, a story is a `.toml` or `.json` file", .0.display())]
    Empty(PathBuf),
    /// The folder holds more than one.
    #[error("`{}` holds {count} cases: name one of them", path.display())]
    Several {
        /// The folder.
        path: PathBuf,
        /// How many.
        count: usize,
    },
    /// It cannot be read.
    #[error("cannot read `{}`: {why}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// A scenario cannot be understood.
    #[error("{}: {why}", path.display())]
    NoScenario {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: NoCommand,
    },
    /// A story cannot be understood.
    #[error("{}:{}:{}: {}{}", path.display(), why.line, why.column, why.message, if why.path.is_empty() { String::new() } else { format!(" (field `{}`)", why.path) })]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        why: JsonError,
    },
}

/// The cases below some paths, in the order given, and by name within a folder.
///
/// # Errors
/// The first path at which there is no case, or a story that cannot be understood. Fixtures are not
/// looked into: what is wrong with them, every engine must say by itself.
pub fn load_all(paths: &[PathBuf]) -> Result<Vec<Case>, CaseError> {
    let mut all = Vec::new();
    for path in paths {
        let found = find(path)?;
        if found.cases.is_empty() {
            return Err(CaseError::Empty(path.clone()));
        }
        all.extend(found.cases);
    }
    Ok(all)
}

/// What is below a path.
#[derive(Default)]
pub(crate) struct Below {
    /// The cases.
    pub(crate) cases: Vec<Case>,
    /// The files of scenarios, `.txt`.
    pub(crate) scenarios: Vec<PathBuf>,
}

/// The cases and scenarios below a path; there may be none.
///
/// # Errors
/// As [`load_all`].
pub(crate) fn find(path: &Path) -> Result<Below, CaseError> {
    let mut below = Below::default();
    load(path, &mut below)?;
    Ok(below)
}

/// The one case at a path.
///
/// # Errors
/// As [`load_all`], and where there are several.
pub fn load_one(path: &Path) -> Result<Case, CaseError> {
    let mut cases = find(path)?.cases;
    match (cases.pop(), cases.len()) {
        (Some(case), 0) => Ok(case),
        (Some(_), others) => Err(CaseError::Several { path: path.to_owned(), count: others + 1 }),
        (None, _) => Err(CaseError::Empty(path.to_owned())),
    }
}

fn load(path: &Path, below: &mut Below) -> Result<(), CaseError> {
    let cases = &mut below.cases;
    if path.is_file() && is_scenario(path) {
        below.scenarios.push(path.to_owned());
    } else if Format::from_file(path).is_some() {
        return Err(CaseError::Ledgers(path.to_owned()));
    } else if path.is_file() {
        cases.push(story(path)?);
    } else if !path.is_dir() {
        return Err(CaseError::NoSuchPath(path.to_owned()));
    } else if path.join(".holon").is_dir() {
        // An agent's home holds much else; only what the runtime keeps of itself is read.
        let mut folder = Folder::new();
        let ledger = path.join(".holon/ledger");
        if ledger.is_dir() {
            read_texts(path, &ledger, &mut folder)?;
        }
        let agent = path.join(".holon/state/agent.json");
        if agent.is_file() {
            folder.insert(".holon/state/agent.json".to_owned(), read(&agent)?);
        }
        cases.push(Case {
            name: name_of(path),
            path: Some(path.to_owned()),
            kind: CaseKind::Fixture(folder),
        });
    } else if ["agent.json", "expected.json", "ledger"].iter().any(|name| path.join(name).exists())
    {
        let mut folder = Folder::new();
        read_texts(path, path, &mut folder)?;
        cases.push(Case {
            name: name_of(path),
            path: Some(path.to_owned()),
            kind: CaseKind::Fixture(folder),
        });
    } else {
        for child in children(path)? {
            if child.is_dir() || is_story(&child) || is_scenario(&child) {
                load(&child, below)?;
            }
        }
    }
    Ok(())
}

fn is_story(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json" || extension == "toml")
}

fn is_scenario(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "txt")
}

fn story(path: &Path) -> Result<Case, CaseError> {
    let (story, text) = load_story(path)?;
    Ok(Case {
        name: name_of(path),
        path: Some(path.to_owned()),
        kind: CaseKind::Story(Box::new(story), text),
    })
}

/// The story in a file, TOML where its name ends so and else JSON, and its JSON text.
///
/// # Errors
/// Where the file cannot be read or understood.
pub fn load_story(path: &Path) -> Result<(Story, String), CaseError> {
    let text = read(path)?;
    let read = match path.extension().is_some_and(|extension| extension == "toml") {
        true => story::read_toml(&text),
        false => Story::read(&text).map(|story| (story, text)),
    };
    read.map_err(|why| CaseError::Malformed { path: path.to_owned(), why })
}

/// The last name of a path without extension, also where the path ends in `.` or `..`.
pub(crate) fn name_of(path: &Path) -> String {
    let absolute = path.canonicalize();
    let path = absolute.as_deref().unwrap_or(path);
    path.file_stem()
        .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn read_texts(root: &Path, folder: &Path, texts: &mut Folder) -> Result<(), CaseError> {
    for child in children(folder)? {
        if child.is_dir() {
            read_texts(root, &child, texts)?;
            continue;
        }
        let names: Vec<_> = child
            .strip_prefix(root)
            .unwrap_or(&child)
            .iter()
            .map(|name| name.to_string_lossy())
            .collect();
        texts.insert(names.join("/"), read(&child)?);
    }
    Ok(())
}

fn children(folder: &Path) -> Result<Vec<PathBuf>, CaseError> {
    let unreadable = |why| CaseError::Unreadable { path: folder.to_owned(), why };
    let mut children: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(unreadable)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(unreadable)?;
    children.sort();
    Ok(children)
}

pub(crate) fn read(path: &Path) -> Result<String, CaseError> {
    fs::read_to_string(path).map_err(|why| CaseError::Unreadable { path: path.to_owned(), why })
}
