//! The waiting plane: intents, conditions and timers, the set of things that an owner waits for (contract 5.15 to 5.20).

mod active;
pub(crate) mod condition;
pub(crate) mod intent;
pub(crate) mod timer;

pub(crate) use self::active::end_with_item;

pub use self::{
    active::{Active, Waiting},
    condition::{WaitConditionNamed, WaitConditionRegistered},
    intent::{WaitingIntentCreated, WaitingIntentNamed},
    timer::{TimerCreated, TimerNamed},
};
