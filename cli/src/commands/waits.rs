//! `wakeful list waits`: lists what agents wait for, by what can end it.

use clap::Args;
use serde::Serialize;
use wakeful_core::{
    fact::{
        Fact,
        waiting::{intent::WaitingIntentNamed, timer::TimerNamed},
    },
    id::{Seq, WorkItemId},
    json,
    record::{
        Record,
        waiting::{
            EndedBy, TimerRecord, TimerStatus, WaitConditionKind, WaitConditionRecord,
            WaitConditionStatus, WaitingIntentRecord, WakeSource, recoverability::Recoverability,
        },
    },
    state::{State, readiness},
    time::Timestamp,
};

use super::{
    CliError, Verdict,
    explain::word,
    listing::{
        Group, Line, Lines, Listed, Listing, Read, grouped, instant, one_line, quoted, span,
    },
};

#[derive(Args)]
#[command(after_help = "\
    The groups are: task, external, operator, timer and system. Waits of agents and items are \
    listed, and timers. The oldest of a group comes first. `end it` is a command by which a person \
    can end the wait; for a wait for the operator that is the answer.\n\n\
    --json prints one object per agent: {agent_id, at, groups [{group, members}]}, and with --all \
    also {ended {members, left_out}}. `group` is the kind of the wait. A member is {id, record, \
    kind, status, work_item_id, waiting_for, source, resource, wake_sources, recoverability, \
    deadline, created_at, updated_at, ended_by, end_command}. `record` is `wait_condition`, \
    `waiting_intent` or `timer`.\n\n\
    Exit codes:\n\
    \x20 0  printed, even if there are none\n\
    \x20 2  the ledger cannot be read\n\n\
    Examples:\n\
    \x20 wakeful list waits agents.sqlite\n\
    \x20 wakeful list waits agents.sqlite --agent reviewer --all\n\
    \x20 wakeful list waits --server http://127.0.0.1:7171\n\
    \x20 wakeful list waits agents.sqlite --json | jq -r '.groups[].members[].end_command'")]
pub(super) struct Waits {
    #[command(flatten)]
    listing: Listing,
}

impl Waits {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        self.listing.run::<Wait>()
    }
}

/// The record of a wait.
#[derive(Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Of {
    WaitCondition,
    WaitingIntent,
    Timer,
}

/// A wait in the list.
#[derive(Serialize)]
pub(super) struct Wait {
    id: String,
    record: Of,
    kind: WaitConditionKind,
    status: String,
    /// The item that waits; `None` if the agent does.
    work_item_id: Option<WorkItemId>,
    waiting_for: String,
    source: Option<String>,
    resource: Option<String>,
    wake_sources: Vec<WakeSource>,
    recoverability: Option<Recoverability>,
    deadline: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
    ended_by: Option<EndedBy>,
    /// The command by which a person can end it, as a shell reads it.
    end_command: Option<String>,
    /// The same as words.
    #[serde(skip)]
    ends_by: Option<Vec<String>>,
}

impl Wait {
    fn of_condition(wait: &WaitConditionRecord) -> Self {
        Self {
            id: wait.id.to_string(),
            record: Of::WaitCondition,
            kind: wait.kind,
            status: wait.status.to_string(),
            work_item_id: wait.work_item_id.clone(),
            waiting_for: wait.waiting_for.clone(),
            source: wait.source.clone(),
            resource: wait.subject_ref.clone(),
            wake_sources: wait.wake_sources.clone(),
            recoverability: wait.recoverability(),
            deadline: wait.expires_at,
            created_at: wait.created_at,
            updated_at: wait.updated_at,
            ended_by: wait.ended_by,
            end_command: None,
            ends_by: None,
        }
    }

    fn of_intent(intent: &WaitingIntentRecord) -> Self {
        let mirror = WaitConditionRecord::mirror(intent);
        Self {
            id: intent.id.to_string(),
            record: Of::WaitingIntent,
            status: intent.status.to_string(),
            source: Some(intent.source.clone()),
            resource: intent.resource.clone(),
            ended_by: intent.ended_by,
            ..Self::of_condition(&mirror)
        }
    }

    fn of_timer(timer: &TimerRecord) -> Self {
        let fires = WakeSource::Timer {
            wake_at: timer.due_at(),
            wake_in_ms: None,
            timer_id: Some(timer.id.clone()),
        };
        let is_active = timer.status == TimerStatus::Active;
        Self {
            id: timer.id.to_string(),
            record: Of::Timer,
            kind: WaitConditionKind::Timer,
            status: timer.status.to_string(),
            work_item_id: None,
            waiting_for: timer.summary.clone().unwrap_or_default(),
            source: None,
            resource: None,
            wake_sources: Vec::from_iter(is_active.then_some(fires)),
            recoverability: None,
            deadline: None,
            created_at: timer.created_at,
            updated_at: timer.last_fired_at.unwrap_or(timer.created_at),
            ended_by: None,
            end_command: None,
            ends_by: None,
        }
    }

    /// With the command by which a person can end it.
    fn with_end(mut self, send: Option<&[String]>) -> Self {
        let Some(send) = send else { return self };
        let fact = |fact: &Fact| vec!["fact".to_owned(), json::write(fact)];
        let words = match (&self.record, self.kind) {
            (Of::WaitCondition, WaitConditionKind::Operator) => {
                let mut words = vec!["prompt".to_owned(), "YOUR ANSWER".to_owned()];
                if let Some(item) = &self.work_item_id {
                    words.extend(["--item".to_owned(), item.to_string()]);
                }
                words
            }
            (Of::WaitCondition, _) => vec!["end-wait".to_owned(), self.id.clone()],
            (Of::WaitingIntent, _) => fact(&Fact::WaitingIntentCancelled(WaitingIntentNamed {
                waiting_intent_id: self.id.as_str().into(),
            })),
            (Of::Timer, _) => {
                fact(&Fact::TimerCancelled(TimerNamed { timer_id: self.id.as_str().into() }))
            }
        };
        let words = [send, &words].concat();
        let shown: Vec<_> = words.iter().map(|word| quoted(word)).collect();
        self.end_command = Some(shown.join(" "));
        self.ends_by = Some(words);
        self
    }

