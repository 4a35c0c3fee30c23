//! The facts that only observers and imports need, each with the reason why a driver does not say
//! it.

/// The heading of these facts.
pub(super) const TITLE: &str = "Only for observers and imports";

/// What these facts have in common.
pub(super) const SAYS: &str = "\
    They tell what another runtime did, so that an observer can say what would be decided. A \
    driver needs none of them. Some do no harm from a driver, and the others are ignored; each \
    says which.";

/// A fact that a driver does not say.
pub(super) struct Unsaid {
    /// Why a driver does not say it.
    pub(super) why: &'static str,
    /// What happened before.
    pub(super) before: &'static [&'static str],
    /// The fact.
    pub(super) fact: &'static str,
}

/// All of them, in the order in which one observer reports them.
pub(super) const FACTS: &[Unsaid] = &[
    Unsaid {
        why: "A driver's step takes the message itself when it decides `StartModelTurn`.",
        before: &[
            r#"{"fact":"message_queued","message":{"id":"o1","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"check the build"}}}"#,
        ],
        fact: r#"{"fact":"message_dequeued","message_id":"o1"}"#,
    },
    Unsaid {
        why: "A driver's step opens the run, and `start_turn` carries its id. From a driver, with \
              that id, the fact only notes that the turn began.",
        before: &[],
        fact: r#"{"fact":"turn_started","run_id":"run-1","message_id":"o1"}"#,
    },
    Unsaid {
        why: "A driver's message is settled by the end of its turn, `turn_terminal`.",
        before: &[],
        fact: r#"{"fact":"message_processed","message_id":"o1"}"#,
    },
    Unsaid {
        why: "A driver's message is settled by the end of its turn, `turn_aborted`.",
        before: &[
            r#"{"fact":"message_queued","message":{"id":"o2","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"and the docs"}}}"#,
        ],
        fact: r#"{"fact":"message_aborted","message_id":"o2"}"#,
    },
    Unsaid {
        why: "A driver's step at a safe point decides this itself, and the effect `interject` \
              names the message.",
        before: &[
            r#"{"fact":"message_queued","message":{"id":"o3","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","priority":"interject","body":{"type":"text","text":"skip the tests"}}}"#,
        ],
        fact: r#"{"fact":"message_interjected","message_id":"o3"}"#,
    },
    Unsaid {
        why: "The batch in which a driver's task ends queues its result, and records this.",
        before: &[
            r#"{"fact":"task_created","task_id":"build","task_kind":"command_task"}"#,
            r#"{"fact":"task_completed","task_id":"build","summary":"the build passed"}"#,
        ],
        fact: r#"{"fact":"task_result_queued","task_id":"build","message_id":"o4"}"#,
    },
    Unsaid {
        why: "The batch that starts the turn about a driver's result records this.",
        before: &[],
        fact: r#"{"fact":"task_result_delivered","task_id":"build","message_id":"o4"}"#,
    },
    Unsaid {
        why: "A driver says `wait_condition_registered` with a trigger as the wake source. An \
              intent is how other runtimes say the same; one of the agent stays after a delivery.",
        before: &[],
        fact: r#"{"fact":"waiting_intent_created","waiting_intent_id":"reviews","scope":"agent","description":"a review of a pull request","source":"github","delivery_mode":"wake_hint","external_trigger_id":"reviews-hook"}"#,
    },
    Unsaid {
        why: "It only counts. What ends a wait is `external_trigger_delivered`, a message or a \
              hint.",
        before: &[],
        fact: r#"{"fact":"waiting_intent_triggered","waiting_intent_id":"reviews"}"#,
    },
    Unsaid {
        why: "A driver has intents only from an import; to end one of these, it may say this.",
        before: &[],
        fact: r#"{"fact":"waiting_intent_cancelled","waiting_intent_id":"reviews"}"#,
    },
    Unsaid {
        why: "A driver's step finds that a deadline has passed, tells the model, and ends the \
              wait. Said by a driver, it ends the wait at once.",
        before: &[
            r#"{"fact":"wait_condition_registered","wait_condition_id":"approval","kind":"operator","waiting_for":"an approval","wake_sources":[{"kind":"operator_input"}],"expires_in_ms":3600000}"#,
        ],
        fact: r#"{"fact":"wait_condition_expired","wait_condition_id":"approval"}"#,
    },
    Unsaid {
        why: "A driver's step fires due timers itself.",
        before: &[
            r#"{"fact":"timer_created","timer_id":"hourly","duration_ms":3600000,"interval_ms":3600000}"#,
        ],
        fact: r#"{"fact":"timer_fired","timer_id":"hourly"}"#,
    },
    Unsaid {
        why: "A driver's timer completes when it fires for the last time.",
        before: &[],
        fact: r#"{"fact":"timer_completed","timer_id":"hourly"}"#,
    },
    Unsaid {
        why: "A driver says `wake_hint_submitted`, and hints are coalesced where they wait.",
        before: &[],
        fact: r#"{"fact":"wake_hint_coalesced","reason":"the branch moved","source":"git"}"#,
    },
    Unsaid {
        why: "A driver gets this as the answer to `wake_hint_submitted`.",
        before: &[],
        fact: r#"{"fact":"wake_hint_ignored","reason":"the agent is stopped","source":"git"}"#,
    },
];
