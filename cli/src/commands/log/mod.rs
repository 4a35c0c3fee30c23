//! `wakeful log`: prints the entries of a ledger, one per line. They are verified as they are read.
//! Another process may be writing to the ledger.

mod says;

use std::{
    collections::VecDeque,
    io,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::Duration,
};

use clap::Args;
use wakeful_core::{
    host::{Ledger, SchedulerError},
    id::{AgentId, Seq},
    machine::OpenError,
    record::{
        chain::Head,
        entry::{Entry, EntryBytes},
    },
};

use super::{
    CliError, Verdict,
    ledger::{AgentsArg, Place, Stored},
    say,
    style::{FAINT, painted},
};

/// Entries per read.
const PAGE: u32 = 512;

/// How often `--follow` looks for new entries.
const POLL: Duration = Duration::from_millis(100);

#[derive(Args)]
#[command(after_help = "\
    --json prints entries as they are stored: {seq, at, class, record, chain}. `wakeful \
    print schema` has the form of each record.\n\n\
    At a server, --follow connects again after a break, and goes on after the last entry.\n\n\
    Exit codes:\n\
    \x20 0  printed, even if --follow was interrupted\n\
    \x20 2  the ledger cannot be read\n\n\
    Examples:\n\
    \x20 wakeful log agent.sqlite --limit 20\n\
    \x20 wakeful log agent.sqlite --follow --json\n\
    \x20 wakeful log agent.sqlite --diagnostics\n\
    \x20 wakeful log --server http://127.0.0.1:7171 --agent ada --follow")]
pub(super) struct Log {
    #[command(flatten)]
    ledger: AgentsArg,
    /// Keep printing new entries until Ctrl-C
    #[arg(long)]
    follow: bool,
    /// Print each entry as it is stored, one JSON object per line
    #[arg(long)]
    json: bool,
    /// Print only diagnostics and errors
    #[arg(long)]
    diagnostics: bool,
    /// Print only entries after this one
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// Print at most N entries: the newest, or with --after the first ones after it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
}

impl Log {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let place = self.ledger.place()?;
        let (agent, ledger) = self.ledger.open_unverified(&place)?;
        let interrupted = self.follow.then(interrupted).transpose()?;
        let mut reader = Reader { place: &place, agent, ledger, head: Head::START };
        match self.print(&mut reader, interrupted.as_ref()) {
            // The reader has closed the pipe, as `head` does after some lines. That is not an
            // error.
            Err(CliError::Write { why, .. }) if why.kind() == io::ErrorKind::BrokenPipe => {
                Ok(Verdict::Well)
            }
            printed => printed.map(|()| Verdict::Well),
        }
    }

    fn print(
        &self,
        reader: &mut Reader<'_>,
        interrupted: Option<&Receiver<()>>,
    ) -> Result<(), CliError> {
        let mut left = match (self.after, self.limit) {
            (None, Some(newest)) => {
                self.print_newest(reader, usize::try_from(newest).unwrap_or(usize::MAX))?;
                usize::MAX
            }
            (after, limit) => {
                reader.go_to(Seq(after.unwrap_or(0)))?;
                limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
            }
        };
        let mut follows = false;
        loop {
            self.print_rest(reader, &mut left)?;
            let Some(interrupted) = interrupted.filter(|_| left > 0) else { return Ok(()) };
            if !std::mem::replace(&mut follows, true) {
                reader.ledger.follow(|notice| mention!("{notice}"));
            }
            if interrupted.recv_timeout(POLL) != Err(RecvTimeoutError::Timeout) {
                return Ok(());
            }
        }
    }

    fn print_newest(&self, reader: &mut Reader<'_>, newest: usize) -> Result<(), CliError> {
        // With `--diagnostics` it is unknown how far back the newest ones are, so everything is
        // read.
        if !self.diagnostics {
            let end = reader.end()?;
            reader.go_to(Seq(end.0.saturating_sub(newest as u64)))?;
        }
        let mut kept = VecDeque::new();
        loop {
            let page = reader.page()?;
            if page.is_empty() {
                break;
            }
            kept.extend(page.into_iter().filter(|(entry, _)| self.wants(entry)));
            // Only the newest ones stay in memory.
            kept.drain(..kept.len().saturating_sub(newest));
        }
        kept.iter().try_for_each(|(entry, bytes)| self.print_entry(entry, bytes))
    }

    /// Prints the entries after the reader's position, at most `left` of them.
    fn print_rest(&self, reader: &mut Reader<'_>, left: &mut usize) -> Result<(), CliError> {
        loop {
            let page = reader.page()?;
            if page.is_empty() {
                return Ok(());
            }
            for (entry, bytes) in page.iter().filter(|(entry, _)| self.wants(entry)) {
                if *left == 0 {
                    return Ok(());
                }
                self.print_entry(entry, bytes)?;
                *left -= 1;
            }
        }
    }

    fn wants(&self, entry: &Entry) -> bool {
        !self.diagnostics || says::looks_wrong(&entry.record)
    }

    fn print_entry(&self, entry: &Entry, bytes: &EntryBytes) -> Result<(), CliError> {
        let written = if self.json { say::stored(bytes.as_str()) } else { say::line(&line(entry)) };
        written.map_err(|why| CliError::Write { what: "the log".to_owned(), why })
    }
}

