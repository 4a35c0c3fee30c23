//! In place of `random`, where the program has no random stories.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::Found;
use crate::{commands::CliError, crosscheck::Panel};

macro_rules! random_help {
    () => {
        "This build has no random stories: `cargo install wakeful --features random` adds \
         --random.\n\n"
    };
}

#[derive(Args)]
pub(super) struct RandomArgs {}

/// There are none.
#[derive(Serialize)]
pub(super) enum Random {}

impl Random {
    pub(super) fn stories(&self) -> u64 {
        match *self {}
    }

    pub(super) fn steps(&self) -> u64 {
        match *self {}
    }

    pub(super) fn written(&self) -> Option<&PathBuf> {
        match *self {}
    }
}

impl RandomArgs {
    /// Whether random stories are played.
    pub(super) fn is_asked(&self) -> bool {
        false
    }

    /// Plays none.
    #[allow(clippy::unnecessary_wraps)]
    pub(super) fn hunt(
        &self,
        _: &mut Panel,
        _: &mut Vec<Found>,
    ) -> Result<Option<Random>, CliError> {
        Ok(None)
    }
}
