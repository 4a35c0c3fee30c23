//! The outbox: nothing changes before the batch is durable (contract 1.1, 3.2, I21).

use std::{cell::RefCell, rc::Rc};

use wakeful_core::{
    fact::outcome::Answer,
    host::{Ledger, LedgerError, Provider, ProviderError, Scheduler, SchedulerError},
    id::{MAX_STEM_BYTES, RunId, Seq},
    machine::{Machine, OpenError, Options, ProposeError},
    record::control::FORMAT,
    record::{chain::Head, decision::Boundary, effect::Effect, entry::EntryBytes},
    time::Timestamp,
};
use wakeful_host::{clock::VirtualClock, ledger::MemoryLedger, provider::Elsewhere};

const NOW: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);
const RESTARTED: &str = r#"{"fact":"runtime_restarted"}"#;
const STOPPED: &str = r#"{"fact":"stop_requested"}"#;
const PROMPT: &str = r#"{"fact":"message_queued","message":{"id":"m1","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"hello"}}}"#;

/// A driven machine and its ledger.
fn driven() -> (Machine, MemoryLedger) {
    let mut machine = Machine::new(Options::new("default".into()));
    let mut ledger = MemoryLedger::default();
    let proposal = machine.begin(NOW).expect("a fresh ledger").expect("a first entry");
    ledger.append(&proposal.expected, &proposal.batch).expect("appends");
    machine.committed();
    let proposal = machine.propose_json(RESTARTED, NOW).expect("a proposal");
    ledger.append(&proposal.expected, &proposal.batch).expect("appends");
    machine.committed();
    (machine, ledger)
}

/// A driven machine with a prompt that waits for its turn.
fn prompted() -> Machine {
    let (mut machine, _) = driven();
    machine.propose_json(PROMPT, NOW).expect("a proposal");
    machine.committed();
    machine
}

#[test]
fn a_rejected_proposal_changes_nothing_and_can_be_made_again() {
    let (mut machine, _) = driven();
    let before = machine.state().clone();
    let first = machine.propose_json(PROMPT, NOW).expect("a proposal");
    assert_eq!(machine.state(), &before, "a proposal alone changes nothing");
    machine.rejected();
    assert_eq!(machine.state(), &before);
    let second = machine.propose_json(PROMPT, NOW).expect("a proposal");
    assert_eq!(first, second, "the retry has the same batch");
}

#[test]
fn effects_come_out_of_committed_only_and_once() {
    let (mut machine, _) = driven();
    machine.propose_json(PROMPT, NOW).expect("a proposal");
    assert!(machine.committed().is_empty(), "a queued message has no effect on the host");
    let step = machine.step(Boundary::RunLoop, NOW).expect("a step").expect("a decision");
    assert!(step.decision.is_some());
    assert_eq!(machine.committed().len(), 1, "the turn is started once");
    assert!(machine.committed().is_empty(), "and not again");
}

#[test]
fn effects_of_a_batch_that_was_stored_without_an_answer_are_found_when_it_is_read() {
    let mut machine = prompted();
    let before = machine.state().clone();
    // The store fails twice, a moment apart, but one of the two batches was stored.
    let first = machine.step(Boundary::RunLoop, NOW).expect("a step").expect("a decision");
    machine.unacknowledged();
    machine.step(Boundary::RunLoop, NOW.plus_ms(5)).expect("a step").expect("a decision");
    machine.unacknowledged();
    assert_eq!(machine.state(), &before, "the state stays");
    first.batch.iter().for_each(|entry| machine.load(entry).expect("the batch is its own"));
    assert_eq!(machine.found().len(), 1, "the turn is started once");
    assert!(machine.found().is_empty(), "and not again");
}

