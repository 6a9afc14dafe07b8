//! Controllers that stay, and go. Needs root.

use ropewalk_kern::{KernError, Law, load, status, unload};

fn is_listed(law: Law) -> bool {
    status().iter().any(|s| s.law == law && s.is_registered)
}

/// A work queue of the kernel forgets a controller after its last pin went. Mostly that is quick;
/// that it is waited for, `src/pins.rs` tests.
#[test]
fn unloaded_is_gone_and_may_be_loaded_again_at_once() {
    // No other test has it.
    let law = Law::Balia;
    if is_listed(law) {
        return ropewalk_skip::skip("somebody has loaded rw_balia on this machine");
    }
    for round in 0..20 {
        match load(law) {
            Ok(loaded) => assert!(!loaded.already, "round {round}"),
            Err(
                e @ (KernError::NotRoot
                | KernError::Refused(_)
                | KernError::NoBtf
                | KernError::NoStructOps
                | KernError::TooOld(_)),
            ) => return ropewalk_skip::skip(e),
            Err(e) => panic!("round {round}: {e}"),
        }
        assert!(is_listed(law), "round {round}");
        assert!(unload(law).unwrap().was_loaded, "round {round}");
        assert!(!is_listed(law), "round {round}");
    }
    // Two at once are one after the other.
    for round in 0..10 {
        let both = std::thread::scope(|s| {
            let other = s.spawn(|| load(law));
            [load(law), other.join().unwrap()]
        });
        let [one, other] = both.map(|loaded| loaded.unwrap().already);
        assert!(one != other && is_listed(law), "round {round}");
        assert!(unload(law).unwrap().was_loaded, "round {round}");
    }
}
