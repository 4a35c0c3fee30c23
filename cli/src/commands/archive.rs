//! `wakeful archive`: moves the old part of a ledger into an archive.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;
use wakeful_core::json;
use wakeful_host::{
    archive::{self, Archived},
    ledger::{Address, PostgresStore, SqliteFile, SqliteLedger},
};

use super::{
    CliError, Verdict,
    ledger::{LedgerArg, Place},
    status::counted,
    style::{self, FAINT, GOOD, STRONG, painted},
};
pub(super) use wakeful_host::archive::Refusal;

#[derive(Args)]
#[command(after_help = "\
    The archive is a ledger too: `status`, `log` and `doctor` read it. The remaining ledger \
    names the archive and continues its chain. Commands that need old entries read them from \
    the archive. A running agent can continue meanwhile.\n\n\
    Keep the archive at its path. `status`, `why`, `log` and `doctor` of this version can \
    read the remaining ledger without it, from the snapshot. All other commands need it, and \
    so does the next version, which folds the log again. Nothing can be sent to an agent in \
    its archive.\n\n\
    In a store in PostgreSQL the entries go to its table `archived`, from which every command \
    reads them as before. The table may be on a slower disk.\n\n\
    --json prints one object: agent_id, moved, anchor {seq, chain}, snapshot, left, archive, \
    bytes_before, bytes_after (absent of a store).\n\n\
    Exit codes:\n\
    \x20 0  moved, or there was nothing to move\n\
    \x20 2  it cannot be moved; the ledger is whole as it was\n\n\
    Examples:\n\
    \x20 wakeful archive agent.sqlite --before-snapshot\n\
    \x20 wakeful archive agent.sqlite --before-now --to 2026.sqlite\n\
    \x20 wakeful archive postgres://me@db.example/fleet --agent ada --before-snapshot")]
pub(super) struct Archive {
    #[command(flatten)]
    ledger: LedgerArg,
    #[command(flatten)]
    what: What,
    /// The archive file, which is created if missing [default: the file of earlier moves, otherwise
    /// NAME.archive.sqlite beside NAME.sqlite]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct What {
    /// Move everything before the newest snapshot; hosts store one now and then
    #[arg(long)]
    before_snapshot: bool,
    /// Store a snapshot now, and move everything before it
    #[arg(long)]
    before_now: bool,
}

/// The result of a move, and the sizes of the file.
#[derive(Serialize)]
struct Done<'a> {
    #[serde(flatten)]
    archived: Archived,
    archive: &'a Path,
    #[serde(flatten)]
    sizes: Option<Sizes>,
}

/// The sizes of the file before and after a move.
#[derive(Serialize)]
struct Sizes {
    bytes_before: u64,
    bytes_after: u64,
    #[serde(skip)]
    shrunk: bool,
}

/// The table of a store that has old entries.
const TABLE: &str = "archived";

impl Archive {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let place = self.ledger.place()?;
        match &place {
            Place::Store(address) => self.in_store(&place, address),
            _ => self.in_file(),
        }
    }

    fn in_store(&self, place: &Place, address: &Address) -> Result<Verdict, CliError> {
        if self.to.is_some() {
            let why = "its old entries go to a table of the store";
            return Err(CliError::NotOnStore { option: "--to", why });
        }
        let agent = self.ledger.verified(place)?;
        let store = PostgresStore::open(address)?;
        let failed = |why: Refusal| CliError::Archive {
            path: place.to_string().into(),
            agent: agent.clone(),
            why: Box::new(why),
        };
        if self.what.before_now {
            archive::store_snapshot(&agent, &mut store.ledger(&agent)).map_err(failed)?;
        }
        let end = store.ledger(&agent).head().map_err(|why| failed(why.into()))?.seq.0;
        let bar = style::progress(end);
        let archived = archive::archive_in_store(&agent, &store, |seq| bar.set_position(seq.0));
        bar.finish_and_clear();
        let archived = archived.map_err(failed)?;
        self.say(&Done { archived, archive: Path::new(TABLE), sizes: None });
        Ok(Verdict::Well)
    }

    fn in_file(&self) -> Result<Verdict, CliError> {
        let path = self.ledger.path();
        let (agent, mut ledger) = self.ledger.open_to_write()?;
        let failed = |why: Refusal| CliError::Archive {
            path: path.to_owned(),
            agent: agent.clone(),
            why: Box::new(why),
        };
        let bytes_before = size(path);
        let end = ledger.head().map_err(|why| failed(why.into()))?.seq.0;
        let archive = self.archive_of(path, &mut ledger).map_err(failed)?;
        // Checked before the snapshot is stored, so that a refusal leaves the ledger unchanged.
        archive::may_be_archive(&mut ledger, &archive).map_err(failed)?;
        if self.what.before_now {
            archive::store_snapshot(&agent, &mut ledger).map_err(failed)?;
        }
        let bar = style::progress(end);
        let archived =
            archive::archive(&agent, &mut ledger, &archive, |seq| bar.set_position(seq.0));
        // Also after a failure, so that the error does not stand behind a bar.
        bar.finish_and_clear();
        let archived = archived.map_err(failed)?;
        // If nothing was moved, the file has no free space to give back.
        let shrunk = archived.moved == 0 || SqliteFile::open(path)?.shrink()?;
        let sizes = Sizes { bytes_before, bytes_after: size(path), shrunk };
        self.say(&Done { archived, archive: &archive, sizes: Some(sizes) });
        Ok(Verdict::Well)
    }

    fn say(&self, done: &Done<'_>) {
        if self.json {
            say!("{}", json::write(done));
        } else {
            print(done);
        }
    }

    fn archive_of(&self, path: &Path, ledger: &mut SqliteLedger) -> Result<PathBuf, Refusal> {
        if let Some(to) = &self.to {
            return Ok(to.clone());
        }
        Ok(ledger
            .anchor()?
            .map_or_else(|| path.with_extension("archive.sqlite"), |anchor| anchor.archive))
    }
}

fn size(path: &Path) -> u64 {
    // The size is only shown, so the move must not fail for it.
    fs::metadata(path).map_or(0, |data| data.len())
}

/// Formats a size for people.
fn told(bytes: u64) -> String {
    if bytes < 1_000_000 {
        format!("{} kB", bytes.div_ceil(1000))
    } else {
        format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10)
    }
}

fn print(done: &Done<'_>) {
    let Archived { agent_id, moved, anchor, snapshot, left } = &done.archived;
    let of = |count: u64| counted(usize::try_from(count).unwrap_or(usize::MAX), "entry");
    let agent = painted(STRONG, agent_id.as_str());
    let Some(anchor) = anchor.filter(|_| *moved > 0) else {
        say!(
            "{agent}  nothing to move: the snapshot at entry {snapshot} is in the first batch of \
             {}",
            of(*left)
        );
        return;
    };
    say!(
        "{agent}  {} to `{}`, which ends at {anchor}",
        painted(GOOD, &format!("{} moved", of(*moved))),
        done.archive.display()
    );
    say!("remaining: {}, from the batch of the snapshot at entry {snapshot}", of(*left));
    let Some(sizes) = &done.sizes else { return };
    if sizes.shrunk {
        say!(
            "{}",
            painted(
                FAINT,
                &format!(
                    "size of the file: {} before, {} now",
                    told(sizes.bytes_before),
                    told(sizes.bytes_after)
                )
            )
        );
    } else {
        say!(
            "{}",
            painted(
                FAINT,
                "the file keeps its size because another process has it open; the free space in \
                 it is used again"
            )
        );
    }
}
