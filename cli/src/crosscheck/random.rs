//! Random stories: generated from a seed, played by all engines, and shrunk if engines differ.

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngSeed, TestRunner},
};
use serde_json::Value;
use wakeful_core::story::Story;

use super::{AT_ONCE, NoReference, Panel, Piece, Row};
use crate::{
    case::{Case, CaseKind},
    generator::{Drawn, Pace, stories},
};

/// The length of the longest story, in scenes.
const LONGEST: usize = 6;

/// The result of a search.
#[derive(Default)]
pub struct Hunt {
    /// The number of stories that were played.
    pub stories: u64,
    /// The number of steps that the first engine took in them.
    pub steps: u64,
    /// The first story over which the engines differ. The search ends with it.
    pub found: Option<Found>,
}

/// A story over which engines differ.
pub struct Found {
    /// The number of the story among those of the seed, from 1.
    pub number: u64,
    /// The shrunk story, as JSON.
    pub document: Value,
    /// The shrunk story, as engines play it.
    pub piece: Piece,
    /// The result for it.
    pub row: Row,
}

/// Generates stories from a seed and plays them, until they have taken `steps` steps or the engines
/// differ. The same seed gives the same stories.
///
/// # Errors
/// If the first engine fails.
pub fn hunt(
    panel: &mut Panel,
    seed: u64,
    steps: u64,
    mut progress: impl FnMut(u64),
) -> Result<Hunt, NoReference> {
    let mut runner = TestRunner::new(Config {
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    });
    let drawing = (stories(Pace::Apart, LONGEST), stories(Pace::Racing, LONGEST));
    let mut hunt = Hunt::default();
    while hunt.steps < steps {
        let mut drawn = Vec::new();
        while drawn.len() < AT_ONCE {
            // INVARIANT: the strategies reject nothing, so each gives a value.
            let Ok(pair) = drawing.new_tree(&mut runner) else { continue };
            let (apart, racing) = pair.current();
            drawn.extend([apart, racing]);
        }
        let pieces: Vec<Piece> =
            drawn.iter().map(|drawn| piece(drawn.document(), drawn.story())).collect();
        for (drawn, row) in drawn.iter().zip(panel.check(&pieces, |_| {})?) {
            hunt.stories += 1;
            hunt.steps += row.steps as u64;
            if !row.is_equal() {
                hunt.found = Some(found(panel, hunt.stories, drawn)?);
                return Ok(hunt);
            }
        }
        progress(hunt.steps);
    }
    Ok(hunt)
}

/// Shrinks a story while the engines differ over it.
fn found(panel: &mut Panel, number: u64, drawn: &Drawn) -> Result<Found, NoReference> {
    let differs = |candidate: &Value| match Story::read(&candidate.to_string()) {
        Ok(story) => Ok(!panel.one(&piece(candidate, story))?.is_equal()),
        // A smaller document that is not a story shows nothing about the engines.
        Err(_) => Ok(false),
    };
    let mut document = super::shrink::smallest(drawn.document().clone(), differs)?;
    document["shows"] =
        format!("Engines differ over this story, which was shrunk from story {number} of a seed.")
            .into();
    // INVARIANT: what differed was a story.
    let story = Story::read(&document.to_string()).unwrap_or_else(|_| drawn.story());
    let piece = piece(&document, story);
    let row = panel.one(&piece)?;
    Ok(Found { number, document, piece, row })
}

fn piece(document: &Value, story: Story) -> Piece {
    Piece::Case(Case {
        name: story.story.clone(),
        path: None,
        kind: CaseKind::Story(Box::new(story), document.to_string()),
    })
}
