//! The server: it listens, lets requests in, and ends without breaking one off.

use std::{
    collections::HashMap,
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread,
};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, Query, State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{MethodFilter, on},
};
use tokio::{runtime, sync::watch, task};
use wakeful_core::id::AgentId;
use wakeful_host::ledger::SqliteFile;

use crate::{
    access::Access,
    auth, entries,
    problem::Problem,
    routes::{Asked, Does, ROUTES, Route},
    store::Store,
};

/// What a server needs.
pub struct Options {
    /// The store of the agents.
    pub file: SqliteFile,
    /// Who may do what.
    pub access: Access,
    /// The most bytes of a request's body.
    pub body_bytes: usize,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The system gives no threads, or no sockets that can be waited for.
    #[error("the server cannot start: {0}")]
    Start(io::Error),
}

/// What all requests share.
struct Door {
    store: Store,
    access: Access,
    stops: watch::Receiver<bool>,
}

/// A server that runs until it is stopped.
pub struct Running {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: thread::JoinHandle<io::Result<()>>,
}

impl Running {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more requests, ends the streams, and answers those requests that have begun.
    ///
    /// # Errors
    /// If the server broke down before.
    pub fn stop(self) -> io::Result<()> {
        // Its receivers are gone only if it has ended.
        let _ = self.stop.send(true);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the server panicked")))
    }
}

/// Starts a server on a socket that listens already, so that a wrong address is the caller's error.
///
/// # Errors
/// If the system gives no threads, or the socket cannot be waited for.
pub fn start(listener: TcpListener, options: Options) -> Result<Running, ServeError> {
    let address = listener.local_addr().map_err(ServeError::Start)?;
    listener.set_nonblocking(true).map_err(ServeError::Start)?;
    let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(ServeError::Start)?;
    let (stop, stops) = watch::channel(false);
    let body_bytes = options.body_bytes;
    let door = Door { store: Store::new(options.file), access: options.access, stops };
    let router = router(Arc::new(door), body_bytes);
    let mut ended = stop.subscribe();
    let served = thread::Builder::new().name("wakeful-serve".into()).spawn(move || {
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let served = axum::serve(listener, router).with_graceful_shutdown(async move {
                // If the sender is gone, nobody can stop it any more.
                let _ = ended.wait_for(|is_ended| *is_ended).await;
            });
            served.await
        })
    });
    Ok(Running { address, stop, thread: served.map_err(ServeError::Start)? })
}

fn router(door: Arc<Door>, body_bytes: usize) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let filter = match route.method {
            "POST" => MethodFilter::POST,
            _ => MethodFilter::GET,
        };
        let handler = move |State(door): State<Arc<Door>>,
                            Path(path): Path<HashMap<String, String>>,
                            Query(query): Query<HashMap<String, String>>,
                            headers: HeaderMap,
                            body: Result<Bytes, BytesRejection>| async move {
            answered(&door, route, path, query, headers, body).await
        };
        router = router.route(route.path, on(filter, handler));
    }
    router
        .fallback(|| async {
            Problem::new(StatusCode::NOT_FOUND, "no_such_path", "`/openapi.json` lists the paths")
        })
        .method_not_allowed_fallback(|| async {
            let detail = "the path does not take this method: `/openapi.json` lists those it takes";
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", detail)
        })
        .layer(DefaultBodyLimit::max(body_bytes))
        .with_state(door)
}

async fn answered(
    door: &Door,
    route: &'static Route,
    path: HashMap<String, String>,
    query: HashMap<String, String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let agent = path.get("agent").map(|agent| AgentId::from(agent.as_str()));
    let grant = match route.scope {
        None => None,
        Some(scope) => match auth::granted(&door.access, &headers, scope, agent.as_ref()) {
            Ok(grant) => Some(grant),
            Err(problem) => return problem.into_response(),
        },
    };
    let body = match body {
        Ok(body) => body.to_vec(),
        Err(why) => {
            let status = why.status();
            let code =
                if status == StatusCode::PAYLOAD_TOO_LARGE { "too_large" } else { "malformed" };
            return Problem::new(status, code, why.body_text()).into_response();
        }
    };
    let answers = match (route.does, agent) {
        (Does::Streams, Some(agent)) => {
            let streamed =
                entries::stream(&door.store, &agent, &query, &headers, door.stops.clone());
            return streamed.unwrap_or_else(IntoResponse::into_response);
        }
        (Does::Streams, None) => return Problem::no_agent("").into_response(),
        (Does::Answers(answers), agent) => (answers, agent),
    };
    let (answers, agent) = answers;
    let asked = Asked { store: door.store.clone(), agent, path, query, headers, body, grant };
    // The store blocks, so it is asked on a thread for that.
    let answered = task::spawn_blocking(move || answers(&asked)).await;
    match answered {
        Ok(Ok(answer)) => {
            (answer.status, [(header::CONTENT_TYPE, "application/json")], answer.json)
                .into_response()
        }
        Ok(Err(problem)) => problem.into_response(),
        Err(_) => Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "broken",
            "the request broke down: report it with what you sent; the ledger is whole",
        )
        .into_response(),
    }
}
