//! No dead ends: which trigger ends which wait, for every wait and every owner, while running and
//! across a stop (contract 4.2, 5.15, 5.16, 5.21).

use serde_json::{Value, json};
use wakeful_core::record::{
    Record, decision::DecisionKind, event::EventKind, queue::envelope::QueueStatus,
    task::message::InterruptedTasksNote, waiting::WaitConditionKind,
};

use super::driven::{
    Driven, NOW, callback, condition, fact, followup, hint, intent, item, message, needs_input,
    of_item, prompt, prompt_with, task, task_message, timer, webhook,
};

/// The triggers, in the order of the columns.
const TRIGGERS: [&str; 18] = [
    "prompt",
    "prompt about the item",
    "prompt of a stranger",
    "result of t",
    "result of x",
    "progress of t",
    "webhook",
    "blank webhook",
    "callback to e",
    "callback to f",
    "timer k",
    "timer l",
    "hint that names i",
    "hint that names e",
    "hint that says something",
    "blank hint",
    "follow-up",
    "nothing",
];

/// Owner, wait, and what each trigger does: `E` ends the wait, `M` reaches the model as a match but
/// leaves the wait active, `t` starts a turn about something else, `.` is liveness only.
///
/// The agent does not wait for an item without the focus. So a trigger that names nothing acts
/// there as if nothing were waited for. The agent waits for every active timer, even if a wait of
/// an item names it. An intent of the agent is active until it is revoked, and an item needs input
/// until its next snapshot.
const TABLE: [(&str, &str, &str); 31] = [
    ("item", "task t", "tttEt.t.tttt..t.t."),
    ("current", "task t", "tttEt.....tt....t."),
    ("agent", "task t", "tttEt.....tt....t."),
    ("item", "external e", "ttttt.t.Ettt.Et.t."),
    ("current", "external e", "ttMtt.M.E.tt.EM.t."),
    ("agent", "external e", "ttMtt.M.E.tt.EM.t."),
    ("item", "external", "ttEtt.E.EEtt.EE.t."),
    ("current", "external", "ttEtt.E.EEtt.EE.t."),
    ("agent", "external", "ttEtt.E.EEtt.EE.t."),
    // The item is the only one that asks, and none has the focus: so the answer is for it.
    ("item", "operator", "EEttt.t.tttt..t.t."),
    ("current", "operator", "EEttt.....tt....t."),
    ("agent", "operator", "EEttt.....tt....t."),
    ("item", "timer k", "ttttt.....Et....t."),
    ("current", "timer k", "ttttt.....Et....t."),
    ("agent", "timer k", "ttttt.....Et....t."),
    ("item", "system", "ttttt.t.tttt..t.tE"),
    ("current", "system", "ttMtt.M...tt..M.tE"),
    ("agent", "system", "ttMtt.M...tt..M.tE"),
    ("item", "intent e", "ttttt.t.EtttEEt.t."),
    ("current", "intent e", "ttMtt.M.E.ttEEM.t."),
    ("agent", "intent e", "ttMtt.M.M.ttMMM.t."),
    ("item", "intent", "ttEtt.E.EEttEEE.t."),
    ("current", "intent", "ttEtt.E.EEttEEE.t."),
    ("agent", "intent", "ttMtt.M.MMttMMM.t."),
    ("item", "needs_input", "MMttt.t.tttt..t.t."),
    ("current", "needs_input", "MMttt.....tt....t."),
    ("item", "blocking task t", "tttEt.t.tttt..t.t."),
    ("current", "blocking task t", "tttEt.....tt....t."),
    ("agent", "timer itself", "ttttt.....Et....t."),
    // Two waits of two owners at once: `E` if at least one of them ends.
    ("item and agent", "external e", "ttMtt.M.E.tt.EM.t."),
    ("item and agent", "operator", "EEttt.....tt....t."),
];

