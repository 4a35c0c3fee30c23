//! What all clients of HTTP share, here and in the crates above: whom they trust, and where they
//! do not follow.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};

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

/// The wait that the header `Retry-After` asks for: seconds, perhaps with a fraction, or until a
/// date. `None` if it is neither.
#[must_use]
pub fn wait_asked_for(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    let until = |date: SystemTime| date.duration_since(now).unwrap_or_default();
    wait_in(text, Duration::from_secs(1))
        .or_else(|| httpdate::parse_http_date(text).ok().map(until))
}

/// A number of units of time, perhaps with a fraction.
pub(crate) fn wait_in(text: &str, unit: Duration) -> Option<Duration> {
    let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite())?;
    Duration::try_from_secs_f64(number * unit.as_secs_f64()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_asked_for_in_seconds_or_until_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (text, wait) in [
            ("3", Some(3.0)),
            (" 0 ", Some(0.0)),
            ("1.5", Some(1.5)),
            ("Sun, 06 Nov 1994 08:49:42 GMT", Some(5.0)),
            ("Sun, 06 Nov 1994 08:49:30 GMT", Some(0.0)),
            ("soon", None),
            ("-1", None),
            ("NaN", None),
            ("1e300", None),
        ] {
            assert_eq!(wait_asked_for(text, now), wait.map(Duration::from_secs_f64), "{text}");
        }
    }

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
