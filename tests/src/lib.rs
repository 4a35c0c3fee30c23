//! Oracles and runners of Wakeful's tests. The tests themselves are in the binary `all`.

pub mod bench;
pub mod crash;
pub mod dice;
pub mod fleet;
pub mod fuzz;
pub mod load;
pub mod model;
pub mod paths;
pub mod scale;
pub mod scenario;
pub mod sequence;
pub mod sim;
pub mod time;
pub mod watched;
