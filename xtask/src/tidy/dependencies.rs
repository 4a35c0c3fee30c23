//! Every dependency has a line in docs/dependencies.md with its reason, and every such line has a
//! dependency.

use super::{
    Finding,
    tree::{File, Tree},
};

const PAGE: &str = "docs/dependencies.md";

/// One dependency, where it is declared.
struct Declared {
    path: String,
    line: usize,
    name: String,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let declared: Vec<Declared> = tree.files.iter().flat_map(declared_in).collect();
    let Some(page) = tree.file(PAGE) else {
        return vec![Finding::new(
            PAGE,
            0,
            "the page is missing; write it, with a section `Dependencies` of lines \"- `name`: \
             why\"",
        )];
    };
    let reasons = reasons(page);
    let mut findings = Vec::new();
    for one in &declared {
        // A dependency of several packages is reported once.
        let is_first = declared
            .iter()
            .find(|other| other.name == one.name)
            .is_some_and(|first| std::ptr::eq(first, one));
        if is_first && !reasons.iter().any(|(_, name)| *name == one.name) {
            let text = format!(
                "nothing says why `{}` is here; give it a line \"- `{}`: why\" under Dependencies \
                 in {PAGE}",
                one.name, one.name
            );
            findings.push(Finding::new(&one.path, one.line, text));
        }
    }
    for (line, name) in &reasons {
        if !declared.iter().any(|one| one.name == *name) {
            findings.push(Finding::new(
                PAGE,
                *line,
                format!("`{name}` is not a dependency any more; remove the line"),
            ));
        }
    }
    findings
}

fn declared_in(file: &File) -> Vec<Declared> {
    let found = match file.name() {
        "Cargo.toml" => cargo_dependencies(&file.text),
        "package.json" => npm_dependencies(&file.text),
        _ => Vec::new(),
    };
    found.into_iter().map(|(line, name)| Declared { path: file.path.clone(), line, name }).collect()
}

/// The names below `[dependencies]` and its like, except the tree's own packages.
fn cargo_dependencies(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut inside = false;
    let mut depth = 0_usize;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if depth == 0 && line.starts_with('[') {
            inside = line.trim_end_matches(']').ends_with("dependencies");
            // `[dependencies.name]`: the name is part of the heading.
            if let Some((_, name)) = line.trim_matches(['[', ']']).rsplit_once("dependencies.") {
                found.push((index + 1, name.to_owned()));
            }
            continue;
        }
        let is_entry = inside && depth == 0 && !line.starts_with('#');
        if let Some((name, value)) = line.split_once('=').filter(|_| is_entry) {
            let name = name.trim().trim_matches('"').trim_end_matches(".workspace");
            let is_own =
                // `name.workspace = true` has no path, so the name decides there.
                value.contains("path =") || name == "wakeful" || name.starts_with("wakeful-");
            if !is_own {
                found.push((index + 1, name.to_owned()));
            }
        }
        // A list may go over several lines.
        depth = (depth + line.matches('[').count()).saturating_sub(line.matches(']').count());
    }
    found
}

fn npm_dependencies(text: &str) -> Vec<(usize, String)> {
    let Ok(package) = serde_json::from_str::<serde_json::Value>(text) else { return Vec::new() };
    let mut found = Vec::new();
    for section in ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"] {
        let Some(names) = package.get(section).and_then(|names| names.as_object()) else {
            continue;
        };
        for (name, version) in names {
            let is_own = version.as_str().is_some_and(|version| version.starts_with("file:"));
            let key = format!("\"{name}\"");
            let line = text
                .lines()
                .position(|line| line.trim_start().starts_with(&key))
                .map_or(1, |index| index + 1);
            if !is_own {
                found.push((line, name.clone()));
            }
        }
    }
    found
}

/// The names that begin the list items of the section: "- `a`: why" and "- `a`, `b`: why".
fn reasons(page: &File) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut section = None;
    for (number, line) in page.lines() {
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        if level > 0 {
            let heading = line.trim_matches(['#', ' ']).to_lowercase();
            section = match section {
                // A smaller heading is inside the section and does not end it.
                Some(open) if level > open => Some(open),
                _ => heading.starts_with("dependencies").then_some(level),
            };
        } else if let Some(item) = line.strip_prefix("- ").filter(|_| section.is_some()) {
            found.extend(first_names(item).into_iter().map(|name| (number, name)));
        }
    }
    found
}

fn first_names(item: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = item;
    while let Some((name, after)) = rest.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
        names.push(name.to_owned());
        rest = after.strip_prefix(", ").or_else(|| after.strip_prefix(" and ")).unwrap_or("");
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARGO: &str = "[package]\n\
        name = \"x\"\n\n\
        [workspace.dependencies]\n\
        wakeful-core = { path = \"core\" }\n\
        blake3 = \"1\"\n\
        wasmtime = { version = \"48\", features = [\n\
        \x20   \"std\", \"runtime\",\n\
        ] }\n\
        # jiff = \"1\"\n\
        jiff.workspace = true\n\n\
        [profile.dev]\n\
        opt-level = 1\n";
    const NPM: &str = "{\n\
         \x20 \"name\": \"web\",\n\
         \x20 \"dependencies\": {\n\
         \x20   \"react\": \"19\",\n\
         \x20   \"own\": \"file:../wasm\"\n\
         \x20 }\n\
         }\n";

    fn found(page: &str) -> Vec<String> {
        let tree = Tree::from_files(&[
            ("docs/dependencies.md", page),
            ("Cargo.toml", CARGO),
            ("web-demo/package.json", NPM),
        ]);
        check(&tree).iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
    }

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        assert_eq!(
            found("# A\n\n## Dependencies\n"),
            ["Cargo.toml:6", "Cargo.toml:7", "Cargo.toml:11", "web-demo/package.json:4"]
        );
        assert_eq!(
            found("- `blake3`, `wasmtime`, `jiff`, `react`: elsewhere\n\n## Dependencies\n").len(),
            4,
            "only the section counts"
        );
    }

    #[test]
    fn reasons_are_read_in_the_section_and_its_parts() {
        let page = "# A\n\n\
                    ## Dependencies\n\n\
                    ### Rust\n\n\
                    - `blake3`: chains\n\
                    - `wasmtime` and `jiff`: engines, see `clap`\n\n\
                    ### Web\n\n\
                    - `react`: the page\n\n\
                    ## Rooms\n\n\
                    - `core`\n";
        assert_eq!(found(page), [""; 0]);
    }

    #[test]
    fn a_reason_without_a_dependency_is_found() {
        let page = "## Dependencies\n\n\
                    - `blake3`, `wasmtime`, `jiff`, `react`: needed\n\
                    - `left-pad`: gone\n";
        assert_eq!(found(page), ["docs/dependencies.md:4"]);
    }

    #[test]
    fn a_tree_without_the_page_is_found() {
        assert_eq!(check(&Tree::from_files(&[("Cargo.toml", CARGO)])).len(), 1);
    }
}
