//! The stream of an agent's stored entries. Each event has the number of its entry and the stored
//! bytes, so that a client can verify the chain and see that nothing is missing. A reader pulls from
//! the store by its cursor: a slow one costs a cursor, and no memory.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::{
    http::HeaderMap,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::stream;
use tokio::{sync::watch, task, time};
use wakeful_core::{
    host::Ledger,
    id::{AgentId, Seq},
    record::entry::EntryBytes,
};
use wakeful_host::ledger::SqliteLedger;

use crate::{problem::Problem, store::Store};

/// The most entries that are read at once.
const PAGE: u32 = 256;

/// The time between two looks at a ledger that had nothing new.
const LOOK: Duration = Duration::from_millis(200);

/// The time after which a stream without entries says that it lives.
const ALIVE: Duration = Duration::from_secs(15);

/// A stream at its cursor.
struct Reading {
    ledger: SqliteLedger,
    after: Seq,
    read: VecDeque<EntryBytes>,
    /// Whether it ends at the newest entry.
    ends: bool,
    stops: watch::Receiver<bool>,
}

/// The stream after an entry: that of the header `Last-Event-ID`, else that of `?after=`, else from
/// the beginning. With `?until=head` it ends at the newest entry.
pub(crate) fn stream(
    store: &Store,
    agent: &AgentId,
    query: &std::collections::HashMap<String, String>,
    headers: &HeaderMap,
    stops: watch::Receiver<bool>,
) -> Result<Response, Problem> {
    let named = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let after = match named.or_else(|| query.get("after").map(String::as_str)) {
        None => Seq(0),
        Some(after) => after.parse().map(Seq).map_err(|_| {
            Problem::malformed("a stream goes on after the number of an entry, from 0")
        })?,
    };
    let ends = match query.get("until").map(String::as_str) {
        None => false,
        Some("head") => true,
        Some(_) => return Err(Problem::malformed("`until` can only be `head`")),
    };
    let reading =
        Reading { ledger: store.ledger(agent)?, after, read: VecDeque::new(), ends, stops };
    let events = stream::unfold(reading, next);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE)).into_response())
}

async fn next(mut reading: Reading) -> Option<(Result<Event, Infallible>, Reading)> {
    loop {
        if let Some(entry) = reading.read.pop_front() {
            reading.after = reading.after.next();
            let event = Event::default().id(reading.after.to_string()).data(entry.as_str());
            return Some((Ok(event), reading));
        }
        if *reading.stops.borrow() {
            return None;
        }
        // The store blocks, so it is read on a thread for that.
        let read = task::spawn_blocking(move || {
            let page = reading.ledger.read(reading.after, PAGE);
            (page, reading)
        });
        let (page, back) = read.await.ok()?;
        reading = back;
        match page {
            Ok(page) if page.is_empty() && reading.ends => return None,
            Ok(page) if page.is_empty() => {
                let mut stops = reading.stops.clone();
                tokio::select! {
                    () = time::sleep(LOOK) => {}
                    _ = stops.changed() => return None,
                }
            }
            Ok(page) => reading.read = page.into(),
            // The client connects again, and goes on after its last entry.
            Err(_) => return None,
        }
    }
}
