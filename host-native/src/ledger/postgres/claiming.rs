//! How a worker claims agents.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Instant,
};

use wakeful_core::{AgentId, Head, LEDGER_FORMAT};

use super::{
    Fault, PostgresError,
    claim::Claim,
    worker::{ClaimError, Held, Term, Worker},
};

/// The newest ledger format that this program drives. It is kept of each agent at a claim, because
/// a driver takes the ledger to its own format.
const DRIVES: i32 = LEDGER_FORMAT as i32;

/// Claims agents that are due and have no owner. One that a newer program drove is left to such
/// programs: its ledger may have what this one cannot read. The row of the worker is locked against
/// its end, so that no agent is claimed for a worker whose agents were taken over just now. It is
/// locked only if something is due: a lock is written, so each empty poll would wait for the disk.
const CLAIM_DUE: &str = "
    WITH me AS (
        SELECT worker, labels FROM workers
        WHERE worker = $1 AND lease_ends > clock_timestamp() AND EXISTS (
            SELECT FROM agents
            WHERE kind = ANY ($3) AND format <= $4 AND due_at <= now()
                AND owner IS NULL AND goes_on_in IS NULL
        ) FOR KEY SHARE
    ), due AS (
        SELECT agent FROM agents, me
        WHERE kind = ANY ($3) AND format <= $4 AND due_at <= now() AND owner IS NULL AND goes_on_in IS NULL
            AND (label IS NULL OR label = ANY (me.labels))
        ORDER BY due_at LIMIT $2 FOR UPDATE OF agents SKIP LOCKED
    )
    UPDATE agents SET owner = $1, owned_since = now(), epoch = epoch + 1, due_at = NULL,
        format = $4
    FROM due WHERE agents.agent = due.agent
    RETURNING agent_id, epoch, is_rested";

/// Claims one agent, which may be new. Its own owner claims it again, as after a lost answer.
const CLAIM: &str = "
    INSERT INTO agents (agent_id, head_chain, owner, owned_since, epoch, format)
    SELECT $2, $3, worker, now(), 1, $4 FROM workers
    WHERE worker = $1 AND lease_ends > clock_timestamp() FOR KEY SHARE
    ON CONFLICT (agent_id) DO UPDATE
        SET owner = excluded.owner, owned_since = now(), epoch = agents.epoch + 1, due_at = NULL,
            format = excluded.format
        WHERE (agents.owner IS NULL OR agents.owner = excluded.owner)
            AND agents.goes_on_in IS NULL AND agents.format <= excluded.format
    RETURNING epoch, is_rested";

impl Worker {
    /// Claims up to `most` agents whose time has come.
    ///
    /// # Errors
    /// If the store cannot be written, or the lease is lost.
    pub fn claim_due(&self, most: u32) -> Result<Vec<Claim>, PostgresError> {
        let (id, most) = (self.id(), i64::from(most));
        let kinds: Vec<&str> = self.shared.options.kinds.iter().map(String::as_str).collect();
        let attempts = AtomicI64::new(0);
        let (mut rows, is_repeated) = self.store().call("claim agents", async |connection| {
            let is_repeated = attempts.fetch_add(1, Ordering::Relaxed) > 0;
            let rows = connection.rows(CLAIM_DUE, &[&&*id, &most, &kinds, &DRIVES]).await?;
            Ok((rows, is_repeated))
        })?;
        if is_repeated {
            // The answer to an earlier attempt was lost, and it may have claimed some.
            rows = self.store().call("list own agents", async |connection| {
                connection
                    .rows(
                        "SELECT agent_id, epoch, is_rested FROM agents WHERE owner = $1",
                        &[&&*id],
                    )
                    .await
            })?;
        }
        let mut claims = Vec::new();
        for row in &rows {
            let store = self.store();
            let agent = AgentId::from(store.column::<String>(row, 0)?);
            let (epoch, is_rested) = (store.column(row, 1)?, store.column::<bool>(row, 2)?);
            let mut held = self.held();
            // If it has it already, an earlier attempt claimed it, or this list is of all its own.
            if !held.contains_key(&agent) {
                let worker = Arc::clone(&id);
                let term = Term { worker, epoch, is_restart: !is_rested, seen: 0 };
                claims.push(self.holding(&mut held, agent, term));
            }
        }
        Ok(claims)
    }

