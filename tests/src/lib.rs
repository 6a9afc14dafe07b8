//! What the tests of the whole workspace share.

pub mod fuzzing;
pub mod models;
pub mod pair;
