//! What operators read first, and what is odd in a history (`explain/notice`, `explain/oddity`).

use wakeful_core::{
    explain::{ActKind, Headline, NoticeKind, OddityKind},
    fact::outcome::Answer,
    host::Scheduler,
    id::Seq,
    machine::Options,
    record::decision::DecisionKind,
    time::Timestamp,
};
use wakeful_host::{clock::VirtualClock, ledger::MemoryLedger, provider::Elsewhere};

const NOW: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);
const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const ITEM: &str = r#"{"fact":"work_item_created","work_item_id":"w","objective":"mend it"}"#;

/// An agent whose time a test moves.
struct Agent {
    scheduler: Scheduler<MemoryLedger, VirtualClock, Elsewhere>,
    ledger: MemoryLedger,
    clock: VirtualClock,
    at: Timestamp,
}

impl Agent {
    fn new() -> Self {
        let (ledger, clock) = (MemoryLedger::default(), VirtualClock::at(NOW));
        let scheduler = drive(&ledger, &clock);
        Self { scheduler, ledger, clock, at: NOW }
    }

    /// Another process takes the ledger over.
    fn restart(&mut self) {
        self.scheduler = drive(&self.ledger, &self.clock);
        self.rest();
    }

    fn after(&mut self, ms: u64) {
        self.at = self.at.plus_ms(ms);
        self.clock.set(self.at);
    }

    fn say(&mut self, fact: &str) {
        let receipt = self.scheduler.propose(fact).expect("it is taken");
        assert_eq!(receipt.answer, Answer::Accepted, "{fact}");
        self.rest();
    }

    fn rest(&mut self) {
        self.scheduler.run_until_rest().expect("a rest");
    }

    fn prompt(&mut self, id: &str) {
        self.say(&format!(
            r#"{{"fact":"message_queued","message":{{"id":"{id}","kind":"operator_prompt","origin":{{"kind":"operator"}},"trust":"trusted_operator","body":{{"type":"text","text":"hello"}}}}}}"#
        ));
    }

    fn run(&self) -> String {
        self.scheduler.state().open_run().expect("an open run").run_id.to_string()
    }

