//! The crates, their references to each other, and the npm package have one version.

use super::{Finding, tree::Tree};

const CRATES: &str = "Cargo.toml";
const PACKAGE: &str = "npm/package.json";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(crates) = tree.file(CRATES) else { return Vec::new() };
    let Some((_, version)) =
        crates.lines().find_map(|(number, line)| Some((number, of_line(line)?)))
    else {
        return vec![Finding::new(CRATES, 0, "the workspace has no version; give it one")];
    };
    let of_crates = crates
        .lines()
        // A crate that is not published has no version there.
        .filter(|(_, line)| line.starts_with("wakeful") && line.contains("version"))
        .map(|(number, line)| (CRATES, number, line));
    let package = tree.file(PACKAGE);
    let of_package = package
        .iter()
        .flat_map(|file| file.lines())
        // Two blanks: the version of the package itself. A deeper one belongs to another object.
        .filter(|(_, line)| line.starts_with("  \"version\":"));
    let of_package = of_package.map(|(number, line)| (PACKAGE, number, line));
    let others = of_crates
        .chain(of_package)
        .filter(|(_, _, line)| !line.contains(&format!("\"{version}\"")));
    others
        .map(|(file, number, _)| {
            Finding::new(
                file,
                number,
                format!("the workspace has version {version}; give this the same"),
            )
        })
        .collect()
}

fn of_line(line: &str) -> Option<&str> {
    line.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_or_a_package_of_another_version_is_found() {
        let crates = |core: &str| {
            format!(
                "[workspace.package]\n\
                 version = \"0.2.0\"\n\n\
                 [workspace.dependencies]\n\
                 wakeful-core = {{ path = \"core\", version = \"{core}\" }}\n"
            )
        };
        let package =
            |version: &str| format!("{{\n  \"name\": \"x\",\n  \"version\": \"{version}\"\n}}\n");
        let found = |core: &str, npm: &str| {
            check(&Tree::from_files(&[(CRATES, &crates(core)), (PACKAGE, &package(npm))]))
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert!(found("0.2.0", "0.2.0").is_empty());
        assert!(found("0.1.0", "0.2.0")[0].starts_with("Cargo.toml:5: "));
        assert!(found("0.2.0", "0.1.0")[0].starts_with("npm/package.json:3: "));
        assert_eq!(check(&Tree::from_files(&[(CRATES, "[workspace]\n")])).len(), 1);
    }
}
