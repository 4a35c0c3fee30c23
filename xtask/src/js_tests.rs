//! The JavaScript side of the web module: wasm/web/js/*.test.mjs, run by Node's own test runner.

use std::{fs, path::PathBuf};

use crate::{
    call::{Call, Failure},
    paths::Paths,
};

/// The call that runs them all.
pub(crate) fn call(paths: &Paths) -> Result<Call, Failure> {
    // Node 20 does not expand patterns itself.
    Ok(Call::new(paths, "web-js-tests", "node").arg("--test").args(files(paths)?))
}

/// The call that fails if the generated types differ from docs/wakeful.schema.json or
/// docs/wakeful.openapi.json. A native test compares these with the types and routes.
pub(crate) fn payload_types(paths: &Paths) -> Call {
    Call::new(paths, "payload-types", "node").args(["npm/generate-types.mjs", "--check"])
}

fn files(paths: &Paths) -> Result<Vec<PathBuf>, Failure> {
    let folder = paths.at("wasm/web/js");
    let listed = fs::read_dir(&folder)
        .map_err(|why| Failure::new(format!("cannot read {}: {why}", folder.display())))?;
    let mut files: Vec<PathBuf> = listed
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.to_string_lossy().ends_with(".test.mjs"))
        .collect();
    if files.is_empty() {
        // Without a file, Node would search the whole tree for tests.
        return Err(Failure::new("wasm/web/js holds no file `*.test.mjs`"));
    }
    files.sort();
    Ok(files)
}
