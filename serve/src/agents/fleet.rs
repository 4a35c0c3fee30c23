//! The agents of a store that several servers share. A server has those that it claimed: it claims
//! what is due and what is said to it, and gives back what rests. Of the others it only reads.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use wakeful_core::{
    fact::outcome::Answer,
    host::SchedulerError,
    id::{AgentId, ExternalTriggerId},
    json,
    record::chain::Head,
};
use wakeful_host::ledger::{Claim, Fate, Own, StoreError, StoreLedger, Worker};

use super::{
    Agents, Cell, Turns,
    brief::{Brief, Digest},
    cell::Inner,
    held,
    registry::Registered,
    said,
};
use crate::{access::hex_of, problem::Problem};

/// The time between two looks at the lease, which costs nothing.
const LOOK: Duration = Duration::from_millis(50);

/// The time between two questions to the store: what is due, what was said, what others appended.
const ASK: Duration = Duration::from_millis(250);

/// The questions between two searches for agents to give back, and for tokens that others made.
const TIDY: u32 = 4;

/// The questions between two searches for agents that this server has by a lost answer.
const STRAYS: u32 = 20;

/// The most agents that one question claims. The next one comes at once if there were as many.
const MOST_DUE: u32 = 64;

/// The agents that no server claims, by their kind.
const AWAY: &str = "away";

/// The kind of what the store keeps of triggers: which agent has the trigger with a token.
const TRIGGER: &str = "trigger";

/// The kind of an agent in the store. A worker claims only agents of its kinds.
pub(super) fn kind_of(turns: Option<Turns>) -> &'static str {
    match turns {
        Some(Turns::Elsewhere) => "elsewhere",
        // As an agent that no server was told of.
        Some(Turns::Model) => "",
        None => AWAY,
    }
}

/// The kinds of agents that a server can drive.
#[must_use]
pub fn kinds(has_model: bool) -> BTreeSet<String> {
    let elsewhere = kind_of(Some(Turns::Elsewhere));
    let model = kind_of(Some(Turns::Model));
    [elsewhere].into_iter().chain(has_model.then_some(model)).map(str::to_owned).collect()
}

impl Agents {
    /// Watches the lease of this server in a store until the end. It asks the store nothing: turns
    /// must end in time just when the store does not answer.
    pub(super) fn guard(&self, worker: &Worker) {
        let mut was_sure = true;
        while !self.has_ended.load(Ordering::Acquire) {
            thread::sleep(LOOK);
            let is_sure = worker.is_sure();
            if was_sure && !is_sure {
                let late = worker.since_renewal().as_secs_f64();
                self.let_go();
                let so = match self.has_runner() {
                    true => "the turns of its model end, and run again here or at another server",
                    false => "it records nothing until then, and other servers may take its agents",
                };
                self.tell(&format!(
                    "{}: the lease of this server was not renewed for {late:.1} s: {so}",
                    worker.store().address().shown()
                ));
            } else if is_sure && !was_sure {
                let store = worker.store().address().shown();
                self.tell(&format!("{store}: the lease of this server is renewed again"));
            }
            self.end_earlier(worker);
            was_sure = is_sure;
        }
    }

    /// Ends what this server did under an earlier id, once. It comes before anything is begun under
    /// the new one, which would be ended with it otherwise.
    pub(super) fn end_earlier(&self, worker: &Worker) {
        let mut known = held(&self.id);
        let id = Some(worker.id());
        if *known != id {
            *known = id;
            self.let_go();
        }
    }

    /// Looks after the agents of a shared store until the end.
    pub(super) fn share(self: &Arc<Self>, worker: &Worker) {
        self.is_ready.store(true, Ordering::Release);
        let mut questions = 0_u32;
        while !self.has_ended.load(Ordering::Acquire) {
            thread::sleep(ASK);
            questions = questions.wrapping_add(1);
            let asked = self.ask(worker).and_then(|()| self.tidy_up(worker, questions));
            *held(&self.lost) = asked.err().map(|_| "the store does not answer".to_owned());
        }
    }

    /// Does what need not be done at each question.
    fn tidy_up(self: &Arc<Self>, worker: &Worker, questions: u32) -> Result<(), Problem> {
        if questions.is_multiple_of(TIDY) {
            self.give_back(worker);
            self.tidy();
            self.read_access()?;
        }
        if questions.is_multiple_of(STRAYS) {
            self.claimed(worker, worker.strays()?);
        }
        Ok(())
    }

