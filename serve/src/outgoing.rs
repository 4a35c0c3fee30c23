//! What all requests share that the server sends to others.

use std::{sync::Arc, time::Duration};

use ureq::{
    Agent,
    config::ConfigBuilder,
    tls::{RootCerts, TlsConfig},
    typestate::AgentScope,
};

/// The time that a receiver has to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most bytes that are read of an answer.
pub(crate) const ANSWER_BYTES: u64 = 16 << 10;

/// A client that trusts what the system trusts, and follows nobody elsewhere.
pub(crate) fn client() -> ConfigBuilder<AgentScope> {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(PATIENCE))
        .max_response_header_size(ANSWER_BYTES as usize)
        .user_agent(concat!("wakeful/", env!("CARGO_PKG_VERSION")))
}

/// Half of the wait to all of it, so that those who failed together do not come back together.
pub(crate) fn jittered(wait: Duration) -> Duration {
    let mut byte = [0];
    // Without random bytes the wait is only as long as that of others.
    let _ = getrandom::fill(&mut byte);
    wait.mul_f64(0.5 + f64::from(byte[0]) / 512.0)
}
