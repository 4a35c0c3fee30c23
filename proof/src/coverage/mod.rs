//! `cargo xtask coverage`: the coverage of the core's decisions, derivations and planes.

mod export;
mod measure;
mod named;
mod rows;
mod rules;
mod table;

use std::{collections::BTreeMap, fs, process::ExitCode};

use export::Files;
use rows::{DERIVATIONS, Row};
use rules::Rule;
use table::Shares;
use xtask::{
    call::Failure,
    needed::missing,
    paths::Paths,
    stage::{bold, green, red},
};

/// The measured folders, each with the least coverage of lines in tenths of a per cent. Raise it
/// when the tests have improved.
const MEASURED: [(&str, Option<u64>); 5] = [
    ("core/src/ladder", Some(LADDER_FLOOR)),
    ("core/src/derive", Some(DERIVE_FLOOR)),
    ("core/src/record", None),
    ("core/src/state", None),
    ("core/src/fact", None),
];

/// Decisions: some test executes nearly every line.
const LADDER_FLOOR: u64 = 960;

/// Readings of the state.
const DERIVE_FLOOR: u64 = 950;

/// Measures and prints the tables. Fails if a folder is below its floor, or if a rule or row was
/// not executed or has no test.
pub(crate) fn coverage(paths: &Paths) -> Result<ExitCode, Failure> {
    if !measure::is_installed(paths) {
        let how = "`cargo install --locked cargo-llvm-cov` and `rustup component add llvm-tools`";
        return Ok(missing("cargo-llvm-cov with LLVM's programs", how));
    }
    let ran = measure::run(paths)?;
    let folders: Vec<&str> = MEASURED.iter().map(|(folder, _)| *folder).collect();
    // Without this check, a folder that moved would silently no longer be measured.
    if let Some(lost) = folders.iter().find(|folder| !paths.at(folder).is_dir()) {
        return Err(Failure::new(format!(
            "{lost} is gone; correct `MEASURED` in proof/src/coverage/mod.rs"
        )));
    }
    let files = export::read(paths, &ran.lcov, &ran.json, &folders)?;

    let text_of = |path: &str| fs::read_to_string(paths.at(path)).unwrap_or_default();
    let rules = rules::all(&files, text_of);
    let ids: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
    let named = named::tests_by_rule(paths, &ids)?;
    let rows = DERIVATIONS.map(|derivation| derivation.rows(&files, text_of));

    anstream::println!(
        "{}: the unit tests of wakeful-core and the tests of wakeful-tests, {}",
        bold("ran"),
        ran.counts
    );
    anstream::println!(
        "{}: {} tests that need a guest or files beside the tree: {}",
        bold("not run"),
        ran.left_out.len(),
        ran.left_out.join(", ")
    );
    anstream::print!("\n{}", table::of_files(&files, &folders));
    anstream::print!("\n{}", table::missed(&files, &folders));
    anstream::print!("\n{}", table::of_rules(&rules, &named));
    for (derivation, rows) in DERIVATIONS.iter().zip(&rows) {
        anstream::print!("\n{}", table::of_rows(derivation.name, rows));
    }
    let mut findings = below_floor(&files);
    findings.extend(of_rules(&rules, &named));
    for (derivation, rows) in DERIVATIONS.iter().zip(&rows) {
        findings.extend(of_rows(derivation, rows));
    }
    anstream::println!();
    for finding in &findings {
        anstream::println!("{}: {finding}", red("coverage"));
    }
    if findings.is_empty() {
        let share = |folder: &&str| {
            format!(
                "{} of {folder}",
                table::per_cent(Shares::below(&files, folder).lines.per_mille())
            )
        };
        let shares = folders.iter().map(share).collect::<Vec<_>>().join(", ");
        let reached: usize = rows.iter().map(Vec::len).sum();
        let all = format!(
            "{} rules and {reached} rows: every one was executed, and every rule is named by a \
             test",
            rules.len()
        );
        anstream::println!("{}: lines executed: {shares}; {}", bold("coverage"), green(all));
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

fn below_floor(files: &Files) -> Vec<String> {
    let floors = MEASURED.iter().filter_map(|(folder, floor)| Some((*folder, (*floor)?)));
    let covered = floors.map(|(folder, floor)| (folder, floor, Shares::below(files, folder).lines));
    covered
        // A folder without lines has a share of 100 %, but then nothing was measured.
        .filter(|(_, floor, lines)| lines.per_mille() < *floor || lines.all == 0)
        .map(|(folder, floor, lines)| {
            let is = if lines.all == 0 {
                "nothing".to_owned()
            } else {
                table::per_cent(lines.per_mille())
            };
            format!(
                "{is} of the lines of {folder} are executed, {} are demanded; test what is listed \
                 as not executed",
                table::per_cent(floor)
            )
        })
        .collect()
}

fn of_rules(rules: &[Rule], named: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    // Otherwise rules in a new form would pass, because none of them would be read.
    if rules.is_empty() {
        return vec![
            "no rule was found in core/src/ladder; tell proof/src/coverage/rules.rs how rules are \
             written now"
                .to_owned(),
        ];
    }
    let mut findings = Vec::new();
    for rule in rules {
        match rule.decided {
            Some(0) => findings.push(format!(
                "the rule {} never decided; write a scenario in which it does",
                rule.id
            )),
            Some(_) => {}
            None => findings.push(format!(
                "the rule {} has no closure of its own as `decide`, so it cannot be measured; \
                 give it one",
                rule.id
            )),
        }
        if named.get(&rule.id).is_none_or(Vec::is_empty) {
            findings.push(format!(
                "no test names the rule {}; let a scenario, a fixture or a test expect it by its \
                 id",
                rule.id
            ));
        }
    }
    findings
}

fn of_rows(derivation: &rows::Derivation, rows: &[Row]) -> Vec<String> {
    if rows.is_empty() {
        return vec![format!(
            "{} has no rows; tell proof/src/coverage/rows.rs where {} is now",
            derivation.place(),
            derivation.name
        )];
    }
    let unreached = rows.iter().filter(|row| row.reached.is_none_or(|count| count == 0));
    unreached
        .map(|row| {
            format!(
                "a row of {} is never reached, line {}: {}; test it",
                derivation.name, row.line, row.id
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{export::Measured, *};

    #[test]
    fn what_was_not_executed_or_not_named_is_found() {
        let rule = |id: &str, decided| Rule { id: id.to_owned(), decided };
        let rules = [rule("1.stopped", Some(2)), rule("8.timer", Some(0)), rule("8.task", None)];
        let named = BTreeMap::from([
            ("1.stopped".to_owned(), vec!["a".to_owned()]),
            ("8.timer".to_owned(), vec!["b".to_owned()]),
        ]);
        let found = of_rules(&rules, &named);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found[0].contains("8.timer never decided")
                && found[1].contains("8.task has no closure"),
            "{found:?}"
        );
        assert!(found[2].contains("no test names the rule 8.task"), "{found:?}");
        assert!(of_rules(&[], &named)[0].contains("no rule was found"));

        let row = |id: &str, reached| Row { id: id.to_owned(), line: 7, reached };
        let found =
            of_rows(&DERIVATIONS[0], &[row("a", Some(1)), row("b", Some(0)), row("c", None)]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("closure is never reached, line 7: b"), "{}", found[0]);
        assert!(
            of_rows(&DERIVATIONS[1], &[])[0]
                .contains("`ROWS` of core/src/derive/continuation.rs has no rows")
        );
    }

    #[test]
    fn a_folder_below_its_floor_is_found_and_one_without_lines_too() {
        let file = |counts: &[u64]| Measured {
            lines: (1..).zip(counts.iter().copied()).collect(),
            ..Measured::default()
        };
        let files = Files::from([("core/src/ladder/a.rs".to_owned(), file(&[1, 0]))]);
        let found = below_floor(&files);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("50.0 % of the lines of core/src/ladder"), "{}", found[0]);
        assert!(found[1].starts_with("nothing of the lines of core/src/derive"), "{}", found[1]);
        let full = Files::from([
            ("core/src/ladder/a.rs".to_owned(), file(&[1])),
            ("core/src/derive/a.rs".to_owned(), file(&[1])),
        ]);
        assert_eq!(below_floor(&full), [""; 0]);
    }
}
