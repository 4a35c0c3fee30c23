//! Tables: rules are checked for every combination of their inputs, which come from the enums
//! themselves. `coverage` has a test for each thing that the RFC wants covered, by name.

mod answers;
mod arrivals;
mod clock;
mod closure;
mod continuation;
mod coverage;
mod dead_ends;
mod decided;
mod deferred;
mod deliveries;
mod driven;
mod failing;
mod keys;
mod progress;
mod readiness;
mod readings;
mod refused;
mod repetition;
mod restart;
mod runs;
mod satisfied;
mod stopped;
mod tasks;
mod told;
mod waits;
