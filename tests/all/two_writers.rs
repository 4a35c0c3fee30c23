//! A driver beside another writer: the second reads what the first has appended, and nothing is
//! lost (contract 3.2).

use wakeful_core::{
    host::{LedgerError, Provider, ProviderError, Scheduler, SchedulerError},
    machine::Options,
    record::{effect::Effect, turn::TurnTerminalKind},
    time::Timestamp,
};
use wakeful_host::{clock::VirtualClock, ledger::MemoryLedger, provider::Elsewhere};

const NOW: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);

fn prompt(id: &str) -> String {
    format!(
        r#"{{"fact":"message_queued","message":{{"id":"{id}","kind":"operator_prompt","origin":{{"kind":"operator"}},"trust":"trusted_operator","body":{{"type":"text","text":"go"}}}}}}"#
    )
}

/// Reports a fact as an observer.
fn says(ledger: &MemoryLedger, fact: &str) {
    let options = Options::new("default".into());
    let mut observer =
        Scheduler::observe(options, ledger.clone(), VirtualClock::at(NOW), Elsewhere)
            .expect("a ledger");
    observer.propose(fact).expect("a fact");
}

/// A provider that cannot start its first turn, while another writer appends.
struct Failing {
    ledger: MemoryLedger,
    failed: bool,
}

impl Provider for Failing {
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError> {
        // Only the first start fails, so that the other message can start a turn.
        if !matches!(effect, Effect::StartTurn(_)) || std::mem::replace(&mut self.failed, true) {
            return Ok(());
        }
        says(&self.ledger, &prompt("other"));
        Err(ProviderError { message: "no model".into() })
    }
}

#[test]
fn the_failure_of_a_provider_is_not_lost_to_another_writer() {
    let ledger = MemoryLedger::default();
    let provider = Failing { ledger: ledger.clone(), failed: false };
    let mut driver =
        Scheduler::drive(Options::new("default".into()), ledger, VirtualClock::at(NOW), provider)
            .expect("a ledger");
    driver.propose(&prompt("mine")).expect("a fact");
    driver.run_until_rest().expect("the failure becomes a fact, after the other writer's entries");
    let turns = driver.state().turns();
    assert_eq!(
        turns.last_terminal.map(|last| (last.turn_index, last.kind)),
        Some((1, TurnTerminalKind::Aborted))
    );
    driver.run_until_rest().expect("a step");
    assert_eq!(
        driver.state().turns().run.as_ref().map(|run| run.message_id.as_str()),
        Some("other"),
        "the other message starts a turn"
    );
}

#[test]
fn the_second_writer_reads_what_is_new_and_proposes_again() {
    let ledger = MemoryLedger::default();
    let mut driver = Scheduler::drive(
        Options::new("default".into()),
        ledger.clone(),
        VirtualClock::at(NOW),
        Elsewhere,
    )
    .expect("a ledger");
    says(&ledger, &prompt("other"));
    let before = driver.state().clone();
    let why = driver.propose(&prompt("mine")).expect_err("another writer was first");
    assert!(matches!(why, SchedulerError::Ledger(LedgerError::Conflict { .. })), "{why}");
    assert_eq!(driver.state(), &before, "nothing has changed");
    assert_eq!(driver.catch_up().expect("what is new"), 2, "a message and its queue entry");
    driver.propose(&prompt("mine")).expect("the same again");
    assert_eq!(driver.state().queue().len(), 2);
}
