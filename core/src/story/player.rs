//! The player: a pure state machine that tells what comes next in a story, and plays its provider.
//!
//! A host that plays a story to its end calls [`Player::next`] and does what it returns. A host of
//! a live agent keeps its own time. It takes what is due from [`Player::in_turn`] and
//! [`Player::outside`], and asks [`Player::due`] when the next thing is due.

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    format,
    string::String,
};

use serde::Serialize;

use crate::{
    fact::{Fact, control::Restarted},
    id::{MessageId, RunId, TaskId},
    story::{
        Line, Story,
        cast::Cast,
        line::Request,
        recall::Marker,
        steps::{self, Step},
        turn::Cue,
    },
    time::Timestamp,
};
use wakeful_json::RawJson;

/// What the host must do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Command {
    /// Propose a fact.
    Propose {
        /// The fact to propose.
        fact: RawJson,
    },
    /// Run until rest.
    Run,
    /// Set the clock.
    SetClock {
        /// The new time of the clock.
        to: Timestamp,
    },
    /// The story is over.
    Done,
}

/// Something that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// The host must propose this fact.
    Propose(RawJson),
    /// The process ends at once.
    Crash,
}

/// Plays a story: tells what comes next, and plays the provider.
#[derive(Clone, Debug)]
pub struct Player {
    pub(super) name: String,
    pub(super) now: Timestamp,
    pub(super) cast: Cast,
    pub(super) script: VecDeque<Line>,
    /// The number of lines that are done.
    pub(super) line: u64,
    /// When the current line is done, if it lets time pass.
    pub(super) line_due: Option<Timestamp>,
    /// The remaining steps of the open run.
    inbox: VecDeque<Step>,
    /// The message that started the open run.
    playing: Option<MessageId>,
    /// The number of played steps of each turn that is not played to its end. A replay of its
    /// message continues there.
    pub(super) played: BTreeMap<MessageId, usize>,
    /// The fact that reports that the run was aborted.
    broken_off: Option<RawJson>,
    /// When the open run continues after a delay.
    resumes_at: Option<Timestamp>,
    /// The results of tasks that will end, by the instant of that end.
    tasks: BTreeMap<(Timestamp, TaskId), RawJson>,
    /// The markers that are to be recorded; `None` unless the agent is live. Its next process reads
    /// the position in the script from them.
    markers: Option<VecDeque<RawJson>>,
    /// Whether the host must run until rest before anything else.
    run_next: bool,
}

impl Player {
    /// A player at the start of a story.
    #[must_use]
    pub fn new(mut story: Story) -> Self {
        let cast = Cast::from_story(&story);
        let made: BTreeSet<_> = story.script.iter().filter_map(Line::makes).cloned().collect();
        for line in &mut story.script {
            // A trigger of the ledger takes only what has its token, which is its id until the
            // story says another.
            if let Line::Deliver { trigger, token: token @ None, .. } = line
                && (made.contains(trigger) || cast.makes(trigger))
            {
                *token = Some(trigger.as_str().into());
            }
        }
        Self {
            cast,
            name: story.story,
            now: story.starts_at,
            script: story.script.into(),
            line: 0,
            line_due: None,
            inbox: VecDeque::new(),
            playing: None,
            played: BTreeMap::new(),
            broken_off: None,
            resumes_at: None,
            tasks: BTreeMap::new(),
            markers: None,
            run_next: false,
        }
    }

    /// A player for a live agent. It also returns the markers to record.
    #[must_use]
    pub fn live(story: Story) -> Self {
        Self { markers: Some(VecDeque::new()), ..Self::new(story) }
    }

