//! See `ropewalk_tests::fuzzing`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ropewalk_tests::fuzzing::run("network", data));
