//! A family: an agent and its children in one world with one clock, and everything that happens to
//! them.

use std::{cmp::Reverse, collections::BinaryHeap};

use serde_json::{Value, json};
use wakeful_core::{
    id::{AgentId, RunId, Seq, TaskId},
    record::{Record, decision::Decision, edition::Edition, effect::TurnRequest, event::EventKind},
};

use super::{
    History, Plan, Report,
    faults::Fate,
    member::{Member, Turn},
    turns::{REFUSED, refused},
};

const MINUTE: u64 = 60_000;
pub(super) const HOUR: u64 = 60 * MINUTE;
pub(super) const DAY: u64 = 24 * HOUR;

/// The instant at which a world begins, in milliseconds since the epoch.
const BEGIN: u64 = 1_780_000_000_000;

/// The largest number of children of a parent.
pub(super) const CHILDREN: usize = 2;

/// The number of calm days at the end: longer than the longest backoff, recheck and interval
/// together.
const CALM_DAYS: u64 = 12;

/// An event of the world.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    Wake,
    Step(RunId),
    Ended(TaskId),
    Comes,
    Again(String),
    Befalls,
    Starts,
    Started,
    SetsBack(i64),
}

/// A family in its world.
pub(super) struct Family {
    edition: Edition,
    loses: bool,
    pub(super) fate: Fate,
    pub(super) now: u64,
    days: u64,
    count: u64,
    pub(super) members: Vec<Member>,
    due: BinaryHeap<Reverse<(u64, u64, usize, What)>>,
    pub(super) wrong: Vec<String>,
}

/// The first decision in which two families differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The agent.
    pub agent: AgentId,
    /// The position of the decision in both ledgers.
    pub seq: Seq,
    /// The two decisions, in words.
    pub decided: [String; 2],
}

impl Divergence {
    /// The first decision in which two families differ, agent by agent. They have the same fate, so
    /// their histories are equal up to there.
    pub(super) fn first(one: &Family, other: &Family) -> Option<Self> {
        one.members.iter().zip(&other.members).find_map(|(a, b)| {
            let (a_entries, b_entries) = (a.store.watched.opened(), b.store.watched.opened());
            a_entries.iter().zip(&b_entries).find_map(|(left, right)| {
                let decided = [decision(&left.record), decision(&right.record)];
                let differ = match &decided {
                    [Some(left), Some(right)] => {
                        (left.kind, &left.reason, &left.rule)
                            != (right.kind, &right.reason, &right.rule)
                    }
                    [left, right] => left.is_some() != right.is_some(),
                };
                let said = |decision: &Option<Decision>| {
                    decision.as_ref().map_or_else(
                        || "nothing".to_owned(),
                        |d| format!("{} ({}) by {}", d.kind, d.reason, d.rule),
                    )
                };
                differ.then(|| Self {
                    agent: a.id.clone(),
                    seq: left.seq,
                    decided: [said(&decided[0]), said(&decided[1])],
                })
            })
        })
    }
}

fn decision(record: &Record) -> Option<Decision> {
    let Record::Event(event) = record else { return None };
    event.data().filter(|_| event.kind == EventKind::SchedulerDecision.as_str())?.read().ok()
}

impl Family {
    /// The family of a plan, at the end of its days.
    pub(super) fn lived(plan: &Plan) -> Self {
        let mut family = Self::new(plan);
        family.live(plan.days);
        family
    }

    fn new(plan: &Plan) -> Self {
        let fate = Fate::of_seed(plan.seed);
        let mut family = Self {
            edition: plan.edition,
            loses: plan.loses,
            fate,
            now: BEGIN,
            days: 0,
            count: 0,
            members: Vec::new(),
            due: BinaryHeap::new(),
            wrong: Vec::new(),
        };
        family.join(format!("sim-{}", plan.seed).into(), None);
        family.at(0, 0, What::Comes);
        family.at(HOUR, 0, What::Befalls);
        family
    }

    /// Lives through wild days, and then calm ones.
    fn live(&mut self, days: u64) {
        self.days = days + CALM_DAYS;
        self.until(BEGIN + days * DAY);
        self.fate.calm_down();
        for member in 0..self.members.len() {
            self.members[member].ahead_ms = 0;
            self.members[member].flaps_ms = None;
            self.at(0, member, What::Starts);
            self.at(MINUTE, member, What::Started);
        }
        // Prompts of the operator end the parking of agents and their waits for the operator.
        for day in 0..CALM_DAYS / 2 {
            (0..self.members.len())
                .for_each(|member| self.at(HOUR + day * DAY, member, What::Comes));
        }
        self.until(BEGIN + (days + CALM_DAYS) * DAY);
        self.nothing_is_left();
    }

