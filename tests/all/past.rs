//! The past of a ledger: each state is the fold of the log up to there, and its cost depends on the
//! distance and not on the length of the log.

use std::{cell::Cell, ops::RangeInclusive, rc::Rc};

use wakeful_core::{
    explain::Supposition,
    host::{ErrorCode, Ledger, LedgerError, Scheduler, past::DecisionFrom},
    id::Seq,
    json,
    machine::{Machine, Options},
    record::{chain::Head, decision::Boundary, edition::Edition, entry::EntryBytes},
    time::Timestamp,
};
use wakeful_host::{clock::VirtualClock, ledger::MemoryLedger, provider::Elsewhere};

const NOW: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);

/// A ledger that counts the entries that are read.
#[derive(Clone, Default)]
struct Counting {
    inner: MemoryLedger,
    read: Rc<Cell<u64>>,
}

impl Ledger for Counting {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        self.inner.append(expected, batch)
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        let page = self.inner.read(after, limit)?;
        self.read.set(self.read.get() + page.len() as u64);
        Ok(page)
    }
}

type Agent = Scheduler<Counting, VirtualClock, Elsewhere>;

fn prompt(number: usize) -> String {
    format!(
        r#"{{"fact":"message_queued","message":{{"id":"m{number}","kind":"operator_prompt","origin":{{"kind":"operator"}},"trust":"trusted_operator","body":{{"type":"text","text":"hello"}}}}}}"#
    )
}

/// An agent that got this number of messages, and its ledger.
fn agent(messages: usize) -> (Agent, Counting) {
    let ledger = Counting::default();
    let mut agent =
        Agent::drive(Options::new("a".into()), ledger.clone(), VirtualClock::at(NOW), Elsewhere)
            .expect("a fresh ledger");
    say(&mut agent, messages);
    (agent, ledger)
}

/// Sends this number of messages. The turn of every third one ends before the next is sent.
fn say(agent: &mut Agent, messages: usize) {
    for number in 0..messages {
        agent.propose(&prompt(number)).expect("it is recorded");
        agent.run_until_rest().expect("it is decided");
        if number % 3 == 0 {
            let run = agent.state().turns().run.as_ref().expect("an open run").run_id.clone();
            agent
                .propose(&format!(
                    r#"{{"fact":"turn_terminal","run_id":"{run}","kind":"completed"}}"#
                ))
                .expect("it is recorded");
        }
    }
}

/// The state after each entry, folded from the first.
fn folded(ledger: &Counting) -> Vec<String> {
    let mut machine = Machine::new(Options::new("a".into()));
    let stored = ledger.inner.lines_from(0);
    let lines = stored.into_iter().map(EntryBytes::from_stored);
    lines
        .map(|line| {
            machine.load(&line).expect("an entry");
            json::write(machine.state())
        })
        .collect()
}