/// Whether a task is involved: a stop interrupts tasks, so another test has the waits for them.
fn is_about_tasks(wait: &str, trigger: &str) -> bool {
    wait.contains("task") || ["result", "progress"].iter().any(|what| trigger.starts_with(what))
}

/// The facts after which the owner has this wait. They include the tasks t and x, or timers, if the
/// wait or the trigger needs them.
fn waits(owner: &str, wait: &str, trigger: &str) -> Vec<Value> {
    let item_of_wait = (owner != "agent").then_some("w");
    let scope = if owner == "agent" { "agent" } else { "work_item" };
    let mut facts = vec![item("w")];
    if is_about_tasks(wait, trigger) {
        facts.extend([task("t", item_of_wait, wait == "blocking task t"), task("x", None, false)]);
    }
    match owner {
        "current" => facts.push(of_item("work_item_picked", "w")),
        // The item has no wait of its own, so it would be offered if it were not blocked.
        "agent" => facts.push(
            json!({"fact": "work_item_blocked", "work_item_id": "w", "blocked_by": "a review"}),
        ),
        _ => {}
    }
    let timers = ["k", "l"]
        .into_iter()
        .filter(|id| trigger == format!("timer {id}") || *id == "k" && wait.starts_with("timer"));
    facts.extend(
        timers
            .map(|id| timer(id, if trigger == format!("timer {id}") { 1_000 } else { 3_600_000 })),
    );
    let waits_for = |id: &str, kind: &str, item, source| vec![condition(id, kind, item, source)];
    let of_owner = |id: &str, owner| match wait {
        "task t" => waits_for(id, "task", owner, json!({"kind": "task_result", "task_id": "t"})),
        "external e" => waits_for(
            id,
            "external",
            owner,
            json!({"kind": "external_ingress", "external_trigger_id": "e"}),
        ),
        "external" => waits_for(id, "external", owner, json!({"kind": "external_ingress"})),
        "operator" => waits_for(id, "operator", owner, json!({"kind": "operator_input"})),
        "timer k" => waits_for(
            id,
            "timer",
            owner,
            json!({"kind": "timer", "wake_at": "2030-01-01T00:00:00Z", "timer_id": "k"}),
        ),
        "system" => waits_for(id, "system", owner, json!({"kind": "system_tick"})),
        "intent e" => vec![intent("i", scope, owner, "e")],
        "intent" => vec![intent("i", scope, owner, "")],
        "needs_input" => vec![needs_input("w")],
        "blocking task t" | "timer itself" => Vec::new(),
        other => panic!("`{other}` is not a wait"),
    };
    facts.extend(of_owner("c", item_of_wait));
    if owner == "item and agent" {
        facts.extend(of_owner("a", None));
    }
    facts
}

/// The fact of the trigger; `None` if time or the runtime itself is the trigger.
fn comes(trigger: &str) -> Option<Value> {
    Some(match trigger {
        "prompt" => prompt("m"),
        "prompt about the item" => prompt_with("m", json!({"work_item_id": "w"})),
        "prompt of a stranger" => message(
            "m",
            "operator_prompt",
            json!({"kind": "channel", "channel_id": "ch"}),
            "untrusted_external",
            "hello",
            json!({}),
        ),
        "result of t" => task_message("m", "task_result", "t", "completed"),
        "result of x" => task_message("m", "task_result", "x", "completed"),
        "progress of t" => task_message("m", "task_status", "t", "running"),
        "webhook" => webhook("m", "it happened"),
        "blank webhook" => webhook("m", " "),
        "callback to e" => callback("m", "e", "it happened"),
        "callback to f" => callback("m", "f", "it happened"),
        "hint that names i" => hint(json!({"waiting_intent_id": "i"})),
        "hint that names e" => hint(json!({"external_trigger_id": "e"})),
        "hint that says something" => hint(json!({"body": {"type": "text", "text": "news"}})),
        "blank hint" => hint(json!({})),
        "follow-up" => followup("m", "go on"),
        "timer k" | "timer l" | "nothing" => return None,
        other => panic!("`{other}` is not a trigger"),
    })
}

