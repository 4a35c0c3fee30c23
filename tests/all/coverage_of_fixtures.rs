//! What the fixtures must show between them (contract, replay): every rule in both editions, and
//! every decision, posture, scheduling state, closure and waiting reason. They also show every way
//! in which a trigger can meet the closure before it. A table lists what no fixture can show, with
//! the reason. A row that is no longer needed is a failure too.

use std::{collections::BTreeSet, fmt::Debug, fs};

use wakeful::case::{self, CaseKind};
use wakeful_core::{
    derive::{continuation, head, posture::Posture, work_queue::WorkQueue},
    explain::Explanation,
    foreign::{self, Folder, Import},
    json,
    ladder::{self, View},
    machine::{Machine, Options},
    record::{
        continuation::{Class, ClosureOutcome, WaitingReason},
        control::AgentStatus,
        decision::{Boundary, DecisionKind},
        edition::Edition,
        queue::{envelope::MessageKind, message::TriggerKind},
        turn::TurnTerminalKind,
    },
    state::{State, readiness::SchedulingState},
    time::Timestamp,
};
use wakeful_tests::paths;

const NOW: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);
const HERE: Boundary = Boundary::RunLoopIdle;

/// All variants of an enum. If one is missing, this does not compile.
macro_rules! every {
    ($Type:ident: $($Variant:ident),* $(,)?) => {{
        let _exhaustive = |of: $Type| match of { $($Type::$Variant => (),)* };
        [$($Type::$Variant),*]
    }};
}

/// A fixture, imported and explained.
struct Shown {
    name: String,
    says: String,
    machine: Machine,
}

impl Shown {
    fn new(name: String, says: String, folder: &Folder) -> Self {
        let mut machine = Machine::new(Options::new(foreign::agent_of(folder).expect("an agent")));
        machine.begin(NOW).expect("a fresh ledger");
        machine.committed();
        machine
            .import(Import::of_folder(folder, NOW).expect("the folder reads"), NOW)
            .expect("an import");
        machine.committed();
        Self { name, says, machine }
    }

    fn state(&self) -> &State {
        self.machine.state()
    }

    fn explained(&self) -> Explanation {
        self.machine.explain(HERE, NOW)
    }

    fn say(&mut self, fact: &str) {
        self.machine.propose_json(fact, NOW).expect("a fact");
        self.machine.committed();
    }

    /// The rule that fires under this edition.
    fn rule_in(&mut self, edition: Edition) -> String {
        self.say(&format!(r#"{{"fact":"policy_set","edition":{}}}"#, json::write(&edition)));
        self.explained().decision.rule
    }
}

fn fixtures() -> Vec<Shown> {
    let cases = case::load_all(&[paths::data("fixtures/scheduler")]).expect("the fixtures load");
    let shown = cases.into_iter().map(|case| match &case.kind {
        CaseKind::Fixture(folder) => Shown::new(case.name.clone(), case.shows().to_owned(), folder),
        CaseKind::Story(..) => panic!("{} is not a fixture", case.name),
    });
    shown.collect()
}

/// The texts of all scenarios.
fn scenarios() -> Vec<String> {
    paths::scenarios()
        .into_iter()
        .map(|path| fs::read_to_string(path).expect("a scenario"))
        .collect()
}

/// Fails if something that should occur does not.
fn assert_all_occur<T: Debug + Ord>(
    what: &str,
    wanted: impl IntoIterator<Item = T>,
    found: impl IntoIterator<Item = T>,
) {
    let found: BTreeSet<T> = found.into_iter().collect();
    let missing: Vec<T> = wanted.into_iter().filter(|wanted| !found.contains(wanted)).collect();
    assert!(
        missing.is_empty(),
        "no fixture shows {what} {missing:?}: add a folder to tests/fixtures/scheduler"
    );
}

#[test]
fn there_are_sixty_fixtures_and_each_says_what_it_shows() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 60, "found {}", fixtures.len());
    for shown in fixtures {
        assert!(
            shown.says.ends_with('.'),
            "{}: README.md must say in one sentence what the fixture shows",
            shown.name
        );
        assert!(
            shown.name.split('_').count() >= 3,
            "{}: the name must say what the case shows",
            shown.name
        );
    }
}

/// Rules that no fixture reaches, and why. A scenario must fire them instead.
const ONLY_IN_SCENARIOS: [(&str, &str); 4] = [
    (
        "1.closing",
        "a shutdown is a control entry, and a folder keeps of control only what `agent.json` says",
    ),
    ("2.interjection", "it needs a safe point, and a fixture is replayed at `run_loop_idle`"),
    ("3.stale_tick", "it needs messages of the core itself, which only a driver makes"),
    ("3.replay_budget", "a folder does not say how often a message was interrupted"),
];

