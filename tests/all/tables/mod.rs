//! Tables: rules that are asked for every combination of their inputs, made from the enums themselves.

mod closure;
mod continuation;
mod dead_ends;
mod driven;
mod keys;
mod readings;
mod readiness;
mod repetition;
mod restart;
mod satisfied;
mod stopped;
mod tasks;
