//! A worker: a process that drives agents of a store. It says that it lives by a lease, which a
//! thread of its own renews, so that a long turn does not end it.
//!
//! All times are the database's. A worker measures how far its own clock is from them at each
//! renewal.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use wakeful_core::{AgentId, Clock, Timestamp};

use super::{Fault, PostgresError, PostgresStore, placement::micros};
use crate::{clock::SystemClock, token::hex, waiting};

/// The lease by default. An agent whose worker died is driven again after it.
const LEASE: Duration = Duration::from_secs(10);

/// The shortest lease: two thirds of it must be enough for a renewal.
const SHORTEST: Duration = Duration::from_secs(1);

/// Each renewal is asked for this share of the lease after the one before.
const RENEWALS: u32 = 3;

/// The share of the lease by which a renewal may be late before nothing new is begun.
const LATE: u32 = 12;

/// The longest time between two looks for dead workers, so that their agents are driven again soon
/// after their lease.
const REAP: Duration = Duration::from_secs(1);

/// The time between two looks at a lease that is in doubt.
const LOOK: Duration = Duration::from_millis(10);

/// The looks between two searches for agents whose owner is not a worker.
const SEARCH: u32 = 30;

/// What a worker says of itself.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// Its address, if others can reach it, such as `https://10.0.0.7:7171`.
    pub address: Option<String>,
    /// What it has that others do not, such as a folder. An agent that is pinned to a label is
    /// claimed only by workers that have it.
    pub labels: BTreeSet<String>,
    /// The kinds of agents that it can drive. Those of which nothing was said have the empty kind.
    pub kinds: BTreeSet<String>,
    /// The time after which others take its agents over, if it is not renewed. At least a second.
    pub lease: Duration,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        let kinds = [String::new()].into();
        Self { address: None, labels: BTreeSet::new(), kinds, lease: LEASE }
    }
}

/// Why an agent cannot be claimed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// Another one drives it.
    #[error(
        "agent `{agent}` is driven by the worker `{by}`: say things to it with `wakeful send`, or \
         end that worker first"
    )]
    Driven {
        /// The agent.
        agent: AgentId,
        /// The worker that drives it.
        by: String,
        /// Whether it is this one.
        here: bool,
    },
    /// The store cannot be used, or the lease is lost.
    #[error(transparent)]
    Store(#[from] PostgresError),
}

/// This process as a worker. Clones are the same one. When the last clone, the last claim and its
/// ledgers are dropped, the lease is no longer renewed; [`Worker::leave`] ends it at once.
///
/// If the lease ends in spite of it, as while the process was stopped, others take its agents over,
/// and it joins again under another id. Its claims of before are lost, as
/// [`Claim::is_sure`](super::Claim::is_sure) says.
#[derive(Clone)]
pub struct Worker {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    store: PostgresStore,
    pub(super) options: WorkerOptions,
    id: Mutex<Arc<str>>,
    /// The agents that this process has.
    held: Mutex<BTreeMap<AgentId, Held>>,
    /// Counts the claims of this process.
    claims: AtomicU64,
    /// Those that the store says it has, and that were not held at the last question.
    pub(super) suspects: Mutex<BTreeSet<AgentId>>,
    lease_state: Mutex<LeaseState>,
    /// What must be added to this machine's time to get the database's, in nanoseconds.
    offset: AtomicI64,
}

/// What became of an agent that this process has.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// It is claimed, and something here drives it, by the claim of this number.
    IsDriven(u64),
    /// It is claimed, and nothing here drives it.
    Waits(Term),
}

/// One claim of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    /// The id of the worker.
    pub(super) worker: Arc<str>,
    /// Counts the claims of the agent.
    pub(super) epoch: i64,
    /// Whether its next driver must restart it.
    pub(super) is_restart: bool,
    /// The number of the inbox when it was last found to be empty.
    pub(super) seen: i64,
}

