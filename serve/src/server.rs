//! The server: it lets requests in, has them answered on threads that may block, and ends without
//! breaking one off.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    net::SocketAddr,
    sync::Arc,
    thread,
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Extension, Path, Query, State},
    http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
    routing::{MethodFilter, on},
};
use tokio::{
    runtime,
    sync::{Semaphore, watch},
    task, time,
};
use wakeful_core::id::AgentId;
use wakeful_host::ledger::Store;

use crate::{
    access::{Access, Grant},
    agents::{Agents, Cell, Notice},
    api::{turns, write},
    asked::{Answer, Asked},
    auth::{Gate, Peer},
    forward::{Forward, Sent},
    hooks::{HookOptions, Hooks},
    limits::Limits,
    listen::{self, Socket},
    page::Page,
    problem::Problem,
    route::{Does, Route},
    routes::ROUTES,
    runner::Runner,
    traces::{TraceOptions, Traces},
};

/// What a server needs.
pub struct Options {
    /// The store of the agents. While the server runs, its clones must not be used to append:
    /// another process is seen, but not another user of the same connection.
    pub store: Store,
    /// What runs the turns of agents in this process, if anything does.
    pub runner: Option<Arc<dyn Runner>>,
    /// The limits.
    pub limits: Limits,
    /// The sockets on which it listens. They are open already, so that a wrong address is the
    /// caller's error.
    pub sockets: Vec<Socket>,
    /// The names by which the server may be called, besides those of the loopback.
    pub host_names: BTreeSet<String>,
    /// The origins of other pages that may ask, such as `https://desk.example`.
    pub origins: BTreeSet<String>,
    /// How hooks are told.
    pub hooks: HookOptions,
    /// The page that is handed out at `/`; it may be empty.
    pub page: Page,
    /// The collector to which spans of turns are sent, if there is one.
    pub traces: Option<TraceOptions>,
    /// Tells the people who run the server something, such as that an agent fails.
    pub notice: Notice,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The system gives no threads, or no sockets that can be waited for.
    #[error("the server cannot start: {0}")]
    Start(#[from] io::Error),
    /// The store cannot be read.
    #[error("the store cannot be read: {0}")]
    Store(String),
}

/// What all requests share.
pub(crate) struct Door {
    agents: Arc<Agents>,
    hooks: Arc<Hooks>,
    gate: Gate,
    forward: Arc<Forward>,
    page: Page,
    stops: watch::Receiver<bool>,
    /// Places for requests that are answered now.
    requests: Arc<Semaphore>,
}

/// A server that runs until it is stopped.
pub struct Running {
    addresses: Vec<SocketAddr>,
    agents: Arc<Agents>,
    hooks: Arc<Hooks>,
    traces: Option<Traces>,
    stop: watch::Sender<bool>,
    thread: thread::JoinHandle<io::Result<()>>,
}

impl Running {
    /// The addresses on which it listens over TCP.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Whether each agent was read, and the store can be used.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.agents.ready().is_ok()
    }

    /// The number of agents in the list whose turns it neither runs nor hands out: it shows them,
    /// and takes what is said to them for the process that drives them.
    #[must_use]
    pub fn observed(&self) -> usize {
        let is_observed = |cell: &Arc<Cell>| cell.turns().is_none() && !cell.is_put_away();
        self.agents.all().into_iter().filter(is_observed).count()
    }

    /// Takes no more requests, ends the streams, answers those requests that have begun, and lets
    /// running turns end as long as the limit `drain` says.
    ///
    /// # Errors
    /// If the server broke down before.
    pub fn stop(self) -> io::Result<()> {
        // Its receivers are gone only if it has ended.
        let _ = self.stop.send(true);
        let served =
            self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the server panicked")));
        self.hooks.end();
        self.agents.end();
        // Only now the last turns have ended.
        if let Some(traces) = self.traces {
            traces.end();
        }
        served
    }
}

/// The time that requests which have begun get after the end of the server was asked for.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// The longest body of a refused request that is read, and the time for it.
const UNREAD_BYTES: usize = 16 << 10;
const UNREAD_TIME: Duration = Duration::from_secs(1);

