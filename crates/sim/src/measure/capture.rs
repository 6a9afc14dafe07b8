//! Capture files, as tcpdump writes them.

use crate::packet::{IfIndex, Packet, PacketRef};
use crate::wire;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, TsResolution};
use ropewalk_air::Time;
use ropewalk_air::wifi::{CapturedFrame, RadioId, monitor};
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

/// Longest packet that is kept whole: all there are.
const SNAPLEN: u32 = 1 << 18;

/// Why a capture file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// Nothing has this name.
    #[error("there is no interface or radio `{0}`; write node:interface, or node:radio")]
    Unknown(String),
    /// The radio is not told to report what it hears.
    #[error("radio `{0}` does not monitor; write `monitor = true` in its table")]
    Deaf(String),
    /// The file's medium refuses.
    #[error("a capture file cannot be written: {0}")]
    Write(#[from] io::Error),
}

struct File {
    writer: PcapWriter<Box<dyn Write>>,
    scratch: Vec<u8>,
    failed: Option<io::Error>,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("failed", &self.failed).finish_non_exhaustive()
    }
}

/// All capture files of a run.
#[derive(Debug, Default)]
pub struct Captures {
    interfaces: Vec<(IfIndex, File)>,
    radios: Vec<(RadioId, File)>,
}

impl Captures {
    /// What this interface sends and receives, as raw IP (link type 101).
    ///
    /// # Errors
    /// The head of the file cannot be written.
    pub fn add_interface(&mut self, interface: IfIndex, out: Box<dyn Write>) -> Result<(), CaptureError> {
        self.interfaces.push((interface, File::new(DataLink::RAW, out)?));
        Ok(())
    }

    /// What this radio decodes, as 802.11 with radiotap (link type 127).
    ///
    /// # Errors
    /// The head of the file cannot be written.
    pub fn add_radio(&mut self, radio: RadioId, out: Box<dyn Write>) -> Result<(), CaptureError> {
        self.radios.push((radio, File::new(DataLink::IEEE802_11_RADIOTAP, out)?));
        Ok(())
    }

    /// A packet passes an interface.
    pub fn packet(&mut self, now: Time, interface: IfIndex, packet: &Packet) {
        for (_, file) in self.interfaces.iter_mut().filter(|f| f.0 == interface) {
            let mut bytes = std::mem::take(&mut file.scratch);
            wire::encode(packet, &mut bytes);
            file.write(now, &bytes, packet.len);
            file.scratch = bytes;
        }
    }

    /// A radio has decoded a frame.
    pub fn frame(&mut self, frame: &CapturedFrame<PacketRef>) {
        for (_, file) in self.radios.iter_mut().filter(|f| f.0 == frame.radio) {
            let mut scratch = std::mem::take(&mut file.scratch);
            let captured = monitor::encode(frame, |packet, out| {
                wire::encode(packet, &mut scratch);
                out.extend_from_slice(&scratch);
            });
            file.write(frame.at, &captured.bytes, captured.air_bytes);
            file.scratch = scratch;
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The first thing that failed.
    pub fn end(&mut self) -> Result<(), CaptureError> {
        let files = self.interfaces.drain(..).map(|f| f.1).chain(self.radios.drain(..).map(|f| f.1));
        for file in files {
            if let Some(error) = file.failed {
                return Err(error.into());
            }
            file.writer.into_writer().flush()?;
        }
        Ok(())
    }
}

impl File {
    fn new(datalink: DataLink, out: Box<dyn Write>) -> Result<File, CaptureError> {
        let header = PcapHeader {
            datalink,
            snaplen: SNAPLEN,
            ts_resolution: TsResolution::NanoSecond,
            ..PcapHeader::default()
        };
        let writer = PcapWriter::with_header(out, header).map_err(io_error)?;
        Ok(File { writer, scratch: Vec::new(), failed: None })
    }

    /// After the first failure nothing more is written; [`Captures::end`] tells.
    fn write(&mut self, at: Time, bytes: &[u8], len: u32) {
        if self.failed.is_some() {
            return;
        }
        let since = Duration::from_nanos(at.as_nanos());
        let written = self.writer.write_packet(&PcapPacket::new(since, len, bytes));
        self.failed = written.err().map(io_error);
    }
}

fn io_error(error: pcap_file::PcapError) -> io::Error {
    match error {
        pcap_file::PcapError::IoError(error) => error,
        other => io::Error::other(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Body, FlowId, UdpMark};
    use std::cell::RefCell;
    use std::net::Ipv4Addr;
    use std::rc::Rc;

    #[derive(Clone, Default)]
    struct Shared(Rc<RefCell<Vec<u8>>>, Option<usize>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.1.is_some_and(|most| self.0.borrow().len() + bytes.len() > most) {
                return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left on device"));
            }
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn packet() -> Packet {
        let end = |n| (Ipv4Addr::new(10, 0, 0, n), 2000);
        let mark = UdpMark { seq: 7, tag: 0, sent: Time::ZERO };
        Packet::new(end(1), end(2), 100, FlowId(0), Body::Udp(mark))
    }

    #[test]
    fn another_reader_finds_the_packets() {
        let (out, mut captures) = (Shared::default(), Captures::default());
        captures.add_interface(IfIndex(3), Box::new(out.clone())).unwrap();
        captures.packet(Time::from_nanos(1_000_000_005), IfIndex(3), &packet());
        captures.packet(Time::from_secs(2), IfIndex(4), &packet());
        captures.end().unwrap();
        let bytes = out.0.borrow();
        let mut reader = pcap_file::pcap::PcapReader::new(&bytes[..]).unwrap();
        assert_eq!(reader.header().datalink, DataLink::RAW);
        let first = reader.next_packet().unwrap().unwrap();
        assert_eq!(first.timestamp, Duration::from_nanos(1_000_000_005));
        assert_eq!(wire::decode(&first.data).unwrap().len, 100);
        assert!(reader.next_packet().is_none());
    }

    #[test]
    fn a_full_disk_is_told_at_the_end() {
        let mut captures = Captures::default();
        captures.add_interface(IfIndex(3), Box::new(Shared(Rc::default(), Some(150)))).unwrap();
        (0..5).for_each(|_| captures.packet(Time::ZERO, IfIndex(3), &packet()));
        let said = captures.end().unwrap_err().to_string();
        assert!(said.contains("no space left"), "{said}");
    }
}
