//! What crosses the network.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::place::{Place, driver, hint, program, ran};

/// A wire in front of a server that counts what crosses it.
struct Wire {
    url: String,
    asked: Arc<Mutex<Vec<u8>>>,
    answered: Arc<AtomicUsize>,
}

impl Wire {
    fn before(place: &Place) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let server = place.url.trim_start_matches("http://").to_owned();
        let (asked, answered) = (Arc::<Mutex<Vec<u8>>>::default(), Arc::<AtomicUsize>::default());
        let (asks, answers) = (Arc::clone(&asked), Arc::clone(&answered));
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.expect("a connection");
                let server = TcpStream::connect(&server).expect("the server");
                let (asks, answers) = (Arc::clone(&asks), Arc::clone(&answers));
                let other = (client.try_clone().expect("it"), server.try_clone().expect("it"));
                thread::spawn(move || {
                    pass(other.0, other.1, |bytes| asks.lock().expect("bytes").extend(bytes));
                });
                thread::spawn(move || {
                    pass(server, client, |bytes| {
                        answers.fetch_add(bytes.len(), Ordering::Relaxed);
                    });
                });
            }
        });
        Self { url, asked, answered }
    }

    /// The requests since the last call, and the bytes of the answers.
    fn crossed(&self) -> (Vec<String>, usize) {
        let asked = std::mem::take(&mut *self.asked.lock().expect("bytes"));
        let asked = String::from_utf8(asked).expect("UTF-8");
        let lines = asked.lines().filter(|line| line.ends_with(" HTTP/1.1"));
        (lines.map(str::to_owned).collect(), self.answered.swap(0, Ordering::Relaxed))
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, count: impl Fn(&[u8])) {
    let mut buffer = [0; 16 << 10];
    while let Ok(read) = from.read(&mut buffer) {
        count(&buffer[..read]);
        if read == 0 || to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[test]
fn a_long_ledger_is_opened_from_its_snapshot_with_two_requests() {
    let place = Place::over(|folder| {
        let mut ada = driver(&folder.join("agents.sqlite"), "ada");
        for number in 0..1_000 {
            ada.propose(&hint(number)).expect("it is recorded");
        }
    });
    let wire = Wire::before(&place);
    let at = |args: &[&str]| {
        let told = ran(program(args)
            .args(["--server", &wire.url, "--agent", "ada"])
            .env("WAKEFUL_SERVER_TOKEN", &place.token));
        assert_eq!(told.code, 0, "{}", told.err);
        (told.out, wire.crossed())
    };
    let (log, (asked, whole)) = at(&["log", "--json"]);
    let count = log.lines().count();
    assert!(count >= 1_000, "{count} entries");
    assert_eq!(log.lines().collect::<Vec<_>>(), place.lines("ada"));
    assert!(asked.len() <= 4, "all entries come in one stream: {asked:?}");
    let (status, (asked, bytes)) = at(&["status"]);
    let opened = status.lines().last().expect("a line");
    assert!(opened.starts_with("opened   from the snapshot at entry "), "{opened}");
    assert_eq!(
        asked,
        [
            "GET /v1/agents/ada/snapshot HTTP/1.1".to_owned(),
            "GET /v1/agents/ada/entries?until=head HTTP/1.1".to_owned(),
        ]
    );
    assert!(bytes * 2 < whole, "{bytes} bytes, and {whole} for the whole ledger");
}
