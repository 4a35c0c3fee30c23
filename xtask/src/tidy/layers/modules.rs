//! Resolves a path to its module and file, through re-exports.

use std::collections::{BTreeMap, BTreeSet};

use super::uses::{Import, Path, Uses};

/// Real chains of re-exports are shorter; a longer one is a circle.
const MOST_STEPS: usize = 16;

/// The names of all files of a crate.
#[derive(Debug, Default)]
pub(super) struct Modules {
    /// Each module, and the path of its file.
    files: BTreeMap<Path, String>,
    /// Each imported name of a module, and the path of its import.
    imports: BTreeMap<(Path, String), Path>,
    /// The modules from which a module imports all names.
    globs: BTreeMap<Path, Vec<Path>>,
    items: BTreeSet<(Path, String)>,
}

impl Modules {
    /// Adds the file that is the module `scope`.
    pub(super) fn add(&mut self, path: &str, scope: &[String], uses: &Uses) {
        self.files.insert(scope.to_vec(), path.to_owned());
        for module in &uses.modules {
            // A module with its own file is added with that file, before or after this one.
            self.files.entry(module.clone()).or_insert_with(|| path.to_owned());
        }
        for Import { scope, path, name, .. } in &uses.imports {
            if name == "*" {
                self.globs.entry(scope.clone()).or_default().push(path.clone());
            } else {
                self.imports.insert((scope.clone(), name.clone()), path.clone());
            }
        }
        self.items.extend(uses.items.iter().cloned());
    }

    /// The path from the root of the crate, with imported names replaced by what they import.
    /// `None` if it leads to another crate.
    pub(super) fn absolute(&self, path: &[String], scope: &[String]) -> Option<Path> {
        self.absolute_in(path, scope, 0)
    }

    fn absolute_in(&self, path: &[String], scope: &[String], steps: usize) -> Option<Path> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            // The core names itself, because its derives do.
            "crate" | "wakeful_core" => return Some(rest.to_vec()),
            "self" => return Some([scope, rest].concat()),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                let above = scope.len().checked_sub(ups)?;
                return Some([&scope[..above], &path[ups..]].concat());
            }
            _ => {}
        }
        if self.files.contains_key(&[scope, std::slice::from_ref(first)].concat()) {
            return Some([scope, path].concat());
        }
        let import = self.imports.get(&(scope.to_vec(), first.clone()))?;
        // `use name;` of a macro of this module.
        if steps == MOST_STEPS || import.as_slice() == [first.clone()] {
            return None;
        }
        Some([self.absolute_in(import, scope, steps + 1)?.as_slice(), rest].concat())
    }

    /// The module that a path from the root leads to, and whether the path names the module itself
    /// instead of an item in it.
    pub(super) fn definition(&self, path: &[String]) -> (Path, bool) {
        self.definition_in(path, 0)
    }

    fn definition_in(&self, path: &[String], steps: usize) -> (Path, bool) {
        let mut module = Path::new();
        for (index, name) in path.iter().enumerate() {
            module.push(name.clone());
            if self.files.contains_key(&module) {
                continue;
            }
            module.pop();
            let rest = &path[index + 1..];
            if steps < MOST_STEPS
                && let Some(step) = self.imported(&module, name)
            {
                return self.definition_in(&[step.as_slice(), rest].concat(), steps + 1);
            }
            return (module, false);
        }
        (module, true)
    }

    /// The path from which a module imports a name.
    fn imported(&self, module: &[String], name: &String) -> Option<Path> {
        // This order is that of Rust: a named import or an own item hides what a glob brings.
        if let Some(path) = self.imports.get(&(module.to_vec(), name.clone())) {
            return self
                .absolute(path, module)
                .filter(|path| path.as_slice() != [module, std::slice::from_ref(name)].concat());
        }
        if self.items.contains(&(module.to_vec(), name.clone())) {
            return None;
        }
        let globs = self.globs.get(module)?;
        globs
            .iter()
            .filter_map(|glob| self.absolute(glob, module))
            .find(|of| self.has(of, name))
            .map(|of| [of, vec![name.clone()]].concat())
    }

    fn has(&self, module: &[String], name: &String) -> bool {
        let named = (module.to_vec(), name.clone());
        self.items.contains(&named)
            || self.imports.contains_key(&named)
            || self.files.contains_key(&[module, std::slice::from_ref(name)].concat())
    }

    /// The file of a module.
    pub(super) fn file(&self, module: &[String]) -> Option<&str> {
        self.files.get(module).map(String::as_str)
    }

    /// Whether the root of the crate re-exports this name.
    pub(super) fn is_export_of_root(&self, name: &str) -> bool {
        self.imports.contains_key(&(Path::new(), name.to_owned()))
    }
}
