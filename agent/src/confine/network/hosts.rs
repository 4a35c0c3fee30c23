//! The hosts that a policy lists, and the host that a request names.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use serde::{Serialize, Serializer};
use wakeful_core::json::{RawJson, Readable, Value};

/// The ports of a host that is listed without one: those of HTTP and HTTPS.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// The longest name of a host, and the longest part of one (RFC 1035).
const NAME_BYTES: usize = 253;
const LABEL_BYTES: usize = 63;

/// Which network commands may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// None.
    #[default]
    Closed,
    /// That of the host, without limits.
    Open,
    /// These hosts, through a proxy. The list is not empty.
    Hosts(Vec<HostRule>),
}

impl Network {
    /// Whether commands may use the network of the host as they like.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self == Self::Open
    }

    /// The hosts that commands may use, if the policy lists them.
    #[must_use]
    pub fn hosts(&self) -> Option<&[HostRule]> {
        match self {
            Self::Hosts(hosts) => Some(hosts),
            Self::Closed | Self::Open => None,
        }
    }
}

/// As in a policy.
impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Closed | Self::Open => serializer.serialize_bool(self.is_open()),
            Self::Hosts(hosts) => serializer.collect_seq(hosts.iter().map(ToString::to_string)),
        }
    }
}

impl Readable for Network {
    fn read(value: &Value<'_>) -> Self {
        if value.is_array() {
            let hosts = Vec::<HostRule>::read(value);
            if hosts.is_empty() {
                value.is_wrong(
                    &"the list of hosts is empty: name a host, as in `[\"crates.io\"]`, or write \
                      `false`",
                );
            }
            return Self::Hosts(hosts);
        }
        match <RawJson as Readable>::read(value).as_str() {
            "true" => Self::Open,
            "false" => Self::Closed,
            _ => {
                value.has_wrong_type("`true`, `false` or a list of hosts");
                Self::Closed
            }
        }
    }
}

/// A host that commands may use, or all hosts below a name.
#[derive(Clone, Debug, PartialEq, Eq, Readable)]
#[serde(try_from = "String")]
pub struct HostRule {
    host: Host,
    /// Whether only the names below the host are meant (`*.`).
    is_below: bool,
    /// `None` means the usual ports.
    port: Option<u16>,
}

/// Replaces a rule that cannot be read. It never leaves the reader.
impl Default for HostRule {
    fn default() -> Self {
        Self { host: Host::Name(String::new()), is_below: false, port: None }
    }
}

impl HostRule {
    /// Whether a request for this host and port may pass.
    pub(super) fn matches(&self, host: &Host, port: u16) -> bool {
        let is_host = match (&self.host, host) {
            (Host::Name(listed), Host::Name(asked)) if self.is_below => asked
                .strip_suffix(listed.as_str())
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            (listed, asked) => listed == asked,
        };
        is_host && self.port.map_or(USUAL_PORTS.contains(&port), |listed| listed == port)
    }

    /// The text that allows this host and port in a policy.
    pub(super) fn allowing(host: &Host, port: u16) -> String {
        let port = Some(port).filter(|port| !USUAL_PORTS.contains(port));
        Self { host: host.clone(), is_below: false, port }.to_string()
    }

    /// The ports, in words.
    #[must_use]
    pub fn ports(&self) -> String {
        let [plain, encrypted] = USUAL_PORTS;
        self.port
            .map_or_else(|| format!("ports {plain} and {encrypted}"), |port| format!("port {port}"))
    }
}