#[test]
fn effects_that_were_found_and_not_asked_for_come_with_the_next_batch() {
    let mut machine = prompted();
    let stored = machine.step(Boundary::RunLoop, NOW).expect("a step").expect("a decision");
    machine.unacknowledged();
    stored.batch.iter().for_each(|entry| machine.load(entry).expect("the batch is its own"));
    machine.propose_json(STOPPED, NOW).expect("a proposal");
    let effects = machine.committed();
    let [Effect::StartTurn(started), .., Effect::Release] = effects.as_slice() else {
        panic!("the turn is started before the batch that releases everything");
    };
    assert_eq!(started.message.id.as_str(), "m1");
    assert!(machine.found().is_empty(), "and not again");
}

/// A ledger that stores a batch without an answer, and fails at a call after that.
struct Breaking {
    kept: MemoryLedger,
    /// The number of appends before the one whose answer is lost.
    answered: Option<u32>,
    /// The number of calls after that and before the one that fails.
    works: Option<u32>,
}

impl Breaking {
    fn failed<T>(message: &str) -> Result<T, LedgerError> {
        Err(LedgerError::Failed { message: message.to_owned() })
    }

    /// Whether this call is the one that is counted down to.
    fn is_due(left: &mut Option<u32>) -> bool {
        let before = *left;
        *left = before.and_then(|left| left.checked_sub(1));
        before == Some(0)
    }

    fn fails(&mut self) -> bool {
        self.answered.is_none() && Self::is_due(&mut self.works)
    }
}

impl Ledger for Breaking {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        if self.fails() {
            return Self::failed("the disk is full");
        }
        self.kept.append(expected, batch)?;
        if Self::is_due(&mut self.answered) { Self::failed("no answer") } else { Ok(()) }
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        if self.fails() {
            return Self::failed("the disk does not answer");
        }
        self.kept.read(after, limit)
    }
}

/// A provider that notes the turns that it is asked to start.
#[derive(Clone, Default)]
struct Starts(Rc<RefCell<Vec<RunId>>>);

impl Provider for Starts {
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError> {
        if let Effect::StartTurn(request) = effect {
            self.0.borrow_mut().push(request.run_id.clone());
        }
        Ok(())
    }
}

#[test]
fn a_turn_that_was_stored_without_an_answer_is_started_once_whatever_fails_after_that() {
    for fails in 0..8 {
        let starts = Starts::default();
        // The first batches are those of the opening and of the prompt.
        let ledger =
            Breaking { kept: MemoryLedger::default(), answered: Some(3), works: Some(fails) };
        let options = Options::new("default".into());
        let clock = VirtualClock::at(NOW);
        let mut agent =
            Scheduler::drive(options, ledger, clock, starts.clone()).expect("it begins");
        agent.propose(PROMPT).expect("it is recorded");
        let mut errors = Vec::new();
        for _ in 0..6 {
            if let Err(why) = agent.run_until_rest() {
                let conflicts = matches!(why, SchedulerError::Ledger(LedgerError::Conflict { .. }));
                errors.push(why.to_string());
                if conflicts {
                    errors.extend(agent.catch_up().err().map(|why| why.to_string()));
                }
            }
        }
        assert!(errors[0].contains("no answer"), "{errors:?}");
        let run = agent.state().turns().run.as_ref().expect("an open run");
        assert_eq!(
            starts.0.borrow().as_slice(),
            std::slice::from_ref(&run.run_id),
            "call {fails}: {errors:?}"
        );
    }
}

#[test]
fn two_batches_in_doubt_keep_their_effects_apart() {
    let mut machine = prompted();
    machine.step(Boundary::RunLoop, NOW).expect("a step").expect("a decision");
    machine.unacknowledged();
    let stopped = machine.propose_json(STOPPED, NOW).expect("a proposal");
    machine.unacknowledged();
    stopped.batch.iter().for_each(|entry| machine.load(entry).expect("the batch is its own"));
    assert_eq!(machine.found(), [Effect::Release], "the batch of the turn was not stored");
}

