//! Conformance: our functions must answer like the reference runtime. Only the differences that
//! contract 13 names are allowed, and only as far as it allows them. A decision is compared with
//! its keys and its evidence (contract 7.4).

use std::path::{Path, PathBuf};

use serde_json::Value;
use wakeful_lab::{
    conformance::{self, Judgement, Vector},
    oracle,
};
use wakeful_tests::paths;

/// The kept sets, and the share of vectors that must be equal in every part, per mille. The rest is
/// for vectors that a D of contract 13 touches. The answer for a ledger has sixteen parts, and one
/// of them that a D touches is enough.
const EQUAL_PER_MILLE: [(&str, usize); 7] = [
    ("closure", 970),
    ("continuation", 950),
    ("trigger", 950),
    ("decide", 850),
    ("ledger", 220),
    ("ledger_clean", 780),
    ("task_merge", 995),
];

fn kept(operation: &str) -> Vec<Vector> {
    conformance::read_all(&paths::data("conformance").join(format!("{operation}.jsonl.gz")))
        .expect("the kept vectors read")
}

fn answer(vector: &Vector) -> String {
    oracle::answer(vector.input.get()).expect("an answer")
}

fn judged(vector: &Vector) -> Judgement {
    conformance::judge(vector, &answer(vector))
}

/// The share of equal answers, per mille. Panics at the first answer that no D allows.
fn equal_per_mille(vectors: &[Vector]) -> usize {
    assert!(!vectors.is_empty(), "the set is empty");
    let mut equal = 0;
    for vector in vectors {
        match judged(vector) {
            Judgement::Equal => equal += 1,
            Judgement::Deliberate(_) => {}
            Judgement::Failed(path, expected, answered) => {
                panic!("{path}: expected {expected}, answered {answered}\n{}", vector.input)
            }
        }
    }
    equal * 1000 / vectors.len()
}

#[test]
fn the_kept_vectors_differ_only_where_the_contract_says_so() {
    for (operation, demanded) in EQUAL_PER_MILLE {
        let vectors = kept(operation);
        assert_eq!(vectors.len(), 300, "{operation}");
        let equal = equal_per_mille(&vectors);
        // A sample of three hundred vectors scatters, so it may be two per cent below the whole
        // set.
        assert!(
            equal + 20 >= demanded,
            "{operation}: {equal} per mille are equal, {demanded} are required"
        );
    }
}

/// Judges the whole sets if they are beside the source tree. A clone without them prints that it
/// has only the kept vectors.
#[test]
fn the_whole_sets_differ_only_where_the_contract_says_so() {
    let folder: PathBuf = paths::root().join("../shared/conformance");
    if !folder.is_dir() {
        println!("the whole sets are not beside this source tree; the kept vectors were judged");
        return;
    }
    for (set, demanded) in EQUAL_PER_MILLE.into_iter().chain([("continuation_all", 970)]) {
        let vectors =
            conformance::read_all(&folder.join(format!("{set}.jsonl.gz"))).expect("the set reads");
        let equal = equal_per_mille(&vectors);
        assert!(equal >= demanded, "{set}: {equal} per mille are equal, {demanded} are required");
    }
}

/// A wrong answer is neither equal nor deliberate, for every input: the Ds are narrow.
#[test]
fn a_wrong_answer_is_never_taken_for_a_deliberate_difference() {
    let wrongs: [(&str, &str, &str); 5] = [
        ("closure", "outcome", "pondering"),
        ("continuation", "class", "pondering"),
        ("trigger", "resolution", "pondering"),
        ("decide", "decision", "Ponder"),
        ("task_merge", "agent_status", "pondering"),
    ];
    for (operation, key, wrong) in wrongs {
        for vector in kept(operation) {
            let mut answer: Value = serde_json::from_str(&answer(&vector)).expect("JSON");
            answer[key] = Value::from(wrong);
            let judgement = conformance::judge(&vector, &answer.to_string());
            assert!(
                matches!(judgement, Judgement::Failed(..)),
                "{operation}: {judgement:?}\n{}",
                vector.input
            );
        }
    }
}

