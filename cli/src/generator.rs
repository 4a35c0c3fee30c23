//! Random stories: what comes in from outside, and what the provider does in each turn. Proptest
//! generates and shrinks them.
//!
//! A random story is a document that `wakeful explain` and `wakeful run` read too. So the story of
//! a failed test can be played by hand.

use std::fmt;

use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};
use wakeful_core::story::Story;

/// How closely the events of a story follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pace {
    /// Nothing arrives while a turn is played, and no two events are due together. So the order of
    /// events and the outcome do not depend on crashes of the process.
    #[default]
    Apart,
    /// Turns take time, and events arrive meanwhile. So a crash of the process can change the order
    /// of events and the outcome.
    Racing,
}

/// A random story.
#[derive(Clone, PartialEq)]
pub struct Drawn(Value);

impl fmt::Debug for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl Drawn {
    /// The JSON document, from which parts can be removed.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.0
    }

    /// The document as JSON text.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.to_string()
    }

    /// Reads the document as a story.
    ///
    /// # Panics
    /// Never: the generator makes only valid stories.
    #[must_use]
    pub fn story(&self) -> Story {
        Story::read(&self.text()).unwrap_or_else(|why| panic!("{why}\n{self:?}"))
    }
}

/// Generates stories of up to `longest` scenes.
pub fn stories(pace: Pace, longest: usize) -> impl Strategy<Value = Drawn> {
    let scene = (line(pace), vec(move_of(pace), 0..7), end(pace));
    let reaction = (select(reactions(pace)), vec(move_of(pace), 0..5), end(pace));
    (vec(scene, 1..=longest), vec(reaction, 0..6))
        .prop_map(move |(scenes, reactions)| told(pace, scenes, reactions))
}

/// The kinds of messages that start a turn without a line of the script. A crash makes the tick of
/// an item stale if its own turn has already changed the item, and another tick replaces it
/// (contract 5.2). So stories whose outcome must not depend on crashes play no such turns.
fn reactions(pace: Pace) -> &'static [&'static str] {
    match pace {
        Pace::Apart => &["task_result", "callback_event", "internal_followup", "timer_tick"],
        Pace::Racing => {
            &["task_result", "callback_event", "internal_followup", "timer_tick", "system_tick"]
        }
    }
}

/// An item that exists before the first message, so that messages can be about it.
const GIVEN: &str = "given";

