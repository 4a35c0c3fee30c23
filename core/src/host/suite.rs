//! A test suite for your own ledger: [`ledger`] checks everything that the scheduler relies on, and
//! [`exclusive_ledger`] does so for a ledger that only one holds at a time. Call it from a test.
//!
//! ```
//! # use wakeful_core::{EntryBytes, Head, Ledger, LedgerError, Seq};
//! # use std::{cell::RefCell, collections::BTreeMap, rc::Rc};
//! # #[derive(Clone, Default)]
//! # struct Lines(Rc<RefCell<Vec<EntryBytes>>>);
//! # impl Ledger for Lines {
//! #     fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
//! #         let mut lines = self.0.borrow_mut();
//! #         let chain = lines.last().and_then(EntryBytes::chain).unwrap_or(Head::START.chain);
//! #         let found = Head { seq: Seq(lines.len() as u64), chain };
//! #         if found != *expected {
//! #             return Err(LedgerError::Conflict { found: found.seq });
//! #         }
//! #         lines.extend_from_slice(batch);
//! #         Ok(())
//! #     }
//! #     fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
//! #         let after = usize::try_from(after.0).unwrap_or(usize::MAX);
//! #         Ok(self.0.borrow().iter().skip(after).take(limit as usize).cloned().collect())
//! #     }
//! # }
//! let mut store: BTreeMap<_, Lines> = BTreeMap::new();
//! wakeful_core::suite::ledger(|agent_id| store.entry(agent_id.clone()).or_default().clone())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two things cannot be tested this way, so the author of the ledger must ensure them (contract
//! 3.2):
//!
//! - A batch is on the disk before `append` returns.
//! - If the process dies during an append, the batch is stored whole or not at all.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use crate::{
    host::imports::{Ledger, LedgerError},
    id::{AgentId, Seq},
    record::{
        CarriedRecord, Record,
        chain::{Chain, Head},
        entry::{Entry, EntryBytes},
    },
    time::Timestamp,
};
use wakeful_json::RawJson;

/// A law that a ledger breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{law}: this ledger {does}")]
pub struct Fault {
    /// What every ledger must do.
    pub law: &'static str,
    /// What this ledger does instead.
    pub does: String,
}

/// Tests a ledger for everything that the scheduler relies on (contract 3.1, 3.2, 3.5).
///
/// `open` opens the ledger of an agent in the store under test. It is empty when the agent is named
/// for the first time. Later it has what was appended, even while an earlier handle is still open.
/// The tests write to the store, so use a temporary one.
///
/// # Errors
/// The first law that the ledger breaks.
pub fn ledger<L: Ledger>(mut open: impl FnMut(&AgentId) -> L) -> Result<(), Fault> {
    checked(laws().into_iter().chain([of_two_writers()]), &mut |agent_id| Ok(open(agent_id)))
}

