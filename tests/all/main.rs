//! All tests that cross rooms, in one binary.

mod bad_facts;
mod conformance;
mod corpora;
mod coverage_of_fixtures;
mod crash;
mod failing;
mod failure_classes;
mod fixtures;
mod instants;
mod invariants;
mod json_text;
mod ledgers;
mod model;
mod numbers;
mod outbox;
mod past;
mod properties;
mod round_trips;
mod scenarios;
mod sim;
mod sources;
mod stories;
mod tables;
mod time;
mod two_writers;
mod why_not;
