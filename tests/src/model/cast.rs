//! The participants of the model, and everything that can come from outside: each fact once, with
//! the states in which it can come.
//!
//! There are few ids and each is used once. So the states themselves bound the space, and not a
//! count of what happened.

use serde_json::{Value, json};
use wakeful_core::{
    id::MessageId,
    record::work::WorkItemPlanStatus,
    state::{State, budget::Account, work::Item},
    time::Timestamp,
};

/// The number of participants of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cast {
    /// Work items, `w1` and `w2`.
    pub items: usize,
    /// Tasks: the first blocks its item, the second runs in the background.
    pub tasks: usize,
    /// Timers: the first fires once, the second at an interval.
    pub timers: usize,
    /// Names of external triggers that the host made up, each with an intent of the agent.
    pub triggers: usize,
    /// External triggers of the ledger: the first serves the agent and wakes, the second serves the
    /// first item, for one message.
    pub ingress: usize,
    /// Whether there is a budget: 0 or 1.
    pub budgets: usize,
    /// Prompts of the operator; the second is about the first item.
    pub messages: usize,
    /// Conditions, in this order: for a task, the operator, the runtime, an external event, a
    /// timer.
    pub waits: usize,
    /// Whether there are wake hints: 0 or 1.
    pub hints: usize,
}

impl Cast {
    /// Two items, two tasks, two timers, an external trigger.
    pub const FULL: Self = Self {
        items: 2,
        tasks: 2,
        timers: 2,
        triggers: 1,
        ingress: 2,
        budgets: 1,
        messages: 2,
        waits: 5,
        hints: 1,
    };
    /// One item with its task, and one prompt of the operator.
    pub const ITEM_AND_PROMPT: Self = Self { messages: 1, ..Self::WAITING };
    /// One item that can wait for its task.
    pub const WAITING: Self = Self { items: 1, tasks: 1, waits: 1, ..Self::HINT };
    /// Only wake hints.
    pub const HINT: Self = Self { hints: 1, ..Self::NOBODY };
    /// Only control: start, stop and shutdown.
    pub const NOBODY: Self = Self {
        items: 0,
        tasks: 0,
        timers: 0,
        triggers: 0,
        ingress: 0,
        budgets: 0,
        messages: 0,
        waits: 0,
        hints: 0,
    };

    /// The small casts, by their names on the command line.
    pub const SMALL: [(&str, Self); 9] = [
        ("hint", Self::HINT),
        ("timer", Self { timers: 1, ..Self::NOBODY }),
        ("timer-and-hint", Self { timers: 1, ..Self::HINT }),
        ("task", Self { tasks: 1, ..Self::NOBODY }),
        ("prompt", Self { messages: 1, ..Self::NOBODY }),
        ("item", Self { items: 1, ..Self::NOBODY }),
        ("item-and-prompt", Self::ITEM_AND_PROMPT),
        ("trigger", Self { ingress: 1, ..Self::NOBODY }),
        ("budget", Self { budgets: 1, ..Self::ITEM_AND_PROMPT }),
    ];
}

/// An input from outside.
pub struct Input {
    /// The fact as JSON text; `$run` is replaced by the id of the open run.
    pub fact: String,
    /// Whether it can come in this state.
    pub can_come: Box<dyn Fn(&State) -> bool + Send + Sync>,
}

impl Input {
    fn new(fact: &Value, can_come: impl Fn(&State) -> bool + Send + Sync + 'static) -> Self {
        Self { fact: fact.to_string(), can_come: Box::new(can_come) }
    }
}

/// The highest revision of an item, and the most fires of an interval timer. Without this limit
/// they would make the space infinite.
const CHANGES: u64 = 3;

/// The recheck of a blocker, and the deadline of a wait.
const RECHECK_AT: &str = "2026-05-27T09:10:00Z";
const EXPIRES_AT: &str = "2026-05-27T09:20:00Z";

/// The answers of a provider: all ways in which the open run can end. [`KINDS_OF_ANSWERS`] has
/// indices into this list.
#[must_use]
pub fn answers() -> Vec<String> {
    let terminal =
        |kind: &str| json!({"fact": "turn_terminal", "run_id": "$run", "kind": kind}).to_string();
    let aborted =
        |why: &str| json!({"fact": "turn_aborted", "run_id": "$run", "reason": why}).to_string();
    vec![
        terminal("completed"),
        terminal("provider_failed_needs_recovery"),
        terminal("baseline_over_budget"),
        aborted("runtime_error"),
        aborted("operator_aborted"),
    ]
}

/// One answer of each kind, for walks that would branch too much with all of them. The turn
/// completes, it owes a retry, or it failed and owes nothing (contract 5.6).
pub const KINDS_OF_ANSWERS: [usize; 3] = [0, 1, 4];