    fn until(&mut self, end: u64) {
        while self.due.peek().is_some_and(|Reverse((at, ..))| *at < end) {
            let Some(Reverse((at, _, member, what))) = self.due.pop() else { break };
            self.now = self.now.max(at);
            // A machine that is suspended does what is due when it wakes.
            let until = self.members[member].suspended_until;
            if until > self.now {
                self.at(until - self.now, member, what);
                continue;
            }
            self.members[member].keep_time(self.now);
            self.happens(member, what);
            self.settle(member);
        }
        self.now = end;
    }

    pub(super) fn join(&mut self, id: AgentId, parent: Option<(usize, TaskId)>) -> usize {
        self.members.push(Member::new(id, self.edition, &self.fate, parent));
        let member = self.members.len() - 1;
        self.at(0, member, What::Starts);
        member
    }

    pub(super) fn at(&mut self, after_ms: u64, member: usize, what: What) {
        self.count += 1;
        self.due.push(Reverse((self.now + after_ms, self.count, member, what)));
    }

    fn happens(&mut self, member: usize, what: What) {
        match what {
            What::Wake => {}
            What::Step(run) => self.step(member, &run),
            What::Ended(task) => self.ended(member, &task),
            What::Comes => self.comes(member),
            What::Again(text) => {
                self.say(member, serde_json::from_str(&text).expect("it was said before"))
            }
            What::Befalls => self.befalls(member),
            What::Starts => self.starts(member),
            What::Started => self.say(member, json!({ "fact": "start_requested" })),
            // In calm days all clocks are right, so a jump must not be undone twice.
            What::SetsBack(ms) if !self.fate.is_calm() => {
                self.members[member].ahead_ms -= ms;
                self.members[member].flaps_ms = None;
                // The driver looks again a little later, and corrects the ledger if it may.
                self.at(2 * MINUTE, member, What::Wake);
            }
            What::SetsBack(_) => {}
        }
    }

    pub(super) fn say(&mut self, member: usize, fact: Value) {
        self.members[member].say(fact);
    }

    /// Lets an agent decide after an event, and schedules its next wake.
    fn settle(&mut self, member: usize) {
        self.members[member].say_unsaid();
        let (started, rests) = self.members[member].decide();
        for request in started {
            self.start_turn(member, &request);
        }
        if self.members[member]
            .look(|state| state.control().closing.is_some() && state.turns().run.is_none())
        {
            self.members[member].kill();
        }
        if self.members[member].scheduler.is_none() {
            // A host restarts the process, sooner or later.
            let after = if self.fate.is_calm() { 1_000 } else { 1_000 + self.fate.below(HOUR) };
            self.at(after, member, What::Starts);
            return;
        }
        if !rests {
            return self.at(1_000, member, What::Wake);
        }
        if let Some(after) = self.members[member].wakes_in() {
            self.at(after.max(1), member, What::Wake);
        }
        self.is_done(member);
    }

    fn starts(&mut self, member: usize) {
        if self.members[member].scheduler.is_none() {
            self.members[member].start();
        }
    }

    fn start_turn(&mut self, member: usize, request: &TurnRequest) {
        let left = 1 + self.fate.below(6);
        let run = request.run_id.clone();
        self.reads(member, request);
        let refuses = refused(request);
        let agent = &mut self.members[member];
        agent.turns += 1;
        agent.turn = Some(Turn { run: run.clone(), left, round: 0, yields: false, refuses });
        self.at(1 + self.fate.below(2 * MINUTE), member, What::Step(run));
    }

