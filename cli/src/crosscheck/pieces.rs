//! The input of a cross-check: the cases below some paths, and the scenarios that every engine can
//! play.

use std::path::PathBuf;

use serde::Serialize;

use super::Piece;
use crate::{
    case::{self, CaseError},
    scenario,
};

/// Cases and scenarios, and the scenarios that are left out.
#[derive(Default)]
pub struct Pieces {
    /// What is played, in the order in which it was named.
    pub played: Vec<Piece>,
    /// Scenarios that not every engine can play.
    pub left_out: Vec<LeftOut>,
}

/// A scenario that not every engine can play.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    /// The name of the scenario.
    #[serde(rename = "case")]
    pub name: String,
    /// What it needs that not every engine has.
    pub needs: String,
}

/// Loads cases and scenarios.
///
/// # Errors
/// If a path has neither below it, or a file is malformed.
pub fn load(paths: &[PathBuf]) -> Result<Pieces, CaseError> {
    let mut pieces = Pieces::default();
    for path in paths {
        let below = case::find(path)?;
        if below.cases.is_empty() && below.scenarios.is_empty() {
            return Err(CaseError::Empty(path.clone()));
        }
        pieces.played.extend(below.cases.into_iter().map(Piece::Case));
        for path in below.scenarios {
            let name = case::name_of(&path);
            let commands = scenario::commands(&case::read(&path)?)
                .map_err(|why| CaseError::NoScenario { path, why })?;
            // A malformed scenario is an error. One that only some hosts can play is left out by
            // name.
            match scenario::record(&name, &commands) {
                Ok(scenario) => pieces.played.push(Piece::Scenario(scenario)),
                Err(needs) => pieces.left_out.push(LeftOut { name, needs }),
            }
        }
    }
    Ok(pieces)
}
