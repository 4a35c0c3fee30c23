//! Real agents: the `wakeful` program with a model behind a real server, real processes, and people who interfere.

mod model;
mod place;
mod story;
mod surface;
mod tasks;
mod terminal;
mod turns;
