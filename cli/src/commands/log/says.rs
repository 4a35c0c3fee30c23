//! The text of an entry in a line for people: a word for its kind, and a phrase for the rest.

use anstyle::Style;
use wakeful_agent::supervision::{ChildSupervision, WorktreeMismatch};
use wakeful_core::{
    id::{Seq, WorkItemId},
    json::Readable,
    record::{
        Record,
        budget::BudgetLimits,
        control::ControlRecord,
        decision::Decision,
        event::{EventKind, EventRecord},
        ingress::ExternalTriggerRecord,
        queue::envelope::QueueStatus,
        turn::TurnRecord,
        waiting::{TimerRecord, TimerStatus},
        work::WorkItemRecord,
    },
    story,
};

use crate::commands::{
    explain::{entries, word},
    status::counted,
    style::{BAD, FAINT, STRONG},
};

/// The most characters of a free text that are shown.
const SHOWN: usize = 100;

/// The parts of an entry's line.
pub(super) struct Said {
    pub(super) kind: &'static str,
    pub(super) text: String,
    pub(super) style: Style,
}

/// Whether a record reports something that looked wrong when it was recorded.
pub(super) fn looks_wrong(record: &Record) -> bool {
    let Record::Event(event) = record else { return false };
    [EventKind::SchedulerDiagnostic, EventKind::RuntimeError]
        .iter()
        .any(|kind| kind.as_str() == event.kind)
}

/// Whether a record is news for people who watch an agent. Bookkeeping is not: it follows from
/// records that are news.
pub(super) fn is_news(record: &Record) -> bool {
    const NEWS: [EventKind; 4] = [
        EventKind::SchedulerDecision,
        EventKind::SchedulerDiagnostic,
        EventKind::RuntimeError,
        EventKind::FactIgnored,
    ];
    match record {
        Record::QueueEntry(record) => {
            // The other statuses follow from a message, a decision or a turn.
            matches!(record.status, QueueStatus::Dropped | QueueStatus::Interjected)
        }
        Record::Event(event) => NEWS.iter().any(|kind| kind.as_str() == event.kind),
        // Markers keep the progress of a story (decision 012). They are not part of what the agent
        // says.
        Record::Transcript(record) => !story::is_marker(&record.data),
        // A mirror follows its intent (contract 5.16), which is news itself.
        Record::WaitCondition(record) => !record.is_mirror(),
        // What an agent is does not change while it lives.
        Record::Carried(_) | Record::Control(ControlRecord::AgentDescribed(_)) => false,
        _ => true,
    }
}

/// The line of a record.
pub(super) fn said(record: &Record) -> Said {
    let plain = |kind, text| Said { kind, text, style: Style::new() };
    match record {
        Record::Message(record) => {
            let about = about(record.work_item_id.as_ref());
            plain(
                "message",
                format!(
                    "{} `{}`{about}: {}",
                    word(record.kind),
                    record.id,
                    cut(record.body.as_text())
                ),
            )
        }
        Record::QueueEntry(record) => {
            let why =
                record.reason.as_ref().map_or_else(String::new, |why| format!(", {}", word(why)));
            plain("queue", format!("`{}` {}{why}", record.message_id, word(record.status)))
        }
        Record::Event(record) => event(record),
        Record::Transcript(record) => match WorktreeMismatch::from_transcript(record) {
            Some(mismatch) => plain("worktree", mismatched(&mismatch)),
            None => plain("transcript", cut(record.data.as_str())),
        },
        Record::Task(record) => {
            let what = record
                .summary
                .as_ref()
                .map_or_else(String::new, |summary| format!(": {}", cut(summary)));
            let of = about(record.work_item_id.as_ref());
            let child = ChildSupervision::from_task(record).map_or_else(String::new, |child| {
                format!(" with child `{}`", child.child_agent_id)
            });
            let (kind, status) = (word(record.kind), word(record.status));
            plain("task", format!("`{}` {kind} {status}{of}{child}{what}", record.id))
        }
        Record::WorkItem(record) => plain("item", item(record)),
        Record::WaitingIntent(record) => {
            let of = about(record.work_item_id.as_ref());
            plain(
                "intent",
                format!(
                    "`{}` {}{of}: {} ({})",
                    record.id,
                    word(record.status),
                    cut(&record.description),
                    record.source
                ),
            )
        }
        Record::WaitCondition(record) => {
            let of = about(record.work_item_id.as_ref());
            plain(
                "wait",
                format!(
                    "`{}` {} {}{of}: {}",
                    record.id,
                    word(record.kind),
                    word(record.status),
                    cut(&record.waiting_for)
                ),
            )
        }
        Record::Timer(record) => plain("timer", timer(record)),
        Record::ExternalTrigger(record) => plain("trigger", trigger(record)),
        Record::Tool(record) => plain(
            "tool",
            format!("{} {}: {}", record.tool_name, word(record.status), cut(&record.summary)),
        ),
        Record::Brief(record) => {
            plain("brief", format!("{}: {}", word(record.kind), cut(&record.text)))
        }
        Record::Turn(record) => plain("turn", turn(record)),
        Record::Control(record) => plain("control", control(record)),
        Record::Carried(record) => {
            Said { kind: "carried", text: record.of_class.clone(), style: FAINT }
        }
    }
}

