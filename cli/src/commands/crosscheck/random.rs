//! The options of `wakeful crosscheck` for random stories.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;

use super::{Found, differing};
use crate::{
    commands::{CliError, style},
    crosscheck::{self, Panel},
};

macro_rules! random_help {
    () => {
        ""
    };
}

#[derive(Args)]
pub(super) struct RandomArgs {
    /// Play random stories until they have taken this number of steps or the engines differ (in a
    /// build with the feature `random`)
    #[arg(long, value_name = "STEPS")]
    random: Option<u64>,
    /// The seed of the random stories; the same seed gives the same stories
    #[arg(long, value_name = "N", default_value_t = 20_260_527, requires = "random")]
    seed: u64,
    /// The folder for a random story over which engines differ; it is shrunk before it is written
    #[arg(long, value_name = "FOLDER", default_value = ".", requires = "random")]
    write: PathBuf,
}

/// The result for the random stories.
#[derive(Serialize)]
pub(super) struct Random {
    seed: u64,
    stories: u64,
    steps: u64,
    /// The file of the story over which the engines differ.
    written: Option<PathBuf>,
}

impl Random {
    pub(super) fn stories(&self) -> u64 {
        self.stories
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    pub(super) fn written(&self) -> Option<&PathBuf> {
        self.written.as_ref()
    }
}

impl RandomArgs {
    /// Whether random stories are played.
    pub(super) fn is_asked(&self) -> bool {
        self.random.is_some()
    }

    /// Plays random stories if `--random` is given, and writes the story over which the engines
    /// differ.
    pub(super) fn hunt(
        &self,
        panel: &mut Panel,
        differences: &mut Vec<Found>,
    ) -> Result<Option<Random>, CliError> {
        let Some(steps) = self.random else { return Ok(None) };
        let progress = style::progress(steps);
        progress.set_message("steps in random stories");
        let hunt = crosscheck::hunt(panel, self.seed, steps, |done| progress.set_position(done))?;
        progress.finish_and_clear();
        let mut written = None;
        if let Some(story) = &hunt.found {
            let name = format!("difference-{}-{}", self.seed, story.number);
            let file = self.write.join(format!("{name}.json"));
            // Indented, because a person reads and plays it.
            write(&file, &format!("{:#}\n", story.document))?;
            differences.extend(differing(&name, &story.row, &panel.names()));
            written = Some(file);
        }
        Ok(Some(Random { seed: self.seed, stories: hunt.stories, steps: hunt.steps, written }))
    }
}

fn write(file: &Path, text: &str) -> Result<(), CliError> {
    let folder = file.parent().map_or(Ok(()), fs::create_dir_all);
    folder
        .and_then(|()| fs::write(file, text))
        .map_err(|why| CliError::Write { what: format!("`{}`", file.display()), why })
}
