//! Where a search begins: agents that were told something. Budgets are small, so that the ends of retries, offers and turns are near.

const POLICY: &str = r#"{"fact":"policy_set","policy":{"replay_budget":2,"failed_turn_retries":1,"failed_turn_backoff_ms":[60000],"offer_backoff_ms":[60000,120000],"autonomous_turns":5}}"#;

const ITEM: &str = r#"{"fact":"work_item_created","work_item_id":"w1","objective":"o"}"#;
const PICKED: &str = r#"{"fact":"work_item_picked","work_item_id":"w1"}"#;
const OTHER_ITEM: &str = r#"{"fact":"work_item_created","work_item_id":"w2","objective":"o"}"#;
const TASK: &str =
    r#"{"fact":"task_running","task_id":"t1","task_kind":"command_task","work_item_id":"w1","detail":{"wait_policy":"blocking"}}"#;
const WAIT: &str = r#"{"fact":"wait_condition_registered","wait_condition_id":"task-wait","work_item_id":"w1","kind":"task","waiting_for":"it","wake_sources":[{"kind":"task_result","task_id":"t1"}]}"#;
const INTENT: &str = r#"{"fact":"waiting_intent_created","waiting_intent_id":"i1","scope":"agent","description":"d","source":"ci","delivery_mode":"wake_hint","external_trigger_id":"e1"}"#;
const TIMER: &str = r#"{"fact":"timer_created","timer_id":"k1","duration_ms":120000}"#;
const BLOCKED: &str = r#"{"fact":"work_item_blocked","work_item_id":"w2","blocked_by":"b","recheck_at":"2026-05-27T09:10:00Z"}"#;

fn told(facts: &[&str]) -> Vec<String> {
    [POLICY].iter().chain(facts).map(|fact| (*fact).to_owned()).collect()
}

/// An agent that knows nothing.
#[must_use]
pub fn nothing() -> Vec<Vec<String>> {
    vec![told(&[])]
}

/// One whose item has a task.
#[must_use]
pub fn task() -> Vec<Vec<String>> {
    vec![told(&[ITEM, TASK])]
}

/// One that knows nothing, one with two items, one that waits for a task and a trigger, one with a blocker and a timer, and one with a task.
#[must_use]
pub fn all() -> Vec<Vec<String>> {
    let alone = [told(&[ITEM, PICKED, OTHER_ITEM]), told(&[ITEM, PICKED, TASK, WAIT, INTENT]), told(&[ITEM, OTHER_ITEM, BLOCKED, TIMER])];
    nothing().into_iter().chain(alone).chain(task()).collect()
}