    /// The time of the clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Sets the time of the clock, which never goes back.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now.max(self.now);
    }

    /// What the host must do next, given the instant at which the agent would wake.
    pub fn next(&mut self, next_wake: Option<Timestamp>) -> Command {
        // If the clock moved during a run, arrivals are queued before the run continues.
        if self.resumes_at.is_some() && core::mem::take(&mut self.run_next) {
            return Command::Run;
        }
        match self.in_turn() {
            Some(Act::Propose(fact)) => {
                // The agent gets its steps when the turn has no more facts of its own.
                self.run_next = self.inbox.is_empty();
                return Command::Propose { fact };
            }
            // The next process takes over the ledger of the one that crashed.
            Some(Act::Crash) => {
                self.run_next = true;
                return Command::Propose { fact: self.restarted() };
            }
            None => {}
        }
        if core::mem::take(&mut self.run_next) {
            return Command::Run;
        }
        if let Some(fact) = self.outside(next_wake) {
            self.run_next = true;
            return Command::Propose { fact };
        }
        match self.due() {
            None => Command::Done,
            Some(to) => {
                self.set_now(to);
                self.run_next = true;
                Command::SetClock { to: self.now }
            }
        }
    }

    /// What is due in the open run, if anything is.
    pub fn in_turn(&mut self) -> Option<Act> {
        if let Some(fact) = self.broken_off.take() {
            return Some(Act::Propose(fact));
        }
        if self.resumes_at.is_some_and(|at| at > self.now) {
            return None;
        }
        self.resumes_at = None;
        match self.next_step()? {
            Step::Fact(fact) => {
                self.begin_times();
                Some(Act::Propose(fact))
            }
            Step::Crash => {
                // `start_turn` goes on after the steps that were played.
                self.inbox.clear();
                Some(Act::Crash)
            }
            // `begin_times` has taken these already.
            Step::Delay(_) | Step::Task(_) => None,
        }
    }

    /// Starts the delays and tasks that come next. Their time counts from the step before them.
    fn begin_times(&mut self) {
        while let Some(Step::Delay(_) | Step::Task(_)) = self.inbox.front() {
            match self.next_step() {
                Some(Step::Delay(ms)) => {
                    // Delays in a row add up.
                    self.resumes_at = Some(self.resumes_at.unwrap_or(self.now).plus_ms(ms))
                }
                Some(Step::Task(task)) => self.schedule(&task.id, self.now),
                _ => {}
            }
        }
    }

    /// Takes the next step of the open run, and counts it.
    fn next_step(&mut self) -> Option<Step> {
        let step = self.inbox.pop_front()?;
        if let Some(message) = &self.playing {
            match self.inbox.is_empty() {
                true => drop(self.played.remove(message)),
                false => *self.played.entry(message.clone()).or_default() += 1,
            }
        }
        Some(step)
    }

    /// What is due outside the open run: the end of a task at any time, and the next line of the
    /// script when the agent rests.
    pub fn outside(&mut self, next_wake: Option<Timestamp>) -> Option<RawJson> {
        if let Some(marker) = self.marker() {
            return Some(marker);
        }
        // The map is in the order of instants, so its first task ends next.
        if let Some(ended) = self.tasks.first_entry().filter(|task| task.key().0 <= self.now) {
            return Some(ended.remove());
        }
        if self.is_in_turn() {
            return None;
        }
        if self.line_due.is_some_and(|due| due <= self.now) {
            self.line_done();
        }
        if self.line_due.is_some() {
            return None;
        }
        let due = match self.script.front()? {
            Line::Wait(ms) => self.now.plus_ms(*ms),
            // An agent that has no wake of its own can still wait for the end of a task.
            Line::UntilWake => next_wake.or_else(|| self.next_task()).unwrap_or(self.now),
            line => {
                let fact = match line {
                    Line::Control(Request::Restart) => Some(self.restarted()),
                    line => line.fact(&self.line_id()),
                };
                self.line_done();
                // After the fact: a process that dies between the two reports the fact again, and
                // its id is refused.
                self.mark(Marker { line: self.line, until: None, ..Marker::new(&self.name) });
                return fact;
            }
        };
        self.line_due = Some(due);
        self.mark(Marker { line: self.line + 1, until: Some(due), ..Marker::new(&self.name) });
        self.marker()
    }

    /// The next marker to record. It is due even if the line that it marks ends the process.
    pub fn marker(&mut self) -> Option<RawJson> {
        self.markers.as_mut().and_then(VecDeque::pop_front)
    }

    /// When the next thing of the story is due. `None` if nothing is, or if the story waits for the
    /// agent.
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        let next = if self.is_in_turn() { self.resumes_at } else { self.line_due };
        next.into_iter().chain(self.next_task()).min()
    }

    /// Whether a run of the story is open.
    #[must_use]
    pub fn is_in_turn(&self) -> bool {
        self.resumes_at.is_some() || self.broken_off.is_some() || !self.inbox.is_empty()
    }

    /// Whether all lines are done, all tasks have ended, all markers are recorded, and no run is
    /// open.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let marked = self.markers.as_ref().is_none_or(VecDeque::is_empty);
        marked && self.script.is_empty() && self.tasks.is_empty() && !self.is_in_turn()
    }

    /// The number of lines of the script that are done, and the number of all lines.
    #[must_use]
    pub fn lines(&self) -> (u64, u64) {
        (self.line, self.line + self.script.len() as u64)
    }

    /// Plays the provider: starts a turn, or continues it if an earlier run of its message was
    /// interrupted. Recorded steps are not repeated (contract 5.23).
    pub fn start_turn(&mut self, cue: &Cue) {
        let steps = self.cast.steps(cue, self.now);
        let played = self.played.get(&cue.message_id).copied().unwrap_or_default();
        self.inbox.extend(steps.into_iter().skip(played));
        self.playing = Some(cue.message_id.clone());
        self.begin_times();
    }

    /// Plays the provider: aborts the run, and reports that next.
    pub fn abort_turn(&mut self, run: &RunId, reason: &str) {
        #[derive(Serialize)]
        struct Aborted<'a> {
            fact: &'a str,
            run_id: &'a RunId,
            reason: &'a str,
        }
        self.inbox.clear();
        self.resumes_at = None;
        self.broken_off =
            Some(RawJson::from_value(&Aborted { fact: "turn_aborted", run_id: run, reason }));
    }

    /// Plays the provider: releases everything that it holds, which is its tasks.
    pub fn release(&mut self) {
        self.tasks.clear();
    }

    /// The fact that another process takes over the ledger. The tasks of a story are not part of
    /// the process, so they stay alive.
    fn restarted(&self) -> RawJson {
        let alive_task_ids = self.tasks.keys().map(|(_, task)| task.clone()).collect();
        RawJson::from_value(&Fact::RuntimeRestarted(Restarted { alive_task_ids }))
    }

    /// Schedules the end of a task that started at `started_at`, if the story has one for it.
    pub(super) fn schedule(&mut self, id: &TaskId, started_at: Timestamp) {
        let Some(task) = self.cast.task(id) else { return };
        if let Some((status, after_ms)) = task.end {
            let result = steps::result_of(task, status);
            self.tasks.insert((started_at.plus_ms(after_ms), id.clone()), result);
        }
    }

    /// Whether the story has an end for this task. Such a task stays alive while no process plays
    /// the story.
    #[must_use]
    pub fn tells_end_of(&self, id: &TaskId) -> bool {
        self.cast.task(id).is_some_and(|task| task.end.is_some())
    }

    /// Forgets the scheduled end of a task that has ended.
    pub(super) fn unschedule(&mut self, id: &TaskId) {
        self.tasks.retain(|(_, task), _| task != id);
    }

    pub(super) fn line_done(&mut self) {
        self.script.pop_front();
        self.line += 1;
        self.line_due = None;
    }

    /// The id of the message or hint of the next line. It is the same in every process that plays
    /// the story.
    pub(super) fn line_id(&self) -> String {
        format!("{}:{}", self.name, self.line + 1)
    }

    fn mark(&mut self, marker: Marker) {
        if let Some(markers) = &mut self.markers {
            markers.push_back(marker.fact());
        }
    }

    fn next_task(&self) -> Option<Timestamp> {
        self.tasks.keys().next().map(|(at, _)| *at)
    }
}
