//! `wakeful why`: says what an agent does and why, in one sentence with the entries behind it. With
//! `--not` it also says what would lead to another decision.

use std::path::PathBuf;

use clap::{Args, builder::PossibleValuesParser};
use serde::Serialize;
use wakeful_core::{
    explain::{Explanation, WhyNot},
    foreign,
    host::{Ledger, LedgerError},
    id::{AgentId, Seq},
    machine::{Machine, Options},
    record::{
        decision::{Boundary, DecisionKind},
        entry::EntryBytes,
    },
};
use wakeful_host::ledger::Format;

use super::{
    CliError, Verdict,
    explain::{last_explanation, word},
    ledger::{Place, ServerArgs, Stored, agents_in, observed},
    style::{BAD, FAINT, STRONG, painted},
};
use crate::{
    case::{self, Case, CaseKind},
    trace::{Trace, TraceError, Tracer},
};

#[derive(Args)]
#[command(after_help = "\
    --json prints one object per case or agent: {case, explanation, why_not}. `explanation` \
    is an `Explanation` and `why_not`, with --not, a `WhyNot` (see `wakeful print schema`).\n\n\
    Exit codes:\n\
    \x20 0  answered\n\
    \x20 2  a case or ledger cannot be read\n\n\
    Examples:\n\
    \x20 wakeful why agent.sqlite\n\
    \x20 wakeful why agent.sqlite --not StartModelTurn\n\
    \x20 wakeful why stuck --not sleep --json\n\
    \x20 wakeful why --server http://127.0.0.1:7171 --agent ada --not Sleep")]
pub(super) struct Why {
    /// Fixture folders, stories (`.toml`, `.json`), folders of either, ledger files, also while
    /// another process writes to them, or addresses of stores
    #[arg(value_name = "CASE|LEDGER")]
    subjects: Vec<PathBuf>,
    /// A ledger file, or the address of a store
    #[arg(long, visible_alias = "store", value_name = "FILE|URL", conflicts_with = "subjects")]
    ledger: Option<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
    /// The agent of a ledger file or a server [default: all]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Say what would have to change for this decision instead
    #[arg(
        long,
        value_name = "DECISION",
        ignore_case = true,
        value_parser = PossibleValuesParser::new(DecisionKind::NAMES)
    )]
    not: Option<String>,
    /// Print one JSON object per case or agent
    #[arg(long)]
    json: bool,
}

/// An agent to explain: at the end of a case, or of its ledger.
struct Subject {
    name: String,
    shows: String,
    machine: Machine,
    entries: Entries,
}

/// The source of the entries behind an answer.
enum Entries {
    Played(Vec<String>),
    Stored(Stored),
}

impl Entries {
    /// The text of an entry; `None` if there is no such entry.
    fn get(&mut self, seq: Seq) -> Result<Option<String>, LedgerError> {
        let Some(before) = seq.0.checked_sub(1) else { return Ok(None) };
        Ok(match self {
            Self::Played(lines) => {
                usize::try_from(before).ok().and_then(|at| lines.get(at).cloned())
            }
            Self::Stored(ledger) => {
                ledger.read(Seq(before), 1)?.first().map(|entry| entry.as_str().to_owned())
            }
        })
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    case: &'a str,
    explanation: &'a Explanation,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<WhyNot>,
}

impl Why {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let mut is_first = true;
        let named =
            self.subjects.iter().chain(&self.ledger).map(|path| self.server.place(Some(path)));
        let places = match self.subjects.is_empty() && self.ledger.is_none() {
            true => vec![self.server.place(None)?],
            false => named.collect::<Result<_, _>>()?,
        };
        for place in places {
            for subject in self.subjects_at(&place)? {
                if !is_first && !self.json {
                    say!("");
                }
                is_first = false;
                self.answer(subject)?;
            }
        }
        Ok(Verdict::Well)
    }

    fn subjects_at(&self, place: &Place) -> Result<Vec<Subject>, CliError> {
        match place {
            Place::File(path) if Format::from_file(path).is_none() => {
                case::load_all(std::slice::from_ref(path))?.iter().map(of_case).collect()
            }
            _ => {
                let agents = agents_in(place, self.agent.as_deref())?;
                agents.iter().map(|agent| of_ledger(place, agent)).collect()
            }
        }
    }

    fn answer(&self, mut subject: Subject) -> Result<(), CliError> {
        let asked = self.not.as_deref().and_then(DecisionKind::named);
        // The time of the newest entry, so that the answer about a stored ledger does not depend on
        // when it is asked for.
        let now = subject.machine.state().at();
        let explanation = subject.machine.explain(Boundary::RunLoopIdle, now);
        let why_not = asked.map(|asked| subject.machine.why_not(Boundary::RunLoopIdle, asked, now));
        if self.json {
            let answer = Answer { case: &subject.name, explanation: &explanation, why_not };
            let text = serde_json::to_string(&answer)
                .map_err(|why| CliError::Trace { case: subject.name.clone(), why: why.into() })?;
            say!("{text}");
            return Ok(());
        }
        super::say::text(format_args!("{}", answer(&mut subject, &explanation, why_not.as_ref())));
        Ok(())
    }
}

/// What a running agent does and why, as `wakeful why` prints it. If a decision is named, also what
/// would lead to it.
#[cfg(target_os = "linux")]
pub(super) fn of_live(
    place: &Place,
    agent: &AgentId,
    not: Option<&str>,
) -> Result<String, CliError> {
    let mut subject = of_ledger(place, agent)?;
    let now = super::ledger::now(subject.machine.state());
    let explanation = subject.machine.explain(Boundary::RunLoopIdle, now);
    let asked = not.and_then(DecisionKind::named);
    let why_not = asked.map(|asked| subject.machine.why_not(Boundary::RunLoopIdle, asked, now));
    Ok(answer(&mut subject, &explanation, why_not.as_ref()))
}

