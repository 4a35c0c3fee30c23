//! The sockets of a server: TCP, with TLS or without, and Unix sockets, whose peers are known by
//! their credentials.

use std::{convert::Infallible, io, net, sync::Arc, time::Duration};

use axum::{Router, body::Body, http::Request};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::{Semaphore, watch},
    task::JoinSet,
    time,
};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use crate::{auth::Peer, limits::Limits};

/// A socket that listens.
pub enum Socket {
    /// TCP without encryption, for the loopback and for proxies.
    Tcp(net::TcpListener),
    /// TCP with TLS.
    Tls(net::TcpListener, Tls),
    /// A Unix socket.
    #[cfg(unix)]
    Unix(std::os::unix::net::UnixListener),
}

impl Socket {
    /// Its address, if it is TCP.
    pub(crate) fn address(&self) -> Option<net::SocketAddr> {
        match self {
            Self::Tcp(listener) | Self::Tls(listener, _) => listener.local_addr().ok(),
            #[cfg(unix)]
            Self::Unix(_) => None,
        }
    }
}

/// The certificate and the key of a server.
pub struct Tls(Arc<ServerConfig>);

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The certificates cannot be read.
    #[error("the certificates are not PEM: {0}")]
    Certificates(rustls::pki_types::pem::Error),
    /// There is no certificate.
    #[error("there is no certificate in it")]
    NoCertificate,
    /// The key cannot be read.
    #[error("the key is not PEM, or has a pass phrase: {0}")]
    Key(rustls::pki_types::pem::Error),
    /// The two do not belong together, or are of a kind that cannot be used.
    #[error("certificate and key cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
}

impl Tls {
    /// The certificates (the server's first) and the key of a server, both as PEM.
    ///
    /// # Errors
    /// If one of them cannot be read, or they do not belong together.
    pub fn new(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<_, _>>()
            .map_err(TlsError::Certificates)?;
        if certificates.is_empty() {
            return Err(TlsError::NoCertificate);
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(TlsError::Key)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(certificates, key)?;
        Ok(Self(Arc::new(config)))
    }
}

/// The most bytes of the headers of a request.
const HEADER_BYTES: usize = 64 << 10;

/// The most connections beyond those of streams and of requests that are answered.
const IDLE_CONNECTIONS: usize = 1_024;

/// The pause after a connection could not be accepted, as when all file descriptors are taken.
const PAUSE: Duration = Duration::from_millis(100);

/// The time that open connections get to end.
const CLOSING: Duration = Duration::from_secs(5);

/// What each connection needs.
#[derive(Clone)]
struct Shared {
    router: Router,
    limits: Limits,
    places: Arc<Semaphore>,
    stops: watch::Receiver<bool>,
}

/// Serves until it is told to stop.
pub(crate) async fn serve(
    sockets: Vec<Socket>,
    router: Router,
    limits: Limits,
    stops: watch::Receiver<bool>,
) -> io::Result<()> {
    let most = limits.streams + limits.requests_at_once + IDLE_CONNECTIONS;
    let places = Arc::new(Semaphore::new(most));
    let shared = Shared { router, limits, places, stops };
    let graceful = Arc::new(GracefulShutdown::new());
    let mut listening = JoinSet::new();
    for socket in sockets {
        let (shared, graceful) = (shared.clone(), Arc::clone(&graceful));
        match socket {
            Socket::Tcp(listener) => {
                let listener = listened(listener)?;
                listening.spawn(async move { shared.tcp(listener, None, &graceful).await });
            }
            Socket::Tls(listener, Tls(config)) => {
                let (listener, tls) = (listened(listener)?, TlsAcceptor::from(config));
                listening.spawn(async move { shared.tcp(listener, Some(tls), &graceful).await });
            }
            #[cfg(unix)]
            Socket::Unix(listener) => {
                listener.set_nonblocking(true)?;
                let listener = tokio::net::UnixListener::from_std(listener)?;
                listening.spawn(async move { shared.unix(listener, &graceful).await });
            }
        }
    }
    drop(shared);
    listening.join_all().await;
    // Nobody else has it: those who listened have ended.
    if let Some(graceful) = Arc::into_inner(graceful) {
        // A connection that does not end in time is broken off by the end of the runtime.
        let _ = time::timeout(CLOSING, graceful.shutdown()).await;
    }
    Ok(())
}

fn listened(listener: net::TcpListener) -> io::Result<TcpListener> {
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

impl Shared {
    async fn tcp(
        mut self,
        listener: TcpListener,
        tls: Option<TlsAcceptor>,
        graceful: &Arc<GracefulShutdown>,
    ) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = self.stops.changed() => return,
            };
            let Ok((stream, address)) = accepted else {
                time::sleep(PAUSE).await;
                continue;
            };
            // Answers are small, and a stream's events must not wait for more.
            let _ = stream.set_nodelay(true);
            let peer = Peer::Tcp(address);
            let Some(tls) = tls.clone() else {
                self.connect(stream, peer, graceful);
                continue;
            };
            let (shared, graceful) = (self.clone(), Arc::clone(graceful));
            tokio::spawn(async move {
                let accepted =
                    time::timeout(shared.limits.header_timeout, tls.accept(stream)).await;
                if let Ok(Ok(stream)) = accepted {
                    shared.connect(stream, peer, &graceful);
                }
            });
        }
    }

    #[cfg(unix)]
    async fn unix(mut self, listener: tokio::net::UnixListener, graceful: &GracefulShutdown) {
        let own = rustix::process::geteuid().as_raw();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = self.stops.changed() => return,
            };
            let Ok((stream, _)) = accepted else {
                time::sleep(PAUSE).await;
                continue;
            };
            let is_own = stream.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0);
            self.connect(stream, if is_own { Peer::Own } else { Peer::Other }, graceful);
        }
    }

    fn connect<S>(&self, stream: S, peer: Peer, graceful: &GracefulShutdown)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // Without a place the connection is closed at once: it costs nothing more.
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else { return };
        let router = self.router.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let router = router.clone();
            async move {
                let mut request = request.map(Body::new);
                request.extensions_mut().insert(peer);
                Ok::<_, Infallible>(
                    router.oneshot(request).await.unwrap_or_else(|why| match why {}),
                )
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.header_timeout)
            .max_buf_size(HEADER_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // There is nobody left to tell of an error, and nothing was lost.
            let _ = connection.await;
            drop(place);
        });
    }
}
