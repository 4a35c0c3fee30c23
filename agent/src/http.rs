//! What all clients of HTTP share, here and in the crates above: whom they trust, and where they
//! do not follow.

use std::{net::IpAddr, sync::Arc};

use ureq::{
    Agent,
    config::ConfigBuilder,
    tls::{RootCerts, TlsConfig},
    typestate::AgentScope,
};

/// How to connect, without limits of time. TLS uses the certificates of the system. Redirects are
/// not followed: they would lose the body or carry the key elsewhere. An answer with a status of an
/// error is an answer.
pub fn client() -> ConfigBuilder<AgentScope> {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("wakeful/", env!("CARGO_PKG_VERSION")))
}

/// Whether a host is this machine: `localhost` or a loopback address, that of IPv6 with or without
/// brackets. The proxy of the environment would lead to other machines.
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>().map_or_else(
        |_| bare.eq_ignore_ascii_case("localhost"),
        |address| address.to_canonical().is_loopback(),
    )
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn hosts_of_this_machine_are_known() {
        for host in ["localhost", "LOCALHOST", "127.0.0.1", "127.8.8.8", "::1", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        assert!(is_loopback("::ffff:127.0.0.1"), "an address of IPv4 in the form of IPv6");
        for host in ["", "10.0.0.7", "0.0.0.0", "::", "localhost.example", "127.0.0.1.example"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
