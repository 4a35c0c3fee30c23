//! `wakeful status`: shows the state of an agent on one screen.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use wakeful_agent::supervision::ChildSupervision;
use wakeful_core::{
    derive::summary::{AgentSummary, SetAside, Tombstones},
    explain::Explanation,
    host::{LedgerError, opening::Opening},
    id::AgentId,
    record::{decision::Boundary, task::TaskStatus},
    state::State,
};
use wakeful_host::ledger::Anchor;

use super::{
    CliError, Verdict, budget,
    explain::word,
    ledger::{AgentsArg, Place, Stored, observed},
    style::{BAD, FAINT, STRONG, painted},
    trigger,
};

#[derive(Args)]
#[command(after_help = "\
    `wakeful list tasks`, `wakeful list items` and `wakeful list waits` say more about these.\n\n\
    --json adds `active_children` to the summary: the supervision of each child, as `AgentGet` \
    gives it to the model, with the `status` of its task.\n\n\
    Exit codes:\n\
    \x20 0  printed\n\
    \x20 2  the ledger cannot be read\n\n\
    Examples:\n\
    \x20 wakeful status agent.sqlite\n\
    \x20 wakeful status agents.sqlite --agent reviewer --json\n\
    \x20 wakeful status --server http://127.0.0.1:7171 --agent ada")]
pub(super) struct Status {
    #[command(flatten)]
    ledger: AgentsArg,
    /// Print one JSON object per agent: an `AgentSummary` (see `wakeful print schema`) and its
    /// children
    #[arg(long)]
    json: bool,
}

/// What is printed about an agent as JSON.
#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    summary: AgentSummary,
    active_children: Vec<Child>,
}

/// A child whose task is active.
#[derive(Serialize)]
struct Child {
    /// The status of the task that supervises it.
    status: TaskStatus,
    #[serde(flatten)]
    supervision: ChildSupervision,
}

impl Child {
    /// The children whose tasks are active.
    fn active(state: &State) -> Vec<Self> {
        let children = state.active_tasks().filter_map(|task| {
            let supervision = ChildSupervision::from_task(task)?;
            Some(Self { status: task.status, supervision })
        });
        children.collect()
    }
}

impl Status {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let between = || {
            if !self.json {
                say!("");
            }
        };
        let place = self.ledger.place()?;
        self.ledger.for_each(&place, between, |agent| self.show(&place, agent))
    }

    fn show(&self, place: &Place, agent: &AgentId) -> Result<Verdict, CliError> {
        let (machine, opening, mut ledger) = observed(place, agent)?;
        let (summary, children) = (machine.summary(), Child::active(machine.state()));
        if self.json {
            let told = Summary { summary, active_children: children };
            let text = serde_json::to_string(&told)
                .map_err(|why| CliError::Trace { case: agent.to_string(), why: why.into() })?;
            say!("{text}");
            return Ok(Verdict::Well);
        }
        // The time of the newest entry, as `wakeful why` does it.
        let explanation = machine.explain(Boundary::RunLoopIdle, machine.state().at());
        let past = Past::from_ledger(&mut ledger).map_err(|why| place.unreadable(agent, why))?;
        super::say::text(format_args!(
            "{}",
            screen(&summary, &children, &explanation, &opening, &past)
        ));
        Ok(Verdict::Well)
    }
}

/// The place of a ledger's old entries.
enum Past {
    /// In the ledger itself.
    Here,
    /// In an archive, with the reason if that cannot be read.
    In(Anchor, Option<String>),
    /// In the ledger itself, which is an archive. The ledger continues in this file.
    GoesOnIn(PathBuf),
}

impl Past {
    fn from_ledger(ledger: &mut Stored) -> Result<Self, LedgerError> {
        if let Some(rest) = ledger.goes_on_in()? {
            return Ok(Self::GoesOnIn(rest));
        }
        let Some(anchor) = ledger.anchor()? else { return Ok(Self::Here) };
        let missing = ledger.missing(&anchor).map(|why| why.to_string());
        Ok(Self::In(anchor, missing))
    }
}

/// The state of a running agent, as `wakeful status` prints it.
#[cfg(target_os = "linux")]
pub(super) fn of_ledger(place: &Place, agent: &AgentId) -> Result<String, CliError> {
    let (machine, opening, _) = observed(place, agent)?;
    let now = super::ledger::now(machine.state());
    // In a conversation the place of old entries does not matter.
    Ok(screen(
        &machine.summary(),
        &Child::active(machine.state()),
        &machine.explain(Boundary::RunLoopIdle, now),
        &opening,
        &Past::Here,
    ))
}

