//! The driver: plays a plan with a real scheduler, wakes when the scheduler asks for it, plays the
//! turns, and keeps the model up to date.

use std::{
    cell::RefCell,
    collections::{BTreeSet, VecDeque},
    num::{NonZeroU64, NonZeroUsize},
    rc::Rc,
};

use serde_json::{Value, json};
use wakeful_core::{
    fact::outcome::Answer,
    host::{Ledger, LedgerError, Scheduler, SchedulerError},
    id::Seq,
    machine::Options,
    record::{
        chain::Head,
        decision::Boundary,
        effect::Effect,
        entry::EntryBytes,
        policy::Policy,
        queue::{envelope::MessageOrigin, message::MessageRecord},
    },
    time::Timestamp,
};
use wakeful_host::{clock::VirtualClock, provider::Elsewhere};

use super::{
    model::Model,
    plan::{Due, Event, Kind, Plan},
};
use crate::watched::WatchedLedger;

/// The instant at which every life begins.
const BEGIN: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);

/// Every n-th batch is checked against the invariants: the log is long, and each check costs a
/// clone of the state.
const ONE_IN: NonZeroUsize = NonZeroUsize::MIN.saturating_add(39);

/// A ledger that checks its batches and keeps its newest snapshot, like a real store.
#[derive(Clone, Default)]
struct Kept {
    watched: WatchedLedger,
    snapshot: Rc<RefCell<Option<String>>>,
}

impl Ledger for Kept {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        self.watched.append(expected, batch)
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        self.watched.read(after, limit)
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        Ok(self.snapshot.borrow().clone())
    }

    fn store_snapshot(&mut self, _: &Head, write: &dyn Fn() -> String) -> Result<(), LedgerError> {
        *self.snapshot.borrow_mut() = Some(write());
        Ok(())
    }
}

/// A plan that was played to its end.
pub struct Lived {
    /// What the contract requires.
    pub model: Model,
    /// What the scheduler did.
    pub ledger: WatchedLedger,
    /// The number of restarts.
    pub restarts: usize,
    /// The number of restarts while a turn was open.
    pub in_turn: usize,
    /// The number of clock jumps.
    pub jumps: usize,
    /// The number of wakes.
    pub looks: usize,
}

/// A plan that is being played.
pub struct Life<'a> {
    plan: &'a Plan,
    options: Options,
    kept: Kept,
    clock: VirtualClock,
    scheduler: Scheduler<Kept, VirtualClock, Elsewhere>,
    model: Model,
    /// Milliseconds since [`BEGIN`], by a clock that does not jump.
    passed_ms: u64,
    /// How far the host's clock is ahead of that one, in milliseconds.
    ahead_ms: i64,
    /// The message of the open run, if there is one.
    message: Option<MessageRecord>,
    /// The messages whose turns have acted already: a replay does not act again.
    acted: BTreeSet<String>,
    /// The timed rests that the next turns set, one each.
    rests: VecDeque<&'a Due>,
    agents_wait: Option<String>,
    again: BTreeSet<String>,
    is_long: bool,
    is_stopped: bool,
    /// The scheduled restart: after how many more appends, and whether it is graceful.
    restart: Option<(u32, bool)>,
    counts: [usize; 4],
}

/// More steps than this at one instant are a defect, not a workload.
const RESTLESS: usize = 2_000;

/// Indices into the counts.
const RESTARTS: usize = 0;
const IN_TURN: usize = 1;
const JUMPS: usize = 2;
const LOOKS: usize = 3;

type Done = Result<(), SchedulerError>;

impl<'a> Life<'a> {
    /// Plays a plan to its end. After each wake the next wake of the agent is compared with that of
    /// the model.
    ///
    /// # Errors
    /// If the scheduler refuses a call, which no plan should cause.
    ///
    /// # Panics
    /// If the agent asks for another wake than the model, or leaves something undone.
    pub fn lived(plan: &'a Plan) -> Result<Lived, SchedulerError> {
        // No limit may interfere, except the one for arrivals in a batch. That one is small, so
        // that it is reached.
        let policy = Policy {
            autonomous_turns: NonZeroU64::MAX,
            replay_budget: NonZeroU64::MAX,
            run_lease_ms: NonZeroU64::MAX,
            batch_arrivals: NonZeroU64::MIN.saturating_add(4),
            ..Policy::default()
        };
        let options = Options { policy, ..Options::new("default".into()) };
        let (kept, clock) = (
            Kept { watched: WatchedLedger::default().checking_one_in(ONE_IN), ..Kept::default() },
            VirtualClock::at(BEGIN),
        );
        let scheduler = Scheduler::drive(options.clone(), kept.clone(), clock.clone(), Elsewhere)?;
        let mut life = Self {
            plan,
            options,
            kept,
            clock,
            scheduler,
            model: Model::default(),
            passed_ms: 0,
            ahead_ms: 0,
            message: None,
            acted: BTreeSet::new(),
            rests: VecDeque::new(),
            agents_wait: None,
            again: BTreeSet::new(),
            is_long: false,
            is_stopped: false,
            restart: None,
            counts: [0; 4],
        };
        for (at_ms, event) in &plan.events {
            life.wake_until(*at_ms)?;
            life.passed_ms = life.passed_ms.max(*at_ms);
            life.befalls(*event)?;
            life.look()?;
        }
        assert_eq!((life.rests.len(), life.restart), (0, None), "the plan is played to its end");
        let [restarts, in_turn, jumps, looks] = life.counts;
        Ok(Lived { model: life.model, ledger: life.kept.watched, restarts, in_turn, jumps, looks })
    }