/// Tests a ledger that only one holds at a time, such as a file under a lock: as [`ledger`], but a
/// second handle must be refused as long as the first is open.
///
/// `open` fails if the ledger is held. Dropping a handle gives the ledger back. The store is empty
/// at the beginning, so use a temporary one.
///
/// ```
/// use std::{
///     fs::{self, File},
///     io::{self, Read, Write},
///     path::Path,
/// };
/// use wakeful_core::{AgentId, EntryBytes, Head, Ledger, LedgerError, Seq};
///
/// /// A line per entry, and an empty line after each batch. A lock keeps others out.
/// struct FileLedger {
///     file: File,
///     lines: Vec<EntryBytes>,
/// }
///
/// impl FileLedger {
///     fn open(path: &Path) -> io::Result<Self> {
///         let mut file = File::options().read(true).append(true).create(true).open(path)?;
///         file.try_lock()?;
///         let mut text = String::new();
///         file.read_to_string(&mut text)?;
///         // A crash may have cut the newest batch off; nothing followed from it yet.
///         let whole = text.rfind("\n\n").map_or(0, |end| end + 2);
///         file.set_len(whole as u64)?;
///         let lines = text[..whole].lines().filter(|line| !line.is_empty());
///         let lines = lines.map(|line| EntryBytes::from_stored(line.into())).collect();
///         Ok(Self { file, lines })
///     }
///
///     fn head(&self) -> Head {
///         let chain = self.lines.last().and_then(EntryBytes::chain);
///         let chain = chain.unwrap_or(Head::START.chain);
///         Head { seq: Seq(self.lines.len() as u64), chain }
///     }
/// }
///
/// impl Ledger for FileLedger {
///     fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
///         // The chain too: another history can have the same length.
///         if self.head() != *expected {
///             return Err(LedgerError::Conflict { found: self.head().seq });
///         }
///         let lines = batch.iter().map(|entry| format!("{}\n", entry.as_str()));
///         let text = lines.collect::<String>() + "\n";
///         let written = self.file.write_all(text.as_bytes());
///         let written = written.and_then(|()| self.file.sync_data());
///         written.map_err(|why| LedgerError::Failed { message: why.to_string() })?;
///         self.lines.extend_from_slice(batch);
///         Ok(())
///     }
///
///     fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
///         let after = usize::try_from(after.0).unwrap_or(usize::MAX);
///         Ok(self.lines.iter().skip(after).take(limit as usize).cloned().collect())
///     }
/// }
///
/// let folder = std::env::temp_dir().join(format!("wakeful-suite-{}", std::process::id()));
/// fs::create_dir_all(&folder)?;
/// let open = |agent_id: &AgentId| FileLedger::open(&folder.join(agent_id.as_str()));
/// wakeful_core::suite::exclusive_ledger(open)?;
/// fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The first law that the ledger breaks.
pub fn exclusive_ledger<L: Ledger, E: fmt::Display>(
    mut open: impl FnMut(&AgentId) -> Result<L, E>,
) -> Result<(), Fault> {
    checked(laws().into_iter().chain([of_one_holder()]), &mut |agent_id| {
        open(agent_id).map_err(|why| format!("cannot be opened although nobody holds it: {why}"))
    })
}

fn checked<L: Ledger>(
    laws: impl Iterator<Item = Law<L>> + Clone,
    open: &mut dyn FnMut(&AgentId) -> Result<L, String>,
) -> Result<(), Fault> {
    // Each law has agents of its own, so none finds the entries of another.
    let agent = |number: usize, who: &str| AgentId::from(format!("suite-{number}-{who}"));
    for (number, _) in laws.clone().enumerate() {
        let used = open(&agent(number, "a")).map(|mut ledger| ledger.read(Seq(0), 1));
        if let Ok(Ok(entries)) = used
            && !entries.is_empty()
        {
            // The first law writes nothing: it says itself that a new ledger is not empty.
            if number == 0 {
                break;
            }
            let does = format!("has entries of `{}` already", agent(number, "a"));
            return Err(Fault { law: "the suite gets a new, empty store each time", does });
        }
    }
    for (number, (law, holds)) in laws.enumerate() {
        let mut open = |who: &str| open(&agent(number, who));
        holds(&mut open).map_err(|does| Fault { law, does })?;
    }
    Ok(())
}

/// A law of ledgers, and its check. The check fails with what the ledger does instead.
type Law<L> = (&'static str, fn(Open<'_, L>) -> Result<(), String>);

/// Opens the ledger of an agent.
type Open<'a, L> = &'a mut dyn FnMut(&str) -> Result<L, String>;