/// As the policy writes it.
impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = if self.is_below { "*." } else { "" };
        write!(f, "{below}{}", self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl TryFrom<String> for HostRule {
    type Error = HostError;

    fn try_from(text: String) -> Result<Self, HostError> {
        let wrong = |why| HostError { text: text.clone(), why };
        if text == "*" {
            return Err(wrong(Wrong::Everything));
        }
        let (named, is_below) =
            text.strip_prefix("*.").map_or((text.as_str(), false), |below| (below, true));
        let (host, port) = authority(named).map_err(wrong)?;
        // Names do not end in a dot here; requests may write one.
        if named.split(':').next().is_some_and(|name| name.ends_with('.')) {
            return Err(wrong(Wrong::Name));
        }
        match host {
            Host::Address(_) if is_below => Err(wrong(Wrong::BelowAddress)),
            host => Ok(Self { host, is_below, port }),
        }
    }
}

/// Why a text is not a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a host: {why}", text.escape_debug())]
pub struct HostError {
    pub(super) text: String,
    pub(super) why: Wrong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Wrong {
    #[error("write a name, as in `crates.io`")]
    Empty,
    #[error("it is a URL; write only the host of it, as in `crates.io`")]
    Url,
    #[error("it is a range of addresses; list each address, or a name")]
    Range,
    #[error("it has a path; write only the host")]
    Path,
    #[error("it has a user; write only the host")]
    User,
    #[error("a `*` can only be the whole first part, as in `*.example.com`")]
    Star,
    #[error("write `true` instead of the list to allow every host")]
    Everything,
    #[error("an address has nothing below it; leave out the `*.`")]
    BelowAddress,
    #[error("its port is not a number from 1 to 65535")]
    Port,
    #[error("an IPv6 address is written in brackets, as in `[2001:db8::1]:443`")]
    Brackets,
    #[error("an IPv4 address has four numbers, as in `192.0.2.1`")]
    Numbers,
    #[error("a name of other letters is written in ASCII, as in `xn--bcher-kva.example`")]
    Letters,
    #[error("a name has letters, digits, `-` and `_` between single dots")]
    Name,
}

/// A host, in one form only: names are in lower case and without a final dot, and an IPv4 address
/// inside an IPv6 address is an IPv4 address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Name(String),
    Address(IpAddr),
}

impl Host {
    /// Whether it is this machine by its reserved name (RFC 6761).
    pub(super) fn is_localhost(&self) -> bool {
        matches!(self, Self::Name(name) if name == "localhost")
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// Reads a host, with a port or without.
pub(super) fn authority(text: &str) -> Result<(Host, Option<u16>), Wrong> {
    why_not(text).map_or(Ok(()), Err)?;
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']').ok_or(Wrong::Brackets)?;
            let address: Ipv6Addr = address.parse().map_err(|_| Wrong::Brackets)?;
            let port = match port {
                "" => None,
                port => Some(port.strip_prefix(':').ok_or(Wrong::Port)?),
            };
            (Host::Address(IpAddr::V6(address).to_canonical()), port)
        }
        None => {
            let (name, port) =
                text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
            (name_or_address(name)?, port)
        }
    };
    Ok((host, port.map(port_number).transpose()?))
}

