//! Copies bytes between two sockets, both ways, without waiting for either.

use std::{
    mem,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, ioctl_fionbio, read, write},
    net::{Shutdown, shutdown},
};

use super::body::Body;

/// The bytes that wait for one side, at most.
const BUFFER_BYTES: usize = 32 * 1024;

/// How many buffers one side passes before the others are looked at.
const BUFFERS: usize = 16;

/// How long the second side may be silent after the first has ended. A program that leaves a
/// connection half open must not keep it for ever.
const HALF_OPEN: Duration = Duration::from_mins(2);

/// Two connected sockets. The first is that of the client.
#[derive(Debug)]
pub(super) struct Relay {
    sides: [OwnedFd; 2],
    /// Whether the other end of a side is gone.
    gone: [bool; 2],
    /// From each side to the other one.
    ways: [Way; 2],
    moved: Instant,
}

/// One direction.
#[derive(Debug)]
struct Way {
    /// What of the source belongs to the target. The rest is read and dropped.
    body: Body,
    /// What the target has not taken yet: the buffer from `sent` on.
    buffer: Vec<u8>,
    sent: usize,
    /// Whether the source has ended.
    has_ended: bool,
    /// Whether the target gets nothing more.
    is_closed: bool,
}

impl Way {
    fn new(body: Body, first: Vec<u8>) -> Self {
        Self { body, buffer: first, sent: 0, has_ended: false, is_closed: false }
    }

    fn waits(&self) -> bool {
        !self.is_closed && self.sent < self.buffer.len()
    }

    fn is_over(&self) -> bool {
        self.has_ended && self.is_closed
    }

    /// Gives up the target. The source is still read, so that its end is seen.
    fn close(&mut self) {
        self.is_closed = true;
        self.buffer = Vec::new();
        self.sent = 0;
    }

    /// Moves what can be moved now. Returns whether anything was.
    fn advance(&mut self, from: &OwnedFd, to: &OwnedFd) -> bool {
        let mut moved = false;
        for _ in 0..BUFFERS {
            let step = if self.waits() {
                self.send(to)
            } else if self.is_over() {
                break;
            } else {
                self.receive(from, to)
            };
            match step {
                Ok(()) => moved = true,
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        moved
    }

    fn send(&mut self, to: &OwnedFd) -> Result<(), Errno> {
        match write(to, &self.buffer[self.sent..]) {
            Ok(sent) => self.sent += sent,
            Err(why @ (Errno::AGAIN | Errno::INTR)) => return Err(why),
            // The target reads nothing more.
            Err(_) => self.close(),
        }
        Ok(())
    }

    fn receive(&mut self, from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
        if self.has_ended {
            // A server may read the end of its input as the end of its client, so after a complete
            // request it does not get one.
            if !self.body.is_over() {
                // It fails if the target is gone, and then it needs no end.
                let _gone = shutdown(to, Shutdown::Write);
            }
            self.close();
            return Ok(());
        }
        let mut buffer = mem::take(&mut self.buffer);
        buffer.resize(BUFFER_BYTES, 0);
        let read = match read(from, &mut buffer) {
            Err(why @ (Errno::AGAIN | Errno::INTR)) => {
                buffer.clear();
                (self.buffer, self.sent) = (buffer, 0);
                return Err(why);
            }
            // A broken source gives nothing more, as one that ended.
            Err(_) => 0,
            Ok(read) => read,
        };
        self.has_ended = read == 0;
        let belongs = if self.is_closed { 0 } else { self.body.take(&buffer[..read]) };
        buffer.truncate(belongs);
        (self.buffer, self.sent) = (buffer, 0);
        Ok(())
    }
}

impl Relay {
    /// Joins two sockets. `first` goes to the server and `answer` to the client. After that the
    /// server gets the body, and the client gets everything.
    pub(super) fn new(
        client: OwnedFd,
        server: OwnedFd,
        body: Body,
        [first, answer]: [Vec<u8>; 2],
    ) -> Result<Self, Errno> {
        ioctl_fionbio(&client, true)?;
        ioctl_fionbio(&server, true)?;
        Ok(Self {
            sides: [client, server],
            gone: [false; 2],
            ways: [Way::new(body, first), Way::new(Body::Endless, answer)],
            moved: Instant::now(),
        })
    }

    /// When a half-open connection is given up.
    fn until(&self) -> Option<Instant> {
        let is_half = self.ways.iter().any(|way| way.has_ended || way.is_closed);
        is_half.then(|| self.moved + HALF_OPEN)
    }

    fn is_over(&self, now: Instant) -> bool {
        // Nothing can be brought to a client that is gone, and nothing more comes from it.
        let is_left = |side: usize| self.gone[side] && self.ways[side].is_over();
        self.ways.iter().all(Way::is_over)
            || is_left(0)
            || is_left(1)
            || self.until().is_some_and(|until| until <= now)
    }

    /// What each side is watched for. `None` if nothing about it matters now: the system would
    /// report the end of its socket again and again.
    fn watched(&self) -> [Option<PollFlags>; 2] {
        [0, 1].map(|side| {
            let (from, to) = (&self.ways[side], &self.ways[1 - side]);
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, !from.has_ended && !from.waits());
            flags.set(PollFlags::OUT, to.waits());
            Some(flags).filter(|flags| !flags.is_empty() || !self.gone[side])
        })
    }

    fn advance(&mut self, happened: [PollFlags; 2]) {
        for (side, happened) in happened.into_iter().enumerate() {
            if happened.intersects(PollFlags::HUP | PollFlags::ERR) {
                self.gone[side] = true;
                self.ways[1 - side].close();
            }
        }
        let [first, second] = &self.sides;
        let [there, back] = &mut self.ways;
        // Both, always.
        if there.advance(first, second) | back.advance(second, first) {
            self.moved = Instant::now();
        }
    }
}

/// Waits until something happens to the relays or to another source, moves what can be moved, and
/// removes what is over. Returns whether the other source is ready.
pub(super) fn turn(relays: &mut Vec<Relay>, other: Option<BorrowedFd<'_>>) -> bool {
    let watched: Vec<_> = relays.iter().map(Relay::watched).collect();
    let mut sources: Vec<PollFd<'_>> =
        other.iter().map(|other| PollFd::new(other, PollFlags::IN)).collect();
    for (relay, watched) in relays.iter().zip(&watched) {
        for (side, flags) in relay.sides.iter().zip(watched) {
            sources.extend(flags.map(|flags| PollFd::from_borrowed_fd(side.as_fd(), flags)));
        }
    }
    let now = Instant::now();
    let timeout = relays
        .iter()
        .filter_map(Relay::until)
        .min()
        .and_then(|until| Timespec::try_from(until.saturating_duration_since(now)).ok());
    // An interrupted wait only ends early, and nothing has happened then.
    let waited = poll(&mut sources, timeout.as_ref()).is_ok();
    let mut happened = sources
        .iter()
        .map(|source| if waited { source.revents() } else { PollFlags::empty() })
        .collect::<Vec<_>>()
        .into_iter();
    let is_ready = other.is_some() && happened.next().is_some_and(|flags| !flags.is_empty());
    for (relay, watched) in relays.iter_mut().zip(watched) {
        relay.advance(
            watched.map(|side| side.and_then(|_| happened.next()).unwrap_or(PollFlags::empty())),
        );
    }
    let now = Instant::now();
    relays.retain(|relay| !relay.is_over(now));
    is_ready
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{Shutdown, TcpListener, TcpStream},
        os::unix::net::UnixStream,
        thread,
    };

