//! docs/performance.md: the bench writes what it measured between two marks.

use std::{fmt::Write as _, fs, io, path::Path};

use super::{Figure, against};

/// Before the part that the bench writes, and after it.
const MARKS: [&str; 2] = ["<!-- written by `cargo xtask bench --page` -->", "<!-- to here -->"];

/// Writes the figures of a whole run into the page.
///
/// # Errors
/// If the tree has changes that no commit has, or the page cannot be read, has no marks, or cannot
/// be written.
pub fn write(page: &Path, figures: &[Figure]) -> io::Result<()> {
    let (commit, has_changes) = against::here()?;
    if has_changes {
        return Err(io::Error::other(
            "the tree has changes: commit them, so that the page can name what was measured",
        ));
    }
    let text = fs::read_to_string(page)?;
    let parts = text.split_once(MARKS[0]).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(MARKS[1])?;
        Some((before, after))
    });
    let (before, after) = parts
        .ok_or_else(|| io::Error::other(format!("the page lacks `{}`", MARKS.join("` or `"))))?;
    let [begin, end] = MARKS;
    fs::write(page, format!("{before}{begin}\n\n{}\n{end}{after}", part(&commit, figures)))
}

fn part(commit: &str, figures: &[Figure]) -> String {
    let mut part = answers(figures);
    let _ = writeln!(part, "\n## The last run\n\nOne run of commit `{commit}`, whole.\n");
    part.push_str("| figure | cost | compared with | its cost | ratio | goal |\n");
    part.push_str("|---|---|---|---|---|---|\n");
    for row in figures.iter().map(Figure::row) {
        let _ = writeln!(part, "| {} |", row.join(" | "));
    }
    part
}

/// What people ask first.
fn answers(figures: &[Figure]) -> String {
    let find = |name: &str| figures.iter().find(|figure| figure.name.starts_with(name));
    let cost = |name: &str| find(name).map(|figure| (figure.unit.tell(figure.cost), figure.cost));
    let base = |name: &str| find(name).map(|figure| (figure.unit.tell(figure.base), figure.base));
    let mut lines = String::from("| what people ask | answer |\n|---|---|\n");
    let mut say = |asked: &str, answer: Option<String>| {
        if let Some(answer) = answer {
            let _ = writeln!(lines, "| {asked} | {answer} |");
        }
    };
    let many = |bytes: f64| format!("{:.0}", 1e9 / bytes);
    say(
        "How many agents fit into a gigabyte?",
        find("memory of one of").map(|figure| {
            format!(
                "{} natively, {} in the sandbox: an agent has {} and {}",
                many(figure.base),
                many(figure.cost),
                figure.unit.tell(figure.base),
                figure.unit.tell(figure.cost)
            )
        }),
    );
    say(
        "How many turns does a core schedule in a second?",
        base("full step in wasmtime, with fuel").zip(cost("full step in wasmtime, with fuel")).map(
            |((native, nanos), (fuelled, fuelled_nanos))| {
                format!(
                    "{:.0} natively, {:.0} in the sandbox: a full step takes {native} and {fuelled}",
                    1e9 / nanos,
                    1e9 / fuelled_nanos
                )
            },
        ),
    );
    say("What does a turn add to a ledger?", Some("ten entries in four batches, 4 kB".to_owned()));
    say(
        "What does a durable fact wait for?",
        cost("durable fact on SQLite").zip(base("durable fact on SQLite")).map(
            |((fact, _), (bare, _))| {
                format!("{fact} on SQLite, where a bare append and fsync takes {bare}")
            },
        ),
    );
    say(
        "Does it get slower with age, or with what waits?",
        find("full step after").zip(find("full step beside")).map(|_| {
            let worst = figures
                .iter()
                .filter(|figure| figure.name.starts_with("full step after") || figure.name.starts_with("full step beside"))
                .map(|figure| figure.ratio)
                .fold(0.0, f64::max);
            format!("no: after a million entries, or beside 100,000 items, a full step takes at most {worst:.2} times as long")
        }),
    );
    say(
        "How long does it take to open a ledger of a million entries?",
        find("open 1").map(|figure| {
            let resumed = find_resumed(figures);
            format!("{} without a snapshot{resumed}", figure.unit.tell(figure.cost))
        }),
    );
    lines
}

fn find_resumed(figures: &[Figure]) -> String {
    let resumed = figures.iter().find(|figure| figure.name.contains("from snapshot"));
    resumed.map_or(String::new(), |figure| format!(", {} from one", figure.unit.tell(figure.cost)))
}
