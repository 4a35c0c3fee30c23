//! `wakeful agents`: lists the agents of a file or a server.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;
use serde::Serialize;
use wakeful_agent::supervision::{ChildSupervision, supervising_task};
use wakeful_core::{
    derive::summary::{AgentListEntry, AgentSummary},
    host::{Clock, opening},
    id::{AgentId, TaskId},
    machine::Options,
    record::{Record, chain::Head, decision::Boundary, diagnostic::Diagnostic},
    state::State,
    time::Timestamp,
};
use wakeful_host::{clock::SystemClock, driver};

use super::{
    CliError, Verdict, complain,
    explain::word,
    ledger::{All, Place, PlaceArg, ServerArgs, Stored},
    style::{BAD, FAINT, STRONG, painted},
};
use crate::client::{Driven, Driver};

/// The longest text of a column, in characters.
const WIDEST: usize = 80;

#[derive(Args)]
#[command(after_help = "\
    Each agent is read from its newest snapshot on. `wakeful doctor` verifies the whole \
    ledgers.\n\n\
    A child agent is marked with its parent. A line says which process drives an agent, if one \
    does.\n\n\
    --json prints one object per agent: {agent, parent {agent_id, supervision_task_id}, driven_by \
    {pid, program, since} or, in a store, {worker, address, since}, \
    goes_on_in if it does not go on here, head {seq, chain}, next_wake, oldest_wait {id, work_item_id, waiting_for, since}, odd}. `agent` is an \
    `AgentListEntry`, and `odd` holds what is a `Diagnostic` (see `wakeful print schema`).\n\n\
    Exit codes:\n\
    \x20 0  printed\n\
    \x20 1  something is odd about an agent\n\
    \x20 2  the file or the ledger of an agent cannot be read\n\n\
    Examples:\n\
    \x20 wakeful agents agents.sqlite\n\
    \x20 wakeful agents agents.sqlite --odd\n\
    \x20 wakeful agents --server http://127.0.0.1:7171\n\
    \x20 wakeful agents agents.sqlite --json | jq -r 'select(.odd != []) | .agent.agent_id'")]
pub(super) struct Agents {
    #[command(flatten)]
    ledger: PlaceArg,
    #[command(flatten)]
    server: ServerArgs,
    /// List only agents about which something is odd
    #[arg(long)]
    odd: bool,
    /// Print one JSON object per agent
    #[arg(long)]
    json: bool,
}

/// What is said about an agent.
#[derive(Serialize)]
struct Row {
    agent: AgentListEntry,
    parent: Option<Parent>,
    driven_by: Option<Driver>,
    /// The place in which it goes on, if it does not do so here.
    #[serde(skip_serializing_if = "Option::is_none")]
    goes_on_in: Option<PathBuf>,
    head: Head,
    next_wake: Option<Timestamp>,
    oldest_wait: Option<Wait>,
    odd: Vec<Diagnostic>,
}

/// The agent that supervises a child, and the task by which it does.
#[derive(Clone, Serialize)]
struct Parent {
    agent_id: AgentId,
    supervision_task_id: TaskId,
}

/// A wait of the agent or of one of its items.
#[derive(Serialize)]
struct Wait {
    id: String,
    work_item_id: Option<String>,
    waiting_for: String,
    since: Timestamp,
}

impl Agents {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let now = SystemClock.now();
        let mut rows = Vec::new();
        let mut parents = BTreeMap::new();
        let mut verdict = Verdict::Well;
        let place = self.server.place(self.ledger.path())?;
        let all = All::of(&place)?;
        for agent in &all.agents {
            match row(&place, &all, agent, now, &mut parents) {
                Ok(row) => rows.push(row),
                // One that cannot be read does not hide the others.
                Err(why) => {
                    complain(why);
                    verdict = Verdict::Unreadable;
                }
            }
        }
        let mut drivers: BTreeMap<_, _> =
            all.driven()?.into_iter().map(|Driven { agent_id, by }| (agent_id, by)).collect();
        let mut moved = all.moved()?;
        for row in &mut rows {
            row.goes_on_in = moved.remove(&row.agent.identity.agent_id);
            row.driven_by = drivers.remove(&row.agent.identity.agent_id);
            row.parent = parents.remove(&row.agent.identity.agent_id);
        }
        if rows.iter().any(|row| !row.odd.is_empty()) {
            verdict = verdict.max(Verdict::Differs);
        }
        rows.retain(|row| !self.odd || !row.odd.is_empty());
        if self.json {
            for row in &rows {
                let text = serde_json::to_string(row).map_err(|why| CliError::Trace {
                    case: row.agent.identity.agent_id.to_string(),
                    why: why.into(),
                })?;
                say!("{text}");
            }
        } else {
            super::say::text(format_args!("{}", table(&rows, now)));
        }
        Ok(verdict)
    }
}

