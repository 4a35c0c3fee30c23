//! Tables: rules that are asked for every combination of their inputs, made from the enums
//! themselves; and, by name, a test for each thing that the RFC wants covered.

mod arrivals;
mod closure;
mod continuation;
mod coverage;
mod dead_ends;
mod decided;
mod driven;
mod keys;
mod progress;
mod readiness;
mod readings;
mod repetition;
mod restart;
mod runs;
mod satisfied;
mod stopped;
mod tasks;
mod told;
mod waits;
