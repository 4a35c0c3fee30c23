//! `wakeful why`: what an agent does and why, in a sentence with the entries behind it; and what would lead to another decision.

use clap::{Args, builder::PossibleValuesParser};
use serde::Serialize;
use wakeful_core::{
    entry::EntryBytes,
    explain::{Explanation, WhyNot},
    foreign,
    id::Seq,
    ladder::{Boundary, DecisionKind},
    machine::{Machine, Options},
};

use super::{
    Cases, CliError, Verdict,
    explain::{last_explanation, word},
    style::{FAINT, STRONG, painted},
};
use crate::{
    case::{self, Case, CaseKind},
    trace::{Trace, TraceError, Tracer},
};

#[derive(Args)]
pub(super) struct Why {
    #[command(flatten)]
    cases: Cases,
    /// Say what would have to change for this decision instead
    #[arg(long, value_name = "DECISION", ignore_case = true, value_parser = PossibleValuesParser::new(DecisionKind::NAMES))]
    not: Option<String>,
    /// Print one JSON object per case: the core's `Explanation`, and its `WhyNot` where `--not` asks
    #[arg(long)]
    json: bool,
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
        let asked = self.not.as_deref().and_then(DecisionKind::named);
        for (at, case) in case::load_all(&self.cases.cases)?.iter().enumerate() {
            let failed = |why| CliError::Trace { case: case.name.clone(), why };
            let trace = Tracer::Native.trace(case).map_err(failed)?;
            last_explanation(&case.name, &trace)?;
            let (machine, entries) = folded(case, &trace).map_err(failed)?;
            let now = machine.state().at;
            let explanation = machine.explain(Boundary::RunLoopIdle, now);
            let why_not = asked.map(|asked| machine.why_not(Boundary::RunLoopIdle, asked, now));
            if self.json {
                let answer = Answer { case: &case.name, explanation: &explanation, why_not };
                say!("{}", serde_json::to_string(&answer).map_err(|why| failed(why.into()))?);
                continue;
            }
            if at > 0 {
                say!("");
            }
            print(case, &explanation, &entries);
            if let Some(why_not) = &why_not {
                print_why_not(why_not);
            }
        }
        Ok(Verdict::Well)
    }
}

/// The machine that the entries of a trace give, and the entries.
fn folded(case: &Case, trace: &Trace) -> Result<(Machine, Vec<String>), TraceError> {
    let lines: Vec<String> = trace.steps.iter().flat_map(|step| &step.entries).map(|entry| entry.get().to_owned()).collect();
    let agent_id = match &case.kind {
        CaseKind::Fixture(folder) => foreign::agent_of(folder).unwrap_or_else(|_| "default".into()),
        CaseKind::Story(story, _) => story.agent_id.clone(),
    };
    let mut machine = Machine::new(Options::new(agent_id));
    for line in &lines {
        // The engine that wrote these entries is this program's, a moment ago.
        machine.load(&EntryBytes::from_stored(line.clone())).map_err(|why| TraceError::Process(why.to_string()))?;
    }
    Ok((machine, lines))
}

fn print(case: &Case, explanation: &Explanation, entries: &[String]) {
    say!("{}  {}", painted(STRONG, &case.name), painted(FAINT, case.shows()));
    say!("{}", explanation.sentence);
    let decision = &explanation.decision;
    for because in &decision.because {
        say!("  because {}", word(because.code));
        because.seqs.iter().for_each(|seq| print_entry(*seq, entries));
    }
    for ignored in &decision.ignored {
        say!("  passed over {}: {}", ignored.what, word(ignored.reason));
        ignored.seqs.iter().for_each(|seq| print_entry(*seq, entries));
    }
    let held = explanation.obligations.iter().filter_map(|owed| Some((owed, owed.held_by.as_ref()?)));
    for (owed, rule) in held {
        say!("  held back by {rule}: {} {}", word(owed.kind), owed.id);
    }
    say!("  {}", painted(FAINT, &format!("decision {:?}, rule {}", decision.kind, decision.rule)));
}

/// An entry in a line: where it stands, its class, and as much of its record as fits.
fn print_entry(seq: Seq, entries: &[String]) {
    const WIDTH: usize = 110;
    let at = usize::try_from(seq.0).unwrap_or(usize::MAX).saturating_sub(1);
    let Some(line) = entries.get(at) else { return };
    let of = |key: &str| line.split_once(&format!("\"{key}\":")).map(|(_, rest)| rest);
    let class = of("class").and_then(|rest| rest.split('"').nth(1)).unwrap_or_default();
    let record = of("record").and_then(|rest| rest.rsplit_once(",\"chain\"")).map_or("", |(record, _)| record);
    let shown: String = record.chars().take(WIDTH).collect();
    let cut = if shown.len() < record.len() { " .." } else { "" };
    say!("    {}", painted(FAINT, &format!("entry {seq}  {class}  {shown}{cut}")));
}

fn print_why_not(why_not: &WhyNot) {
    say!("");
    if why_not.decision.kind == why_not.asked {
        say!("It is {:?} already.", why_not.asked);
        return;
    }
    if why_not.ways.is_empty() {
        say!("No change of up to three facts that this program knows leads to {:?} here.", why_not.asked);
        return;
    }
    say!("It would be {} if", painted(STRONG, &format!("{:?}", why_not.asked)));
    for (at, way) in why_not.ways.iter().enumerate() {
        let joined = if at == 0 { " " } else { "or" };
        say!("  {joined} {} {}", way.says.join(" and "), painted(FAINT, &format!("({})", way.decision.reason)));
    }
}
