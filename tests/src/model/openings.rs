//! The agents at the start of a search, each described by commands of a scenario. A search of few
//! moves from these reaches states that are many moves from nothing. Budgets are small, so that the
//! ends of retries, offers and turns are near.

/// An agent at the start of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Its name, for people.
    pub name: &'static str,
    /// Commands of a scenario that lead there. The last one appends something, so that the state
    /// shows its clock.
    pub tells: &'static str,
}

/// The first command of every opening.
const POLICY: &str = r#"say {"fact":"policy_set","policy":{"replay_budget":2,"failed_turn_retries":1,"failed_turn_backoff_ms":[60000],"offer_backoff_ms":[60000,120000],"autonomous_turns":5}}"#;

/// An agent that knows nothing.
pub const NOTHING: Opening = Opening { name: "nothing", tells: "" };

/// An agent whose item has a task.
pub const TASK: Opening = Opening {
    name: "an item with a task",
    tells: r#"
item w1 o
say {"fact":"task_running","task_id":"t1","task_kind":"command_task","work_item_id":"w1","detail":{"wait_policy":"blocking"}}
"#,
};

/// All openings.
pub const ALL: [Opening; 15] = [
    NOTHING,
    TASK,
    Opening { name: "two items", tells: "item w1 o\npick w1\nitem w2 o" },
    Opening {
        name: "waits for a task and a trigger",
        tells: r#"
item w1 o
pick w1
say {"fact":"task_running","task_id":"t1","task_kind":"command_task","work_item_id":"w1","detail":{"wait_policy":"blocking"}}
say {"fact":"wait_condition_registered","wait_condition_id":"task-wait","work_item_id":"w1","kind":"task","waiting_for":"it","wake_sources":[{"kind":"task_result","task_id":"t1"}]}
say {"fact":"waiting_intent_created","waiting_intent_id":"i1","scope":"agent","description":"d","source":"ci","delivery_mode":"wake_hint","external_trigger_id":"e1"}
"#,
    },
    Opening {
        name: "a blocker and a timer",
        tells: r#"
item w1 o
item w2 o
say {"fact":"work_item_blocked","work_item_id":"w2","blocked_by":"b","recheck_at":"2026-05-27T09:10:00Z"}
say {"fact":"timer_created","timer_id":"k1","duration_ms":120000}
"#,
    },
    // A webhook under a wait for the operator is deferred, and the turn of the operator's prompt
    // lists it.
    Opening {
        name: "an open run with a deferred message",
        tells: r#"
item w1 o
pick w1
say {"fact":"wait_condition_registered","wait_condition_id":"operator-wait","work_item_id":"w1","kind":"operator","waiting_for":"it","wake_sources":[{"kind":"operator_input"}]}
webhook h news
run
prompt p1 hello
run
"#,
    },
    Opening {
        name: "a retry in its backoff",
        tells: "prompt p1 hello\nrun\nend provider_failed_needs_recovery\nrun",
    },
    Opening { name: "a replay after a death", tells: "prompt p1 hello\nrun\nrestart" },
    // Three turns that change nothing: the first, and one for each offer that the policy allows.
    Opening {
        name: "a parked item",
        tells: r"
item w1 o
pick w1
run
end completed
run
clock 2026-05-27T09:01:00Z
run
end completed
run
clock 2026-05-27T09:03:00Z
run
end completed
run
",
    },
    Opening {
        name: "stopped with queued input",
        tells: "item w1 o\npick w1\nsay {\"fact\":\"stop_requested\"}\nprompt p1 hello",
    },
    Opening {
        name: "two tasks of which one has ended",
        tells: r#"
item w1 o
say {"fact":"task_running","task_id":"t1","task_kind":"command_task","work_item_id":"w1","detail":{"wait_policy":"blocking"}}
say {"fact":"task_running","task_id":"t2","task_kind":"command_task","work_item_id":"w1","detail":{"wait_policy":"background"}}
say {"fact":"task_completed","task_id":"t1"}
"#,
    },
    Opening {
        name: "an interval timer that has fired",
        tells: r#"
say {"fact":"timer_created","timer_id":"k2","duration_ms":120000,"interval_ms":240000}
run
clock 2026-05-27T09:02:00Z
step
"#,
    },
    Opening {
        name: "a delivery that waits",
        tells: r#"
say {"fact":"waiting_intent_created","waiting_intent_id":"i1","scope":"agent","description":"d","source":"ci","delivery_mode":"wake_hint","external_trigger_id":"e1"}
prompt p1 hello
run
say {"fact":"message_queued","message":{"id":"c1","kind":"callback_event","origin":{"kind":"callback","descriptor_id":"e1"},"trust":"trusted_integration","priority":"normal","metadata":{"external_trigger_id":"e1"},"body":{"type":"text","text":"news"}}}
"#,
    },
    Opening {
        name: "a delivery to a trigger that has ended",
        tells: r#"
say {"fact":"external_trigger_created","external_trigger_id":"x1","token_hash":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","description":"d","delivery_mode":"wake_hint","trust":"trusted_integration","expires_in_ms":600000}
prompt p1 hello
run
say {"fact":"external_trigger_delivered","external_trigger_id":"x1","token_hash":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","delivery_id":"d1","content":{"type":"text","text":"news"}}
say {"fact":"external_trigger_revoked","external_trigger_id":"x1"}
say {"fact":"wait_condition_registered","wait_condition_id":"x1-wait","kind":"external","waiting_for":"it","wake_sources":[{"kind":"external_ingress","external_trigger_id":"x1"}]}
"#,
    },
    Opening {
        name: "a budget that is exhausted",
        tells: r#"
item w1 o
say {"fact":"budget_set","tokens_per_day":10}
prompt p1 hello
run
say {"fact":"provider_round_completed","run_id":"$run","round":1,"input_tokens":10}
webhook h news
end completed
run
"#,
    },
];

impl Opening {
    /// Its commands in a scenario, the policy first.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &'static str> {
        [POLICY].into_iter().chain(self.tells.lines().filter(|line| !line.is_empty()))
    }
}