fn laws<L: Ledger>() -> [Law<L>; 8] {
    [
        ("a ledger is empty before something is appended", |open| {
            let mut fresh = open("a")?;
            same("gives", fresh.read(Seq(0), ALL), Ok(Vec::new()))?;
            same("has the snapshot", fresh.load_snapshot(), Ok(None))
        }),
        ("entries come back as they were appended, to the byte and in order", |open| {
            let mut ledger = open("a")?;
            let history = written(&mut ledger, &[&["one"], &["two", "three"], &TEXTS])?;
            same("gives", all(&mut ledger, Seq(0)), Ok(history.entries))
        }),
        ("a batch may have thousands of entries, and an entry a megabyte", |open| {
            let mut ledger = open("a")?;
            // An import is one batch, and by default a fact may have a mebibyte
            // (`Policy::fact_bytes`).
            let (many, long) = (Vec::from([""; 3_000]), "long ".repeat(200_000));
            let history = written(&mut ledger, &[&many, &[&long]])?;
            same("gives", all(&mut ledger, Seq(0)), Ok(history.entries))
        }),
        ("a ledger that is opened again has what was appended", |open| {
            let history = written(&mut open("a")?, &[&["one"], &["two"]])?;
            same("gives", all(&mut open("a")?, Seq(0)), Ok(history.entries))
        }),
        (
            "`read` gives the entries after a position, at most as many as asked for but at least \
             one, and none at the end",
            |open| {
                let mut ledger = open("a")?;
                let entries = written(&mut ledger, &[&["1", "2"], &["3", "4", "5"]])?.entries;
                // Every position with every limit, so that pages of any size are right.
                for after in 0..=entries.len() {
                    for limit in 0..=entries.len() + 1 {
                        let page: Vec<EntryBytes> =
                            entries.iter().skip(after).take(limit).cloned().collect();
                        let asked =
                            ledger.read(Seq(after as u64), u32::try_from(limit).unwrap_or(ALL));
                        // A shorter page is right too, if something is in it.
                        let is_shorter = asked
                            .as_ref()
                            .is_ok_and(|asked| !asked.is_empty() && page.starts_with(asked));
                        if !is_shorter {
                            let does = format!("gives, asked for {limit} after {after},");
                            same(&does, asked, Ok(page))?;
                        }
                    }
                }
                same(
                    "gives, asked far after its end,",
                    ledger.read(Seq(u64::MAX), ALL),
                    Ok(Vec::new()),
                )
            },
        ),
        (
            "a batch after any entry but the last is a conflict, which names the last entry and \
             stores nothing",
            |open| {
                let mut ledger = open("a")?;
                let history = written(&mut ledger, &[&["one"], &["two", "three"]])?;
                let end = history.head;
                let elsewhere = Chain::START.extend("another history");
                let others = [
                    ("the beginning", Head::START),
                    ("an entry before the last", history.heads[0]),
                    ("an entry that is not there yet", Head { seq: end.seq.next(), ..end }),
                    // Only the chain differs, so a store that compares positions alone fails.
                    (
                        "the last entry of another history of the same length",
                        Head { chain: elsewhere, ..end },
                    ),
                ];
                for (what, head) in others {
                    let mut history = History { head, ..History::default() };
                    let answer = ledger.append(&head, &history.batch(&["it came second"]));
                    same(
                        &format!("answers, given a batch after {what},"),
                        answer,
                        Err(LedgerError::Conflict { found: end.seq }),
                    )?;
                }
                same("gives after that", all(&mut ledger, Seq(0)), Ok(history.entries))
            },
        ),
        ("a ledger has only the entries of its own agent", |open| {
            let (mut ada, mut bob) = (open("a")?, open("b")?);
            let [of_ada, of_bob] = [
                written(&mut ada, &[&["of a"]])?,
                written(&mut bob, &[&["of b"], &["and another"]])?,
            ];
            same("gives the one", all(&mut ada, Seq(0)), Ok(of_ada.entries))?;
            same("gives the other", all(&mut bob, Seq(0)), Ok(of_bob.entries))
        }),
        ("the newest snapshot comes back as it was written, or no snapshot does", |open| {
            let history = written(&mut open("a")?, &[&["one"], &["two"]])?;
            // A store may keep no snapshots, but then it must do so each time.
            let mut kept = Vec::new();
            for (head, text) in history.heads.iter().zip(["{\"of\":\"one\"}", TEXTS[0]]) {
                let mut ledger = open("a")?;
                same("answers", ledger.store_snapshot(head, &|| text.to_string()), Ok(()))?;
                let at_once = ledger.load_snapshot();
                drop(ledger);
                for read in [at_once, open("a")?.load_snapshot()] {
                    let read = read.map_err(|why| format!("fails: {why}"))?;
                    kept.push(read.is_some());
                    if let Some(read) = read.filter(|read| read != text) {
                        return Err(format!("gives `{read}` instead of `{text}`"));
                    }
                }
            }
            let keeps = kept.iter().all(|is_kept| *is_kept == kept[0]);
            if keeps { Ok(()) } else { Err("keeps some snapshots but loses others".to_string()) }
        }),
    ]
}

/// The law of a ledger that several hold at once.
fn of_two_writers<L: Ledger>() -> Law<L> {
    (
        "of two writers, each finds what the other appended, and the second to append is refused",
        |open| {
            let (mut first, mut second) = (open("a")?, open("a")?);
            let history = written(&mut first, &[&["one"]])?;
            same("gives the other", all(&mut second, Seq(0)), Ok(history.entries))?;
            let late = History::default().batch(&["it came second"]);
            same(
                "answers the other",
                second.append(&Head::START, &late),
                Err(LedgerError::Conflict { found: history.head.seq }),
            )?;
            let mut more = History { head: history.head, ..History::default() };
            let batch = more.batch(&["two"]);
            same("answers the other", second.append(&history.head, &batch), Ok(()))?;
            same("gives", all(&mut first, history.head.seq), Ok(batch))
        },
    )
}