/// Everything that can come from outside. The answers of the provider are first.
#[must_use]
pub fn inputs(cast: Cast) -> Vec<Input> {
    let mut all: Vec<Input> = answers()
        .into_iter()
        .map(|fact| Input { fact, can_come: Box::new(|state: &State| state.turns().run.is_some()) })
        .collect();
    all.push(Input::new(
        &json!({"fact": "turn_terminal", "run_id": "gone", "kind": "completed"}),
        |state| state.turns().turn_index > 0,
    ));
    all.extend(control(cast));
    all.extend(messages(cast));
    (1..=cast.items).for_each(|n| all.extend(item(n)));
    (1..=cast.tasks).for_each(|n| all.extend(task(cast, n)));
    (1..=cast.timers).for_each(|n| all.extend(timer(n)));
    (1..=cast.triggers).for_each(|n| all.extend(trigger(n)));
    (1..=cast.ingress).for_each(|n| all.extend(ingress(cast, n)));
    if cast.budgets > 0 {
        all.extend(budget());
    }
    all.extend(waits(cast));
    all
}

fn control(cast: Cast) -> Vec<Input> {
    let mut all = vec![
        Input::new(&json!({"fact": "stop_requested"}), |state| state.control().stopped.is_none()),
        Input::new(&json!({"fact": "start_requested"}), |state| state.control().stopped.is_some()),
        Input::new(&json!({"fact": "shutdown_requested"}), |state| {
            state.control().closing.is_none()
        }),
    ];
    if cast.hints > 0 {
        // One hint, and one more that is folded into it.
        all.push(Input::new(
            &json!({"fact": "wake_hint_submitted", "reason": "look", "source": "ci"}),
            |state| {
                state.control().hint_ticked.is_none()
                    && state
                        .control()
                        .hint
                        .as_ref()
                        .is_none_or(|hint| hint.coalesced == Default::default())
            },
        ));
    }
    all
}

fn unseen(id: String) -> impl Fn(&State) -> bool {
    let id = MessageId::from(id.as_str());
    move |state| state.queue().seen(&id).is_none()
}

fn messages(cast: Cast) -> Vec<Input> {
    let message = |id: &str,
                   kind: &str,
                   origin: &Value,
                   trust: &str,
                   priority: &str,
                   item: Option<&str>| {
        json!({"fact": "message_queued", "message": {"id": id, "kind": kind, "origin": origin, "trust": trust, "priority": priority,
               "work_item_id": item, "body": {"type": "text", "text": "hello"}}})
    };
    let operator = json!({"kind": "operator"});
    let mut all = Vec::new();
    for n in 1..=cast.messages {
        // Only the second prompt is about an item, so that both cases occur.
        let about = (n == 2).then_some("w1");
        let id = format!("p{n}");
        let prompt =
            message(&id, "operator_prompt", &operator, "trusted_operator", "normal", about);
        let seen = unseen(id.clone());
        all.push(Input::new(&prompt, unseen(id)));
        // A duplicate that arrives long after the message has ended.
        all.push(Input::new(&prompt, move |state| {
            !seen(state) && state.queue().is_empty() && state.turns().run.is_none()
        }));
    }
    if cast.messages == 0 {
        return all;
    }
    let interjection =
        message("x", "operator_prompt", &operator, "trusted_operator", "interject", None);
    all.push(Input::new(&interjection, unseen("x".to_owned())));
    if cast.triggers > 0 {
        let webhook = message(
            "h",
            "webhook_event",
            &json!({"kind": "webhook", "source": "ci"}),
            "trusted_integration",
            "normal",
            None,
        );
        all.push(Input::new(&webhook, unseen("h".to_owned())));
    }
    all
}

fn changes(item: &Item) -> bool {
    item.record.revision < CHANGES
}

fn item(n: usize) -> Vec<Input> {
    let id = format!("w{n}");
    let fact = |name: &str, more: Value| {
        let mut fact = json!({"fact": name, "work_item_id": id});
        if let (Some(fact), Value::Object(more)) = (fact.as_object_mut(), more) {
            fact.extend(more);
        }
        fact
    };
    // Whether the item is open and this holds for it.
    let there = |holds: fn(&Item) -> bool| {
        let id = id.as_str().into();
        move |state: &State| state.work().items.get(&id).is_some_and(holds)
    };
    let unknown = {
        let id = id.as_str().into();
        move |state: &State| state.work().seen(&id).is_none()
    };
    let unfocused = {
        let id = id.as_str().into();
        move |state: &State| {
            state.work().items.contains_key(&id)
                && state.work().current().is_none_or(|item| item.record.id != id)
        }
    };
    vec![
        Input::new(&fact("work_item_created", json!({"objective": "o"})), unknown),
        Input::new(&fact("work_item_picked", json!({})), unfocused),
        Input::new(
            &fact("work_item_blocked", json!({"blocked_by": "b", "recheck_at": RECHECK_AT})),
            there(|item| changes(item) && item.record.blocked_by.is_none()),
        ),
        Input::new(
            &fact("work_item_unblocked", json!({})),
            there(|item| changes(item) && item.record.blocked_by.is_some()),
        ),
        Input::new(
            &fact("work_item_updated", json!({"plan_status": "needs_input"})),
            there(|item| {
                changes(item) && item.record.plan_status != WorkItemPlanStatus::NeedsInput
            }),
        ),
        Input::new(&fact("work_item_completed", json!({})), there(|_| true)),
    ]
}

