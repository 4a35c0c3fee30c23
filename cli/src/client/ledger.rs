//! The ledger of an agent at a server. Its entries are those that are stored, so their chain is
//! verified as that of a file.

use std::{
    sync::mpsc::{self, Receiver, SyncSender, TryRecvError},
    thread,
    time::{Duration, Instant},
};

use wakeful_core::{
    host::{Ledger, LedgerError},
    id::{AgentId, Seq},
    record::{chain::Head, entry::EntryBytes},
};

use super::{Server, ServerError, events::Events};

/// The bytes at which a page ends, as in a file.
const PAGE_BYTES: usize = 4 << 20;

/// The wait before the first attempt to connect again, doubled for each later one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The most entries that wait for the reader.
const WAITING: usize = 256;

/// The ledger of an agent at a server, for reading.
pub(crate) struct Remote {
    server: Server,
    agent: AgentId,
    snapshot: Option<String>,
    /// The stream of the last page. The next page goes on in it.
    open: Option<Events>,
    /// The stream that does not end.
    live: Option<Live>,
    /// What tells of a lost connection, if the ledger is followed; `None` if it is read up to its
    /// newest entry.
    notice: Option<Notice>,
}

/// Tells a person something beside the entries.
pub(crate) type Notice = fn(&str);

impl Remote {
    /// The ledger of an agent. Its newest snapshot is read at once, so that a server or an agent
    /// that cannot be read is an error of its own.
    pub(crate) fn open(server: &Server, agent: &AgentId) -> Result<Self, ServerError> {
        let snapshot = server.snapshot(agent)?;
        Ok(Self {
            server: server.clone(),
            agent: agent.clone(),
            snapshot,
            open: None,
            live: None,
            notice: None,
        })
    }

    /// The newest entry.
    pub(crate) fn head(&mut self) -> Result<Head, LedgerError> {
        self.server.head(&self.agent).map_err(failed)
    }

    /// From now on an empty page does not mean the end: it means that nothing new has come yet. A
    /// lost connection is made again, and `notice` tells of it.
    pub(crate) fn follow(&mut self, notice: Notice) {
        self.notice = Some(notice);
        self.open = None;
    }

    fn page(&mut self, after: Seq, limit: usize) -> Result<Vec<EntryBytes>, ServerError> {
        let mut events = match self.open.take() {
            Some(open) if open.at() == after => open,
            _ => match self.server.entries(&self.agent, after, true) {
                // A ledger that ends before has nothing there, as a file has not.
                Err(why) if why.is_no_such_entry() => return Ok(Vec::new()),
                opened => opened?,
            },
        };
        let (mut page, mut bytes) = (Vec::new(), 0);
        while page.len() < limit && bytes < PAGE_BYTES {
            let Some(entry) = events.next()? else { break };
            bytes += entry.as_str().len();
            page.push(entry);
        }
        // After the end, the next reader asks whether there is more meanwhile.
        self.open = (!page.is_empty()).then_some(events);
        Ok(page)
    }
}

impl Ledger for Remote {
    fn append(&mut self, _: &Head, _: &[EntryBytes]) -> Result<(), LedgerError> {
        let message = "the server alone appends to its ledgers: report a fact to it".to_owned();
        Err(LedgerError::Failed { message })
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let Some(notice) = self.notice else { return self.page(after, limit).map_err(failed) };
        let live = match self.live.take() {
            Some(live) if live.at == after => live,
            _ => Live::start(self.server.clone(), self.agent.clone(), after, notice)?,
        };
        self.live.insert(live).page(limit).map_err(failed)
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        Ok(self.snapshot.clone())
    }
}

fn failed(why: ServerError) -> LedgerError {
    LedgerError::Failed { message: why.to_string() }
}

/// A stream that does not end, which a thread keeps open.
struct Live {
    heard: Receiver<Result<EntryBytes, ServerError>>,
    /// The newest entry that was taken.
    at: Seq,
    /// Why no more comes.
    broken: Option<ServerError>,
}

impl Live {
    fn start(
        server: Server,
        agent: AgentId,
        after: Seq,
        notice: Notice,
    ) -> Result<Self, LedgerError> {
        let (tell, heard) = mpsc::sync_channel(WAITING);
        let thread = thread::Builder::new().name("wakeful-follow".to_owned());
        let spawned = thread.spawn(move || {
            if let Some(why) = listen(&server, &agent, after, notice, &tell) {
                // Without a receiver the command has ended.
                let _ = tell.send(Err(why));
            }
        });
        spawned.map_err(|why| LedgerError::Failed {
            message: format!("the system gives no thread to listen to the server: {why}"),
        })?;
        Ok(Self { heard, at: after, broken: None })
    }

    /// What has come, without waiting.
    fn page(&mut self, limit: usize) -> Result<Vec<EntryBytes>, ServerError> {
        let mut page = Vec::new();
        while page.len() < limit && self.broken.is_none() {
            match self.heard.try_recv() {
                Ok(Ok(entry)) => page.push(entry),
                Ok(Err(why)) => self.broken = Some(why),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        self.at = Seq(self.at.0 + page.len() as u64);
        // What came before it is taken first.
        match self.broken.take_if(|_| page.is_empty()) {
            Some(why) => Err(why),
            None => Ok(page),
        }
    }
}

/// Passes on all entries after one, over as many connections as that takes. Returns why that cannot
/// go on, unless nobody listens any more.
fn listen(
    server: &Server,
    agent: &AgentId,
    after: Seq,
    notice: Notice,
    tell: &SyncSender<Result<EntryBytes, ServerError>>,
) -> Option<ServerError> {
    let (mut at, mut pause, mut is_lost) = (after, FIRST_PAUSE, false);
    loop {
        let began = Instant::now();
        let broke = match server.entries(agent, at, false) {
            Err(why) => why,
            Ok(mut events) => {
                if std::mem::take(&mut is_lost) {
                    notice(&format!("connected to `{server}` again"));
                }
                loop {
                    match events.next() {
                        Ok(Some(entry)) => tell.send(Ok(entry)).ok()?,
                        Ok(None) => break ServerError::ended(server.to_string()),
                        Err(why) => break why,
                    }
                    at = events.at();
                    pause = FIRST_PAUSE;
                }
            }
        };
        if !broke.may_pass() {
            return Some(broke);
        }
        if !std::mem::replace(&mut is_lost, true) {
            notice(&format!("{broke}; going on after entry {at} as soon as it answers"));
        }
        if began.elapsed() > LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        thread::sleep(pause);
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}