/// The law of a ledger that one holds at a time.
fn of_one_holder<L: Ledger>() -> Law<L> {
    ("while one holds the ledger, a second is refused, and afterwards it opens", |open| {
        let mut first = open("a")?;
        let history = written(&mut first, &[&["one"]])?;
        if open("a").is_ok() {
            return Err("opens a second time; test it with `ledger` if several may hold it".into());
        }
        drop(first);
        same("gives", all(&mut open("a")?, Seq(0)), Ok(history.entries))
    })
}

/// The limit of a read of all entries.
const ALL: u32 = u32::MAX;

/// More entries than the suite ever writes to one ledger.
const MOST: usize = 10_000;

/// All entries after a position, a page at a time.
fn all(ledger: &mut impl Ledger, after: Seq) -> Result<Vec<EntryBytes>, LedgerError> {
    let mut entries = Vec::new();
    // A ledger without an end is wrong, and must not be read for ever.
    while entries.len() < MOST {
        let page = ledger.read(after.plus(entries.len()), ALL)?;
        if page.is_empty() {
            break;
        }
        entries.extend(page);
    }
    Ok(entries)
}

/// Texts that a store could misread: outside ASCII, with line ends, with placeholders, empty.
const TEXTS: [&str; 4] = ["\u{e9}\u{1f980}\u{2028}", "a\nb\r\n\tc\0\\\"'", "%s ${x} {0} -- ;", ""];

/// What was appended to a ledger, in order.
#[derive(Default)]
struct History {
    head: Head,
    entries: Vec<EntryBytes>,
    /// The head after each batch.
    heads: Vec<Head>,
}

impl History {
    /// The next batch: one entry for each of these texts.
    fn batch(&mut self, texts: &[&str]) -> Vec<EntryBytes> {
        let seal = |text: &&str| {
            let record =
                CarriedRecord { of_class: "suite".to_string(), line: RawJson::from_value(text) };
            let (entry, bytes) =
                Entry::seal(&self.head, Timestamp::from_nanos(0), Record::Carried(record));
            self.head = entry.head();
            bytes
        };
        let batch: Vec<EntryBytes> = texts.iter().map(seal).collect();
        self.entries.extend_from_slice(&batch);
        self.heads.push(self.head);
        batch
    }
}

/// Appends batches to a fresh ledger.
fn written(ledger: &mut impl Ledger, batches: &[&[&str]]) -> Result<History, String> {
    let mut history = History::default();
    for texts in batches {
        let expected = history.head;
        let batch = history.batch(texts);
        let answer = ledger.append(&expected, &batch);
        same("answers, given a batch after its last entry,", answer, Ok(()))?;
    }
    Ok(history)
}

fn same<T: PartialEq + Told>(
    does: &str,
    found: Result<T, LedgerError>,
    due: Result<T, LedgerError>,
) -> Result<(), String> {
    if found == due {
        Ok(())
    } else {
        Err(format!("{does} {} instead of {}", Outcome(&found), Outcome(&due)))
    }
}

/// An answer, in words.
struct Outcome<'a, T>(&'a Result<T, LedgerError>);

impl<T: Told> fmt::Display for Outcome<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(value) => value.tell(f),
            Err(LedgerError::Conflict { found }) => write!(f, "a conflict at entry {found}"),
            Err(LedgerError::Failed { message }) => write!(f, "the failure `{message}`"),
        }
    }
}

/// What a ledger answers with.
trait Told {
    fn tell(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl Told for () {
    fn tell(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("that it is stored")
    }
}

impl Told for Option<String> {
    fn tell(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            None => f.write_str("none"),
            Some(text) => write!(f, "`{text}`"),
        }
    }
}

impl Told for Vec<EntryBytes> {
    /// Their number and the first of them, cut to a readable length.
    fn tell(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 200;
        let first: String = self
            .first()
            .map(|entry| entry.as_str().chars().take(LONGEST).collect())
            .unwrap_or_default();
        match self.len() {
            0 => f.write_str("no entry"),
            1 => write!(f, "1 entry `{first}`"),
            count => write!(f, "{count} entries from `{first}` on"),
        }
    }
}