/// The number of these waits that are still active.
fn standing(driven: &Driven, wait: &str) -> usize {
    let state = driven.state();
    match wait {
        "needs_input" => usize::from(
            state.work().items[&"w".into()].record.plan_status.to_string() == "needs_input",
        ),
        "blocking task t" => usize::from(state.tasks().active.contains_key(&"t".into())),
        "timer itself" => usize::from(state.waiting().timers.contains_key(&"k".into())),
        "intent" | "intent e" => state.waiting().intents.len(),
        _ => state.waiting().conditions.len(),
    }
}

/// What the trigger does to the wait, as a cell of the table.
fn observed(owner: &str, wait: &str, trigger: &str, stopped: bool) -> char {
    let mut driven = Driven::told(&waits(owner, wait, trigger));
    let before = standing(&driven, wait);
    assert!(before > 0, "{owner} {wait}");
    if stopped {
        driven.tell(&[fact("stop_requested")]);
    }
    if let Some(fact) = comes(trigger) {
        driven.say(&fact);
    }
    // contract 8.4: a wait for the runtime is ticked after a minute. Other triggers come earlier,
    // so that the tick does not hide them.
    driven.now = NOW.plus_ms(if wait == "system" && (stopped || trigger == "nothing") {
        60_000
    } else {
        1_000
    });
    if stopped {
        // contract 4.2: it has no effect until the agent is started.
        driven.run();
        assert_eq!(standing(&driven, wait), before, "{owner} {wait}, {trigger}: while stopped");
        driven.tell(&[fact("start_requested")]);
    }
    let since = driven.records.len();
    let taken = |driven: &Driven| {
        driven.records[since..].iter().any(|record| {
            matches!(record, Record::QueueEntry(entry)
                if entry.status == QueueStatus::Dequeued)
        })
    };
    // A hint or a timer first becomes a message in a step, so its message is taken only in a later
    // one.
    while !taken(&driven) {
        let before = driven.records.len();
        driven.step();
        if driven.records.len() == before {
            break;
        }
    }
    let resolved = driven.records[since..].iter().find_map(|record| match record {
        Record::Event(event) if event.kind == EventKind::ContinuationResolved.as_str() => {
            event.data()?.field("resolution")
        }
        _ => None,
    });
    let said = |key: &str| {
        resolved.as_ref().and_then(|raw| raw.field(key)).is_some_and(|raw| raw.as_str() == "true")
    };
    match (standing(&driven, wait) < before, said("model_reentry"), said("matched_waiting_reason"))
    {
        (true, ..) => 'E',
        (false, true, true) => 'M',
        (false, true, false) => 't',
        (false, false, _) => '.',
    }
}

/// Plays the whole table, and gives the rows that differ.
fn differing(stopped: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for (owner, wait, row) in TABLE {
        let cells = || {
            row.chars()
                .zip(TRIGGERS)
                .filter(|(_, trigger)| !stopped || !is_about_tasks(wait, trigger))
        };
        let nothing = row.chars().last();
        // contract 4.2: a stopped agent ignores hints, so a hint acts like the trigger `nothing`.
        let expected: String = cells()
            .map(|(cell, trigger)| {
                nothing.filter(|_| stopped && trigger.contains("hint")).unwrap_or(cell)
            })
            .collect();
        let row: String =
            cells().map(|(_, trigger)| observed(owner, wait, trigger, stopped)).collect();
        if row != expected {
            wrong.push(format!(
                "{owner:15} {wait:16} expected {expected}\n{:15} {:16} observed {row}",
                "", ""
            ));
        }
    }
    wrong
}

#[test]
fn each_trigger_ends_the_waits_that_it_names_and_no_other() {
    let wrong = differing(false);
    assert!(wrong.is_empty(), "columns: {TRIGGERS:?}\n{}", wrong.join("\n"));
}

