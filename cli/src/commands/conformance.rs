//! `wakeful conformance`: checks our own functions against vectors of the reference runtime.

use std::{collections::BTreeMap, path::PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    CliError, Verdict,
    style::{self, BAD, GOOD, STRONG, painted},
};
use crate::conformance::{self, Judgement, Oracle};

#[derive(Args)]
#[command(after_help = "\
    A vector is an input and the answer of the reference runtime. Our answer is equal, or it \
    differs deliberately because contract 13 demands it (the D numbers), or it fails.\n\n\
    --json prints one array of {operation, vectors, equal, deliberate, failed, by_difference \
    {NUMBER: count}, failures [{path, expected, answered, input}]}. --show limits the \
    failures.\n\n\
    Exit codes:\n\
    \x20 0  no answer fails\n\
    \x20 1  some answers fail\n\
    \x20 2  the files cannot be read, or contain no vectors\n\n\
    Examples:\n\
    \x20 wakeful conformance tests/conformance/closure.jsonl.gz\n\
    \x20 wakeful conformance tests/conformance/decide.jsonl.gz --engine wasmtime --json")]
pub(super) struct Conformance {
    /// Files of vectors: `.jsonl` or `.jsonl.gz`
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The engine that answers
    #[arg(long, value_enum, default_value = "native")]
    engine: Answerer,
    /// The oracle component for the engine wasmtime [default: the one in the build folder]
    #[arg(long, value_name = "FILE")]
    guest: Option<PathBuf>,
    /// Print one JSON object per vector: {input, answer, differences}
    #[arg(long)]
    answers: bool,
    /// Print one JSON document
    #[arg(long, conflicts_with = "answers")]
    json: bool,
    /// Show at most N failures per operation
    #[arg(long, default_value_t = 3, value_name = "N")]
    show: usize,
}

/// An engine that answers vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Answerer {
    /// The core of this program
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

#[derive(Serialize)]
struct Failure {
    path: String,
    expected: String,
    answered: String,
    input: Box<RawValue>,
}

/// The result for an operation.
#[derive(Serialize)]
struct Row<'a> {
    operation: &'a str,
    vectors: u64,
    equal: u64,
    deliberate: u64,
    failed: u64,
    /// The number of vectors per D of contract 13.
    by_difference: &'a BTreeMap<u8, u64>,
    failures: Vec<&'a Failure>,
}

impl<'a> Row<'a> {
    /// Takes over at most `show` failures.
    fn new(operation: &'a str, tally: &'a Tally, show: usize) -> Self {
        let failed = tally.failures.len() as u64;
        Self {
            operation,
            vectors: tally.equal + tally.deliberate + failed,
            equal: tally.equal,
            deliberate: tally.deliberate,
            failed,
            by_difference: &tally.by_difference,
            failures: tally.failures.iter().take(show).collect(),
        }
    }
}

#[derive(Serialize)]
struct Answered<'a> {
    input: &'a RawValue,
    answer: Box<RawValue>,
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
                let failed = |why: conformance::OracleError| CliError::Vector {
                    file: file.clone(),
                    message: why.to_string(),
                };
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
                        tally.failures.push(Failure {
                            path,
                            expected,
                            answered,
                            input: vector.input.clone(),
                        });
                    }
                }
            }
        }
        // Otherwise an empty file would pass as a success that checked nothing.
        if seen == 0 {
            return Err(CliError::NoVectors);
        }
        let rows: Vec<Row<'_>> = tallies
            .iter()
            .map(|(operation, tally)| Row::new(operation, tally, self.show))
            .collect();
        if self.json {
            say!("{}", wakeful_core::json::write(&rows));
        } else if !self.answers {
            print(&rows);
        }
        let failed: usize = tallies.values().map(|tally| tally.failures.len()).sum();
        Ok(if failed == 0 { Verdict::Well } else { Verdict::Differs })
    }
}

fn print_answer(
    vector: &conformance::Vector,
    answer: String,
    judgement: &Judgement,
) -> Result<(), CliError> {
    let differences: &[u8] = match judgement {
        Judgement::Deliberate(numbers) => numbers,
        Judgement::Equal | Judgement::Failed(..) => &[],
    };
    let not_json = |why| CliError::Engine(crate::trace::TraceError::NotJson(why));
    let answer = RawValue::from_string(answer).map_err(not_json)?;
    let line = serde_json::to_string(&Answered { input: &vector.input, answer, differences })
        .map_err(not_json)?;
    say!("{line}");
    Ok(())
}

fn print(rows: &[Row<'_>]) {
    let mut table =
        style::table(&["operation", "vectors", "equal", "deliberate", "failed", "by difference"]);
    for Row { operation, vectors, equal, deliberate, failed, by_difference, .. } in rows {
        let by: Vec<_> =
            by_difference.iter().map(|(number, count)| format!("D{number} {count}")).collect();
        // A row has at least one vector, so this does not divide by zero.
        let share =
            format!("{equal} ({}.{} %)", equal * 100 / vectors, equal * 1000 / vectors % 10);
        let failures = painted(if *failed == 0 { GOOD } else { BAD }, &failed.to_string());
        table.add_row([
            (*operation).to_owned(),
            vectors.to_string(),
            share,
            deliberate.to_string(),
            failures,
            by.join(", "),
        ]);
    }
    style::print(&table);
    for row in rows {
        for failure in &row.failures {
            say!("\n{} fails at {}", painted(STRONG, row.operation), failure.path);
            say!("  expected  {}", painted(GOOD, &failure.expected));
            say!("  answered  {}", painted(BAD, &failure.answered));
            say!("  input     {}", failure.input);
        }
    }
}
