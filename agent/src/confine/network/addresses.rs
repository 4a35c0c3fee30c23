//! Which addresses a name may lead to.
//!
//! The owner of an allowed name decides what it leads to. So a name never opens the services of
//! this machine, of its network or of its cloud; only a list with the address itself does.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket},
};

use super::hosts::{Host, HostRule};

/// Addresses of IPv4 that are not on the internet: the first of them, the bits that they share, and
/// what they are.
const CLOSED_V4: [(Ipv4Addr, u32, &str); 12] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "an unspecified address"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private address"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a private address"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "a loopback address"),
    // Azure answers virtual machines here, about themselves.
    (Ipv4Addr::new(168, 63, 129, 16), 32, "an address of the cloud's own services"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local address"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private address"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private address"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "a private address"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast address"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved address"),
];

/// The same of IPv6.
const CLOSED_V6: [(Ipv6Addr, u32, &str); 9] = [
    (Ipv6Addr::UNSPECIFIED, 128, "an unspecified address"),
    (Ipv6Addr::LOCALHOST, 128, "a loopback address"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "a private address"),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "a reserved address"),
    // Teredo: the address of a machine behind a translator is inside.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, "a reserved address"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "a private address"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "a link-local address"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "a private address"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "a multicast address"),
];

/// Forms of IPv6 whose last 32 bits are an address of IPv4: compatible, mapped, translated, and
/// NAT64.
const WITH_V4_AT_THE_END: [Ipv6Addr; 4] = [
    Ipv6Addr::UNSPECIFIED,
    Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0),
    Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0),
    Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0),
];

/// The prefix of 6to4; the address of IPv4 follows it.
const SIX_TO_FOUR: u16 = 0x2002;

/// The second group of an interface that ISATAP made; the address of IPv4 follows it.
const ISATAP: u16 = 0x5efe;

/// Why a request does not get an address.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAddress {
    #[error("the name cannot be resolved: {0}")]
    Unresolved(io::Error),
    #[error("it leads to {address}, which is {kind}")]
    Closed { address: IpAddr, kind: &'static str },
}

/// The addresses of a host that was listed. Connections must use these, because a second resolution
/// could give others.
pub(super) fn of_host(
    host: &Host,
    port: u16,
    rules: &[HostRule],
) -> Result<Vec<SocketAddr>, NoAddress> {
    let found: Vec<IpAddr> = match host {
        Host::Address(address) => vec![*address],
        // The resolver is not asked: this name must never lead to another machine.
        _ if host.is_localhost() => {
            return Ok([IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()]
                .map(|address| (address, port).into())
                .to_vec());
        }
        Host::Name(name) => (name.as_str(), port)
            .to_socket_addrs()
            .map_err(NoAddress::Unresolved)?
            .map(|address| address.ip().to_canonical())
            .collect(),
    };
    open_among(&found, port, rules)
}

/// Those addresses that are on the internet, or that the policy lists.
fn open_among(
    found: &[IpAddr],
    port: u16,
    rules: &[HostRule],
) -> Result<Vec<SocketAddr>, NoAddress> {
    let is_listed =
        |address: IpAddr| rules.iter().any(|rule| rule.matches(&Host::Address(address), port));
    let mut closed = None;
    let mut open = Vec::new();
    for address in found {
        match kind(*address).or_else(|| is_own(*address).then_some("an address of this machine")) {
            Some(kind) if !is_listed(*address) => {
                closed.get_or_insert(NoAddress::Closed { address: *address, kind });
            }
            _ => open.push((*address, port).into()),
        }
    }
    match (open.is_empty(), closed) {
        (true, Some(closed)) => Err(closed),
        (true, None) => {
            Err(NoAddress::Unresolved(io::Error::new(io::ErrorKind::NotFound, "it has no address")))
        }
        _ => Ok(open),
    }
}

/// What an address is, if it is not on the internet.
fn kind(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => CLOSED_V4
            .iter()
            .find(|(first, bits, _)| {
                (address.to_bits() ^ first.to_bits()) >> (u32::BITS - bits) == 0
            })
            .map(|(_, _, kind)| *kind),
        IpAddr::V6(address) => CLOSED_V6
            .iter()
            .find(|(first, bits, _)| {
                (address.to_bits() ^ first.to_bits()) >> (u128::BITS - bits) == 0
            })
            .map(|(_, _, kind)| *kind)
            .or_else(|| inside(address).and_then(|inside| kind(inside.into()))),
    }
}

/// The address of IPv4 inside an address of IPv6.
fn inside(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let groups = address.segments();
    let pair = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    let is_at_the_end =
        WITH_V4_AT_THE_END.iter().any(|form| form.to_bits() >> 32 == address.to_bits() >> 32);
    match groups {
        [SIX_TO_FOUR, high, low, ..] => Some(pair(high, low)),
        [.., 0 | 0x200, ISATAP, high, low] => Some(pair(high, low)),
        [.., high, low] if is_at_the_end => Some(pair(high, low)),
        _ => None,
    }
}