    fn is_over(&self) -> bool {
        self.status != WaitConditionStatus::Active.as_str()
    }
}

/// The beginning of the id of a condition that mirrors an intent.
const MIRROR: &str = "waiting_intent:";

/// The kinds, in the order in which they are listed.
const KINDS: [WaitConditionKind; 5] = [
    WaitConditionKind::Task,
    WaitConditionKind::External,
    WaitConditionKind::Operator,
    WaitConditionKind::Timer,
    WaitConditionKind::System,
];

impl Listed for Wait {
    const NAME: &'static str = "wait";

    fn groups(read: &mut Read<'_>) -> Vec<Group<Self>> {
        let state = read.state;
        // The mirror of an intent would show it twice.
        let conditions = readiness::conditions(state).map(|wait| &wait.record);
        let conditions = conditions.filter(|wait| !wait.is_mirror()).map(Self::of_condition);
        let waits = conditions
            .chain(state.waiting_intents().map(Self::of_intent))
            .chain(state.timers().map(Self::of_timer));
        let mut all: Vec<_> = waits
            .map(|wait| (wait.kind.to_string(), wait.with_end(read.send.as_deref())))
            .collect();
        all.sort_by(|(_, a), (_, b)| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        grouped(KINDS.map(|kind| kind.to_string()), all)
    }

    fn heading(group: &str) -> String {
        match group {
            "task" => "until a task ends",
            "external" => "until something external arrives",
            "operator" => "until the operator answers",
            "timer" => "until an instant",
            _ => "until the runtime ticks",
        }
        .to_owned()
    }

    fn ends(state: &State) -> Vec<Seq> {
        let waiting = state.waiting();
        // A mirror ends with its intent.
        let own =
            waiting.ended_conditions.iter().filter(|(id, _)| !id.as_str().starts_with(MIRROR));
        own.map(|(_, (_, seq))| *seq)
            .chain(waiting.ended_intents.values().copied())
            .chain(waiting.ended_timers.values().map(|(_, seq)| *seq))
            .collect()
    }

    fn ended(_: &Read<'_>, record: Record) -> Option<Self> {
        match record {
            Record::WaitCondition(wait) => Some(Self::of_condition(&wait)),
            Record::WaitingIntent(intent) => Some(Self::of_intent(&intent)),
            Record::Timer(timer) => Some(Self::of_timer(&timer)),
            _ => None,
        }
    }

    fn lines(&self, now: Timestamp) -> Lines {
        let owner = self
            .work_item_id
            .as_ref()
            .map_or_else(|| "of the agent".to_owned(), |id| format!("of `{id}`"));
        let about = if self.is_over() {
            let by = self.ended_by.map_or_else(String::new, |by| format!(" by {}", ender(by)));
            let (kind, status) = (word(self.kind), word(&self.status));
            format!("{kind}, {status}{by} {} ago, {owner}", span(self.updated_at, now))
        } else {
            format!("{owner}, {} old", span(self.created_at, now))
        };
        let mut lines = Lines { id: self.id.clone(), about, ..Lines::default() };
        lines.free("", &self.waiting_for);
        let from = [&self.source, &self.resource];
        let from: Vec<_> = from.into_iter().flatten().map(|text| one_line(text)).collect();
        lines.free("from: ", &from.join(", "));
        if self.is_over() {
            return lines;
        }
        let woken: Vec<_> = self.wake_sources.iter().map(|source| woken(source, now)).collect();
        lines.free("ended by: ", &woken.join("; "));
        if let Some(at) = self.deadline {
            lines.line(format!("deadline {}", instant(at, now)));
        }
        if let Some(recoverability) = self.recoverability {
            lines.line(format!("if its event is lost: {}", recovery(recoverability)));
        }
        if let Some(words) = &self.ends_by {
            lines.below.push(Line::Command("end it:", words.clone()));
        }
        lines
    }
}

fn woken(source: &WakeSource, now: Timestamp) -> String {
    match source {
        WakeSource::TaskResult { task_id } => format!("the result of `{task_id}`"),
        WakeSource::ExternalIngress { external_trigger_id: Some(id), .. } => {
            format!("an event for trigger `{id}`")
        }
        WakeSource::ExternalIngress { external_trigger_id: None, .. } => "any event".to_owned(),
        WakeSource::Timer { wake_at, .. } => format!("the instant {}", instant(*wake_at, now)),
        WakeSource::OperatorInput => "a message of the operator".to_owned(),
        WakeSource::SystemTick => "a tick of the runtime".to_owned(),
    }
}

fn ender(by: EndedBy) -> &'static str {
    match by {
        EndedBy::Trigger => "what it waited for",
        EndedBy::Deadline => "its deadline",
        EndedBy::Operator => "the operator",
        EndedBy::Model => "the model",
        EndedBy::Superseded => "a newer wait",
        EndedBy::Completion => "the completion of its item",
        EndedBy::TriggerEnded => "the end of its external trigger",
    }
}

fn recovery(recoverability: Recoverability) -> &'static str {
    match recoverability {
        Recoverability::Recoverable => "recoverable, something else wakes it",
        Recoverability::Weak => "weak, nothing else wakes it",
        Recoverability::ExplicitNoFallback => "no fallback, on purpose",
    }
}
