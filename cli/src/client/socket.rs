//! Requests over a Unix socket.

use std::{
    fmt,
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use ureq::{
    Agent, Error,
    config::Config,
    http::Uri,
    unversioned::{
        resolver::{ResolvedSocketAddrs, Resolver},
        transport::{Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport},
    },
};

/// What sends requests to a socket.
pub(super) fn agent(config: Config, path: &Path) -> Agent {
    Agent::with_parts(config, Socket(path.to_owned()), Nowhere)
}

/// The file of the socket.
#[derive(Debug)]
struct Socket(PathBuf);

impl Connector for Socket {
    type Out = Connection;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<Connection>, Error> {
        let stream = UnixStream::connect(&self.0)?;
        let config = details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(Connection { stream, buffers }))
    }
}

/// A connection to the socket.
struct Connection {
    stream: UnixStream,
    buffers: LazyBuffers,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl Transport for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let timeout = timeout.for_write();
        self.stream.set_write_timeout(limit(&timeout)?)?;
        let output = &self.buffers.output()[..amount];
        self.stream.write_all(output).map_err(|why| late(why, &timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let timeout = timeout.for_read();
        self.stream.set_read_timeout(limit(&timeout)?)?;
        let input = self.buffers.input_append_buf();
        let read = loop {
            match self.stream.read(input) {
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map_err(|why| late(why, &timeout))?,
            }
        };
        self.buffers.input_appended(read);
        Ok(read > 0)
    }

    fn is_open(&mut self) -> bool {
        // A server that ended the connection has sent its end, and one that waits has sent nothing.
        let is_silent = |stream: &mut UnixStream| {
            stream.set_nonblocking(true)?;
            let read = stream.read(&mut [0]);
            stream.set_nonblocking(false)?;
            Ok::<_, io::Error>(read.is_err_and(|why| why.kind() == io::ErrorKind::WouldBlock))
        };
        is_silent(&mut self.stream).unwrap_or(false)
    }
}

/// The limit for one call; `None` if there is none.
fn limit(timeout: &NextTimeout) -> Result<Option<Duration>, Error> {
    if timeout.after.is_zero() {
        return Err(Error::Timeout(timeout.reason));
    }
    Ok(timeout.not_zero().map(|limit| *limit))
}

/// A call that took too long, or failed otherwise.
fn late(why: io::Error, timeout: &NextTimeout) -> Error {
    match why.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Error::Timeout(timeout.reason),
        _ => why.into(),
    }
}

/// A socket has no address on the network.
#[derive(Debug)]
struct Nowhere;

impl Resolver for Nowhere {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let mut none = self.empty();
        // At least one is required, and nobody connects to it.
        none.push(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        Ok(none)
    }
}
