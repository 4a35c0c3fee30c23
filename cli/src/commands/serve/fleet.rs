//! What a server says of itself to the others of a store in PostgreSQL.

use std::{collections::BTreeSet, path::Path, time::Duration};

use clap::Args;
use wakeful_host::ledger::{Address, Store, WorkerOptions};

use super::{CannotServe, CliError, above_zero};

#[derive(Args)]
pub(super) struct FleetArgs {
    /// The address at which the other servers reach this one, such as http://10.0.0.7:7171; they
    /// pass on what only this one can answer
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Something that this server has and others may not, such as a disk; agents that are pinned to
    /// it come here only; may be repeated
    #[arg(long, value_name = "NAME")]
    label: Vec<String>,
    /// Seconds after which the others take over the agents of a server that is gone
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = above_zero())]
    lease: u64,
}

impl FleetArgs {
    /// Opens the store of a server, and joins the others if it is shared.
    pub(super) fn open(
        &self,
        name: &Path,
        has_model: bool,
        has_hook: bool,
    ) -> Result<Store, CliError> {
        let store = Store::open(name)?;
        if store.file().is_none() && has_hook {
            return Err(CannotServe::NoHooks.into());
        }
        if store.file().is_some() && (self.public_url.is_some() || !self.label.is_empty()) {
            return Err(CannotServe::NotShared.into());
        }
        let options = WorkerOptions {
            address: self.public_url.clone(),
            labels: self.label.iter().cloned().collect(),
            kinds: wakeful_serve::kinds(has_model),
            lease: Duration::from_secs(self.lease),
        };
        Ok(store.join(&options)?)
    }

    /// The name by which the other servers call this one.
    pub(super) fn host_name(&self) -> Result<Option<String>, CannotServe> {
        let Some(url) = &self.public_url else { return Ok(None) };
        let wrong = || CannotServe::PublicUrl(url.clone());
        let (scheme, authority) = url.split_once("://").ok_or_else(wrong)?;
        let authority = authority.trim_end_matches('/');
        let is_plain = matches!(scheme, "http" | "https")
            && !authority.is_empty()
            && !authority.contains(['/', '?', '#', '@', ' ']);
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if port.parse::<u16>().is_ok() => host,
            _ => authority,
        };
        is_plain.then(|| Some(host.to_ascii_lowercase())).ok_or_else(wrong)
    }
}

/// Whether a name is the address of a store that servers share.
pub(super) fn is_shared(name: &Path) -> Result<bool, CliError> {
    Ok(Address::of(name)?.is_some())
}

/// The names by which a server may be called.
pub(super) fn names(given: &[String], public: Option<String>) -> BTreeSet<String> {
    given.iter().map(|name| name.to_ascii_lowercase()).chain(public).collect()
}
