//! Cases: the input of a replay or a cross-check. A fixture folder is a ledger to observe, and a
//! story is an agent to drive.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use wakeful_core::{foreign::Folder, json::JsonError, story::Story};
use wakeful_host::{ledger::Format, text};

use crate::{scenario::NoCommand, story};

/// A fixture or a story.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of its folder or file, without extension.
    pub name: String,
    /// The path of the folder or file; `None` if the case was generated.
    pub path: Option<PathBuf>,
    /// The content.
    pub kind: CaseKind,
}

/// The content of a case.
#[derive(Clone, Debug)]
pub enum CaseKind {
    /// A fixture folder: its texts, by path.
    Fixture(Folder),
    /// A story, and the same story as JSON text.
    Story(Box<Story>, String),
}

impl Case {
    /// What the case shows, in a sentence; empty if it does not say.
    #[must_use]
    pub fn shows(&self) -> &str {
        match &self.kind {
            CaseKind::Fixture(folder) => folder.get("README.md").map_or("", |text| text.trim()),
            CaseKind::Story(story, _) => &story.shows,
        }
    }
}

/// Why a case cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The path does not exist.
    #[error("`{}` does not exist", .0.display())]
    NoSuchPath(PathBuf),
    /// The file holds ledgers.
    #[error(
        "`{}` is a ledger file: read it with `wakeful status`, `why` or `log`, or make a case from \
         it with `wakeful export`",
        .0.display()
    )]
    Ledgers(PathBuf),
    /// The folder has no case in it.
    #[error(
        "`{}` contains no case: a fixture is a folder with `agent.json`, `expected.json` and \
         `ledger/`, a data folder has `.holon/`, a story is a `.toml` or `.json` file",
        .0.display()
    )]
    Empty(PathBuf),
    /// The folder has several cases in it.
    #[error("`{}` contains {count} cases: name one of them", path.display())]
    Several {
        /// The folder.
        path: PathBuf,
        /// The number of cases.
        count: usize,
    },
    /// A file or folder cannot be read.
    #[error("cannot read `{}`: {why}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// A scenario is malformed.
    #[error("{}: {why}", path.display())]
    NoScenario {
        /// The file.
        path: PathBuf,
        /// The line, and what is wrong with it.
        why: NoCommand,
    },
    /// A story is malformed.
    #[error(
        "{}:{}:{}: {}{}",
        path.display(), why.line, why.column, why.message,
        if why.path.is_empty() { String::new() } else { format!(" (field `{}`)", why.path) }
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        why: JsonError,
    },
}

/// Loads the cases below some paths: in the given order, and by name within a folder.
///
/// # Errors
/// If a path has no case below it, or a story is malformed. Fixtures are not checked here: each
/// engine must report what is wrong with them.
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

/// The cases and scenarios below a path.
#[derive(Default)]
pub(crate) struct Below {
    /// In order of their names.
    pub(crate) cases: Vec<Case>,
    /// The scenario files (`.txt`).
    pub(crate) scenarios: Vec<PathBuf>,
}

/// Finds the cases and scenarios below a path. There may be none.
///
/// # Errors
/// As for [`load_all`].
pub(crate) fn find(path: &Path) -> Result<Below, CaseError> {
    let mut below = Below::default();
    load(path, &mut below)?;
    Ok(below)
}

/// Loads the only case at a path.
///
/// # Errors
/// As for [`load_all`], and if there are several cases.
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
        // Recognised by its content, not by its name.
        return Err(CaseError::Ledgers(path.to_owned()));
    } else if path.is_file() {
        cases.push(story(path)?);
    } else if !path.is_dir() {
        return Err(CaseError::NoSuchPath(path.to_owned()));
    } else if path.join(".holon").is_dir() {
        // An agent's home contains much else. Only the runtime's own files are read.
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
            // Other files may lie beside the cases, such as a README. Only a file that is named
            // itself must be a case.
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

/// Reads the story in a file, and returns it also as JSON text. A file that does not end in `.toml`
/// is read as JSON.
///
/// # Errors
/// If the file cannot be read, or is not a story.
pub fn load_story(path: &Path) -> Result<(Story, String), CaseError> {
    let text = read(path)?;
    let read = match path.extension().is_some_and(|extension| extension == "toml") {
        true => story::read_toml(&text),
        false => Story::read(&text).map(|story| (story, text)),
    };
    read.map_err(|why| CaseError::Malformed { path: path.to_owned(), why })
}

/// The last name of a path without extension, also if the path ends in `.` or `..`.
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
        // A folder's texts are found by paths with `/`, on every platform.
        let names: Vec<_> = child
            .strip_prefix(root)
            .unwrap_or(&child)
            .iter()
            .map(|name| name.to_string_lossy())
            .collect();
        // Only lines may end in the middle, because their writer may have died.
        let is_lines = child.extension().is_some_and(|extension| extension == "jsonl");
        let text = if is_lines { text::read_json_lines(&child) } else { text::read(&child) };
        texts.insert(names.join("/"), text.map_err(|why| unreadable(&child, why))?);
    }
    Ok(())
}

fn children(folder: &Path) -> Result<Vec<PathBuf>, CaseError> {
    let unreadable = |why| unreadable(folder, why);
    let mut children: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(unreadable)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(unreadable)?;
    // The system lists a folder in any order, and no output may depend on it.
    children.sort();
    Ok(children)
}

pub(crate) fn read(path: &Path) -> Result<String, CaseError> {
    text::read(path).map_err(|why| unreadable(path, why))
}

fn unreadable(path: &Path, why: io::Error) -> CaseError {
    CaseError::Unreadable { path: path.to_owned(), why }
}
