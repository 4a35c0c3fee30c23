//! Running the `wakeful` program.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use wakeful::sandbox::Guest;

/// What a run of the program gave.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `wakeful` with these arguments, without a guest from the environment.
pub(crate) fn wakeful<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_wakeful")).args(args).env_remove("WAKEFUL_GUEST").output().expect("wakeful starts");
    Ran {
        code: output.status.code().expect("wakeful ends by itself"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// A file of the source tree.
pub(crate) fn source(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(relative)
}

/// A path as an argument.
pub(crate) fn arg(path: &Path) -> String {
    path.display().to_string()
}

/// The product's guest, compiled once for all tests.
pub(crate) fn product() -> Guest {
    static PRODUCT: LazyLock<Guest> = LazyLock::new(|| Guest::load(&guest("wakeful.component.wasm")).expect("the guest loads"));
    PRODUCT.clone()
}

/// A guest of the build folder; a test without it has failed.
pub(crate) fn guest(name: &str) -> PathBuf {
    let path = source("target/guest").join(name);
    assert!(path.is_file(), "`{name}` is not built: `cargo xtask test` builds the guests before the tests");
    path
}

/// A prompt of the operator, as a fact.
pub(crate) fn prompt(id: &str) -> String {
    format!(
        r#"{{"fact":"message_queued","message":{{"id":"{id}","kind":"operator_prompt","origin":{{"kind":"operator"}},"trust":"trusted_operator","body":{{"type":"text","text":"hello {id}"}}}}}}"#
    )
}
