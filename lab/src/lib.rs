//! What developers study the scheduler with, and no user needs. It is not published.
//!
//! [`conformance`] judges our answers to recorded inputs of the reference runtime; [`oracle`] gives
//! the answers. [`shape`] is a state without names and history, for code that counts states. The
//! program `lab` has a command for the vectors, and one for the traces of engines.

pub mod conformance;
pub mod oracle;
pub mod shape;
