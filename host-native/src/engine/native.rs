//! The native core behind the engine trait.

use wakeful_core::{
    Boundary, Clock, DecisionKind, Folder, Ledger, Options, ProposeError, Provider, SCHEMA_VERSION,
    Scheduler, SchedulerError, Seq, Timestamp, json,
};

use super::{Engine, EngineError, Mode};

/// The core, compiled into this program.
pub struct Native<L, C, P> {
    lent: Option<(L, C, P)>,
    scheduler: Option<Scheduler<L, C, P>>,
}

impl<L: Ledger, C: Clock, P: Provider> Native<L, C, P> {
    /// An engine over what the host provides. The ledger is opened by [`Engine::open`].
    #[must_use]
    pub fn new(ledger: L, clock: C, provider: P) -> Self {
        Self { lent: Some((ledger, clock, provider)), scheduler: None }
    }

    fn scheduler(&mut self) -> Result<&mut Scheduler<L, C, P>, EngineError> {
        self.scheduler.as_mut().ok_or_else(|| refused(ProposeError::NotBegun.into()))
    }
}

fn refused(why: SchedulerError) -> EngineError {
    EngineError::Refused(why.report())
}

impl<L: Ledger, C: Clock, P: Provider> Engine for Native<L, C, P> {
    fn open(&mut self, options: &Options, mode: Mode) -> Result<String, EngineError> {
        let (ledger, clock, provider) =
            // The first opening takes what the host lent, so there is no second one.
            self.lent.take().ok_or_else(|| refused(ProposeError::Busy.into()))?;
        let opened = match mode {
            Mode::Drive => Scheduler::drive(options.clone(), ledger, clock, provider),
            Mode::Observe => Scheduler::observe(options.clone(), ledger, clock, provider),
        };
        let scheduler = self.scheduler.insert(opened.map_err(refused)?);
        Ok(json::write(&scheduler.state().head()))
    }

    fn catch_up(&mut self) -> Result<u64, EngineError> {
        self.scheduler()?.catch_up().map_err(refused)
    }

    fn propose(&mut self, fact: &str) -> Result<String, EngineError> {
        self.scheduler()?.propose(fact).map(|receipt| json::write(&receipt)).map_err(refused)
    }

    fn step(&mut self, boundary: Boundary) -> Result<String, EngineError> {
        self.scheduler()?.step(boundary).map(|report| json::write(&report)).map_err(refused)
    }

    fn run_until_rest(&mut self) -> Result<String, EngineError> {
        self.scheduler()?.run_until_rest().map(|reports| json::write(&reports)).map_err(refused)
    }

    fn replay(&mut self, folder: &str) -> Result<String, EngineError> {
        let folder: Folder =
            json::read(folder).map_err(|why| refused(ProposeError::Malformed(why).into()))?;
        self.scheduler()?.replay(&folder).map(|replay| json::write(&replay)).map_err(refused)
    }

    fn explain(&mut self, boundary: Boundary) -> Result<String, EngineError> {
        Ok(json::write(&self.scheduler()?.explain(boundary)))
    }

    fn explain_at(&mut self, boundary: Boundary, seq: Seq) -> Result<String, EngineError> {
        let then = self.scheduler()?.at(seq).map_err(refused)?;
        Ok(json::write(&then.explain(boundary, then.state().at())))
    }

    fn why_not(&mut self, boundary: Boundary, asked: DecisionKind) -> Result<String, EngineError> {
        Ok(json::write(&self.scheduler()?.why_not(boundary, asked)))
    }

    fn why_not_at(
        &mut self,
        boundary: Boundary,
        asked: DecisionKind,
        seq: Seq,
    ) -> Result<String, EngineError> {
        let then = self.scheduler()?.at(seq).map_err(refused)?;
        Ok(json::write(&then.why_not(boundary, asked, then.state().at())))
    }

    fn summary(&mut self) -> Result<String, EngineError> {
        Ok(json::write(&self.scheduler()?.summary()))
    }

    fn state(&mut self) -> Result<String, EngineError> {
        Ok(json::write(self.scheduler()?.state()))
    }

    fn state_at(&mut self, seq: Seq) -> Result<String, EngineError> {
        Ok(json::write(self.scheduler()?.at(seq).map_err(refused)?.state()))
    }

    fn snapshot(&mut self) -> Result<String, EngineError> {
        Ok(self.scheduler()?.snapshot())
    }

    fn next_wake(&mut self) -> Result<Option<Timestamp>, EngineError> {
        Ok(self.scheduler()?.next_wake())
    }

    fn schema_version(&mut self) -> Result<String, EngineError> {
        Ok(SCHEMA_VERSION.to_owned())
    }
}
