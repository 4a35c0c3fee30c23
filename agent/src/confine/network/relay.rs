//! Copies bytes between two sockets, both ways.

use std::{cell::Cell, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split},
    time::{Instant, sleep},
};

/// The bytes that wait for one side, at most.
const BUFFER_BYTES: usize = 32 * 1024;

/// How long the second side may be silent after the first has ended. A program that leaves a
/// connection half open must not keep it for ever.
pub(super) const HALF_OPEN: Duration = Duration::from_mins(2);

/// What the two ways know of each other.
struct Progress {
    /// Whether one of them has ended.
    is_half: Cell<bool>,
    moved: Cell<Instant>,
}

/// Copies until both sides have ended, or one has and the other is silent for this long.
pub(super) async fn join(
    first: impl AsyncRead + AsyncWrite,
    second: impl AsyncRead + AsyncWrite,
    half_open: Duration,
) {
    let progress = Progress { is_half: Cell::new(false), moved: Cell::new(Instant::now()) };
    let ((from_first, to_first), (from_second, to_second)) = (split(first), split(second));
    let silent = async {
        loop {
            sleep(half_open).await;
            if progress.is_half.get() && progress.moved.get().elapsed() >= half_open {
                return;
            }
        }
    };
    let both = async {
        tokio::join!(pass(from_first, to_second, &progress), pass(from_second, to_first, &progress))
    };
    tokio::select! {
        _ = both => {}
        () = silent => {}
    }
}

/// Copies one way until its source has ended, and passes on the end.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    progress: &Progress,
) {
    let mut buffer = vec![0; BUFFER_BYTES];
    // A broken source gives nothing more, and a broken target takes nothing more.
    while let Ok(length @ 1..) = from.read(&mut buffer).await
        && to.write_all(&buffer[..length]).await.is_ok()
        && to.flush().await.is_ok()
    {
        progress.moved.set(Instant::now());
    }
    progress.is_half.set(true);
    // It fails if the target is gone, and then it needs no end.
    let _gone = to.shutdown().await;
}

#[cfg(test)]
mod tests {
    use tokio::{io::duplex, net::UnixStream};

    use super::*;

    fn block_on<T>(what: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(what)
    }

    /// Sends all of these bytes and an end, and reads to the end.
    async fn exchange(stream: UnixStream, sent: &[u8]) -> Vec<u8> {
        let (mut from, mut to) = split(stream);
        let mut read = Vec::new();
        let send = async {
            to.write_all(sent).await.expect("it is sent");
            to.shutdown().await.expect("it ends");
        };
        let (_, received) = tokio::join!(send, from.read_to_end(&mut read));
        received.expect("it is read");
        read
    }

    #[test]
    fn everything_arrives_in_both_directions_and_each_end_is_passed_on() {
        let sent: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
        block_on(async {
            let (client, first) = UnixStream::pair().expect("a pair");
            let (second, server) = UnixStream::pair().expect("a pair");
            let ((), to_client, to_server) = tokio::join!(
                join(first, second, HALF_OPEN),
                exchange(client, &sent),
                exchange(server, &sent)
            );
            assert!(to_client == sent && to_server == sent, "each has everything");
        });
    }

    #[test]
    fn a_side_that_is_gone_ends_a_relay_whose_other_side_is_silent() {
        block_on(async {
            let (mut client, first) = duplex(64);
            let (second, mut server) = duplex(64);
            let last = async {
                client.write_all(b"last words").await.expect("it is sent");
                drop(client);
                let mut read = Vec::new();
                server.read_to_end(&mut read).await.expect("it is read");
                assert_eq!(read, b"last words");
            };
            // The server neither answers nor closes.
            tokio::join!(join(first, second, Duration::from_millis(50)), last);
            assert_eq!(server.read(&mut [0]).await.expect("the end"), 0);
        });
    }
}
