//! The meter of one instance: what the current call has used of its limits.

use std::time::{Duration, Instant};

use wasmtime::{ResourceLimiter, Store, StoreContextMut, Trap, UpdateDeadline};

use super::{
    guest::GuestError,
    limits::{Breach, Limit, Limits},
    runtime::TICK_MS,
};
use crate::waiting;

/// What the current call of an instance has used.
pub(crate) struct Meter {
    limits: Limits,
    /// When the call must have ended, if it waits for nothing.
    until: Instant,
    /// What the thread had waited before the call.
    waited: Duration,
    host_calls: u64,
    /// The bytes that the call has appended.
    appended: usize,
    /// The highest position after which a page was read.
    read_after: Option<u64>,
    /// The fuel that the call was given.
    fuel: u64,
}

impl Meter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            until: Instant::now(),
            waited: waiting::so_far(),
            host_calls: 0,
            appended: 0,
            read_after: None,
            fuel: 0,
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Counts one call of the host.
    pub(super) fn host_call(&mut self) -> Result<(), Breach> {
        self.host_calls += 1;
        let most = self.limits.host_calls;
        if self.host_calls > most { Err(Breach { limit: Limit::HostCalls, most }) } else { Ok(()) }
    }

    /// Counts the read of a page as a host call, unless it is read for the first time.
    pub(super) fn page(&mut self, after: u64) -> Result<(), Breach> {
        if self.is_new(after) { Ok(()) } else { self.host_call() }
    }

    fn is_new(&self, after: u64) -> bool {
        self.read_after.is_none_or(|read| read < after)
    }

    /// The time that the call has left. Time in which the host waited does not count.
    fn left(&self) -> Duration {
        let waited = waiting::so_far().saturating_sub(self.waited);
        (self.until + waited).saturating_duration_since(Instant::now())
    }

    /// Checks the time limit after a call of the host: the guest's own deadline does not stop the
    /// host.
    pub(super) fn host_returned(&self) -> Result<(), Breach> {
        if self.left().is_zero() {
            Err(Breach { limit: Limit::Time, most: self.limits.call_ms })
        } else {
            Ok(())
        }
    }

    /// Counts the bytes of a batch.
    pub(super) fn append(&mut self, bytes: usize) -> Result<(), Breach> {
        self.payload(bytes)?;
        self.appended = self.appended.saturating_add(bytes);
        let most = self.limits.append_bytes;
        if self.appended <= most { Ok(()) } else { Err(Breach::new(Limit::Appended, most)) }
    }

    /// Checks the length of a text that crosses.
    pub(super) fn payload(&self, bytes: usize) -> Result<(), Breach> {
        let most = self.limits.payload_bytes;
        if bytes <= most { Ok(()) } else { Err(Breach::new(Limit::Payload, most)) }
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        _: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // The pool may have reserved less than the limits of this instance allow.
        let most = maximum
            .map_or(self.limits.memory_bytes, |maximum| maximum.min(self.limits.memory_bytes));
        if desired <= most { Ok(true) } else { Err(Breach::new(Limit::Memory, most).into()) }
    }

    fn memory_grow_failed(&mut self, why: wasmtime::Error) -> wasmtime::Result<()> {
        // The guest asked for less than its limit, so the pool is exhausted.
        Err(why)
    }

    fn table_growing(
        &mut self,
        current: usize,
        _: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // A table starts at its final size, because the guest is linked whole. So no table may
        // grow.
        Ok(current == 0)
    }
}

/// The store's data, which contains the meter.
pub(crate) trait Metered {
    /// The meter.
    fn meter(&mut self) -> &mut Meter;
}

impl Metered for Meter {
    fn meter(&mut self) -> &mut Meter {
        self
    }
}

/// Puts an instance under its limits on memory and time.
pub(crate) fn limit<T: Metered + 'static>(store: &mut Store<T>) {
    store.limiter(|data| data.meter());
    // The deadline counts ticks, which go on while the host waits.
    store.epoch_deadline_callback(|mut store| {
        let left = store.data_mut().meter().left();
        if left.is_zero() {
            return Err(Trap::Interrupt.into());
        }
        Ok(UpdateDeadline::Continue(ticks(left)))
    });
}

/// The deadline after this time. One more tick, because the first one may come at any moment.
fn ticks(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).div_ceil(TICK_MS).saturating_add(1)
}

/// Starts a call: refills the fuel and starts the time limit.
pub(crate) fn begin<T: Metered>(store: &mut Store<T>) -> Result<(), GuestError> {
    let meter = store.data_mut().meter();
    let limits = meter.limits;
    let time = Duration::from_millis(limits.call_ms);
    *meter =
        Meter { until: Instant::now() + time, fuel: limits.fuel_per_call, ..Meter::new(limits) };
    store.set_epoch_deadline(ticks(time));
    // A pool that counts no fuel has none to set.
    if store.get_fuel().is_ok() {
        store.set_fuel(limits.fuel_per_call).map_err(GuestError::from_setup)?;
    }
    Ok(())
}

/// Adds fuel for a page of the ledger, if it is read for the first time in this call.
pub(super) fn refuel<T: Metered + 'static>(
    mut store: StoreContextMut<'_, T>,
    after: u64,
) -> wasmtime::Result<()> {
    let meter = store.data_mut().meter();
    if !meter.is_new(after) {
        return Ok(());
    }
    let more = meter.limits.fuel_per_page;
    meter.read_after = Some(after);
    meter.fuel = meter.fuel.saturating_add(more);
    match store.get_fuel() {
        Ok(left) => store.set_fuel(left.saturating_add(more)),
        Err(_) => Ok(()),
    }
}

/// The fuel that the call has used; 0 if fuel is not counted.
pub(crate) fn used<T: Metered>(store: &mut Store<T>) -> u64 {
    let given = store.data_mut().meter().fuel;
    store.get_fuel().map_or(0, |left| given.saturating_sub(left))
}