fn task(cast: Cast, n: usize) -> Vec<Input> {
    let id = format!("t{n}");
    let item = (n <= cast.items).then(|| format!("w{n}"));
    // The first task blocks its item, the second runs beside it.
    let policy = if n == 1 { "blocking" } else { "background" };
    let fact = |status: &str| json!({"fact": format!("task_{status}"), "task_id": id, "task_kind": "command_task", "work_item_id": item, "detail": {"wait_policy": policy}});
    let active = {
        let id = id.as_str().into();
        move |state: &State| state.tasks().active.contains_key(&id)
    };
    let unknown = {
        let id = id.as_str().into();
        let item = item.as_deref().map(Into::into);
        move |state: &State| {
            let has_item = item.as_ref().is_none_or(|item| state.work().items.contains_key(item));
            has_item
                && !state.tasks().active.contains_key(&id)
                && !state.tasks().ended.contains_key(&id)
        }
    };
    let over = {
        let id = id.as_str().into();
        move |state: &State| state.tasks().ended.contains_key(&id)
    };
    vec![
        Input::new(&fact("running"), unknown),
        Input::new(&fact("completed"), active.clone()),
        Input::new(&fact("failed"), active),
        // A late report of an earlier phase.
        Input::new(&fact("running"), over),
    ]
}

fn timer(n: usize) -> Vec<Input> {
    let id = format!("k{n}");
    let interval = (n == 2).then_some(240_000);
    let unknown = {
        let id = id.as_str().into();
        move |state: &State| state.waiting().seen_timer(&id).is_none()
    };
    let active = {
        let id = id.as_str().into();
        move |state: &State| state.waiting().timers.contains_key(&id)
    };
    vec![
        Input::new(
            &json!({"fact": "timer_created", "timer_id": id, "duration_ms": 120_000, "interval_ms": interval}),
            unknown,
        ),
        Input::new(&json!({"fact": "timer_cancelled", "timer_id": id}), active),
    ]
}

fn trigger(n: usize) -> Vec<Input> {
    let (trigger, intent) = (format!("e{n}"), format!("i{n}"));
    let delivery = |id: &str, trigger: &str| {
        json!({"fact": "message_queued", "message": {"id": id, "kind": "callback_event", "origin": {"kind": "callback", "descriptor_id": trigger},
               "trust": "trusted_integration", "priority": "normal", "metadata": {"external_trigger_id": trigger}, "body": {"type": "text", "text": "news"}}})
    };
    let unknown = {
        let id = intent.as_str().into();
        move |state: &State| state.waiting().seen_intent(&id).is_none()
    };
    let active = {
        let id = intent.as_str().into();
        move |state: &State| state.waiting().intents.contains_key(&id)
    };
    vec![
        Input::new(
            &json!({"fact": "waiting_intent_created", "waiting_intent_id": intent, "scope": "agent", "description": "d", "source": "ci",
                          "delivery_mode": "wake_hint", "external_trigger_id": trigger}),
            unknown,
        ),
        Input::new(
            &json!({"fact": "waiting_intent_cancelled", "waiting_intent_id": intent}),
            active,
        ),
        Input::new(&delivery(&format!("c{n}"), &trigger), unseen(format!("c{n}"))),
        // A delivery to an unknown trigger.
        Input::new(&delivery(&format!("d{n}"), "nobody"), unseen(format!("d{n}"))),
    ]
}

