//! The stream of an agent's stored entries. Each event has the number of its entry and the stored
//! bytes, so that a client can verify the chain and see that nothing is missing. A reader pulls
//! from the store by its cursor: a slow one costs a cursor, and no memory.

use std::{collections::VecDeque, fmt::Write as _, io, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use schemars::JsonSchema;
use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    task, time,
};
use wakeful_core::{
    host::{Ledger, LedgerError},
    id::Seq,
    record::entry::EntryBytes,
};
use wakeful_host::ledger::StoreLedger;

use crate::{
    agents::{Cell, Follower},
    asked::{self, Asked},
    problem::Problem,
};

/// The most entries that are read at once.
pub(super) const PAGE: u32 = 256;

/// The time after which a stream without entries says that it lives.
pub(super) const ALIVE: Duration = Duration::from_secs(15);

/// The bytes after which events are sent and no more are added.
const FRAME_BYTES: usize = 64 << 10;

/// The end of a stream.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(dead_code)]
pub(crate) enum Until {
    /// At the newest entry.
    Head,
}

/// A stream at its cursor.
struct Reading {
    cell: Arc<Cell>,
    _follower: Follower,
    ledger: StoreLedger,
    after: Seq,
    read: VecDeque<Arc<EntryBytes>>,
    /// The entry at which it ends; `None` if it does not end by itself.
    until: Option<Seq>,
    stops: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
}

/// The stream after an entry: that of the header `Last-Event-ID`, else that of `?after=`, else from
/// the beginning. With `?until=head` it ends at the newest entry.
pub(crate) fn stream(
    asked: &Asked,
    stops: watch::Receiver<bool>,
    place: OwnedSemaphorePermit,
) -> Result<Response, Problem> {
    let cell = asked.cell()?;
    // Read in any case, so that a wrong one is told.
    let named = asked.number("after")?.unwrap_or(0);
    let after = match asked.header("last-event-id") {
        None => named,
        Some(after) => asked::number("Last-Event-ID", after)?,
    };
    let ends = match asked.query.get("until").map(String::as_str) {
        None => false,
        Some("head") => true,
        Some(_) => return Err(Problem::malformed("`until` can only be `head`")),
    };
    let mut ledger = asked.agents.reading(&cell);
    // What cannot be read is told now, and not by a stream that breaks off.
    let unread = |why: LedgerError| {
        let detail = format!("entries after {after} cannot be read: {why}");
        Problem::new(StatusCode::GONE, "ledger_failed", detail)
    };
    // The store knows what another process has appended a moment ago.
    let head = ledger.head().map_err(unread)?.seq;
    // A cursor from another ledger, or from one that was set back, would wait for ever.
    if Seq(after) > head {
        let detail = format!(
            "there is no entry {after}: the newest is {head}; if the ledger was set back, begin \
             again at 0"
        );
        return Err(Problem::new(StatusCode::GONE, "no_such_entry", detail));
    }
    let first = ledger.read(Seq(after), PAGE).map_err(unread)?;
    let until = ends.then_some(head);
    let (after, read) = (Seq(after), first.into_iter().map(Arc::new).collect());
    let _follower = cell.follow();
    let reading = Reading { cell, _follower, ledger, after, read, until, stops, _place: place };
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        // Proxies such as nginx would hold events back.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(stream::unfold(reading, next))).into_response())
}

/// What comes next. The error breaks the stream off, so that a client does not take what it has for
/// the whole.
async fn next(mut reading: Reading) -> Option<(io::Result<Bytes>, Reading)> {
    loop {
        if !reading.read.is_empty() {
            return Some((Ok(reading.events()), reading));
        }
        let cell = Arc::clone(&reading.cell);
        // Listen before looking, so that no entry comes between.
        let appended = cell.appended.notified();
        tokio::pin!(appended);
        appended.as_mut().enable();
        let has_all = reading.until.unwrap_or_else(|| cell.head()) <= reading.after;
        if has_all && reading.until.is_some() {
            return None;
        }
        if *reading.stops.borrow() {
            return reading.breaks_off("the server ends");
        }
        if has_all {
            let mut stops = reading.stops.clone();
            tokio::select! {
                waited = time::timeout(ALIVE, &mut appended) => if waited.is_err() {
                    return Some((Ok(Bytes::from_static(b":\n\n")), reading));
                },
                _ = stops.changed() => return None,
            }
            continue;
        }
        if let Some(recent) = cell.recent.after(reading.after) {
            reading.read = recent;
            continue;
        }
        // The store blocks, so it is read on a thread for that.
        let read = task::spawn_blocking(move || {
            let page = reading.ledger.read(reading.after, PAGE);
            (page, reading)
        });
        let (page, back) = read.await.ok()?;
        reading = back;
        match page {
            // The ledger was set back: what the client has is no longer so.
            Ok(page) if page.is_empty() => return reading.breaks_off("the ledger was set back"),
            Ok(page) => reading.read = page.into_iter().map(Arc::new).collect(),
            // The client connects again, and goes on after its last entry.
            Err(_) => return reading.breaks_off("the store did not answer"),
        }
    }
}

impl Reading {
    /// The events of what was read. They go to the connection in one piece, since each piece costs
    /// more than an event.
    fn events(&mut self) -> Bytes {
        let mut events = String::new();
        while let Some(entry) = self.read.pop_front() {
            self.after = self.after.next();
            event(&mut events, self.after, entry.as_str());
            if events.len() >= FRAME_BYTES {
                break;
            }
        }
        events.into()
    }

    /// The end of a stream that has not come to where it ends. One without such an end just stops:
    /// its clients connect again.
    fn breaks_off(mut self, why: &str) -> Option<(io::Result<Bytes>, Self)> {
        self.until.take()?;
        Some((Err(io::Error::other(why)), self))
    }
}

/// Adds the event of an entry. A ledger of a stranger may have line breaks between its tokens, and
/// must not make fields or events of its own with them.
fn event(events: &mut String, seq: Seq, text: &str) {
    // To write to a text cannot fail.
    let _ = writeln!(events, "id: {seq}");
    for line in text.split(['\r', '\n']) {
        let _ = writeln!(events, "data: {line}");
    }
    events.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_in_an_entry_make_no_field() {
        let mut events = String::new();
        event(&mut events, Seq(7), "{\"a\":\n\nid: 9\r1}");
        event(&mut events, Seq(8), "{}");
        let first = "id: 7\ndata: {\"a\":\ndata: \ndata: id: 9\ndata: 1}\n\n";
        assert_eq!(events, format!("{first}id: 8\ndata: {{}}\n\n"));
    }
}
