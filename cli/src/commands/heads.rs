//! `wakeful list heads`: the heads of ledgers, and which ledgers were set back since.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;
use wakeful_core::{
    id::AgentId,
    json::{self, JsonError, Readable},
    record::chain::Head,
};

use super::{
    CliError, Verdict, complain,
    ledger::{All, Place, PlaceArg, ServerArgs},
    status::counted,
    style::{BAD, FAINT, GOOD, STRONG, painted},
};

#[derive(Args)]
#[command(after_help = "\
    A head is the number and the hash of the newest entry of a ledger. The hash is made of all \
    entries up to it, so a head that is kept elsewhere proves later that none of them was taken \
    back or changed. Keep heads as often as you like, for example every minute, where nobody who \
    can write to the ledgers can write. Compare the newest ones after a restore: an agent that was \
    set back does not know what it did since, and may do it again.\n\n\
    The hash chain is not verified: `wakeful doctor` does that.\n\n\
    --json prints one object per agent: {agent_id, head {seq, chain}, goes_on_in if it does not go on \
    here}. With --against it prints one \
    per kept head: {agent_id, kept {seq, chain}, head {seq, chain} or null, found}. `found` is \
    `there`, `set_back`, `other_history`, `lives_again` or `no_agent`.\n\n\
    Exit codes:\n\
    \x20 0  printed; with --against: each ledger has the entry of each kept head\n\
    \x20 1  a ledger does not have such an entry, or an agent that had moved away lives again\n\
    \x20 2  the heads or a ledger cannot be read\n\n\
    Examples:\n\
    \x20 wakeful list heads agents.sqlite\n\
    \x20 wakeful list heads postgres://me@db.example/fleet --json > heads.jsonl\n\
    \x20 wakeful list heads postgres://me@db.example/fleet --against heads.jsonl")]
pub(super) struct Heads {
    #[command(flatten)]
    ledger: PlaceArg,
    #[command(flatten)]
    server: ServerArgs,
    /// Compare with kept heads: a file of what --json printed before, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// The head of an agent, as it is printed and kept. A line that is read may say more.
#[derive(Serialize, Readable)]
struct HeadOf {
    agent_id: AgentId,
    head: Head,
    /// The place in which it goes on, if it does not do so here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    goes_on_in: Option<String>,
}

/// What became of a kept head.
#[derive(Serialize)]
struct Compared<'a> {
    agent_id: &'a AgentId,
    kept: Head,
    /// The newest entry now.
    head: Option<Head>,
    found: Found,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Found {
    There,
    /// The ledger ends before the entry.
    SetBack,
    /// The entry has another hash.
    OtherHistory,
    /// It went on in another place, and lives here again.
    LivesAgain,
    NoAgent,
}

impl Heads {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let place = self.server.place(self.ledger.path())?;
        match &self.against {
            None => self.print(&place),
            // Read first, so that heads that cannot be read cost no look at the ledgers.
            Some(file) => self.compare(&place, &read(file)?),
        }
    }

    fn print(&self, place: &Place) -> Result<Verdict, CliError> {
        let all = All::of(place)?;
        let mut moved = all.moved()?;
        for (agent_id, head) in all.heads()? {
            let goes_on_in = moved.remove(&agent_id).map(|place| place.display().to_string());
            if self.json {
                say!("{}", json::write(&HeadOf { agent_id, head, goes_on_in }));
            } else {
                let to = goes_on_in.map_or_else(String::new, |to| format!(", goes on in `{to}`"));
                say!("{}  {head}{to}", painted(STRONG, agent_id.as_str()));
            }
        }
        Ok(Verdict::Well)
    }

    fn compare(&self, place: &Place, kept: &[HeadOf]) -> Result<Verdict, CliError> {
        // A place that was set back to its beginning has no agent.
        let all = All::of_any(place)?;
        let heads: BTreeMap<AgentId, Head> = all.heads()?.into_iter().collect();
        let moved = all.moved()?;
        let (mut there, mut verdict) = (0, Verdict::Well);
        for HeadOf { agent_id, head: kept, goes_on_in } in kept {
            let head = heads.get(agent_id).copied();
            let lives_again = goes_on_in.is_some() && !moved.contains_key(agent_id);
            let found = find(&all, agent_id, head, kept).map(|found| match found {
                Found::There if lives_again => Found::LivesAgain,
                found => found,
            });
            match found {
                Ok(found) => {
                    there += usize::from(found == Found::There);
                    if found != Found::There {
                        verdict = verdict.max(Verdict::Differs);
                    }
                    self.tell(&Compared { agent_id, kept: *kept, head, found });
                }
                // One that cannot be read does not hide the others.
                Err(why) => {
                    complain(why);
                    verdict = Verdict::Unreadable;
                }
            }
        }
        if !self.json {
            let of = format!("{there} of {} found", counted(kept.len(), "kept head"));
            say!("{}", painted(if there == kept.len() { GOOD } else { FAINT }, &of));
        }
        Ok(verdict)
    }

    /// People see only what is not as it was.
    fn tell(&self, compared: &Compared<'_>) {
        if self.json {
            return say!("{}", json::write(compared));
        }
        let Compared { agent_id, kept, head, found } = compared;
        let says = match found {
            Found::There => return,
            Found::SetBack => {
                let end = head.unwrap_or_default().seq;
                format!("set back: entry {} was kept, and the ledger ends at entry {end}", kept.seq)
            }
            Found::OtherHistory => {
                format!("another history: entry {} is not the one that was kept", kept.seq)
            }
            Found::LivesAgain => {
                "lives here again: it had gone on in another place, and may live there too"
                    .to_owned()
            }
            Found::NoAgent => format!("not here: entry {} was kept", kept.seq),
        };
        say!("{}  {}", painted(STRONG, agent_id.as_str()), painted(BAD, &says));
    }
}

impl Found {
    /// What a head of the same number says about a kept one.
    fn of(head: &Head, kept: &Head) -> Self {
        if head == kept { Self::There } else { Self::OtherHistory }
    }
}

/// What became of a kept head of an agent whose ledger ends at `head` now.
fn find(all: &All, agent: &AgentId, head: Option<Head>, kept: &Head) -> Result<Found, CliError> {
    Ok(match head {
        None => Found::NoAgent,
        Some(head) if head.seq < kept.seq => Found::SetBack,
        // Most agents rest, so for most of them nothing is read.
        Some(head) if head.seq == kept.seq => Found::of(&head, kept),
        Some(_) => Found::of(&all.head_at(agent, kept.seq)?, kept),
    })
}

/// Reads kept heads; at least one, because a comparison with none would always succeed.
fn read(file: &Path) -> Result<Vec<HeadOf>, CliError> {
    let (from, text) = match file.to_str() {
        Some("-") => ("standard input".to_owned(), io::read_to_string(io::stdin())),
        _ => (format!("`{}`", file.display()), fs::read_to_string(file)),
    };
    let text = text.map_err(|why| CliError::Read { path: file.to_owned(), why })?;
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let heads: Vec<HeadOf> = lines
        .map(|(text, line)| {
            let of =
                |why| CliError::KeptHead { from: from.clone(), why: JsonError { line, ..why } };
            json::read(text).map_err(of)
        })
        .collect::<Result<_, _>>()?;
    if heads.is_empty() { Err(CliError::NoHeads(from)) } else { Ok(heads) }
}