type Scene = (Value, Vec<Value>, Option<Value>);
type Reaction = (&'static str, Vec<Value>, Option<Value>);

/// Assembles a story, and gives its parts ids and times by their position in it.
fn told(pace: Pace, scenes: Vec<Scene>, reactions: Vec<Reaction>) -> Drawn {
    let mut places = Places { pace, ..Places::default() };
    let given = json!({"fact": {
        "fact": "work_item_created",
        "work_item_id": GIVEN,
        "objective": "What is there from the beginning.",
    }});
    let mut script = vec![given];
    if pace == Pace::Apart {
        // Otherwise crashes of the process and of the story could add up to the replay budget,
        // which ends a message (contract 5.24).
        script
            .insert(0, json!({"fact": {"fact": "policy_set", "policy": {"replay_budget": 1000}}}));
    }
    let mut turns = Vec::new();
    for (number, (mut line, moves, end)) in scenes.into_iter().enumerate() {
        if line.get("prompt").is_some() {
            let text = format!("scene {number}.");
            line["prompt"] = json!(text);
            turns.push(json!({"when": {"text": text}, "moves": places.moves(moves, end)}));
        }
        places.time(&mut line, "wait_ms");
        script.push(line);
    }
    for (kind, mut moves, end) in reactions {
        if pace == Pace::Apart {
            // Two more messages can become stale: the tick of a timer that its own turn cancels or
            // sets again, and the retry for an item that its own turn completes.
            let is_gone = |verb: &str| match kind {
                "timer_tick" => matches!(verb, "set_timer" | "cancel_timer"),
                "internal_followup" => verb == "complete",
                _ => false,
            };
            moves.retain(|one| {
                !one.as_object().is_some_and(|one| one.keys().any(|verb| is_gone(verb)))
            });
        }
        turns.push(json!({"when": {"kind": kind}, "moves": places.moves(moves, end)}));
    }
    let shows = "A story that was drawn.";
    Drawn(json!({
        "story": "drawn",
        "shows": shows,
        "agent_id": "default",
        "starts_at": "2026-05-27T09:00:00Z",
        "script": script,
        "turns": turns,
    }))
}

/// Counts the parts of a story. Each task gets its own id, and with [`Pace::Apart`] each time gets
/// its own length.
#[derive(Default)]
struct Places {
    pace: Pace,
    tasks: u64,
    times: u64,
}

impl Places {
    fn moves(&mut self, moves: Vec<Value>, end: Option<Value>) -> Vec<Value> {
        let placed = moves.into_iter().map(|mut one| {
            if one.get("start_task").is_some() {
                self.tasks += 1;
                one["start_task"] = json!(format!("task-{}", self.tasks));
            }
            if one.get("wait_for") == Some(&json!("task")) {
                one["task"] = json!(format!("task-{}", self.tasks.max(1)));
            }
            for length in ["after_ms", "every_ms", "recheck_ms", "deadline_ms"] {
                self.time(&mut one, length);
            }
            one
        });
        let placed: Vec<Value> = placed.collect();
        placed.into_iter().chain(end).collect()
    }

    /// Makes a length of time unique within the story.
    fn time(&mut self, of: &mut Value, length: &str) {
        if self.pace == Pace::Apart
            && let Some(ms) = of.get(length).and_then(Value::as_u64)
        {
            self.times += 1;
            of[length] = json!(ms + 997 * self.times * self.times);
        }
    }
}

fn line(pace: Pace) -> impl Strategy<Value = Value> {
    let lane = option::weighted(0.2, select(&["interject", "next", "normal", "background"][..]));
    let given = option::weighted(0.2, Just(GIVEN));
    let prompt = (lane, given)
        .prop_map(|(lane, item)| with(json!({"prompt": ""}), &[("lane", lane), ("item", item)]));
    let text = option::of(Just("news".to_owned()));
    let hint = (option::of(trigger()), text).prop_map(|(trigger, text)| {
        with(json!({"hint": "look"}), &[("trigger", trigger), ("text", text)])
    });
    prop_oneof![
        8 => prompt,
        2 => trigger().prop_map(|trigger| json!({"deliver": trigger, "text": "it is there"})),
        1 => hint,
        3 => length().prop_map(|ms| json!({"wait_ms": ms})),
        3 => Just(json!({"until": "next_wake"})),
        1 => select(requests(pace)).prop_map(|request| json!({"control": request})),
    ]
}

/// Requests to the agent. A restart that is only reported, without a crash, interrupts tasks that a
/// crash does not.
fn requests(pace: Pace) -> &'static [&'static str] {
    match pace {
        Pace::Apart => &["stop", "start", "start", "shutdown"],
        Pace::Racing => &["stop", "start", "start", "shutdown", "restart"],
    }
}

fn move_of(pace: Pace) -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => vec(select(&["Read", "Exec"][..]).prop_map(|tool| json!({"tool": tool})), 0..3)
            .prop_map(|calls| json!({"says": "Hm.", "calls": calls})),
        6 => on_item(),
        4 => waits(),
        3 => starts_task(),
        2 => timers(),
        1 => Just(json!({"brief": "It is so."})),
        1 => select(lanes(pace)).prop_map(|lane| json!({"enqueue": "go on", "lane": lane})),
        2 => delay(pace).prop_map(|ms| json!({"delay_ms": ms})),
        1 => Just(json!({"fact": {"fact": "context_compacted", "compacted_message_count": 3}})),
        1 => Just(json!({"crash": true})),
    ]
}

/// Lanes of messages that a turn enqueues for its own agent. A message in a higher lane than the
/// turn's own message goes before the replay of that message.
fn lanes(pace: Pace) -> &'static [&'static str] {
    match pace {
        Pace::Apart => &["background"],
        Pace::Racing => &["next", "normal", "background"],
    }
}

