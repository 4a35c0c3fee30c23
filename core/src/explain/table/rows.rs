//! How each fact of the vocabulary is tried alone.

use super::{Row, Tried, Try};

const fn tried(fact: &'static str, tries: &'static [Try]) -> Row {
    Row { fact, tried: Tried::As(tries) }
}

const fn never(fact: &'static str, why: &'static str) -> Row {
    Row { fact, tried: Tried::Never(why) }
}

const fn with(fields: &'static str, says: &'static str) -> Try {
    Try { fields, says }
}

/// Every fact, in the order of the vocabulary.
pub const ROWS: &[Row] = &[
    tried(
        "message_queued",
        &[
            // In the first lane, so that the message is the head, and the operator's interjects.
            with(
                r#""message":{"id":$new,"kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","priority":"interject","work_item_id":$about,"body":{"type":"text","text":"hello"}}"#,
                "the operator says something$about",
            ),
            with(
                r#""message":{"id":$new,"kind":"channel_event","origin":{"kind":"channel","channel_id":"why-not"},"trust":"untrusted_external","priority":"interject","body":{"type":"text","text":"hello"}}"#,
                "someone writes in a channel",
            ),
            with(
                r#""message":{"id":$new,"kind":"webhook_event","origin":{"kind":"webhook","source":"why-not"},"trust":"trusted_integration","priority":"interject","body":{"type":"text","text":"hello"}}"#,
                "an event with content arrives first",
            ),
            with(
                r#""message":{"id":$new,"kind":"webhook_event","origin":{"kind":"webhook","source":"why-not"},"trust":"trusted_integration","priority":"interject","body":{"type":"text","text":""}}"#,
                "an event without content arrives first",
            ),
            with(
                r#""message":{"id":$new,"kind":"callback_event","origin":{"kind":"callback","descriptor_id":$named},"trust":"trusted_integration","priority":"interject","body":{"type":"text","text":"hello"}}"#,
                "a callback for trigger $named arrives first",
            ),
            with(
                r#""message":{"id":$new,"kind":"webhook_event","origin":{"kind":"webhook","source":"why-not"},"trust":"trusted_integration","priority":"interject","body":{"type":"text","text":"hello"},"metadata":{"waiting_intent_id":$intent}}"#,
                "an event for intent $intent arrives first",
            ),
            with(
                r#""message":{"id":$new,"kind":"task_result","origin":{"kind":"task","task_id":$task},"trust":"trusted_system","priority":"interject","body":{"type":"text","text":"done"},"metadata":{"task_id":$task,"task_kind":"command_task","task_status":"completed"}}"#,
                "a message brings the result of task $task",
            ),
            with(
                r#""message":{"id":$new,"kind":"task_status","origin":{"kind":"task","task_id":$task},"trust":"trusted_system","priority":"interject","body":{"type":"text","text":"half"}}"#,
                "task $task reports progress first",
            ),
            with(
                r#""message":{"id":$new,"kind":"timer_tick","origin":{"kind":"timer","timer_id":$timer},"trust":"trusted_system","priority":"interject","body":{"type":"text","text":"tick"}}"#,
                "a tick of timer $timer arrives first",
            ),
            with(
                r#""message":{"id":$new,"kind":"system_tick","origin":{"kind":"system","subsystem":"why-not"},"trust":"trusted_system","priority":"interject","work_item_id":$about,"body":{"type":"text","text":"tick"}}"#,
                "a tick of the runtime$about arrives first",
            ),
            with(
                r#""message":{"id":$new,"kind":"internal_followup","origin":{"kind":"system","subsystem":"why-not"},"trust":"trusted_system","priority":"interject","work_item_id":$about,"body":{"type":"text","text":"go on"}}"#,
                "a follow-up of the runtime$about arrives first",
            ),
            with(
                r#""message":{"id":$new,"kind":"control","origin":{"kind":"system","subsystem":"why-not"},"trust":"trusted_system","priority":"interject","body":{"type":"text","text":"control"}}"#,
                "a control message arrives first",
            ),
            with(
                r#""message":{"id":$new,"kind":"brief_ack","origin":{"kind":"system","subsystem":"why-not"},"trust":"trusted_system","priority":"interject","body":{"type":"text","text":"seen"}}"#,
                "an acknowledgement arrives first",
            ),
            with(
                r#""message":{"id":$new,"kind":"brief_result","origin":{"kind":"system","subsystem":"why-not"},"trust":"trusted_system","priority":"interject","body":{"type":"text","text":"done"}}"#,
                "a result brief arrives first",
            ),
        ],
    ),
    tried(
        "message_dequeued",
        &[with(r#""message_id":$message"#, "another runtime takes message $message")],
    ),
    tried(
        "message_processed",
        &[with(r#""message_id":$message"#, "another runtime settles message $message")],
    ),
    tried(
        "message_aborted",
        &[with(r#""message_id":$message"#, "another runtime aborts the run of message $message")],
    ),
    tried("message_dropped", &[with(r#""message_id":$message"#, "message $message is dropped")]),
    tried(
        "message_interjected",
        &[with(r#""message_id":$message"#, "another runtime inserts message $message into a run")],
    ),
    tried(
        "turn_started",
        &[with(
            r#""run_id":$new,"message_id":$message"#,
            "another runtime starts a turn on message $message",
        )],
    ),
    tried(
        "provider_round_completed",
        &[with(
            r#""run_id":$told,"round":4294967295,"input_tokens":1000000000000,"output_tokens":0,"cost_micros":1000000000000"#,
            "a round of run $told uses up every budget",
        )],
    ),
    never("assistant_round_recorded", "it is a record of what the open run said"),
    never("tool_round_completed", "it shows that the open run goes on"),
    tried(
        "turn_terminal",
        &[
            with(r#""run_id":$run,"kind":"completed""#, "the open run completes"),
            with(r#""run_id":$run,"kind":"aborted""#, "the open run ends as aborted"),
            with(
                r#""run_id":$run,"kind":"baseline_over_budget""#,
                "the open run ends because its prompt does not fit",
            ),
            with(
                r#""run_id":$run,"kind":"deferred_to_fallback""#,
                "the provider fails before any output of the open run",
            ),
            with(
                r#""run_id":$run,"kind":"provider_failed_needs_recovery""#,
                "the provider fails after output of the open run",
            ),
        ],
    ),
    tried(
        "turn_aborted",
        &[
            with(
                r#""run_id":$run,"reason":"operator_aborted""#,
                "the operator aborts the open run",
            ),
            with(r#""run_id":$run,"reason":"agent_stopped""#, "the open run is aborted by a stop"),
            with(
                r#""run_id":$run,"reason":"daemon_shutdown""#,
                "the open run is aborted by a shutdown",
            ),
            with(
                r#""run_id":$run,"reason":"runtime_error""#,
                "the open run is aborted by an error",
            ),
            with(
                r#""run_id":$run,"reason":"content_refused""#,
                "the open run is aborted because its content is refused",
            ),
        ],
    ),
    tried(
        "turn_baseline_over_budget",
        &[with(r#""run_id":$run"#, "the prompt of the open run does not fit")],
    ),
    tried(
        "content_refused",
        &[
            with(r#""run_id":$run"#, "the provider refuses the content of the open run"),
            with(
                r#""run_id":$run,"message_ids":[$message]"#,
                "the provider refuses message $message in the open run",
            ),
        ],
    ),
    tried(
        "task_created",
        &[
            with(
                r#""task_id":$new,"task_kind":"command_task","work_item_id":$owner,"wait_policy":"blocking""#,
                "a task is created that $owner waits for",
            ),
            with(
                r#""task_id":$new,"task_kind":"command_task","work_item_id":$owner"#,
                "a task of $owner is created in the background",
            ),
        ],
    ),
    tried(
        "task_running",
        &[
            with(
                r#""task_id":$task,"wait_policy":"blocking""#,
                "task $task runs, and its owner waits for it",
            ),
            with(
                r#""task_id":$task,"wait_policy":"background""#,
                "task $task runs in the background",
            ),
        ],
    ),
    tried("task_cancelling", &[with(r#""task_id":$task"#, "task $task is asked to stop")]),
    tried("task_completed", &[with(r#""task_id":$task"#, "task $task completes")]),
    tried("task_failed", &[with(r#""task_id":$task"#, "task $task fails")]),
    tried("task_cancelled", &[with(r#""task_id":$task"#, "task $task is cancelled")]),
    tried("task_interrupted", &[with(r#""task_id":$task"#, "task $task is lost")]),
    never("task_result_queued", "the message itself is another fact"),
    never("task_result_delivered", "the turn on the message is another fact"),
    tried(
        "work_item_created",
        &[
            with(r#""work_item_id":$new,"objective":"something to do""#, "a work item is created"),
            with(
                r#""work_item_id":$new,"objective":"something to ask","plan_status":"needs_input""#,
                "a work item is created that needs input",
            ),
        ],
    ),
    tried("work_item_picked", &[with(r#""work_item_id":$item"#, "item $item gets the focus")]),
    tried(
        "work_item_updated",
        &[
            with(r#""work_item_id":$item"#, "item $item is updated"),
            with(
                r#""work_item_id":$item,"plan_status":"draft""#,
                "the plan of item $item is a draft",
            ),
            with(
                r#""work_item_id":$item,"plan_status":"ready""#,
                "the plan of item $item is ready",
            ),
            with(r#""work_item_id":$item,"plan_status":"needs_input""#, "item $item needs input"),
        ],
    ),
    tried(
        "work_item_blocked",
        &[with(r#""work_item_id":$item,"blocked_by":"something""#, "item $item is blocked")],
    ),
    tried("work_item_unblocked", &[with(r#""work_item_id":$item"#, "item $item is unblocked")]),
    tried("work_item_completed", &[with(r#""work_item_id":$item"#, "item $item is completed")]),
    never("work_item_delegated", "a delegation holds nothing back"),
    never("work_item_delegation_completed", "a delegation holds nothing back"),
    tried(
        "waiting_intent_created",
        &[
            with(
                r#""waiting_intent_id":$new,"scope":"agent","work_item_id":$about,"description":"why not","source":"why-not","delivery_mode":"wake_hint","external_trigger_id":$new"#,
                "the agent waits for something external$about",
            ),
            with(
                r#""waiting_intent_id":$new,"scope":"agent","work_item_id":$about,"description":"why not","source":"why-not","delivery_mode":"wake_hint","external_trigger_id":$trigger"#,
                "the agent waits for trigger $trigger$about",
            ),
            with(
                r#""waiting_intent_id":$new,"scope":"work_item","work_item_id":$item,"description":"why not","source":"why-not","delivery_mode":"wake_hint","external_trigger_id":$new"#,
                "item $item waits for something external",
            ),
            with(
                r#""waiting_intent_id":$new,"scope":"work_item","work_item_id":$item,"description":"why not","source":"why-not","delivery_mode":"wake_hint","external_trigger_id":$trigger"#,
                "item $item waits for trigger $trigger",
            ),
        ],
    ),
    tried(
        "waiting_intent_triggered",
        &[with(r#""waiting_intent_id":$intent"#, "the trigger of intent $intent arrives")],
    ),
    tried(
        "waiting_intent_cancelled",
        &[with(r#""waiting_intent_id":$intent"#, "intent $intent is cancelled")],
    ),
    tried(
        "wait_condition_registered",
        &[
            with(
                r#""wait_condition_id":$new,"work_item_id":$owner,"kind":"task","waiting_for":"a task","wake_sources":[{"kind":"task_result","task_id":$task}]"#,
                "$owner waits for task $task",
            ),
            with(
                r#""wait_condition_id":$new,"work_item_id":$owner,"kind":"task","waiting_for":"a task","wake_sources":[{"kind":"operator_input"}]"#,
                "$owner waits for a task until the operator says something",
            ),
            with(
                r#""wait_condition_id":$new,"work_item_id":$owner,"kind":"external","waiting_for":"something external","wake_sources":[{"kind":"external_ingress"}]"#,
                "$owner waits for any external event",
            ),
            with(
                r#""wait_condition_id":$new,"work_item_id":$owner,"kind":"external","waiting_for":"a delivery","wake_sources":[{"kind":"external_ingress","external_trigger_id":$trigger}]"#,
                "$owner waits for a delivery to trigger $trigger",
            ),
            with(
                r#""wait_condition_id":$new,"work_item_id":$owner,"kind":"operator","waiting_for":"the operator","wake_sources":[{"kind":"operator_input"}]"#,
                "$owner waits for the operator",
            ),
            with(
                r#""wait_condition_id":$new,"work_item_id":$owner,"kind":"timer","waiting_for":"an instant","wake_sources":[{"kind":"timer","wake_in_ms":60000}]"#,
                "$owner waits for an instant",
            ),
            with(
                r#""wait_condition_id":$new,"work_item_id":$owner,"kind":"system","waiting_for":"the runtime","wake_sources":[{"kind":"system_tick"}]"#,
                "$owner waits for the runtime",
            ),
        ],
    ),
    tried(
        "wait_condition_resolved",
        &[with(r#""wait_condition_id":$condition"#, "what condition $condition waits for arrives")],
    ),
    tried(
        "wait_condition_cancelled",
        &[with(r#""wait_condition_id":$condition"#, "condition $condition is cancelled")],
    ),
    tried(
        "wait_condition_expired",
        &[with(r#""wait_condition_id":$condition"#, "condition $condition expires")],
    ),
    tried("timer_created", &[with(r#""timer_id":$new,"duration_ms":60000"#, "a timer is set")]),
    tried("timer_fired", &[with(r#""timer_id":$timer"#, "another runtime fires timer $timer")]),
    tried(
        "timer_completed",
        &[with(r#""timer_id":$timer"#, "another runtime fires timer $timer for the last time")],
    ),
    tried("timer_cancelled", &[with(r#""timer_id":$timer"#, "timer $timer is cancelled")]),
    tried(
        "external_trigger_created",
        &[with(
            r#""external_trigger_id":$named,"token_hash":"0000000000000000000000000000000000000000000000000000000000000000","description":"why not","delivery_mode":"enqueue_message","trust":"trusted_integration""#,
            "trigger $named is made here",
        )],
    ),
    tried(
        "external_trigger_rotated",
        &[with(
            r#""external_trigger_id":$trigger,"token_hash":"0000000000000000000000000000000000000000000000000000000000000000""#,
            "trigger $trigger gets another token",
        )],
    ),
    tried(
        "external_trigger_revoked",
        &[with(r#""external_trigger_id":$trigger"#, "trigger $trigger is revoked")],
    ),
    tried(
        "external_trigger_delivered",
        &[
            with(
                r#"$delivery,"delivery_id":$new,"content":{"type":"text","text":"hello"}"#,
                "something is delivered to trigger $delivery",
            ),
            with(r#"$delivery,"delivery_id":$new"#, "trigger $delivery is called without content"),
        ],
    ),
    tried(
        "budget_set",
        &[
            with(r#""work_item_id":$owner"#, "$owner has no budget"),
            with(r#""work_item_id":$owner,"tokens_total":1"#, "$owner has a budget of one token"),
        ],
    ),
    tried(
        "budget_granted",
        &[with(
            r#""grant_id":$new,"work_item_id":$owner,"tokens":1000000000000,"cost_micros":1000000000000"#,
            "$owner gets a grant",
        )],
    ),
    tried(
        "wake_hint_submitted",
        &[
            with(r#""reason":"why not""#, "a wake hint arrives"),
            with(
                r#""reason":"why not","waiting_intent_id":$intent"#,
                "a wake hint for intent $intent arrives",
            ),
            with(
                r#""reason":"why not","external_trigger_id":$named"#,
                "a wake hint for trigger $named arrives",
            ),
        ],
    ),
    tried(
        "wake_hint_coalesced",
        &[with(r#""reason":"why not""#, "another runtime coalesces a wake hint")],
    ),
    never("wake_hint_ignored", "another runtime refused the hint"),
    tried("start_requested", &[with("", "the agent is started")]),
    tried("stop_requested", &[with("", "the agent is stopped")]),
    tried("shutdown_requested", &[with("", "the runtime shuts down")]),
    tried("clock_corrected", &[with("", "the clock of the host is set right")]),
    tried(
        "runtime_restarted",
        &[
            with("", "the runtime restarts"),
            with(r#""alive_task_ids":$tasks"#, "the runtime restarts and its tasks still run"),
        ],
    ),
    tried(
        "policy_set",
        &[
            with(r#""edition":$edition"#, "the edition is $edition"),
            with(r#""policy":$policy"#, "the policy says $policy"),
        ],
    ),
    never("agent_described", "no rule reads what the agent is"),
    never("transcript_appended", "it is a record of what was said"),
    never("tool_execution_recorded", "it is a record of what the open run did"),
    // A success ends a runtime error (contract 6.2); other briefs are records of what was told.
    tried(
        "brief_recorded",
        &[with(r#""brief_id":$new,"kind":"result","text":"done""#, "a brief tells a result")],
    ),
    tried("runtime_error", &[with(r#""error":"why not""#, "the runtime has an error")]),
    tried(
        "owner_breach_reported",
        &[
            with(r#""reason":"why not""#, "the host finds that the agent is broken"),
            with(
                r#""work_item_id":$item,"reason":"why not""#,
                "the host finds that work item `$item` is broken",
            ),
        ],
    ),
    never("context_compacted", "the context is the provider's"),
    never("checkpoint_recorded", "a checkpoint is for the next prompt"),
];
