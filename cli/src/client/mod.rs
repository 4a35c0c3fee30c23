//! A client of `wakeful serve`: it reads ledgers over the network as others read a file, and
//! reports facts.

mod address;
mod error;
mod events;
mod ledger;
#[cfg(unix)]
mod socket;

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use ureq::{
    Agent, Body, Proxy,
    config::{AutoHeaderValue, Config},
    http::{HeaderName, HeaderValue, Request, Response, StatusCode, header},
};
use wakeful_agent::http;
use wakeful_core::{
    id::{AgentId, Seq},
    record::chain::Head,
    time::Timestamp,
};
use wakeful_host::ledger::{Holder, Owner, Placed};
use zeroize::Zeroizing;

use self::{address::Address, events::Events};

pub(crate) use self::{
    error::ServerError,
    ledger::{Notice, Remote},
};

/// The time to find the server and to connect to it.
const CONNECT: Duration = Duration::from_secs(10);

/// The time after which a server that says nothing counts as lost. It says every 15 seconds that it
/// lives.
const SILENCE: Duration = Duration::from_secs(60);

/// The most bytes of a snapshot, or of a page of the list of agents.
const MOST: u64 = 1 << 30;

/// The agents of a page of the list.
const PAGE: usize = 1_000;

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const EVENT: HeaderName = HeaderName::from_static("ce-type");
const SOURCE: HeaderName = HeaderName::from_static("ce-source");
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The headers of a request.
type Headers<'a> = &'a [(HeaderName, &'a str)];

/// A server, and the token that it is asked with.
#[derive(Clone)]
pub(crate) struct Server {
    address: Arc<Address>,
    token: Option<Arc<Zeroizing<String>>>,
    http: Agent,
}

/// The URL as it was given. It has no password.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

/// An agent that a process drives.
#[derive(Clone)]
pub(crate) struct Driven {
    pub(crate) agent_id: AgentId,
    pub(crate) by: Driver,
}

/// The process that drives an agent: of this machine, or a worker of a store.
#[derive(Clone, Serialize)]
pub(crate) struct Driver {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
    pub(crate) since: Timestamp,
}

/// As a server lists it. Its fields are not flattened, because a time is read from the text itself.
#[derive(Deserialize)]
struct ListedDriver {
    agent_id: AgentId,
    pid: Option<u32>,
    program: Option<String>,
    worker: Option<String>,
    address: Option<String>,
    since: Timestamp,
}

impl From<ListedDriver> for Driven {
    fn from(listed: ListedDriver) -> Self {
        let ListedDriver { agent_id, pid, program, worker, address, since } = listed;
        Self { agent_id, by: Driver { pid, program, worker, address, since } }
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, &self.worker, &self.address) {
            (Some(pid), ..) => {
                let name = self.program.clone().unwrap_or_default();
                Holder { pid, name }.fmt(f)
            }
            (None, Some(worker), Some(address)) => write!(f, "worker {worker} at {address}"),
            (None, Some(worker), None) => write!(f, "worker {worker}"),
            (None, None, _) => f.write_str("another process"),
        }
    }
}

impl From<Owner> for Driven {
    fn from(Owner { agent_id, pid, program, since, .. }: Owner) -> Self {
        let (pid, program) = (Some(pid), Some(program));
        Self { agent_id, by: Driver { pid, program, worker: None, address: None, since } }
    }
}

impl From<Placed> for Driven {
    fn from(Placed { agent, worker, address, since }: Placed) -> Self {
        let worker = Some(worker);
        let by = Driver { pid: None, program: None, worker, address, since };
        Self { agent_id: agent, by }
    }
}

/// The agents of a server, and who drives them.
#[derive(Default)]
pub(crate) struct Listed {
    pub(crate) agents: Vec<AgentId>,
    pub(crate) driven: Vec<Driven>,
}

/// A prompt for the route of messages.
pub(crate) struct Message<'a> {
    pub(crate) text: &'a str,
    pub(crate) lane: &'a str,
    pub(crate) work_item_id: Option<&'a str>,
    /// A second message with this key is ignored.
    pub(crate) key: Option<&'a str>,
}

/// What is delivered to an external trigger.
pub(crate) struct Delivery<'a> {
    pub(crate) content: &'a str,
    pub(crate) content_type: Option<&'a str>,
    pub(crate) id: Option<&'a str>,
    pub(crate) source: Option<&'a str>,
    pub(crate) event: Option<&'a str>,
}

