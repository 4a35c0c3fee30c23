//! Thirty days of an agent. A seeded plan says what becomes due and what happens to host and clock.
//! The driver plays it with a real scheduler. The model says what the contract requires, and this
//! is compared with what the ledger shows.

mod found;
mod life;
mod model;
mod plan;

pub use self::{
    found::Found,
    life::{Life, Lived},
    model::{Fire, Model},
    plan::{DAY_MS, Due, Event, Kind, Plan},
};
