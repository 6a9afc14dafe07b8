//! Holds the models against what they are to be, as far as that is quick. `./run models` prints the same tables, and the slow ones.

use ropewalk_tests::models::CHECKS;

#[test]
fn the_quick_checks_hold() {
    // Each on a thread of its own, as some take much longer than others.
    let failures: String = std::thread::scope(|scope| {
        let quick = CHECKS.iter().filter(|check| check.quick);
        let begun: Vec<_> = quick.map(|check| scope.spawn(move || (check.run)().failures())).collect();
        begun.into_iter().map(|check| check.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "{failures}");
}
