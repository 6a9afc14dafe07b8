//! Holds the models against what they are to be, as far as that is quick. `./run models` prints the same tables, and the slow ones.

use ropewalk_tests::models::CHECKS;

#[test]
fn the_quick_checks_hold() {
    let failures: String =
        CHECKS.iter().filter(|check| check.quick).map(|check| (check.run)().failures()).collect();
    assert!(failures.is_empty(), "{failures}");
}
