//! Replaces `random` if the program is built without random stories.

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

/// Has no values.
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

    /// Does nothing.
    // The signature is that of `random`, where this can fail.
    #[allow(clippy::unnecessary_wraps)]
    pub(super) fn hunt(
        &self,
        _: &mut Panel,
        _: &mut Vec<Found>,
    ) -> Result<Option<Random>, CliError> {
        Ok(None)
    }
}
