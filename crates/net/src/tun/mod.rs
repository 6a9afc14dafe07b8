//! The bond's network device: a TUN device that hands out and takes whole super-packets.
//!
//! With a virtio header and segmentation offload, one read returns up to 64 KiB of one TCP or UDP flow with
//! its headers once, and one write gives as much back. Carrying super-packets whole is where the speed of a
//! tunnel comes from. Where the kernel lacks an offload, [`Tun::send`] cuts the packet itself: slower, and
//! [`Offloads`] says so.

pub mod checksum;
mod device;
mod segment;

pub use device::{MAX_PARTS, Offloads, Received, Tun, TunError};
pub use segment::{SegmentError, Segments};
