//! A way through the space as a scenario, ready for the tests.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    Finding, Space, Standing,
    process::{self, Asks, Move, Stored},
};
use crate::scenario;

/// Writes a finding into this folder as a scenario for `tests/scenarios`, and returns the path. The
/// file is named after the violated property.
///
/// # Errors
/// If the file cannot be written.
pub fn write(finding: &Finding, folder: &Path) -> io::Result<PathBuf> {
    let names: String = finding
        .broken
        .name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .collect();
    let file = folder.join(format!("broken_{}.txt", names.replace("__", "_")));
    fs::create_dir_all(folder)?;
    fs::write(&file, &finding.scenario)?;
    Ok(file)
}

/// The violation at the end of a way, with the way as a scenario.
pub(super) fn finding(space: &Space, path: Vec<(Standing, Option<Move>)>) -> Finding {
    let mut moves: Vec<Move> = path.iter().filter_map(|(_, what)| *what).collect();
    let last = path.last().map(|(standing, _)| standing);
    let first = path.first().map(|(standing, _)| standing);
    let restless = last.and_then(|standing| space.restless(standing));
    let broken = match (restless, last.and_then(|standing| standing.broken.clone())) {
        (Some(restless), _) => {
            moves.extend(restless.moves);
            restless.broken
        }
        (None, Some(broken)) => (*broken).clone(),
        (None, None) => process::Broken {
            name: "-".into(),
            says: "the violation was not found again".to_owned(),
        },
    };
    let opening = first.map_or(0, |standing| standing.opening);
    let scenario = first.map_or_else(String::new, |standing| {
        text(space, opening, standing.before.clone(), &moves, &broken)
    });
    Finding { broken, scenario, moves: moves.len() }
}

/// The way as a scenario: a command for each move, and what it gives.
fn text(
    space: &Space,
    opening: usize,
    mut stored: Stored,
    moves: &[Move],
    broken: &process::Broken,
) -> String {
    let opening = &space.bounds.openings[opening];
    let judged = match space.bounds.adversary {
        Some(adversary) => {
            format!(
                "With the seeded mistake `{}`; without it there is no violation.",
                adversary.name()
            )
        }
        None => "Repair the violation; then record what the scenario gives.".to_owned(),
    };
    // A comment of a scenario is one line.
    let broken = broken.to_string().replace('\n', " ");
    let mut commands = format!(
        "# {broken}\n\
         # The model checker reached this in {} moves from the opening `{}`.\n\
         # {judged}\n",
        moves.len(),
        opening.name
    );
    for line in opening.lines() {
        let _ = writeln!(commands, "{line}");
    }
    for what in moves {
        let state = &stored.state;
        let _ = match what {
            Move::Say(at) => writeln!(commands, "say {}", space.inputs[*at].fact),
            Move::Step(boundary) => writeln!(commands, "step {boundary}"),
            Move::Wake => {
                let at = process::wake(state).unwrap_or(state.at());
                writeln!(commands, "clock {at}\nstep {}", process::boundary(state))
            }
            Move::Restart => writeln!(commands, "restart"),
            Move::Correct => {
                let now = process::right_time(state);
                writeln!(commands, "clock {now}\nsay {}", process::CORRECTION)
            }
        };
        if let Some(next) = space.moved(&stored, *what, Asks::Batch) {
            stored = next;
        }
    }
    scenario::play(&commands)
}
