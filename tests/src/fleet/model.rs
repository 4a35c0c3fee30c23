//! A model server that notes what it is asked, and answers after a while.

use std::{
    collections::HashMap,
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

/// The time of most answers, and of each tenth one. It is so much longer than a lease that a server
/// which does not end such a turn is found out.
const THINKS: Duration = Duration::from_millis(300);
const PONDERS: Duration = Duration::from_secs(9);

/// A question.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) asked: Instant,
    /// The first part of the path, which names the server that asked.
    pub(crate) by: String,
    /// When it was answered, or the one who asked went away.
    pub(crate) ended: Option<Instant>,
}

/// The questions about each message.
pub(crate) type Asked = HashMap<String, Vec<Question>>;

/// The server. It ends with the process.
pub(crate) struct Model {
    /// Its port, on all addresses of this machine.
    pub(crate) port: u16,
    asked: Arc<Mutex<Asked>>,
}

impl Model {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("0.0.0.0:0")?;
        let port = listener.local_addr()?.port();
        let asked = Arc::<Mutex<Asked>>::default();
        let noted = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let noted = Arc::clone(&noted);
                // A client that goes away ends its own thread only.
                thread::spawn(move || drop(answer(&stream, &noted)));
            }
        });
        Ok(Self { port, asked })
    }

    /// What it was asked until now.
    pub(crate) fn asked(&self) -> Asked {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn answer(stream: &TcpStream, asked: &Mutex<Asked>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut by) = (0, None);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        by.get_or_insert_with(|| line.split('/').nth(1).unwrap_or_default().to_owned());
        if let Some(bytes) = line.strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8_lossy(&body);
    // The conversation has the earlier ones too.
    let mark = body.rfind("mark-").and_then(|at| {
        let rest = &body[at..];
        Some(&rest[..rest[5..].find('-')? + 6])
    });
    let mut wait = THINKS;
    let began = Instant::now();
    let noted = mark.map(|mark| {
        if mark.trim_end_matches('-').ends_with('7') {
            wait = PONDERS;
        }
        let mut all = asked.lock().unwrap_or_else(PoisonError::into_inner);
        let questions = all.entry(mark.to_owned()).or_default();
        let by = by.unwrap_or_default();
        questions.push(Question { asked: began, by, ended: None });
        (mark, questions.len() - 1)
    });
    let is_there = waits_for(stream, wait)?;
    if let Some((mark, number)) = noted {
        let mut all = asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(question) = all.get_mut(mark).and_then(|it| it.get_mut(number)) {
            question.ended = Some(Instant::now());
        }
    }
    if !is_there {
        return Ok(());
    }
    let chunk = |delta: serde_json::Value, end: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": end });
        format!("data: {}\n\n", json!({ "id": "1", "model": "slow", "choices": [choice] }))
    };
    let text = chunk(json!({ "role": "assistant", "content": "done" }), None)
        + &chunk(json!({}), Some("stop"))
        + "data: [DONE]\n\n";
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{text}",
        text.len()
    )
}

/// Thinks for a while. Returns whether the one who asked is still there.
fn waits_for(stream: &TcpStream, wait: Duration) -> io::Result<bool> {
    let until = Instant::now() + wait;
    stream.set_nonblocking(true)?;
    let mut is_there = true;
    while is_there && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
        // It sends nothing more, so there is something to read only at the end.
        is_there = !matches!(stream.peek(&mut [0]), Ok(0))
            && !stream.peek(&mut [0]).is_err_and(|why| why.kind() != io::ErrorKind::WouldBlock);
    }
    stream.set_nonblocking(false)?;
    Ok(is_there)
}