#[test]
fn what_comes_while_the_agent_is_stopped_ends_its_wait_after_start() {
    let wrong = differing(true);
    assert!(wrong.is_empty(), "columns: {TRIGGERS:?}\n{}", wrong.join("\n"));
}

/// contract 5.11: a stop or a restart that interrupts tasks ends the waits for them, by one tick
/// that names all of them.
#[test]
fn a_task_that_a_stop_or_a_restart_interrupts_is_no_dead_end() {
    for (owner, wait, _) in TABLE.iter().filter(|(_, wait, _)| wait.contains("task")) {
        for halt in [
            &["stop_requested", "start_requested"][..],
            &["runtime_restarted"],
            &["shutdown_requested", "runtime_restarted"],
        ] {
            let mut driven = Driven::told(&waits(owner, wait, "nothing"));
            driven.tell(&halt.iter().map(|name| fact(name)).collect::<Vec<_>>());
            let told = driven.step().expect("a turn");
            assert_eq!(
                (told.kind, driven.state().tasks().active.len()),
                (DecisionKind::StartModelTurn, 0),
                "{owner} {wait} {halt:?}"
            );
            assert_eq!(standing(&driven, wait), 0, "{owner} {wait} {halt:?}");
            let named: Vec<_> = driven.records.iter().filter_map(interrupted).collect();
            assert_eq!(named, [["t", "x"]], "{owner} {wait} {halt:?}: one tick names all");
        }
    }
}

/// The interrupted tasks that a tick names.
fn interrupted(record: &Record) -> Option<Vec<String>> {
    let Record::Message(message) = record else { return None };
    let note: InterruptedTasksNote = message.noted("interrupted_tasks")?.read().ok()?;
    Some(note.items.into_iter().map(|task| task.task_id.to_string()).collect())
}

#[test]
fn no_wait_is_a_dead_end() {
    for (owner, wait, row) in TABLE {
        assert_eq!(row.len(), TRIGGERS.len(), "{owner} {wait}");
        assert!(row.contains(['E', 'M']), "{owner} {wait}: no trigger ends it or matches it");
        // D26: something ends it even across a stop, during which hints are refused.
        let left = row
            .chars()
            .zip(TRIGGERS)
            .any(|(cell, trigger)| matches!(cell, 'E' | 'M') && !trigger.contains("hint"));
        assert!(left, "{owner} {wait}: only a hint ends it");
    }
    for kind in WaitConditionKind::ALL {
        let kind = kind.to_string();
        for owner in ["item", "current", "agent"] {
            let has_row = TABLE
                .iter()
                .any(|(of, wait, _)| *of == owner && wait.split(' ').next() == Some(kind.as_str()));
            assert!(has_row, "a condition of kind {kind} has no row for {owner}");
        }
    }
}

/// I12: a wait ends once; the same trigger again ends nothing.
#[test]
fn a_wait_that_was_ended_is_not_ended_again() {
    for (owner, wait, row) in TABLE {
        for (at, trigger) in
            TRIGGERS.iter().enumerate().filter(|(at, _)| row.as_bytes()[*at] == b'E')
        {
            let mut driven = Driven::told(&waits(owner, wait, trigger));
            driven.say(&comes(trigger).unwrap_or_else(|| fact("start_requested")));
            driven.now = NOW.plus_ms(if wait == "system" { 60_000 } else { 1_000 });
            driven.run_to_rest();
            let records = driven.records.len();
            let again = comes(trigger).map(|mut fact| {
                if let Some(message) = fact.get_mut("message") {
                    message["id"] = json!("again");
                }
                fact
            });
            if let Some(fact) = again {
                driven.say(&fact);
            }
            driven.run_to_rest();
            let ended = driven.records[records..].iter().any(|record| {
                matches!(record, Record::WaitCondition(_) | Record::WaitingIntent(_))
            });
            assert!(!ended, "{owner} {wait}, {trigger} (column {at})");
        }
    }
}