/// An external trigger: its deliveries, a wait that names it, and its end.
fn ingress(cast: Cast, n: usize) -> Vec<Input> {
    let id = format!("x{n}");
    let item = (n == 2 && cast.items > 0).then_some("w1");
    let fact = |name: &str, more: Value| {
        let mut fact =
            json!({"fact": format!("external_trigger_{name}"), "external_trigger_id": id});
        if let (Some(fact), Value::Object(more)) = (fact.as_object_mut(), more) {
            fact.extend(more);
        }
        fact
    };
    let has_owner =
        move |state: &State| item.is_none_or(|item| state.work().items.contains_key(&item.into()));
    let unknown = {
        let id = id.as_str().into();
        move |state: &State| state.ingress().seen(&id).is_none() && has_owner(state)
    };
    let open = {
        let id = id.as_str().into();
        move |state: &State| state.ingress().open.contains_key(&id)
    };
    // Whether it is open and had this many deliveries.
    let had = |count: u64| {
        let id = id.as_str().into();
        move |state: &State| {
            let open = state.ingress().open.get(&id);
            open.is_some_and(|open| open.record.delivery_count == count)
        }
    };
    let wait = format!("{id}-wait");
    let no_wait = {
        let id = wait.as_str().into();
        move |state: &State| state.waiting().seen_condition(&id).is_none() && has_owner(state)
    };
    let (old, new) = ("a".repeat(64), "b".repeat(64));
    let mode = if n == 1 { "wake_hint" } else { "enqueue_message" };
    let delivery = |number: u64| json!({"delivery_id": format!("d{number}"), "token_hash": old, "content": {"type": "text", "text": "news"}});
    vec![
        Input::new(
            &fact(
                "created",
                json!({"token_hash": old, "description": "d", "work_item_id": item, "delivery_mode": mode,
                       "trust": "trusted_integration", "one_shot": n == 2, "expires_in_ms": (n == 1).then_some(600_000)}),
            ),
            unknown,
        ),
        Input::new(&fact("delivered", delivery(1)), had(0)),
        Input::new(&fact("delivered", delivery(2)), had(1)),
        Input::new(&fact("rotated", json!({"token_hash": new})), had(1)),
        Input::new(&fact("revoked", json!({})), open),
        Input::new(
            &json!({"fact": "wait_condition_registered", "wait_condition_id": wait, "work_item_id": item, "kind": "external",
                    "waiting_for": "it", "wake_sources": [{"kind": "external_ingress", "external_trigger_id": id}]}),
            no_wait,
        ),
    ]
}

/// A budget that one round uses up, and a grant.
fn budget() -> Vec<Input> {
    let of_agent = |holds: fn(&Account) -> bool| move |state: &State| holds(&state.budgets().agent);
    vec![
        Input::new(
            &json!({"fact": "budget_set", "tokens_per_day": 10}),
            of_agent(|account| account.limits.tokens_per_day.is_none()),
        ),
        Input::new(
            &json!({"fact": "provider_round_completed", "run_id": "$run", "round": 1, "input_tokens": 10}),
            |state| {
                let account = &state.budgets().agent;
                let is_limited = account.limits.tokens_per_day.is_some();
                is_limited && account.total.rounds < 2 && state.turns().run.is_some()
            },
        ),
        Input::new(&json!({"fact": "budget_granted", "grant_id": "g1", "tokens": 10}), |state| {
            state.budgets().agent.exhausted.is_some() && state.budgets().grants.is_empty()
        }),
    ]
}

/// The conditions that the first item and the agent itself can register.
fn waits(cast: Cast) -> Vec<Input> {
    let sources = [
        ("task", cast.tasks > 0, json!({"kind": "task_result", "task_id": "t1"})),
        ("operator", true, json!({"kind": "operator_input"})),
        ("system", true, json!({"kind": "system_tick"})),
        (
            "external",
            cast.triggers > 0,
            json!({"kind": "external_ingress", "external_trigger_id": "e1"}),
        ),
        (
            "timer",
            cast.timers > 0,
            json!({"kind": "timer", "wake_at": EXPIRES_AT, "timer_id": "k1"}),
        ),
    ];
    let owners = (cast.items > 0).then_some("w1");
    sources
        .into_iter()
        .filter(|(_, is_there, _)| *is_there)
        .take(cast.waits)
        .map(|(kind, _, source)| {
            let id = format!("{kind}-wait");
            // The operator's wait has a deadline.
            let expires_at = (kind == "operator").then_some(EXPIRES_AT);
            // The wait for the runtime is the agent's own.
            let owner = owners.filter(|_| kind != "system");
            let fact = json!({"fact": "wait_condition_registered", "wait_condition_id": id, "work_item_id": owner, "kind": kind, "waiting_for": "it",
                              "wake_sources": [source], "expires_at": expires_at});
            let id = id.as_str().into();
            Input::new(&fact, move |state| {
                let has_owner =
                    owner.is_none_or(|item| state.work().items.contains_key(&item.into()));
                has_owner && state.waiting().seen_condition(&id).is_none()
            })
        })
        .collect()
}

/// Whether time may advance to this instant: an interval timer has a limit of fires.
#[must_use]
pub fn may_wait_until(state: &State, at: Timestamp) -> bool {
    at > state.at()
        && state.waiting().timers.values().all(|timer| timer.record.fire_count < CHANGES)
}
