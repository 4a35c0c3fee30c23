//! Commands at a server, which must do there what they do with a file.

mod follow;
mod places;
mod same;
mod trouble;
mod wire;

mod place;