    /// A turn takes its next step: a provider round, an action, or its end.
    fn step(&mut self, member: usize, run: &RunId) {
        let calm = self.fate.is_calm();
        let Some(turn) = self.members[member].turn.as_mut().filter(|turn| turn.run == *run) else {
            return;
        };
        turn.round += 1;
        turn.left = turn.left.saturating_sub(1);
        let (round, ends) = (turn.round, turn.left == 0 || turn.yields);
        if let Some(named) = turn.refuses.take() {
            self.fate.count("prompts that a provider refused to read");
            self.say(
                member,
                json!({ "fact": "content_refused", "run_id": run, "message_ids": named }),
            );
            let is_open = self.members[member]
                .look(|state| state.turns().run.as_ref().is_some_and(|open| open.run_id == *run));
            if !is_open {
                self.members[member].turn = None;
                return;
            }
        }
        self.say(
            member,
            json!({ "fact": "provider_round_completed", "run_id": run, "round": round }),
        );
        if !ends || calm {
            let facts = self.acts(member, run, round);
            facts.into_iter().for_each(|fact| self.say(member, fact));
        }
        if !ends && !calm {
            if self.fate.befalls("turns that fell silent", 60) {
                // A host that watches the lease aborts the turn.
                let broken =
                    json!({ "fact": "turn_aborted", "run_id": run, "reason": "runtime_error" });
                return self.at(40 * MINUTE, member, What::Again(broken.to_string()));
            }
            return self.at(1 + self.fate.below(5 * MINUTE), member, What::Step(run.clone()));
        }
        self.members[member].turn = None;
        let kinds = [
            "completed",
            "deferred_to_fallback",
            "provider_failed_needs_recovery",
            "baseline_over_budget",
        ];
        let kind = if calm || self.fate.below(5) > 0 {
            kinds[0]
        } else {
            kinds[self.fate.below(4) as usize]
        };
        if kind != kinds[0] {
            self.fate.count("turns that failed");
        }
        self.say(member, json!({ "fact": "turn_terminal", "run_id": run, "kind": kind, "last_assistant_message": "So it is." }));
        if !calm && self.fate.befalls("ends that were reported twice", 30) {
            self.say(
                member,
                json!({ "fact": "turn_terminal", "run_id": run, "kind": "completed" }),
            );
        }
    }

    /// A command ends, unless its process died before.
    fn ended(&mut self, member: usize, task: &TaskId) {
        if self.members[member].commands.remove(task).is_none() {
            return;
        }
        let calm = self.fate.is_calm();
        let ends = ["task_completed", "task_failed", "task_cancelled"];
        let end = if calm { ends[0] } else { ends[self.fate.below(3) as usize] };
        self.say(member, json!({ "fact": end, "task_id": task, "summary": "it ended" }));
        if self.fate.befalls("results that came twice", 20) {
            self.say(member, json!({ "fact": "task_failed", "task_id": task }));
        }
    }

    /// A child that has nothing left to do ends the task of its parent.
    fn is_done(&mut self, member: usize) {
        let Some((parent, task)) = self.members[member].parent.clone() else { return };
        let is_done = self.members[member].look(|state| {
            let idle = state.turns().run.is_none()
                && state.queue().is_empty()
                && state.tasks().active.is_empty()
                && state.turns().turn_index > 0;
            idle && state.work().items.is_empty()
                && state.waiting().conditions.is_empty()
                && state.waiting().timers.is_empty()
        });
        if is_done && self.members[parent].look(|state| state.tasks().active.contains_key(&task)) {
            let end = json!({ "fact": "task_completed", "task_id": task, "summary": "the child is done" });
            self.at(1, parent, What::Again(end.to_string()));
        }
    }

    /// Input comes from outside, and more input is scheduled.
    fn comes(&mut self, member: usize) {
        let number = self.members[member].messages.len();
        let id = format!("said {member} {number}");
        let lanes = ["normal", "next", "interject", "background"];
        let lane = lanes[self.fate.below(4) as usize];
        let fact = match self.fate.below(if self.fate.is_calm() { 1 } else { 5 }) {
            0..=2 => {
                json!({ "fact": "message_queued", "message": { "id": id, "kind": "operator_prompt", "origin": { "kind": "operator" },
                "trust": "trusted_operator", "priority": lane, "body": { "type": "text", "text": self.text() } } })
            }
            3 => json!({ "fact": "message_queued", "message": { "id": id, "kind": "callback_event",
                "origin": { "kind": "callback", "descriptor_id": "hook" }, "trust": "trusted_integration",
                "body": { "type": "text", "text": self.text() } } }),
            _ => {
                json!({ "fact": "wake_hint_submitted", "reason": "look", "external_trigger_id": "hook" })
            }
        };
        if fact["message"].is_object() {
            self.members[member].messages.push(id);
        }
        // A host that loses a message must be found out: the message stays in the list of what was
        // sent.
        let is_lost = self.loses && self.fate.befalls("messages that were lost", 10);
        if !is_lost && self.fate.befalls("messages that came twice", 10) {
            self.at(self.fate.below(DAY), member, What::Again(fact.to_string()));
        }
        if !is_lost && self.fate.befalls("messages that came late", 10) {
            self.at(self.fate.below(DAY), member, What::Again(fact.to_string()));
        } else if !is_lost {
            self.say(member, fact);
        }
        if !self.fate.is_calm() {
            let other = self.fate.below(self.members.len() as u64) as usize;
            self.at(1 + self.fate.below(8 * HOUR), other, What::Comes);
        }
    }