    /// Asks the store for what is new.
    fn ask(self: &Arc<Self>, worker: &Worker) -> Result<(), Problem> {
        loop {
            let room = self.limits.resident_agents.saturating_sub(worker.holds());
            let most = MOST_DUE.min(u32::try_from(room).unwrap_or(u32::MAX));
            let claims = if most == 0 { Vec::new() } else { worker.claim_due(most)? };
            let count = claims.len();
            self.claimed(worker, claims);
            if count < MOST_DUE as usize || self.has_ended.load(Ordering::Acquire) {
                break;
            }
        }
        for agent in worker.addressed()? {
            if let Some(cell) = self.known(&agent) {
                cell.has_mail.store(true, Ordering::Release);
                self.agenda.now(cell.number);
            }
        }
        // Nothing else tells those who follow an agent of another server.
        let all = self.followers.load(Ordering::Relaxed) > 0;
        let others = self.all().into_iter().filter(|cell| !cell.is_own());
        let ids: Vec<_> = others
            .filter(|cell| all || cell.is_followed() || self.lives(cell))
            .map(|cell| cell.agent.clone())
            .collect();
        if !ids.is_empty() {
            for (agent, head) in worker.store().heads_of(&ids)? {
                if let Some(cell) = self.known(&agent) {
                    cell.heard(head.seq);
                }
            }
        }
        Ok(())
    }

    /// Its holder hears of the new entries of all agents that this server knows.
    pub(crate) fn follow_all(&self) -> FollowsAll {
        self.followers.fetch_add(1, Ordering::Relaxed);
        FollowsAll(Arc::clone(&self.followers))
    }

    /// Takes over agents that were claimed because they are due.
    fn claimed(self: &Arc<Self>, worker: &Worker, claims: Vec<Claim>) {
        self.end_earlier(worker);
        let agents: Vec<_> = claims.iter().map(|claim| claim.agent().clone()).collect();
        // One question for all of them: after the death of a server there are many.
        let Ok((heads, registered)) = self.looked_up(worker, &agents) else {
            // The store does not answer. The agents stay due.
            return claims.into_iter().for_each(|claim| drop(claim.hand_over()));
        };
        for claim in claims {
            let agent = claim.agent();
            let registered = registered.get(agent);
            let turns = self.turns_of(registered);
            let known = self.known(agent).or_else(|| {
                let head = *heads.get(agent)?;
                Some(self.add(agent.clone(), (head, head), turns))
            });
            let Some(cell) = known else {
                // Its first entries were never appended. If this fails, the worker finds it again.
                drop(claim.rest(None));
                continue;
            };
            cell.put_away(registered.is_some_and(|registered| registered.put_away));
            cell.set_turns(turns);
            self.takes_over(&cell, claim);
        }
    }

    /// The heads of these agents as far as this server does not know them, and who runs the turns
    /// of each.
    #[allow(clippy::type_complexity)]
    fn looked_up(
        &self,
        worker: &Worker,
        agents: &[AgentId],
    ) -> Result<(HashMap<AgentId, Head>, HashMap<AgentId, Registered>), Problem> {
        if agents.is_empty() {
            return Ok(Default::default());
        }
        let new: Vec<_> =
            agents.iter().filter(|agent| self.known(agent).is_none()).cloned().collect();
        let heads = match new.is_empty() {
            true => Vec::new(),
            false => worker.store().heads_of(&new)?,
        };
        Ok((heads.into_iter().collect(), self.registered_of(worker, agents)?))
    }

    /// Drives an agent with a claim.
    fn takes_over(self: &Arc<Self>, cell: &Arc<Cell>, claim: Claim) {
        match cell.turns() {
            Some(Turns::Elsewhere) => takes(cell, &mut cell.inner(), Own::Worker(claim)),
            // Its runner goes on with the claim.
            Some(Turns::Model) => {
                cell.has_mail.store(true, Ordering::Release);
                claim.wait();
            }
            None => return drop(claim.rest(None)),
        }
        cell.moves_at(self.second());
        // Hosts that wait for its open turn look again.
        cell.appended.notify_waiters();
        self.agenda.now(cell.number);
    }

    /// Whether no server that lives drives an agent of a shared store.
    pub(super) fn is_abandoned(&self, cell: &Cell) -> Result<bool, Problem> {
        let Some(worker) = self.store.worker().filter(|_| !cell.is_own()) else {
            return Ok(false);
        };
        Ok(worker.store().placed_of(std::slice::from_ref(&cell.agent))?.is_empty())
    }

