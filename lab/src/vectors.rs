//! `lab vectors`: judges our answers to vectors of the reference runtime.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;
use serde_json::json;
use wakeful_lab::{
    conformance::{self, Judgement},
    oracle,
};

use super::Failure;

#[derive(Args)]
pub(super) struct Vectors {
    /// Files of vectors: `.jsonl` or `.jsonl.gz`
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one JSON object per vector: {input, answer, differences}
    #[arg(long)]
    answers: bool,
    /// Show at most N failures per operation
    #[arg(long, default_value_t = 3, value_name = "N")]
    show: usize,
}

#[derive(Default)]
struct Tally {
    equal: u64,
    deliberate: u64,
    by_difference: BTreeMap<u8, u64>,
    failed: Vec<String>,
}

impl Vectors {
    /// Returns whether no answer fails.
    pub(super) fn run(&self) -> Result<bool, Failure> {
        let mut tallies = BTreeMap::<String, Tally>::new();
        for file in &self.files {
            for vector in conformance::read_all(file)? {
                let input = vector.input.get();
                let answer =
                    oracle::answer(input).map_err(|why| format!("{}: {why}", file.display()))?;
                let judgement = conformance::judge(&vector, &answer);
                if self.answers {
                    let differences = match &judgement {
                        Judgement::Deliberate(numbers) => numbers.as_slice(),
                        Judgement::Equal | Judgement::Failed(..) => &[],
                    };
                    let answer: serde_json::Value = serde_json::from_str(&answer)?;
                    let (input, differences) = (&vector.input, differences);
                    println!(
                        "{}",
                        json!({ "input": input, "answer": answer, "differences": differences })
                    );
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
                    Judgement::Failed(path, expected, answered) => tally.failed.push(format!(
                        "{path}\n  expected  {expected}\n  answered  {answered}\n  input     {input}"
                    )),
                }
            }
        }
        // Otherwise an empty file would pass as a success that checked nothing.
        if tallies.is_empty() {
            return Err("the files contain no vectors".into());
        }
        if !self.answers {
            self.print(&tallies);
        }
        Ok(tallies.values().all(|tally| tally.failed.is_empty()))
    }

    fn print(&self, tallies: &BTreeMap<String, Tally>) {
        println!("operation         vectors   equal  deliberate  failed  by difference");
        for (operation, tally) in tallies {
            let Tally { equal, deliberate, by_difference, failed } = tally;
            let by: Vec<_> =
                by_difference.iter().map(|(number, count)| format!("D{number} {count}")).collect();
            let (failures, by) = (failed.len(), by.join(", "));
            let all = equal + deliberate + failures as u64;
            println!("{operation:16} {all:>8} {equal:>7} {deliberate:>11} {failures:>7}  {by}");
        }
        for (operation, tally) in tallies {
            for failure in tally.failed.iter().take(self.show) {
                println!("\n{operation} fails at {failure}");
            }
        }
    }
}
