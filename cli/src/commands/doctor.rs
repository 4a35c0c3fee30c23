//! `wakeful doctor`: reports what is wrong with a ledger, if anything is. It repairs nothing.

use clap::Args;
use wakeful_core::{
    check,
    host::LedgerError,
    id::{AgentId, Seq},
    json,
};
use wakeful_host::doctor::{
    self, ArchiveFound, Examination, Recorded, SnapshotFound, Thoroughness,
};

use super::{
    CliError, Verdict,
    explain::{entries, word},
    ledger::{LedgerArg, Place, local_unverified},
    status::counted,
    style::{self, BAD, FAINT, GOOD, STRONG, painted},
};

/// The most recorded diagnostics that are listed. `wakeful log --diagnostics` prints all.
const LISTED: usize = 10;

#[derive(Args)]
#[command(after_help = "\
    Nothing is repaired. Pending obligations and past diagnostics do not affect the exit \
    code.\n\n\
    --json prints one object per agent: agent_id, head {seq, chain}, batches, checked, damage, archive, \
    snapshot, breaches [{id, says, seq}], obligations, diagnostics, recorded [{seq, at, \
    message}].\n\n\
    Exit codes:\n\
    \x20 0  nothing is wrong\n\
    \x20 1  something is wrong: damage, a broken invariant, or a diagnostic that holds now\n\
    \x20 2  the ledger cannot be read\n\n\
    Examples:\n\
    \x20 wakeful doctor agent.sqlite\n\
    \x20 wakeful doctor agents.sqlite --agent reviewer --thorough --json\n\
    \x20 wakeful doctor postgres://me@db.example/fleet --agent ada")]
pub(super) struct Doctor {
    #[command(flatten)]
    ledger: LedgerArg,
    /// Check the invariants after every batch. By default, fewer and fewer batches of a long ledger
    /// are checked. The hash chain is always verified over all entries
    #[arg(long)]
    thorough: bool,
    /// Print one JSON object per agent
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let between = || {
            if !self.json {
                say!("");
            }
        };
        let place = self.ledger.place()?;
        self.ledger.for_each(&place, between, |agent| self.examine(&place, agent))
    }

    fn examine(&self, place: &Place, agent: &AgentId) -> Result<Verdict, CliError> {
        let mut ledger = local_unverified(place, agent)?;
        let unreadable = |why: LedgerError| place.unreadable(agent, why);
        let bar = style::progress(ledger.head().map_err(unreadable)?.seq.0);
        let thoroughness = if self.thorough { Thoroughness::Each } else { Thoroughness::Spread };
        let found =
            doctor::examine(agent, &mut ledger, thoroughness, |seq| bar.set_position(seq.0))
                .map_err(unreadable)?;
        bar.finish_and_clear();
        if self.json {
            say!("{}", json::write(&found));
        } else {
            print(&found, place.is_only_read());
        }
        Ok(if found.is_well() { Verdict::Well } else { Verdict::Differs })
    }
}

/// Prints the findings as text. JSON lines do not record their batches, so they count as one batch,
/// and the invariants are checked at its end.
fn print(found: &Examination, is_lines: bool) {
    let entries_of = counted(usize::try_from(found.head.seq.0).unwrap_or(usize::MAX), "entry");
    let batches = counted(usize::try_from(found.batches).unwrap_or(usize::MAX), "batch");
    let whole = match found.archive {
        ArchiveFound::Missing { .. } => format!("{entries_of}, {batches} after the snapshot"),
        _ if is_lines => format!("{entries_of}, as JSON lines"),
        _ => format!("{entries_of} in {batches}"),
    };
    say!("{}  {whole}", painted(STRONG, found.agent_id.as_str()));
    match &found.damage {
        None => line("chain", &painted(GOOD, &format!("intact, head {}", found.head))),
        Some(why) => {
            line("chain", &painted(BAD, why));
            line(
                "",
                &painted(
                    FAINT,
                    &format!("the lines below are about the ledger up to entry {}", found.head.seq),
                ),
            );
        }
    }
    match &found.archive {
        ArchiveFound::None => {}
        ArchiveFound::IsOne { goes_on_in } => {
            line("archive", &format!("the ledger continues in `{}`", goes_on_in.display()))
        }
        ArchiveFound::Read { seq, path } => line(
            "archive",
            &painted(GOOD, &format!("entries 1 to {seq} are in `{}`", path.display())),
        ),
        ArchiveFound::Missing { why, .. } => {
            line("archive", why);
            line(
                "",
                &painted(
                    FAINT,
                    "the chain after these entries is verified, and everything else after the \
                     snapshot",
                ),
            );
        }
    }
    match &found.snapshot {
        SnapshotFound::Begins { seq } => {
            line("snapshot", &format!("at entry {seq}; the remaining ledger starts with it"))
        }
        SnapshotFound::None => line("snapshot", "none"),
        SnapshotFound::Good { seq } => {
            line("snapshot", &painted(GOOD, &format!("at entry {seq}, equal to the log")))
        }
        SnapshotFound::OtherVersion { why } => line("snapshot", why),
        SnapshotFound::Bad { why } => line("snapshot", &painted(BAD, why)),
    }
    if found.breaches.is_empty() {
        let count = check::ALL.len();
        let of = if is_lines {
            "the last entry; JSON lines do not record batches".to_owned()
        } else if found.checked == found.batches {
            "each batch".to_owned()
        } else {
            format!("each of {} checked batches; --thorough checks all", found.checked)
        };
        line("invariants", &painted(GOOD, &format!("all {count} hold after {of}")));
    }
    for broken in &found.breaches {
        line(
            "broken",
            &format!(
                "{}{}",
                painted(BAD, &format!("{}: {}", broken.id, broken.says)),
                entries(&[broken.seq])
            ),
        );
    }
    for owed in &found.obligations {
        let when = owed.enabled_at.map_or_else(|| "now".to_owned(), |at| format!("at {at}"));
        let when = owed.held_by.as_ref().map_or(when, |rule| format!("held back by {rule}"));
        line("owed", &format!("{} {} {when}{}", word(owed.kind), owed.id, entries(&[owed.seq])));
    }
    for odd in &found.diagnostics {
        let seqs: Vec<Seq> = odd.seq.into_iter().collect();
        line("warning", &format!("{}{}", painted(BAD, &odd.diagnostic.message), entries(&seqs)));
        line("", &painted(FAINT, &odd.diagnostic.evidence.join(", ")));
    }
    print_recorded(&found.recorded);
}

fn print_recorded(recorded: &[Recorded]) {
    let older = recorded.len().saturating_sub(LISTED);
    if older > 0 {
        line(
            "recorded",
            &painted(
                FAINT,
                &format!(
                    "{} more: see `wakeful log --diagnostics`",
                    counted(older, "older diagnostic")
                ),
            ),
        );
    }
    for one in recorded.iter().skip(older) {
        line("recorded", &format!("{} at {}{}", one.message, one.at, entries(&[one.seq])));
    }
}

fn line(what: &str, says: &str) {
    say!("{}", format!("{what:<10} {says}").trim_end());
}
