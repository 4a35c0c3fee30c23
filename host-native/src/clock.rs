//! Clocks: what time a host says it is.

use std::{cell::Cell, rc::Rc};

use wakeful_core::{host::Clock, time::Timestamp};

/// A clock that stands until it is set. Clones show the same time.
#[derive(Clone, Debug)]
pub struct VirtualClock {
    now: Rc<Cell<Timestamp>>,
}

impl VirtualClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self { now: Rc::new(Cell::new(now)) }
    }

    /// Sets the clock.
    pub fn set(&self, now: Timestamp) {
        self.now.set(now);
    }
}

impl Clock for VirtualClock {
    fn now(&mut self) -> Timestamp {
        self.now.get()
    }
}