/// Copies of the value, each with another leaf changed.
fn with_each_leaf_changed(value: &Value) -> Vec<Value> {
    let within = |at: &dyn Fn(Value) -> Value, inner: &Value| {
        with_each_leaf_changed(inner).into_iter().map(at).collect::<Vec<_>>()
    };
    match value {
        Value::Object(fields) => {
            let changed = |key: &String, inner| {
                let mut fields = fields.clone();
                fields.insert(key.clone(), inner);
                Value::Object(fields)
            };
            fields
                .iter()
                .flat_map(|(key, inner)| within(&|inner| changed(key, inner), inner))
                .collect()
        }
        Value::Array(values) if !values.is_empty() => {
            let changed = |at: usize, inner| {
                let mut values = values.clone();
                values[at] = inner;
                Value::Array(values)
            };
            values
                .iter()
                .enumerate()
                .flat_map(|(at, inner)| within(&|inner| changed(at, inner), inner))
                .collect()
        }
        Value::Bool(value) => Vec::from([Value::Bool(!value)]),
        _ => Vec::from([Value::from("pondering")]),
    }
}

/// The answer for a ledger has hundreds of values. Whichever D touches it, none of the others may
/// differ.
#[test]
fn no_value_of_a_ledgers_answer_may_be_another() {
    for set in ["ledger", "ledger_clean"] {
        // One vector gives hundreds of judgements, so a part of the vectors is enough.
        for vector in kept(set).iter().step_by(25) {
            let answer: Value = serde_json::from_str(&answer(vector)).expect("JSON");
            for wrong in with_each_leaf_changed(&answer) {
                let judgement = conformance::judge(vector, &wrong.to_string());
                assert!(
                    matches!(judgement, Judgement::Failed(..)),
                    "{set}: {judgement:?} for {wrong}\n{}",
                    vector.input
                );
            }
        }
    }
}

/// No D is needless: a kept vector meets each of them.
#[test]
fn every_named_difference_occurs_among_the_kept_vectors() {
    let mut seen = std::collections::BTreeSet::new();
    for (operation, _) in EQUAL_PER_MILLE {
        for vector in kept(operation) {
            if let Judgement::Deliberate(numbers) = judged(&vector) {
                seen.extend(numbers);
            }
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 7, 11, 13, 14, 17, 18, 21, 22]);
}

#[test]
fn a_file_that_is_not_a_vector_is_named_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("vectors.jsonl");
    std::fs::write(&file, "{\"input\":{\"op\":\"closure\"},\"output\":1}\n{\"output\":1}\n")
        .expect("a file");
    let why = conformance::read_all(&file).expect_err("line 2 is not a vector");
    assert!(why.to_string().contains("vectors.jsonl:2: missing field `input`"), "{why}");
    let why = conformance::read_all(Path::new("no-such.jsonl")).expect_err("no file");
    assert!(why.to_string().contains("cannot read `no-such.jsonl`"), "{why}");
}

/// Rules that no vector of the reference runtime can check; scenarios check them. The reference
/// runtime has no closing and interjects outside its scheduler. It never looks whether a tick still
/// has its subject, or how often a message was interrupted.
const BEYOND_THE_REFERENCE: [&str; 4] =
    ["1.closing", "2.interjection", "3.stale_tick", "3.replay_budget"];

#[test]
fn without_any_one_rule_the_vectors_fail() {
    for set in ["decide", "ledger_clean"] {
        let rules =
            wakeful_core::record::edition::Edition::default().rules().iter().map(|rule| rule.id);
        each_is_missed(set, rules.filter(|rule| !BEYOND_THE_REFERENCE.contains(rule)));
    }
}

#[test]
fn without_any_one_row_of_the_closure_table_the_vectors_fail() {
    // The reference runtime has no conditions of the agent itself. A test beside the table checks
    // that row.
    let rows = wakeful_core::derive::closure::ROWS
        .iter()
        .map(|row| row.id)
        .filter(|row| *row != "agent_task");
    each_is_missed("closure", rows);
}

#[test]
fn without_any_one_row_of_the_continuation_table_the_vectors_fail() {
    // No trigger of a vector names a wait, and in the reference runtime nothing overrides a wait
    // (D11). tables/continuation.rs checks these rows.
    let rows = wakeful_core::derive::continuation::ROWS
        .iter()
        .map(|row| row.id)
        .filter(|row| !["named", "overriding"].contains(row));
    each_is_missed("continuation", rows);
}

/// Checks that without any one of these, some vector fails.
fn each_is_missed<'a>(set: &str, ids: impl Iterator<Item = &'a str>) {
    let vectors = kept(set);
    for id in ids {
        let fails = vectors.iter().any(|vector| {
            let answer = oracle::answer_without_rule(vector.input.get(), Some(id));
            answer.is_err()
                || matches!(
                    conformance::judge(vector, &answer.unwrap_or_default()),
                    Judgement::Failed(..)
                )
        });
        assert!(fails, "no vector of {set} fails without `{id}`");
    }
}