    /// Forgets an agent that another server may have by now.
    pub(super) fn drops_lost(cell: &Cell, inner: &mut Inner) {
        if inner.owned.as_ref().is_some_and(|own| !own.is_sure()) {
            cell.owned_here(false);
            inner.owned = None;
            inner.scheduler = None;
            inner.request = None;
        }
    }

    /// Ends what this server does for agents that may be another's soon.
    fn let_go(&self) {
        self.cut_lives();
        for cell in self.all() {
            if !cell.is_own() {
                continue;
            }
            // One that a thread uses now is dropped at its next use.
            if let Some(mut inner) = cell.try_inner() {
                Self::drops_lost(&cell, &mut inner);
            }
        }
    }

    /// Gives back the agents that rest and that nobody asked for a while.
    fn give_back(self: &Arc<Self>, worker: &Worker) {
        let (now, idle) = (self.second(), self.limits.resident_idle.as_secs());
        let is_idle = |cell: &Cell| {
            // One that is only read need not be its reader's.
            now.saturating_sub(cell.moved()) >= idle && !cell.has_mail.load(Ordering::Acquire)
        };
        for agent in worker.waiting() {
            // One that only a runner knew, such as a child, is read now.
            let Ok(cell) = self.cell(&agent) else { continue };
            if !is_idle(&cell) || self.lives(&cell) {
                continue;
            }
            let brief = self.brief(&cell);
            if brief.is_unfinished {
                continue;
            }
            // If it was just taken, it is driven.
            if let Ok(claim) = worker.claim(&agent) {
                self.rest(&cell, claim, &brief);
            }
        }
        for cell in self.all() {
            if !is_idle(&cell) {
                continue;
            }
            let Some(mut inner) = cell.try_inner() else { continue };
            let brief = cell.brief();
            if brief.is_unfinished {
                continue;
            }
            if let Some(Own::Worker(claim)) = inner.owned.take() {
                cell.owned_here(false);
                inner.scheduler = None;
                inner.request = None;
                self.rest(&cell, claim, &brief);
            }
        }
    }

    /// Gives an agent back, unless something came for it or it went on since it was read in short:
    /// it would be due at a wrong time.
    fn rest(&self, cell: &Cell, claim: Claim, brief: &Brief) {
        let is_as_read = claim.ledger().head().is_ok_and(|head| head == brief.head);
        let has_mail = claim.arrived(1).map_or(true, |arrived| !arrived.is_empty());
        if has_mail || !is_as_read {
            cell.has_mail.store(true, Ordering::Release);
            claim.wait();
            self.agenda.now(cell.number);
            return;
        }
        // A child is driven by its parent, and by no other. If this fails, the worker finds the
        // agent again.
        drop(claim.rest(brief.next_wake.filter(|_| !brief.is_child)));
    }

    /// Gives all agents back at the end of the server.
    pub(super) fn leave(&self, worker: &Worker) {
        let waiting: BTreeSet<_> = worker.waiting().into_iter().collect();
        for cell in self.all() {
            let brief = cell.brief();
            let owned = cell.inner().owned.take();
            let claim = match owned {
                Some(Own::Worker(claim)) => Some(claim),
                _ if waiting.contains(&cell.agent) => worker.claim(&cell.agent).ok(),
                _ => None,
            };
            let Some(claim) = claim else { continue };
            // Another server must look after an open turn at once, and after what this one does not
            // know. What is not given back here is due when the worker has left.
            let is_as_read = claim.ledger().head().is_ok_and(|head| head == brief.head);
            drop(match is_as_read && !brief.is_unfinished {
                true => claim.rest(brief.next_wake.filter(|_| !brief.is_child)),
                false => claim.hand_over(),
            });
        }
        // If it cannot leave, its agents are claimed after its lease.
        drop(worker.clone().leave());
    }

    /// Records what came for an agent through its store. It is this server's own, and its state is
    /// in memory.
    pub(super) fn receive(&self, cell: &Cell, inner: &mut Inner) -> Result<(), SchedulerError> {
        let (Some(Own::Worker(claim)), Some(scheduler)) = (&inner.owned, &mut inner.scheduler)
        else {
            return Ok(());
        };
        if !cell.has_mail.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        // What came is for the agent as it is now.
        scheduler.catch_up()?;
        let received = claim.receive(|fact| match said(scheduler, fact) {
            Ok(receipt) if receipt.answer == Answer::Accepted => Ok(Fate::Recorded),
            Ok(_) => Ok(Fate::Known),
            Err(why) if Problem::from(&why).blames_request() => Ok(Fate::Refused(why.to_string())),
            Err(why) => Err(why),
        });
        received.inspect_err(|_| cell.has_mail.store(true, Ordering::Release))
    }

