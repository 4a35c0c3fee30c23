//! Coverage: each thing that the RFC wants tested has a test with that name, in the layer of the
//! RFC.

mod boundaries;
mod invariants;
mod ledgers;
mod scenarios;

/// The layers: name, tests, and the sources that have these tests.
const LAYERS: [(&str, &[&str], &[&str]); 5] = [
    (
        "pure reducers",
        &[
            "continuation_matrix",
            "closure_priority",
            "task_status_monotonicity",
            "work_item_readiness",
            "work_queue_tick_idempotency",
            "pause_stop_gating",
            "restart_replay_classification",
        ],
        &[
            include_str!("../continuation.rs"),
            include_str!("../closure.rs"),
            include_str!("../tasks.rs"),
            include_str!("../readiness.rs"),
            include_str!("../keys.rs"),
            include_str!("../stopped.rs"),
            include_str!("../restart.rs"),
        ],
    ),
    (
        "runtime boundaries",
        &[
            "queue_dequeued_processed_transitions",
            "provider_turn_started_only_when_allowed",
            "non_model_reentry_task_status_does_not_start_a_turn",
            "terminal_blocking_task_result_resumes_the_expected_wait",
            "paused_runtime_persists_task_terminal_state_but_does_not_start_a_provider_turn",
            "system_tick_generation_does_not_duplicate_across_idle_loops",
        ],
        &[include_str!("boundaries.rs")],
    ),
    (
        "ledger replay",
        &[
            "terminal_task_persisted_before_task_result_enqueue",
            "dequeued_message_replay_after_restart",
            "pending_wake_hint_recovery",
            "current_work_item_with_queued_follow_up",
            "blocked_work_item_with_active_waiting_intent",
            "turn_local_baseline_over_budget_terminal_record",
        ],
        &[include_str!("ledgers.rs")],
    ),
    (
        "scenarios",
        &[
            "task_result_rejoin_after_cross_turn_compaction_preserves_current_work_truth",
            "queued_work_item_notification_after_compaction_does_not_focus_the_queued_item",
            "wake_hint_after_compaction_preserves_provenance",
            "turn_local_checkpoint_followed_by_work_item_update_invalidates_the_checkpoint_anchor",
            "completing_one_work_item_is_not_blocked_by_an_unrelated_task_once_task_association_exists",
            "operator_interjection_prompt_during_a_long_provider_tool_turn_preserves_side_effect_evidence_and_queue_status",
        ],
        &[include_str!("scenarios.rs")],
    ),
    (
        "invariants",
        &[
            "stopped_runtime_does_not_process_messages",
            "paused_runtime_does_not_start_model_turns",
            "current_run_id_exists_only_while_a_run_is_active",
            "terminal_tasks_are_absent_from_active_task_ids",
            "stale_non_terminal_task_updates_do_not_reopen_terminal_tasks",
            "blocking_task_closure_is_based_on_latest_non_terminal_blocking_tasks",
            "completed_work_items_are_never_runnable",
            "queued_work_items_do_not_become_current_without_an_explicit_pick",
            "needs_input_work_items_wait_for_operator_input",
            "duplicate_work_queue_ticks_are_suppressed_with_durable_evidence",
            "wake_hints_are_liveness_signals_unless_made_contentful_by_trigger_policy",
            "mismatched_continuation_triggers_do_not_satisfy_unrelated_waiting_reasons",
            "turn_end_work_item_commits_run_only_for_real_turn_terminals",
            "compaction_does_not_rewrite_scheduler_truth",
            "ledger_replay_can_explain_the_final_scheduler_projection",
        ],
        &[include_str!("invariants.rs"), include_str!("../readiness.rs")],
    ),
];

#[test]
fn each_thing_that_the_rfc_wants_covered_has_a_test_of_its_name() {
    for (layer, names, sources) in LAYERS {
        for name in names {
            let test = format!("#[test]\nfn {name}()");
            assert_eq!(
                sources.iter().filter(|source| source.contains(&test)).count(),
                1,
                "{layer}: `{name}`"
            );
        }
    }
    assert_eq!(LAYERS.map(|(_, names, _)| names.len()), [7, 6, 6, 6, 15]);
}
