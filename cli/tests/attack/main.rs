//! Attacks of a command on everything that is not its own, each tried without a wall and behind
//! bubblewrap.
//!
//! Without a wall each attack must succeed, so that a row that is held says something. The rows are
//! tables: [`row::Row`] says what one is. `cargo xtask attack` runs them and prints the table. As
//! root the whole suite runs a second time as `nobody`.

#![cfg(target_os = "linux")]

mod come;
mod commands;
mod files;
mod git;
mod host;
mod kernel;
mod kinds;
// The tests of the agent use the whole module.
#[allow(dead_code)]
#[path = "../openai/mod.rs"]
mod openai;
mod page;
mod processes;
mod resources;
mod row;
mod scene;
mod sockets;
mod terminal;
mod users;

use std::{
    env, fs,
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::{Path, PathBuf},
};

use come::{Came, summary, table};
use row::Row;
use scene::Scene;
use wakeful_agent::confine::Wall;

/// All rows.
fn rows() -> Vec<&'static Row> {
    let tables = [
        files::ROWS,
        processes::ROWS,
        sockets::ROWS,
        terminal::ROWS,
        kernel::ROWS,
        resources::ROWS,
        git::ROWS,
        commands::ROWS,
    ];
    tables.into_iter().flatten().collect()
}

/// The rows that the environment wishes for.
fn wished() -> Vec<&'static Row> {
    let name = env::var("WAKEFUL_ATTACK_ROW").ok();
    let chosen: Vec<_> = rows()
        .into_iter()
        .filter(|row| name.as_ref().is_none_or(|name| row.name == name))
        .collect();
    let names = || rows().iter().map(|row| row.name).collect::<Vec<_>>().join("\n  ");
    assert!(!chosen.is_empty(), "there is no row of this name; the rows are\n  {}", names());
    chosen
}

fn print_to(variable: &str, came: &[Came]) {
    if let Some(path) = env::var_os(variable).map(PathBuf::from) {
        let text = serde_json::to_string_pretty(came).expect("results are JSON");
        fs::write(path, text).expect("the results are written");
    }
}

#[test]
fn every_attack_succeeds_without_a_wall_and_comes_out_as_the_page_says_behind_one() {
    users::need_tools();
    let mut came = row::run(&wished(), users::name());
    if users::is_started_again() {
        // The process that started this one judges.
        return print_to(users::RESULTS, &came);
    }
    if row::is_whole() {
        came.extend(users::as_nobody());
    } else {
        println!("attack: the first way of each row, as {}", users::name());
        println!("attack: `cargo xtask attack` tries all ways, as root also as nobody");
    }
    print!("{}", table(&came));
    print_to("WAKEFUL_ATTACK_JSON", &came);
    println!("attack: {}", summary(&came));
    let wrong: Vec<_> = came.iter().filter(|one| !one.as_expected).map(Came::say).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_wall_that_does_not_hold_is_found() {
    let row = |name: &str| *rows().iter().find(|row| row.name == name).expect("a row");
    let broken = row("writes a file outside").tried_with(users::name(), |wall| match wall {
        // As if the wall let everything through.
        Some(Wall::Bubblewrap) => None,
        other => other,
    });
    assert!(!broken.as_expected, "{}", broken.say());
    assert!(broken.say().contains("bubblewrap: it must be held"), "{}", broken.say());
}

#[test]
fn an_attack_that_cannot_succeed_is_found() {
    let row = |name: &str| *rows().iter().find(|row| row.name == name).expect("a row");
    // As if the attack failed for another reason than the wall.
    let idle = row("writes a file outside")
        .tried_with(users::name(), |wall| wall.or(Some(Wall::Bubblewrap)));
    assert!(!idle.as_expected, "{}", idle.say());
    assert!(idle.say().contains("bare: it must succeed"), "{}", idle.say());
}

/// What a service of the system leaves is hidden, and what it took with it keeps no command from
/// starting. This is about root: others may not reach such a file anyway.
#[test]
fn a_service_that_ends_keeps_no_command_from_starting() {
    let system = Path::new(if users::is_root() { "/opt" } else { "/tmp" });
    let folder = tempfile::Builder::new().prefix("wakeful-attack-").tempdir_in(system);
    let folder = folder.expect("it is made");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let socket = folder.path().join("s");
    let listener = UnixListener::bind(&socket).expect("a short path");
    let scene = Scene::new(Some(Wall::Bubblewrap));
    scene.sh("true");
    drop((listener, folder));
    scene.sh("true");
}