/// What people may write in place of a host.
fn why_not(text: &str) -> Option<Wrong> {
    let is_range = || {
        text.split_once('/').is_some_and(|(address, bits)| {
            address.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
                && bits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    match text {
        "" => Some(Wrong::Empty),
        _ if text.contains("://") => Some(Wrong::Url),
        _ if is_range() => Some(Wrong::Range),
        _ if text.contains(['/', '?', '#', '\\']) => Some(Wrong::Path),
        _ if text.contains('@') => Some(Wrong::User),
        _ if text.contains('*') => Some(Wrong::Star),
        _ if !text.starts_with('[') && text.matches(':').count() > 1 => Some(Wrong::Brackets),
        _ if !text.is_ascii() => Some(Wrong::Letters),
        _ => None,
    }
}

/// A port is digits alone: `parse` would also take a sign.
fn port_number(text: &str) -> Result<u16, Wrong> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|port| is_plain && *port > 0);
    port.ok_or(Wrong::Port)
}

fn name_or_address(text: &str) -> Result<Host, Wrong> {
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Ok(Host::Address(address.into()));
    }
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (1..=LABEL_BYTES).contains(&label.len()) && label.bytes().all(is_letter)
    };
    if name.len() > NAME_BYTES || !name.split('.').all(is_label) {
        return Err(Wrong::Name);
    }
    // Resolvers read such a name as an address in another form, as in `127.1` or `0x7f.1`.
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last
            .to_ascii_lowercase()
            .strip_prefix("0x")
            .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    match is_number {
        true => Err(Wrong::Numbers),
        false => Ok(Host::Name(name.to_ascii_lowercase())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> HostRule {
        HostRule::try_from(text.to_owned()).unwrap_or_else(|why| panic!("{why}"))
    }

    #[test]
    fn a_rule_allows_its_host_and_its_ports_and_nothing_else() {
        let table = [
            ("crates.io", "crates.io:443", true),
            ("crates.io", "crates.io:80", true),
            ("crates.io", "CRATES.io.:443", true),
            ("Crates.IO", "crates.io:443", true),
            ("crates.io", "crates.io:22", false),
            ("crates.io", "static.crates.io:443", false),
            ("crates.io", "notcrates.io:443", false),
            ("crates.io", "crates.io.evil.com:443", false),
            ("*.pypi.org", "files.pypi.org:443", true),
            ("*.pypi.org", "a.b.pypi.org:443", true),
            ("*.pypi.org", "pypi.org:443", false),
            ("*.pypi.org", "evilpypi.org:443", false),
            ("*.pypi.org", "pypi.org.evil.com:443", false),
            ("*.pypi.org:8443", "files.pypi.org:8443", true),
            ("*.pypi.org:8443", "files.pypi.org:443", false),
            ("api.example.com:8443", "api.example.com:8443", true),
            ("api.example.com:8443", "api.example.com:443", false),
            ("127.0.0.1:8080", "127.0.0.1:8080", true),
            ("127.0.0.1:8080", "localhost:8080", false),
            ("127.0.0.1:8080", "[::ffff:127.0.0.1]:8080", true),
            ("127.0.0.1", "127.0.0.2:80", false),
            ("[::1]:8080", "[::1]:8080", true),
            ("[::1]", "[0:0:0:0:0:0:0:1]:443", true),
            ("[::ffff:10.0.0.1]", "10.0.0.1:443", true),
            ("localhost:8080", "localhost:8080", true),
            ("localhost:8080", "127.0.0.1:8080", false),
            ("my_host", "my_host:80", true),
        ];
        for (listed, asked, is_allowed) in table {
            let (host, port) = authority(asked).expect("a host");
            assert_eq!(
                rule(listed).matches(&host, port.expect("a port")),
                is_allowed,
                "`{listed}` and `{asked}`"
            );
        }
    }

    #[test]
    fn a_rule_is_written_as_the_policy_writes_it() {
        for text in ["crates.io", "*.pypi.org", "api.example.com:8443", "10.0.0.1", "[::1]:80"] {
            assert_eq!(rule(text).to_string(), text);
        }
        assert_eq!(rule("a.b:8443").ports(), "port 8443");
        assert_eq!(rule("a.b").ports(), "ports 80 and 443");
        let allowing = |text| {
            let (host, port) = authority(text).expect("a host");
            HostRule::allowing(&host, port.expect("a port"))
        };
        assert_eq!(allowing("a.b:443"), "a.b");
        assert_eq!(allowing("a.b:22"), "a.b:22");
    }

    #[test]
    fn what_is_not_a_host_is_refused_with_what_to_write() {
        let table = [
            ("", Wrong::Empty),
            (" ", Wrong::Name),
            ("https://crates.io", Wrong::Url),
            ("http://crates.io/api", Wrong::Url),
            ("10.0.0.0/8", Wrong::Range),
            ("fd00::/8", Wrong::Range),
            ("crates.io/api", Wrong::Path),
            ("crates.io/", Wrong::Path),
            ("crates.io?x", Wrong::Path),
            ("crates.io#x", Wrong::Path),
            ("a\\b", Wrong::Path),
            ("me@crates.io", Wrong::User),
            ("*", Wrong::Everything),
            ("*:443", Wrong::Star),
            ("*.*", Wrong::Star),
            ("*.*.io", Wrong::Star),
            ("crates.*", Wrong::Star),
            ("*crates.io", Wrong::Star),
            ("a.*.io", Wrong::Star),
            ("*.", Wrong::Empty),
            ("*.10.0.0.1", Wrong::BelowAddress),
            ("*.[::1]", Wrong::BelowAddress),
            ("crates.io:", Wrong::Port),
            ("crates.io:0", Wrong::Port),
            ("crates.io:65536", Wrong::Port),
            ("crates.io:+80", Wrong::Port),
            ("crates.io:http", Wrong::Port),
            ("[::1]8080", Wrong::Port),
            ("::1", Wrong::Brackets),
            ("2001:db8::1", Wrong::Brackets),
            ("[::1", Wrong::Brackets),
            ("[fe80::1%eth0]", Wrong::Brackets),
            ("[127.0.0.1]", Wrong::Brackets),
            ("127.1", Wrong::Numbers),
            ("2130706433", Wrong::Numbers),
            ("0x7f.1", Wrong::Numbers),
            ("0x7f000001", Wrong::Numbers),
            ("127.0.0.01", Wrong::Numbers),
            ("256.0.0.1", Wrong::Numbers),
            ("bücher.example", Wrong::Letters),
            ("crates.io.", Wrong::Name),
            ("crates.io.:443", Wrong::Name),
            (".crates.io", Wrong::Name),
            ("crates..io", Wrong::Name),
            ("crates io", Wrong::Name),
            ("crates.io\n", Wrong::Name),
            ("a\u{0}b", Wrong::Name),
            (".", Wrong::Name),
        ];
        for (text, why) in table {
            let refused = HostRule::try_from(text.to_owned()).map_err(|wrong| wrong.why);
            assert_eq!(refused, Err(why), "`{}`", text.escape_debug());
        }
        let long = format!("{}.io", "a".repeat(64));
        assert!(HostRule::try_from(long).is_err());
        let long = format!("{}io", "a.".repeat(126));
        assert!(HostRule::try_from(long).is_err());
    }
}
