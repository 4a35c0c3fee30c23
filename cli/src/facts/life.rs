//! The life of one driven agent: the facts that its host says, in order.
//!
//! [`play`](super::play) says them one after the other, and lets the agent step until it rests
//! after each. So each example depends on those before it.

/// The agent of both lives.
pub(super) const AGENT: &str = "ada";

/// Stands for the id of the open run, which the scheduler chooses.
pub(super) const RUN: &str = "$run";

/// Stands for the state's anchor generation.
pub(super) const ANCHOR: &str = "$anchor";

/// A part of the life.
pub(super) struct Chapter {
    pub(super) title: &'static str,
    /// What its facts have in common.
    pub(super) says: &'static str,
    pub(super) scenes: &'static [Scene],
}

/// What happens next.
pub(super) enum Scene {
    /// A fact that the page is about.
    Fact {
        /// When a host says it.
        when: &'static str,
        fact: &'static str,
    },
    /// What else must happen first, so that the next example has something to be about.
    Meanwhile {
        says: &'static str,
        /// The time that passes before the facts, in milliseconds; negative if the host's clock is
        /// set back.
        passes_ms: i64,
        facts: &'static [&'static str],
    },
}

const fn fact(when: &'static str, fact: &'static str) -> Scene {
    Scene::Fact { when, fact }
}

