//! The address of a server: `https://`, `http://`, or the file of a Unix socket.

use std::{fmt, path::PathBuf};

use ureq::{Agent, config::Config, http::Uri};
use wakeful_agent::http;

use super::ServerError;

/// The address of a server, as it was given.
#[derive(Debug)]
pub(super) struct Address {
    given: String,
    /// What comes before the path of a request.
    base: String,
    kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// With TLS.
    Tls { is_here: bool },
    /// Without TLS.
    Plain { is_here: bool },
    /// A Unix socket. Its path is also known on systems without such sockets, to say so.
    Socket(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.given)
    }
}

impl Address {
    pub(super) fn parse(given: &str) -> Result<Self, ServerError> {
        let given = given.trim();
        if let Some(path) = given.strip_prefix("unix:") {
            return Self::socket(given, path);
        }
        // First of all: every other error repeats the URL, and this one may contain a password.
        if given.contains('@') {
            return Err(ServerError::Url {
                url: "[url]".to_owned(),
                why: "a user or password in it would appear in messages; put the token into \
                      WAKEFUL_SERVER_TOKEN",
            });
        }
        let refuse = |why| ServerError::Url { url: given.to_owned(), why };
        if given.contains(['?', '#']) {
            return Err(refuse("it has a query or a fragment"));
        }
        let base = given.trim_end_matches('/').to_owned();
        let scheme = base.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        let is_tls = match scheme.as_deref() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(refuse("it does not begin with `https://`, `http://` or `unix:`")),
        };
        let uri: Uri = base.parse().map_err(|_| refuse("it cannot be read as a URL"))?;
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        if host.is_empty() {
            return Err(refuse("it names no host"));
        }
        let is_here = http::is_loopback(host);
        let kind = if is_tls { Kind::Tls { is_here } } else { Kind::Plain { is_here } };
        Ok(Self { given: given.to_owned(), base, kind })
    }

    fn socket(given: &str, path: &str) -> Result<Self, ServerError> {
        let refuse = |why| ServerError::Url { url: given.to_owned(), why };
        if !cfg!(unix) {
            return Err(refuse("this system has no Unix sockets"));
        }
        // `unix:///run/x.sock` is the same as `unix:/run/x.sock`.
        let path = path.strip_prefix("//").unwrap_or(path);
        if path.is_empty() {
            return Err(refuse("it names no file"));
        }
        let kind = Kind::Socket(path.into());
        Ok(Self { given: given.to_owned(), base: "http://localhost".to_owned(), kind })
    }

    /// What comes before the path of a request.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// Whether the server is on this machine.
    pub(super) fn is_here(&self) -> bool {
        match self.kind {
            Kind::Tls { is_here } | Kind::Plain { is_here } => is_here,
            Kind::Socket(_) => true,
        }
    }

    /// Refuses an address at which others on the network could read a token.
    pub(super) fn require_private(&self) -> Result<(), ServerError> {
        match self.kind {
            Kind::Plain { is_here: false } => Err(ServerError::Plain(self.to_string())),
            _ => Ok(()),
        }
    }

    /// What sends requests to this address.
    pub(super) fn connected(&self, config: Config) -> Agent {
        #[cfg(unix)]
        if let Kind::Socket(path) = &self.kind {
            return super::socket::agent(config, path);
        }
        config.new_agent()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_whether_a_token_may_be_sent_there() {
        for (url, base, is_private) in [
            ("https://agents.example.org", "https://agents.example.org", true),
            (" https://agents.example.org/ada/ ", "https://agents.example.org/ada", true),
            ("http://127.0.0.1:7171", "http://127.0.0.1:7171", true),
            ("HTTP://LocalHost:7171/", "HTTP://LocalHost:7171", true),
            ("http://[::1]:7171", "http://[::1]:7171", true),
            ("http://10.0.0.1:7171", "http://10.0.0.1:7171", false),
            ("http://localhost.example:7171", "http://localhost.example:7171", false),
            ("http://127.0.0.1.example", "http://127.0.0.1.example", false),
        ] {
            let address = Address::parse(url).expect(url);
            assert_eq!((address.base(), address.require_private().is_ok()), (base, is_private));
        }
    }

    #[test]
    fn a_text_that_is_not_an_address_is_refused_with_the_reason() {
        for (url, why) in [
            ("", "it does not begin with"),
            ("127.0.0.1:7171", "it does not begin with"),
            ("localhost:7171", "it does not begin with"),
            ("ftp://host", "it does not begin with"),
            ("agents.sqlite", "it does not begin with"),
            ("http://", "it does not begin with"),
            ("http://ho st", "it cannot be read as a URL"),
            ("https:///v1", "it cannot be read as a URL"),
            ("https://host/?token=1", "it has a query"),
            ("https://me:secret@host", "`[url]` is not the URL of a server: a user or password"),
            ("unix:", "it names no file"),
        ] {
            let said = Address::parse(url).expect_err(url).to_string();
            assert!(said.contains(why) && !said.contains("secret"), "{url}: {said}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_socket_is_named_by_its_file() {
        for url in ["unix:/run/a.sock", "unix:///run/a.sock"] {
            let kind = Address::parse(url).expect(url).kind;
            assert_eq!(kind, Kind::Socket("/run/a.sock".into()));
        }
        let kind = Address::parse("unix:agents.sqlite.sock").expect("relative").kind;
        assert_eq!(kind, Kind::Socket("agents.sqlite.sock".into()));
    }
}
