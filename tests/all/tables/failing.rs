//! Turns that fail in a row for one cause are reported, with a way out (I26).

use serde_json::json;
use wakeful_core::record::Record;

use super::driven::{Driven, abort, end, item, of_item, prompt, prompt_with};

/// Lets a turn about this message end so.
fn turn(driven: &mut Driven, id: &str, ending: serde_json::Value) {
    driven.tell(&[prompt(id)]);
    driven.run();
    driven.tell(&[ending]);
}

#[test]
fn the_third_failure_in_a_row_names_the_cause_and_a_way_out() {
    for kind in ["baseline_over_budget", "provider_failed_needs_recovery", "deferred_to_fallback"] {
        let mut driven = Driven::new();
        for n in 1..=7 {
            turn(&mut driven, &format!("m{n}"), end(kind));
            assert_eq!(driven.diagnostics("turns_fail"), n / 3, "{kind}, failure {n}");
        }
        let told = driven.records.iter().rev().find_map(|record| match record {
            Record::Event(event) if event.kind == "scheduler_diagnostic" => {
                serde_json::to_value(event.data()?).ok()
            }
            _ => None,
        });
        let evidence = told.expect("a diagnostic")["evidence"].to_string();
        assert!(evidence.contains(&format!("cause={kind}")), "{evidence}");
        assert!(evidence.contains("way_out="), "{evidence}");
    }
}

#[test]
fn a_success_or_another_cause_starts_again() {
    let mut driven = Driven::new();
    for (n, kind) in [
        "baseline_over_budget",
        "baseline_over_budget",
        "completed",
        "baseline_over_budget",
        "baseline_over_budget",
        "deferred_to_fallback",
        "deferred_to_fallback",
        "baseline_over_budget",
    ]
    .iter()
    .enumerate()
    {
        turn(&mut driven, &format!("m{n}"), end(kind));
    }
    assert_eq!(driven.diagnostics("turns_fail"), 0);
}

#[test]
fn turns_that_were_ended_on_purpose_do_not_count() {
    let mut driven = Driven::new();
    for n in 0..6 {
        turn(&mut driven, &format!("m{n}"), abort("operator_aborted"));
    }
    assert_eq!(driven.diagnostics("turns_fail"), 0);
    turn(&mut driven, "a", end("baseline_over_budget"));
    turn(&mut driven, "b", abort("operator_aborted"));
    turn(&mut driven, "c", end("baseline_over_budget"));
    turn(&mut driven, "d", end("baseline_over_budget"));
    assert_eq!(driven.diagnostics("turns_fail"), 1, "what lies between changes no cause");
}

#[test]
fn each_owner_counts_for_itself() {
    let mut driven =
        Driven::told(&[item("w"), of_item("work_item_blocked", "w").clone()].map(|mut fact| {
            if fact["fact"] == "work_item_blocked" {
                fact["blocked_by"] = json!("b");
            }
            fact
        }));
    driven.run_to_rest();
    for n in 0..2 {
        driven.tell(&[prompt_with(&format!("w{n}"), json!({"work_item_id": "w"}))]);
        driven.run();
        driven.tell(&[end("baseline_over_budget")]);
        turn(&mut driven, &format!("m{n}"), end("baseline_over_budget"));
    }
    assert_eq!(driven.diagnostics("turns_fail"), 0);
    turn(&mut driven, "m2", end("baseline_over_budget"));
    assert_eq!(driven.diagnostics("turns_fail"), 1);
}

#[test]
fn exhausted_retries_are_the_report() {
    let mut driven = Driven::told(&[prompt("m")]);
    for _ in 0..4 {
        driven.run();
        driven.tell(&[end("deferred_to_fallback")]);
        driven.now = driven.now.plus_ms(3_600_000);
    }
    assert_eq!((driven.diagnostics("turns_fail"), driven.diagnostics("retries_exhausted")), (1, 1));
}
