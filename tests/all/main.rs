//! All tests that cross rooms, in one binary.

mod fixtures;
mod numbers;
mod outbox;
mod scenarios;
mod sources;
