//! The check of a request, before anything of its body is read: where it came from, and its token.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    num::NonZeroU32,
    sync::Arc,
};

use axum::http::{HeaderMap, StatusCode, Uri, header, uri::Authority};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use wakeful_agent::http::is_loopback;
use wakeful_core::id::AgentId;

use crate::{
    access::{Access, Grant, Scope},
    limits::Limits,
    page,
    problem::Problem,
};

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A client on the network, or on this machine over TCP.
    Tcp(SocketAddr),
    /// A process of the user whose server this is, over the Unix socket. It may do everything, as
    /// it may write to the store anyway.
    Own,
    /// A process of another user of this machine, over the Unix socket.
    Other,
}

/// What lets requests in.
pub(crate) struct Gate {
    access: Arc<Access>,
    /// The names by which this server may be called, besides those of the loopback.
    hosts: BTreeSet<String>,
    /// The origins of other pages that may ask.
    origins: BTreeSet<String>,
    per_token: DefaultKeyedRateLimiter<String>,
    wrong: DefaultKeyedRateLimiter<Option<IpAddr>>,
    own: Arc<Grant>,
}

impl Gate {
    pub(crate) fn new(
        access: Arc<Access>,
        limits: &Limits,
        hosts: BTreeSet<String>,
        origins: BTreeSet<String>,
    ) -> Self {
        let quota = |most: u32| Quota::per_second(NonZeroU32::new(most).unwrap_or(NonZeroU32::MIN));
        let own = Grant {
            name: "local".to_owned(),
            token_hash: "local".to_owned(),
            scopes: Scope::ALL.into(),
            agent_id: None,
        };
        Self {
            access,
            hosts,
            origins,
            per_token: RateLimiter::keyed(quota(limits.requests_per_second)),
            wrong: RateLimiter::keyed(quota(limits.wrong_tokens_per_second)),
            own: Arc::new(own),
        }
    }

    /// Forgets who was within the limits for long.
    pub(crate) fn tidy(&self) {
        self.per_token.retain_recent();
        self.wrong.retain_recent();
    }

    /// Refuses a request that a page of another site, or a name that was bent to this machine, may
    /// have sent.
    pub(crate) fn origin(&self, peer: Peer, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        // No page can open a Unix socket.
        if !matches!(peer, Peer::Tcp(_)) {
            return Ok(());
        }
        let mut named = headers.get_all(header::HOST).iter();
        let host = match (named.next(), named.next(), uri.authority()) {
            (Some(host), None, _) => host.to_str().ok().and_then(|host| host.parse().ok()),
            (None, None, Some(authority)) => Some(authority.clone()),
            _ => None,
        };
        let host: Authority = host
            .filter(|host: &Authority| self.is_here(host.host()))
            .ok_or_else(|| {
                Problem::new(
                    StatusCode::MISDIRECTED_REQUEST,
                    "wrong_host",
                    "the header `Host` does not name this server: use its address, or start it with \
                     `--host-name NAME`",
                )
            })?;
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
        let origin = origin.to_str().unwrap_or("null");
        let is_own = origin
            .split_once("://")
            .is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host.as_str()));
        if is_own || self.origins.contains(origin) {
            return Ok(());
        }
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            "wrong_origin",
            format!(
                "a page of `{origin}` may not ask this server: start it with `--allow-origin \
                 {origin}` to change that"
            ),
        ))
    }

    /// The origin to name in the answer, so that its page may read it.
    pub(crate) fn allowed_origin<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let origin = headers.get(header::ORIGIN)?.to_str().ok()?;
        self.origins.contains(origin).then_some(origin)
    }

    fn is_here(&self, host: &str) -> bool {
        is_loopback(host) || self.hosts.contains(&bare(host).to_ascii_lowercase())
    }

    /// The grant of a request that needs one of these scopes for this agent.
    pub(crate) fn granted(
        &self,
        peer: Peer,
        headers: &HeaderMap,
        scopes: &[Scope],
        agent: Option<&AgentId>,
    ) -> Result<Arc<Grant>, Problem> {
        let grant = match (peer, shown(headers)) {
            (Peer::Own, None) => Arc::clone(&self.own),
            (_, token) => self.known(token)?,
        };
        if self.per_token.check_key(&grant.token_hash).is_err() {
            return Err(Problem::busy(format!("the token `{}` asks too often", grant.name)));
        }
        if !scopes.iter().any(|scope| grant.scopes.contains(scope)) {
            let needed = scopes.first().copied().unwrap_or(Scope::Operate);
            return Err(Problem::forbidden(needed, Some(&grant)));
        }
        let detail = match (&grant.agent_id, agent) {
            (Some(only), Some(agent)) if only != agent => {
                format!("this token is for the agent `{only}` only")
            }
            (Some(only), None) => {
                format!("this token is for the agent `{only}` only: name it in the path")
            }
            _ => return Ok(grant),
        };
        Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", detail))
    }

    /// Whether a request has a token that this server does not know. One of many such from an
    /// address is refused.
    pub(crate) fn is_new(&self, peer: Peer, headers: &HeaderMap) -> Result<bool, Problem> {
        // One with a right token is let in, whatever others at its address have tried.
        let is_new = shown(headers).is_some_and(|token| self.access.of(token).is_none());
        if is_new {
            self.guessed(peer)?;
        }
        Ok(is_new)
    }

    /// Counts a wrong token. One of too many from an address is refused.
    pub(crate) fn guessed(&self, peer: Peer) -> Result<(), Problem> {
        let address = match peer {
            Peer::Tcp(address) => Some(address.ip()),
            Peer::Own | Peer::Other => None,
        };
        let counted = self.wrong.check_key(&address);
        counted.map_err(|_| Problem::busy("too many wrong tokens came from this address"))
    }

    fn known(&self, token: Option<&str>) -> Result<Arc<Grant>, Problem> {
        token.and_then(|token| self.access.of(token)).ok_or_else(|| {
            let detail = match token {
                None => "send the header `Authorization: Bearer TOKEN` with a token of this server",
                Some(_) => {
                    "this server does not know this token: `wakeful token list` shows those that \
                     it knows"
                }
            };
            Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        })
    }
}

/// A host without the brackets of an IPv6 address.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// The token of a request: in its header, or in the cookie of our own page.
fn shown(headers: &HeaderMap) -> Option<&str> {
    bearer(headers).or_else(|| page::token(headers))
}

/// The token in the header of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
