//! A machine that gets facts and takes steps, with all that it recorded. Also the facts that many
//! tables need.

use serde_json::{Value, json};
use wakeful_core::{
    fact::outcome::Answer,
    foreign::{self, Folder, Import},
    machine::{Machine, Options},
    record::{
        Record,
        decision::{Boundary, Decision},
        effect::Effect,
        entry::EntryBytes,
        event::EventKind,
        policy::Policy,
        queue::envelope::{MessageKind, MessageOrigin, QueueStatus},
        turn::RunStatus,
    },
    state::State,
    time::Timestamp,
};

/// The instant at which every table starts.
pub(crate) const NOW: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);

/// A machine whose batches are committed at once, with its clock and all that it recorded.
pub(crate) struct Driven {
    machine: Machine,
    pub(crate) now: Timestamp,
    pub(crate) records: Vec<Record>,
    pub(crate) effects: Vec<Effect>,
    /// All entries of the ledger, the first one included.
    pub(crate) entries: Vec<EntryBytes>,
}

impl Driven {
    /// A driver of a fresh ledger.
    pub(crate) fn new() -> Self {
        Self::with_policy(Policy::default())
    }

    /// A driver of a fresh ledger with this policy.
    pub(crate) fn with_policy(policy: Policy) -> Self {
        let mut driven = Self::observing(policy);
        driven.say(&fact("runtime_restarted"));
        driven
    }

    /// An observer of a fresh ledger: its facts say what another runtime did.
    pub(crate) fn observed() -> Self {
        Self::observing(Policy::default())
    }

    fn observing(policy: Policy) -> Self {
        Self::begun(Options { policy, ..Options::new("default".into()) })
    }

    fn begun(options: Options) -> Self {
        let mut machine = Machine::new(options);
        let entries = machine.begin(NOW).expect("a fresh ledger").expect("a first entry").batch;
        machine.committed();
        Self { machine, now: NOW, records: Vec::new(), effects: Vec::new(), entries }
    }

    /// An imported folder of another runtime, without a driver.
    pub(crate) fn imported(folder: &Folder) -> Self {
        let mut driven = Self::begun(Options::new(foreign::agent_of(folder).expect("an agent")));
        let import = Import::of_folder(folder, NOW).expect("a folder");
        let batch = driven.machine.import(import, NOW).expect("an import").batch;
        driven.keep(&batch);
        driven
    }

    /// A driver of a fresh ledger, after these facts.
    pub(crate) fn told(facts: &[Value]) -> Self {
        let mut driven = Self::new();
        driven.tell(facts);
        driven
    }

