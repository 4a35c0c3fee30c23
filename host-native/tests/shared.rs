//! Helpers shared by the tests of the host and of the command line.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use wakeful_host::sandbox::Guest;

/// A file of the source tree.
pub(crate) fn source(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(relative)
}

/// The product's guest, compiled once for all tests.
pub(crate) fn product() -> Guest {
    static PRODUCT: LazyLock<Guest> =
        LazyLock::new(|| Guest::load(&guest("wakeful.component.wasm")).expect("the guest loads"));
    PRODUCT.clone()
}

/// A guest in the build folder. Without it the test fails.
pub(crate) fn guest(name: &str) -> PathBuf {
    let path = source("target/guest").join(name);
    assert!(
        path.is_file(),
        "`{name}` is not built: `cargo xtask test` builds the guests before the tests"
    );
    path
}

/// A prompt of the operator, as a fact.
pub(crate) fn prompt(id: &str) -> String {
    format!(
        r#"{{"fact":"message_queued","message":{{"id":"{id}","kind":"operator_prompt","origin":{{"kind":"operator"}},"trust":"trusted_operator","body":{{"type":"text","text":"hello {id}"}}}}}}"#
    )
}
