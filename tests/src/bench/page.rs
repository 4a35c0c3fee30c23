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
    let find = |part: &str| figures.iter().find(|figure| figure.name.contains(part));
    let cost = |figure: &Figure| figure.unit.tell(figure.cost);
    let base = |figure: &Figure| figure.unit.tell(figure.base);
    let worst = figures
        .iter()
        .filter(|figure| {
            ["full step after", "full step beside"].iter().any(|name| figure.name.starts_with(name))
        })
        .max_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let answers = [
        (
            "How many agents fit into a gigabyte?",
            find("sandboxed agents").map(|it| {
                format!("{:.0} in the sandbox: an agent has {}", 1e9 / it.cost, cost(it))
            }),
        ),
        (
            "How many turns does a core schedule in a second?",
            find("full step in wasmtime, with fuel").map(|it| {
                format!(
                    "{:.0} natively, {:.0} in the sandbox: a full step takes {} and {}",
                    1e9 / it.base,
                    1e9 / it.cost,
                    base(it),
                    cost(it)
                )
            }),
        ),
        (
            "What does the scheduler add to a turn?",
            find("full step").zip(find("durable fact on SQLite")).map(|(step, fact)| {
                format!(
                    "{} of processor, and on SQLite the wait for its four batches: {}",
                    cost(step),
                    fact.unit.tell(4.0 * fact.cost)
                )
            }),
        ),
        (
            "What does a durable fact wait for?",
            find("durable fact on SQLite").map(|it| {
                format!("{} on SQLite, where a bare append and fsync takes {}", cost(it), base(it))
            }),
        ),
        (
            "Does it get slower with age, or with what waits?",
            worst.map(|it| {
                format!("at most {:.2} times: {}, {}", it.ratio, it.name, it.compared_with)
            }),
        ),
        (
            "How long does it take to open a ledger of a million entries?",
            find("fold and verify all").zip(find("from snapshot")).map(|(all, resumed)| {
                format!("{} without a snapshot, {} from one", cost(all), cost(resumed))
            }),
        ),
    ];
    let mut lines = String::from("| what people ask | answer |\n|---|---|\n");
    for (asked, answer) in answers {
        let _ =
            writeln!(lines, "| {asked} | {} |", answer.unwrap_or_else(|| "not measured".into()));
    }
    lines
}