/// Starts a server.
///
/// # Errors
/// If the system gives no threads, a socket cannot be waited for, or the store cannot be read.
pub fn start(options: Options) -> Result<Running, ServeError> {
    let failed = |why: Problem| ServeError::Store(why.detail);
    let access = Arc::new(Access::default());
    access.read(&options.store).map_err(|why| ServeError::Store(why.to_string()))?;
    let limits = options.limits;
    let addresses = options.sockets.iter().filter_map(Socket::address).collect();
    let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (agents, heads) =
        Agents::start(options.store, options.runner, limits, Arc::clone(&access), options.notice)
            .map_err(failed)?;
    let hooks = Hooks::start(Arc::clone(&agents), options.hooks).map_err(failed)?;
    let traces = options.traces.map(|traces| Traces::start(&agents, heads, &traces)).transpose()?;
    let (stop, stops) = watch::channel(false);
    let door = Arc::new(Door {
        agents: Arc::clone(&agents),
        hooks: Arc::clone(&hooks),
        gate: Gate::new(access, &limits, options.host_names, options.origins),
        // Turns are waited for as long as here.
        forward: Arc::new(Forward::new(limits.longest_wait + limits.read_timeout)),
        page: options.page,
        stops: stops.clone(),
        requests: Arc::new(Semaphore::new(limits.requests_at_once)),
    });
    let router = router(Arc::clone(&door));
    let served = thread::Builder::new().name("wakeful-serve".into()).spawn(move || {
        let served = runtime.block_on(async move {
            tokio::spawn(tidied(door));
            listen::serve(options.sockets, router, limits, stops).await
        });
        runtime.shutdown_timeout(LAST_ANSWERS);
        served
    });
    Ok(Running { addresses, agents, hooks, traces, stop, thread: served? })
}

/// Forgets now and then who asked.
async fn tidied(door: Arc<Door>) {
    let mut stops = door.stops.clone();
    loop {
        tokio::select! {
            () = time::sleep(Duration::from_secs(10)) => {
                door.gate.tidy();
                door.agents.metrics.tidy();
            }
            _ = stops.changed() => return,
        }
    }
}

fn router(door: Arc<Door>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        // INVARIANT: the table has methods that axum knows.
        let method = Method::from_bytes(route.method.as_bytes()).unwrap_or_default();
        let filter = MethodFilter::try_from(method).unwrap_or_else(|why| unreachable!("{why}"));
        let handler = move |State(door): State<Arc<Door>>,
                            Extension(peer): Extension<Peer>,
                            Path(path): Path<HashMap<String, String>>,
                            request: Request<Body>| async move {
            let headers = request.headers().clone();
            let answered = answered(&door, peer, route, path, request).await;
            let answer = answered.unwrap_or_else(IntoResponse::into_response);
            door.agents.metrics.answered(route.path, answer.status().as_u16());
            shared(&door, &headers, answer)
        };
        router = router.route(route.path, on(filter, handler));
    }
    router
        .fallback(
            |State(door): State<Arc<Door>>,
             Extension(peer): Extension<Peer>,
             request: Request<Body>| async move {
                let headers = request.headers().clone();
                let refused = refused(&door, peer, &request, StatusCode::NOT_FOUND);
                shared(&door, &headers, refused)
            },
        )
        .method_not_allowed_fallback(
            |State(door): State<Arc<Door>>,
             Extension(peer): Extension<Peer>,
             request: Request<Body>| async move {
                let headers = request.headers().clone();
                let refused = refused(&door, peer, &request, StatusCode::METHOD_NOT_ALLOWED);
                shared(&door, &headers, refused)
            },
        )
        .with_state(door)
}

/// The answer to a path or a method that there is not. A page that may ask learns first what it may
/// send (CORS).
fn refused(door: &Door, peer: Peer, request: &Request<Body>, status: StatusCode) -> Response {
    let answer = refusal(door, peer, request, status);
    // The path is the client's own, so it must not become a label.
    door.agents.metrics.answered("none", answer.status().as_u16());
    answer
}