fn row(
    place: &Place,
    all: &All,
    agent: &AgentId,
    now: Timestamp,
    parents: &mut BTreeMap<AgentId, Parent>,
) -> Result<Row, CliError> {
    let mut ledger = all.open(agent)?;
    let opened = opening::open(&Options::new(agent.clone()), &mut ledger);
    let (machine, _) = opened.map_err(|why| place.unreadable(agent, why))?;
    parents.extend(children(machine.state(), &mut ledger, &all.agents));
    let at = machine.state().at();
    // A ledger can be ahead of the system clock.
    let explanation = machine.explain(Boundary::RunLoopIdle, now.max(at));
    Ok(Row {
        agent: AgentListEntry::new(machine.state()),
        // Known only when all ledgers have been read.
        parent: None,
        driven_by: None,
        goes_on_in: None,
        head: machine.head(),
        // From the newest entry on, so that an instant that has passed is named.
        next_wake: machine.next_wake(at),
        oldest_wait: oldest(machine.summary()),
        odd: explanation.diagnostics,
    })
}

/// The agents among `others` that this agent supervises or has supervised, each with its parent.
fn children(state: &State, ledger: &mut Stored, others: &[AgentId]) -> Vec<(AgentId, Parent)> {
    let parent = state.agent_id();
    let ids = others.iter().filter_map(|other| Some((other, supervising_task(parent, other)?)));
    let mut children = Vec::new();
    for (id, task_id) in ids {
        // An operator can choose an id of this form too, so the task's record has the last word.
        let supervision = match state.tasks().active.get(&task_id) {
            Some(task) => ChildSupervision::from_task(&task.record),
            None => state.tasks().ended.get(&task_id).and_then(|(_, seq)| {
                let Record::Task(task) = driver::entry_at(ledger, *seq)?.record else {
                    return None;
                };
                ChildSupervision::from_task(&task)
            }),
        };
        if supervision.is_some_and(|supervision| supervision.child_agent_id == *id) {
            let agent_id = parent.clone();
            children.push((id.clone(), Parent { agent_id, supervision_task_id: task_id }));
        }
    }
    children
}

/// The wait that has lasted longest.
fn oldest(summary: AgentSummary) -> Option<Wait> {
    let intents = summary.active_waiting_intents.into_iter().map(|intent| Wait {
        id: intent.id.to_string(),
        work_item_id: intent.work_item_id.map(|id| id.to_string()),
        waiting_for: intent.description,
        since: intent.created_at,
    });
    let conditions = summary.active_wait_conditions.into_iter().map(|wait| Wait {
        id: wait.id.to_string(),
        work_item_id: wait.work_item_id.map(|id| id.to_string()),
        waiting_for: wait.waiting_for,
        since: wait.created_at,
    });
    intents.chain(conditions).min_by_key(|wait| wait.since)
}

/// The rows as a table for people. Who drives the agent, and what is odd, follow its row.
fn table(rows: &[Row], now: Timestamp) -> String {
    let head = ["agent", "posture", "queue", "wakes", "oldest wait"].map(str::to_owned);
    let cells: Vec<[String; 5]> = rows.iter().map(|row| cells(row, now)).collect();
    let widths: [usize; 5] = std::array::from_fn(|column| {
        let all = cells.iter().chain([&head]).map(|row| row[column].chars().count());
        all.max().unwrap_or_default()
    });
    let line = |row: &[String; 5]| {
        let padded = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut out = String::new();
    add!(out, "{}", painted(FAINT, &line(&head)));
    for (row, cells) in rows.iter().zip(&cells) {
        // The name is bold, and its padding stays outside the style.
        let name = &cells[0];
        add!(out, "{}{}", painted(STRONG, name), &line(cells)[name.len()..]);
        if let Some(driver) = &row.driven_by {
            let since = driver.since;
            add!(out, "  {}", painted(FAINT, &format!("driven by {driver}, since {since}")));
        }
        if let Some(place) = &row.goes_on_in {
            let says = format!("goes on in `{}`; this is how it left", place.display());
            add!(out, "  {}", painted(STRONG, &says));
        }
        for odd in &row.odd {
            add!(out, "  {}", painted(BAD, &odd.message));
        }
    }
    let odd = rows.iter().filter(|row| !row.odd.is_empty()).count();
    add!(out, "{}", painted(FAINT, &format!("{} agents, {odd} with something odd", rows.len())));
    out
}

fn cells(row: &Row, now: Timestamp) -> [String; 5] {
    let wakes = |at: Timestamp| if at <= now { format!("due since {at}") } else { at.to_string() };
    let wait = row.oldest_wait.as_ref().map(|wait| {
        let of =
            wait.work_item_id.as_ref().map_or_else(String::new, |item| format!(" of `{item}`"));
        format!("`{}`{of} since {}: {}", wait.id, wait.since, wait.waiting_for)
    });
    let child_of = row
        .parent
        .as_ref()
        .map_or_else(String::new, |parent| format!(", child of `{}`", parent.agent_id));
    [
        format!("{}{child_of}", row.agent.identity.agent_id),
        word(row.agent.scheduling_posture.posture),
        row.agent.pending.to_string(),
        row.next_wake.map_or_else(|| "-".to_owned(), wakes),
        wait.unwrap_or_else(|| "-".to_owned()),
    ]
    .map(|cell| cut(&cell))
}

/// A cell of at most [`WIDEST`] characters, on one line.
fn cut(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line == text && line.chars().count() <= WIDEST {
        return line.to_owned();
    }
    line.chars().take(WIDEST - 3).collect::<String>() + " .."
}
