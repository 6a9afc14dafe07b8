//! What the tests of the whole house share.

pub mod fuzzing;
pub mod models;
pub mod pair;