const fn meanwhile(says: &'static str, facts: &'static [&'static str]) -> Scene {
    Scene::Meanwhile { says, passes_ms: 0, facts }
}

const fn passes(says: &'static str, passes_ms: i64) -> Scene {
    Scene::Meanwhile { says, passes_ms, facts: &[] }
}

/// The end of a turn, which many chapters need.
const COMPLETED: &str = r#"{"fact":"turn_terminal","run_id":$run,"kind":"completed"}"#;

/// The whole life.
pub(super) const CHAPTERS: &[Chapter] = &[
    Chapter {
        title: "Opening",
        says: "Once per process, before anything else.",
        scenes: &[
            fact(
                "`Scheduler::drive` says it, with the tasks that the provider proves alive. Only \
                 a host that drives a `Machine` itself says it, as its first fact.",
                r#"{"fact":"runtime_restarted","alive_task_ids":[]}"#,
            ),
            fact(
                "Say it at each start, if lists and summaries should show what the agent is. Only a \
                 change is recorded.",
                r#"{"fact":"agent_described","kind":"named","visibility":"public","ownership":"self_owned","model":"large-1","working_directory":"project"}"#,
            ),
        ],
    },
    Chapter {
        title: "Messages",
        says: "What arrives for the model. The id is yours: a message that is said twice counts \
               once.",
        scenes: &[
            fact(
                "Say it when a person writes, an event comes in, or the host itself wants a turn. The \
                 decision opens a run, and `start_turn` has its id.",
                r#"{"fact":"message_queued","message":{"id":"m1","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"check the build"}}}"#,
            ),
            meanwhile(
                "An event arrives during the turn, and waits:",
                &[
                    r#"{"fact":"message_queued","message":{"id":"m2","kind":"webhook_event","origin":{"kind":"webhook","source":"ci"},"trust":"trusted_integration","body":{"type":"text","text":"build 7 has begun"}}}"#,
                ],
            ),
            fact(
                "Say it when a message should not reach the model after all. A message that is in a run \
                 cannot be withdrawn; say `turn_aborted`.",
                r#"{"fact":"message_dropped","message_id":"m2","reason":"build 7 was replaced"}"#,
            ),
        ],
    },
    Chapter {
        title: "A turn",
        says: "What the host reports while it carries out `start_turn`. Each fact names the run; \
               one of a run that is over is ignored as `stale_run`.",
        scenes: &[
            fact(
                "Say it after each answer of the model. Without the tokens there are no budgets.",
                r#"{"fact":"provider_round_completed","run_id":$run,"round":1,"input_tokens":1200,"output_tokens":80}"#,
            ),
            fact(
                "Say it after each answer of the model, before its tools run. After a crash the calls \
                 say what may have run.",
                r#"{"fact":"assistant_round_recorded","run_id":$run,"data":{"text":"I look at the log."},"calls":[{"call_id":"c1","tool_name":"read_file"}]}"#,
            ),
            fact(
                "Say it after each tool call, as soon as it has ended. A recorded call is never run \
                 again.",
                r#"{"fact":"tool_execution_recorded","run_id":$run,"tool_execution_id":"x1","tool_name":"read_file","status":"success","input":{"path":"build.log"},"output":"2 tests failed","summary":"read build.log: 2 tests failed","call_id":"c1"}"#,
            ),
            fact(
                "Say it after all calls of a round, before the model is asked again. It shows that the \
                 run is alive.",
                r#"{"fact":"tool_round_completed","run_id":$run,"round":1}"#,
            ),
            fact(
                "Say it when the turn has ended, well or not. Any other `kind` is a failure, and most \
                 failures are tried again after a delay.",
                r#"{"fact":"turn_terminal","run_id":$run,"kind":"completed","last_assistant_message":"Two tests fail."}"#,
            ),
            meanwhile(
                "In the next turn the provider fails, and the scheduler owes a retry:",
                &[
                    r#"{"fact":"message_queued","message":{"id":"m3","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"which tests?"}}}"#,
                    r#"{"fact":"turn_terminal","run_id":$run,"kind":"provider_failed_needs_recovery","reason":"the connection was lost"}"#,
                ],
            ),
            passes("Ten seconds pass, and the host calls `run_until_rest`:", 10_000),
            meanwhile("This time the provider answers:", &[COMPLETED]),
            meanwhile(
                "The operator asks for more, and then presses stop:",
                &[
                    r#"{"fact":"message_queued","message":{"id":"m4","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"rewrite the tests"}}}"#,
                ],
            ),
            fact(
                "Say it when the run was broken off: by the operator, or by an error of the host. Say it \
                 also after the effect `abort_turn`.",
                r#"{"fact":"turn_aborted","run_id":$run,"reason":"operator_aborted"}"#,
            ),
            meanwhile(
                "A very long message arrives:",
                &[
                    r#"{"fact":"message_queued","message":{"id":"m5","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"read all of this"}}}"#,
                ],
            ),
            fact(
                "Say it when the prompt does not fit even after the host has shortened all that it can. \
                 The run ends, and is not tried again.",
                r#"{"fact":"turn_baseline_over_budget","run_id":$run,"reason":"the message alone has 300000 tokens"}"#,
            ),
        ],
    },
    Chapter {
        title: "Work items",
        says: "Goals that outlive a turn. The model makes and changes them, through tools of the \
               host.",
        scenes: &[
            meanwhile(
                "A turn begins:",
                &[
                    r#"{"fact":"message_queued","message":{"id":"m6","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"fix the login, then release"}}}"#,
                ],
            ),
            fact(
                "Say it when the model takes on a goal. An open item that waits for nothing keeps the \
                 agent awake.",
                r#"{"fact":"work_item_created","work_item_id":"fix-login","objective":"fix the login page","plan_status":"ready"}"#,
            ),
            fact(
                "Say it when the model turns to an item. Turns without an item of their own are then \
                 about this one.",
                r#"{"fact":"work_item_picked","work_item_id":"fix-login"}"#,
            ),
            fact(
                "Say it when the model changes goal, plan or todo list. Each change is progress; with \
                 `needs_input` the item waits for the operator.",
                r#"{"fact":"work_item_updated","work_item_id":"fix-login","todo_list":["find the cause","write a test"]}"#,
            ),
            fact(
                "Say it when the model says what holds the item up. With a recheck the agent looks again \
                 by itself.",
                r#"{"fact":"work_item_blocked","work_item_id":"fix-login","blocked_by":"the staging server is down","recheck_in_ms":600000}"#,
            ),
            fact(
                "Say it when the blocker is gone.",
                r#"{"fact":"work_item_unblocked","work_item_id":"fix-login"}"#,
            ),
            fact(
                "Say it when another agent works on the item. It is evidence: the item waits only if a \
                 task or a condition says so.",
                r#"{"fact":"work_item_delegated","delegation_id":"d1","work_item_id":"fix-login","child_agent_id":"bob"}"#,
            ),
            fact(
                "Say it when that agent has ended.",
                r#"{"fact":"work_item_delegation_completed","delegation_id":"d1"}"#,
            ),
            fact(
                "Say it when the model says that the goal is reached. The item's waits and triggers end \
                 with it, and the effect asks the host to end the turn after its round.",
                r#"{"fact":"work_item_completed","work_item_id":"fix-login","result_summary":"the login works again"}"#,
            ),
        ],
    },
    Chapter {
        title: "Tasks",
        says: "Operations that run beside turns: a command, a child agent. The end of a task \
               queues one message with its result.",
        scenes: &[
            meanwhile(
                "The model takes on another item:",
                &[
                    r#"{"fact":"work_item_created","work_item_id":"release","objective":"release version 2"}"#,
                    r#"{"fact":"work_item_picked","work_item_id":"release"}"#,
                ],
            ),
            fact(
                "Say it when the operation is accepted, before it starts. With `blocking` its item waits \
                 for it.",
                r#"{"fact":"task_created","task_id":"package","task_kind":"command_task","work_item_id":"release","summary":"build the package","wait_policy":"blocking"}"#,
            ),
            fact(
                "Say it when the operation has started.",
                r#"{"fact":"task_running","task_id":"package"}"#,
            ),
            meanwhile("The turn ends:", &[COMPLETED]),
            fact(
                "Say it when it has ended well.",
                r#"{"fact":"task_completed","task_id":"package","summary":"the package is built"}"#,
            ),
            meanwhile(
                "The model looks at the result, and starts another task:",
                &[
                    r#"{"fact":"task_created","task_id":"upload","task_kind":"command_task","work_item_id":"release","wait_policy":"blocking"}"#,
                    COMPLETED,
                ],
            ),
            fact(
                "Say it when the model or a person asked to stop it, and it has not ended yet.",
                r#"{"fact":"task_cancelling","task_id":"upload"}"#,
            ),
            fact(
                "Say it when it has ended because it was asked to.",
                r#"{"fact":"task_cancelled","task_id":"upload"}"#,
            ),
            meanwhile(
                "The model tries again:",
                &[
                    r#"{"fact":"task_created","task_id":"upload-2","task_kind":"command_task","work_item_id":"release","wait_policy":"blocking"}"#,
                    COMPLETED,
                ],
            ),
            fact(
                "Say it when it has ended with an error.",
                r#"{"fact":"task_failed","task_id":"upload-2","summary":"the server refused the file"}"#,
            ),
            meanwhile(
                "The model tries another way:",
                &[
                    r#"{"fact":"task_created","task_id":"upload-3","task_kind":"command_task","work_item_id":"release","wait_policy":"blocking"}"#,
                    COMPLETED,
                ],
            ),
            fact(
                "Say it when it is lost, and nobody knows how it ended. A stop and a restart say it \
                 themselves.",
                r#"{"fact":"task_interrupted","task_id":"upload-3","summary":"its machine was switched off"}"#,
            ),
        ],
    },
    Chapter {
        title: "Waits and timers",
        says: "What must come before the model is asked again. Most waits end by themselves, when \
               a turn begins about what they waited for.",
        scenes: &[
            fact(
                "Say it when the model says what an item or the agent waits for. It replaces the owner's \
                 other conditions, and the effect asks the host to end the turn after its round.",
                r#"{"fact":"wait_condition_registered","wait_condition_id":"approval","work_item_id":"release","kind":"operator","waiting_for":"the approval of the release","wake_sources":[{"kind":"operator_input"}],"expires_in_ms":86400000}"#,
            ),
            meanwhile("The turn ends:", &[COMPLETED]),
            fact(
                "Say it when a person or the model gives a wait up. With `ended_by` `operator` the item \
                 goes on at once.",
                r#"{"fact":"wait_condition_cancelled","wait_condition_id":"approval","ended_by":"operator"}"#,
            ),
            meanwhile(
                "The model waits for the server:",
                &[
                    r#"{"fact":"wait_condition_registered","wait_condition_id":"server","work_item_id":"release","kind":"external","waiting_for":"the server to come back","wake_sources":[{"kind":"external_ingress"}],"expires_in_ms":86400000}"#,
                    COMPLETED,
                ],
            ),
            fact(
                "Say it when the host itself sees that what was awaited is there, and neither message, \
                 task, timer nor trigger says so.",
                r#"{"fact":"wait_condition_resolved","wait_condition_id":"server"}"#,
            ),
            fact(
                "Say it when the model wants to be asked again later. With an interval it fires until it \
                 is cancelled.",
                r#"{"fact":"timer_created","timer_id":"look-again","duration_ms":60000,"interval_ms":60000,"summary":"look at the server"}"#,
            ),
            meanwhile(
                "The model completes the item, and the turn ends:",
                &[r#"{"fact":"work_item_completed","work_item_id":"release"}"#, COMPLETED],
            ),
            passes("A minute passes, and the host calls `run_until_rest`:", 60_000),
            meanwhile("The turn ends:", &[COMPLETED]),
            fact(
                "Say it when the timer is not wanted any more.",
                r#"{"fact":"timer_cancelled","timer_id":"look-again"}"#,
            ),
        ],
    },
    Chapter {
        title: "External triggers",
        says: "Addresses at which the outside delivers. The host makes the token of each, gives \
               it away, and says only its SHA-256.",
        scenes: &[
            fact(
                "Say it when the model or a person wants an address.",
                r#"{"fact":"external_trigger_created","external_trigger_id":"ci","token_hash":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","description":"results of the build","delivery_mode":"enqueue_message","trust":"trusted_integration"}"#,
            ),
            fact(
                "Say it when a delivery shows a token whose hash the host has. The sender's id makes a \
                 repeated delivery count once.",
                r#"{"fact":"external_trigger_delivered","external_trigger_id":"ci","token_hash":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","delivery_id":"build-8","content":{"type":"text","text":"build 8 passed"},"source":"ci"}"#,
            ),
            meanwhile("The turn ends:", &[COMPLETED]),
            fact(
                "Say it when the token leaked, or is changed from time to time.",
                r#"{"fact":"external_trigger_rotated","external_trigger_id":"ci","token_hash":"60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"}"#,
            ),
            fact(
                "Say it when nothing should be delivered any more.",
                r#"{"fact":"external_trigger_revoked","external_trigger_id":"ci"}"#,
            ),
        ],
    },
    Chapter {
        title: "Budgets",
        says: "Limits for the agent or for one item. The tokens of `provider_round_completed` \
               count against them.",
        scenes: &[
            fact(
                "Say it when an operator sets limits. They replace those before.",
                r#"{"fact":"budget_set","tokens_per_day":2000}"#,
            ),
            meanwhile(
                "A turn uses up the day, and the next event is held:",
                &[
                    r#"{"fact":"message_queued","message":{"id":"m7","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"write the notes"}}}"#,
                    r#"{"fact":"provider_round_completed","run_id":$run,"round":1,"input_tokens":900,"output_tokens":100}"#,
                    COMPLETED,
                    r#"{"fact":"message_queued","message":{"id":"m8","kind":"webhook_event","origin":{"kind":"webhook","source":"ci"},"trust":"trusted_integration","body":{"type":"text","text":"build 9 failed"}}}"#,
                ],
            ),
            fact(
                "Say it when an operator allows more, once. What was held goes on.",
                r#"{"fact":"budget_granted","grant_id":"g1","tokens":50000}"#,
            ),
            meanwhile("The turn ends:", &[COMPLETED]),
        ],
    },
    Chapter {
        title: "Wake hints",
        says: "A signal to look again. Hints have no ids, and only the newest content is kept.",
        scenes: &[
            fact(
                "Say it when something changed that the agent may care about. Hints that come together \
                 become one tick; without a body, it wakes the model only if a wait names it.",
                r#"{"fact":"wake_hint_submitted","reason":"the branch moved","source":"git","body":{"type":"text","text":"main has two new commits"}}"#,
            ),
            meanwhile("The turn ends:", &[COMPLETED]),
        ],
    },
    Chapter {
        title: "Control",
        says: "What operators and the host's own process do with the agent.",
        scenes: &[
            fact(
                "Say it when an operator changes limits and delays. It replaces the whole policy: a \
                 setting that it does not name gets its default.",
                r#"{"fact":"policy_set","policy":{"failed_turn_retries":1,"run_lease_ms":600000}}"#,
            ),
            fact(
                "Say it when an operator switches the agent off. It aborts the run and interrupts the \
                 tasks; the agent stays off over restarts.",
                r#"{"fact":"stop_requested"}"#,
            ),
            fact("Say it when an operator switches it on again.", r#"{"fact":"start_requested"}"#),
            fact(
                "Say it when the process is about to end. Nothing starts after it, and the next restart \
                 continues where this one was.",
                r#"{"fact":"shutdown_requested"}"#,
            ),
            meanwhile(
                "Another process opens the ledger with `Scheduler::drive`:",
                &[r#"{"fact":"runtime_restarted"}"#],
            ),
        ],
    },
    Chapter {
        title: "Evidence",
        says: "What the model and people read later. No rule reads it.",
        scenes: &[
            fact(
                "Say it when the host keeps something else of what was said: a prompt, a note of a tool.",
                r#"{"fact":"transcript_appended","data":{"note":"the operator joined the call"}}"#,
            ),
            fact(
                "Say it when people get a short account: that a message arrived, a result, a failure. A \
                 result also ends what `runtime_error` began.",
                r#"{"fact":"brief_recorded","brief_id":"b1","kind":"result","text":"Version 2 is released."}"#,
            ),
            fact(
                "Say it when the host shortened the past that it shows the model.",
                r#"{"fact":"context_compacted","compacted_message_count":7,"context_summary":"The login was fixed, and version 2 released."}"#,
            ),
            fact(
                "Say it when the model wrote down where the work is. The number is the state's anchor \
                 when the model was asked: it counts the changes of work items.",
                r#"{"fact":"checkpoint_recorded","anchor_generation":$anchor,"data":{"next":"write the notes"}}"#,
            ),
        ],
    },
    Chapter {
        title: "Trouble",
        says: "What goes wrong outside the model's work.",
        scenes: &[
            meanwhile(
                "A picture arrives that the provider does not accept:",
                &[
                    r#"{"fact":"message_queued","message":{"id":"m9","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"look at this picture"}}}"#,
                ],
            ),
            fact(
                "Say it when the provider refuses to read a message. The message is dropped, so that it \
                 does not fail every later turn.",
                r#"{"fact":"content_refused","run_id":$run,"message_ids":["m9"],"reason":"the picture is too large"}"#,
            ),
            fact(
                "Say it when the host failed outside a run. In a run, say `turn_aborted` with the reason \
                 `runtime_error`.",
                r#"{"fact":"runtime_error","error":"the disk for outputs is full"}"#,
            ),
            fact(
                "Say it when the host finds that an item or the agent is broken. The owner is parked, \
                 the operator gets a diagnostic, and everything else goes on.",
                r#"{"fact":"owner_breach_reported","reason":"the tool runner panicked"}"#,
            ),
            passes("The clock of the host was two hours ahead, and is set right:", -7_200_000),
            fact(
                "Say it when the host's clock was ahead and is right again, for certain. \
                 `Driver::keep_time` of `wakeful_host` and `keepTime` of the npm package's \
                 `SteadyClock` say it themselves.",
                r#"{"fact":"clock_corrected","elapsed_ms":60000}"#,
            ),
        ],
    },
];
