//! `wakeful list leftovers`: removes what ended tasks left on the disk.

use std::{env, path::PathBuf, time::Duration};

use clap::Args;
use serde::Serialize;
use wakeful_agent::{
    confine::Policy,
    gc::{Fate, Keep, Kind, Leftover, Store},
    openai::Cancel,
};
use wakeful_core::{host::Clock, time::Timestamp};
use wakeful_host::{clock::SystemClock, ledger::Format};

use super::{
    CliError, Verdict,
    ledger::{NamedPlace, Place, home_of},
    listing::span,
    policy,
    status::counted,
    style::{BAD, FAINT, STRONG, painted},
};

#[derive(Args)]
#[command(after_help = "\
    Leftovers are the output files of commands, and the worktrees of children that were kept. \
    They go if they are older than --older-than; of the others the oldest go until all of them \
    have at most --keep-bytes. A leftover of an active task is never touched. A worktree with \
    changes that are not committed, or with commits that are on no other branch, stays; --force \
    removes it, but keeps a branch with such commits.\n\n\
    Without --yes nothing is removed. A host with a model does the same while its agent is idle, at \
    most once an hour, with the limits of its policy: by default 7 days and 1 GiB.\n\n\
    --json prints one object per leftover: {kind, path, bytes, since, agent_id, task_id, fate, \
    why}. `kind` is `output` or `worktree`; `fate` is `stays`, `held`, `would_go`, `removed` or \
    `failed`.\n\n\
    Exit codes:\n\
    \x20 0  printed, and with --yes removed\n\
    \x20 1  something could not be removed\n\
    \x20 2  the ledger cannot be read; nothing was removed\n\n\
    Examples:\n\
    \x20 wakeful list leftovers agents.sqlite\n\
    \x20 wakeful list leftovers agents.sqlite --yes\n\
    \x20 wakeful list leftovers agents.sqlite --older-than 36h --keep-bytes 200M --yes\n\
    \x20 wakeful list leftovers postgres://me@db.example/fleet --home /var/lib/wakeful --yes")]
pub(super) struct Leftovers {
    #[command(flatten)]
    ledger: NamedPlace,
    /// The agents' own folder on this machine [default: the ledger's path with `.home`]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Remove what is older, such as 90s, 15m, 36h or 7d [default: the policy's `leftovers.days`]
    #[arg(long, value_name = "TIME", value_parser = time)]
    older_than: Option<Duration>,
    /// Keep at most this number of bytes, such as 500K, 200M or 1G [default: the policy's
    /// `leftovers.bytes`]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    keep_bytes: Option<u64>,
    /// Remove also worktrees with changes or commits of their own. What is not committed is lost
    #[arg(long)]
    force: bool,
    /// Remove what is listed as going
    #[arg(long)]
    yes: bool,
    /// The policy of the agent's commands [default: what `wakeful print policy` prints]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// What keeps git in the repository while it looks at worktrees
    #[arg(long, value_enum, default_value = "bubblewrap")]
    wall: policy::WallName,
    /// Print one JSON object per leftover
    #[arg(long)]
    json: bool,
}

/// A leftover, and what became of it.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    leftover: Leftover,
    fate: Told,
    /// Why it stays although it is old or there is no room for it.
    why: Option<String>,
}

/// What became of a leftover, or would.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    Stays,
    Held,
    WouldGo,
    Removed,
    Failed,
}

impl Leftovers {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let ledger = self.ledger.path();
        if Format::from_file(ledger) == Some(Format::Lines) {
            return Err(CliError::OnlyLines(ledger.to_owned()));
        }
        let policy = self.policy.as_deref().map_or_else(|| Ok(Policy::default()), policy::read)?;
        let of_policy = Keep::from(policy.leftovers);
        let keep = Keep {
            age: self.older_than.unwrap_or(of_policy.age),
            bytes: self.keep_bytes.unwrap_or(of_policy.bytes),
        };
        let store = Store {
            ledgers: ledger.to_owned(),
            home: home_of(&Place::named(ledger)?, self.home.as_deref())?,
            policy,
            wall: self.wall.into(),
            launcher: env::current_exe()
                .map_err(|why| CliError::Read { path: PathBuf::from("the program itself"), why })?,
        };
        let never = Cancel::new();
        let fates = store.fates(store.leftovers()?, keep, self.force, &never);
        let rows: Vec<_> =
            fates.into_iter().map(|(leftover, fate)| self.row(&store, leftover, fate)).collect();
        if self.json {
            for row in &rows {
                let text = serde_json::to_string(row).map_err(|why| CliError::Trace {
                    case: row.leftover.path.display().to_string(),
                    why: why.into(),
                })?;
                say!("{text}");
            }
        } else {
            super::say::text(format_args!("{}", page(&rows, SystemClock.now())));
        }
        let has_failed = rows.iter().any(|row| row.fate == Told::Failed);
        Ok(if has_failed { Verdict::Differs } else { Verdict::Well })
    }

    /// Removes a leftover that goes, if that was confirmed.
    fn row(&self, store: &Store, leftover: Leftover, fate: Fate) -> Row {
        let (fate, why) = match fate {
            Fate::Stays => (Told::Stays, None),
            Fate::Held(why) => (Told::Held, Some(why)),
            Fate::Goes if !self.yes => (Told::WouldGo, None),
            Fate::Goes => match store.remove(&leftover, &Cancel::new()) {
                Ok(()) => (Told::Removed, None),
                Err(why) => (Told::Failed, Some(why)),
            },
        };
        Row { leftover, fate, why }
    }
}