/// The line of an entry for people who watch an agent; `None` if the entry is only bookkeeping.
pub(super) fn news(entry: &Entry) -> Option<String> {
    says::is_news(&entry.record).then(|| line(entry))
}

/// The line of an entry in a conversation with the agent: its kind and text, without position and
/// time. `None` if the entry is only bookkeeping.
#[cfg(target_os = "linux")]
pub(super) fn told(entry: &Entry) -> Option<String> {
    let said = says::is_news(&entry.record).then(|| says::said(&entry.record))?;
    Some(format!(
        "{}  {}",
        painted(FAINT, &format!("{:<10}", said.kind)),
        painted(said.style, &said.text)
    ))
}

/// An entry as a line: position, time, kind and text.
fn line(entry: &Entry) -> String {
    let said = says::said(&entry.record);
    let kind = painted(said.style, &format!("{:<10}", said.kind));
    let at = painted(FAINT, &format!("{:<24}", entry.at.to_string()));
    format!("{:>6}  {at}  {kind}  {}", entry.seq.0, said.text).trim_end().to_owned()
}

/// Receives when the user presses Ctrl-C.
fn interrupted() -> Result<Receiver<()>, CliError> {
    let (sender, receiver) = mpsc::channel();
    let tell = move || {
        // At a second Ctrl-C the command may be ending already, without a receiver.
        let _ = sender.send(());
    };
    ctrlc::set_handler(tell).map_err(CliError::NoInterrupt)?;
    Ok(receiver)
}

/// Reads a ledger from a position on, and verifies each entry against the one before it.
struct Reader<'a> {
    place: &'a Place,
    agent: AgentId,
    ledger: Stored,
    head: Head,
}

impl Reader<'_> {
    /// The position of the newest entry.
    fn end(&mut self) -> Result<Seq, CliError> {
        self.ledger.head().map(|head| head.seq).map_err(|why| self.unreadable(why))
    }

    /// Moves to the position after this entry.
    fn go_to(&mut self, seq: Seq) -> Result<(), CliError> {
        // Archived entries are read from the archive. If the archive is missing, only the remaining
        // entries can be read.
        if let Some(anchor) = self
            .ledger
            .anchor()
            .map_err(|why| self.unreadable(why))?
            .filter(|anchor| seq <= anchor.head.seq)
        {
            let missing = if seq < anchor.head.seq { self.ledger.missing(&anchor) } else { None };
            if let Some(why) = &missing {
                mention!("{why}; printing the entries after them");
            }
            if seq == anchor.head.seq || missing.is_some() {
                self.head = anchor.head;
                return Ok(());
            }
        }
        let Some(before) = seq.0.checked_sub(1) else {
            self.head = Head::START;
            return Ok(());
        };
        // The hash of this entry is needed to verify the next one.
        let at = self.ledger.read(Seq(before), 1).map_err(|why| self.unreadable(why))?;
        match at.first().and_then(EntryBytes::split) {
            Some((_, chain)) => self.head = Head { seq, chain },
            None => return Err(CliError::PastTheEnd { asked: seq, end: self.end()? }),
        }
        Ok(())
    }

    /// The next entries; empty at the end.
    fn page(&mut self) -> Result<Vec<(Entry, EntryBytes)>, CliError> {
        let page = self.ledger.read(self.head.seq, PAGE).map_err(|why| self.unreadable(why))?;
        let mut opened = Vec::new();
        for bytes in page {
            let entry =
                bytes.open(&self.head).map_err(|why| self.unreadable(OpenError::from(why)))?;
            self.head = entry.head();
            opened.push((entry, bytes));
        }
        Ok(opened)
    }

    fn unreadable(&self, why: impl Into<SchedulerError>) -> CliError {
        self.place.unreadable(&self.agent, why)
    }
}