#[test]
fn effects_of_a_batch_that_was_not_stored_are_never_found() {
    let mut machine = prompted();
    machine.step(Boundary::RunLoop, NOW).expect("a step").expect("a decision");
    machine.unacknowledged();
    machine.step(Boundary::RunLoop, NOW.plus_ms(5)).expect("a step").expect("a decision");
    assert_eq!(machine.committed().len(), 1);
    assert!(machine.found().is_empty());
}

#[test]
fn a_second_proposal_waits_for_the_first() {
    let (mut machine, _) = driven();
    machine.propose_json(PROMPT, NOW).expect("a proposal");
    assert_eq!(machine.propose_json(PROMPT, NOW).expect_err("one at a time"), ProposeError::Busy);
    assert_eq!(
        machine.step(Boundary::RunLoop, NOW).expect_err("one at a time"),
        ProposeError::Busy
    );
}

#[test]
fn a_reopened_ledger_gives_the_same_state() {
    let (mut machine, mut ledger) = driven();
    let proposal = machine.propose_json(PROMPT, NOW).expect("a proposal");
    ledger.append(&proposal.expected, &proposal.batch).expect("appends");
    machine.committed();
    let mut again = Machine::new(Options::new("default".into()));
    for line in ledger.lines_from(0) {
        again.load(&EntryBytes::from_stored(line)).expect("verifies");
    }
    assert_eq!(again.state(), machine.state());
}

#[test]
fn an_observed_ledger_takes_no_step() {
    let mut machine = Machine::new(Options::new("default".into()));
    assert_eq!(machine.step(Boundary::RunLoop, NOW).expect_err("empty"), ProposeError::NotBegun);
    machine.begin(NOW).expect("a fresh ledger");
    machine.committed();
    assert_eq!(
        machine.step(Boundary::RunLoop, NOW).expect_err("observed"),
        ProposeError::NotDriven
    );
}