fn page(rows: &[Row], now: Timestamp) -> String {
    let of = |fate: Told| rows.iter().filter(move |row| row.fate == fate);
    let mut out = String::new();
    let sections = [
        (Told::Removed, "removed"),
        (Told::Failed, "could not be removed"),
        (Told::WouldGo, "would be removed"),
        (Told::Held, "kept, because something would be lost"),
    ];
    for (fate, heading) in sections {
        if of(fate).next().is_none() {
            continue;
        }
        let style = if fate == Told::Failed { BAD } else { STRONG };
        add!(out, "{}", painted(style, heading));
        for Row { leftover, why, .. } in of(fate) {
            let kind = match leftover.kind {
                Kind::Output => "output",
                Kind::Worktree => "worktree",
            };
            let whose = match (&leftover.agent_id, &leftover.task_id) {
                (Some(agent), Some(task)) => format!(" of `{task}` of `{agent}`"),
                _ => String::new(),
            };
            let size = readable(leftover.bytes);
            add!(out, "  {kind}{whose}, {size}, {} old", span(leftover.since, now));
            add!(out, "    {}", leftover.path.display());
            if let Some(why) = why {
                add!(out, "    {why}");
            }
        }
    }
    let sum = |fate| of(fate).map(|row| row.leftover.bytes).sum::<u64>();
    let told = |fate| format!("{}, {}", counted(of(fate).count(), "leftover"), readable(sum(fate)));
    let stay = format!("{} stay", told(Told::Stays));
    let end = if of(Told::WouldGo).next().is_some() {
        format!("nothing was removed; --yes removes {}; {stay}", told(Told::WouldGo))
    } else if of(Told::Removed).next().is_some() {
        format!("removed {}; {stay}", told(Told::Removed))
    } else {
        format!("nothing to remove; {stay}")
    };
    add!(out, "{}", painted(FAINT, &end));
    out
}

/// A number of bytes in the largest unit that it fills.
fn readable(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|(shift, _)| bytes >> shift > 0) {
        Some((shift, unit)) => {
            let tenths = (u128::from(bytes) * 10) >> shift;
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
        None => counted(usize::try_from(bytes).unwrap_or(usize::MAX), "byte"),
    }
}

/// Reads a time with its unit.
fn time(text: &str) -> Result<Duration, String> {
    const UNITS: [(char, u64); 4] = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];
    with_unit(text, &UNITS)
        .map(Duration::from_secs)
        .ok_or_else(|| "write a number with one of the units s, m, h and d, such as 7d".to_owned())
}

/// Reads a number of bytes, with or without a unit.
fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(char, u64); 4] =
        [('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30), ('T', 1 << 40)];
    text.parse().ok().or_else(|| with_unit(text, &UNITS)).ok_or_else(|| {
        "write a number of bytes, or one with one of the units K, M, G and T, such as 1G".to_owned()
    })
}

fn with_unit(text: &str, units: &[(char, u64)]) -> Option<u64> {
    units.iter().find_map(|(unit, factor)| {
        text.strip_suffix(*unit)?.parse::<u64>().ok()?.checked_mul(*factor)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_bytes_have_units_and_nothing_else() {
        let seconds = |text: &str| time(text).map(|time| time.as_secs()).ok();
        assert_eq!(
            ["0s", "90s", "15m", "36h", "7d"].map(seconds),
            [0, 90, 900, 129_600, 604_800].map(Some)
        );
        assert_eq!(["7", "d", "-1d", "7w", "99999999999999999999d", "7D"].map(seconds), [None; 6]);
        let number = |text: &str| bytes(text).ok();
        assert_eq!(
            ["0", "12", "1K", "200M", "1G", "2T"].map(number),
            [0, 12, 1 << 10, 200 << 20, 1 << 30, 2 << 40].map(Some)
        );
        assert_eq!(["", "G", "1k", "1GB", "-1", "99999999T"].map(number), [None; 6]);
    }

    #[test]
    fn a_size_is_in_the_largest_unit_that_it_fills() {
        assert_eq!(
            [0, 1, 1_023, 1_024, 1_536, 5 << 20, 3 << 30].map(readable),
            ["0 bytes", "1 byte", "1023 bytes", "1.0 KiB", "1.5 KiB", "5.0 MiB", "3.0 GiB"]
        );
    }
}
