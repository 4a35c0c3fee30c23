//! Thirty days of an agent: a seeded plan of what becomes due and of what befalls host and clock,
//! the driver that lives it with a real scheduler, the model that says what the contract demands,
//! and what the ledger shows.

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
