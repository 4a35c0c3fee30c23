pub mod deferred;
pub mod lanes;