#[test]
fn each_state_of_the_past_is_the_fold_up_to_there_in_every_order_of_requests() {
    let (mut agent, ledger) = agent(120);
    let states = folded(&ledger);
    let all = states.len() as u64;
    assert!(all > 400, "{all}");
    // A step without a common divisor with the length visits all entries, with long leaps ahead and
    // back.
    let leaps = (1..all).find(|step| step * step > all && gcd(*step, all) == 1).expect("a step");
    let order = (0..all).map(|at| at * leaps % all).chain((0..all).rev()).chain(0..all);
    for at in order {
        let then = agent.at(Seq(at + 1)).expect("an entry");
        assert_eq!(json::write(then.state()), states[at as usize], "after entry {}", at + 1);
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[test]
fn going_on_or_back_by_one_entry_reads_few_and_a_leap_no_more_than_a_part() {
    let (mut agent, ledger) = agent(600);
    let all = agent.state().head().seq.0;
    assert!(all > 2000, "{all}");
    let mut read = |from: u64, to: u64| {
        let before = ledger.read.get();
        let way: Box<dyn Iterator<Item = u64>> =
            if from < to { Box::new(from..=to) } else { Box::new((to..=from).rev()) };
        for seq in way {
            agent.at(Seq(seq)).expect("an entry");
        }
        ledger.read.get() - before
    };
    assert_eq!(read(all, all), 0, "the newest state is there already");
    assert_eq!(read(all - 1, all - 1), all - 1, "the first request reads everything before it");
    let back = read(all, 1);
    assert!(back < 12 * all, "{back} entries for {all} steps back");
    let on = read(1, all);
    assert!(on <= 2 * all, "{on} entries for {all} steps on");
    for seq in [700, 1900, 300, 1500] {
        let leap = read(seq, seq);
        assert!(leap <= 256, "{leap} entries for a leap to {seq}");
    }
}

#[test]
fn what_is_explained_of_the_past_is_what_was_explained_then() {
    let (mut agent, _) = agent(0);
    let mut said = Vec::new();
    for number in 0..20 {
        agent.propose(&prompt(number)).expect("it is recorded");
        said.push((agent.state().head().seq, json::write(&agent.explain(Boundary::RunLoop))));
    }
    for (seq, explanation) in said {
        let then = agent.at(seq).expect("an entry");
        assert_eq!(json::write(&then.explain(Boundary::RunLoop, then.state().at())), explanation);
    }
}

/// The decisions at these entries, with a separate request for each entry.
fn one_by_one(
    agent: &mut Agent,
    entries: RangeInclusive<u64>,
    edition: Option<&str>,
) -> Vec<DecisionFrom> {
    let supposed =
        edition.map_or_else(|| "{}".into(), |edition| format!(r#"{{"edition":"{edition}"}}"#));
    let supposed = Supposition::read(&supposed).expect("an edition");
    let mut decisions: Vec<DecisionFrom> = Vec::new();
    for seq in entries {
        let then = agent.at(Seq(seq)).expect("an entry");
        let other = then.supposing(&supposed);
        let then = other.as_ref().unwrap_or(then);
        let decision = then.explain(then.boundary(), then.state().at()).decision;
        let found = DecisionFrom {
            seq: Seq(seq),
            decision: decision.kind,
            rule: decision.rule,
            reason: decision.reason,
        };
        if decisions
            .last()
            .is_none_or(|last| DecisionFrom { seq: found.seq, ..last.clone() } != found)
        {
            decisions.push(found);
        }
    }
    decisions
}

#[test]
fn where_the_decision_changes_is_where_it_does_entry_by_entry() {
    let (mut agent, ledger) = agent(0);
    agent
        .propose(r#"{"fact":"work_item_created","work_item_id":"w","objective":"o"}"#)
        .expect("it is recorded");
    agent
        .propose(r#"{"fact":"timer_created","timer_id":"t","duration_ms":60000}"#)
        .expect("it is recorded");
    say(&mut agent, 40);
    let all = agent.state().head().seq.0;
    let mut said = Vec::new();
    for (name, edition) in [
        (None, None),
        (Some("2026-05-08"), Some(Edition::Rfc20260508)),
        (Some("2026-05-27"), Some(Edition::Pages20260527)),
    ] {
        for (from, to) in [(1, all), (7, 31), (all, all)] {
            let expected = one_by_one(&mut agent, from..=to, name);
            assert_eq!(
                agent.decisions_in(Seq(from)..=Seq(to), edition).expect("entries"),
                expected,
                "{from} to {to} under {name:?}"
            );
            said.push(expected);
        }
    }
    assert!(
        said[0].len() > 20 && said[0] != said[3],
        "the decision changes, and the editions differ"
    );
    assert_eq!(
        json::write(agent.state()),
        *folded(&ledger).last().expect("entries"),
        "the live state has not changed"
    );
}

#[test]
fn a_stretch_is_read_once_and_the_next_goes_on_from_it() {
    let (agent, ledger) = agent(600);
    let all = agent.state().head().seq.0;
    drop(agent);
    let mut agent =
        Agent::observe(Options::new("a".into()), ledger.clone(), VirtualClock::at(NOW), Elsewhere)
            .expect("it opens");
    let opened = ledger.read.get();
    for from in (1..=all).step_by(500) {
        agent.decisions_in(Seq(from)..=Seq(all.min(from + 499)), None).expect("entries");
    }
    assert_eq!(ledger.read.get() - opened, all);
    agent.decisions_in(Seq(1)..=Seq(all), None).expect("entries");
    assert!(ledger.read.get() - opened <= 2 * all);
}

#[test]
fn an_entry_that_is_not_there_is_refused_by_its_number() {
    let (mut agent, _) = agent(1);
    let ends = agent.state().head().seq.0;
    for (from, to) in [(0, 1), (1, ends + 1), (u64::MAX, 1)] {
        let why =
            agent.decisions_in(Seq(from)..=Seq(to), None).expect_err("no such entry").report();
        assert_eq!(why.code, ErrorCode::NoSuchEntry);
    }
    assert_eq!(agent.decisions_in(Seq(2)..=Seq(1), None).expect("an empty stretch"), []);
    for seq in [0, ends + 1, u64::MAX] {
        let why = agent.at(Seq(seq)).err().expect("no such entry").report();
        assert_eq!(why.code, ErrorCode::NoSuchEntry);
        assert_eq!(
            why.message,
            format!("there is no entry {seq}: this ledger has the entries 1 to {ends}")
        );
    }
}