    /// The agents that the store says are this worker's, and that nothing here has: a call whose
    /// answer was lost left them. Ask now and then: one is returned that was such at the last
    /// question too, so that no claim is taken for one that is being given back just now.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn strays(&self) -> Result<Vec<Claim>, PostgresError> {
        let (store, id) = (self.store(), self.id());
        let rows = store.call("list own agents", async |connection| {
            connection
                .rows("SELECT agent_id, epoch, is_rested FROM agents WHERE owner = $1", &[&&*id])
                .await
        })?;
        let mut found = BTreeSet::new();
        let mut claims = Vec::new();
        let mut suspects = self.shared.suspects.lock().unwrap_or_else(PoisonError::into_inner);
        for row in &rows {
            let agent = AgentId::from(store.column::<String>(row, 0)?);
            let (epoch, is_rested) = (store.column(row, 1)?, store.column::<bool>(row, 2)?);
            let mut held = self.held();
            if held.contains_key(&agent) {
                continue;
            }
            if suspects.contains(&agent) {
                let worker = Arc::clone(&id);
                let term = Term { worker, epoch, is_restart: !is_rested, seen: 0 };
                claims.push(self.holding(&mut held, agent, term));
            } else {
                found.insert(agent);
            }
        }
        *suspects = found;
        Ok(claims)
    }

    /// Claims one agent, or goes on with the claim of one that waits here. A new agent begins with
    /// its first append.
    ///
    /// # Errors
    /// If another one drives it, or the store cannot be written, or the lease is lost.
    pub fn claim(&self, agent: &AgentId) -> Result<Claim, ClaimError> {
        let id = self.id();
        let driven = |by: String, here| ClaimError::Driven { agent: agent.clone(), by, here };
        let number = self.next_claim();
        let new = |term| Claim::new(self.clone(), agent.clone(), term, number);
        {
            let mut held = self.held();
            match held.get(agent) {
                Some(Held::IsDriven(_)) => return Err(driven(id.to_string(), true)),
                Some(Held::Waits(term)) => {
                    let term = term.clone();
                    held.insert(agent.clone(), Held::IsDriven(number));
                    return Ok(new(term));
                }
                // So that no other thread claims it meanwhile.
                None => held.insert(agent.clone(), Held::IsDriven(number)),
            };
        }
        // If it fails, this is dropped, and the process no longer has the agent.
        let mut claim = new(Term { worker: id, epoch: 0, is_restart: true, seen: 0 });
        loop {
            let asked = Instant::now();
            match self.claimed(&claim.term.worker, agent)? {
                Ok((epoch, is_rested)) => {
                    (claim.term.epoch, claim.term.is_restart) = (epoch, !is_rested);
                    return Ok(claim);
                }
                Err(Some(by)) => return Err(driven(by, false)),
                // The store gives no agent to a worker whose lease has ended. After a failover the
                // question may be there before the renewal is.
                Err(None) if self.is_renewed_after(asked, &claim.term.worker) => {}
                Err(None) => return Err(self.lease_lost().into()),
            }
        }
    }

    /// A claim that the store has given.
    fn holding(&self, held: &mut BTreeMap<AgentId, Held>, agent: AgentId, term: Term) -> Claim {
        let number = self.next_claim();
        held.insert(agent.clone(), Held::IsDriven(number));
        Claim::new(self.clone(), agent, term, number)
    }

    /// The epoch of a new claim and whether the agent rested; otherwise who has it.
    #[allow(clippy::type_complexity)]
    fn claimed(
        &self,
        worker: &str,
        agent: &AgentId,
    ) -> Result<Result<(i64, bool), Option<String>>, PostgresError> {
        let (store, id) = (self.store(), agent.as_str());
        let start = Head::START.chain;
        let chain = start.as_bytes().as_slice();
        let row = store.call("claim an agent", async |connection| {
            connection.row(CLAIM, &[&worker, &id, &chain, &DRIVES]).await
        })?;
        if let Some(row) = row {
            return Ok(Ok((store.column(&row, 0)?, store.column(&row, 1)?)));
        }
        let row = store.call("read the owner", async |connection| {
            connection
                .row("SELECT owner, goes_on_in, format FROM agents WHERE agent_id = $1", &[&id])
                .await
        })?;
        let Some(row) = row else { return Ok(Err(None)) };
        if let Some(goes_on_in) = store.column(&row, 1)? {
            let agent = agent.clone();
            return Err(PostgresError::new(store.address(), Fault::Moved { agent, goes_on_in }));
        }
        let format: i32 = store.column(&row, 2)?;
        if format > DRIVES {
            let fault = Fault::NewerAgent { agent: agent.clone(), format, drives: DRIVES };
            return Err(PostgresError::new(store.address(), fault));
        }
        Ok(Err(store.column(&row, 0)?))
    }
}
