//! A way through the space as a scenario: text that the tests play and hold.

use std::fmt::Write as _;

use super::{
    Finding, Space, Standing,
    process::{self, Move, Stored},
};
use crate::scenario;

/// What is broken at the end of a way, with the way as a scenario.
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
        (None, None) => process::Broken { name: "-".into(), says: "what was found is not found again".to_owned() },
    };
    let opening = first.map_or(0, |standing| standing.opening);
    let scenario = first.map_or_else(String::new, |standing| text(space, opening, standing.before.clone(), &moves, &broken));
    Finding { broken, scenario, moves: moves.len() }
}

/// The way, a command for each move, played.
fn text(space: &Space, opening: usize, mut stored: Stored, moves: &[Move], broken: &process::Broken) -> String {
    let mut commands = format!("# {broken}\n");
    for fact in &space.bounds.openings[opening] {
        let _ = writeln!(commands, "say {fact}");
    }
    for what in moves {
        let state = &stored.state;
        let _ = match what {
            Move::Say(at) => writeln!(commands, "say {}", space.inputs[*at].fact),
            Move::Step(boundary) => writeln!(commands, "step {boundary}"),
            Move::Wake => {
                let at = process::wake(state).unwrap_or(state.at);
                writeln!(commands, "clock {at}\nstep {}", process::boundary(state))
            }
            Move::Restart => writeln!(commands, "restart"),
        };
        if let Some(next) = space.moved(&stored, *what) {
            stored = next;
        }
    }
    scenario::play(&commands)
}
