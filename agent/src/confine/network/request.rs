//! The head of a request to the proxy: read once, strictly, and written again for the server.

use httparse::{EMPTY_HEADER, Header, Status};

use super::{
    body::{Body, Chunk},
    hosts::{Host, authority},
};

/// The longest head, and the most headers in it.
pub(super) const HEAD_BYTES: usize = 16 * 1024;
const HEADERS: usize = 100;

/// The port of `http://` URLs.
const HTTP: u16 = 80;

/// Headers that are for the proxy alone (RFC 9110, section 7.6.1). `Transfer-Encoding` and
/// `Trailer` are not among them: the body passes as it is.
const HOP_BY_HOP: [&str; 8] = [
    "connection",
    "proxy-connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "upgrade",
    // Written from the URL, which was checked.
    "host",
];

/// A request that was read.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) host: Host,
    pub(super) port: u16,
    /// The head for the server; `None` if the client wants a tunnel (`CONNECT`).
    pub(super) head: Option<Vec<u8>>,
    /// What follows it.
    pub(super) body: Body,
    /// The length of the head that was read.
    pub(super) length: usize,
}

/// Why a request is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Invalid {
    pub(super) status: u16,
    pub(super) why: String,
}

impl Invalid {
    fn new(why: impl Into<String>) -> Self {
        Self { status: 400, why: why.into() }
    }
}

/// Reads a head; `None` if it is not complete yet.
pub(super) fn read(bytes: &[u8]) -> Result<Option<Request>, Invalid> {
    let mut headers = [EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let too_large = |what: &str| Invalid { status: 431, why: format!("its head has {what}") };
    let length = match parsed.parse(bytes) {
        Ok(Status::Complete(length)) if length <= HEAD_BYTES => length,
        Ok(Status::Partial) if bytes.len() < HEAD_BYTES => return Ok(None),
        Ok(_) => return Err(too_large(&format!("more than {HEAD_BYTES} bytes"))),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(too_large(&format!("more than {HEADERS} headers")));
        }
        Err(why) => return Err(Invalid::new(format!("it is not HTTP: {why}"))),
    };
    // A complete head has both.
    let (method, target) = (parsed.method.unwrap_or_default(), parsed.path.unwrap_or_default());
    if method == "CONNECT" {
        let (host, port) = host_of(target)?;
        let port = port.ok_or_else(|| Invalid::new("`CONNECT` needs a port"))?;
        return Ok(Some(Request { host, port, head: None, body: Body::Endless, length }));
    }
    let (place, path) = absolute(target)?;
    let (host, port) = host_of(place)?;
    let port = port.unwrap_or(HTTP);
    let body = body_of(parsed.headers)?;
    let shown = if port == HTTP { host.to_string() } else { format!("{host}:{port}") };
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nHost: {shown}\r\nConnection: close\r\n").into_bytes();
    let named = named_in_connection(parsed.headers);
    for header in parsed.headers.iter() {
        let name = header.name.to_ascii_lowercase();
        if !HOP_BY_HOP.contains(&name.as_str()) && !named.contains(&name) {
            head.extend([header.name.as_bytes(), b": ", header.value, b"\r\n"].concat());
        }
    }
    head.extend(b"\r\n");
    Ok(Some(Request { host, port, head: Some(head), body, length }))
}

fn host_of(text: &str) -> Result<(Host, Option<u16>), Invalid> {
    authority(text)
        .map_err(|why| Invalid::new(format!("`{}` is not a host: {why}", text.escape_debug())))
}

/// The host of a URL, and the target that its server reads.
fn absolute(target: &str) -> Result<(&str, String), Invalid> {
    if target.starts_with('/') || target == "*" {
        return Err(Invalid::new(
            "it is for a server, and this is a proxy; name the whole URL, or use `CONNECT`",
        ));
    }
    let place = target
        .split_once("://")
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("http"))
        .map(|(_, rest)| rest)
        .ok_or_else(|| Invalid::new("only `http://` URLs and `CONNECT` pass this proxy"))?;
    let (place, path) = place.split_at(place.find(['/', '?', '#']).unwrap_or(place.len()));
    // Servers do not read what follows a `#`.
    let path = path.split('#').next().unwrap_or_default();
    let root = if path.starts_with('/') { "" } else { "/" };
    Ok((place, format!("{root}{path}")))
}