/// The rule that no ledger reaches: see [`the_rule_for_a_queue_without_head_is_out_of_reach`].
const OUT_OF_REACH: &str = "9.queue_not_empty";

#[test]
fn every_rule_fires_in_both_editions() {
    let scenarios = scenarios();
    let mut fixtures = fixtures();
    for &edition in Edition::ALL {
        let by_fixtures: BTreeSet<String> =
            fixtures.iter_mut().map(|shown| shown.rule_in(edition)).collect();
        for rule in edition.rules() {
            let shown = by_fixtures.contains(rule.id);
            if let Some((_, why)) = ONLY_IN_SCENARIOS.iter().find(|(id, _)| *id == rule.id) {
                assert!(!shown, "a fixture fires {}, although {why}: remove its row", rule.id);
                let fired = format!(" rule={} ", rule.id);
                let fires = |line: &str| format!("{line} ").contains(&fired);
                assert!(
                    scenarios.iter().any(|text| text.lines().any(fires)),
                    "no scenario fires {}, and no fixture can: {why}",
                    rule.id
                );
            } else {
                assert_eq!(
                    shown,
                    rule.id != OUT_OF_REACH,
                    "edition {edition:?}: whether a fixture fires {}",
                    rule.id
                );
            }
        }
    }
}

/// A queue that is not empty has a head, so a rule above this one decides. The rule exists for
/// views that another program made.
#[test]
fn the_rule_for_a_queue_without_head_is_out_of_reach() {
    for shown in fixtures() {
        let view = View::new(shown.state(), HERE, shown.state().at());
        assert!(
            view.queue_len == 0 || view.head.is_some() || view.run.is_some(),
            "{}: messages wait, but none is the head",
            shown.name
        );
    }
    let view = View { queue_len: 1, ..View::new(&State::default(), HERE, Timestamp::MAX) };
    for &edition in Edition::ALL {
        assert_eq!(ladder::decide(edition, &view).decision.rule, "9.queue_not_empty");
    }
}

#[test]
fn every_decision_is_made() {
    assert_all_occur(
        "the decision",
        DecisionKind::ALL.iter().copied(),
        fixtures().iter().map(|shown| shown.explained().decision.kind),
    );
}

#[test]
fn every_posture_is_taken() {
    let every = every!(Posture:
        Archived, ActiveTurn, HasQueuedInput, HasRunnableWork, WaitingForTask, WaitingForExternal,
        WaitingForOperator, Blocked, Idle);
    assert_all_occur(
        "the posture",
        every,
        fixtures().iter().map(|shown| shown.explained().posture.posture),
    );
}

#[test]
fn every_status_is_imported() {
    let every =
        every!(AgentStatus: Booting, AwakeIdle, AwakeRunning, AwaitingTask, Asleep, Stopped);
    assert_all_occur("the status", every, fixtures().iter().map(|shown| shown.explained().status));
}

#[test]
fn work_items_stand_everywhere() {
    let every = every!(SchedulingState:
        Runnable, WaitingOperator, WaitingTask, WaitingExternal, WaitingTimer, WaitingSystem,
        Blocked, Completed);
    let fixtures = fixtures();
    let states = |shown: &Shown| {
        WorkQueue::new(shown.state())
            .candidates
            .iter()
            .map(|candidate| candidate.state)
            .collect::<Vec<_>>()
    };
    assert_all_occur("an item that is", every, fixtures.iter().flat_map(states));
}

#[test]
fn every_closure_and_every_reason_to_wait_occurs() {
    let closures: Vec<_> = fixtures().iter().map(|shown| shown.explained().closure).collect();
    let outcomes = every!(ClosureOutcome: Completed, Continuable, Failed, Waiting);
    assert_all_occur("the closure", outcomes, closures.iter().map(|closure| closure.outcome));
    let reasons = every!(WaitingReason:
        AwaitingOperatorInput, AwaitingExternalChange, AwaitingTaskResult, AwaitingTimer);
    assert_all_occur(
        "the reason to wait",
        reasons,
        closures.iter().filter_map(|closure| closure.waiting_reason),
    );
}

