//! wasm-bindgen's runner of tests: cargo starts it with a test module, and it runs the tests in
//! Node or in a browser.

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    match wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(env::args_os()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why:?}");
            ExitCode::FAILURE
        }
    }
}
