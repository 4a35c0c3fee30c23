//! Replays fixture folders, and compares what the scheduler finds with their `expected.json`.

use std::{collections::BTreeMap, error::Error, fs, io, path::Path};

use wakeful_core::{
    Boundary, Decision, Expected, Folder, Import, Machine, Options, Timestamp, json,
};

use crate::table::table;

/// When fixtures are replayed: fixed, so that a replay gives the same result on every day.
const REPLAYED_AT: &str = "2026-01-01T00:00:00Z";

/// What became of a fixture.
struct Replayed {
    decision: Decision,
    /// What was expected and what was found, as JSON, if they differ.
    difference: Option<(String, String)>,
}

/// Replays every fixture folder below a folder. Returns whether all are as expected.
pub(crate) fn replay_all(folder: &Path) -> Result<bool, Box<dyn Error>> {
    let mut names = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    let mut by_rule = BTreeMap::<[String; 2], (usize, String)>::new();
    let (mut count, mut differing) = (0, 0);
    for name in names {
        let shown = name.to_string_lossy().into_owned();
        let replayed =
            replay(&folder.join(&name)).map_err(|why| format!("the fixture {shown}: {why}"))?;
        count += 1;
        if let Some((expected, found)) = &replayed.difference {
            differing += 1;
            println!("{shown} differs\n  expected {expected}\n  found    {found}");
        }
        let Decision { kind, rule, .. } = replayed.decision;
        // The first fixture of a rule is its example.
        by_rule.entry([kind.to_string(), rule]).or_insert((0, shown)).0 += 1;
    }
    let rows = by_rule.into_iter().map(|([decision, rule], (count, example))| {
        let example =
            if count == 1 { example } else { format!("{example} and {} more", count - 1) };
        [count.to_string(), decision, rule, example]
    });
    print!("{}", table(["fixtures", "decision", "rule", "example"], rows));
    println!("\n{count} fixtures, {differing} differ from their expected.json");
    Ok(differing == 0)
}

fn replay(path: &Path) -> Result<Replayed, Box<dyn Error>> {
    let mut folder = Folder::new();
    read(path, path, &mut folder)?;
    let expected = Expected::of_folder(&folder)?.ok_or("it has no expected.json")?;
    let now = Timestamp::parse(REPLAYED_AT)?;
    let import = Import::of_folder(&folder, now)?;
    let mut machine = Machine::new(Options::new(import.agent_id().clone()));
    // No batch is stored: this machine ends with the replay.
    machine.begin(now)?;
    machine.committed();
    machine.import(import, now)?;
    machine.committed();
    let explanation = machine.explain(Boundary::RunLoopIdle, now);
    let (expected, found) = (json::write(&expected), json::write(&expected.found(&explanation)));
    let difference = (expected != found).then_some((expected, found));
    Ok(Replayed { decision: explanation.decision, difference })
}

/// Reads all files of a folder, by their paths with `/`.
fn read(root: &Path, folder: &Path, texts: &mut Folder) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read(root, &path, texts)?;
            continue;
        }
        let names = path.strip_prefix(root).unwrap_or(&path).iter();
        let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
        texts.insert(names.join("/"), fs::read_to_string(&path)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixtures() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/scheduler")
    }

    #[test]
    fn the_fixtures_of_the_tree_are_as_expected() {
        assert!(replay_all(&fixtures()).expect("they can be read"));
    }

    #[test]
    fn a_difference_and_a_missing_expectation_are_seen() {
        let copy = std::env::temp_dir().join(format!("wakeful-fixture-{}", std::process::id()));
        let fixture = copy.join("one");
        fs::create_dir_all(&fixture).expect("a folder");
        let from = fixtures().join("agent_waits_for_callback");
        let mut texts = Folder::new();
        read(&from, &from, &mut texts).expect("it can be read");
        for (name, text) in &texts {
            let path = fixture.join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            let text = text.replace("\"active_tasks\": 0", "\"active_tasks\": 7");
            fs::write(path, text).expect("it is written");
        }
        assert!(!replay_all(&copy).expect("it can be read"));
        fs::remove_file(fixture.join("expected.json")).expect("it is there");
        let why = replay_all(&copy).expect_err("nothing is expected").to_string();
        assert_eq!(why, "the fixture one: it has no expected.json");
        fs::remove_dir_all(copy).expect("it is removed");
    }
}