fn event(record: &EventRecord) -> Said {
    let is = |kind: EventKind| record.kind == kind.as_str();
    if is(EventKind::SchedulerDecision)
        && let Some(decision) = record.decision()
    {
        return Said { kind: "decision", text: decided(&decision), style: STRONG };
    }
    if is(EventKind::SchedulerDiagnostic)
        && let Some(found) = record.particulars::<Diagnosed>()
    {
        return Said {
            kind: "diagnostic",
            text: format!("{} ({})", found.message, found.evidence.join(", ")),
            style: BAD,
        };
    }
    if is(EventKind::RuntimeError)
        && let Some(failed) = record.particulars::<Failed>()
    {
        return Said { kind: "error", text: cut(&failed.error), style: BAD };
    }
    if is(EventKind::FactIgnored)
        && let Some(fact) = record.particulars::<Ignored>()
    {
        return Said {
            kind: "ignored",
            text: format!("{}: {}{}", word(fact.fact), word(fact.reason), entries(&[fact.because])),
            style: FAINT,
        };
    }
    // An imported event may have any data, so what is not in the expected form is shown as it is.
    let data = record.data().map_or_else(String::new, |data| format!(": {}", cut(data.as_str())));
    Said { kind: "event", text: format!("{}{data}", word(&record.kind)), style: FAINT }
}

#[derive(Readable)]
struct Diagnosed {
    message: String,
    #[serde(default)]
    evidence: Vec<String>,
}

#[derive(Readable)]
struct Failed {
    error: String,
}

#[derive(Readable)]
struct Ignored {
    fact: String,
    reason: String,
    because: Seq,
}

fn decided(decision: &Decision) -> String {
    let about = [
        ("message", decision.message_id.as_ref().map(ToString::to_string)),
        ("work item", decision.work_item_id.as_ref().map(ToString::to_string)),
        ("task", decision.task_id.as_ref().map(ToString::to_string)),
    ];
    let about = about
        .into_iter()
        .filter_map(|(what, id)| Some(format!(" {what} `{}`", id?)))
        .collect::<Vec<_>>()
        .join(",");
    let because = decision
        .because
        .iter()
        .map(|because| format!("{}{}", word(because.code), entries(&because.seqs)));
    let passed = decision
        .ignored
        .iter()
        .map(|over| format!("{}: {}{}", over.what, word(over.reason), entries(&over.seqs)));
    let list = |start: &str, said: Vec<String>| {
        if said.is_empty() { String::new() } else { format!(", {start} {}", said.join(", ")) }
    };
    let rest =
        format!("{}{}", list("because", because.collect()), list("passed over", passed.collect()));
    format!(
        "{} ({}) by rule {}{}{about}{rest}",
        decision.kind,
        decision.reason,
        decision.rule,
        if about.is_empty() { "" } else { "," }
    )
}

fn item(record: &WorkItemRecord) -> String {
    let blocked = record
        .blocked_by
        .as_ref()
        .map_or_else(String::new, |by| format!(", blocked by: {}", cut(by)));
    let (id, state, plan) = (&record.id, word(record.state), word(record.plan_status));
    format!(
        "`{id}` {state}, plan {plan}, revision {}: {}{blocked}",
        record.revision,
        cut(&record.objective)
    )
}

fn timer(record: &TimerRecord) -> String {
    let every = record.interval_ms.map_or_else(String::new, |ms| format!(", every {ms} ms"));
    let summary =
        record.summary.as_ref().map_or_else(String::new, |summary| format!(": {}", cut(summary)));
    let due = match record.status {
        TimerStatus::Active => format!(", due at {}", record.due_at()),
        TimerStatus::Completed | TimerStatus::Cancelled => String::new(),
    };
    format!("`{}` {}{due}{every}{summary}", record.id, word(record.status))
}

