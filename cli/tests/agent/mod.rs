//! Real agents: the `wakeful` program with a model behind a real server, real processes, and an
//! operator who interferes.

mod budgets;
mod children;
mod ended;
mod fits;
mod leftovers;
mod many;
mod memory;
mod model;
mod place;
mod quirks;
mod secrets;
mod security;
mod seen;
mod story;
mod surface;
mod tasks;
mod terminal;
mod triggers;
mod turns;
mod waits;
mod work;
