//! The stream of the entries of all agents. Each event has a cursor as its `id`, after which the
//! stream goes on without a gap, also on a server that was started anew.

use std::{
    collections::{BTreeSet, VecDeque},
    convert::Infallible,
    sync::Arc,
};

use axum::{
    http::{HeaderValue, StatusCode},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::stream;
use schemars::JsonSchema;
use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    task,
};
use wakeful_core::{id::Seq, json, record::entry::EntryBytes};

use super::entries::{ALIVE, PAGE};
use crate::{
    agents::{Agents, Cell, FollowsAll, tail},
    asked::Asked,
    cursors::{ByAgent, Given, MOST_BYTES},
    problem::Problem,
};

/// The most bases that a stream keeps for itself: its client may be as far behind as the buffers of
/// the network reach.
const MOST_OWN: usize = 16;

/// The bytes of a position in a cursor, besides the id of its agent.
const POSITION_BYTES: usize = 12;

/// The place at which a stream without a cursor begins.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(dead_code)]
pub(crate) enum From {
    /// After the newest entry of each agent.
    Now,
}

/// A stream at its cursor.
struct Reading {
    agents: Arc<Agents>,
    /// How far each agent was read, by number. Agents that came later are at their beginning.
    positions: Vec<u64>,
    /// The base of the cursor, and the agents whose positions differ from it.
    base: Option<String>,
    moved: BTreeSet<usize>,
    /// The bases that this stream made, the oldest first.
    own: VecDeque<String>,
    /// The change after which the list is looked at.
    at: u64,
    /// The agents that are left, with the last entries to read, if the stream ends.
    left: Option<VecDeque<(usize, Seq)>>,
    /// What was read of an agent.
    read: VecDeque<Arc<EntryBytes>>,
    of: Option<Arc<Cell>>,
    /// The agents whose entries cannot be read, and what is to be said of the newest.
    broken: BTreeSet<usize>,
    failed: Option<(Arc<Cell>, String)>,
    stops: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
    _followed: FollowsAll,
}

/// The stream after a cursor: that of the header `Last-Event-ID`, else that of `?after=`. Without
/// one it begins at the first entry of each agent, or at the newest with `?from=now`.
pub(crate) fn stream(
    asked: &Asked,
    stops: watch::Receiver<bool>,
    place: OwnedSemaphorePermit,
) -> Result<Response, Problem> {
    asked.agents.ready()?;
    let header = asked.header("last-event-id").filter(|named| !named.is_empty());
    let after = header.or_else(|| asked.query.get("after").map(String::as_str));
    let is_now = match asked.query.get("from").map(String::as_str) {
        None => false,
        Some("now") => true,
        Some(_) => return Err(Problem::malformed("`from` can only be `now`")),
    };
    let ends = match asked.query.get("until").map(String::as_str) {
        None => false,
        Some("head") => true,
        Some(_) => return Err(Problem::malformed("`until` can only be `head`")),
    };
    let cells = asked.agents.all();
    let mut reading = Reading {
        agents: Arc::clone(&asked.agents),
        positions: vec![0; cells.len()],
        base: None,
        moved: BTreeSet::new(),
        own: VecDeque::new(),
        at: 0,
        left: None,
        read: VecDeque::new(),
        of: None,
        broken: BTreeSet::new(),
        failed: None,
        stops,
        _place: place,
        _followed: asked.agents.follow_all(),
    };
    if let Some(after) = after {
        reading.go_on(after)?;
    } else if is_now {
        for cell in &cells {
            reading.positions[cell.number] = cell.head().0;
            reading.moved.insert(cell.number);
        }
    }
    if ends {
        reading.left = Some(cells.iter().map(|cell| (cell.number, cell.head())).collect());
    }
    let events = stream::unfold(reading, next);
    let mut response =
        Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE)).into_response();
    // Proxies such as nginx would hold events back.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

impl Reading {
    /// Goes on after a cursor.
    fn go_on(&mut self, after: &str) -> Result<(), Problem> {
        let given = Given::read(after).ok_or_else(|| {
            Problem::unfit("`Last-Event-ID` and `after` are the `id` of an event of this stream")
        })?;
        let mut all = match &given.base {
            None => ByAgent::new(),
            Some(base) => self
                .agents
                .cursors
                .find(base)?
                .ok_or_else(|| gone("this `id` is too old, or of another store"))?,
        };
        let moved: Vec<_> = given.moved.keys().cloned().collect();
        all.extend(given.moved);
        for (agent, position) in all {
            let cell = self.agents.cell(&agent).map_err(|_| {
                gone(&format!("this `id` is of another store: there is no agent `{agent}` here"))
            })?;
            // Another process may have appended a moment ago.
            if cell.head().0 < position
                && self.agents.reading(&cell).head().map_err(|_| Problem::store())?.seq.0 < position
            {
                return Err(gone(&format!("the ledger of `{agent}` was set back")));
            }
            if self.positions.len() <= cell.number {
                self.positions.resize(cell.number + 1, 0);
            }
            self.positions[cell.number] = position;
            if moved.contains(&agent) {
                self.moved.insert(cell.number);
            }
        }
        self.base = given.base;
        Ok(())
    }

    fn position(&self, number: usize) -> u64 {
        self.positions.get(number).copied().unwrap_or(0)
    }

