//! Which wall holds, and what it does not enforce.

use serde::Serialize;

use super::{Barrier, Confinement, Network, Wall};

/// The value of `kind` in the piece of transcript that says which wall holds.
pub(crate) const WALL: &str = "confinement";

/// Which wall holds, as a piece of transcript.
#[derive(Debug, Serialize)]
pub(crate) struct Holds<'a> {
    kind: &'static str,
    wall: Wall,
    network: &'a Network,
    not_enforced: &'a [String],
}

impl Confinement {
    /// Which wall holds. `not_enforced` is what [`Confinement::describe`] returned.
    pub(crate) fn holds<'a>(&'a self, not_enforced: &'a [String]) -> Holds<'a> {
        Holds { kind: WALL, wall: self.wall(), network: &self.policy.network, not_enforced }
    }

    /// The parts of the policy that are not enforced here, one sentence each.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        let mut all = Vec::new();
        if let Barrier::Container(sign) = &self.barrier {
            all.push(format!(
                "commands can use all files and processes of the container, also the ledger and \
                 Wakeful itself: the container ({sign}) is the wall"
            ));
            if !self.policy.network.is_open() {
                all.push("commands can use the network of the container".to_owned());
            }
        }
        if !self.are_counted {
            let why = match self.wall() {
                Wall::Bubblewrap => "root has no other user for them here; run the agent as one",
                Wall::Container => "limit those of the container",
            };
            all.push(format!("commands can start any number of processes: {why}"));
        }
        all
    }
}
