//! Situations: agents beside many things of one kind.

use wakeful_host::engine::{Engine, Native};

use crate::{
    agent::{self, Agent, Ticking, Turns},
    kept::Kept,
    paths::AGENT,
};

/// How many things there are in the small and in the large situation of each kind.
pub const SIZES: [usize; 2] = [10, 10_000];

/// The turns that an agent has completed before anything else.
const TURNS: usize = 100;

type Settled = Agent<Native<Kept, Ticking, Turns>>;

/// Things of which an agent can have many.
pub struct Kind {
    /// What they are called after their number.
    pub name: &'static str,
    add: fn(&mut Settled, usize),
}

/// Every kind of thing that may be alive in large numbers.
pub const KINDS: [Kind; 19] = [
    Kind {
        name: "items that wait for something external",
        add: |agent, at| waiting_item(agent, at, "external", ""),
    },
    Kind {
        name: "items that wait for a trigger",
        add: |agent, at| {
            trigger(agent, at, "");
            let source =
                format!(r#"{{"kind":"external_ingress","external_trigger_id":"trigger-{at}"}}"#);
            waiting_item(agent, at, "external", &source);
        },
    },
    Kind {
        name: "items that wait for the operator",
        add: |agent, at| waiting_item(agent, at, "operator", ""),
    },
    Kind {
        name: "items that wait for the runtime",
        add: |agent, at| waiting_item(agent, at, "system", ""),
    },
    Kind {
        name: "items that wait for a task",
        add: |agent, at| {
            task(agent, at, "background", None);
            let source = format!(r#"{{"kind":"task_result","task_id":"task-{at}"}}"#);
            waiting_item(agent, at, "task", &source);
        },
    },
    Kind {
        name: "items that wait for an instant",
        add: |agent, at| {
            let source = format!(r#"{{"kind":"timer","wake_at":"{LATER}"}}"#);
            waiting_item(agent, at, "timer", &source);
        },
    },
    Kind {
        name: "items that need input",
        add: |agent, at| {
            item(agent, at);
            agent.propose(&format!(
                r#"{{"fact":"work_item_updated","work_item_id":"item-{at}","plan_status":"needs_input"}}"#
            ));
        },
    },
    Kind {
        name: "items that are blocked until an instant",
        add: |agent, at| {
            item(agent, at);
            agent.propose(&format!(
                r#"{{"fact":"work_item_blocked","work_item_id":"item-{at}","blocked_by":"the weather","recheck_at":"{LATER}"}}"#
            ));
        },
    },
    Kind {
        name: "items that were offered",
        add: |agent, at| {
            item(agent, at);
            agent.settle();
        },
    },
    Kind {
        name: "intents of the agent",
        add: |agent, at| {
            trigger(agent, at, "");
            agent.propose(&intent(at, r#""scope":"agent""#));
        },
    },
    Kind {
        name: "intents of items",
        add: |agent, at| {
            item(agent, at);
            trigger(agent, at, "");
            agent.propose(&intent(
                at,
                &format!(r#""scope":"work_item","work_item_id":"item-{at}""#),
            ));
        },
    },
    Kind {
        name: "intents of the current item",
        add: |agent, at| {
            if at == 0 {
                item(agent, 0);
                agent.propose(r#"{"fact":"work_item_picked","work_item_id":"item-0"}"#);
            }
            trigger(agent, at, "");
            agent.propose(&intent(at, r#""scope":"work_item","work_item_id":"item-0""#));
        },
    },
    Kind {
        name: "timers",
        add: |agent, at| {
            agent.propose(&format!(
                r#"{{"fact":"timer_created","timer_id":"timer-{at}","duration_ms":3000000000}}"#
            ));
        },
    },
    Kind { name: "tasks in the background", add: |agent, at| task(agent, at, "background", None) },
    Kind {
        name: "tasks that block an item",
        add: |agent, at| {
            item(agent, at);
            task(agent, at, "blocking", Some(at));
        },
    },
    Kind {
        name: "triggers that expire",
        add: |agent, at| trigger(agent, at, &format!(r#","expires_at":"{LATER}""#)),
    },
    Kind {
        name: "ended tasks and items",
        add: |agent, at| {
            task(agent, at, "background", None);
            agent.propose(&format!(
                r#"{{"fact":"task_cancelled","task_id":"task-{at}","summary":"no more"}}"#
            ));
            item(agent, at);
            agent.propose(&format!(
                r#"{{"fact":"work_item_completed","work_item_id":"item-{at}"}}"#
            ));
            agent.settle();
        },
    },
    Kind {
        name: "failed turns that are tried again",
        add: |agent, at| {
            if at == 0 {
                agent.propose(
                    r#"{"fact":"policy_set","policy":{"failed_turn_backoff_ms":[3000000000]}}"#,
                );
            }
            let message = agent.next_message();
            agent.propose(&message);
            agent.rest();
            let end = agent.end_of_turn().expect("a message starts a turn");
            agent.propose(&end.replace("completed", "provider_failed_needs_recovery"));
            agent.rest();
        },
    },
    Kind {
        name: "messages that wait",
        add: |agent, _| {
            let message = agent.next_message();
            agent.propose(&message);
        },
    },
];

/// Later than all that is counted.
const LATER: &str = "2027-05-27T09:00:00Z";

fn item(agent: &mut Settled, at: usize) {
    agent.propose(&format!(
        r#"{{"fact":"work_item_created","work_item_id":"item-{at}","objective":"the objective of item {at}"}}"#
    ));
}

fn waiting_item(agent: &mut Settled, at: usize, kind: &str, source: &str) {
    item(agent, at);
    agent.propose(&format!(
        r#"{{"fact":"wait_condition_registered","wait_condition_id":"wait-{at}","work_item_id":"item-{at}","kind":"{kind}","waiting_for":"the callback of {at}","wake_sources":[{source}]}}"#
    ));
}

fn task(agent: &mut Settled, at: usize, policy: &str, item: Option<usize>) {
    let item = item.map_or(String::new(), |item| format!(r#""work_item_id":"item-{item}","#));
    agent.propose(&format!(
        r#"{{"fact":"task_created","task_id":"task-{at}","task_kind":"command_task",{item}"summary":"the task of {at}","wait_policy":"{policy}"}}"#
    ));
}

fn trigger(agent: &mut Settled, at: usize, more: &str) {
    agent.propose(&format!(
        r#"{{"fact":"external_trigger_created","external_trigger_id":"trigger-{at}","token_hash":"{at:064x}","description":"a callback","delivery_mode":"enqueue_message","trust":"untrusted_external"{more}}}"#
    ));
}

fn intent(at: usize, owner: &str) -> String {
    format!(
        r#"{{"fact":"waiting_intent_created","waiting_intent_id":"intent-{at}",{owner},"description":"the callback of {at}","source":"a shop","delivery_mode":"enqueue_message","external_trigger_id":"trigger-{at}"}}"#
    )
}

impl Kind {
    /// The name of this number of them.
    #[must_use]
    pub fn beside(&self, size: usize) -> String {
        format!("{size} {}", self.name)
    }
}

/// An agent after some turns: its whole ledger, and its snapshot with the newest entry alone.
pub(crate) fn after_turns() -> (Kept, Kept) {
    let ledger = Kept::default();
    let mut agent = begun(&ledger);
    (ledger.clone(), shortened(&ledger, &mut agent))
}

/// The same agent beside this number of things of a kind.
pub(crate) fn beside(kind: &Kind, size: usize) -> Kept {
    let ledger = Kept::default();
    let mut agent = begun(&ledger);
    (0..size).for_each(|at| (kind.add)(&mut agent, at));
    agent.rest();
    shortened(&ledger, &mut agent)
}

fn begun(ledger: &Kept) -> Settled {
    let mut agent = agent::named(AGENT, ledger.clone());
    (0..TURNS).for_each(|_| agent.round());
    agent
}

fn shortened(ledger: &Kept, agent: &mut Settled) -> Kept {
    ledger.shortened(agent.engine.snapshot().expect("it is open"))
}
