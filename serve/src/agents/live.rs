//! The agents that a runner drives in this process, each on a thread of its own while it has
//! something to do.

use std::{
    collections::{HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use wakeful_core::{
    fact::outcome::Answer,
    host::ErrorReport,
    id::{AgentId, Seq},
    record::chain::Head,
};
use wakeful_host::token::Token;

use super::{Agents, Cell, agenda::Number, held};
use crate::{
    problem::Problem,
    runner::{Hear, RunnerError, Watch},
};

/// The time until an agent is looked at again that rests where it was and yet seems to be due.
const AGAIN_MS: u64 = 1_000;

/// How often the end of the running agents is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// Does something to a running agent.
type Act = Box<dyn Fn() + Send + Sync>;

/// How a running agent is reached, once its runner has said it.
#[derive(Default)]
struct Reach {
    /// Tells it to end.
    end: Mutex<Option<Act>>,
    /// Breaks off what runs for it.
    cut: Mutex<Option<Act>>,
    /// Has it record a fact.
    hear: Mutex<Option<Arc<Hear>>>,
}

impl Reach {
    /// Breaks off what runs for the agent, and returns how to end it. `None` for one that its
    /// runner is still opening: nothing runs for it yet, and its appends wait until it is sure
    /// whose it is. To end it when that is known would cost the turn that it begins then.
    fn cut(&self) -> Option<Act> {
        let (mut cut, mut end) = (held(&self.cut), held(&self.end));
        if cut.is_none() || end.is_none() {
            return None;
        }
        if let Some(cut) = cut.take() {
            cut();
        }
        end.take()
    }
}

/// The agents that live in this process now.
#[derive(Default)]
pub(super) struct Lives {
    running: HashMap<Number, Arc<Reach>>,
    /// Those that wait until one of the others rests.
    waiting: VecDeque<Number>,
}

/// What the server hears of a living agent and its children.
struct Heard {
    agents: Arc<Agents>,
    reach: Arc<Reach>,
}

impl Watch for Heard {
    fn appended(&self, agent: &AgentId, seq: Seq) {
        // A child that is new is found by the watch.
        if let Ok(cell) = self.agents.cell(agent) {
            cell.heard(seq);
        }
    }

    fn text(&self, _agent: &AgentId, _delta: &str) {}

    fn notice(&self, agent: &AgentId, notice: &str) {
        (self.agents.notice)(&format!("{agent}: {}", without_tokens(notice)));
    }

    fn ends_by(&self, end: Act) {
        *held(&self.reach.end) = Some(end);
    }

    fn cut_by(&self, cut: Act) {
        *held(&self.reach.cut) = Some(cut);
    }

    fn hears_by(&self, hear: Arc<Hear>) {
        *held(&self.reach.hear) = Some(hear);
    }
}

impl Agents {
    /// Has a runner drive an agent, as soon as there is room.
    pub(super) fn live(self: &Arc<Self>, cell: &Arc<Cell>) {
        let Some(runner) = self.runner.clone() else { return };
        if let Some(worker) = self.store.worker() {
            self.end_earlier(worker);
        }
        let reach = Arc::<Reach>::default();
        {
            let mut lives = held(&self.lives);
            if self.has_ended.load(Ordering::Acquire) || lives.running.contains_key(&cell.number) {
                // It sees what was appended itself, and is looked at again when it rests.
                return;
            }
            if lives.running.len() >= self.limits.turns_at_once {
                if !lives.waiting.contains(&cell.number) {
                    lives.waiting.push_back(cell.number);
                }
                return;
            }
            lives.running.insert(cell.number, Arc::clone(&reach));
        }
        let (agents, own) = (Arc::clone(self), Arc::clone(cell));
        let thread = thread::Builder::new().name(format!("agent {}", cell.agent));
        let spawned = thread.spawn(move || {
            let heard = Arc::new(Heard { agents: Arc::clone(&agents), reach });
            let before = own.brief().head;
            let lived = catch_unwind(AssertUnwindSafe(|| runner.live(&own.agent, heard)));
            let next = {
                let mut lives = held(&agents.lives);
                lives.running.remove(&own.number);
                lives.waiting.pop_front()
            };
            match lived {
                Ok(Ok(head)) => {
                    agents.rested(&own, head);
                    if head == before {
                        // Otherwise an agent that seems due and is not would be opened for ever.
                        agents.agenda.set(own.number, Some(agents.now().plus_ms(AGAIN_MS)));
                    }
                }
                Ok(Err(RunnerError::Driven(why))) => {
                    agents.failed(&own, &Problem::driven(why));
                }
                Ok(Err(RunnerError::Failed(why))) => agents.failed(&own, &Problem::broken(why)),
                Err(_) => agents.failed(&own, &Problem::broken("the agent's thread panicked")),
            }
            if let Some(next) = next {
                agents.agenda.now(next);
            }
        });
        if let Err(why) = spawned {
            held(&self.lives).running.remove(&cell.number);
            self.failed(cell, &Problem::broken(format!("the system gives no thread: {why}")));
        }
    }

    /// Whether the agent lives in this process now, or is about to.
    pub(super) fn lives(&self, cell: &Cell) -> bool {
        let lives = held(&self.lives);
        lives.running.contains_key(&cell.number) || lives.waiting.contains(&cell.number)
    }

    /// Breaks off what runs for the agents here, because they may be another's soon, and ends them.
    pub(super) fn cut_lives(&self) {
        let running: Vec<_> = held(&self.lives).running.values().cloned().collect();
        let ends: Vec<_> = running.iter().filter_map(|reach| reach.cut()).collect();
        // An agent that waits for its store is told only when it has an answer.
        let told = thread::Builder::new().name("cut off".to_owned()).spawn(move || {
            for end in ends {
                end();
            }
        });
        // Without a thread, each of them finds out at its next append.
        drop(told);
    }

    /// Tells the running agents to end. Returns whether there are any.
    pub(super) fn end_lives(&self) -> bool {
        let reached: Vec<_> = held(&self.lives).running.values().cloned().collect();
        for reach in &reached {
            if let Some(end) = held(&reach.end).take() {
                end();
            }
        }
        !reached.is_empty()
    }

    /// Has an agent record a fact that lives in this process. `None` if it does not, or has just
    /// ended.
    pub(super) fn heard_living(
        &self,
        cell: &Cell,
        fact: &str,
    ) -> Option<Result<(Answer, Head), ErrorReport>> {
        let reach = Arc::clone(held(&self.lives).running.get(&cell.number)?);
        // Its runner may have opened it a moment ago, and not said yet how it is reached.
        let hear = held(&reach.hear).clone()?;
        hear(fact)
    }

    /// Keeps an agent from being opened while `doing` runs; `None` if it lives.
    pub(super) fn while_at_rest<T>(&self, cell: &Cell, doing: impl FnOnce() -> T) -> Option<T> {
        {
            let mut lives = held(&self.lives);
            if lives.running.contains_key(&cell.number) {
                return None;
            }
            lives.running.insert(cell.number, Arc::default());
        }
        let done = catch_unwind(AssertUnwindSafe(doing));
        held(&self.lives).running.remove(&cell.number);
        self.agenda.now(cell.number);
        match done {
            Ok(done) => Some(done),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// The number of agents that live in this process now.
    pub(crate) fn living(&self) -> usize {
        held(&self.lives).running.len()
    }

    /// The number of agents that wait for a worker.
    pub(crate) fn late(&self) -> usize {
        self.agenda.late()
    }

    /// Tells the running agents to end, and waits for them as long as `drain` says.
    pub(super) fn drain(&self) {
        let until = Instant::now() + self.limits.drain;
        loop {
            if !self.end_lives() || Instant::now() >= until {
                return;
            }
            thread::sleep(LOOK);
        }
    }
}

/// A notice without the tokens of triggers in it. What a server prints is kept in logs, and a token
/// must not be.
fn without_tokens(notice: &str) -> String {
    let words = notice.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut hidden = false;
    let mut shown: String = words
        .map(|word| {
            let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            if !Token::is_like(bare) {
                return word.to_owned();
            }
            hidden = true;
            word.replace(bare, "(hidden)")
        })
        .collect();
    if hidden {
        shown.push_str("; its address is given by `POST /v1/agents/{agent}/triggers/{id}/rotate`");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_is_being_opened_is_not_cut_off_later() {
        let reach = Reach::default();
        let calls = Arc::new(Mutex::new(Vec::new()));
        let act = |what: &'static str| -> Act {
            let calls = Arc::clone(&calls);
            Box::new(move || held(&calls).push(what))
        };
        assert!(reach.cut().is_none(), "nothing runs for it");
        *held(&reach.cut) = Some(act("cut"));
        assert!(reach.cut().is_none(), "it could not be told to end");
        *held(&reach.end) = Some(act("end"));
        assert_eq!(*held(&calls), [""; 0]);
        let end = reach.cut().expect("it is open");
        end();
        assert_eq!(*held(&calls), ["cut", "end"]);
        assert!(reach.cut().is_none(), "it is cut off once");
    }

    #[test]
    fn no_token_is_in_a_notice() {
        let token = Token::random().expect("bytes");
        let notice = format!("deliver to `build` with `wakeful send deliver {}`", token.as_str());
        let shown = without_tokens(&notice);
        assert!(
            shown.starts_with("deliver to `build` with `wakeful send deliver (hidden)`; "),
            "{shown}"
        );
        assert_eq!(without_tokens("the clock is behind"), "the clock is behind");
    }
}
