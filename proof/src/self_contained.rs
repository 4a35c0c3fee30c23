//! The tests of `wakeful-tests` that need the source tree and nothing else. They judge the core
//! alone, and alike in every clone.
//!
//! A test needs more where its body, or a function that it calls, asks for it. A need that is not
//! seen here fails by itself: without the guest a test says that it is not built.

use std::{collections::BTreeSet, fs, io, path::Path};

use xtask::{
    call::Failure,
    paths::{Paths, files_below},
};

/// The places of the test binary and of its library, from the root.
const SOURCES: [&str; 2] = ["tests/all", "tests/src"];

/// What asks for a built guest.
pub(crate) const GUEST: &str = "paths::guest(";

/// What asks for a program of the package, which the mutants' build leaves out.
pub(crate) const PROGRAM: &str = "env!(\"CARGO_BIN_EXE_";

/// What asks for recordings that lie beside the tree in some places; where they are absent, such a
/// test does less.
pub(crate) const BESIDE: &str = "root().join(\"../";

/// A function that stands free in a file, or a test.
#[derive(Debug)]
struct Function {
    /// The path of its module, as test names have it: `fixtures`; empty for the root.
    module: String,
    name: String,
    body: String,
    is_test: bool,
}

/// The names of the tests that need some of these, as the test binary prints them:
/// `sources::the_component_imports`.
///
/// # Errors
/// Where the sources cannot be read.
pub(crate) fn others(paths: &Paths, needs: &[&str]) -> Result<Vec<String>, Failure> {
    let mut functions = Vec::new();
    for source in SOURCES {
        let folder = paths.at(source);
        let unread =
            |why: io::Error| Failure::new(format!("cannot read {}: {why}", folder.display()));
        for file in files_below(&folder)
            .map_err(unread)?
            .iter()
            .filter(|file| file.extension().is_some_and(|end| end == "rs"))
        {
            let text = fs::read_to_string(file).map_err(unread)?;
            functions.extend(functions_of(
                &module_of(file.strip_prefix(&folder).unwrap_or(file)),
                &text,
            ));
        }
    }
    Ok(needing(&functions, needs))
}

/// Arguments of a test binary that leave these tests out.
pub(crate) fn leaving_out(tests: &[String]) -> Vec<String> {
    let skips = tests.iter().flat_map(|test| ["--skip".to_owned(), test.clone()]);
    ["--exact".to_owned()].into_iter().chain(skips).collect()
}

/// `a::b` of `a/b.rs`, `a` of `a/mod.rs`, nothing of `main.rs` and `lib.rs`.
fn module_of(file: &Path) -> String {
    let text = file.with_extension("").to_string_lossy().replace(['/', '\\'], "::");
    match text.as_str() {
        "main" | "lib" => String::new(),
        other => other.strip_suffix("::mod").unwrap_or(other).to_owned(),
    }
}

/// The functions of a formatted file that begin in its first column.
fn functions_of(module: &str, text: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut is_test = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let signature = ["pub ", "pub(crate) ", "const "]
            .iter()
            .fold(line, |rest, word| rest.strip_prefix(word).unwrap_or(rest));
        let name = signature.strip_prefix("fn ").and_then(|rest| rest.split(['(', '<']).next());
        if let Some(name) = name {
            let is_one_line = line.ends_with('}');
            let body: Vec<&str> = if is_one_line {
                vec![line]
            } else {
                lines.by_ref().take_while(|line| *line != "}").collect()
            };
            functions.push(Function {
                module: module.to_owned(),
                name: name.to_owned(),
                body: body.join("\n"),
                is_test,
            });
        }
        is_test = line == "#[test]" || (is_test && line.starts_with("#["));
    }
    functions
}

fn needing(functions: &[Function], asks: &[&str]) -> Vec<String> {
    let mut needing: BTreeSet<usize> = (0..functions.len())
        .filter(|index| asks.iter().any(|ask| functions[*index].body.contains(ask)))
        .collect();
    // Who calls one that needs more needs it too; until nothing is added.
    loop {
        let before = needing.len();
        for (index, function) in functions.iter().enumerate() {
            if needing.iter().any(|needed| calls(function, &functions[*needed])) {
                needing.insert(index);
            }
        }
        if needing.len() == before {
            break;
        }
    }
    needing
        .into_iter()
        .map(|index| &functions[index])
        .filter(|function| function.is_test)
        .map(Function::path)
        .collect()
}

/// Whether a body calls another function: by its name in the same file, by module and name
/// elsewhere.
fn calls(function: &Function, other: &Function) -> bool {
    let call = if function.module == other.module {
        format!("{}(", other.name)
    } else {
        let module = other.module.rsplit("::").next().unwrap_or_default();
        format!("{module}::{}(", other.name)
    };
    function.body.match_indices(&call).any(|(at, _)| {
        let before = function.body[..at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || matches!(before, '_' | '.'))
    })
}

impl Function {
    fn path(&self) -> String {
        if self.module.is_empty() {
            self.name.clone()
        } else {
            format!("{}::{}", self.module, self.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SANDBOX: &str = "\
fn guest_of(name: &str) -> Guest {
    Guest::load(&paths::guest(name)).expect(\"it loads\")
}

pub fn everywhere(case: &Case) {
    play(guest_of(\"a\"), case);
}
";

    const STORIES: &str = "\
#[test]
fn a_story_plays_natively() {
    play(native(), guest_of);
}

#[test]
#[should_panic(expected = \"a guest\")]
fn a_story_plays_everywhere() {
    sandbox::everywhere(&case());
}

#[test]
fn a_component_is_one() {
    let bytes = fs::read(paths::guest(\"a\"));
}

#[test]
fn all_recordings_are_read() {
    read(paths::root().join(\"../recordings\"));
}

fn everywhere() {}

#[test]
fn its_own_everywhere_is_another() {
    everywhere();
}
";

    #[test]
    fn who_calls_what_needs_more_needs_it_too() {
        let mut functions = functions_of("sandbox", SANDBOX);
        functions.extend(functions_of("stories", STORIES));
        assert_eq!(functions.iter().filter(|function| function.is_test).count(), 5);
        assert_eq!(
            needing(&functions, &[GUEST, BESIDE]),
            [
                "stories::a_story_plays_everywhere",
                "stories::a_component_is_one",
                "stories::all_recordings_are_read"
            ]
        );
    }

    #[test]
    fn a_module_is_named_as_tests_name_it() {
        for (file, module) in
            [("main.rs", ""), ("a.rs", "a"), ("a/mod.rs", "a"), ("a/b.rs", "a::b")]
        {
            assert_eq!(module_of(Path::new(file)), module, "{file}");
        }
    }

    #[test]
    fn the_tests_of_this_tree_are_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root");
        let text = fs::read_to_string(root.join("tests/all/sources.rs")).expect("a test file");
        let found = needing(&functions_of("sources", &text), &[GUEST]);
        assert!(
            found.contains(
                &"sources::the_component_imports_exactly_ledger_clock_and_provider".to_owned()
            ),
            "{found:?}"
        );
        assert!(
            !found.contains(&"sources::the_published_schema_is_what_the_types_say".to_owned()),
            "{found:?}"
        );
    }

    #[test]
    fn what_is_left_out_is_left_out_by_its_whole_name() {
        assert_eq!(leaving_out(&["a::b".to_owned()]), ["--exact", "--skip", "a::b"]);
        assert_eq!(leaving_out(&[]), ["--exact"]);
    }
}
