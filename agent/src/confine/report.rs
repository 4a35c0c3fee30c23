//! Which wall holds, and what it does not enforce.

use serde::Serialize;

use super::{Confinement, Network, Policy, Wall, kernel::Held};

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
        let mut all = match self.wall() {
            Wall::Bubblewrap => second_layer(self.held),
            Wall::Landlock => not_held(&self.policy, self.held),
        };
        if !self.are_counted {
            let why = match self.wall() {
                Wall::Bubblewrap => "root has no other user for them here; run the agent as one",
                Wall::Landlock => "Landlock has no limit for them",
            };
            all.push(format!("commands can start any number of processes: {why}"));
        }
        if self.has_namespaces() {
            return all;
        }
        if !self.held.scopes {
            all.push(
                "commands can send signals to other processes of the user: this needs Linux 6.12"
                    .to_owned(),
            );
        }
        if !self.policy.network.is_open() {
            all.push("commands can use UDP: the kernel cannot block it".to_owned());
        }
        all.push(
            "commands can use the sockets of local services that the user can use, such as \
             Docker's: the kernel cannot block them"
                .to_owned(),
        );
        all
    }
}

/// What is missing of Landlock behind bubblewrap, where namespaces hold what it cannot.
fn second_layer(held: Held) -> Vec<String> {
    let missing = "commands have no second layer behind bubblewrap: this needs Linux 6.2 with \
                   Landlock (`lsm=landlock,...`)";
    (!held.files).then(|| missing.to_owned()).into_iter().collect()
}

/// The parts of a policy that the kernel cannot enforce.
pub(super) fn not_held(policy: &Policy, held: Held) -> Vec<String> {
    let files = "commands can use files outside their workspace: this needs Linux 6.2 with \
                 Landlock (`lsm=landlock,...`)";
    let tcp = "commands can use TCP: this needs Linux 6.7 with Landlock";
    let missing = [(held.files, files), (held.tcp || policy.network.is_open(), tcp)];
    missing.into_iter().filter(|(is_held, _)| !is_held).map(|(_, what)| what.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_cannot_hold_counts_where_the_policy_asks_for_it() {
        let missing = |files, tcp, network| {
            let network = if network { Network::Open } else { Network::Closed };
            let policy = Policy { network, ..Policy::default() };
            let all = not_held(&policy, Held { files, tcp, scopes: true });
            all.iter()
                .map(|line| line.split(':').next().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        let (files, tcp) =
            ("commands can use files outside their workspace", "commands can use TCP");
        assert_eq!(missing(true, true, false), [""; 0]);
        assert_eq!(
            missing(true, false, true),
            [""; 0],
            "a policy that allows the network needs no restriction of it"
        );
        assert_eq!(missing(true, false, false), [tcp]);
        assert_eq!(missing(false, false, true), [files]);
        assert_eq!(missing(false, false, false), [files, tcp]);
    }

    #[test]
    fn a_second_layer_that_is_missing_is_named() {
        let held = |files| Held { files, tcp: false, scopes: false };
        assert!(second_layer(held(true)).is_empty());
        assert!(second_layer(held(false))[0].starts_with("commands have no second layer"));
    }
}
