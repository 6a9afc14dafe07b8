//! ropewalk
fn main() {}
