//! A server in the test's process that speaks chat completions over HTTP/1.1, with any fault that a
//! test needs.
//!
//! It uses bare sockets, because it must send what a proper server never would.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
    time::Duration,
};

use serde_json::Value;
use wakeful_agent::openai::ChatMessage;

use super::answer::{Answer, Length, Splits, Stop};

/// A server at a free port of this machine. It stops when it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl ReceivedRequest {
    /// A header by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// The messages of the chat.
    pub(crate) fn messages(&self) -> Vec<ChatMessage> {
        serde_json::from_value(self.body["messages"].clone())
            .expect("the messages have the shape of chat completions")
    }
}

type Script = dyn Fn(&ReceivedRequest) -> Answer + Send + Sync;

struct Shared {
    script: Box<Script>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    received: Vec<ReceivedRequest>,
    open: usize,
    is_closing: bool,
}

impl Server {
    /// Gives these answers one after the other, and refuses (418) when there are no more.
    pub(crate) fn answering(answers: impl IntoIterator<Item = Answer>) -> Self {
        let queue = Mutex::new(answers.into_iter().collect::<VecDeque<_>>());
        Self::scripted(move |_| {
            let next = queue.lock().expect("the queue is not poisoned").pop_front();
            next.unwrap_or_else(|| {
                Answer::error(418, "the test has no answer left", "test", Value::Null)
            })
        })
    }

    /// Answers each request as the script says.
    pub(crate) fn scripted(
        script: impl Fn(&ReceivedRequest) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("the port");
        let shared = Arc::new(Shared {
            script: Box::new(script),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.state().is_closing {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let serving = Arc::clone(&accepting);
                serving.count(1);
                thread::spawn(move || {
                    // In many tests the client leaves in the middle.
                    let _ = serving.serve(stream);
                    serving.count(-1);
                });
            }
        });
        Self { address, shared }
    }

    /// The base URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests so far.
    pub(crate) fn received(&self) -> Vec<ReceivedRequest> {
        self.shared.state().received.clone()
    }

    /// Forgets the requests so far. Only a long soak of the command line needs the memory back.
    #[allow(dead_code)]
    pub(crate) fn forget(&self) {
        self.shared.state().received.clear();
    }

    /// Waits until this many requests have arrived.
    pub(crate) fn wait_for_requests(&self, count: usize) {
        assert!(
            self.shared.wait(|state| state.received.len() >= count),
            "fewer than {count} requests in time"
        );
    }

    /// Waits until no connection is open.
    pub(crate) fn wait_until_left(&self) {
        assert!(self.shared.wait(|state| state.open == 0), "a connection is still open");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.state().is_closing = true;
        let _ = TcpStream::connect(self.address); // Wakes the loop, which then sees the flag.
    }
}

const UNPOISONED: &str = "no thread panics while it holds the state";

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(UNPOISONED)
    }

    fn count(&self, by: isize) {
        let mut state = self.state();
        state.open = state.open.checked_add_signed(by).expect("each connection is counted once");
        self.changed.notify_all();
    }

    fn wait(&self, until: impl Fn(&State) -> bool) -> bool {
        let state = self.state();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, Duration::from_mins(10), |state| !until(state))
            .expect(UNPOISONED);
        until(&state)
    }

    /// Reads one request, answers it, and closes the connection.
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let request = read_request(&mut reader)?;
        {
            let mut state = self.state();
            state.received.push(request.clone());
            self.changed.notify_all();
        }
        let answer = (self.script)(&request);
        match answer.stop {
            Some(Stop::NoHead) => until_left(&stream),
            _ => send(stream, &answer),
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> io::Result<ReceivedRequest> {
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        io::Result::Ok(line.trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let mut headers = Vec::new();
    loop {
        let header = line()?;
        let Some((name, value)) = header.split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(ReceivedRequest { method, path, headers, body: serde_json::from_slice(&body)? })
}

fn send(mut stream: TcpStream, answer: &Answer) -> io::Result<()> {
    let head = head(answer);
    let (first, rest) = head.split_at(head.len() / 2);
    thread::sleep(answer.before_head);
    stream.write_all(first.as_bytes())?;
    thread::sleep(answer.before_head);
    stream.write_all(rest.as_bytes())?;
    let sent = match answer.stop {
        Some(Stop::Cut(bytes) | Stop::Silence(bytes)) => &answer.body[..bytes],
        _ => &answer.body,
    };
    for (number, piece) in pieces(sent, &answer.splits).into_iter().enumerate() {
        if number > 0 && !answer.pause.is_zero() {
            thread::sleep(answer.pause);
        }
        if answer.length == Length::Chunked {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            stream.write_all(&chunk)?;
        } else {
            stream.write_all(piece)?;
        }
    }
    match answer.stop {
        Some(Stop::Silence(_)) => return until_left(&stream),
        None if answer.length == Length::Chunked => stream.write_all(b"0\r\n\r\n")?,
        _ => {}
    }
    Ok(())
}

fn head(answer: &Answer) -> String {
    let mut head = format!("HTTP/1.1 {} As The Test Says\r\n", answer.status);
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &match answer.length {
        Length::Chunked => "transfer-encoding: chunked\r\n\r\n".to_owned(),
        Length::Given => format!("content-length: {}\r\n\r\n", answer.body.len()),
        Length::UntilClose => "connection: close\r\n\r\n".to_owned(),
    };
    head
}

/// The pieces of a body, none of them empty.
fn pieces<'a>(body: &'a [u8], splits: &Splits) -> Vec<&'a [u8]> {
    let mut at = match splits {
        Splits::Nowhere => vec![0],
        Splits::At(at) => vec![0, *at],
        Splits::Every(bytes) => (0..body.len()).step_by(*bytes).collect(),
    };
    at.push(body.len());
    at.windows(2).map(|range| &body[range[0]..range[1]]).filter(|piece| !piece.is_empty()).collect()
}

/// Stays silent until the client closes the connection.
fn until_left(mut stream: &TcpStream) -> io::Result<()> {
    let mut buffer = [0; 64];
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}