    /// Wakes the agent whenever it asks for it, until the next event.
    fn wake_until(&mut self, until_ms: u64) -> Done {
        while let Some(wake) = self.scheduler.next_wake() {
            let said = self.reads();
            assert!(wake > said, "the agent asks to be woken at {wake}, but it is {said} already");
            let left = wake.as_nanos() - said.as_nanos();
            let wakes_ms = self.passed_ms + u64::try_from(left).unwrap_or(0).div_ceil(1_000_000);
            if wakes_ms >= until_ms {
                break;
            }
            self.passed_ms = wakes_ms;
            self.look()?;
        }
        Ok(())
    }

    /// Sets the host's clock to the current time of this life, and returns it.
    fn reads(&mut self) -> Timestamp {
        let passed = i64::try_from(self.passed_ms).unwrap_or(i64::MAX);
        let said = Timestamp::from_nanos(BEGIN.as_nanos() + (passed + self.ahead_ms) * 1_000_000);
        self.clock.set(said);
        said
    }

    fn befalls(&mut self, event: Event) -> Done {
        let said = self.reads();
        self.model.reads(said);
        match event {
            Event::Set(number) => self.set(&self.plan.dues[number]),
            Event::Withdraw(number) => self.withdraw(number),
            Event::Restart { graceful, down_ms: 0, after } => {
                // A restart that is still scheduled happens now, so that none is lost.
                self.restart.take().map_or(Ok(()), |(_, graceful)| self.restart(graceful))?;
                self.restart = Some((after, graceful));
                Ok(())
            }
            Event::Restart { graceful, down_ms, .. } => {
                self.dies(graceful)?;
                self.passed_ms += down_ms;
                let said = self.reads();
                self.model.reads(said);
                self.opens()
            }
            Event::Jump(by_ms) => {
                // A fact brings the last reading of the clock into the ledger, as the model knows
                // it.
                self.say(&json!({"fact": "transcript_appended", "data": {}}))?;
                self.ahead_ms += by_ms;
                self.counts[JUMPS] += 1;
                Ok(())
            }
            Event::Long => {
                self.is_long = true;
                Ok(())
            }
            Event::EndLong => {
                self.is_long = false;
                self.restart.take().map_or(Ok(()), |(_, graceful)| self.restart(graceful))
            }
            Event::Stop => {
                (self.is_stopped, self.is_long) = (true, false);
                self.model.hold(true);
                self.say(&json!({"fact": "stop_requested"}))
            }
            Event::Start => {
                self.is_stopped = false;
                self.model.hold(false);
                self.say(&json!({"fact": "start_requested"}))
            }
        }
    }

    /// Steps and plays turns until there is nothing more to do, or until a long turn is open.
    fn look(&mut self) -> Done {
        let said = self.reads();
        self.model.looks(said);
        self.counts[LOOKS] += 1;
        for n in 0.. {
            assert!(n < RESTLESS, "at {} the agent does not reach rest", self.model.now());
            let before = self.scheduler.state().head();
            if self.message.is_some() && !self.is_long {
                self.act()?;
                if !self.restarts()? {
                    self.say(
                        &json!({"fact": "turn_terminal", "run_id": "$run", "kind": "completed"}),
                    )?;
                    self.message = None;
                    self.model.completes();
                }
            } else {
                let boundary = if self.scheduler.state().queue().is_empty() {
                    Boundary::RunLoopIdle
                } else {
                    Boundary::RunLoop
                };
                let report = self.scheduler.step(boundary)?;
                self.carry_out(report.effects)?;
            }
            if self.scheduler.state().head() == before {
                break;
            }
            self.restarts()?;
        }
        assert_eq!(self.scheduler.next_wake(), self.model.next_wake(), "at {}", self.model.now());
        if self.message.is_none() && !self.is_stopped {
            assert_eq!(
                self.model.waiting(),
                [""; 0],
                "at {} something fired and started no turn",
                self.model.now()
            );
            assert!(self.scheduler.state().queue().is_empty());
        }
        Ok(())
    }