fn refusal(door: &Door, peer: Peer, request: &Request<Body>, status: StatusCode) -> Response {
    if let Err(problem) = door.gate.origin(peer, request.uri(), request.headers()) {
        return problem.into_response();
    }
    if [Method::GET, Method::HEAD].contains(request.method())
        && let Some(file) = door.page.file(request.uri().path())
    {
        return file;
    }
    if request.uri().path() == "/" {
        let detail = "this program has no workbench: start the server with `--workbench \
                      web-demo/dist`; `/openapi.json` lists what there is";
        return Problem::new(StatusCode::NOT_FOUND, "no_such_path", detail).into_response();
    }
    if request.method() == Method::OPTIONS && door.gate.allowed_origin(request.headers()).is_some()
    {
        let headers = [
            (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, DELETE"),
            (
                header::ACCESS_CONTROL_ALLOW_HEADERS,
                "authorization, content-type, idempotency-key, last-event-id, prefer",
            ),
            (header::ACCESS_CONTROL_MAX_AGE, "600"),
        ];
        return (StatusCode::NO_CONTENT, headers).into_response();
    }
    let problem = if status == StatusCode::NOT_FOUND {
        Problem::new(status, "no_such_path", "there is no such path: `/openapi.json` lists them")
    } else {
        let detail = "the path does not take this method: `/openapi.json` lists those it takes";
        Problem::new(status, "wrong_method", detail)
    };
    problem.into_response()
}

/// Lets a page of an allowed origin read an answer, and no cache keep it.
fn shared(door: &Door, asked: &HeaderMap, mut response: Response) -> Response {
    let headers = response.headers_mut();
    let origin = door.gate.allowed_origin(asked).and_then(|it| HeaderValue::from_str(it).ok());
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = match self.kind {
            "" => self.status.into_response(),
            kind => (self.status, [(header::CONTENT_TYPE, kind)], self.text).into_response(),
        };
        if let Some(cookie) = self.cookie {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        response
    }
}

/// Checks all of a request but its body: who asks, and what for.
async fn let_in(
    door: &Arc<Door>,
    peer: Peer,
    route: &'static Route,
    path: &HashMap<String, String>,
    parts: &Parts,
) -> Result<(Option<Arc<Grant>>, HashMap<String, String>), Problem> {
    door.gate.origin(peer, &parts.uri, &parts.headers)?;
    if !route.scopes.is_empty() && door.gate.is_new(peer, &parts.headers)? {
        // Another process may have made the token a moment ago.
        let agents = Arc::clone(&door.agents);
        blocking(move || agents.read_access()).await?;
    }
    let agent = path.get("agent").map(|agent| AgentId::from(agent.as_str()));
    let grant = match route.scopes {
        [] => None,
        scopes => Some(door.gate.granted(peer, &parts.headers, scopes, agent.as_ref())?),
    };
    let query = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
        .map_err(|why| Problem::malformed(why.body_text()))?;
    Ok((grant, known(route, query.0)?))
}

/// Reads the short body of a request that is refused. Otherwise the connection would be closed with
/// the body unread, and its client might lose the answer, or its next request.
async fn drained(body: Body) {
    let short = to_bytes(body, UNREAD_BYTES);
    // A long or a slow one is not worth it.
    let _ = time::timeout(UNREAD_TIME, short).await;
}

async fn answered(
    door: &Arc<Door>,
    peer: Peer,
    route: &'static Route,
    path: HashMap<String, String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let (grant, query) = match let_in(door, peer, route, &path, &parts).await {
        Ok(let_in) => let_in,
        Err(problem) => {
            drained(body).await;
            return Err(problem);
        }
    };
    let asked = |body| Asked {
        agents: Arc::clone(&door.agents),
        hooks: Arc::clone(&door.hooks),
        path,
        query,
        headers: parts.headers,
        body,
        grant,
    };
    if let Does::Streams(stream) = route.does {
        let place = Arc::clone(&door.agents.metrics.streams).try_acquire_owned();
        let place = place.map_err(|_| Problem::busy("all streams are taken"))?;
        let (asked, stops) = (asked(Vec::new()), door.stops.clone());
        return blocking(move || stream(&asked, stops, place)).await;
    }
    let limits = door.agents.limits();
    // The body comes before a place is taken, so that a slow client keeps out no other.
    let body = time::timeout(limits.read_timeout, to_bytes(body, limits.body_bytes)).await;
    let body = body.map_err(|_| {
        let detail = format!("the body did not come within {} s", limits.read_timeout.as_secs());
        Problem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", detail)
    })?;
    let body = body.map_err(|_| {
        let detail = format!("the body is longer than {} bytes, or broke off", limits.body_bytes);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
    })?;
    let asked = Arc::new(asked(body.to_vec()));
    match route.does {
        Does::Answers(answers) => {
            let _place = place(door).await?;
            let own = Arc::clone(&asked);
            let answered = blocking(move || answers(&own)).await;
            if let Err(Problem { owner: Some(owner), .. }) = &answered {
                let sent = Sent {
                    method: parts.method,
                    uri: parts.uri,
                    headers: asked.headers.clone(),
                    body: asked.body.clone(),
                };
                // Two servers that take each other for the owner must not pass it on for ever.
                if !sent.was_passed_on() {
                    let (forward, owner) = (Arc::clone(&door.forward), owner.clone());
                    return blocking(move || forward.to(&owner, &sent)).await;
                }
            }
            if let Err(problem) = &answered
                && problem.is_guess()
            {
                door.gate.guessed(peer)?;
            }
            answered.map(IntoResponse::into_response)
        }
        Does::AnswersTurn => message(door, asked).await,
        Does::WaitsForTurn => turn(door, asked).await,
        // Answered above.
        Does::Streams(_) => Err(Problem::broken("a stream was asked for twice")),
    }
}

/// The query by name. A name that the route does not know is an error, since what it asks for would
/// not be done.
fn known(route: &Route, query: Vec<(String, String)>) -> Result<HashMap<String, String>, Problem> {
    let mut named = HashMap::new();
    for (name, value) in query {
        let is_known =
            route.parameters.iter().any(|parameter| !parameter.is_header && parameter.name == name);
        if !is_known {
            let detail = format!("this path has no parameter `{name}`: `/openapi.json` lists them");
            return Err(Problem::malformed(detail));
        }
        if named.insert(name.clone(), value).is_some() {
            return Err(Problem::malformed(format!(
                "the parameter `{name}` is named twice: name it once"
            )));
        }
    }
    Ok(named)
}

/// A place among the requests that are answered now.
async fn place(door: &Door) -> Result<tokio::sync::OwnedSemaphorePermit, Problem> {
    let waited =
        time::timeout(Duration::from_secs(5), Arc::clone(&door.requests).acquire_owned()).await;
    waited
        .ok()
        .and_then(Result::ok)
        .ok_or_else(|| Problem::not_ready("too many requests are being answered"))
}

/// Runs what may block on a thread for that.
async fn blocking<T: Send + 'static>(
    run: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    task::spawn_blocking(run)
        .await
        .unwrap_or_else(|_| Err(Problem::broken("the request broke down")))
}

