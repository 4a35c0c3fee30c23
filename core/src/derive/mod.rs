//! Derivations: pure readings of the state. Nothing here is stored, so nothing can drift (contract
//! 6, 9).

pub mod answer;
pub mod arrival;
pub mod closure;
pub mod continuation;
pub mod head;
pub(crate) mod hint;
pub mod obligation;
pub mod posture;
pub mod projection;
pub mod status;
pub mod summary;
pub mod table;
pub(crate) mod waker;
pub mod work_queue;
