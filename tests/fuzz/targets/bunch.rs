//! See `ropewalk::fuzzing`.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ropewalk::fuzzing::bunch(data));
