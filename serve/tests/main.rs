//! The server over a real store, asked by clients that are not ours.

mod attacks;
mod doors;
mod driving;
mod events;
mod hooks;
mod measures;
mod place;
mod streams;
mod traces;
mod waking;
