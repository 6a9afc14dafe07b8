//! What a Wi-Fi driver reports of datagrams that were sent: `SO_WIFI_STATUS`.
//!
//! Completions come by the socket's error queue, one message for each datagram, with a control message `SCM_WIFI_STATUS` that holds an int: 1 for acknowledged, 0 for
//! not (`asm-generic/socket.h`). The datagram comes along; only its beginning is taken. They are not loss-proof: what the socket's receive buffer has no room for is
//! dropped by the kernel.

use std::os::fd::AsRawFd;

use rustix::io::Errno;

use super::control::{Control, int};
use super::error::OpenError;
use super::socket::{UdpSocket, last_error, set_int};
use crate::feedback::CompletionCounter;

/// Wi-Fi status (24 bytes), the error and its source (48), the address it came to (40): room for what the kernel may add.
const CONTROL: usize = 256;
/// Messages of one call.
const BATCH: usize = 32;
/// Calls before others get their turn; what is left is told again.
const CALLS: usize = 8;

impl UdpSocket {
    /// Asks the driver for a completion of each datagram. Batches are sent as single datagrams from now on, because the kernel keeps no status for what it cuts. Where the
    /// interface is no Wi-Fi, or its driver does not report, none ever comes.
    ///
    /// Whoever waits for the socket must call [`UdpSocket::take_completions`] when it is readable: completions that lie there count as readable.
    ///
    /// # Errors
    /// The kernel is older than 3.3, or does not do that for this user.
    pub fn count_completions(&mut self) -> Result<CompletionCounter, OpenError> {
        set_int(&self.fd, libc::SOL_SOCKET, libc::SO_WIFI_STATUS, 1)
            .map_err(|e| OpenError::system("asking for Wi-Fi completions", e))?;
        self.gso.end();
        Ok(self.completions.get_or_insert_default().clone())
    }

    /// Whether completions were asked for.
    pub fn counts_completions(&self) -> bool {
        self.completions.is_some()
    }

    /// Counts the completions that have come, within bounds. Does nothing unless they were asked for. `true` if there were any.
    pub fn take_completions(&self) -> bool {
        let Some(counter) = &self.completions else { return false };
        let mut taken = false;
        for _ in 0..CALLS {
            let count = self.take_batch(counter);
            taken |= count > 0;
            if count < BATCH {
                break;
            }
        }
        taken
    }

    /// One receive call on the error queue; gives the number of messages.
    fn take_batch(&self, counter: &CompletionCounter) -> usize {
        let mut controls = [Control::<CONTROL>::new(); BATCH];
        // SAFETY: mmsghdr is plain old data for which all zeroes is a valid value: no name, no data, no control.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        for (message, control) in messages.iter_mut().zip(&mut controls) {
            message.msg_hdr.msg_control = control.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = CONTROL as _;
        }
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: each message points to a control buffer of its own with its true length, and to nothing else; all live in this function.
        let n = unsafe {
            libc::recvmmsg(
                self.fd.as_raw_fd(),
                messages.as_mut_ptr(),
                BATCH as libc::c_uint,
                flags as _,
                std::ptr::null_mut(),
            )
        };
        let Ok(n) = usize::try_from(n) else {
            let error = last_error();
            if !matches!(error, Errno::AGAIN | Errno::INTR) {
                tracing::debug!(%error, "reading completions failed");
            }
            return 0;
        };
        for (message, control) in messages.iter().zip(&controls).take(n) {
            if let Some(acknowledged) = wifi_status(control, message.msg_hdr.msg_controllen as _) {
                counter.add(acknowledged);
            }
        }
        n
    }
}

/// Whether a datagram was acknowledged, if this is what a message of the error queue is about.
fn wifi_status<const N: usize>(control: &Control<N>, len: usize) -> Option<bool> {
    let mut all = control.messages(len);
    let status = all.find(|(level, kind, _)| (*level, *kind) == (libc::SOL_SOCKET, libc::SCM_WIFI_STATUS))?;
    int(status.2).map(|acknowledged| acknowledged != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Control messages written by hand from `bits/socket.h` (64 bits, little endian): length 20, level 1 (SOL_SOCKET), type 41, an int, padding; then an
    /// IP_RECVERR (level 0, type 11) with a `sock_extended_err` of origin 4 (SO_EE_ORIGIN_TXSTATUS) and an address.
    fn kernel_bytes(acknowledged: u8) -> Vec<u8> {
        let mut bytes =
            vec![20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 41, 0, 0, 0, acknowledged, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend([48, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0]);
        bytes.extend([42, 0, 0, 0, 4, 0, 0, 0]);
        bytes.extend([0; 24]);
        bytes
    }

    fn control(bytes: &[u8]) -> (Control<CONTROL>, usize) {
        let mut control = Control::<CONTROL>::new();
        // SAFETY: the buffer has CONTROL bytes, more than are copied.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), control.as_mut_ptr(), bytes.len()) };
        (control, bytes.len())
    }

    #[test]
    #[cfg(all(target_pointer_width = "64", target_endian = "little"))]
    fn completions_are_read_from_the_kernels_bytes() {
        for (byte, expected) in [(1, true), (0, false)] {
            let (control, len) = control(&kernel_bytes(byte));
            assert_eq!(wifi_status(&control, len), Some(expected));
        }
        // The same the other way round: the status is looked for, not expected at a place.
        let bytes = kernel_bytes(1);
        let (control_b, len) = control(&[&bytes[24..], &bytes[..24]].concat());
        assert_eq!(wifi_status(&control_b, len), Some(true));
    }

    #[test]
    fn other_errors_and_cut_off_messages_are_none() {
        let bytes = kernel_bytes(1);
        for part in [&bytes[24..], &bytes[..19], &bytes[..3], &[]] {
            let (control, len) = control(part);
            assert_eq!(wifi_status(&control, len), None, "{part:?}");
        }
    }
}
