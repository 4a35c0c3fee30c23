//! The target `foreign`; `tests/src/fuzz.rs` has its code.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wakeful_tests::fuzz::foreign(data));
