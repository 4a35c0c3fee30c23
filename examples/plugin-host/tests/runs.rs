//! The example prints what its page shows, and reports missing arguments.

use std::{fs, path::PathBuf, process::Command};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the example. Returns its exit code and its output.
fn run(args: &[&str]) -> (i32, String, String) {
    let ran =
        Command::new(env!("CARGO_BIN_EXE_plugin-host")).args(args).output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (ran.status.code().expect("an exit code"), text(ran.stdout), text(ran.stderr))
}

/// The output that the page shows below a command.
fn shown(command: &str) -> String {
    let page = fs::read_to_string(root().join("examples/README.md")).expect("the page");
    let (_, after) = page.split_once(command).expect("the command is on the page");
    let (output, _) = after.split_once("```").expect("its block ends");
    output.trim_start_matches('\n').to_owned()
}

#[test]
fn it_prints_what_the_page_shows_and_goes_on_in_the_next_process() {
    let guest = root().join("target/guest/wakeful.component.wasm");
    assert!(guest.is_file(), "`{}` is not built: `cargo xtask run` builds it", guest.display());
    let folder = tempfile::tempdir().expect("a folder");
    let ledgers = folder.path().join("agents.sqlite");
    let say = |text: &str| {
        run(&[&guest.display().to_string(), &ledgers.display().to_string(), "ada", text])
    };
    let (code, out, err) = say("check the build");
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(
        without_numbers(&out),
        without_numbers(&shown("agents.sqlite ada \"check the build\""))
    );
    let (code, again, _) = say("and tell me");
    assert_eq!(code, 0);
    assert!(
        again.contains("StartModelTurn"),
        "the message of the first process was taken up; another turn starts: {again}"
    );
}

/// The fuel differs from build to build.
fn without_numbers(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit() && *c != ',').collect()
}

#[test]
fn without_its_arguments_it_says_which_it_needs() {
    let (code, _, err) = run(&["alone"]);
    assert_eq!(code, 1);
    assert!(err.contains("usage: plugin-host GUEST LEDGERS AGENT TEXT"), "{err}");
}