fn on_item() -> impl Strategy<Value = Value> {
    let plan = option::of(select(&["draft", "ready", "needs_input"][..]));
    prop_oneof![
        3 => (item(), plan.clone())
            .prop_map(|(item, plan)| with(json!({"create": item}), &[("plan", plan)])),
        2 => item().prop_map(|item| json!({"pick": item})),
        1 => (item(), plan)
            .prop_map(|(item, plan)| with(json!({"update": item}), &[("plan", plan)])),
        1 => (item(), option::of(length())).prop_map(|(item, recheck)| {
            with(json!({"block": item, "by": "it"}), &[("recheck_ms", recheck)])
        }),
        1 => item().prop_map(|item| json!({"unblock": item})),
        2 => item().prop_map(|item| json!({"complete": item})),
    ]
}

fn waits() -> impl Strategy<Value = Value> {
    let what = prop_oneof![
        2 => Just(json!({"wait_for": "task"})),
        2 => trigger().prop_map(|trigger| json!({"wait_for": "external", "trigger": trigger})),
        1 => Just(json!({"wait_for": "operator"})),
        1 => Just(json!({"wait_for": "system"})),
        1 => length().prop_map(|ms| json!({"wait_for": "timer", "after_ms": ms})),
    ];
    let fields = (what, option::weighted(0.7, item()), option::weighted(0.3, length()));
    fields.prop_map(|(wait, item, deadline)| {
        with(with(wait, &[("item", item)]), &[("deadline_ms", deadline)])
    })
}

/// Starts a task that the story ends. A task without a scripted end would be interrupted by a
/// restart, and the outcome would depend on crashes.
fn starts_task() -> impl Strategy<Value = Value> {
    let end = select(&["completed", "completed", "failed"][..]);
    (option::of(item()), any::<bool>(), end, length()).prop_map(|(item, blocking, ends, after)| {
        let task = json!({"start_task": "", "blocking": blocking, "ends": ends, "after_ms": after});
        with(task, &[("item", item)])
    })
}

fn timers() -> impl Strategy<Value = Value> {
    let timer = || (0..2_u8).prop_map(|n| format!("timer-{n}"));
    prop_oneof![
        3 => (timer(), length())
            .prop_map(|(timer, after)| json!({"set_timer": timer, "after_ms": after})),
        1 => (timer(), length())
            .prop_map(|(timer, every)| json!({"set_timer": timer, "every_ms": 3_600_000 + every})),
        1 => timer().prop_map(|timer| json!({"cancel_timer": timer})),
    ]
}

/// Ends a turn in another way than by completion; usually `None`.
fn end(pace: Pace) -> impl Strategy<Value = Option<Value>> {
    let ends = prop_oneof![
        3 => select(failures(pace)).prop_map(|kind| json!({"end": kind})),
        1 => Just(json!({"host_error": "out of memory"})),
    ];
    option::weighted(0.2, ends)
}

/// The ways to fail. A turn over its budget owes no retry. What it moved is offered once more only
/// if its own run moved it. If an earlier, interrupted run moved it, the replay has already seen
/// the item as it is (contract 8.3). So a crash changes which turn is the last one.
fn failures(pace: Pace) -> &'static [&'static str] {
    match pace {
        Pace::Apart => &["aborted", "deferred_to_fallback", "provider_failed_needs_recovery"],
        Pace::Racing => &[
            "aborted",
            "baseline_over_budget",
            "deferred_to_fallback",
            "provider_failed_needs_recovery",
        ],
    }
}

fn item() -> impl Strategy<Value = String> + Clone {
    select(&[GIVEN, "item-1", "item-2"][..]).prop_map(str::to_owned)
}

fn trigger() -> impl Strategy<Value = String> {
    (0..2_u8).prop_map(|n| format!("trigger-{n}"))
}

/// Times outside turns, in milliseconds.
fn length() -> impl Strategy<Value = u64> + Clone {
    select(&[10_000_u64, 60_000, 600_000, 3_600_000][..])
}

/// Delays within a turn, in milliseconds.
fn delay(pace: Pace) -> impl Strategy<Value = u64> {
    match pace {
        Pace::Apart => select(&[1_u64, 2, 3][..]),
        Pace::Racing => select(&[1_000_u64, 10_000, 60_000][..]),
    }
}

/// Adds the fields that have a value to a table.
fn with<T: Into<Value> + Clone>(mut table: Value, fields: &[(&str, Option<T>)]) -> Value {
    for (name, value) in fields {
        if let Some(value) = value {
            table[*name] = value.clone().into();
        }
    }
    table
}
