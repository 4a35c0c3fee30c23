//! Finds the tests of `wakeful-tests` that need only the source tree. They test the core alone,
//! with the same result in every clone.
//!
//! A test needs more if its body, or a function that it calls, uses more. A use that is missed here
//! makes the test fail: without the guest, a test says that it is not built.

use std::{collections::BTreeSet, fs, io, path::Path};

use xtask::{
    call::Failure,
    paths::{Paths, files_below},
};

/// The folders of the test binary and its library, from the root.
const SOURCES: [&str; 2] = ["tests/all", "tests/src"];

/// The text of a use of a built guest.
pub(crate) const GUEST: &str = "paths::guest(";

/// The text of a use of a program of the package, which is not built for mutants.
pub(crate) const PROGRAM: &str = "env!(\"CARGO_BIN_EXE_";

/// The text of a use of recordings beside the tree. If they are absent, such a test does less.
pub(crate) const BESIDE: &str = "root().join(\"../";

/// A free function or a test.
#[derive(Debug)]
struct Function {
    /// The path of its module as in test names, such as `fixtures`. Empty for the root.
    module: String,
    name: String,
    body: String,
    is_test: bool,
}

/// The names of the tests that need some of these, as the test binary prints them, such as
/// `sources::the_component_imports`.
///
/// # Errors If the sources cannot be read.
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

/// Arguments for a test binary that exclude these tests.
pub(crate) fn leaving_out(tests: &[String]) -> Vec<String> {
    let skips = tests.iter().flat_map(|test| ["--skip".to_owned(), test.clone()]);
    // Otherwise `--skip` would also exclude tests whose names contain such a name.
    ["--exact".to_owned()].into_iter().chain(skips).collect()
}

/// `a::b` for `a/b.rs`, `a` for `a/mod.rs`, and nothing for `main.rs` and `lib.rs`.
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
        // Another attribute may come between `#[test]` and its function.
        is_test = line == "#[test]" || (is_test && line.starts_with("#["));
    }
    functions
}

fn needing(functions: &[Function], asks: &[&str]) -> Vec<String> {
    let mut needing: BTreeSet<usize> = (0..functions.len())
        .filter(|index| asks.iter().any(|ask| functions[*index].body.contains(ask)))
        .collect();
    // A caller needs what its callees need. Repeat until nothing is added.
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

/// Whether a function calls another one: by its name in the same file, else by module and name.
fn calls(function: &Function, other: &Function) -> bool {
    let call = if function.module == other.module {
        format!("{}(", other.name)
    } else {
        let module = other.module.rsplit("::").next().unwrap_or_default();
        format!("{module}::{}(", other.name)
    };
    function.body.match_indices(&call).any(|(at, _)| {
        let before = function.body[..at].chars().next_back();
        // The end of a longer name, or a method, is another function.
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
            !found.contains(&"sources::the_published_schemas_are_what_the_types_say".to_owned()),
            "{found:?}"
        );
    }

    #[test]
    fn what_is_left_out_is_left_out_by_its_whole_name() {
        assert_eq!(leaving_out(&["a::b".to_owned()]), ["--exact", "--skip", "a::b"]);
        assert_eq!(leaving_out(&[]), ["--exact"]);
    }
}
