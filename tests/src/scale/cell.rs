//! One cell and its servers in virtual time: queues before cores, polls, and troubles.
//!
//! A turn passes five stages. Each takes an equal share of its costs, first on a core of a server
//! and then on one of the database. What is said is stored, the agent is claimed and read, the turn
//! begins, it ends, and the agent is given back when it was idle. Before it begins it waits for a
//! place, and before it ends for the model.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    time::Duration,
};

use super::{Costs, Plan};
use crate::dice::Dice;

/// The pause between two polls of a server, the most agents that one claims, and how long the
/// search for dead servers takes at most, as `wakeful serve` has them.
const POLL: u64 = 250_000;
const CLAIMS: usize = 64;
const REAP: u64 = 1_000_000;

/// The stages of a turn.
const STAGES: u64 = 5;

/// What happens to a cell, besides its load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trouble {
    /// Nothing.
    Nothing,
    /// A server dies.
    Death,
    /// There is no primary for this long.
    Failover(Duration),
    /// This share of all agents is due at one moment, as by timers for the full hour.
    Hour(f64),
}

/// What became of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// Turns that began.
    pub turns: u64,
    /// From what was said to the question to the model, in seconds: half of them were sooner, and
    /// 99 of 100.
    pub half: f64,
    /// As above.
    pub most: f64,
    /// The share of their time in which the cores of the database and of the servers were busy.
    pub database: f64,
    /// As above.
    pub servers: f64,
    /// The most that waited to be claimed.
    pub waited: usize,
    /// The most agents that one server had.
    pub resident: usize,
    /// The most turns that were open at one server.
    pub open: usize,
    /// From the end of the trouble until no more waited than before, in seconds; `None` if more
    /// wait at the end.
    pub recovery: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Something is said to an agent.
    Said,
    /// It is stored.
    Stored(usize),
    Poll(usize),
    /// A poll has its claims.
    Claimed(usize, usize),
    /// The agent is read, and a turn may begin.
    Read(usize),
    /// The model is asked.
    Asked(usize),
    Answered(usize),
    Ended(usize),
    Idle(usize),
    /// Its server is gone.
    Lost(usize),
    Trouble,
    Over,
}

/// An agent that has something to do.
#[derive(Clone, Copy, Debug)]
struct Job {
    said: u64,
    server: usize,
    /// Raised when it changes its server, so that what is under way of an earlier claim is void.
    life: u32,
    /// Its place in the list of its server.
    place: usize,
    is_counted: bool,
    /// Its turn has ended: it rests at its server.
    rests: bool,
}

/// Cores, and when each is free.
struct Cores {
    free: BinaryHeap<Reverse<u64>>,
    count: usize,
    busy: u64,
}

impl Cores {
    fn new(count: usize) -> Self {
        let free = (0..count.max(1)).map(|_| Reverse(0)).collect();
        Self { free, count: count.max(1), busy: 0 }
    }

    /// Works on something as soon as a core is free. Returns when it is done.
    fn work(&mut self, now: u64, cost: u64) -> u64 {
        let Reverse(free) = self.free.pop().unwrap_or(Reverse(0));
        let done = free.max(now) + cost;
        self.busy += cost;
        self.free.push(Reverse(done));
        done
    }

    /// Nothing is done until a moment.
    fn stop_until(&mut self, moment: u64) {
        self.free = self.free.drain().map(|Reverse(free)| Reverse(free.max(moment))).collect();
    }
}

struct Server {
    cores: Cores,
    is_up: bool,
    resident: Vec<usize>,
    open: usize,
    /// Claimed, and without a place for a turn.
    waiting: VecDeque<usize>,
}

/// A cell.
struct Cell {
    plan: Plan,
    now: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event, u32)>>,
    number: u64,
    dice: Dice,
    database: Cores,
    servers: Vec<Server>,
    jobs: Vec<Job>,
    free: Vec<usize>,
    due: VecDeque<usize>,
    late: Vec<u64>,
    told: Told,
    /// Per stage, in microseconds, of a server and of the database.
    of_server: u64,
    of_database: u64,
    commit: u64,
}

/// Simulates one of the cells for a time, of which the first third is quiet, and at whose
/// first third the trouble begins.
#[must_use]
pub fn simulate(plan: &Plan, costs: &Costs, trouble: Trouble, time: Duration) -> Told {
    let stages = STAGES as f64 / plan.rounds.max(1.0);
    let share = |seconds: f64| ((seconds * 1e6 / stages).round() as u64).max(1);
    let mut cell = Cell {
        plan: *plan,
        now: 0,
        events: BinaryHeap::new(),
        number: 0,
        dice: Dice::of_seed(7),
        database: Cores::new(plan.database_cores),
        servers: Vec::new(),
        jobs: Vec::new(),
        free: Vec::new(),
        due: VecDeque::new(),
        late: Vec::new(),
        told: Told::default(),
        of_server: share(costs.turn_server),
        of_database: share(costs.turn_database),
        commit: micros(costs.commit),
    };
    cell.run(costs, trouble, micros(time.as_secs_f64()));
    cell.told
}

