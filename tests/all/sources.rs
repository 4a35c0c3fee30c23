//! What the layout of the sources promises: the sandbox and the core ask for nothing else.

use std::fs;

use wakeful::sandbox::{Guest, IMPORTS};
use wakeful_tests::paths;

#[test]
fn the_component_imports_exactly_ledger_clock_and_provider() {
    let guest = Guest::load(&paths::guest("wakeful.component.wasm")).expect("the guest loads");
    assert_eq!(guest.imports(), IMPORTS);
}

#[test]
fn the_published_schema_is_what_the_types_say() {
    let committed = fs::read_to_string(paths::root().join("docs/wakeful.schema.json")).expect("docs/wakeful.schema.json");
    let printed = wakeful::schema::text().expect("the schema prints");
    assert!(printed == committed, "docs/wakeful.schema.json is stale: run `wakeful schema > docs/wakeful.schema.json`");
}