    fn carry_out(&mut self, effects: Vec<Effect>) -> Done {
        for effect in effects {
            match effect {
                Effect::StartTurn(request) => {
                    self.model
                        .starts(request.message.id.as_str(), what(&request.message).as_deref());
                    self.message = Some(request.message);
                }
                Effect::AbortTurn { reason, .. } => {
                    self.message = None;
                    self.model.breaks_off();
                    self.say(&json!({"fact": "turn_aborted", "run_id": "$run", "reason": reason}))?;
                }
                Effect::Interject { .. } | Effect::YieldTurn { .. } | Effect::Release => {}
            }
        }
        Ok(())
    }

    /// What a turn does: it completes the item or sets the next recheck, and may set a timed rest.
    fn act(&mut self) -> Done {
        let Some(message) = self.message.clone() else { return Ok(()) };
        if !self.acted.insert(message.id.to_string()) {
            return Ok(());
        }
        let about = what(&message);
        let due = self.plan.dues.iter().find(|due| Some(&due.id) == about.as_ref());
        match due.map(|due| (due, due.kind)) {
            Some((due, Kind::Recheck(Some(after_ms)))) if self.again.insert(due.id.clone()) => {
                self.block(due, after_ms)?
            }
            Some((due, Kind::Recheck(_) | Kind::Deadline | Kind::Instant | Kind::Named)) => {
                self.complete(&due.id)?
            }
            Some((_, Kind::Once | Kind::Every(_) | Kind::Rest | Kind::Agent)) => {}
            // The tick of an item: its wait was withdrawn, so it can be completed.
            None => {
                message.work_item_id.iter().try_for_each(|item| self.complete(item.as_str()))?
            }
        }
        match self.rests.pop_front() {
            Some(rest) => self.timer(rest, None),
            None => Ok(()),
        }
    }

    fn set(&mut self, due: &'a Due) -> Done {
        match due.kind {
            Kind::Once => self.timer(due, None),
            Kind::Every(step_ms) => self.timer(due, Some(step_ms)),
            Kind::Rest => {
                self.rests.push_back(due);
                Ok(())
            }
            Kind::Recheck(_) => {
                self.item(due)?;
                self.block(due, due.after_ms)
            }
            Kind::Deadline => {
                self.item(due)?;
                let at = self.at(due.after_ms);
                self.wait(
                    due,
                    json!({"kind": "external", "work_item_id": due.id, "wake_sources": [{"kind": "external_ingress"}],
                    "expires_at": at}),
                )
            }
            Kind::Instant => {
                self.item(due)?;
                let at = self.at(due.after_ms);
                let source = json!({"kind": "timer", "wake_at": at});
                self.wait(
                    due,
                    json!({"kind": "timer", "work_item_id": due.id, "wake_sources": [source]}),
                )
            }
            Kind::Named => {
                self.item(due)?;
                self.timer(due, None)?;
                let source =
                    json!({"kind": "timer", "wake_at": self.at(due.after_ms), "timer_id": due.id});
                let condition = json!({"fact": "wait_condition_registered", "wait_condition_id": due.id, "waiting_for": "it",
                    "kind": "timer", "work_item_id": due.id, "wake_sources": [source]});
                self.say(&condition)
            }
            Kind::Agent => {
                // contract 5.17: it supersedes the wait before it.
                self.agents_wait
                    .replace(due.id.clone())
                    .iter()
                    .for_each(|before| self.model.withdraw(before));
                let at = self.at(due.after_ms);
                self.wait(due, json!({"kind": "external", "wake_sources": [{"kind": "external_ingress"}], "expires_at": at}))
            }
        }
    }

