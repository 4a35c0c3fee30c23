//! The core alone, without a host crate: plays stories, and replays fixtures.
//!
//! `first-story STORY` reads a story in JSON and prints each decision with the rule that fired.
//! `first-story FOLDER` replays the fixture folders in it.

mod fixtures;
mod story;
mod table;

use std::{env, error::Error, path::PathBuf, process::ExitCode};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let path = env::args_os().nth(1).map(PathBuf::from).ok_or("usage: first-story STORY|FOLDER")?;
    if !path.is_dir() {
        print!("{}", story::play(&path)?);
        return Ok(ExitCode::SUCCESS);
    }
    let as_expected = fixtures::replay_all(&path)?;
    Ok(if as_expected { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