impl Server {
    /// A server, without asking it anything.
    ///
    /// # Errors
    /// If the URL or the token cannot be used, or the token would cross a network in plain text.
    pub(crate) fn new(url: &str, token: Option<Zeroizing<String>>) -> Result<Self, ServerError> {
        let address = Address::parse(url)?;
        if token.is_some() {
            address.require_private()?;
        }
        let http = address.connected(connections(&address));
        Ok(Self { address: Arc::new(address), token: token.map(Arc::new), http })
    }

    /// All agents, sorted by id.
    pub(crate) fn agents(&self) -> Result<Listed, ServerError> {
        let mut listed = Listed::default();
        let mut cursor = None;
        loop {
            let after = cursor.map(|id: AgentId| format!("&cursor={}", escaped(id.as_str())));
            let path = format!("/v1/agents?limit={PAGE}{}", after.unwrap_or_default());
            let page: Page = self.read(self.get(&path, &[])?)?;
            listed.agents.extend(page.agents.into_iter().map(|agent| agent.agent_id));
            listed.driven.extend(page.driven.into_iter().map(Driven::from));
            match page.next {
                Some(next) => cursor = Some(next),
                None => return Ok(listed),
            }
        }
    }

    /// The newest stored snapshot of an agent.
    fn snapshot(&self, agent: &AgentId) -> Result<Option<String>, ServerError> {
        let answer = self.get(&path(agent, "/snapshot"), &[])?;
        match answer.status() {
            StatusCode::NO_CONTENT => Ok(None),
            _ => self.text(answer).map(Some),
        }
    }

    /// The newest entry of an agent.
    fn head(&self, agent: &AgentId) -> Result<Head, ServerError> {
        let explained: Explained = self.read(self.get(&path(agent, "/explain"), &[])?)?;
        Ok(explained.head)
    }

    /// The stored entries of an agent after one of them: up to the newest, or for ever.
    fn entries(&self, agent: &AgentId, after: Seq, ends: bool) -> Result<Events, ServerError> {
        let until = if ends { "?until=head" } else { "" };
        let after_text = after.0.to_string();
        let answer =
            self.get(&path(agent, &format!("/entries{until}")), &[(LAST_EVENT_ID, &after_text)])?;
        Ok(Events::new(self.address.to_string(), answer.into_body().into_reader(), after))
    }

    /// Reports a fact. The answer is a receipt.
    pub(crate) fn fact(&self, agent: &AgentId, fact: &str) -> Result<String, ServerError> {
        let json = [(header::CONTENT_TYPE, "application/json")];
        self.text(self.post(&path(agent, "/facts"), &json, fact)?)
    }

    /// Says something as the operator. The answer is a receipt.
    pub(crate) fn say(&self, agent: &AgentId, said: &Message<'_>) -> Result<String, ServerError> {
        let mut body = serde_json::json!({ "text": said.text, "lane": said.lane });
        if let Some(item) = said.work_item_id {
            body["work_item_id"] = item.into();
        }
        let mut headers = vec![(header::CONTENT_TYPE, "application/json")];
        headers.extend(said.key.map(|key| (KEY, key)));
        self.text(self.post(&path(agent, "/messages"), &headers, &body.to_string())?)
    }

    /// Delivers to the external trigger that has this token.
    pub(crate) fn deliver(&self, token: &str, said: &Delivery<'_>) -> Result<(), ServerError> {
        // The token of the trigger is a secret too.
        self.address.require_private()?;
        let given = [
            (header::CONTENT_TYPE, said.content_type),
            (WEBHOOK_ID, said.id),
            (EVENT, said.event),
            (SOURCE, said.source),
        ];
        let headers: Vec<_> =
            given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        self.post(&format!("/in/{}", escaped(token)), &headers, said.content).map(drop)
    }

    fn get(&self, path: &str, headers: Headers<'_>) -> Result<Response<Body>, ServerError> {
        self.ask("GET", path, headers, None)
    }

    fn post(
        &self,
        path: &str,
        headers: Headers<'_>,
        body: &str,
    ) -> Result<Response<Body>, ServerError> {
        self.ask("POST", path, headers, Some(body))
    }

