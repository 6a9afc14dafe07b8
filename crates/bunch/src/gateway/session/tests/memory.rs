//! What is kept for a receiver, in memory.

use super::*;

/// What the sender sends in segments of this length until the gateway takes no more.
fn taken(gateway: &mut Gateway, len: u32) -> u64 {
    gateway.handle(Input::FromReceiver(&room_for(60_000)), Time::ZERO);
    for at in (0..50_000).step_by(len as usize) {
        gateway.handle(Input::FromSender(&segment(1000 + at, len, None)), Time::ZERO);
        gateway.out.clear();
    }
    gateway.kept_bytes()
}

/// A thousand such connections took gigabytes where half of one was allowed.
#[test]
fn segments_of_one_byte_count_by_what_goes_with_them() {
    let memory_bytes = 1 << 20;
    let mut gateway = opened();
    gateway.config.memory_bytes = memory_bytes;
    let kept = taken(&mut gateway, 1);
    assert!((4096..memory_bytes / 128).contains(&kept), "{kept}");
    let mut gateway = opened();
    gateway.config.memory_bytes = memory_bytes;
    assert_eq!(taken(&mut gateway, 1000), 50_000, "null case");
}
