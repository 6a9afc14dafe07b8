//! Addresses, routes and rules of the bond, and how they are taken back.

/// The mark that the bond's own packets carry: "rw".
pub const MARK: u32 = 0x7277;
