//! See `ropewalk_net::fuzzing`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ropewalk_net::fuzzing::monitor(data));
