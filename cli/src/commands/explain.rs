//! `wakeful explain`: the decision at the end of a case, what each rule said, and the obligations.

use clap::Args;
use serde::Deserialize;
use serde_json::value::RawValue;
use wakeful_core::{
    derive::{closure::Closure, obligation::ObligationKind, posture::AgentPosture},
    host::ErrorReport,
    id::Seq,
    record::{chain::Head, control::AgentStatus, decision::Decision},
    time::Timestamp,
};

use super::{
    Cases, CliError, Verdict,
    engines::EngineArg,
    style::{self, BAD, FAINT, GOOD, STRONG, painted},
};
use crate::{case, trace::Trace};

#[derive(Args)]
#[command(after_help = "\
    For each rule of the ladder, the table says whether it fired, which of its conditions \
    does not hold, or which key is spent and by which entry. `wakeful why` gives the short \
    answer, and also reads ledgers.\n\n\
    Exit codes:\n\
    \x20 0  explained\n\
    \x20 2  a case cannot be read\n\n\
    Examples:\n\
    \x20 wakeful explain tests/fixtures/stories/heartbeat.json\n\
    \x20 wakeful explain stuck --json")]
pub(super) struct Explain {
    #[command(flatten)]
    cases: Cases,
    #[command(flatten)]
    engine: EngineArg,
    /// Print one JSON object per case: an `Explanation` (see `wakeful print schema`)
    #[arg(long)]
    json: bool,
}

/// The parts of an explanation that are printed, read from the JSON of any engine.
#[derive(Deserialize)]
struct Explained {
    head: Head,
    sentence: String,
    status: AgentStatus,
    decision: Decision,
    rules: Vec<Rule>,
    closure: Closure,
    posture: AgentPosture,
    obligations: Vec<Owed>,
    diagnostics: Vec<Diagnostic>,
    next_wake: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Diagnostic {
    message: String,
    evidence: Vec<String>,
}

#[derive(Deserialize)]
struct Rule {
    rule: String,
    says: String,
    outcome: String,
    atom: Option<String>,
    #[serde(default)]
    keys: Vec<SpentKey>,
}

#[derive(Deserialize)]
struct SpentKey {
    key: String,
    spent_by: Seq,
}

#[derive(Deserialize)]
struct Owed {
    kind: ObligationKind,
    id: String,
    seq: Seq,
    enabled_at: Option<Timestamp>,
    held_by: Option<String>,
}

#[derive(Deserialize)]
struct Refused {
    error: ErrorReport,
}

impl Explain {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let cases = case::load_all(&self.cases.cases)?;
        let mut tracer = self.engine.start()?;
        for (at, case) in cases.iter().enumerate() {
            let failed = |why| CliError::Trace { case: case.name.clone(), why };
            let trace = tracer.trace(case).map_err(failed)?;
            let explanation = last_explanation(&case.name, &trace)?;
            if self.json {
                say!("{}", explanation.get());
                continue;
            }
            if at > 0 {
                say!("");
            }
            let explained =
                serde_json::from_str(explanation.get()).map_err(|why| failed(why.into()))?;
            print(&case.name, case.shows(), &explained);
        }
        Ok(Verdict::Well)
    }
}

/// The explanation after the last step. A case whose first step was refused has none.
pub(super) fn last_explanation<'a>(case: &str, trace: &'a Trace) -> Result<&'a RawValue, CliError> {
    // If the first step was refused, the ledger was not opened, and all later answers are about
    // nothing.
    let refused = trace
        .steps
        .first()
        .and_then(|step| serde_json::from_str::<Refused>(step.outcome.get()).ok());
    match (refused, trace.steps.last()) {
        (None, Some(step)) => Ok(&step.explanation),
        (refused, _) => Err(CliError::Refused {
            case: case.to_owned(),
            message: refused.map_or_else(
                || "the case has no steps".to_owned(),
                |refused| refused.error.message,
            ),
        }),
    }
}

fn print(case: &str, shows: &str, explained: &Explained) {
    let decision = &explained.decision;
    say!("{}  {}", painted(STRONG, case), painted(FAINT, shows));
    say!("{}", explained.sentence);
    say!(
        "{} ({}), by rule {}",
        painted(STRONG, &decision.kind.to_string()),
        decision.reason,
        decision.rule
    );
    let about = [
        ("message", decision.message_id.as_ref().map(ToString::to_string)),
        ("work item", decision.work_item_id.as_ref().map(ToString::to_string)),
        ("task", decision.task_id.as_ref().map(ToString::to_string)),
    ];
    for (what, id) in about.into_iter().filter_map(|(what, id)| Some((what, id?))) {
        say!("  about {what} {id}");
    }
    for because in &decision.because {
        say!("  because {}{}", word(because.code), entries(&because.seqs));
    }
    for ignored in &decision.ignored {
        say!("  passed over {}: {}{}", ignored.what, word(ignored.reason), entries(&ignored.seqs));
    }
    say!("");
    print_rules(&explained.rules);
    say!("");
    let closure = &explained.closure;
    let waits =
        closure.waiting_reason.map_or_else(String::new, |reason| format!(", {}", word(reason)));
    say!("status   {}", word(explained.status));
    say!("closure  {}{waits}", word(closure.outcome));
    say!("posture  {}: {}", word(explained.posture.posture), explained.posture.reason);
    for owed in &explained.obligations {
        let when = owed.enabled_at.map_or_else(|| "now".to_owned(), |at| format!("at {at}"));
        let when = owed.held_by.as_ref().map_or(when, |rule| format!("held back by {rule}"));
        say!("owed     {} {} {when}{}", word(owed.kind), owed.id, entries(&[owed.seq]));
    }
    for wrong in &explained.diagnostics {
        say!(
            "warning  {} {}",
            wrong.message,
            painted(FAINT, &format!("({})", wrong.evidence.join(", ")))
        );
    }
    let wake = explained.next_wake.map_or_else(|| "at no set time".to_owned(), |at| at.to_string());
    say!("wakes    {wake}");
    say!("head     {}", explained.head);
}

fn print_rules(rules: &[Rule]) {
    let mut table = style::table(&["rule", "", "says"]);
    for rule in rules {
        let outcome = match rule.outcome.as_str() {
            "fired" => painted(GOOD, "fired"),
            "suppressed" => {
                let keys: Vec<_> = rule
                    .keys
                    .iter()
                    .map(|spent| format!("{} spent by {}", spent.key, spent.spent_by))
                    .collect();
                painted(BAD, &format!("suppressed: {}", keys.join(", ")))
            }
            "false" => {
                painted(FAINT, &format!("needs {}", rule.atom.as_deref().unwrap_or_default()))
            }
            other => painted(FAINT, other),
        };
        table.add_row([rule.rule.clone(), outcome, rule.says.clone()]);
    }
    style::print(&table);
}

/// A name of the contract, with spaces between its words.
pub(super) fn word(name: impl ToString) -> String {
    name.to_string().replace('_', " ")
}

/// The entries that something rests on, in parentheses.
pub(super) fn entries(seqs: &[Seq]) -> String {
    let seqs: Vec<_> = seqs.iter().map(ToString::to_string).collect();
    match seqs.len() {
        0 => String::new(),
        1 => painted(FAINT, &format!(" (entry {})", seqs.join(", "))),
        _ => painted(FAINT, &format!(" (entries {})", seqs.join(", "))),
    }
}