    /// An agent of a shared store that this process does not know yet.
    pub(super) fn found(&self, agent: &AgentId) -> Result<Option<Arc<Cell>>, Problem> {
        let Some(worker) = self.store.worker() else { return Ok(None) };
        let heads = worker.store().heads_of(std::slice::from_ref(agent))?;
        let Some((agent, head)) = heads.into_iter().next() else { return Ok(None) };
        let registered = self.registration(&agent)?;
        let is_away = registered.as_ref().is_some_and(|registered| registered.put_away);
        let cell = self.add(agent, (head, head), self.turns_of(registered.as_ref()));
        cell.put_away(is_away);
        Ok(Some(cell))
    }

    /// The next agents after this id, sorted by id, and the last of them if there may be more. Of
    /// a shared store there are up to `most`.
    pub(crate) fn after(
        &self,
        id: &str,
        most: u64,
    ) -> Result<(Vec<Arc<Cell>>, Option<AgentId>), Problem> {
        let Some(worker) = self.store.worker() else {
            let mut cells = self.all();
            cells.retain(|cell| cell.agent.as_str() > id);
            cells.sort_by(|one, other| one.agent.cmp(&other.agent));
            return Ok((cells, None));
        };
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let ids = worker.store().agents_after(id, most)?;
        let last = ids.last().filter(|_| ids.len() == most as usize).cloned();
        let cells: Result<_, _> = ids.iter().map(|id| self.cell(id)).collect();
        Ok((cells?, last))
    }

    /// An agent in short. One of a shared store that was not asked for is read now.
    pub(crate) fn brief(&self, cell: &Arc<Cell>) -> Arc<Brief> {
        let brief = cell.brief();
        match self.is_shared() && !cell.is_own() && cell.head() != brief.head.seq
            || self.is_shared() && !brief.is_read
        {
            true => self.look(cell, &mut cell.inner()).unwrap_or_else(|| cell.brief()),
            false => brief,
        }
    }

    /// Keeps the tokens of an agent's triggers where each server finds them.
    pub(super) fn publish(
        &self,
        cell: &Cell,
        before: &[(Digest, ExternalTriggerId)],
        now: &[(Digest, ExternalTriggerId)],
    ) -> Result<(), StoreError> {
        for (hash, trigger) in now.iter().filter(|it| !before.contains(it)) {
            let place = json::write(&[cell.agent.as_str(), trigger.as_str()]);
            self.store.keep(TRIGGER, &hex_of(hash), &place)?;
        }
        for (hash, _) in before.iter().filter(|(hash, _)| now.iter().all(|(it, _)| it != hash)) {
            self.store.forget(TRIGGER, &hex_of(hash))?;
        }
        Ok(())
    }

    /// The agent and the trigger with this token, as another server published it.
    pub(crate) fn published(
        &self,
        hash: &Digest,
    ) -> Result<Option<(Arc<Cell>, ExternalTriggerId)>, Problem> {
        let Some(place) = self.store.kept_one(TRIGGER, &hex_of(hash))? else { return Ok(None) };
        let Ok([agent, trigger]) = serde_json::from_str::<[String; 2]>(&place) else {
            return Ok(None);
        };
        Ok(Some((self.cell(&agent.as_str().into())?, trigger.into())))
    }
}

/// One who follows all agents.
pub(crate) struct FollowsAll(Arc<AtomicUsize>);

impl Drop for FollowsAll {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// From now on this server drives the agent. Its state in memory goes on with the ledger of the
/// one that drives it.
pub(super) fn takes(cell: &Cell, inner: &mut Inner, own: Own) {
    if let Own::Worker(_) = own {
        goes_on_with(inner, own.ledger());
        inner.request = None;
        cell.has_mail.store(true, Ordering::Release);
    }
    inner.owned = Some(own);
    cell.owned_here(true);
}

/// The state in memory, if it is there, appends to this ledger from now on. It may be behind it.
pub(super) fn goes_on_with(inner: &mut Inner, ledger: StoreLedger) {
    if let Some(scheduler) = &mut inner.scheduler {
        *scheduler.ledger().stored() = ledger;
    }
}