    /// Asks, and returns the answer if it is not a problem.
    fn ask(
        &self,
        method: &str,
        path: &str,
        headers: Headers<'_>,
        body: Option<&str>,
    ) -> Result<Response<Body>, ServerError> {
        let uri = format!("{}{path}", self.address.base());
        let mut request = Request::builder().method(method).uri(uri);
        if body.is_some() {
            // A server that refuses a request may close the connection before it has read the body,
            // so the next request must not go into that one.
            request = request.header(header::CONNECTION, "close");
        }
        for (name, value) in headers {
            request = request.header(name, plain(value)?);
        }
        if let Some(token) = &self.token {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.as_str()))
                .map_err(|_| ServerError::TokenUnfit)?;
            bearer.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, bearer);
        }
        let unsent = |why: &dyn fmt::Display| ServerError::Unreachable {
            url: self.to_string(),
            why: format!("the request cannot be written: {why}"),
        };
        let answer = match body {
            Some(body) => self.http.run(request.body(body.as_bytes()).map_err(|why| unsent(&why))?),
            None => self.http.run(request.body(()).map_err(|why| unsent(&why))?),
        };
        let answer = answer.map_err(|why| ServerError::lost(self.to_string(), why))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        Err(ServerError::refused(self.to_string(), self.token.is_some(), answer))
    }

    fn text(&self, answer: Response<Body>) -> Result<String, ServerError> {
        let read = answer.into_body().into_with_config().limit(MOST).read_to_string();
        read.map_err(|why| ServerError::lost(self.to_string(), why))
    }

    fn read<T: serde::de::DeserializeOwned>(
        &self,
        answer: Response<Body>,
    ) -> Result<T, ServerError> {
        let text = self.text(answer)?;
        serde_json::from_str(&text)
            .map_err(|why| ServerError::Foreign { url: self.to_string(), why: why.to_string() })
    }
}

/// A page of the list of agents.
#[derive(Deserialize)]
struct Page {
    agents: Vec<Named>,
    driven: Vec<ListedDriver>,
    next: Option<AgentId>,
}

#[derive(Deserialize)]
struct Named {
    agent_id: AgentId,
}

/// The part of an explanation that is used.
#[derive(Deserialize)]
struct Explained {
    head: Head,
}

/// How to connect. The proxy of the environment is used unless the server is on this machine.
fn connections(address: &Address) -> Config {
    http::client()
        .proxy(if address.is_here() { None } else { Proxy::try_from_env() })
        .accept("application/json, text/event-stream")
        // An entry that is compressed with others cannot be read when it arrives.
        .accept_encoding(AutoHeaderValue::None)
        .timeout_resolve(Some(CONNECT))
        .timeout_connect(Some(CONNECT))
        .timeout_recv_response(Some(SILENCE))
        .timeout_per_read(Some(SILENCE))
        .timeout_per_write(Some(SILENCE))
        .build()
}

/// The path of something of an agent.
fn path(agent: &AgentId, of: &str) -> String {
    format!("/v1/agents/{}{of}", escaped(agent.as_str()))
}

/// A text as a part of a path or a query. Dots are written as numbers too, because `..` as a part
/// of a path means another one.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// A text as the value of a header, which can only have the plain characters of ASCII.
fn plain(value: &str) -> Result<HeaderValue, ServerError> {
    let is_plain = value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let unfit = || ServerError::Unfit(value.to_owned());
    if !is_plain {
        return Err(unfit());
    }
    HeaderValue::from_str(value).map_err(|_| unfit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_id_is_one_part_of_a_path() {
        let of = |id: &str| path(&AgentId::from(id), "/entries");
        assert_eq!(of("ada-1_x"), "/v1/agents/ada-1_x/entries");
        assert_eq!(of(".."), "/v1/agents/%2E%2E/entries");
        assert_eq!(of("a/b?c#d e+é%"), "/v1/agents/a%2Fb%3Fc%23d%20e%2B%C3%A9%25/entries");
    }

    #[test]
    fn a_header_has_plain_characters() {
        assert!(plain("build-17 of today").is_ok());
        for unfit in ["a\nb", "é", "\u{7f}", "a\tb"] {
            assert!(matches!(plain(unfit), Err(ServerError::Unfit(_))), "{unfit:?}");
        }
    }
}
