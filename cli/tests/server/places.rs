//! How a server is named, and its Unix socket.

use std::fs;

use super::place::{Place, program, ran};
use crate::program::arg;

#[test]
fn the_server_and_the_token_can_be_named_in_variables_and_in_a_file() {
    let place = Place::new();
    let by_variables = |args: &[&str]| {
        let mut command = program(args);
        command.env("WAKEFUL_SERVER", &place.url).env("WAKEFUL_SERVER_TOKEN", &place.token);
        ran(&mut command)
    };
    assert_eq!(by_variables(&["send", "--agent", "ada", "prompt", "hello"]).code, 0);
    let expected = place.at(["agents"]).out;
    assert_eq!(by_variables(&["agents"]).out, expected);
    assert_eq!(by_variables(&["why", "--agent", "ada"]).code, 0);
    // A ledger that is named goes before the variable.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let file = elsewhere.path().join("other.sqlite");
    super::place::driver(&file, "eve");
    assert!(by_variables(&["agents", &arg(&file)]).out.contains("eve"));
    assert!(by_variables(&["status", &arg(&file)]).out.starts_with("eve  "));
    let token = elsewhere.path().join("token");
    fs::write(&token, format!("{}\n", place.token)).expect("it writes");
    let by_file = ["agents", "--server", &place.url, "--token-file", &arg(&token)];
    // The file goes before the variable.
    let told = ran(program(by_file).env("WAKEFUL_SERVER_TOKEN", "wks_0"));
    assert_eq!((told.code, told.out), (0, expected), "{}", told.err);
    // A variable that is empty names no server.
    let none = ran(program(["agents"]).env("WAKEFUL_SERVER", ""));
    assert!(none.err.contains("name a ledger file, or a server"), "{}", none.err);
}

#[test]
fn over_its_unix_socket_a_server_needs_no_token() {
    let place = Place::new();
    let socket = format!("unix:{}.sock", arg(&place.file()));
    let at = |args: &[&str]| ran(&mut program(args));
    assert_eq!(at(&["agents", "--server", &socket]).out, place.at(["agents"]).out);
    let said = at(&["send", "--server", &socket, "--agent", "ada", "prompt", "hello"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let log = at(&["log", "--server", &socket, "--agent", "ada", "--json"]);
    assert_eq!(log.out.lines().collect::<Vec<_>>(), place.lines("ada"));
    // A path from here, and one with slashes as in other URLs.
    let relative = ["status", "--server", "unix:agents.sqlite.sock", "--agent", "ada"];
    let told = ran(program(relative).current_dir(place.folder.path()));
    assert_eq!(told.code, 0, "{}", told.err);
    let slashes = socket.replace("unix:", "unix://");
    assert_eq!(at(&["status", "--server", &slashes, "--agent", "ada"]).out, told.out);
    let wrong = at(&["status", "--server", "unix:/no/such.sock"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("`unix:/no/such.sock` cannot be reached: nothing"), "{}", wrong.err);
}
