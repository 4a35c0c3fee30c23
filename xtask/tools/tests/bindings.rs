//! The checked-in bindings of the component are those that wit-bindgen makes of the WIT. So no
//! build of a guest has to compile wit-bindgen.

use std::{env, fs, path::Path};

use wit_bindgen_core::{Files, WorldGenerator, wit_parser::Resolve};
use wit_bindgen_rust::Opts;

const WIT: &str = "wasm/wit/0.2.0";
const WORLD: &str = "scheduler";
const BINDINGS: &str = "wasm/component/src/bindings.rs";

fn generated(root: &Path) -> String {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(root.join(WIT)).expect("the WIT can be read");
    let world = resolve.select_world(&[package], Some(WORLD)).expect("the world is there");
    let mut files = Files::default();
    let opts = Opts { format: true, ..Opts::default() };
    opts.build().generate(&mut resolve, world, &mut files).expect("bindings");
    let (_, text) = files.iter().next().expect("one file");
    format!(
        "//! Generated from {WIT} by wit-bindgen; do not edit. `UPDATE=1 cargo test -p \
         wakeful-tools` writes it.\n\n{}",
        String::from_utf8_lossy(text)
    )
}

#[test]
fn the_bindings_are_those_of_the_wit() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (file, generated) = (root.join(BINDINGS), generated(&root));
    if env::var_os("UPDATE").is_some() {
        fs::write(&file, &generated).expect("it is written");
    }
    let there = fs::read_to_string(&file).unwrap_or_default();
    assert!(there == generated, "{BINDINGS} is stale: run it again with UPDATE=1");
}
