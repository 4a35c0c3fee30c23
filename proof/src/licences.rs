//! The licences of what is not Rust: packages of npm by their lock files, and packages of PyPI by
//! their metadata. They follow the list of deny.toml, as crates do.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use spdx::{Expression, LicenseReq};
use xtask::{call::Failure, paths::Paths, python};

/// The folders with a lock file of npm.
const LOCKED: [&str; 3] = ["npm", "tests/peers", "web-demo"];

/// Licences of tools that only build and test. Nothing of them is in what we ship.
const OF_TOOLS: [&str; 4] = ["BlueOak-1.0.0", "MPL-2.0", "PSF-2.0", "Python-2.0"];

/// Licences that ask for no more than those of deny.toml, and that no crate has.
const OF_SCRIPTS: [&str; 1] = ["0BSD"];

/// A package with its licence.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    /// As it is written in the lock file or in the metadata.
    licence: Option<String>,
    /// Whether it only builds and tests.
    is_tool: bool,
}

/// Checks all packages, and returns their number.
pub(crate) fn check(paths: &Paths) -> Result<usize, Failure> {
    let text = read(&paths.at("deny.toml"))?;
    let rules: toml::Table =
        toml::from_str(&text).map_err(|why| Failure::new(format!("deny.toml: {why}")))?;
    let allowed: Option<BTreeSet<String>> = rules["licenses"]["allow"]
        .as_array()
        .map(|all| all.iter().filter_map(|one| one.as_str()).map(str::to_owned).collect());
    let allowed = allowed.ok_or_else(|| Failure::new("deny.toml has no `licenses.allow`"))?;
    let mut packages = BTreeSet::new();
    for folder in LOCKED {
        packages.extend(of_npm(&read(&paths.at(folder).join("package-lock.json"))?)?);
    }
    packages.extend(of_python(&python::packages(paths)?)?);
    match packages.iter().find_map(|package| objection(package, &allowed)) {
        Some(why) => Err(Failure::new(why)),
        None => Ok(packages.len()),
    }
}

/// What is wrong with the licence of a package; `None` if nothing is.
fn objection(package: &Package, allowed: &BTreeSet<String>) -> Option<String> {
    let Package { name, licence, is_tool } = package;
    let Some(licence) = licence else {
        return Some(format!(
            "the package `{name}` does not name its licence: look it up, or replace it"
        ));
    };
    let expression = match Expression::parse(licence) {
        Ok(expression) => expression,
        Err(why) => return Some(format!("the licence of `{name}` cannot be read: {why}")),
    };
    let is_allowed = |req: &LicenseReq| {
        let asked = req.to_string();
        allowed.contains(&asked)
            || OF_SCRIPTS.contains(&asked.as_str())
            || (*is_tool && OF_TOOLS.contains(&asked.as_str()))
    };
    (!expression.evaluate(is_allowed)).then(|| {
        format!("the package `{name}` has the licence `{licence}`, which deny.toml does not allow")
    })
}

/// The packages of a lock file of npm.
fn of_npm(lock: &str) -> Result<Vec<Package>, Failure> {
    let lock: serde_json::Value = serde_json::from_str(lock)
        .map_err(|why| Failure::new(format!("a lock file of npm cannot be read: {why}")))?;
    let packages = lock["packages"].as_object();
    let packages = packages.ok_or_else(|| Failure::new("a lock file of npm has no packages"))?;
    let named = packages.iter().filter(|(path, _)| !path.is_empty());
    Ok(named
        .map(|(path, package)| Package {
            name: path.rsplit("node_modules/").next().unwrap_or(path).to_owned(),
            licence: package["license"].as_str().map(str::to_owned),
            is_tool: package["dev"].as_bool().unwrap_or(false),
        })
        .collect())
}

/// The packages of Python that these files describe.
fn of_python(metadata: &[impl AsRef<Path>]) -> Result<Vec<Package>, Failure> {
    metadata.iter().map(|file| Ok(described(&read(file.as_ref())?))).collect()
}

/// A package of Python, by the head of its metadata.
fn described(metadata: &str) -> Package {
    let head: BTreeMap<&str, &str> = metadata
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(": "))
        .collect();
    let licence = head.get("License-Expression").or_else(|| head.get("License"));
    Package {
        name: head.get("Name").copied().unwrap_or_default().to_owned(),
        licence: licence.map(|licence| (*licence).to_owned()),
        is_tool: true,
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|why| Failure::new(format!("cannot read {}: {why}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(licence: Option<&str>, is_tool: bool) -> bool {
        let allowed = BTreeSet::from(["MIT".to_owned(), "Apache-2.0".to_owned()]);
        let package =
            Package { name: "it".to_owned(), licence: licence.map(str::to_owned), is_tool };
        objection(&package, &allowed).is_some()
    }

    #[test]
    fn a_licence_must_be_named_and_allowed() {
        for licence in ["MIT", "Apache-2.0", "0BSD", "MIT OR GPL-3.0-only", "(MIT AND Apache-2.0)"]
        {
            assert!(!objects(Some(licence), false), "{licence}");
        }
        for licence in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "MPL-2.0", "SEE LICENSE IN it", ""]
        {
            assert!(objects(Some(licence), false), "{licence}");
        }
        assert!(objects(None, true), "no licence is not a licence");
        assert!(!objects(Some("MPL-2.0"), true), "tools are not shipped");
        assert!(objects(Some("GPL-3.0-only"), true));
    }

    #[test]
    fn packages_are_read_with_their_licences() {
        let lock = r#"{"packages":{"":{"name":"own"},"node_modules/a":{"license":"MIT"},
            "node_modules/a/node_modules/@b/c":{"dev":true}}}"#;
        let found = of_npm(lock).map_err(|why| why.what);
        let package = |name: &str, licence: Option<&str>, is_tool| Package {
            name: name.to_owned(),
            licence: licence.map(str::to_owned),
            is_tool,
        };
        assert_eq!(found, Ok(vec![package("a", Some("MIT"), false), package("@b/c", None, true)]));
        assert!(of_npm("{}").is_err());
        let metadata = "Name: it\nLicense: old\nLicense-Expression: MIT\n\nLicense: not this\n";
        assert_eq!(described(metadata), package("it", Some("MIT"), true));
    }
}
