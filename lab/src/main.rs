//! `lab`: the commands that developers of the scheduler need, and no user.

mod trace;
mod vectors;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Why a command failed: one sentence.
type Failure = Box<dyn std::error::Error>;

/// Study the scheduler.
#[derive(Parser)]
#[command(
    name = "lab",
    after_help = "exit code: 0 success, 1 an answer fails, 2 the input is wrong"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check the core against recorded answers of the reference runtime
    ///
    /// A vector is an input and the answer of the reference runtime. Our answer is equal, or it
    /// differs deliberately because contract 13 demands it (the D numbers), or it fails.
    Vectors(vectors::Vectors),
    /// Print every step of a case as JSON: call, answer, entries and explanation
    ///
    /// A line per case: {case, steps: [{command, outcome, entries, explanation}]}. `wakeful
    /// crosscheck` compares such traces of several engines.
    Trace(trace::TraceArgs),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Vectors(vectors) => vectors.run(),
        Command::Trace(trace) => trace.run().map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}