struct LeaseState {
    /// When the newest renewal that succeeded was asked for.
    renewed: Instant,
    /// From when on it could renew its lease all the time.
    resumed: Instant,
    /// Whether the row was found to be gone.
    is_lost: bool,
    has_ended: bool,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Worker").field(&self.id()).finish()
    }
}

/// Renews a lease, and tells the time of the database.
const RENEW: &str = "
    UPDATE workers SET lease_ends = clock_timestamp() + make_interval(secs => $2)
    WHERE worker = $1 RETURNING (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// The milliseconds until the first lease ends.
const NEXT_END: &str = "
    SELECT (extract(epoch FROM min(lease_ends) - clock_timestamp()) * 1000)::bigint + 1
    FROM workers";

/// Takes agents from a worker that has ended: those that were in the middle of something are
/// claimed first.
const SET_FREE: &str = "
    UPDATE agents SET owner = NULL, owned_since = NULL, epoch = epoch + 1,
        due_at = CASE WHEN is_rested THEN now() ELSE to_timestamp(0) END";

/// Ends a claim. The agent is due when its driver says, or now if something came for it.
const GIVE_BACK: &str = "
    UPDATE agents SET owner = NULL, owned_since = NULL, is_rested = $5,
        due_at = CASE
            WHEN inbox_seq > $6 THEN now()
            ELSE to_timestamp($4::bigint / 1e6)
        END
    WHERE agent_id = $1 AND owner = $2 AND epoch = $3";

impl PostgresStore {
    /// Joins the workers of this store.
    ///
    /// # Errors
    /// If the store cannot be written, or the system gives no random bytes or no thread.
    pub fn join(&self, options: &WorkerOptions) -> Result<Worker, PostgresError> {
        let options =
            WorkerOptions { lease: options.lease.max(SHORTEST), ..WorkerOptions::clone(options) };
        let worker = Worker {
            shared: Arc::new(Shared {
                store: self.clone(),
                options,
                id: Mutex::new("".into()),
                held: Mutex::default(),
                claims: AtomicU64::new(0),
                suspects: Mutex::default(),
                lease_state: Mutex::new(LeaseState {
                    renewed: Instant::now(),
                    resumed: Instant::now(),
                    is_lost: true,
                    has_ended: false,
                }),
                offset: AtomicI64::new(0),
            }),
        };
        worker.enter()?;
        worker.renew()?;
        let no_thread = |why: io::Error| self.refused("renew a lease", why.to_string());
        let pause = worker.shared.options.lease / RENEWALS;
        let renewed = worker.beat("wakeful-lease", pause, move |worker, _| {
            // What fails is tried again; how long it may is asked by `is_sure`.
            worker.renew().map_or(LOOK, |()| next_renewal(pause, worker.since_renewal()))
        });
        renewed.map_err(no_thread)?;
        // On a thread of its own: it may wait for others, and a renewal must not.
        let pause = pause.min(REAP);
        let reaper = worker.beat("wakeful-reaper", pause, move |worker, beats| {
            let searches = beats.is_multiple_of(SEARCH);
            let next = match worker.until_it_may_reap() {
                Duration::ZERO => worker.store().reap(searches, || worker.may_reap()),
                until => Ok(until),
            };
            next.map_or(pause, |next| next.clamp(LOOK, pause))
        });
        reaper.map_err(no_thread)?;
        Ok(worker)
    }

    fn refused(&self, doing: &'static str, why: String) -> PostgresError {
        PostgresError::new(self.address(), Fault::Refused { doing, why })
    }

    /// Takes the agents of dead workers from them, so that others claim them at once, those first
    /// that were in the middle of something. Returns the time until the next lease ends, if it is
    /// not renewed. `searches` says whether to look for other agents without a living owner too;
    /// only a fault of the database leaves one. `may` is asked before each attempt, because the
    /// server may have been away since the one before.
    pub(super) fn reap(
        &self,
        searches: bool,
        may: impl Fn() -> bool,
    ) -> Result<Duration, PostgresError> {
        let next: Option<i64> = self.call("take over from dead workers", async |connection| {
            if !may() {
                return Ok(None);
            }
            let transaction = connection.client.transaction().await?;
            // Two statements, because the second one must see what a dying worker claimed while
            // the first one waited for it.
            let dead = transaction
                .execute("DELETE FROM workers WHERE lease_ends < clock_timestamp()", &[])
                .await?;
            if dead > 0 || searches {
                let orphans = format!(
                    "{SET_FREE} WHERE owner IS NOT NULL
                         AND NOT EXISTS (SELECT 1 FROM workers WHERE worker = owner)"
                );
                transaction.execute(&orphans, &[]).await?;
            }
            let row = transaction.query_one(NEXT_END, &[]).await?;
            transaction.commit().await?;
            row.try_get(0)
        })?;
        Ok(Duration::from_millis(next.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(u64::MAX)))
    }
}

impl Worker {
    /// Its id, until its lease ends.
    #[must_use]
    pub fn id(&self) -> Arc<str> {
        // It is one value.
        Arc::clone(&self.shared.id.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &PostgresStore {
        &self.shared.store
    }

    /// The labels that it joined with.
    #[must_use]
    pub fn labels(&self) -> &BTreeSet<String> {
        &self.shared.options.labels
    }

    /// Whether its agents are certainly its own: the newest renewal is younger than two thirds of
    /// the lease, by the monotonic clock of this machine. A worker that is not sure must end its
    /// turns, because another one may drive its agents soon.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        let state = self.state();
        !state.is_lost && state.renewed.elapsed() < self.doubt()
    }

    /// The time since the newest renewal that succeeded was asked for.
    #[must_use]
    pub fn since_renewal(&self) -> Duration {
        self.state().renewed.elapsed()
    }

    /// The age of a renewal from which on the worker is not sure.
    fn doubt(&self) -> Duration {
        self.shared.options.lease * 2 / 3
    }

    /// The time until this worker may take others for dead, if its next renewals are in time: it
    /// must have renewed its lease all the time for as long as a lease. Only then could the others
    /// do so too: after a failover, no worker is taken for dead before it had the time to renew.
    fn until_it_may_reap(&self) -> Duration {
        let lease = self.shared.options.lease;
        if !self.is_sure() {
            return lease;
        }
        lease.saturating_sub(self.state().resumed.elapsed())
    }

    fn may_reap(&self) -> bool {
        self.until_it_may_reap().is_zero()
    }

    /// Whether no renewal is late. A turn that begins while one is late may be ended a moment
    /// later: another connection may reach the store sooner than the renewal does, and the store
    /// may be away for a second time just after a failover.
    fn is_fresh(&self) -> bool {
        let lease = self.shared.options.lease;
        let state = self.state();
        !state.is_lost && state.renewed.elapsed() < lease / RENEWALS + lease / LATE
    }

    /// Waits until this worker is sure for a while that its agents are its own, or knows that they
    /// are not.
    pub(super) fn until_sure(&self, id: &str) {
        let since = Instant::now();
        while !self.is_fresh()
            && *self.id() == *id
            && !self.has_ended()
            && since.elapsed() < self.store().patience()
        {
            waiting::during(|| thread::sleep(LOOK));
        }
    }

    /// Waits until the lease of this id is renewed, and returns whether it was after this instant.
    pub(super) fn is_renewed_after(&self, instant: Instant, id: &str) -> bool {
        self.until_sure(id);
        *self.id() == *id && self.state().renewed > instant
    }

    /// Stops the renewals, as the death of the process would. Tests do this.
    #[doc(hidden)]
    pub fn stop_renewing(&self) {
        self.state().has_ended = true;
    }

    /// The clock of the database, as far as this machine knows it.
    #[must_use]
    pub fn clock(&self) -> StoreClock {
        StoreClock { worker: self.clone() }
    }

    /// The number of agents that this process has.
    #[must_use]
    pub fn holds(&self) -> usize {
        self.held().len()
    }

    /// Whether this process has an agent.
    #[must_use]
    pub fn has(&self, agent: &AgentId) -> bool {
        self.held().contains_key(agent)
    }

    /// The agents that wait here, and that nothing drives.
    #[must_use]
    pub fn waiting(&self) -> Vec<AgentId> {
        let held = self.held();
        let waits = held.iter().filter(|(_, held)| matches!(held, Held::Waits(_)));
        waits.map(|(agent, _)| agent.clone()).collect()
    }

    /// The agents of this worker for which something has come.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn addressed(&self) -> Result<Vec<AgentId>, PostgresError> {
        let (store, id) = (self.store(), self.id());
        let rows = store.call("look for letters", async |connection| {
            connection
                .rows(
                    "SELECT DISTINCT agent_id FROM inbox JOIN agents USING (agent)
                     WHERE owner = $1 AND refused_because IS NULL",
                    &[&&*id],
                )
                .await
        })?;
        rows.iter().map(|row| Ok(AgentId::from(store.column::<String>(row, 0)?))).collect()
    }

    /// Ends the lease: all agents that are still its own are due at once.
    ///
    /// # Errors
    /// If the store cannot be written. Then they are after the lease.
    pub fn leave(self) -> Result<(), PostgresError> {
        self.state().has_ended = true;
        let (store, id) = (self.store(), self.id());
        store.call("leave", async |connection| {
            let transaction = connection.client.transaction().await?;
            // Two statements, because the second one must see what was claimed for this worker
            // while the first one waited for it.
            transaction.execute("DELETE FROM workers WHERE worker = $1", &[&&*id]).await?;
            let own = format!("{SET_FREE} WHERE owner = $1");
            transaction.execute(&own, &[&&*id]).await?;
            transaction.commit().await
        })
    }

    /// Gives an agent back. `seen` is the number of the inbox up to which nothing is left in it.
    ///
    /// What is sent while this statement waits for the row raises that number in the row itself.
    /// The view that the statement has of the inbox is older.
    pub(super) fn give_back(
        &self,
        agent: &AgentId,
        term: &Term,
        due: Option<Timestamp>,
        is_rested: bool,
    ) -> Result<(), PostgresError> {
        let micros = due.map(|due| due.as_nanos().div_euclid(1_000));
        let id = agent.as_str();
        let Term { worker, epoch, seen, .. } = term;
        let given = self.store().call("give an agent back", async |connection| {
            connection
                .execute(GIVE_BACK, &[&id, &&**worker, epoch, &micros, &is_rested, seen])
                .await
        });
        given.map(drop)
    }

    /// Joins under a new id. What is claimed under another one is no longer its own.
    fn enter(&self) -> Result<(), PostgresError> {
        let (store, options) = (self.store(), &self.shared.options);
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|why| store.refused("name a worker", why.to_string()))?;
        let id: Arc<str> = hex(&bytes).into();
        let labels: Vec<String> = options.labels.iter().cloned().collect();
        let seconds = options.lease.as_secs_f64();
        let asked = Instant::now();
        store.call("join", async |connection| {
            connection
                .execute(
                    "INSERT INTO workers (worker, address, labels, lease_ends)
                     VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))
                     ON CONFLICT DO NOTHING",
                    &[&&*id, &options.address, &labels, &seconds],
                )
                .await
        })?;
        // What is claimed under another id is lost, also if something here drives it still.
        self.held().clear();
        *self.shared.id.lock().unwrap_or_else(PoisonError::into_inner) = id;
        let mut state = self.state();
        // One that joins just after a failover does not know whether the others could renew.
        (state.renewed, state.resumed, state.is_lost) = (asked, Instant::now(), false);
        Ok(())
    }

    fn renew(&self) -> Result<(), PostgresError> {
        let (store, shared, id) = (self.store(), &self.shared, self.id());
        let seconds = shared.options.lease.as_secs_f64();
        // One that has no answer is asked again, in time before the worker is unsure: one lost
        // answer does not cost the lease.
        let answer = shared.options.lease / RENEWALS / 2;
        let (row, asked, began) =
            store.call_first(answer, "renew the lease", async |connection| {
                let (asked, began) = (Instant::now(), SystemClock.now());
                let row = connection.row(RENEW, &[&&*id, &seconds]).await?;
                Ok((row, asked, began))
            })?;
        let Some(row) = row else {
            self.state().is_lost = true;
            return self.enter();
        };
        let there = micros(store.column(&row, 0)?);
        // The database told its time at some moment of the call, which is taken as its middle.
        let half = i64::try_from(asked.elapsed().as_nanos() / 2).unwrap_or(0);
        let offset = there.nanos_since(began).saturating_sub(half);
        shared.offset.store(offset, Ordering::Relaxed);
        let mut state = self.state();
        // Half a lease, and not two thirds: the lease of another one may be older than this one's
        // by the pause between two renewals, and must not have ended when the store answers again.
        if state.renewed.elapsed() >= shared.options.lease / 2 {
            state.resumed = Instant::now();
        }
        state.renewed = asked;
        Ok(())
    }

    /// Acts after a pause, until the worker has ended. `act` gets the number of the beat, from 1,
    /// and returns the next pause.
    fn beat(
        &self,
        name: &str,
        mut pause: Duration,
        act: impl Fn(&Self, u32) -> Duration + Send + 'static,
    ) -> io::Result<()> {
        let shared = Arc::downgrade(&self.shared);
        let thread = thread::Builder::new().name(name.to_owned());
        let spawned = thread.spawn(move || {
            for beats in 1_u32.. {
                // Meanwhile it holds nothing, so that a dropped worker ends.
                thread::sleep(pause);
                let Some(shared) = shared.upgrade() else { return };
                let worker = Self { shared };
                if worker.has_ended() {
                    return;
                }
                pause = act(&worker, beats);
            }
        });
        spawned.map(drop)
    }

    fn has_ended(&self) -> bool {
        self.state().has_ended
    }

    /// The number of a new claim.
    pub(super) fn next_claim(&self) -> u64 {
        self.shared.claims.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn lease_lost(&self) -> PostgresError {
        PostgresError::new(self.store().address(), Fault::LeaseLost)
    }

    fn state(&self) -> MutexGuard<'_, LeaseState> {
        // Each change is one statement.
        self.shared.lease_state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn held(&self) -> MutexGuard<'_, BTreeMap<AgentId, Held>> {
        self.shared.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time until the next renewal, if the newest one was asked for so long ago. After a failover
/// an answer takes long, because a commit waits for a standby. Counted from the answer, the next
/// renewal would have no time for a second attempt before the worker is unsure.
fn next_renewal(pause: Duration, age: Duration) -> Duration {
    pause.saturating_sub(age).max(LOOK)
}

/// The time of the database: a worker whose own clock is wrong must not take an agent for due that
/// is not, again and again.
#[derive(Clone, Debug)]
pub struct StoreClock {
    worker: Worker,
}

impl Clock for StoreClock {
    fn now(&mut self) -> Timestamp {
        let offset = self.worker.shared.offset.load(Ordering::Relaxed);
        Timestamp::from_nanos(SystemClock.now().as_nanos().saturating_add(offset))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LOOK, next_renewal};

    #[test]
    fn a_slow_answer_does_not_put_off_the_next_renewal() {
        let pause = Duration::from_millis(1_600);
        assert_eq!(next_renewal(pause, Duration::from_millis(800)), Duration::from_millis(800));
        assert_eq!(next_renewal(pause, Duration::from_secs(2)), LOOK);
    }
}