fn screen(
    summary: &AgentSummary,
    children: &[Child],
    explanation: &Explanation,
    opening: &Opening,
    past: &Past,
) -> String {
    let mut out = String::new();
    if let Past::GoesOnIn(rest) = past {
        add!(
            out,
            "{}",
            painted(
                FAINT,
                &format!(
                    "an archive: the ledger continues in `{}`; this was the state at the end of \
                     the archive:",
                    rest.display()
                )
            )
        );
    }
    add!(out, "{}  {}", painted(STRONG, summary.identity.agent_id.as_str()), word(summary.status));
    add!(out, "{}\n", explanation.sentence);
    let closure = &summary.closure;
    let waits =
        closure.waiting_reason.map_or_else(String::new, |reason| format!(", {}", word(reason)));
    line(
        &mut out,
        "posture",
        &format!(
            "{}: {}",
            word(summary.scheduling_posture.posture),
            summary.scheduling_posture.reason
        ),
    );
    line(&mut out, "closure", &format!("{}{waits}", word(closure.outcome)));
    line(&mut out, "turn", &turn(summary));
    line(
        &mut out,
        "focus",
        &summary
            .current_work_item_id
            .as_ref()
            .map_or_else(|| "no work item".to_owned(), |id| format!("work item `{id}`")),
    );
    line(&mut out, "queue", &format!("{} waiting", counted(summary.pending, "message")));
    line(&mut out, "tasks", &format!("{} active", summary.active_task_count));
    for child in children {
        line(&mut out, "child", &told(child));
    }
    for intent in &summary.active_waiting_intents {
        line(
            &mut out,
            "intent",
            &format!(
                "`{}` {}, triggered {}",
                intent.id,
                intent.description,
                times(intent.trigger_count)
            ),
        );
    }
    for wait in &summary.active_wait_conditions {
        let of = wait
            .work_item_id
            .as_ref()
            .map_or_else(|| "the agent".to_owned(), |id| format!("`{id}`"));
        line(
            &mut out,
            "wait",
            &format!("`{}` of {of}, {}: {}", wait.id, word(wait.kind), wait.waiting_for),
        );
    }
    for trigger in &summary.active_external_triggers {
        line(&mut out, "trigger", &trigger::told(trigger));
    }
    for limit in summary.budgets.iter().flat_map(budget::lines) {
        line(&mut out, "budget", &limit);
    }
    for wrong in &explanation.diagnostics {
        line(&mut out, "warning", &painted(BAD, &wrong.message));
    }
    line(
        &mut out,
        "wakes",
        &explanation.next_wake.map_or_else(|| "at no set time".to_owned(), |at| at.to_string()),
    );
    for aside in aside(&summary.set_aside) {
        line(&mut out, "ignored", &aside);
    }
    if let Some(kept) = kept(&summary.tombstones) {
        line(&mut out, "kept", &painted(FAINT, &kept));
    }
    match past {
        Past::Here | Past::GoesOnIn(_) => {}
        Past::In(Anchor { head, archive }, None) => {
            line(
                &mut out,
                "archive",
                &painted(
                    FAINT,
                    &format!("entries 1 to {} are in `{}`", head.seq, archive.display()),
                ),
            );
        }
        Past::In(_, Some(missing)) => line(&mut out, "archive", &painted(BAD, missing)),
    }
    line(&mut out, "head", &explanation.head.to_string());
    line(&mut out, "opened", &painted(FAINT, &opened(opening)));
    out
}

fn line(out: &mut String, what: &str, says: &str) {
    add!(out, "{what:<8} {says}");
}

/// A child in one line.
fn told(child: &Child) -> String {
    let Child { status, supervision } = child;
    let place = match supervision.worktree_path() {
        Some(path) => format!(", in the worktree `{path}`"),
        None => ", in the workspace of its parent".to_owned(),
    };
    let (id, task) = (&supervision.child_agent_id, &supervision.supervision_task_id);
    format!("`{id}` {}, supervised by `{task}`{place}", word(status))
}

fn turn(summary: &AgentSummary) -> String {
    match (&summary.execution.run_id, summary.last_turn_terminal) {
        (Some(run), _) => format!("{}, run `{run}` is open", summary.turn_index),
        (None, Some(ended)) => format!("{}, {}", summary.turn_index, word(ended)),
        (None, None) if summary.turn_index == 0 => "none yet".to_owned(),
        (None, None) => summary.turn_index.to_string(),
    }
}

fn aside(aside: &SetAside) -> Vec<String> {
    let counts = [
        (aside.foreign_records, "of other agents"),
        (aside.carried_records, "carried from an import"),
        (aside.refused_records, "that came after a terminal status"),
        (aside.queue_entries_without_message as u64, "of the queue without a message"),
    ];
    let told = counts.into_iter().filter(|(count, _)| *count > 0);
    told.map(|(count, what)| {
        format!("{} {what}", counted(usize::try_from(count).unwrap_or(usize::MAX), "record"))
    })
    .collect()
}

/// The ids that stay as tombstones; `None` if there are none.
fn kept(of: &Tombstones) -> Option<String> {
    let counts = [
        (of.messages, "message"),
        (of.tasks, "task"),
        (of.work_items, "work item"),
        (of.waiting_intents, "intent"),
        (of.wait_conditions, "condition"),
        (of.timers, "timer"),
        (of.external_triggers, "external trigger"),
    ];
    let told: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| counted(count, what))
        .collect();
    (!told.is_empty()).then(|| format!("ids of finished records: {}", told.join(", ")))
}

/// How the ledger was opened.
fn opened(opening: &Opening) -> String {
    let verified = counted(usize::try_from(opening.verified).unwrap_or(usize::MAX), "entry");
    match (&opening.snapshot, &opening.ignored) {
        (Some(seq), _) => format!("from the snapshot at entry {seq} and {verified} after it"),
        (None, Some(why)) => format!("from {verified}; {why}"),
        (None, None) => format!("from {verified}"),
    }
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// A number of things, with the English plural.
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 {
        return format!("1 {what}");
    }
    match what.strip_suffix('y') {
        Some(stem) => format!("{count} {stem}ies"),
        None if what.ends_with("ch") => format!("{count} {what}es"),
        None => format!("{count} {what}s"),
    }
}
