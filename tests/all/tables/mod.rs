//! Tables: rules that are asked for every combination of their inputs, made from the enums themselves.

mod closure;
mod continuation;
mod driven;
mod keys;
mod readiness;
mod restart;
mod stopped;
mod tasks;