fn answer(subject: &mut Subject, explanation: &Explanation, why_not: Option<&WhyNot>) -> String {
    let mut out = String::new();
    add_answer(&mut out, subject, explanation);
    if let Some(why_not) = why_not {
        add_why_not(&mut out, why_not);
    }
    out
}

fn of_ledger(place: &Place, agent: &AgentId) -> Result<Subject, CliError> {
    let (machine, _, ledger) = observed(place, agent)?;
    let shows = format!("after entry {}", machine.head().seq);
    Ok(Subject { name: agent.to_string(), shows, machine, entries: Entries::Stored(ledger) })
}

fn of_case(case: &Case) -> Result<Subject, CliError> {
    let failed = |why| CliError::Trace { case: case.name.clone(), why };
    let trace = Tracer::Native.trace(case).map_err(failed)?;
    last_explanation(&case.name, &trace)?;
    let (machine, lines) = folded(case, &trace).map_err(failed)?;
    Ok(Subject {
        name: case.name.clone(),
        shows: case.shows().to_owned(),
        machine,
        entries: Entries::Played(lines),
    })
}

/// Folds the entries of a trace into a machine, and returns both.
fn folded(case: &Case, trace: &Trace) -> Result<(Machine, Vec<String>), TraceError> {
    let lines: Vec<String> = trace
        .steps
        .iter()
        .flat_map(|step| &step.entries)
        .map(|entry| entry.get().to_owned())
        .collect();
    let agent_id = match &case.kind {
        CaseKind::Fixture(folder) => foreign::agent_of(folder).unwrap_or_else(|_| "default".into()),
        CaseKind::Story(story, _) => story.agent_id.clone(),
    };
    let mut machine = Machine::new(Options::new(agent_id));
    for line in &lines {
        // The native engine of this program has just sealed these entries, so they need no
        // verification.
        machine
            .load(&EntryBytes::from_stored(line.clone()))
            .map_err(|why| TraceError::Failed(why.to_string()))?;
    }
    Ok((machine, lines))
}

fn add_answer(out: &mut String, subject: &mut Subject, explanation: &Explanation) {
    let entries = &mut subject.entries;
    add!(out, "{}  {}", painted(STRONG, &subject.name), painted(FAINT, &subject.shows));
    add!(out, "{}", explanation.sentence);
    let decision = &explanation.decision;
    for because in &decision.because {
        add!(out, "  because {}", word(because.code));
        because.seqs.iter().for_each(|seq| add_entry(out, *seq, entries));
    }
    for ignored in &decision.ignored {
        add!(out, "  passed over {}: {}", ignored.what, word(ignored.reason));
        ignored.seqs.iter().for_each(|seq| add_entry(out, *seq, entries));
    }
    let held =
        explanation.obligations.iter().filter_map(|owed| Some((owed, owed.held_by.as_ref()?)));
    for (owed, rule) in held {
        add!(out, "  held back by {rule}: {} {}", word(owed.kind), owed.id);
    }
    for wrong in &explanation.diagnostics {
        add!(
            out,
            "  warning: {} {}",
            painted(BAD, &wrong.message),
            painted(FAINT, &format!("({})", wrong.evidence.join(", ")))
        );
    }
    add!(
        out,
        "  {}",
        painted(FAINT, &format!("decision {}, rule {}", decision.kind, decision.rule))
    );
}

/// Adds an entry as a line: its position, its class, and as much of its record as fits.
fn add_entry(out: &mut String, seq: Seq, entries: &mut Entries) {
    const WIDTH: usize = 110;
    let line = match entries.get(seq) {
        Ok(Some(line)) => line,
        Ok(None) => return,
        // The answer is complete without this line.
        Err(why) => {
            add!(out, "    entry {seq} cannot be shown: {why}");
            return;
        }
    };
    let of = |key: &str| line.split_once(&format!("\"{key}\":")).map(|(_, rest)| rest);
    let class = of("class").and_then(|rest| rest.split('"').nth(1)).unwrap_or_default();
    let record = of("record")
        .and_then(|rest| rest.rsplit_once(",\"chain\""))
        .map_or("", |(record, _)| record);
    let shown: String = record.chars().take(WIDTH).collect();
    let cut = if shown.len() < record.len() { " .." } else { "" };
    add!(out, "    {}", painted(FAINT, &format!("entry {seq}  {class}  {shown}{cut}")));
}

/// The most ways that are shown. What the sentence names comes first, so these are the nearest.
const SHOWN: usize = 12;

fn add_why_not(out: &mut String, why_not: &WhyNot) {
    out.push('\n');
    if why_not.decision.kind == why_not.asked {
        add!(out, "The decision is already {:?}.", why_not.asked);
        return;
    }
    if why_not.ways.is_empty() {
        add!(
            out,
            "No fact that this program tries leads to {:?} here, and no two or three together.",
            why_not.asked
        );
        return;
    }
    add!(out, "It would be {} if", painted(STRONG, &format!("{:?}", why_not.asked)));
    for (at, way) in why_not.ways.iter().take(SHOWN).enumerate() {
        let joined = if at == 0 { " " } else { "or" };
        add!(
            out,
            "  {joined} {} {}",
            way.says.join(" and "),
            painted(FAINT, &format!("({})", way.decision.reason))
        );
    }
    let hidden = why_not.ways.len().saturating_sub(SHOWN) as u64 + why_not.more;
    if hidden > 0 {
        add!(
            out,
            "{}",
            painted(
                FAINT,
                &format!("and {hidden} other ways; `wakeful why --json` lists up to 100")
            )
        );
    }
}