    fn withdraw(&mut self, number: usize) -> Done {
        let due = &self.plan.dues[number];
        let named = |name: &str, field: &str| json!({"fact": name, field: due.id});
        self.model.withdraw(&due.id);
        match due.kind {
            Kind::Rest => {
                self.rests.retain(|rest| rest.id != due.id);
                self.say_even(&named("timer_cancelled", "timer_id"))
            }
            Kind::Once | Kind::Every(_) => self.say_even(&named("timer_cancelled", "timer_id")),
            Kind::Named => {
                self.say_even(&named("timer_cancelled", "timer_id"))?;
                self.complete(&due.id)
            }
            Kind::Recheck(_) if number.is_multiple_of(2) => {
                self.say_even(&named("work_item_unblocked", "work_item_id"))
            }
            Kind::Deadline if number.is_multiple_of(2) => {
                self.say_even(&named("wait_condition_resolved", "wait_condition_id"))
            }
            Kind::Instant if number.is_multiple_of(2) => {
                self.say_even(&named("wait_condition_cancelled", "wait_condition_id"))
            }
            Kind::Recheck(_) | Kind::Deadline | Kind::Instant => self.complete(&due.id),
            Kind::Agent => self.say_even(&named("wait_condition_cancelled", "wait_condition_id")),
        }
    }

    fn at(&self, after_ms: u64) -> Timestamp {
        self.model.now().plus_ms(after_ms)
    }

    fn item(&mut self, due: &Due) -> Done {
        self.say(&json!({"fact": "work_item_created", "work_item_id": due.id, "objective": "it"}))
    }

    fn complete(&mut self, item: &str) -> Done {
        self.model.withdraw(item);
        self.say_even(&json!({"fact": "work_item_completed", "work_item_id": item}))
    }

    fn block(&mut self, due: &Due, after_ms: u64) -> Done {
        let at = self.at(after_ms);
        self.model.set(&due.id, at, None);
        self.say_even(&json!({"fact": "work_item_blocked", "work_item_id": due.id, "blocked_by": "it", "recheck_at": at}))
    }

    fn timer(&mut self, due: &Due, every_ms: Option<u64>) -> Done {
        self.model.set(&due.id, self.at(due.after_ms), every_ms);
        self.say(&json!({"fact": "timer_created", "timer_id": due.id, "duration_ms": due.after_ms, "interval_ms": every_ms}))
    }

    fn wait(&mut self, due: &Due, more: Value) -> Done {
        self.model.set(&due.id, self.at(due.after_ms), None);
        let mut fact = json!({"fact": "wait_condition_registered", "wait_condition_id": due.id, "waiting_for": "it"});
        if let (Some(fact), Value::Object(more)) = (fact.as_object_mut(), more) {
            fact.extend(more);
        }
        self.say(&fact)
    }

    /// Reports a fact that must be accepted.
    fn say(&mut self, fact: &Value) -> Done {
        let answer = self.propose(fact)?;
        assert_eq!(answer, Answer::Accepted, "{fact}");
        Ok(())
    }

    /// Reports a fact that may come too late.
    fn say_even(&mut self, fact: &Value) -> Done {
        self.propose(fact).map(drop)
    }

    fn propose(&mut self, fact: &Value) -> Result<Answer, SchedulerError> {
        let run = self
            .scheduler
            .state()
            .turns()
            .run
            .as_ref()
            .map_or("none", |run| run.run_id.as_str())
            .to_owned();
        let receipt = self.scheduler.propose(&fact.to_string().replace("$run", &run))?;
        self.carry_out(receipt.effects)?;
        Ok(receipt.answer)
    }

    /// Counts an append towards the scheduled restart; returns whether the restart happened.
    fn restarts(&mut self) -> Result<bool, SchedulerError> {
        match self.restart.take() {
            Some((0, graceful)) => self.restart(graceful).map(|()| true),
            Some((after, graceful)) => {
                self.restart = Some((after - 1, graceful));
                Ok(false)
            }
            None => Ok(false),
        }
    }

    fn restart(&mut self, graceful: bool) -> Done {
        self.dies(graceful)?;
        self.opens()
    }

    fn dies(&mut self, graceful: bool) -> Done {
        self.counts[IN_TURN] += usize::from(self.message.is_some());
        if graceful {
            self.model.hold(true);
            self.say(&json!({"fact": "shutdown_requested"}))?;
        }
        self.message = None;
        self.model.breaks_off();
        Ok(())
    }

    fn opens(&mut self) -> Done {
        self.scheduler = Scheduler::drive(
            self.options.clone(),
            self.kept.clone(),
            self.clock.clone(),
            Elsewhere,
        )?;
        self.model.hold(self.is_stopped);
        self.counts[RESTARTS] += 1;
        Ok(())
    }
}

/// The id of what a message of the core reports; `None` if it is a tick about work.
fn what(message: &MessageRecord) -> Option<String> {
    if let MessageOrigin::Timer { timer_id } = &message.origin {
        return Some(timer_id.to_string());
    }
    let of = |note: &str, field: &str| message.noted(note)?.field(field)?.read().ok();
    of("work_item_recheck", "work_item_id").or_else(|| of("wait_deadline", "wait_condition_id"))
}