fn trigger(record: &ExternalTriggerRecord) -> String {
    let of = about(record.only_item());
    let delivered = match record.delivery_count {
        0 => String::new(),
        1 => ", 1 delivery".into(),
        count => format!(", {count} deliveries"),
    };
    let expires = record.expires_at.map_or_else(String::new, |at| format!(", expires at {at}"));
    format!(
        "`{}` {}{of}{delivered}{expires}: {}",
        record.external_trigger_id,
        word(record.status),
        cut(&record.description)
    )
}

fn turn(record: &TurnRecord) -> String {
    let item = record.work_item.as_ref().map(|bound| &bound.work_item_id);
    let ended = record.kind.map_or_else(String::new, |kind| format!(" {}", word(kind)));
    let why = record.reason.as_ref().map_or_else(String::new, |why| format!(", {}", word(why)));
    let (index, status, run) = (record.turn_index, word(record.status), &record.run_id);
    format!(
        "{index} {status}{ended}{why}, run `{run}` on message `{}`{}",
        record.message_id,
        about(item)
    )
}

fn control(record: &ControlRecord) -> String {
    let more = match record {
        ControlRecord::Genesis(genesis) => {
            format!(" of agent `{}`, format {}", genesis.agent_id, genesis.format)
        }
        ControlRecord::FocusSet(focus) => {
            let item = focus
                .work_item_id
                .as_ref()
                .map_or_else(|| "no work item".to_owned(), |id| format!("work item `{id}`"));
            format!(" to {item}, by {}", word(focus.cause))
        }
        ControlRecord::BudgetSet(set) => {
            format!("{}: {}", of(set.work_item_id.as_ref()), limits(&set.limits))
        }
        ControlRecord::BudgetGranted(grant) => {
            let parts = [(grant.tokens, "tokens"), (grant.cost_micros, "millionths of cost")];
            let given = parts.iter().filter(|(more, _)| *more > 0);
            let given: Vec<_> = given.map(|(more, what)| format!("{more} {what}")).collect();
            format!("{}: {}", of(grant.work_item_id.as_ref()), given.join(", "))
        }
        ControlRecord::WakeHintPending(hint) => format!(": {}", cut(&hint.reason)),
        _ => String::new(),
    };
    format!("{}{more}", word(record.name()))
}

/// The owner of a budget.
fn of(item: Option<&WorkItemId>) -> String {
    item.map_or_else(|| " for the agent".to_owned(), |id| format!(" for `{id}`"))
}

fn limits(limits: &BudgetLimits) -> String {
    let all = [
        (limits.tokens_per_day, "tokens a day"),
        (limits.tokens_total, "tokens in all"),
        (limits.cost_micros_per_day, "millionths of cost a day"),
    ];
    let told: Vec<_> =
        all.iter().filter_map(|(most, what)| Some(format!("{} {what}", (*most)?))).collect();
    if told.is_empty() { "no limit".to_owned() } else { told.join(", ") }
}

/// A kept worktree that is not as the host had made it.
fn mismatched(of: &WorktreeMismatch) -> String {
    let differs = match &of.actual_branch {
        Some(actual) => format!("has branch `{actual}` instead of `{}`", of.worktree_branch),
        None => {
            let named = of.changed_files.join(", ");
            format!("has {}: {}", counted(of.changed_file_count, "changed file"), cut(&named))
        }
    };
    format!("of `{}`, child `{}`: `{}` {differs}", of.task_id, of.child_agent_id, of.worktree_path)
}

fn about(item: Option<&WorkItemId>) -> String {
    item.map_or_else(String::new, |id| format!(" about `{id}`"))
}

/// A free text in one line, cut to the length that a line has room for.
fn cut(text: &str) -> String {
    let mut shown: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Control characters are removed, because a message must not control the terminal.
    shown.retain(|letter| !letter.is_control());
    if let Some((at, _)) = shown.char_indices().nth(SHOWN) {
        shown.truncate(at);
        shown.push_str(" ..");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_text_stays_in_its_line_and_says_nothing_to_the_terminal() {
        assert_eq!(cut("  two\nlines\tand \u{1b}[31mcolour\u{7} "), "two lines and [31mcolour");
        assert_eq!(cut(&"é".repeat(SHOWN)), "é".repeat(SHOWN));
        assert_eq!(cut(&"é".repeat(SHOWN + 1)), format!("{} ..", "é".repeat(SHOWN)));
    }
}
