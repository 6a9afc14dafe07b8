//! Multipath TCP over several subflows of [`crate::tcp`].
