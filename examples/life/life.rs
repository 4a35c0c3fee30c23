//! One agent over the death of its host. `life.ts` and `life.py` tell the same life, and all three
//! end with the same head.
//!
//! `life begin LEDGER` lives until the agent waits, and then dies without cleaning up. `life go-on
//! LEDGER` is another process: it has only the ledger, and that is enough.

use std::{
    cell::{Cell, RefCell},
    env,
    error::Error,
    path::Path,
    process,
    rc::Rc,
};

use serde_json::{Value, json};
use wakeful_core::{
    Boundary, Clock, Effect, MessageKind, Options, Provider, ProviderError, Scheduler, TaskId,
    Timestamp, TurnRequest,
};
use wakeful_host::ledger::{SqliteFile, SqliteLedger};

/// What the clock shows when the first process begins, and when the second one does.
const BEGIN: &str = "2026-05-27T09:00:00Z";
const GO_ON: &str = "2026-05-27T09:20:00Z";

/// The clock. A real host asks the system; this program moves the hands itself, so that each run
/// makes the same entries.
#[derive(Clone)]
struct Hands(Rc<Cell<Timestamp>>);

impl Clock for Hands {
    fn now(&mut self) -> Timestamp {
        self.0.get()
    }
}

/// The provider. It is asked to start turns, and must return at once. So this one only notes them.
#[derive(Clone, Default)]
struct Turns(Rc<RefCell<Vec<TurnRequest>>>);

impl Provider for Turns {
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError> {
        if let Effect::StartTurn(request) = effect {
            self.0.borrow_mut().push(request.clone());
        }
        Ok(())
    }

    /// Which tasks outlived the process that started them. A build server runs `build`, so this
    /// host asks that server. Every task that is not named here becomes interrupted.
    fn alive(&mut self, _active: Vec<TaskId>) -> Result<Vec<TaskId>, ProviderError> {
        Ok(vec!["build".into()])
    }
}

/// The agent with what its host keeps for it.
struct Host {
    agent: Scheduler<SqliteLedger, Hands, Turns>,
    clock: Hands,
    turns: Turns,
}

impl Host {
    /// Opens the ledger as its driver, whether it is new or a process died over it.
    fn open(ledger: &str, now: &str) -> Result<Self, Box<dyn Error>> {
        let clock = Hands(Rc::new(Cell::new(Timestamp::parse(now)?)));
        let turns = Turns::default();
        let options = Options::new("ada".into());
        let ledger = SqliteFile::open(Path::new(ledger))?.ledger(&options.agent_id);
        let agent = Scheduler::drive(options, ledger, clock.clone(), turns.clone())?;
        Ok(Self { agent, clock, turns })
    }

    /// Reports a fact. When this returns, the fact is on the disk.
    fn say(&mut self, fact: &Value) -> Result<(), Box<dyn Error>> {
        self.agent.propose(&fact.to_string())?;
        Ok(())
    }

    /// The loop of every host: decide until the agent rests, execute the turns, and repeat.
    fn run(&mut self) -> Result<(), Box<dyn Error>> {
        loop {
            for step in self.agent.run_until_rest()? {
                if let Some(decision) = step.decision {
                    println!("{} {} ({})", self.time(), decision.kind, decision.reason);
                }
            }
            let Some(request) = self.turns.0.borrow_mut().pop() else { break };
            for fact in turn(request.message.kind) {
                self.say(&fact)?;
            }
            // Without this fact the run stays open, and nothing else starts.
            self.say(&json!({
                "fact": "turn_terminal", "run_id": request.run_id.as_str(), "kind": "completed",
            }))?;
        }
        let explained = self.agent.explain(Boundary::RunLoopIdle);
        println!("{} {}", self.time(), explained.sentence);
        println!("head {} {}", explained.head.seq, explained.head.chain);
        Ok(())
    }

    fn time(&self) -> String {
        self.clock.0.get().to_string()[11..16].to_owned()
    }
}

/// What the model does in a turn. A real host asks a model, and its tool calls are these facts.
fn turn(kind: MessageKind) -> Vec<Value> {
    match kind {
        // The operator asks for a release. The agent notes what it works on, and that it works on
        // it now. It starts a build, and the item waits for that.
        MessageKind::OperatorPrompt => vec![
            json!({
                "fact": "work_item_created", "work_item_id": "release",
                "objective": "release version 1.0",
            }),
            json!({ "fact": "work_item_picked", "work_item_id": "release" }),
            json!({
                "fact": "task_created", "task_id": "build", "task_kind": "command_task",
                "work_item_id": "release", "wait_policy": "blocking",
            }),
        ],
        // The build is there. The item waits for the timer now; without a wait the scheduler would
        // offer it to the model again, because there is still something to do.
        MessageKind::TaskResult => vec![json!({
            "fact": "wait_condition_registered", "wait_condition_id": "first-hour",
            "work_item_id": "release", "kind": "timer", "waiting_for": "the first hour",
            "wake_sources": [{
                "kind": "timer", "timer_id": "look-again", "wake_at": "2026-05-27T10:00:00Z",
            }],
        })],
        // The hour is over, and so is the work.
        MessageKind::TimerTick => vec![json!({
            "fact": "work_item_completed", "work_item_id": "release",
            "result_summary": "version 1.0 is out",
        })],
        _ => Vec::new(),
    }
}

fn begin(ledger: &str) -> Result<(), Box<dyn Error>> {
    let mut host = Host::open(ledger, BEGIN)?;
    // The host chooses the ids of what comes from outside. So it may repeat a fact after a crash:
    // what the ledger knows already is ignored.
    host.say(&json!({
        "fact": "message_queued",
        "message": {
            "id": "m1", "kind": "operator_prompt", "origin": { "kind": "operator" },
            "trust": "trusted_operator", "body": { "type": "text", "text": "release version 1.0" },
        },
    }))?;
    host.run()?;
    // A duration and not an instant: the scheduler works out when that is.
    host.say(&json!({
        "fact": "timer_created", "timer_id": "look-again", "duration_ms": 3_600_000,
    }))?;
    host.run()?;
    // Nothing is closed, and no destructor runs.
    process::abort()
}

fn go_on(ledger: &str) -> Result<(), Box<dyn Error>> {
    let mut host = Host::open(ledger, GO_ON)?;
    // The build server calls back. Its result becomes a message, and that starts a turn.
    host.say(&json!({
        "fact": "task_completed", "task_id": "build", "summary": "all tests passed",
    }))?;
    host.run()?;
    // A real host sets an alarm for this instant. No fact says that it came: the scheduler reads
    // the clock, and the timer fires.
    let wake = host.agent.next_wake().ok_or("the timer is lost")?;
    host.clock.0.set(wake);
    host.run()
}

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = env::args().skip(1).collect();
    match given.as_slice() {
        [command, ledger] if command == "begin" => begin(ledger),
        [command, ledger] if command == "go-on" => go_on(ledger),
        _ => Err("usage: life begin LEDGER, then life go-on LEDGER".into()),
    }
}
