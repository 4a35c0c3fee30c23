//! The build tools that cargo cannot install, in one program: `bindgen` (the wasm-bindgen CLI),
//! `test-runner` (its test runner), `componentize` (makes a component from a core module) and
//! `order` (orders a module's functions so that it compresses well).

mod order;

use std::{env, ffi::OsString, fs, process::ExitCode};

use wit_component::ComponentEncoder;

const USAGE: &str = "usage: wakeful-tools bindgen ARGS... | test-runner ARGS... | componentize MODULE COMPONENT | order MODULE";

fn main() -> ExitCode {
    // Cargo passes no subcommand to a runner, so the runner's configuration has `test-runner`.
    let mut args = env::args_os();
    let program = args.next().unwrap_or_default();
    let command = args.next().unwrap_or_default();
    let rest: Vec<OsString> = std::iter::once(program).chain(args).collect();
    let done = match command.to_str() {
        Some("bindgen") => wasm_bindgen_cli::wasm_bindgen::run_cli_with_args(rest)
            .map_err(|why| format!("{why:?}")),
        Some("test-runner") => wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(rest)
            .map_err(|why| format!("{why:?}")),
        Some("componentize") => match rest.as_slice() {
            [_, module, component] => componentize(module, component),
            _ => Err(USAGE.to_owned()),
        },
        Some("order") => match rest.as_slice() {
            [_, module] => order(module),
            _ => Err(USAGE.to_owned()),
        },
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

fn componentize(module: &OsString, component: &OsString) -> Result<(), String> {
    let bytes =
        fs::read(module).map_err(|why| format!("cannot read {}: {why}", module.display()))?;
    let encoded = ComponentEncoder::default()
        .validate(true)
        .module(&bytes)
        .and_then(|mut encoder| encoder.encode())
        .map_err(|why| format!("{} is not a component module: {why:#}", module.display()))?;
    fs::write(component, encoded)
        .map_err(|why| format!("cannot write {}: {why}", component.display()))
}

fn order(module: &OsString) -> Result<(), String> {
    let bytes =
        fs::read(module).map_err(|why| format!("cannot read {}: {why}", module.display()))?;
    let ordered =
        order::by_likeness(&bytes).map_err(|why| format!("{}: {why}", module.display()))?;
    fs::write(module, ordered).map_err(|why| format!("cannot write {}: {why}", module.display()))
}
