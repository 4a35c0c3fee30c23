//! The target `facts`; what it does stands in `tests/src/fuzz.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wakeful_tests::fuzz::facts(data));