#[test]
fn turns_end_in_every_way() {
    let every = every!(TurnTerminalKind:
        Completed, Aborted, BaselineOverBudget, DeferredToFallback, ProviderFailedNeedsRecovery);
    assert_all_occur(
        "a turn that ended as",
        every,
        fixtures().iter().filter_map(|shown| shown.explained().projection.turn_terminal_kind),
    );
}

/// A message at the head of a fixture's queue, about which the fixture decides.
struct Head {
    of_fixture: String,
    kind: MessageKind,
    /// Its trigger and how that met the closure; `None` if messages of its kind are not triggers.
    met: Option<(TriggerKind, Class)>,
}

fn heads() -> Vec<Head> {
    let decided_by_head = |shown: &Shown| shown.explained().decision.rule.starts_with("3.");
    let fixtures = fixtures().into_iter().filter(decided_by_head);
    let heads = fixtures.map(|shown| {
        let held = head::next(shown.state()).expect("rule 3 decides about the head");
        let met = continuation::resolve(shown.state(), held)
            .map(|met| (met.resolution.trigger_kind, met.resolution.class));
        Head { of_fixture: shown.name.clone(), kind: held.record.kind, met }
    });
    heads.collect()
}

#[test]
fn every_kind_of_message_stands_at_the_head() {
    let every = every!(MessageKind:
        OperatorPrompt, ChannelEvent, WebhookEvent, CallbackEvent, TimerTick, SystemTick,
        TaskResult, TaskStatus, Control, BriefAck, BriefResult, InternalFollowup);
    assert_all_occur("at the head of the queue", every, heads().into_iter().map(|head| head.kind));
}

/// Why a trigger of this kind never meets the closure in this way in a folder, if it never does
/// (contract 5.15, 6.3).
fn impossible(kind: TriggerKind, class: Class) -> Option<&'static str> {
    match (kind, class) {
        (TriggerKind::OperatorInput, Class::LivenessOnly) => {
            Some("operator input always goes to the model")
        }
        (TriggerKind::InternalFollowup, Class::ResumeExpectedWait) => {
            Some("no wait is for a follow-up")
        }
        (
            TriggerKind::ExternalEvent | TriggerKind::TimerFire | TriggerKind::SystemTick,
            Class::ResumeOverride,
        ) => Some("by default only a follow-up overrides a wait, and a folder has no policy"),
        _ => None,
    }
}

#[test]
fn every_trigger_meets_the_closure_in_every_way_that_it_can() {
    let kinds = every!(TriggerKind:
        OperatorInput, TaskResult, ExternalEvent, TimerFire, InternalFollowup, SystemTick);
    let classes =
        every!(Class: ResumeExpectedWait, ResumeOverride, LocalContinuation, LivenessOnly);
    let met: Vec<_> =
        heads().into_iter().filter_map(|head| Some((head.of_fixture, head.met?))).collect();
    for (name, (kind, class)) in &met {
        assert_eq!(impossible(*kind, *class), None, "{name}: {kind} is {class}");
    }
    let pairs = kinds.into_iter().flat_map(|kind| classes.map(|class| (kind, class)));
    let possible = pairs.filter(|(kind, class)| impossible(*kind, *class).is_none());
    assert_all_occur("how a trigger meets the closure:", possible, met.iter().map(|(_, met)| *met));
}

/// contract 6.3: the policy says what overrides waits; the wait stays.
#[test]
fn under_another_policy_other_triggers_override_a_wait() {
    for (fixture, kind) in [
        ("webhook_under_a_timer_keeps_the_agent_alive_only", TriggerKind::ExternalEvent),
        ("tick_of_an_ended_timer_resumes_nothing", TriggerKind::TimerFire),
        ("system_tick_does_not_answer_for_the_operator", TriggerKind::SystemTick),
    ] {
        let mut shown =
            fixtures().into_iter().find(|shown| shown.name == fixture).expect("the fixture");
        let before = shown.explained();
        assert_eq!(before.decision.kind, DecisionKind::ReduceMessageOnly, "{fixture}");
        shown.say(&format!(r#"{{"fact":"policy_set","policy":{{"overrides_waits":["{kind}"]}}}}"#));
        let after = shown.explained();
        assert_eq!(
            (after.decision.kind, after.closure),
            (DecisionKind::StartModelTurn, before.closure),
            "{fixture}"
        );
        let held = head::next(shown.state()).expect("a head");
        let met = continuation::resolve(shown.state(), held).expect("a trigger");
        assert_eq!(
            (met.resolution.class, met.resolution.trigger_kind),
            (Class::ResumeOverride, kind),
            "{fixture}"
        );
    }
}
