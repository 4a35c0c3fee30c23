//! The network of commands, if the policy lists its hosts.
//!
//! A command has a network of its own in which only its loopback works. There, the forwarder
//! ([`forward`]) takes each connection to a Unix socket of the host. Behind the socket, the host's
//! [`Proxy`] reads the request, compares its host with the policy, resolves the name, checks the
//! addresses, logs the decision ([`log`]), and connects. hyper reads and writes the requests. The
//! bytes of a tunnel pass through a [`relay`] on both sides.

mod addresses;
mod connection;
pub(super) mod forward;
mod hosts;
mod log;
mod proxy;
mod relay;
mod request;

pub use hosts::{HostError, HostRule, Network};
pub(super) use proxy::Proxy;

/// The variables by which programs find a proxy.
const OF_THE_PROXY: [&str; 6] =
    ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/// The variables that name what needs no proxy.
const WITHOUT_PROXY: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// The variables that lead programs to the proxy.
pub(super) fn variables() -> impl Iterator<Item = (String, String)> {
    let proxy = format!("http://127.0.0.1:{}", forward::PORT);
    let through = OF_THE_PROXY.map(|name| (name.to_owned(), proxy.clone()));
    // A command reaches its own servers directly.
    let around = WITHOUT_PROXY.map(|name| (name.to_owned(), "localhost,127.0.0.1,::1".to_owned()));
    through.into_iter().chain(around)
}