    /// The content of a message: mostly short, sometimes very long, and sometimes with a word that
    /// the provider refuses to read.
    fn text(&self) -> String {
        if self.fate.befalls("messages with very long content", 12) {
            return "It happened. ".repeat(1 + self.fate.below(6_000) as usize);
        }
        if self.fate.befalls("messages that the provider refuses to read", 15) {
            return REFUSED.to_owned();
        }
        "It happened.".to_owned()
    }

    /// A fault happens to a random agent or its host, and another one is scheduled.
    fn befalls(&mut self, _: usize) {
        if self.fate.is_calm() {
            return;
        }
        let member = self.fate.below(self.members.len() as u64) as usize;
        match self.fate.below(9) {
            0 | 1 => {
                self.fate.count("kills");
                self.members[member].kill();
            }
            2 => {
                self.fate.count("stops");
                self.say(member, json!({ "fact": "stop_requested" }));
                self.at(1 + self.fate.below(DAY), member, What::Started);
            }
            3 => {
                self.fate.count("shutdowns");
                self.say(member, json!({ "fact": "shutdown_requested" }));
                self.settle(member);
                self.members[member].kill();
            }
            4 => {
                self.fate.count("machines that were suspended");
                let until = self.now + 1 + self.fate.below(DAY);
                let machine = &mut self.members[member];
                // It may be suspended already.
                let from = self.now.max(machine.suspended_until);
                machine.suspended_ms += until.saturating_sub(from);
                machine.suspended_until = machine.suspended_until.max(until);
            }
            5 => {
                self.fate.count("clocks that flapped");
                let by = i64::try_from(self.fate.below(3 * HOUR)).unwrap_or(0);
                self.members[member].flaps_ms = Some(by);
                self.at(1 + self.fate.below(HOUR), member, What::SetsBack(0));
            }
            6 | 7 => {
                self.fate.count("clocks that jumped ahead");
                // Some jump by fifty years.
                let most = if self.fate.below(8) == 0 { 50 * 365 * DAY } else { DAY };
                let ms = i64::try_from(self.fate.below(most)).unwrap_or(0);
                self.members[member].ahead_ms += ms;
                self.at(1 + self.fate.below(DAY), member, What::SetsBack(ms));
            }
            _ => {
                self.fate.count("clocks that fell behind");
                let ms = i64::try_from(self.fate.below(2 * HOUR)).unwrap_or(0);
                self.members[member].ahead_ms -= ms;
                self.at(1 + self.fate.below(DAY), member, What::SetsBack(-ms));
            }
        }
        let now = self.now;
        if self.members[member].suspended_until <= now {
            self.members[member].keep_time(now);
            self.settle(member);
        }
        self.at(1 + self.fate.below(18 * HOUR), 0, What::Befalls);
    }

    /// Checks that nothing is left undone after the calm days.
    fn nothing_is_left(&mut self) {
        for member in &self.members {
            let state = member.store.watched.state();
            let mut left = Vec::new();
            left.extend(state.turns().run.iter().map(|run| format!("run {} is open", run.run_id)));
            left.extend(
                state.queue().waiting().map(|held| format!("message {} waits", held.record.id)),
            );
            left.extend(state.tasks().active.keys().map(|task| format!("task {task} is active")));
            left.extend(state.work().items.keys().map(|item| format!("item {item} is open")));
            let lost = member
                .messages
                .iter()
                .filter(|id| state.queue().ended(&id.as_str().into()).is_none());
            left.extend(lost.map(|id| format!("message {id} never reached its end")));
            let untold = state.tasks().ended.iter().filter(|(task, (status, _))| {
                status.to_string() != "interrupted" && !state.tasks().told.contains_key(*task)
            });
            left.extend(untold.map(|(task, _)| format!("the result of {task} was never told")));
            self.wrong.extend(left.into_iter().map(|what| format!("{}: {what}", member.id)));
            self.wrong.extend(
                member
                    .store
                    .watched
                    .breaches()
                    .iter()
                    .map(|breach| format!("{}: {breach:?}", member.id)),
            );
        }
    }

    pub(super) fn histories(&self) -> Vec<History> {
        self.members
            .iter()
            .map(|member| History { agent: member.id.clone(), entries: member.store.history() })
            .collect()
    }

    pub(super) fn report(&self) -> Report {
        let mut report = Report {
            agents: self.members.len() as u64,
            befell: self.fate.befell(),
            wrong: self.wrong.clone(),
            ..Report::default()
        };
        for member in &self.members {
            let state = member.store.watched.state();
            report.entries += state.head().seq.0;
            report.checked += member.store.watched.batches() as u64;
            report.turns += member.turns;
            report.messages += member.messages.len() as u64;
            report.agent_days += self.days;
            report.extend_digest(&state.head());
        }
        report
    }
}
