//! What a request to the proxy asks for, and what its server gets of it.

use hyper::{
    HeaderMap, Method, Request, Version,
    body::{Body, Incoming},
    header::{
        CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, InvalidHeaderValue, TE,
        TRANSFER_ENCODING, UPGRADE,
    },
    http::uri::PathAndQuery,
};

use super::hosts::{Host, authority};

/// The port of `http://` URLs.
const HTTP: u16 = 80;

/// Headers that are for the next program alone (RFC 9110, section 7.6.1). `Transfer-Encoding` is
/// not among them: it says how the body is framed, and hyper frames it again.
const HOP_BY_HOP: [HeaderName; 7] = [
    CONNECTION,
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-authenticate"),
    HeaderName::from_static("proxy-authorization"),
    TE,
    UPGRADE,
];

/// The host and port of a request.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) host: Host,
    pub(super) port: u16,
}

impl Target {
    /// The host and port of this request, or why they are not clear.
    pub(super) fn of(request: &Request<Incoming>) -> Result<Self, String> {
        let uri = request.uri();
        let is_tunnel = request.method() == Method::CONNECT;
        let place = match (is_tunnel, uri.scheme_str(), uri.authority()) {
            (true, None, Some(place)) | (false, Some("http"), Some(place)) => place.as_str(),
            (false, None, _) => {
                return Err("it is for a server, and this is a proxy; name the whole URL, or use \
                            `CONNECT`"
                    .to_owned());
            }
            _ => return Err("only `http://` URLs and `CONNECT` pass this proxy".to_owned()),
        };
        let (host, port) = authority(place)
            .map_err(|why| format!("`{}` is not a host: {why}", place.escape_debug()))?;
        let port = match port {
            None if is_tunnel => return Err("`CONNECT` needs a port".to_owned()),
            port => port.unwrap_or(HTTP),
        };
        let codings: Vec<_> = request.headers().get_all(TRANSFER_ENCODING).iter().collect();
        let is_clear = match codings[..] {
            [] => true,
            [one] => one.as_bytes().eq_ignore_ascii_case(b"chunked"),
            _ => false,
        };
        // What follows the head of a `CONNECT` belongs to the tunnel.
        match is_clear && (!is_tunnel || request.body().is_end_stream()) {
            true => Ok(Self { host, port }),
            false => Err("the length of its body is not clear".to_owned()),
        }
    }

    /// Writes a request again as its server reads it: with the host of the URL, which was checked.
    pub(super) fn address(
        &self,
        request: &mut Request<Incoming>,
    ) -> Result<(), InvalidHeaderValue> {
        let Self { host, port } = self;
        let shown = if *port == HTTP { host.to_string() } else { format!("{host}:{port}") };
        let path = request.uri().path_and_query().cloned();
        *request.uri_mut() = path.unwrap_or_else(|| PathAndQuery::from_static("/")).into();
        *request.version_mut() = Version::HTTP_11;
        let headers = request.headers_mut();
        remove_hops(headers);
        headers.insert(HOST, HeaderValue::try_from(shown)?);
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        Ok(())
    }
}

/// Removes what is for the next program alone, also what `Connection` names.
pub(super) fn remove_hops(headers: &mut HeaderMap) {
    let named = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii));
    let named = named.filter_map(|name| HeaderName::from_bytes(name).ok());
    // They say where the body ends.
    let named = named.filter(|name| *name != CONTENT_LENGTH && *name != TRANSFER_ENCODING);
    for name in HOP_BY_HOP.into_iter().chain(named.collect::<Vec<_>>()) {
        headers.remove(name);
    }
}
