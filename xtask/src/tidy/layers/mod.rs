//! The order of the core's floors: a module uses only modules above it in `core/src/lib.rs`, and no
//! large group of files use each other in a circle.
//!
//! Code under `#[cfg(test)]` may use everything.

mod circles;
mod modules;
mod uses;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Finding,
    tree::{File, Tree},
};
use circles::{Graph, circles};
use modules::Modules;
use uses::{Path, Uses};

pub(super) use uses::{end_of_item, is_for_tests};

const ROOT: &str = "core/src/lib.rs";
const SOURCES: &str = "core/src/";

/// The exceptions, for a while.
const EXCEPTIONS: &str = "xtask/src/tidy/layers.txt";

/// The number of files that a reader can hold at once, if they must be read together.
const LARGEST_CIRCLE: usize = 8;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(root) = tree.file(ROOT) else {
        return vec![Finding::new(
            ROOT,
            0,
            "the root of the core is missing, so the order of its modules cannot be checked",
        )];
    };
    let (core, mut findings) = Core::read(tree, root);
    let exceptions =
        Exceptions::read(tree.file(EXCEPTIONS).map_or("", |file| &file.text), &mut findings);
    let (uses, graph) = core.judge();
    findings.extend(exceptions.judge(uses));
    findings.extend(exceptions.judge_circles(&circles(&graph)));
    findings
}

/// A use of a floor above the file's own.
#[derive(Debug)]
struct Upward {
    path: String,
    line: usize,
    floor: String,
    text: String,
}

/// The files of the core, read.
struct Core<'a> {
    files: Vec<(&'a File, Path, Uses)>,
    modules: Modules,
    /// The floors in the order of the root's `mod` lines.
    floors: Vec<String>,
}

impl<'a> Core<'a> {
    fn read(tree: &'a Tree, root: &File) -> (Self, Vec<Finding>) {
        let mut findings = Vec::new();
        let mut files = Vec::new();
        for file in tree
            .files
            .iter()
            .filter(|file| file.path.starts_with(SOURCES) && file.extension() == "rs")
        {
            let scope = module_of(&file.path);
            match uses::read(&file.text, &scope) {
                Ok(uses) => files.push((file, scope, uses)),
                Err(why) => findings.push(Finding::new(&file.path, 0, why)),
            }
        }
        // A file whose `mod` line is under `cfg(test)` is not declared by any file that was read.
        let declared: BTreeSet<Path> =
            files.iter().flat_map(|(_, _, uses)| uses.modules.iter().cloned()).collect();
        files.retain(|(file, scope, _)| {
            file.path == root.path || (1..=scope.len()).all(|end| declared.contains(&scope[..end]))
        });
        let mut modules = Modules::default();
        for (file, scope, uses) in &files {
            modules.add(&file.path, scope, uses);
        }
        let of_root = files
            .iter()
            .find(|(file, ..)| file.path == root.path)
            .map(|(_, _, uses)| &uses.modules);
        let floors = of_root
            .into_iter()
            .flatten()
            .filter(|module| module.len() == 1)
            .map(|module| module.concat())
            .collect();
        (Self { files, modules, floors }, findings)
    }

    /// Every use of a higher floor, and which files use which.
    fn judge(&self) -> (Vec<Upward>, Graph) {
        let mut upward = Vec::new();
        let mut graph = Graph::new();
        // The root only declares and re-exports, so it is not on a floor.
        for (file, scope, uses) in self.files.iter().filter(|(_, scope, _)| !scope.is_empty()) {
            let used = graph.entry(file.path.clone()).or_default();
            let imports =
                uses.imports.iter().map(|one| (&one.path, &one.scope, one.line, one.name == "*"));
            let mentions = uses.mentions.iter().map(|one| (&one.path, &one.scope, one.line, false));
            let mut seen = BTreeSet::new();
            // Imports come first, because a mention may continue the name of one of them.
            for (path, stands_in, line, takes_all) in imports.chain(mentions) {
                let Some(whole) =
                    self.modules.absolute(path, stands_in).filter(|whole| !whole.is_empty())
                else {
                    continue;
                };
                let (module, is_module) = self.modules.definition(&whole);
                // A name through an imported module is a separate use, so the module's own file is
                // not counted here.
                if (takes_all || !is_module)
                    && let Some(of) =
                        self.modules.file(&module).filter(|of| *of != file.path && *of != ROOT)
                {
                    used.insert(of.to_owned());
                }
                for (floor, text) in self.wrong_floors(&scope[0], &whole, &module) {
                    // A path that continues an imported name was found at its import.
                    let is_known =
                        starts_with_a_name(path) && seen.iter().any(|(_, other)| *other == floor);
                    if !is_known && seen.insert((line, floor.clone())) {
                        upward.push(Upward { path: file.path.clone(), line, floor, text });
                    }
                }
            }
        }
        (upward, graph)
    }