#[test]
fn a_fact_over_its_limit_is_refused_before_it_is_read() {
    let (mut machine, _) = driven();
    let long = format!(r#"{{"fact":"{}"}}"#, "x".repeat(1 << 20));
    let why = machine.propose_json(&long, NOW).expect_err("too long");
    assert_eq!(
        why,
        ProposeError::TooLarge { what: "fact", bytes: long.len() as u64, limit: 1 << 20 }
    );
}

#[test]
fn a_clock_that_runs_backwards_changes_nothing() {
    let (mut machine, _) = driven();
    let past = Timestamp::from_nanos(0);
    let proposal = machine.propose_json(PROMPT, past).expect("a proposal");
    machine.committed();
    assert!(
        proposal.batch[0].as_str().contains(&format!(r#""at":"{NOW}""#)),
        "contract 1.3: {:?}",
        proposal.batch[0]
    );
}

#[test]
fn another_agents_ledger_and_a_newer_one_are_refused() {
    let (_, ledger) = driven();
    let genesis = ledger.lines_from(0).remove(0);
    let mut other = Machine::new(Options::new("other".into()));
    let why = other.load(&EntryBytes::from_stored(genesis.clone())).expect_err("another agent's");
    assert!(matches!(why, OpenError::OtherAgent { .. }), "{why}");

    let body = genesis
        .split(",\"chain\":")
        .next()
        .expect("an entry has a chain")
        .replace(&format!(r#""format":{FORMAT}"#), &format!(r#""format":{}"#, FORMAT + 1));
    let chain = Head::START.chain.extend(&format!("{body}}}"));
    let newer = EntryBytes::from_stored(format!(r#"{body},"chain":"{chain}"}}"#));
    let why = Machine::new(Options::new("default".into())).load(&newer).expect_err("newer");
    assert_eq!(why, OpenError::NewerFormat { found: FORMAT + 1, supported: FORMAT });
}

/// Longer ids are refused: a ledger that cannot be read again is worse than none.
#[test]
fn the_longest_ids_give_a_ledger_that_can_be_read_again_and_longer_ones_are_refused() {
    let longest = "x".repeat(MAX_STEM_BYTES);
    let mut ledger = MemoryLedger::default();
    let mut agent = Scheduler::drive(
        Options::new(longest.as_str().into()),
        ledger.clone(),
        VirtualClock::at(NOW),
        Elsewhere,
    )
    .expect("it begins");
    let intent = format!(
        r#"{{"fact":"waiting_intent_created","waiting_intent_id":"{longest}","scope":"agent","description":"mail","source":"inbox","delivery_mode":"wake_hint","external_trigger_id":"e"}}"#
    );
    let receipt = agent.propose(&intent).expect("it is recorded");
    assert_eq!(
        receipt.answer,
        Answer::Accepted,
        "the id of its mirror contains the id of the intent"
    );
    agent.propose(PROMPT).expect("it is recorded");
    agent.run_until_rest().expect("a turn is started");
    assert!(agent.state().turns().run.is_some(), "the id of its run contains the id of the agent");
    let mut machine = Machine::new(Options::new(longest.as_str().into()));
    for entry in ledger.read(Seq(0), 100).expect("a page") {
        machine.load(&entry).expect("it can be read again");
    }
    assert_eq!(machine.state(), agent.state());
    let mut longer = Machine::new(Options::new(format!("{longest}x").into()));
    assert!(
        agent.propose(&intent.replace(&longest, &format!("{longest}x"))).is_err(),
        "a longer intent is refused"
    );
    assert_eq!(
        longer.begin(NOW),
        Err(ProposeError::TooLarge { what: "agent_id", bytes: 201, limit: 200 })
    );
}

#[test]
fn what_a_message_of_the_runtime_carries_is_read_again_or_not_taken_over() {
    let (mut machine, mut ledger) = driven();
    let long = "x".repeat(300);
    for (task, item) in [(long.as_str(), "w"), ("t", long.as_str())] {
        let fact = format!(
            r#"{{"fact":"message_queued","message":{{"id":"{}","kind":"task_status","origin":{{"kind":"task","task_id":"t"}},"trust":"trusted_system","body":{{"type":"text","text":"on"}},"metadata":{{"task_id":"{task}","task_kind":"command_task","task_status":"running","work_item_id":"{item}"}}}}}}"#,
            task.len()
        );
        let proposal = machine.propose_json(&fact, NOW).expect("a proposal");
        ledger.append(&proposal.expected, &proposal.batch).expect("appends");
        machine.committed();
    }
    let mut again = Machine::new(Options::new("default".into()));
    for entry in ledger.read(Seq(0), 100).expect("a page") {
        again.load(&entry).expect("it can be read again");
    }
    assert_eq!(again.state().tasks().active.len(), 1, "only the task with a valid id");
}

#[test]
fn a_ledger_that_was_set_back_or_replaced_is_noticed() {
    let opened = || {
        Scheduler::drive(
            Options::new("default".into()),
            MemoryLedger::default(),
            VirtualClock::at(NOW),
            Elsewhere,
        )
        .expect("it is driven")
    };
    let mut other = opened();
    other.propose(STOPPED).expect("it is recorded");
    let mut scheduler = opened();
    scheduler.propose(PROMPT).expect("it is recorded");
    assert_eq!(scheduler.catch_up().expect("nothing is new"), 0);
    let whole = std::mem::take(scheduler.ledger());
    let head = scheduler.state().head().seq;
    for another in [MemoryLedger::default(), std::mem::take(other.ledger())] {
        *scheduler.ledger() = another;
        assert!(matches!(
            scheduler.catch_up(),
            Err(SchedulerError::Open(OpenError::SetBack { head: found })) if found == head
        ));
        scheduler.propose(STOPPED).expect_err("nothing is recorded");
    }
    *scheduler.ledger() = whole;
    scheduler.propose(STOPPED).expect("with its own ledger it goes on");
}