fn micros(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}

impl Cell {
    fn run(&mut self, costs: &Costs, trouble: Trouble, end: u64) {
        for number in 0..self.plan.servers {
            self.servers.push(Server {
                cores: Cores::new(self.plan.server_cores),
                is_up: true,
                resident: Vec::new(),
                open: 0,
                waiting: VecDeque::new(),
            });
            let first = self.dice.below(POLL);
            self.at(first, Event::Poll(number), 0);
        }
        let begins = end / 3;
        self.at(0, Event::Said, 0);
        self.at(begins, Event::Trouble, 0);
        let mut quiet_waited = 0;
        let mut over = begins;
        let mut recovered = None;
        // What polls and renewals of idle servers take is taken once a second.
        let mut second = 0;
        while let Some(Reverse((at, _, event, life))) = self.events.pop() {
            if at >= end {
                break;
            }
            self.now = at;
            while second * 1_000_000 <= at {
                let idle = micros(costs.idle_database) * self.servers.len() as u64;
                self.database.work(at, idle);
                for server in self.servers.iter_mut().filter(|server| server.is_up) {
                    server.cores.work(at, micros(costs.idle_server));
                }
                second += 1;
            }
            match event {
                Event::Trouble => {
                    quiet_waited = self.told.waited.max(CLAIMS);
                    over = self.begin(trouble);
                }
                Event::Over => {
                    if let Some(server) = self.servers.first_mut() {
                        server.is_up = true;
                    }
                    self.at(self.now, Event::Poll(0), 0);
                }
                event => self.happen(event, life),
            }
            self.told.waited = self.told.waited.max(self.due.len());
            if recovered.is_none() && at > over && self.waits() <= quiet_waited {
                recovered = Some(at);
            }
        }
        // It may be more at the end than it was at first.
        let recovered = recovered.filter(|_| self.waits() <= quiet_waited);
        self.late.sort_unstable();
        let percentile = |of: usize| {
            let at = (self.late.len() * of / 100).min(self.late.len().saturating_sub(1));
            self.late.get(at).map_or(0.0, |late| *late as f64 / 1e6)
        };
        (self.told.half, self.told.most) = (percentile(50), percentile(99));
        self.told.recovery = recovered.map(|at| at.saturating_sub(over) as f64 / 1e6);
        let share = |cores: &Cores| cores.busy as f64 / (cores.count as f64 * end as f64);
        self.told.database = share(&self.database);
        let busy: f64 = self.servers.iter().map(|server| share(&server.cores)).sum();
        self.told.servers = busy / self.servers.len().max(1) as f64;
    }

    /// The agents that wait for a server, or for a place for their turn.
    fn waits(&self) -> usize {
        self.due.len() + self.servers.iter().map(|server| server.waiting.len()).sum::<usize>()
    }

    fn at(&mut self, at: u64, event: Event, life: u32) {
        self.number += 1;
        self.events.push(Reverse((at, self.number, event, life)));
    }

    /// A stage of a turn on a server and then in the database. Returns when it is done.
    fn stage(&mut self, server: usize) -> u64 {
        let done = self.servers[server].cores.work(self.now, self.of_server);
        self.database.work(done, self.of_database) + self.commit
    }

    /// A time with this mean, of which most are shorter.
    fn around(&mut self, mean: f64) -> u64 {
        let unit = (self.dice.below(1 << 32) + 1) as f64 / (1_u64 << 32) as f64;
        micros(-unit.ln() * mean)
    }