    /// The floors that a file of the floor `mine` may not use: the one that is named, and the one
    /// that defines the name.
    fn wrong_floors(
        &self,
        mine: &str,
        path: &[String],
        module: &[String],
    ) -> Vec<(String, String)> {
        let place = |floor: &str| self.floors.iter().position(|other| other == floor);
        let (Some(named), Some(own)) = (path.first(), place(mine)) else { return Vec::new() };
        let shown = format!("crate::{}", path.join("::"));
        let mut wrong = Vec::new();
        if place(named).is_none() {
            let what =
                if self.modules.is_export_of_root(named) { "re-exported by" } else { "defined in" };
            wrong.push((
                "lib".to_owned(),
                format!(
                    "`{shown}` is {what} the root; name the floor, not a re-export of the root"
                ),
            ));
        }
        let floors: BTreeSet<&String> =
            [Some(named), module.first()].into_iter().flatten().collect();
        for floor in
            floors.into_iter().filter(|floor| place(floor).is_some_and(|other| other > own))
        {
            let text = format!(
                "`{mine}` uses `{floor}`, which is below it in {ROOT} (`{shown}`); move what \
                 it needs to a floor before `{mine}`, or this code to one after `{floor}`"
            );
            wrong.push((floor.clone(), text));
        }
        wrong
    }
}

/// Whether a path begins with a name of its own module, not with `crate`, `super` or `self`.
fn starts_with_a_name(path: &[String]) -> bool {
    path.first()
        .is_some_and(|first| !["crate", "wakeful_core", "super", "self"].contains(&first.as_str()))
}

/// `["plane", "task"]` for `core/src/plane/task/mod.rs`.
fn module_of(path: &str) -> Path {
    let inner = path.strip_prefix(SOURCES).unwrap_or(path).trim_end_matches(".rs");
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    if inner == "lib" { Path::new() } else { inner.split('/').map(str::to_owned).collect() }
}

/// The list of exceptions.
#[derive(Debug, Default)]
struct Exceptions {
    /// File and floor, and the line of the list.
    uses: BTreeMap<(String, String), usize>,
    /// The number of files and the line of the list.
    largest_circle: Option<(usize, usize)>,
}

