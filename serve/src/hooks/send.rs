//! Sending an event: to which addresses, signed by Standard Webhooks, and never for long.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use ureq::{
    Agent,
    config::Config,
    http::Uri,
    tls::{RootCerts, TlsConfig},
    unversioned::{
        resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver},
        transport::{DefaultConnector, NextTimeout},
    },
};

use super::event::Event;

/// The time that a receiver has to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most bytes that are read of an answer.
const ANSWER_BYTES: u64 = 16 << 10;

/// The beginning of a secret, as Standard Webhooks writes it.
const SECRET: &str = "whsec_";

/// Where the instance data of machines in a cloud is, besides the link-local addresses.
const METADATA: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// A secret with which requests are signed.
pub(super) fn new_secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{SECRET}{}", STANDARD.encode(bytes)))
}

/// The signature of an event at a time.
fn signature(secret: &str, event: &Event, timestamp: u64) -> Result<String, String> {
    let key = secret.strip_prefix(SECRET).and_then(|text| STANDARD.decode(text).ok());
    let key = key.ok_or("the hook's secret cannot be read: delete the hook and make it again")?;
    let mut mac = <Hmac<Sha256> as Mac>::new_from_slice(&key).map_err(|why| why.to_string())?;
    mac.update(format!("{}.{timestamp}.{}", event.id, event.body).as_bytes());
    Ok(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

/// Why no hook may have this URL; `None` if one may.
pub(super) fn fault_in(url: &str, allows_http: bool) -> Option<String> {
    let Ok(uri) = url.parse::<Uri>() else {
        return Some(format!("`{url}` is not a URL: write it as https://desk.example/hook"));
    };
    let host = uri.host().unwrap_or_default();
    if host.is_empty() || uri.authority().is_some_and(|it| it.as_str().contains('@')) {
        return Some(format!("`{url}` must have a host, and neither a name nor a password"));
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse::<IpAddr>().ok();
    if let Some(address) = address.filter(|address| is_refused(*address)) {
        return Some(format!(
            "no hook may reach {address}: it is a link-local address or not that of one machine"
        ));
    }
    let is_here = address.map_or_else(
        || bare.eq_ignore_ascii_case("localhost"),
        |address| address.to_canonical().is_loopback(),
    );
    match uri.scheme_str() {
        Some("https") => None,
        Some("http") if allows_http || is_here => None,
        Some("http") => Some(format!(
            "`{url}` would send events in plain text: use https, or start the server with \
             --allow-http-hooks"
        )),
        _ => Some(format!("`{url}` must begin with https://")),
    }
}

/// Whether no hook may reach an address: those of links, on which clouds serve secrets of a machine,
/// and those that are not of one machine.
fn is_refused(address: IpAddr) -> bool {
    let address = address.to_canonical();
    if METADATA.contains(&address) {
        return true;
    }
    match address {
        IpAddr::V4(v4) => {
            v4.is_link_local() || v4.is_broadcast() || v4.is_multicast() || v4.octets()[0] == 0
        }
        IpAddr::V6(v6) => {
            // A gateway between the protocols has the IPv4 address at the end.
            let part = v6.segments();
            let [.., high, low] = part;
            let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
            let is_embedded = matches!(part, [0x64, 0xff9b, 0, 0, 0, 0, ..])
                || matches!(part, [0, 0, 0, 0, 0, 0, ..]) && !v6.is_loopback();
            v6.is_unicast_link_local()
                || v6.is_multicast()
                || v6.is_unspecified()
                || is_embedded && is_refused(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
        }
    }
}

/// Resolves names, and leaves out the addresses that no hook may reach. The connection goes to what
/// is left, so a name cannot point elsewhere a moment later.
#[derive(Debug)]
struct Guarded {
    allows_http: bool,
}

impl Resolver for Guarded {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        let is_plain = uri.scheme_str() != Some("https") && !self.allows_http;
        let may = |address: &&SocketAddr| {
            let ip = address.ip().to_canonical();
            !is_refused(ip) && (!is_plain || ip.is_loopback())
        };
        let mut left = self.empty();
        found.iter().filter(may).for_each(|address| left.push(*address));
        if left.is_empty() {
            let why = "its name stands for an address that no hook may reach";
            return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, why).into());
        }
        Ok(left)
    }
}

/// Sends events over HTTP.
pub(super) struct Sender(Agent);

impl Sender {
    pub(super) fn new(allows_http: bool) -> Self {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            // A proxy would resolve the name itself.
            .proxy(None)
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(PATIENCE))
            .max_response_header_size(ANSWER_BYTES as usize)
            .user_agent(concat!("wakeful/", env!("CARGO_PKG_VERSION")))
            .build();
        let resolver = Guarded { allows_http };
        Self(Agent::with_parts(config, DefaultConnector::default(), resolver))
    }

    /// Sends an event. It is delivered if the receiver answers with a status of success.
    pub(super) fn send(&self, url: &str, secret: &str, event: &Event) -> Result<(), String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let sent = self
            .0
            .post(url)
            .header("content-type", "application/cloudevents+json; charset=utf-8")
            .header("webhook-id", &event.id)
            .header("webhook-timestamp", now.to_string())
            .header("webhook-signature", signature(secret, event, now)?)
            .send(&event.body);
        let mut answer = sent.map_err(|why| why.to_string())?;
        let status = answer.status();
        // What is read lets the connection be used again, and says nothing.
        let _ = answer.body_mut().with_config().limit(ANSWER_BYTES).read_to_vec();
        match status.is_success() {
            true => Ok(()),
            false => Err(format!("the receiver answered {status}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_signed_as_the_specification_does() {
        // The example of the Standard Webhooks libraries.
        let event = Event {
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek".into(),
            body: r#"{"test": 2432232314}"#.into(),
        };
        let signed = signature("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", &event, 1_614_265_330);
        assert_eq!(signed, Ok("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=".into()));
    }

    #[test]
    fn events_go_encrypted_and_not_to_links() {
        for url in [
            "https://desk.example/hook",
            "https://10.0.0.7:8443/hook",
            "http://localhost:9/",
            "http://127.0.0.1/x",
            "http://[::1]:80/",
        ] {
            assert_eq!(fault_in(url, false), None, "{url}");
        }
        for url in [
            "http://desk.example/hook",
            "http://10.0.0.7/",
            "http://localhost.desk.example/",
            "ftp://desk.example/",
            "desk.example",
            "/hook",
            "",
            "https://me:secret@desk.example/",
            "https://169.254.169.254/latest",
            "https://[fe80::1]/",
            "https://[::ffff:169.254.169.254]/",
            "https://[64:ff9b::a9fe:a9fe]/",
            "https://[::a9fe:a9fe]/",
            "https://[fd00:ec2::254]/",
            "https://100.100.100.200/",
            "https://0.0.0.0/",
            "https://[::]/",
            "https://224.0.0.1/",
            "https://255.255.255.255/",
        ] {
            assert!(fault_in(url, false).is_some(), "{url}");
        }
        assert_eq!(fault_in("http://desk.example/hook", true), None);
        assert!(fault_in("http://169.254.169.254/", true).is_some());
    }

    #[test]
    fn a_name_is_resolved_before_it_is_trusted() {
        // The system reads these as 169.254.169.254, and a check of the text would not.
        for url in ["http://2852039166/", "http://0xa9.0xfe.0xa9.0xfe/", "http://169.254.43518/"] {
            let event = Event { id: "evt_1".into(), body: "{}".into() };
            let secret = new_secret().expect("bytes");
            let why = Sender::new(true).send(url, &secret, &event).expect_err(url);
            assert!(why.contains("an address that no hook may reach"), "{url}: {why}");
        }
    }
}