    fn happen(&mut self, event: Event, life: u32) {
        let is_void = |job: usize, jobs: &[Job]| jobs[job].life != life;
        match event {
            Event::Said => {
                let next = self.now + self.around(1.0 / self.plan.turns_per_second());
                self.at(next, Event::Said, 0);
                let server = self.up();
                let job = self.job(true);
                let stored = self.stage(server);
                let life = self.jobs[job].life;
                self.at(stored, Event::Stored(job), life);
            }
            Event::Stored(job) => self.due.push_back(job),
            // Those come first that were in the middle of a turn.
            Event::Lost(job) if self.jobs[job].rests => self.due.push_back(job),
            Event::Lost(job) => self.due.push_front(job),
            Event::Poll(server) => self.poll(server),
            Event::Claimed(server, count) if self.servers[server].is_up => {
                let again = if count == CLAIMS { 0 } else { POLL };
                self.at(self.now + again, Event::Poll(server), 0);
            }
            Event::Read(job) if !is_void(job, &self.jobs) && self.jobs[job].rests => {
                let idle = self.now + micros(self.plan.idle.as_secs_f64());
                self.at(idle, Event::Idle(job), life);
            }
            Event::Read(job) if !is_void(job, &self.jobs) => {
                let server = self.jobs[job].server;
                if self.servers[server].open < self.plan.turns_at_once {
                    self.open(job);
                } else {
                    self.servers[server].waiting.push_back(job);
                }
            }
            Event::Asked(job) if !is_void(job, &self.jobs) => {
                if self.jobs[job].is_counted {
                    self.jobs[job].is_counted = false;
                    self.late.push(self.now - self.jobs[job].said);
                    self.told.turns += 1;
                }
                let answered =
                    self.now + self.around(self.plan.thinks.as_secs_f64() * self.plan.rounds);
                self.at(answered, Event::Answered(job), life);
            }
            Event::Answered(job) if !is_void(job, &self.jobs) => {
                let ended = self.stage(self.jobs[job].server);
                self.at(ended, Event::Ended(job), life);
            }
            Event::Ended(job) if !is_void(job, &self.jobs) => {
                let server = self.jobs[job].server;
                self.servers[server].open -= 1;
                self.jobs[job].rests = true;
                let idle = self.now + micros(self.plan.idle.as_secs_f64());
                self.at(idle, Event::Idle(job), life);
                if let Some(next) = self.servers[server].waiting.pop_front() {
                    self.open(next);
                }
            }
            Event::Idle(job) if !is_void(job, &self.jobs) => {
                let server = self.jobs[job].server;
                self.stage(server);
                let place = self.jobs[job].place;
                let resident = &mut self.servers[server].resident;
                resident.swap_remove(place);
                if let Some(moved) = resident.get(place) {
                    self.jobs[*moved].place = place;
                }
                self.jobs[job].life += 1;
                self.free.push(job);
            }
            _ => {}
        }
    }

    /// A turn begins.
    fn open(&mut self, job: usize) {
        let server = self.jobs[job].server;
        self.servers[server].open += 1;
        self.told.open = self.told.open.max(self.servers[server].open);
        let (asked, life) = (self.stage(server), self.jobs[job].life);
        self.at(asked, Event::Asked(job), life);
    }

    fn poll(&mut self, server: usize) {
        if !self.servers[server].is_up {
            return;
        }
        let room = self.plan.resident_agents.saturating_sub(self.servers[server].resident.len());
        let count = self.due.len().min(CLAIMS).min(room);
        let mut claimed = self.now;
        for _ in 0..count {
            let Some(job) = self.due.pop_front() else { break };
            self.jobs[job].server = server;
            self.jobs[job].place = self.servers[server].resident.len();
            self.servers[server].resident.push(job);
            let (read, life) = (self.stage(server), self.jobs[job].life);
            claimed = claimed.max(read);
            self.at(read, Event::Read(job), life);
        }
        self.told.resident = self.told.resident.max(self.servers[server].resident.len());
        self.at(claimed, Event::Claimed(server, count), 0);
    }

    /// Begins the trouble. Returns when it is over.
    fn begin(&mut self, trouble: Trouble) -> u64 {
        match trouble {
            Trouble::Nothing => self.now,
            Trouble::Death => {
                let lease = micros(self.plan.lease.as_secs_f64());
                // The newest renewal was up to a third of the lease ago.
                let found = self.now + lease - self.dice.below(lease / 3) + self.dice.below(REAP);
                self.servers[0].is_up = false;
                self.lose(0, found);
                self.at(found + 30_000_000, Event::Over, 0);
                found
            }
            Trouble::Failover(time) => {
                let back = self.now + micros(time.as_secs_f64());
                self.database.stop_until(back);
                if time > self.plan.lease * 2 / 3 {
                    // Each server ends its turns, and claims its agents again.
                    (0..self.servers.len()).for_each(|server| self.lose(server, back));
                }
                back
            }
            Trouble::Hour(share) => {
                let of_cell = self.plan.agents as f64 / self.plan.cells as f64;
                for _ in 0..(of_cell * share).round() as u64 {
                    let job = self.job(true);
                    self.due.push_back(job);
                }
                self.now
            }
        }
    }

    /// A server has lost its agents: they are due from a moment on.
    fn lose(&mut self, server: usize, from: u64) {
        let lost = std::mem::take(&mut self.servers[server].resident);
        (self.servers[server].open, self.servers[server].waiting) = (0, VecDeque::new());
        for job in lost {
            self.jobs[job].life += 1;
            let life = self.jobs[job].life;
            self.at(from, Event::Lost(job), life);
        }
    }

    fn job(&mut self, is_counted: bool) -> usize {
        let said = self.now;
        if let Some(job) = self.free.pop() {
            let life = self.jobs[job].life;
            self.jobs[job] = Job { said, server: 0, life, place: 0, is_counted, rests: false };
            return job;
        }
        self.jobs.push(Job { said, server: 0, life: 0, place: 0, is_counted, rests: false });
        self.jobs.len() - 1
    }

    /// A server that answers.
    fn up(&mut self) -> usize {
        loop {
            let server = self.dice.index(self.servers.len());
            if self.servers[server].is_up || self.servers.len() == 1 {
                return server;
            }
        }
    }
}