/// Whether this machine has the address. Only then the system chooses it as the source of packets
/// to itself. No packet is sent.
fn is_own(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let source = UdpSocket::bind((any, 0)).and_then(|socket| {
        // Any port will do: the system only looks for the way.
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<HostRule> {
        texts.iter().map(|text| HostRule::try_from((*text).to_owned()).expect("a rule")).collect()
    }

    #[test]
    fn what_is_not_on_the_internet_is_known_in_each_form() {
        let table = [
            ("unspecified", "0.0.0.0 0.1.2.3 :: ::ffff:0.0.0.0"),
            (
                "private",
                "10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 \
                 100.100.100.200 198.18.0.1 fc00::1 fd00:ec2::254 fec0::1 64:ff9b:1::1 \
                 ::ffff:10.0.0.1 ::10.0.0.1 64:ff9b::10.0.0.1 64:ff9b::c0a8:101 2002:a00:1::1 \
                 2a00::5efe:a00:1 2a00::200:5efe:192.168.0.1 ::ffff:0:10.1.1.1",
            ),
            (
                "loopback",
                "127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1 ::127.0.0.1 2002:7f00:1::",
            ),
            (
                "link-local",
                "169.254.169.254 169.254.0.1 fe80::1 febf::1 ::ffff:169.254.169.254 \
                 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::1",
            ),
            ("cloud", "168.63.129.16 ::ffff:168.63.129.16"),
            ("multicast", "224.0.0.1 239.255.255.255 ff02::1 ::ffff:224.0.0.1"),
            ("reserved", "240.0.0.1 255.255.255.255 192.0.0.192 2001::1 100::1"),
        ];
        for (word, all) in table {
            for address in all.split_whitespace() {
                let kind = kind(address.parse().expect("an address"));
                assert!(kind.is_some_and(|kind| kind.contains(word)), "{address}: {kind:?}");
            }
        }
        let open = "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.1.1.1 \
                    128.0.0.1 168.63.129.15 169.253.1.1 172.15.0.1 172.32.0.1 192.0.1.1 192.167.1.1 \
                    198.17.1.1 198.20.0.1 223.255.255.255 2606:4700::1111 2001:4860:4860::8888 \
                    2a00::1 ::ffff:1.1.1.1 64:ff9b::1.1.1.1 2002:101:101::1";
        for address in open.split_whitespace() {
            assert_eq!(kind(address.parse().expect("an address")), None, "{address}");
        }
    }

    #[test]
    fn a_name_opens_a_closed_address_only_if_the_address_is_listed() {
        let found = |addresses: &[&str], listed: &[&str]| {
            let addresses: Vec<IpAddr> =
                addresses.iter().map(|text| text.parse().expect("an address")).collect();
            open_among(&addresses, 80, &rules(listed))
                .map(|all| all.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(" "))
                .map_err(|why| why.to_string())
        };
        let name = ["a.example"];
        assert_eq!(found(&["1.1.1.1"], &name).as_deref(), Ok("1.1.1.1:80"));
        assert_eq!(
            found(&["127.0.0.1", "1.1.1.1", "::1"], &name).as_deref(),
            Ok("1.1.1.1:80"),
            "the others are not used"
        );
        assert_eq!(
            found(&["169.254.169.254"], &name),
            Err("it leads to 169.254.169.254, which is a link-local address".to_owned())
        );
        assert!(found(&["127.0.0.1"], &["a.example", "localhost"]).is_err());
        assert!(found(&["127.0.0.1"], &["a.example", "127.0.0.1:8080"]).is_err(), "another port");
        assert!(found(&["127.0.0.2"], &["a.example", "127.0.0.1"]).is_err());
        assert_eq!(found(&["10.0.0.1"], &["a.example", "10.0.0.1"]).as_deref(), Ok("10.0.0.1:80"));
        assert!(found(&[], &name).is_err_and(|why| why.contains("no address")));
    }

    #[test]
    fn a_name_that_leads_to_this_machine_is_refused_and_localhost_is_not_resolved() {
        let name = |text: &str| Host::Name(text.to_owned());
        let localhost = of_host(&name("localhost"), 80, &rules(&["localhost"])).expect("known");
        assert_eq!(localhost, ["127.0.0.1:80", "[::1]:80"].map(|a| a.parse().expect("one")));
        // Resolvers read it as 127.0.0.1. The list cannot have it, but the check must not rely on
        // that.
        let refused = of_host(&name("127.1"), 80, &rules(&["a.example"]));
        assert!(matches!(refused, Err(NoAddress::Closed { .. })), "{refused:?}");
        let refused = of_host(&name("no-such-name.invalid"), 80, &rules(&["a.example"]));
        assert!(matches!(refused, Err(NoAddress::Unresolved(_))), "{refused:?}");
        assert!(is_own(Ipv4Addr::LOCALHOST.into()));
        assert!(!is_own(Ipv4Addr::new(1, 1, 1, 1).into()));
    }
}
