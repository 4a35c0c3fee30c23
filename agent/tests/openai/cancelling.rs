//! A cancelled request ends at once, in every phase, and its connection is closed.

use std::{
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use wakeful_agent::openai::{Cancel, Chat, ChatError, EndpointOptions, Round, Watch};

use super::{
    answer::{Answer, Events},
    endpoint, options,
    server::Server,
    with,
};

/// A cancelled request ends sooner, also on a slow machine. All limits that would end it otherwise
/// are longer.
const AT_ONCE: Duration = Duration::from_mins(1);

/// Such a limit.
const LONG: Duration = Duration::from_mins(10);

/// Reports the first text or retry.
struct Until(mpsc::Sender<()>);

impl Watch for Until {
    fn text(&mut self, _: &str) {
        let _ = self.0.send(());
    }

    fn retrying(&mut self, _: u32, _: Duration, _: &ChatError) {
        let _ = self.0.send(());
    }
}

/// Asks on another thread, and cancels once `there` returns. Returns the answer, and how long it
/// took after the cancellation.
fn cancelled(
    options: EndpointOptions,
    there: impl FnOnce(&mpsc::Receiver<()>),
) -> (Result<Round, ChatError>, Duration) {
    let endpoint = with(options);
    let cancel = Cancel::new();
    let (seen, watched) = mpsc::channel();
    let asking = thread::spawn({
        let cancel = cancel.clone();
        move || {
            let answered =
                endpoint.complete(&Chat { messages: &[], tools: &[] }, &mut Until(seen), &cancel);
            (answered, Instant::now())
        }
    });
    there(&watched);
    let begun = Instant::now();
    cancel.cancel();
    let (answered, ended) = asking.join().expect("the asking thread does not panic");
    (answered, ended.saturating_duration_since(begun))
}

fn assert_at_once(where_it_was: &str, (answered, took): (Result<Round, ChatError>, Duration)) {
    assert_eq!(answered, Err(ChatError::Cancelled), "{where_it_was}");
    assert!(took <= AT_ONCE, "{where_it_was}: {took:?}");
}

#[test]
fn before_it_begins() {
    let server = Server::answering([]);
    let cancel = Cancel::new();
    cancel.cancel();
    let begun = Instant::now();
    let answered =
        endpoint(&server).complete(&Chat { messages: &[], tools: &[] }, &mut (), &cancel);
    assert_at_once("before it begins", (answered, begun.elapsed()));
    server.wait_until_left();
    assert!(server.received().is_empty(), "a request was sent");
}

#[test]
fn while_it_connects() {
    // The queue of connections is full: nothing accepts them, and the system lets new ones wait.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
        waiting.push(stream);
        assert!(waiting.len() < 10_000, "the queue of the listener has no end");
    }
    let mut options = EndpointOptions::new(format!("http://{address}/v1"), "m");
    options.patience.connect = LONG;
    assert_at_once(
        "while it connects",
        cancelled(options, |_| thread::sleep(Duration::from_millis(100))),
    );
}

#[test]
fn while_it_waits_for_the_head() {
    let server = Server::answering([Answer::never()]);
    assert_at_once(
        "while it waits for the head",
        cancelled(options(&server), |_| server.wait_for_requests(1)),
    );
    server.wait_until_left();
}

#[test]
fn while_the_stream_is_silent() {
    let whole = Answer::stream(Events::new().text("First").text("Second"));
    let at = whole.bytes_before("Second");
    let server = Server::answering([whole.silent_after(at)]);
    assert_at_once(
        "while the stream is silent",
        cancelled(options(&server), |seen| seen.recv().unwrap()),
    );
    server.wait_until_left();
}

#[test]
fn while_the_stream_flows() {
    let endless = (0..10_000).fold(Events::new(), |events, _| events.text("on and on "));
    let server =
        Server::answering([Answer::stream(endless).in_pieces_of(200, Duration::from_millis(50))]);
    assert_at_once(
        "while the stream flows",
        cancelled(options(&server), |seen| seen.recv().unwrap()),
    );
    server.wait_until_left();
}

/// Cancels after the first text, when the rest has arrived too.
struct Enough<'a> {
    cancel: &'a Cancel,
    texts: usize,
}

impl Watch for Enough<'_> {
    fn text(&mut self, _: &str) {
        self.texts += 1;
        thread::sleep(Duration::from_millis(200));
        self.cancel.cancel();
    }
}

#[test]
fn what_has_come_already_is_not_shown_any_more() {
    let whole = Answer::stream(
        Events::new().text("First").text("Second").text("Third").finish("stop").done(),
    );
    let server = Server::answering([whole]);
    let cancel = Cancel::new();
    let mut enough = Enough { cancel: &cancel, texts: 0 };
    let answered =
        endpoint(&server).complete(&Chat { messages: &[], tools: &[] }, &mut enough, &cancel);
    assert_eq!((answered, enough.texts), (Err(ChatError::Cancelled), 1));
}

#[test]
fn while_an_error_comes() {
    let server = Server::answering([
        Answer::status(400, "text/plain", "words that never end").silent_after(5)
    ]);
    let there = |_: &mpsc::Receiver<()>| {
        server.wait_for_requests(1);
        thread::sleep(Duration::from_millis(100));
    };
    assert_at_once("while an error comes", cancelled(options(&server), there));
    server.wait_until_left();
}

#[test]
fn while_it_waits_to_try_again() {
    let server = Server::scripted(|_| {
        Answer::status(503, "text/plain", "later").header("retry-after", "600")
    });
    let mut options = options(&server);
    options.retries.longest_wait = LONG;
    assert_at_once("while it waits to try again", cancelled(options, |seen| seen.recv().unwrap()));
    assert_eq!(server.received().len(), 1);
}