    pub(crate) fn state(&self) -> &State {
        self.machine.state()
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Reports facts that must be accepted.
    pub(crate) fn tell(&mut self, facts: &[Value]) {
        for fact in facts {
            assert_eq!(self.say(fact), Answer::Accepted, "{fact}");
        }
    }

    /// Reports one fact; `$run` is replaced by the id of the open run.
    pub(crate) fn say(&mut self, fact: &Value) -> Answer {
        let run =
            self.state().turns().run.as_ref().map_or("none", |run| run.run_id.as_str()).to_owned();
        let text = fact.to_string().replace("$run", &run);
        let proposal = self
            .machine
            .propose_json(&text, self.now)
            .unwrap_or_else(|why| panic!("{text}: {why}"));
        self.keep(&proposal.batch);
        proposal.answer
    }

    /// Takes one step at `run_loop`. Returns the decision that it recorded, if any.
    pub(crate) fn step(&mut self) -> Option<Decision> {
        self.step_at(Boundary::RunLoop)
    }

    /// Takes one step at a boundary. `None` if there was nothing new to record, or if something
    /// arrived.
    pub(crate) fn step_at(&mut self, boundary: Boundary) -> Option<Decision> {
        let proposal = self.machine.step(boundary, self.now).expect("a driven ledger")?;
        self.keep(&proposal.batch);
        proposal.decision
    }

    /// Steps until nothing new is recorded, and returns the decisions on the way.
    pub(crate) fn run(&mut self) -> Vec<Decision> {
        let mut decisions = Vec::new();
        for _ in 0..50 {
            let before = self.records.len();
            decisions.extend(self.step());
            if self.records.len() == before {
                return decisions;
            }
        }
        panic!("no rest after fifty steps: {decisions:?}");
    }

    /// Runs and completes every turn until the agent rests.
    pub(crate) fn run_to_rest(&mut self) -> Vec<Decision> {
        let mut decisions = self.run();
        for _ in 0..20 {
            if self.state().turns().run.is_none() {
                return decisions;
            }
            self.tell(&[end("completed")]);
            decisions.extend(self.run());
        }
        panic!("no rest after twenty turns: {decisions:?}");
    }

    /// The decision that the agent would make now.
    pub(crate) fn decided(&self) -> Decision {
        self.machine.explain(Boundary::RunLoopIdle, self.now).decision
    }

    /// Lets another process take over the ledger.
    pub(crate) fn restart(&mut self) {
        self.tell(&[fact("runtime_restarted")]);
    }

    /// The idempotency keys of the queued ticks, in order.
    pub(crate) fn tick_keys(&self) -> Vec<String> {
        let ticks = self.records.iter().filter_map(|record| match record {
            Record::Message(message) if message.kind == MessageKind::SystemTick => Some(message),
            _ => None,
        });
        let key = |note| {
            move |raw: wakeful_core::json::RawJson| {
                raw.field(note)?.field("idempotency_key")?.read::<String>().ok()
            }
        };
        ticks
            .filter_map(|tick| {
                let metadata = || tick.metadata.clone();
                metadata()
                    .and_then(key("work_queue"))
                    .or_else(|| metadata().and_then(key("wake_hint")))
                    .or_else(|| metadata().and_then(key("system_wait")))
            })
            .collect()
    }

    /// The statuses of a message, in order.
    pub(crate) fn way_of(&self, message: &str) -> Vec<QueueStatus> {
        let entries = self.records.iter().filter_map(|record| match record {
            Record::QueueEntry(entry) if entry.message_id.as_str() == message => Some(entry.status),
            _ => None,
        });
        entries.collect()
    }

    /// The messages that started turns, in order.
    pub(crate) fn started(&self) -> Vec<String> {
        let turns = self.records.iter().filter_map(|record| match record {
            Record::Turn(turn) if turn.status == RunStatus::Started => {
                Some(turn.message_id.to_string())
            }
            _ => None,
        });
        turns.collect()
    }

    /// The number of recorded events of this kind.
    pub(crate) fn events(&self, kind: EventKind) -> usize {
        self.records
            .iter()
            .filter(|record| matches!(record, Record::Event(event) if event.kind == kind.as_str()))
            .count()
    }

    /// The number of messages that this subsystem of the core queued.
    pub(crate) fn events_of_subsystem(&self, name: &str) -> usize {
        let is_its = |record: &&Record| {
            let Record::Message(message) = record else { return false };
            matches!(&message.origin, MessageOrigin::System { subsystem } if subsystem == name)
        };
        self.records.iter().filter(is_its).count()
    }

    /// The number of recorded diagnostics of this kind.
    pub(crate) fn diagnostics(&self, kind: &str) -> usize {
        let events = self.records.iter().filter_map(|record| match record {
            Record::Event(event) if event.kind == EventKind::SchedulerDiagnostic.as_str() => {
                event.data()?.field("kind")
            }
            _ => None,
        });
        events.filter(|raw| raw.read::<String>().is_ok_and(|found| found == kind)).count()
    }

    fn keep(&mut self, batch: &[EntryBytes]) {
        let mut head = self.machine.head();
        for bytes in batch {
            let entry = bytes.open(&head).expect("a sealed entry");
            head = entry.head();
            self.records.push(entry.record);
        }
        self.entries.extend_from_slice(batch);
        self.effects.extend(self.machine.committed());
    }
}

/// A fact that has only a name.
pub(crate) fn fact(name: &str) -> Value {
    json!({ "fact": name })
}

/// A message of this kind; `more` overrides or adds fields.
pub(crate) fn message(
    id: &str,
    kind: &str,
    origin: Value,
    trust: &str,
    text: &str,
    more: Value,
) -> Value {
    let mut message = json!({"id": id, "kind": kind, "origin": origin, "trust": trust, "body": {"type": "text", "text": text}});
    let Value::Object(more) = more else { panic!("more fields are an object") };
    message.as_object_mut().expect("an object").extend(more);
    json!({"fact": "message_queued", "message": message})
}

/// Operator input.
pub(crate) fn prompt(id: &str) -> Value {
    prompt_with(id, json!({}))
}

/// Operator input with more fields.
pub(crate) fn prompt_with(id: &str, more: Value) -> Value {
    message(id, "operator_prompt", json!({"kind": "operator"}), "trusted_operator", "hello", more)
}

/// A webhook event.
pub(crate) fn webhook(id: &str, text: &str) -> Value {
    message(
        id,
        "webhook_event",
        json!({"kind": "webhook", "source": "ci"}),
        "trusted_integration",
        text,
        json!({}),
    )
}

/// A delivery to an external trigger.
pub(crate) fn callback(id: &str, trigger: &str, text: &str) -> Value {
    message(
        id,
        "callback_event",
        json!({"kind": "callback", "descriptor_id": trigger}),
        "trusted_integration",
        text,
        json!({}),
    )
}

/// A message of the runtime about a task, with a status in its metadata.
pub(crate) fn task_message(id: &str, kind: &str, task: &str, status: &str) -> Value {
    let more = json!({"task_id": task, "delivery_surface": "task_rejoin", "admission_context": "runtime_owned",
        "metadata": {"task_id": task, "task_kind": "command_task", "task_status": status}});
    message(id, kind, json!({"kind": "task", "task_id": task}), "trusted_system", "it ended", more)
}

/// A follow-up of the runtime.
pub(crate) fn followup(id: &str, text: &str) -> Value {
    message(
        id,
        "internal_followup",
        json!({"kind": "system", "subsystem": "host"}),
        "trusted_system",
        text,
        json!({}),
    )
}

/// A new work item.
pub(crate) fn item(id: &str) -> Value {
    json!({"fact": "work_item_created", "work_item_id": id, "objective": "Ship it"})
}

/// A fact about a work item.
pub(crate) fn of_item(name: &str, id: &str) -> Value {
    json!({"fact": name, "work_item_id": id})
}

/// The item needs input of the operator.
pub(crate) fn needs_input(id: &str) -> Value {
    json!({"fact": "work_item_updated", "work_item_id": id, "plan_status": "needs_input"})
}

/// A new command task, which may belong to an item; a blocking task makes its item wait.
pub(crate) fn task(id: &str, item: Option<&str>, blocks: bool) -> Value {
    let policy = if blocks { "blocking" } else { "background" };
    json!({"fact": "task_created", "task_id": id, "task_kind": "command_task", "work_item_id": item, "detail": {"wait_policy": policy}})
}

/// A fact about a task.
pub(crate) fn of_task(name: &str, id: &str) -> Value {
    json!({"fact": name, "task_id": id})
}

/// A condition of an item, or of the agent if `item` is `None`.
pub(crate) fn condition(id: &str, kind: &str, item: Option<&str>, source: Value) -> Value {
    json!({"fact": "wait_condition_registered", "wait_condition_id": id, "work_item_id": item, "kind": kind, "waiting_for": "it",
           "wake_sources": [source]})
}

/// An intent of this scope. It names no trigger if `trigger` is empty.
pub(crate) fn intent(id: &str, scope: &str, item: Option<&str>, trigger: &str) -> Value {
    let trigger = (!trigger.is_empty()).then_some(trigger);
    json!({"fact": "waiting_intent_created", "waiting_intent_id": id, "scope": scope, "work_item_id": item, "description": "it",
           "source": "ci", "delivery_mode": "wake_hint", "external_trigger_id": trigger})
}

/// A timer that fires once.
pub(crate) fn timer(id: &str, ms: u64) -> Value {
    json!({"fact": "timer_created", "timer_id": id, "duration_ms": ms})
}

/// A wake hint; `more` adds ids and content.
pub(crate) fn hint(more: Value) -> Value {
    let mut hint = json!({"fact": "wake_hint_submitted", "reason": "look"});
    let Value::Object(more) = more else { panic!("more fields are an object") };
    hint.as_object_mut().expect("an object").extend(more);
    hint
}

/// The open run ends.
pub(crate) fn end(kind: &str) -> Value {
    json!({"fact": "turn_terminal", "run_id": "$run", "kind": kind})
}

/// The open run is aborted.
pub(crate) fn abort(reason: &str) -> Value {
    json!({"fact": "turn_aborted", "run_id": "$run", "reason": reason})
}