/// How the body is framed. What two servers could read differently is refused.
fn body_of(headers: &[Header<'_>]) -> Result<Body, Invalid> {
    let values = |name: &str| {
        headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value.trim_ascii())
            .collect::<Vec<_>>()
    };
    match (values("transfer-encoding").as_slice(), values("content-length").as_slice()) {
        ([], []) => Ok(Body::Bytes(0)),
        ([], [first, others @ ..]) if others.iter().all(|other| other == first) => {
            let is_number = !first.is_empty() && first.iter().all(u8::is_ascii_digit);
            str::from_utf8(first)
                .ok()
                .filter(|_| is_number)
                .and_then(|text| text.parse().ok())
                .map(Body::Bytes)
                .ok_or_else(|| Invalid::new("its `Content-Length` is not a number"))
        }
        ([coding], []) if coding.eq_ignore_ascii_case(b"chunked") => {
            Ok(Body::Chunked(Chunk::FIRST))
        }
        _ => Err(Invalid::new("the length of its body is not clear")),
    }
}

/// The other headers that are for the proxy alone, because `Connection` names them.
fn named_in_connection(headers: &[Header<'_>]) -> Vec<String> {
    headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("connection"))
        .flat_map(|header| header.value.split(|byte| *byte == b','))
        .map(|name| String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase())
        // They say where the body ends.
        .filter(|name| name != "content-length" && name != "transfer-encoding")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(text: &str) -> Result<Request, Invalid> {
        read(text.as_bytes()).map(|request| request.expect("a complete head"))
    }

    fn refused(text: &str) -> (u16, String) {
        let why = complete(text).expect_err(text);
        (why.status, why.why)
    }

    #[test]
    fn a_tunnel_names_its_host_and_port() {
        for (target, host, port) in [
            ("crates.io:443", "crates.io", 443),
            ("CRATES.io.:443", "crates.io", 443),
            ("[::1]:8443", "[::1]", 8443),
            ("[::ffff:127.0.0.1]:80", "127.0.0.1", 80),
        ] {
            let text = format!("CONNECT {target} HTTP/1.1\r\nHost: other\r\n\r\nrest");
            let request = complete(&text).expect(target);
            assert_eq!((request.host.to_string().as_str(), request.port), (host, port));
            assert_eq!((request.head, request.body), (None, Body::Endless));
            assert_eq!(&text[request.length..], "rest");
        }
    }

    #[test]
    fn a_server_gets_its_own_part_of_the_url_and_no_header_for_the_proxy() {
        let text = "POST http://Example.com:8080/a?b=c#d HTTP/1.1\r\nHost: evil.com\r\nhost: \
                    evil.org\r\nAccept: */*\r\nConnection: keep-alive, X-Private, \
                    Content-Length\r\nX-Private: 1\r\nProxy-Connection: \
                    keep-alive\r\nProxy-Authorization: Basic x\r\nKeep-Alive: 5\r\nTE: \
                    trailers\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc";
        let request = complete(text).expect("a request");
        assert_eq!((request.host.to_string().as_str(), request.port), ("example.com", 8080));
        assert_eq!(
            String::from_utf8(request.head.expect("a head")).expect("text"),
            "POST /a?b=c HTTP/1.1\r\nHost: example.com:8080\r\nConnection: close\r\nAccept: \
             */*\r\nContent-Length: 3\r\n\r\n"
        );
        assert_eq!(request.body, Body::Bytes(3));
        for (url, first) in [
            ("http://a.b", "GET / HTTP/1.1\r\nHost: a.b\r\n"),
            ("HTTP://a.b:80?x", "GET /?x HTTP/1.1\r\nHost: a.b\r\n"),
            ("http://[::1]/", "GET / HTTP/1.1\r\nHost: [::1]\r\n"),
        ] {
            let head = complete(&format!("GET {url} HTTP/1.0\r\n\r\n")).expect(url).head;
            let head = String::from_utf8(head.expect("a head")).expect("text");
            assert!(head.starts_with(first), "{head}");
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let get = |headers: &str| format!("GET http://a.b/ HTTP/1.1\r\n{headers}\r\n");
        let table = [
            (get("Content-Length: 1\r\nContent-Length: 2\r\n"), "not clear"),
            (get("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), "not clear"),
            (get("Transfer-Encoding: gzip, chunked\r\n"), "not clear"),
            (get("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), "not clear"),
            (get("Content-Length: +1\r\n"), "not a number"),
            (get("Content-Length: \r\n"), "not a number"),
            (get("Content-Length: 99999999999999999999\r\n"), "not a number"),
            (get("Bad Name: 1\r\n"), "not HTTP"),
            (get("A: 1\r\n folded\r\n"), "not HTTP"),
            ("GET / HTTP/1.1\r\nHost: a.b\r\n\r\n".to_owned(), "this is a proxy"),
            ("GET https://a.b/ HTTP/1.1\r\n\r\n".to_owned(), "`CONNECT`"),
            ("GET ftp://a.b/ HTTP/1.1\r\n\r\n".to_owned(), "`CONNECT`"),
            ("GET http:///x HTTP/1.1\r\n\r\n".to_owned(), "is not a host"),
            ("GET http://me@a.b/ HTTP/1.1\r\n\r\n".to_owned(), "has a user"),
            ("GET http://a.b\\@c.d/ HTTP/1.1\r\n\r\n".to_owned(), "is not a host"),
            ("GET http://a.b%00.c.d/ HTTP/1.1\r\n\r\n".to_owned(), "is not a host"),
            ("GET http://127.1/ HTTP/1.1\r\n\r\n".to_owned(), "four numbers"),
            ("CONNECT a.b HTTP/1.1\r\n\r\n".to_owned(), "needs a port"),
            ("CONNECT a.b:0 HTTP/1.1\r\n\r\n".to_owned(), "its port"),
            ("CONNECT http://a.b:80 HTTP/1.1\r\n\r\n".to_owned(), "is a URL"),
            ("CONNECT a.b\u{1}c:80 HTTP/1.1\r\n\r\n".to_owned(), "not HTTP"),
            ("CONNECT a.b\u{0}:80 HTTP/1.1\r\n\r\n".to_owned(), "not HTTP"),
            ("CONNECT a\u{7f}.b:80 HTTP/1.1\r\n\r\n".to_owned(), "not HTTP"),
            ("CONNECT *.b:80 HTTP/1.1\r\n\r\n".to_owned(), "`*`"),
            ("\u{16}\u{3}\u{1}".to_owned(), "not HTTP"),
        ];
        for (text, what) in table {
            let (status, why) = refused(&text);
            assert!(status == 400 && why.contains(what), "{text:?}: {status} {why}");
        }
    }

    #[test]
    fn a_head_has_bounds() {
        let start = "GET http://a.b/ HTTP/1.1\r\n";
        let many = "A: b\r\n".repeat(HEADERS + 1);
        assert_eq!(refused(&format!("{start}{many}\r\n")).0, 431);
        let long = format!("{start}A: {}\r\n\r\n", "x".repeat(HEAD_BYTES));
        assert_eq!(refused(&long).0, 431);
        assert_eq!(refused(&long[..HEAD_BYTES]).0, 431, "it is refused before it ends");
        assert!(matches!(read(&long.as_bytes()[..HEAD_BYTES - 1]), Ok(None)));
        for end in 0..start.len() {
            assert!(matches!(read(&start.as_bytes()[..end]), Ok(None)), "{end}");
        }
    }
}
