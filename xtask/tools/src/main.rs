//! What makes guests, as one program over well-kept libraries: `bindgen` (wasm-bindgen),
//! `componentize` (wit-component), and `order`, which orders a module's functions so that it
//! compresses well.

mod order;

use std::{env, fs, path::Path, process::ExitCode};

use wasm_bindgen_cli_support::Bindgen;
use wit_component::ComponentEncoder;

const USAGE: &str =
    "usage: wakeful-tools bindgen MODULE FOLDER | componentize MODULE COMPONENT | order MODULE";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["bindgen", module, folder] => bindgen(Path::new(module), Path::new(folder)),
        ["componentize", module, component] => {
            change(Path::new(module), Path::new(component), componentize)
        }
        ["order", module] => change(Path::new(module), Path::new(module), order::by_likeness),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Writes what JavaScript loads: the module as an ES module for hosts that compile it themselves.
fn bindgen(module: &Path, folder: &Path) -> Result<(), String> {
    let mut bindgen = Bindgen::new();
    let made = bindgen.web(true).and_then(|bindgen| {
        bindgen
            .input_path(module)
            .out_name("wakeful_web")
            .typescript(true)
            // A bundler would look for the module at the default path, which is not where we keep
            // it.
            .omit_default_module_path(true)
            .generate(folder)
    });
    made.map_err(|why| format!("{}: {why:?}", module.display()))
}

fn componentize(module: &[u8]) -> Result<Vec<u8>, String> {
    ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|mut encoder| encoder.encode())
        .map_err(|why| format!("it is not a component module: {why:#}"))
}

fn change(
    from: &Path,
    to: &Path,
    how: impl Fn(&[u8]) -> Result<Vec<u8>, String>,
) -> Result<(), String> {
    let bytes = fs::read(from).map_err(|why| format!("cannot read {}: {why}", from.display()))?;
    let changed = how(&bytes).map_err(|why| format!("{}: {why}", from.display()))?;
    fs::write(to, changed).map_err(|why| format!("cannot write {}: {why}", to.display()))
}