    fn end_turn(&mut self, kind: &str) {
        let run = self.run();
        self.say(&format!(r#"{{"fact":"turn_terminal","run_id":"{run}","kind":"{kind}","reason":"the model is away"}}"#));
    }

    /// A turn of an operator prompt, in which these facts are said.
    fn turn(&mut self, id: &str, facts: &[&str]) {
        self.prompt(id);
        facts.iter().for_each(|fact| self.say(fact));
        self.end_turn("completed");
    }

    fn headline(&mut self, now: Option<Timestamp>) -> Headline {
        let head = self.scheduler.state().head().seq;
        let machine = self.scheduler.at(head).expect("the newest entry");
        let decision = machine.explain(machine.boundary(), machine.state().at()).decision;
        machine.headline(&decision, now)
    }

    /// The kinds of the notices, and of the next act with its subject.
    fn reads(&mut self, now: Option<Timestamp>) -> (Vec<NoticeKind>, Option<(ActKind, String)>) {
        let headline = self.headline(now);
        let next = headline.next.map(|act| (act.kind, act.id.unwrap_or_default()));
        (headline.notices.into_iter().map(|notice| notice.kind).collect(), next)
    }

    /// What is odd, asked for in parts of this many entries.
    fn odd(&mut self, part: u64) -> Vec<(OddityKind, u64, u64, u64)> {
        let end = self.scheduler.state().head().seq.0;
        let mut found: Vec<(OddityKind, u64, u64, u64)> = Vec::new();
        for from in (1..=end).step_by(part as usize) {
            let to = end.min(from + part - 1);
            let history = self.scheduler.history(Seq(from)..=Seq(to), None).expect("entries");
            for odd in history.oddities {
                let row = (odd.kind, odd.seq.0, odd.last.0, odd.count);
                // A burst that goes on replaces what was told of it before.
                match found.iter_mut().find(|known| known.0 == row.0 && known.1 == row.1) {
                    Some(known) => *known = row,
                    None => found.push(row),
                }
            }
        }
        found
    }

    fn kinds(&mut self) -> Vec<OddityKind> {
        self.odd(10_000).into_iter().map(|(kind, ..)| kind).collect()
    }
}

fn drive(
    ledger: &MemoryLedger,
    clock: &VirtualClock,
) -> Scheduler<MemoryLedger, VirtualClock, Elsewhere> {
    let options = Options::new("a".into());
    Scheduler::drive(options, ledger.clone(), clock.clone(), Elsewhere).expect("a ledger")
}

#[test]
fn an_agent_that_is_well_has_no_notice_and_nothing_odd() {
    let mut agent = Agent::new();
    agent.rest();
    agent.turn("m1", &[]);
    let much_later = agent.at.plus_ms(1_000 * HOUR);
    assert_eq!(agent.reads(Some(much_later)), (vec![], None), "nothing is due, so nothing is late");
    assert_eq!(agent.kinds(), []);
}

#[test]
fn a_wake_that_was_missed_is_overdue_for_who_looks_later_and_a_gap_afterwards() {
    let mut agent = Agent::new();
    agent.turn(
        "m1",
        &[r#"{"fact":"timer_created","timer_id":"t","summary":"look","duration_ms":600000}"#],
    );
    let due = agent.at.plus_ms(10 * MINUTE);
    assert_eq!(agent.reads(None).0, [], "who looks at the past is not told what is late now");
    assert_eq!(agent.reads(Some(due)).0, [], "a process may take a moment");
    let late = agent.headline(Some(due.plus_ms(2 * MINUTE)));
    let notice = &late.notices[0];
    assert_eq!((notice.kind, notice.act.kind), (NoticeKind::Overdue, ActKind::Start));
    assert!(
        notice.says.starts_with(&format!("Overdue: a wake was due at {due}.")),
        "{}",
        notice.says
    );
    agent.after(2 * HOUR);
    agent.restart();
    assert_eq!(agent.kinds(), [OddityKind::Gap, OddityKind::Crash]);
}

#[test]
fn a_message_that_nobody_takes_is_overdue() {
    let mut agent = Agent::new();
    agent.rest();
    let fact = r#"{"fact":"message_queued","message":{"id":"m1","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"hello"}}}"#;
    // The process dies between the message and its decision.
    agent.scheduler.propose(fact).expect("it is taken");
    let later = agent.at.plus_ms(HOUR);
    let headline = agent.headline(Some(later));
    assert_eq!(headline.notices[0].kind, NoticeKind::Overdue);
    assert!(headline.notices[0].says.contains("the next step was due"), "{headline:?}");
}

#[test]
fn an_open_run_that_is_silent_is_overdue_after_its_lease() {
    let mut agent = Agent::new();
    agent.prompt("m1");
    let lease = agent.scheduler.state().policy().run_lease_ms.get();
    let at = agent.at;
    assert_eq!(agent.reads(Some(at.plus_ms(lease))).0, []);
    let headline = agent.headline(Some(at.plus_ms(lease + 2 * MINUTE)));
    assert_eq!(headline.notices[0].kind, NoticeKind::Overdue);
    assert!(headline.notices[0].says.contains(&agent.run()), "{headline:?}");
}

#[test]
fn a_crash_in_a_turn_is_told_until_the_turn_is_run_again() {
    let mut agent = Agent::new();
    agent.prompt("m1");
    agent.after(MINUTE / 2);
    // Without a step, the replay has not begun.
    agent.scheduler = drive(&agent.ledger, &agent.clock);
    let headline = agent.headline(None);
    assert_eq!(headline.notices[0].kind, NoticeKind::TurnInterrupted);
    assert!(headline.notices[0].says.contains("`m1` is tried again"), "{headline:?}");
    agent.rest();
    assert_eq!(agent.reads(None).0, [], "it runs again");
    assert_eq!(agent.kinds(), [OddityKind::Crash]);
}

#[test]
fn a_failed_turn_is_told_with_what_becomes_of_it() {
    let mut agent = Agent::new();
    agent.prompt("m1");
    agent.end_turn("provider_failed_needs_recovery");
    let headline = agent.headline(None);
    let notice = &headline.notices[0];
    assert_eq!(notice.kind, NoticeKind::TurnFailed);
    assert!(notice.says.contains("it is tried again at "), "{}", notice.says);
    assert_eq!(agent.kinds(), [OddityKind::TurnFailed]);
}

#[test]
fn a_spent_budget_is_told_and_can_be_granted() {
    let mut agent = Agent::new();
    agent.say(r#"{"fact":"budget_set","tokens_total":10}"#);
    agent.prompt("m1");
    let run = agent.run();
    agent.say(&format!(
        r#"{{"fact":"provider_round_completed","run_id":"{run}","round":1,"input_tokens":20,"output_tokens":1}}"#
    ));
    agent.end_turn("completed");
    let headline = agent.headline(None);
    let notice = &headline.notices[0];
    assert_eq!((notice.kind, notice.act.kind), (NoticeKind::BudgetSpent, ActKind::Grant));
    assert!(notice.says.contains("21 of 10 tokens_total"), "{}", notice.says);
    assert_eq!(agent.kinds(), [OddityKind::BudgetSpent]);
}

#[test]
fn an_item_that_makes_no_progress_is_parked_and_its_ticks_are_a_burst() {
    let mut agent = Agent::new();
    agent.turn("m1", &[ITEM]);
    // Each tick offers the item, and each turn leaves it as it is.
    let mut turns = 0;
    while agent.scheduler.state().open_run().is_some() {
        agent.after(1_000);
        agent.end_turn("completed");
        turns += 1;
        assert!(turns < 100, "it is parked at some time");
        if agent.scheduler.state().open_run().is_none() {
            // A rest before the next offer.
            let wake = agent.scheduler.next_wake();
            if let Some(wake) = wake {
                agent.at = wake;
                agent.clock.set(wake);
                agent.rest();
            }
        }
    }
    let (notices, _) = agent.reads(None);
    assert!(notices.contains(&NoticeKind::ItemParked), "{notices:?}");
    let kinds = agent.kinds();
    assert!(kinds.contains(&OddityKind::Parked), "{kinds:?}");
    for part in [1, 7, 50] {
        assert_eq!(agent.odd(part), agent.odd(10_000), "in parts of {part}");
    }
}

#[test]
fn what_was_stopped_or_shut_down_can_be_started() {
    let mut agent = Agent::new();
    agent.say(r#"{"fact":"stop_requested"}"#);
    let start = Some((ActKind::Start, String::new()));
    assert_eq!(
        agent.reads(Some(agent.at.plus_ms(HOUR))),
        (vec![NoticeKind::Stopped], start.clone())
    );
    agent.say(r#"{"fact":"start_requested"}"#);
    agent.say(r#"{"fact":"shutdown_requested"}"#);
    assert_eq!(agent.reads(None), (vec![NoticeKind::ShutDown], start));
    agent.after(HOUR);
    agent.restart();
    assert_eq!(agent.kinds(), [], "a restart after a shutdown is not a crash");
}

#[test]
fn the_next_act_is_what_the_agent_waits_for() {
    let mut agent = Agent::new();
    let wait = r#"{"fact":"wait_condition_registered","wait_condition_id":"c","work_item_id":"w","kind":"operator","waiting_for":"your answer","wake_sources":[{"kind":"operator_input"}]}"#;
    agent.turn("m1", &[ITEM, r#"{"fact":"work_item_picked","work_item_id":"w"}"#, wait]);
    let explained = agent.scheduler.explain(agent.scheduler.boundary());
    assert_eq!(explained.decision.kind, DecisionKind::WaitForOperator);
    assert_eq!(agent.reads(None), (vec![], Some((ActKind::Answer, "w".into()))));
}

#[test]
fn a_task_that_has_been_silent_for_long_is_told_to_who_looks_now() {
    let mut agent = Agent::new();
    let task = r#"{"fact":"task_created","task_id":"t","task_kind":"command_task","work_item_id":"w","wait_policy":"blocking","summary":"build"}"#;
    agent.turn("m1", &[ITEM, r#"{"fact":"work_item_picked","work_item_id":"w"}"#, task]);
    let at = agent.at;
    assert_eq!(agent.reads(Some(at.plus_ms(HOUR))).0, []);
    let headline = agent.headline(Some(at.plus_ms(HOUR + MINUTE)));
    let notice = &headline.notices[0];
    assert_eq!((notice.kind, notice.act.kind), (NoticeKind::TaskSilent, ActKind::GiveUp));
    assert!(notice.says.starts_with("No news of task `t` (build): "), "{}", notice.says);
    assert_eq!(agent.reads(None).0, [], "an example is about its own time");
}

#[test]
fn a_wait_without_deadline_a_failed_task_and_an_error_are_odd() {
    let mut agent = Agent::new();
    let wait = r#"{"fact":"wait_condition_registered","wait_condition_id":"c","work_item_id":"w","kind":"external","waiting_for":"the build","wake_sources":[{"kind":"external_ingress","external_trigger_id":"ci"}]}"#;
    let task = r#"{"fact":"task_created","task_id":"t","task_kind":"command_task"}"#;
    agent.turn("m1", &[ITEM, wait, task]);
    agent.say(r#"{"fact":"task_failed","task_id":"t","summary":"exit code 2"}"#);
    agent.say(r#"{"fact":"runtime_error","error":"the disk is full"}"#);
    let kinds = agent.kinds();
    for kind in [OddityKind::WaitWithoutDeadline, OddityKind::TaskFailed, OddityKind::RuntimeError]
    {
        assert!(kinds.contains(&kind), "{kind} in {kinds:?}");
    }
}
