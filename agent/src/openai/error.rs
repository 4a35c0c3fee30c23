//! Why a request gave no round, and what to do about it.

use std::{fmt, time::Duration};

use ureq::http::StatusCode;

use super::{round::Round, server_message::ServerMessage};

/// Why a request gave no complete round. No text in it contains the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The request was cancelled.
    #[error("the request was cancelled")]
    Cancelled,
    /// There is no connection to the server, or it was lost before the answer began.
    #[error("cannot reach `{url}`{}: {why}", Through(.proxy.as_deref()))]
    Unreachable {
        /// The URL of the request.
        url: String,
        /// Host and port of the proxy in front of the server.
        proxy: Option<String>,
        /// Why there is no connection.
        why: Unreachable,
    },
    /// A part of the request took too long.
    #[error("`{url}` took longer than {} s {phase}", .after.as_secs_f64())]
    TimedOut {
        /// The URL of the request.
        url: String,
        /// The part that took too long.
        phase: Phase,
        /// The limit.
        after: Duration,
    },
    /// The server refused the request.
    #[error("`{url}` answered {}: {says}{}", Status(*.status), advice(*.status, .says, *.had_key))]
    Refused {
        /// The URL of the request.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The server's message.
        says: ServerMessage,
        /// The wait that the server asks for.
        retry_after: Option<Duration>,
        /// Whether a key was sent.
        had_key: bool,
    },
    /// The server reported a failure inside an answer that it had begun.
    #[error("`{url}` failed while it answered: {says}")]
    Failed {
        /// The URL of the request.
        url: String,
        /// The server's message.
        says: ServerMessage,
    },
    /// The chat is longer than the model's context.
    #[error(
        "the chat is longer than the model can read: {says}; shorten it, or use a model or server \
         setting with a longer context"
    )]
    ContextLength {
        /// The server's message.
        says: ServerMessage,
    },
    /// The provider refuses the content of the chat, or withheld the whole answer.
    #[error(
        "the provider refuses the content of the chat or of the answer: {says}; change what is \
         asked, or use another model"
    )]
    ContentRefused {
        /// The server's message.
        says: ServerMessage,
    },
    /// The response is not a chat completion.
    #[error(
        "`{url}` does not speak chat completions: {why}; it said `{beginning}`; check the base URL"
    )]
    Malformed {
        /// The URL of the request.
        url: String,
        /// What is wrong with the response.
        why: String,
        /// The beginning of the part that is wrong.
        beginning: String,
    },
    /// The answer is larger than allowed.
    #[error(
        "the answer is longer than the limit of {limit} bytes; raise it with --max-answer-bytes"
    )]
    TooLarge {
        /// The most bytes of an answer.
        limit: u64,
    },
    /// The answer ended before it was complete.
    #[error("`{url}` ended its answer before it was complete")]
    Ended {
        /// The URL of the request.
        url: String,
    },
    /// The answer broke off after a part of it was accepted. It is not requested again, because
    /// that part may already have been shown.
    #[error("the answer broke off after its beginning was accepted: {why}")]
    CutOff {
        /// The part that arrived. Its last tool call may be incomplete.
        partial: Box<Round>,
        /// Why the answer broke off.
        why: Box<ChatError>,
    },
    /// All attempts failed.
    #[error("{why} (tried {attempts} times)")]
    GaveUp {
        /// The number of attempts.
        attempts: u32,
        /// Why the last attempt failed.
        why: Box<ChatError>,
    },
}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreachable {
    /// Nothing listens at that address.
    #[error("the connection was refused; start the server, or correct the base URL")]
    Refused,
    /// The host name cannot be resolved.
    #[error("its host is not known; correct the base URL, or check the network")]
    NoSuchHost,
    /// TLS failed.
    #[error(
        "no secure connection ({0}); check the server's certificate, and that this system has \
         certificates (ca-certificates)"
    )]
    Tls(String),
    /// The connection was lost.
    #[error("the connection was lost ({0}); check the server and the network")]
    Lost(String),
}

/// The parts of a request that have a time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Resolving the host and connecting.
    Connect,
    /// Waiting for the first output.
    FirstByte,
    /// Waiting for more output.
    Idle,
    /// The whole request.
    Total,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "to connect; check the base URL and the network",
            Self::FirstByte => {
                "to begin its answer; it may be overloaded, or the chat too long for it"
            }
            Self::Idle => "to continue its answer",
            Self::Total => "to complete its answer",
        })
    }
}

impl ChatError {
    /// Whether to repeat the request, and when.
    pub(super) fn retry(&self) -> Retry {
        let helps = match self {
            Self::Refused { status, says, retry_after, .. } => {
                return match retry_after {
                    // Waiting does not help if the quota is used up.
                    _ if !may_go_better(*status) || says.is_about_quota() => Retry::Never,
                    Some(after) => Retry::After(*after),
                    None => Retry::Later,
                };
            }
            Self::Failed { says, .. } => {
                // Inside a stream, some servers put the HTTP status into `code`. An error without
                // one may be temporary.
                let status = says.code.as_deref().and_then(|code| code.parse().ok());
                status.is_none_or(may_go_better) && !says.is_about_quota()
            }
            // A wrong certificate stays wrong.
            Self::Unreachable { why, .. } => !matches!(why, Unreachable::Tls(_)),
            Self::TimedOut { .. } | Self::Ended { .. } => true,
            _ => false,
        };
        if helps { Retry::Later } else { Retry::Never }
    }
}

/// Whether a failed request is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// It would fail again.
    Never,
    /// After a wait that grows with each attempt.
    Later,
    /// After the wait that the server asks for.
    After(Duration),
}

fn may_go_better(status: u16) -> bool {
    matches!(status, 408 | 409 | 429 | 500..=599)
}

/// The first characters of a text.
pub(super) fn beginning(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// The proxy that a connection uses.
struct Through<'a>(Option<&'a str>);

impl fmt::Display for Through<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(proxy) => write!(f, " through the proxy `{proxy}` from the environment"),
            None => Ok(()),
        }
    }
}

/// A status with its standard name.
struct Status(u16);

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        match StatusCode::from_u16(self.0).ok().and_then(|status| status.canonical_reason()) {
            Some(reason) => write!(f, " {reason}"),
            None => Ok(()),
        }
    }
}

/// What to do about a refusal.
fn advice(status: u16, says: &ServerMessage, had_key: bool) -> &'static str {
    match status {
        300..=399 => "; give the base URL that it names",
        401 if !had_key => "; no key was sent: put it into WAKEFUL_API_KEY or OPENAI_API_KEY",
        401 => "; put a valid key into WAKEFUL_API_KEY or OPENAI_API_KEY",
        403 => {
            "; the key in WAKEFUL_API_KEY or OPENAI_API_KEY may not do this: use another key or \
             model"
        }
        404 | 405 => {
            "; check the model (--model) and the base URL (--base-url), which usually ends in `/v1`"
        }
        429 if says.is_about_quota() => {
            "; the quota of the key is used up: add credit, or use another key"
        }
        429 => "; too many requests: wait a while, or use another key or model",
        500..=599 => "; the server failed: try again later, or check its log",
        _ => "",
    }
}