    use super::*;

    /// A client and a server with a relay between them, which ends when it is over.
    fn joined(body: Body) -> (UnixStream, TcpStream, thread::JoinHandle<()>) {
        let (client, inner) = UnixStream::pair().expect("a pair");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let outer = TcpStream::connect(listener.local_addr().expect("one")).expect("a connection");
        let (server, _) = listener.accept().expect("a connection");
        let relay = Relay::new(inner.into(), outer.into(), body, Default::default());
        let mut relays = vec![relay.expect("a relay")];
        let running = thread::spawn(move || {
            while !relays.is_empty() {
                turn(&mut relays, None);
            }
        });
        (client, server, running)
    }

    fn all(mut from: impl Read) -> Vec<u8> {
        let mut read = Vec::new();
        from.read_to_end(&mut read).expect("it is read");
        read
    }

    #[test]
    fn everything_arrives_in_both_directions_and_each_end_is_passed_on() {
        let (client, server, running) = joined(Body::Endless);
        let sent: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
        let expected = sent.clone();
        let (mut to_server, mut to_client) =
            (client.try_clone().expect("a handle"), server.try_clone().expect("a handle"));
        let writers = [
            thread::spawn({
                let sent = sent.clone();
                move || {
                    to_server.write_all(&sent).expect("it is sent");
                    to_server.shutdown(Shutdown::Write).expect("it ends");
                }
            }),
            thread::spawn(move || {
                to_client.write_all(&sent).expect("it is sent");
                to_client.shutdown(Shutdown::Write).expect("it ends");
            }),
        ];
        let of_client = thread::spawn(move || all(client));
        assert!(all(server) == expected, "the server has everything");
        assert!(of_client.join().expect("it ends") == expected, "the client has everything");
        writers.into_iter().for_each(|writer| writer.join().expect("it ends"));
        running.join().expect("the relay is over");
    }

    #[test]
    fn a_client_that_is_gone_ends_a_relay_whose_server_is_silent() {
        let (mut client, mut server, running) = joined(Body::Endless);
        client.write_all(b"last words").expect("it is sent");
        drop(client);
        let mut words = [0; 10];
        server.read_exact(&mut words).expect("they arrive");
        assert_eq!(&words, b"last words");
        assert_eq!(server.read(&mut words).expect("the end"), 0);
        // The server neither answers nor closes.
        let began = Instant::now();
        running.join().expect("the relay is over");
        assert!(began.elapsed() < HALF_OPEN / 2, "{:?}", began.elapsed());
    }

    #[test]
    fn what_follows_the_request_does_not_reach_the_server() {
        let (mut client, mut server, running) = joined(Body::Bytes(4));
        client.write_all(b"bodyGET http://other/ HTTP/1.1\r\n\r\n").expect("it is sent");
        server.write_all(b"answer").expect("it is sent");
        let mut answer = [0; 6];
        client.read_exact(&mut answer).expect("it arrives");
        client.shutdown(Shutdown::Write).expect("it ends");
        let mut body = [0; 64];
        server.set_read_timeout(Some(Duration::from_millis(300))).expect("it is set");
        assert_eq!(server.read(&mut body).expect("the body"), 4);
        let more = server.read(&mut body).map_err(|why| why.kind());
        assert_eq!(more, Err(std::io::ErrorKind::WouldBlock), "not even an end");
        drop(server);
        assert_eq!(all(&client), b"");
        drop(client);
        running.join().expect("the relay is over");
    }
}
