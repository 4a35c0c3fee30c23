//! The planes: one room for each kind of thing that the scheduler knows, with its records, facts, state and transitions.
//!
//! A plane reads the state and says which records follow from a fact. It writes nothing and never asks the ladder.

pub mod context;
pub mod control;
pub mod queue;
pub mod task;
pub mod turn;
pub mod waiting;
pub mod work;