/// The agent of the path.
async fn cell(asked: &Arc<Asked>) -> Result<Arc<Cell>, Problem> {
    // Of one that this server drives, the store knows nothing more.
    if let Some(cell) = asked.agents.known(&asked.agent()).filter(|cell| cell.is_own()) {
        return Ok(cell);
    }
    let asked = Arc::clone(asked);
    blocking(move || asked.cell()).await
}

/// Records a message, and waits for the end of its turn if the client wants that.
async fn message(door: &Arc<Door>, asked: Arc<Asked>) -> Result<Response, Problem> {
    let patience = turns::patience(&asked)?;
    let said = {
        let _place = place(door).await?;
        let asked = Arc::clone(&asked);
        blocking(move || write::message(&asked)).await?
    };
    let Some(patience) = patience else {
        return Ok(said.answer(said.status()).into_response());
    };
    let cell = cell(&asked).await?;
    let _follower = cell.follow();
    let mut following = write::Following::new(asked.agents.reading(&cell), &said);
    let (mut said, until) = (said, time::Instant::now() + patience);
    let mut stops = door.stops.clone();
    loop {
        let appended = cell.appended.notified();
        tokio::pin!(appended);
        // Listen before looking, so that no entry comes between.
        appended.as_mut().enable();
        let is_settled;
        (following, said, is_settled) = {
            let _place = place(door).await?;
            blocking(move || {
                let is_settled = following.look(&mut said)?;
                Ok((following, said, is_settled))
            })
            .await?
        };
        if is_settled {
            return Ok(said.answer(StatusCode::OK).into_response());
        }
        tokio::select! {
            () = &mut appended => {}
            () = time::sleep_until(until) => break,
            _ = stops.changed() => break,
        }
    }
    Ok(said.answer(StatusCode::ACCEPTED).into_response())
}

/// Answers the open turn, and waits for one if the client wants that.
async fn turn(door: &Arc<Door>, asked: Arc<Asked>) -> Result<Response, Problem> {
    let patience = turns::patience(&asked)?.unwrap_or_default();
    let until = time::Instant::now() + patience;
    let cell = cell(&asked).await?;
    let _follower = cell.follow();
    let mut stops = door.stops.clone();
    loop {
        let appended = cell.appended.notified();
        tokio::pin!(appended);
        appended.as_mut().enable();
        // One who waits is woken by each entry, and most open no turn.
        let known = if patience.is_zero() { None } else { cell.known_turn() };
        let open = match known {
            Some(open) => open.map(|request| Answer::ok(&request)),
            None => {
                let _place = place(door).await?;
                let asked = Arc::clone(&asked);
                blocking(move || turns::open(&asked)).await?
            }
        };
        if let Some(open) = open {
            return Ok(open.into_response());
        }
        tokio::select! {
            () = &mut appended => {}
            () = time::sleep_until(until) => break,
            _ = stops.changed() => break,
        }
    }
    Ok(Answer::nothing().into_response())
}
