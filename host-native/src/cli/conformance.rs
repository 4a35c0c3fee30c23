//! `wakeful conformance`: vectors of the reference runtime against our own functions.

use std::{collections::BTreeMap, path::PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{
    CliError, Verdict,
    style::{self, BAD, GOOD, STRONG, painted},
};
use crate::conformance::{self, Judgement, Oracle};

#[derive(Args)]
pub(super) struct Conformance {
    /// Files of vectors: `.jsonl` or `.jsonl.gz`
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Who answers
    #[arg(long, value_enum, default_value = "native")]
    engine: Answerer,
    /// The oracle component of the engine wasmtime [default: that of the build folder]
    #[arg(long, value_name = "FILE")]
    guest: Option<PathBuf>,
    /// Print a line per vector: {input, answer, differences}
    #[arg(long)]
    answers: bool,
    /// How many failures to show per operation
    #[arg(long, default_value_t = 3, value_name = "N")]
    show: usize,
}

/// Who answers vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Answerer {
    /// The core in this program
    Native,
    /// The oracle component in wasmtime
    #[value(alias = "wasm")]
    Wasmtime,
}

#[derive(Default)]
struct Tally {
    equal: u64,
    by_difference: BTreeMap<u8, u64>,
    deliberate: u64,
    failures: Vec<Failure>,
}

struct Failure {
    input: String,
    path: String,
    expected: String,
    answered: String,
}

#[derive(Serialize)]
struct Answered<'a> {
    input: &'a serde_json::value::RawValue,
    answer: Box<serde_json::value::RawValue>,
    differences: &'a [u8],
}

impl Conformance {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let mut oracle = match self.engine {
            Answerer::Native => Oracle::Native,
            Answerer::Wasmtime => Oracle::sandboxed(self.guest.as_deref())?,
        };
        let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
        let mut seen = 0_u64;
        for file in &self.files {
            for vector in conformance::read_all(file)? {
                seen += 1;
                let failed = |why: conformance::OracleError| CliError::Vector { file: file.clone(), message: why.to_string() };
                let answer = oracle.answer(vector.input.get()).map_err(failed)?;
                let judgement = conformance::judge(&vector, &answer);
                if self.answers {
                    print_answer(&vector, answer, &judgement)?;
                }
                let tally = tallies.entry(vector.operation.clone()).or_default();
                match judgement {
                    Judgement::Equal => tally.equal += 1,
                    Judgement::Deliberate(numbers) => {
                        tally.deliberate += 1;
                        for number in numbers {
                            *tally.by_difference.entry(number).or_default() += 1;
                        }
                    }
                    Judgement::Failed(path, expected, answered) => {
                        tally.failures.push(Failure { input: vector.input.get().to_owned(), path, expected, answered });
                    }
                }
            }
        }
        if seen == 0 {
            return Err(CliError::NoVectors);
        }
        if !self.answers {
            print(&tallies, self.show);
        }
        let failed: usize = tallies.values().map(|tally| tally.failures.len()).sum();
        Ok(if failed == 0 { Verdict::Well } else { Verdict::Differs })
    }
}

fn print_answer(vector: &conformance::Vector, answer: String, judgement: &Judgement) -> Result<(), CliError> {
    let differences: &[u8] = match judgement {
        Judgement::Deliberate(numbers) => numbers,
        Judgement::Equal | Judgement::Failed(..) => &[],
    };
    let not_json = |why| CliError::Engine(crate::trace::TraceError::NotJson(why));
    let answer = serde_json::value::RawValue::from_string(answer).map_err(not_json)?;
    let line = serde_json::to_string(&Answered { input: &vector.input, answer, differences }).map_err(not_json)?;
    say!("{line}");
    Ok(())
}

fn print(tallies: &BTreeMap<String, Tally>, show: usize) {
    let mut table = style::table(&["operation", "vectors", "equal", "deliberate", "failed", "by difference"]);
    for (operation, tally) in tallies {
        let failed = tally.failures.len() as u64;
        let total = tally.equal + tally.deliberate + failed;
        let by: Vec<_> = tally.by_difference.iter().map(|(number, count)| format!("D{number} {count}")).collect();
        let share = format!("{} ({}.{} %)", tally.equal, tally.equal * 100 / total, tally.equal * 1000 / total % 10);
        let failures = painted(if failed == 0 { GOOD } else { BAD }, &failed.to_string());
        table.add_row([operation.clone(), total.to_string(), share, tally.deliberate.to_string(), failures, by.join(", ")]);
    }
    style::print(&table);
    for (operation, tally) in tallies {
        for failure in tally.failures.iter().take(show) {
            say!("\n{} fails at {}", painted(STRONG, operation), failure.path);
            say!("  expected  {}", painted(GOOD, &failure.expected));
            say!("  answered  {}", painted(BAD, &failure.answered));
            say!("  input     {}", failure.input);
        }
    }
}