impl Exceptions {
    fn read(text: &str, findings: &mut Vec<Finding>) -> Self {
        let mut exceptions = Self::default();
        for (index, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        {
            let mut words = line.split_whitespace();
            match (words.next(), words.next(), words.next()) {
                (Some("largest-circle"), Some(number), None) if number.parse::<usize>().is_ok() => {
                    exceptions.largest_circle =
                        number.parse().ok().map(|number| (number, index + 1));
                }
                (Some(file), Some(floor), Some(_)) => {
                    exceptions.uses.insert((file.to_owned(), floor.to_owned()), index + 1);
                }
                _ => findings.push(Finding::new(
                    EXCEPTIONS,
                    index + 1,
                    "a line is `file floor reason` or `largest-circle number`",
                )),
            }
        }
        exceptions
    }

    /// The uses that no line allows, and the lines that allow nothing.
    fn judge(&self, uses: Vec<Upward>) -> Vec<Finding> {
        let mut unused = self.uses.clone();
        let mut findings = Vec::new();
        for Upward { path, line, floor, text } in uses {
            let key = (path, floor);
            unused.remove(&key);
            if !self.uses.contains_key(&key) {
                findings.push(Finding::new(&key.0, line, text));
            }
        }
        for ((file, floor), line) in unused {
            findings.push(Finding::new(
                EXCEPTIONS,
                line,
                format!("{file} does not use `{floor}` against the order; remove the line"),
            ));
        }
        findings
    }

    fn judge_circles(&self, circles: &[Vec<String>]) -> Vec<Finding> {
        let largest = circles.first().map_or(1, Vec::len);
        let mut findings = Vec::new();
        // An allowance that is too large would let the circle grow again.
        if let Some((allowed, line)) = self.largest_circle.filter(|(allowed, _)| largest < *allowed)
        {
            let what = if largest > LARGEST_CIRCLE {
                format!("write {largest}, not {allowed}")
            } else {
                "remove the line".to_owned()
            };
            findings.push(Finding::new(
                EXCEPTIONS,
                line,
                format!("the largest circle has {largest} files; {what}"),
            ));
        }
        let most =
            self.largest_circle.map_or(LARGEST_CIRCLE, |(allowed, _)| allowed.max(LARGEST_CIRCLE));
        for circle in circles.iter().filter(|circle| circle.len() > most) {
            let inner: Vec<&str> =
                circle.iter().map(|path| path.strip_prefix(SOURCES).unwrap_or(path)).collect();
            let text = format!(
                "{} files use each other in a circle, more than {most}; make some use only what \
                 stands before them: {}",
                circle.len(),
                inner.join(" ")
            );
            findings.push(Finding::new(&circle[0], 0, text));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOORS: (&str, &str) =
        (ROOT, "mod low;\npub mod middle;\nmod high;\npub use high::Thing;\n");

    /// The findings about a tree of the three floors with these files.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![FLOORS, ("core/src/high.rs", "pub struct Thing;\n")];
        for other in ["core/src/low.rs", "core/src/middle.rs"] {
            if !files.iter().any(|(path, _)| *path == other) {
                all.push((other, ""));
            }
        }
        all.extend(files);
        check(&Tree::from_files(&all)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_use_of_an_lower_floor_is_right_and_of_a_higher_one_is_found() {
        assert_eq!(
            found(&[(
                "core/src/high.rs",
                "use crate::{low::A, middle};\nfn f() { middle::g() }\n"
            )]),
            [""; 0]
        );
        let found = found(&[(
            "core/src/low.rs",
            "use crate::{\n    middle,\n};\nfn f() { super::high::g() }\n",
        )]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with(
                "core/src/low.rs:2: `low` uses `middle`, which is below it in core/src/lib.rs"
            ),
            "{found:?}"
        );
        assert!(found[1].starts_with("core/src/low.rs:4: `low` uses `high`"), "{found:?}");
    }

    #[test]
    fn tests_may_use_every_floor() {
        let inside = "#[cfg(test)]\n\
                      use crate::high::Thing;\n\
                      #[cfg(test)]\n\
                      mod tests {\n\
                      \x20   use crate::high::Thing;\n\
                      }\n";
        assert_eq!(found(&[("core/src/low.rs", inside)]), [""; 0]);
        let beside = [
            ("core/src/low.rs", "#[cfg(test)]\nmod tests;\n"),
            ("core/src/low/tests.rs", "use crate::high::Thing;\n"),
        ];
        assert_eq!(found(&beside), [""; 0]);
    }

    #[test]
    fn a_re_export_is_followed_to_the_floor_that_has_it() {
        let found = found(&[
            ("core/src/middle.rs", "pub use crate::high::*;\n"),
            ("core/src/low.rs", "fn f(a: crate::middle::Thing) {}\n"),
        ]);
        let floors: Vec<&str> = found.iter().filter_map(|one| one.split('`').nth(3)).collect();
        assert_eq!(floors, ["high", "high", "middle"], "{found:?}");
        let through_a_name = "use super::middle as m;\nfn f() { m::Thing }\n";
        let found = self::found(&[
            ("core/src/middle.rs", "#[cfg(test)]\nmod t;\n"),
            ("core/src/low.rs", through_a_name),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("core/src/low.rs:1: `low` uses `middle`"), "{found:?}");
    }

    #[test]
    fn a_re_export_of_the_root_is_found() {
        let found = found(&[("core/src/low.rs", "use crate::Thing;\n")]);
        assert!(
            found[0].starts_with(
                "core/src/low.rs:1: `crate::Thing` is re-exported by the root; name the floor"
            ),
            "{found:?}"
        );
    }

    #[test]
    fn an_exception_allows_one_floor_to_one_file_and_is_found_when_nothing_needs_it() {
        let low = ("core/src/low.rs", "use crate::{high::Thing, middle::A};\n");
        let found = found(&[
            low,
            (
                EXCEPTIONS,
                "# why\n\
                 core/src/low.rs high it moves soon\n\
                 core/src/middle.rs high it moved\n\
                 nonsense\n",
            ),
        ]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("xtask/src/tidy/layers.txt:4: a line is"), "{found:?}");
        assert!(found[1].starts_with("core/src/low.rs:1: `low` uses `middle`"), "{found:?}");
        assert_eq!(
            found[2],
            "xtask/src/tidy/layers.txt:3: core/src/middle.rs does not use `high` against the \
             order; remove the line"
        );
    }

    /// A floor of `count` files. Each uses the next through the floor's re-exports, and the last
    /// uses the first.
    fn ring(files: usize) -> Vec<(String, String)> {
        let names: Vec<String> = (0..files).map(|number| format!("f{number}")).collect();
        let exports =
            names.iter().map(|name| format!("mod {name};\npub use {name}::T{name};\n")).collect();
        let mut all = vec![("core/src/middle.rs".to_owned(), exports)];
        for (index, name) in names.iter().enumerate() {
            let next = &names[(index + 1) % files];
            all.push((
                format!("core/src/middle/{name}.rs"),
                format!("use super::T{next};\npub struct T{name};\n"),
            ));
        }
        all
    }

    #[test]
    fn a_large_circle_is_counted_through_re_exports() {
        let found_in = |files: usize, exceptions: &str| {
            let ring = ring(files);
            let mut ring: Vec<(&str, &str)> =
                ring.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            ring.push((EXCEPTIONS, exceptions));
            found(&ring)
        };
        assert_eq!(found_in(8, ""), [""; 0]);
        let found = found_in(9, "");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with(
                "core/src/middle/f0.rs:1: 9 files use each other in a circle, more than 8"
            ),
            "{found:?}"
        );
        assert_eq!(found_in(9, "largest-circle 9\n"), [""; 0]);
        let found = found_in(9, "largest-circle 10\n");
        assert_eq!(
            found,
            ["xtask/src/tidy/layers.txt:1: the largest circle has 9 files; write 9, not 10"]
        );
        let found = found_in(8, "largest-circle 10\n");
        assert_eq!(
            found,
            ["xtask/src/tidy/layers.txt:1: the largest circle has 8 files; remove the line"]
        );
    }
}