    /// The next agent with new entries, and the last entry to read of it.
    fn next_agent(&mut self) -> Option<(Arc<Cell>, Seq)> {
        loop {
            let (turn, number, until) = match &self.left {
                Some(left) => left.front().map(|(number, until)| (0, *number, *until))?,
                None => {
                    let (turn, number) = self.agents.changes.next(self.at)?;
                    (turn, number, Seq(u64::MAX))
                }
            };
            if let Some(cell) = self.agents.numbered(number)
                && !self.broken.contains(&number)
                && self.position(number) < cell.head().min(until).0
            {
                return Some((cell, until));
            }
            // If it has changed meanwhile, it is in the list again, behind this turn.
            self.at = turn;
            if let Some(left) = &mut self.left {
                left.pop_front();
            }
        }
    }

    /// Reads a page of an agent. Before, the cursor gets another base if it has become too long.
    fn page(mut self, cell: Arc<Cell>, until: Seq) -> Result<Self, Problem> {
        self.shorten()?;
        let after = Seq(self.position(cell.number));
        let mut page = match tail::page_after(&self.agents, &cell, after, PAGE) {
            Ok(page) => page,
            Err(why) => {
                // Without the store there is nothing to read of any agent.
                self.agents.ready()?;
                self.broken.insert(cell.number);
                self.failed = Some((cell, why.to_string()));
                return Ok(self);
            }
        };
        page.truncate(usize::try_from(until.0.saturating_sub(after.0)).unwrap_or(usize::MAX));
        if page.is_empty() {
            // The ledger was set back: what the client has is no longer so.
            return Err(Problem::store());
        }
        self.read = page;
        self.of = Some(cell);
        Ok(self)
    }

    fn shorten(&mut self) -> Result<(), Problem> {
        let lasts = self.base.as_ref().is_none_or(|base| self.agents.cursors.lasts(base));
        if lasts && self.bytes(&self.moved) <= MOST_BYTES {
            return Ok(());
        }
        let agents = Arc::clone(&self.agents);
        let _making = agents.cursors.making();
        if let Some(base) =
            self.agents.cursors.newest().filter(|it| self.agents.cursors.lasts(&it.id))
        {
            let known = |number: usize| base.positions.get(number).copied().unwrap_or(0);
            let most = self.positions.len().max(base.positions.len());
            let differ: BTreeSet<_> =
                (0..most).filter(|number| known(*number) != self.position(*number)).collect();
            // Room is left for those that move next.
            if self.bytes(&differ) <= MOST_BYTES / 2 {
                self.agents.cursors.share(&base);
                self.base = Some(base.id.clone());
                self.moved = differ;
                return Ok(());
            }
        }
        let all = (0..self.positions.len()).filter(|number| self.position(*number) > 0);
        let by_agent = self.by_agent(all);
        let base = self.agents.cursors.keep(self.positions.clone(), &by_agent)?;
        self.base = Some(base.id.clone());
        self.moved.clear();
        self.own.push_back(base.id.clone());
        if self.own.len() > MOST_OWN
            && let Some(oldest) = self.own.pop_front()
        {
            self.agents.cursors.let_go(&oldest)?;
        }
        Ok(())
    }

    fn bytes(&self, moved: &BTreeSet<usize>) -> usize {
        let each = moved.iter().filter_map(|number| self.agents.numbered(*number));
        each.map(|cell| cell.agent.as_str().len() + POSITION_BYTES).sum()
    }

    fn by_agent(&self, numbers: impl Iterator<Item = usize>) -> ByAgent {
        let agent =
            |number| Some((self.agents.numbered(number)?.agent.clone(), self.position(number)));
        numbers.filter_map(agent).collect()
    }

    /// The next entry of the page that was read, as an event with its cursor. An agent whose ledger
    /// is broken is told once, and the others go on.
    fn event(&mut self) -> Option<Event> {
        if let Some((cell, why)) = self.failed.take() {
            let data = serde_json::json!({ "agent_id": cell.agent, "detail": why });
            // It has no `id`: the cursor is where it was.
            return Some(Event::default().event("broken").data(data.to_string()));
        }
        let cell = Arc::clone(self.of.as_ref()?);
        let entry = self.read.pop_front()?;
        if self.positions.len() <= cell.number {
            self.positions.resize(cell.number + 1, 0);
        }
        self.positions[cell.number] += 1;
        self.moved.insert(cell.number);
        let id = Given::write(self.base.as_deref(), &self.by_agent(self.moved.iter().copied()));
        let data = format!(
            "{{\"agent_id\":{},\"seq\":{},\"entry\":{}}}",
            json::write(&cell.agent),
            self.position(cell.number),
            entry.as_str()
        );
        Some(Event::default().event("entry").id(id).data(data))
    }
}

fn gone(why: &str) -> Problem {
    let detail = format!("{why}: begin again without it, or at the newest entries with `from=now`");
    Problem::new(StatusCode::GONE, "no_such_cursor", detail)
}

async fn next(mut reading: Reading) -> Option<(Result<Event, Infallible>, Reading)> {
    loop {
        if let Some(event) = reading.event() {
            return Some((Ok(event), reading));
        }
        let agents = Arc::clone(&reading.agents);
        // Listen before looking, so that no change comes between.
        let told = agents.changes.told.notified();
        tokio::pin!(told);
        told.as_mut().enable();
        if *reading.stops.borrow() {
            return None;
        }
        let Some((cell, until)) = reading.next_agent() else {
            if reading.left.is_some() {
                return None;
            }
            let mut stops = reading.stops.clone();
            tokio::select! {
                () = &mut told => {}
                _ = stops.changed() => return None,
            }
            continue;
        };
        // The store blocks, so it is read on a thread for that. If it fails, the client connects
        // again, and goes on after its last event.
        reading = task::spawn_blocking(move || reading.page(cell, until)).await.ok()?.ok()?;
    }
}
