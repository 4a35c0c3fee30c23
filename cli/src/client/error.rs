//! Why a server cannot be asked, or does not do what it is asked.

use std::{io, path::PathBuf};

use serde::Deserialize;
use ureq::{
    Body, Error as HttpError,
    http::{Response, header},
};

/// The most bytes that are read of the answer that is an error.
const MOST: u64 = 64 << 10;

/// The most characters that are shown of an answer that is not a problem of `wakeful serve`.
const SHOWN: usize = 200;

/// How a token is named.
const NAME_A_TOKEN: &str = "put it into WAKEFUL_SERVER_TOKEN, or name its file with --token-file; \
                            `wakeful token` makes tokens";

/// Why a server cannot be asked, or does not do what it is asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    /// The URL is not one of a server.
    #[error(
        "`{url}` is not the URL of a server: {why}; give one such as \
             `https://agents.example.org`, `http://127.0.0.1:7171` or `unix:agents.sqlite.sock`"
    )]
    Url {
        /// The URL that was given; `[url]` if it may contain a password.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The token would cross a network in plain text.
    #[error(
        "a token is not sent to `{0}`, because others on the network could read it: use an \
             `https://` URL, or a tunnel to an address of this machine"
    )]
    Plain(String),
    /// The file of the token cannot be read.
    #[error("cannot read the token in `{}`: {why}", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// The token is empty, or has characters that no token has.
    #[error(
        "the token of the server is empty, or is not one line of plain letters: \
             {NAME_A_TOKEN}"
    )]
    TokenUnfit,
    /// A text cannot be sent in a header.
    #[error("`{0}` cannot be sent in a header of HTTP: use only plain letters, digits and signs")]
    Unfit(String),
    /// There is no connection.
    #[error("`{url}` cannot be reached: {why}")]
    Unreachable {
        /// The URL.
        url: String,
        /// Why, and what to do.
        why: String,
    },
    /// The server cannot prove who it is.
    #[error(
        "the certificate of `{url}` is not trusted ({why}): use the name that it is for, or add \
             its authority to the certificates of this system"
    )]
    Untrusted {
        /// The URL.
        url: String,
        /// What is wrong with the certificate.
        why: String,
    },
    /// The server wants a token.
    #[error("`{0}` wants a token (401): {NAME_A_TOKEN}")]
    NoToken(String),
    /// The server does not know the token.
    #[error(
        "`{url}` refuses the token (401): {detail}; check WAKEFUL_SERVER_TOKEN or --token-file"
    )]
    WrongToken {
        /// The URL.
        url: String,
        /// What the server says.
        detail: String,
    },
    /// The token may not do this.
    #[error("`{url}` refuses this (403, {code}): {detail}; `wakeful token` lists and makes tokens")]
    Forbidden {
        /// The URL.
        url: String,
        /// The server's code.
        code: String,
        /// What the server says.
        detail: String,
    },
    /// The server has another problem with the request.
    #[error("`{url}` refuses this ({status}, {code}): {detail}")]
    Problem {
        /// The URL.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The server's code.
        code: String,
        /// What the server says.
        detail: String,
    },
    /// The server is elsewhere.
    #[error(
        "`{url}` redirects to `{to}`, and a token is not sent to where a server points: name \
             that address if it is right"
    )]
    Redirected {
        /// The URL.
        url: String,
        /// The address to which it points.
        to: String,
    },
    /// The stream of entries has a gap, or is damaged.
    #[error(
        "the entries from `{url}` cannot be used: {why}; look at the ledger where the server is, \
             with `wakeful doctor`"
    )]
    Stream {
        /// The URL.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// The answer is not one of `wakeful serve`.
    #[error(
        "`{url}` does not answer as `wakeful serve` does ({why}): check the URL, and what \
             stands before the server"
    )]
    Foreign {
        /// The URL.
        url: String,
        /// What is wrong with the answer.
        why: String,
    },
}

/// The problem details of the server.
#[derive(Deserialize)]
struct Details {
    code: String,
    detail: String,
}

impl ServerError {
    /// Whether the token may not do this.
    pub(crate) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Forbidden { .. })
    }

    /// Whether the server has no such agent.
    pub(crate) fn is_no_such_agent(&self) -> bool {
        matches!(self, Self::Problem { code, .. } if code == "no_such_agent")
    }

    /// Whether the ledger ends before the entry that was named.
    pub(super) fn is_no_such_entry(&self) -> bool {
        matches!(self, Self::Problem { code, .. } if code == "no_such_entry")
    }

    /// Whether it may go better a little later.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Problem { status, .. } => matches!(status, 408 | 429 | 500..=599),
            // A proxy answers in its own words while the server behind it starts again.
            Self::Foreign { .. } => true,
            _ => false,
        }
    }

    /// The end of a stream that does not end by itself.
    pub(super) fn ended(url: String) -> Self {
        Self::Unreachable { url, why: "it ended the stream".to_owned() }
    }

    /// The error for a request that has no answer, or not all of it.
    pub(super) fn lost(url: String, why: HttpError) -> Self {
        let because = match why {
            HttpError::HostNotFound => {
                "its host is not known; correct the URL, or check the network".to_owned()
            }
            HttpError::Timeout(_) => "it does not answer in time; check the server and the \
                                      network, or try again later"
                .to_owned(),
            HttpError::Rustls(why) => return Self::Untrusted { url, why: why.to_string() },
            HttpError::Tls(why) => return Self::Untrusted { url, why: why.to_owned() },
            // A failed handshake arrives as an I/O error that wraps the error of TLS.
            HttpError::Io(why)
                if why.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) =>
            {
                match why.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                    Some(rustls::Error::InvalidCertificate(_)) | None => {
                        return Self::Untrusted { url, why: why.to_string() };
                    }
                    Some(why) => format!("it does not speak TLS ({why}); is it `http://`?"),
                }
            }
            HttpError::Io(why) => return Self::lost_io(url, &why),
            HttpError::Protocol(why) => {
                return Self::Foreign { url, why: format!("{why}; one with TLS is `https://`") };
            }
            why => why.to_string(),
        };
        Self::Unreachable { url, why: because }
    }

    /// As [`Self::lost`], for an error of the connection.
    pub(super) fn lost_io(url: String, why: &io::Error) -> Self {
        let because = match why.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
                "nothing listens there; start it with `wakeful serve`, or correct the URL"
                    .to_owned()
            }
            io::ErrorKind::PermissionDenied => {
                "its socket belongs to another user; use its address and a token".to_owned()
            }
            _ => format!("no connection, or it broke off ({why}); check the URL and the network"),
        };
        Self::Unreachable { url, why: because }
    }

    /// The error for an answer that is not a success.
    pub(super) fn refused(url: String, had_token: bool, answer: Response<Body>) -> Self {
        let status = answer.status();
        if status.is_redirection() {
            let to = answer.headers().get(header::LOCATION);
            let to = to.and_then(|to| to.to_str().ok()).unwrap_or("nowhere").to_owned();
            return Self::Redirected { url, to };
        }
        let text = answer.into_body().into_with_config().limit(MOST).lossy_utf8(true);
        let text = text.read_to_string().unwrap_or_default();
        let Ok(Details { code, detail }) = serde_json::from_str(&text) else {
            let shown: String = text.trim().chars().take(SHOWN).collect();
            return Self::Foreign { url, why: format!("{status}: {shown}") };
        };
        match status.as_u16() {
            401 if had_token => Self::WrongToken { url, detail },
            401 => Self::NoToken(url),
            403 => Self::Forbidden { url, code, detail },
            status => Self::Problem { url, status, code, detail },
        }
    }
}
