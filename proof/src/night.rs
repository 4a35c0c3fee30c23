//! `cargo xtask night`: runs every method for a share of the time, and keeps what each printed for
//! docs/proof.md.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, ExitCode},
    time::Instant,
};

use crate::page::{
    self,
    methods::{Command, METHODS, Method},
    runs::{self, Ran},
};
use xtask::{
    call::{Call, Failure},
    forward,
    paths::{Paths, program},
    stage::{bold, green, red, seconds},
};

/// The options of the command.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub(crate) struct Request {
    /// The time to share, in minutes
    #[arg(long, value_name = "N", default_value_t = 480)]
    minutes: u64,
    /// The methods; all if none is named
    #[arg(value_name = "METHOD", value_parser = named)]
    methods: Vec<&'static str>,
}

/// The method of this name.
fn named(name: &str) -> Result<&'static str, String> {
    let all = || names().collect::<Vec<_>>().join(", ");
    names().find(|known| *known == name).ok_or_else(|| format!("one of {}", all()))
}

/// The names of the methods with a command.
fn names() -> impl Iterator<Item = &'static str> {
    METHODS.iter().filter(|method| method.command.is_some()).map(|method| method.name)
}

/// Runs each method, one after the other. If one fails, the others still run.
pub(crate) fn night(paths: &Paths, request: &Request) -> Result<ExitCode, Failure> {
    let is_asked =
        |method: &&Method| request.methods.is_empty() || request.methods.contains(&method.name);
    let asked: Vec<(&Method, &Command)> = METHODS
        .iter()
        .filter(is_asked)
        .filter_map(|method| Some((method, method.command.as_ref()?)))
        .collect();
    let programs = Programs::copy(paths)?;
    let mut failed = Vec::new();
    for ((method, command), minutes) in asked.iter().zip(shares(&asked, request.minutes)) {
        let line = (command.line)(minutes);
        anstream::eprintln!("{}: cargo xtask {line}", bold(method.name));
        // Per method, because a night is long and the tree may change meanwhile.
        let commit = commit(paths)?;
        let begun = Instant::now();
        let (status, printed) = programs.with(paths, method.name, &line).told()?;
        let took = begun.elapsed();
        let numbers = numbers(&printed, command.tells);
        // A run that prints no numbers shows nothing, even if it ended well.
        let is_well = status.success() && !numbers.is_empty();
        numbers.iter().for_each(|line| anstream::println!("{}: {line}", method.name));
        if is_well {
            anstream::eprintln!("{}: {} in {}", bold(method.name), green("held"), seconds(took));
            runs::keep(
                paths,
                method.name,
                &Ran { line, commit, seconds: took.as_secs(), numbers },
            )?;
            // Write the page now, because a later method may be tidy, which fails on a stale page.
            page::write(paths)?;
        } else {
            let log = paths.log(&format!("night-{}", method.name));
            anstream::println!(
                "{}: {} ({status}); {} has what it printed",
                bold(method.name),
                red("failed"),
                log.display()
            );
            failed.push(method.name);
        }
    }
    programs.remove();
    if failed.is_empty() {
        anstream::println!("{}: {} methods, {}", bold("night"), asked.len(), green("all held"));
        return Ok(ExitCode::SUCCESS);
    }
    anstream::println!(
        "{}: {} of {} methods {}: {}",
        bold("night"),
        failed.len(),
        asked.len(),
        red("failed"),
        failed.join(", ")
    );
    Ok(ExitCode::FAILURE)
}

/// The minutes for each; at least one.
fn shares(asked: &[(&Method, &Command)], minutes: u64) -> Vec<u64> {
    let all: u64 = asked.iter().map(|(_, command)| command.share).sum();
    asked.iter().map(|(_, command)| (minutes * command.share / all.max(1)).max(1)).collect()
}

/// Copies of this program and of `xtask`. They are used for hours, and cargo may replace the
/// originals meanwhile.
pub(crate) struct Programs {
    own: PathBuf,
    xtask: PathBuf,
}

impl Programs {
    /// Builds `xtask` if it is missing, and copies both.
    pub(crate) fn copy(paths: &Paths) -> Result<Self, Failure> {
        Call::cargo(paths, "night-xtask", "build").args(["-p", "xtask"]).build()?;
        let folder = paths.target().join("xtask");
        let copy = |from: &Path, name: &str| {
            let to = folder.join(format!("{name}-{}", process::id()));
            fs::create_dir_all(&folder).and_then(|()| fs::copy(from, &to)).map(|_| to)
        };
        let both = env::current_exe().and_then(|own| {
            let xtask = paths.target().join("debug").join(program("xtask"));
            Ok(Self { own: copy(&own, "proof")?, xtask: copy(&xtask, "xtask")? })
        });
        both.map_err(|why| Failure::new(format!("cannot copy this program: {why}")))
    }

    /// A command of one of the copies.
    pub(crate) fn with(&self, paths: &Paths, log: &str, line: &str) -> Call {
        let is_own = line
            .split_whitespace()
            .next()
            .is_some_and(|name| forward::names_of_proof().any(|own| own == name));
        let program = if is_own { &self.own } else { &self.xtask };
        Call::new(paths, &format!("night-{log}"), program).args(line.split_whitespace())
    }

    /// Removes the copies.
    pub(crate) fn remove(self) {
        for copy in [self.own, self.xtask] {
            // The copies are not needed any more; one that stays does no harm.
            let _ = fs::remove_file(copy);
        }
    }
}

fn numbers(printed: &str, tells: &str) -> Vec<String> {
    let lines = printed.lines().map(|line| anstream::adapter::strip_str(line).to_string());
    lines
        .filter(|line| line.contains(tells))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// The commit of the tree.
pub(crate) fn commit(paths: &Paths) -> Result<String, Failure> {
    let git = |args: &[&str]| Call::new(paths, "night-commit", "git").args(args).answer();
    let commit = git(&["rev-parse", "--short=10", "HEAD"])?;
    // Files that this command writes do not count as changes.
    let changes = git(&["status", "--porcelain", "--", ".", ":!docs/proof", ":!docs/proof.md"])?;
    Ok(format!("{}{}", commit.trim(), if changes.is_empty() { "" } else { " and changes" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_night_is_shared_out_and_everybody_gets_a_minute() {
        let of = |name: &str| {
            METHODS
                .iter()
                .find(|method| method.name == name)
                .map(|method| (method, method.command.as_ref().expect("one")))
        };
        let asked: Vec<_> = ["model", "sim", "tidy"].into_iter().filter_map(of).collect();
        assert_eq!(shares(&asked, 50), [30, 20, 1]);
        assert_eq!(shares(&asked, 0), [1, 1, 1]);
        assert_eq!(shares(&asked[2..], 50), [1]);
    }

    #[test]
    fn the_lines_with_numbers_are_kept_without_colours_and_gaps() {
        let printed =
            "building\nscenarios   20 stories  \u{1b}[31m3 deaths\u{1b}[0m  as without\ndone\n";
        assert_eq!(numbers(printed, " deaths"), ["scenarios 20 stories 3 deaths as without"]);
        assert!(numbers(printed, "shapes").is_empty());
    }
}
