//! Listening for access points.

use std::io;
use std::time::{Duration, Instant};

use netlink_packet_core::{NLM_F_DUMP, NetlinkPayload};
use netlink_packet_generic::GenlMessage;
use netlink_sys::{Socket, protocols::NETLINK_GENERIC};

use super::{Bss, WifiError, open};
use crate::genl::{Genl, Raw, nested, nla, u32_of};
use crate::netlink::messages;

const GET_SCAN: u8 = 32;
const TRIGGER_SCAN: u8 = 33;
const NEW_SCAN_RESULTS: u8 = 34;
const SCAN_ABORTED: u8 = 35;
const ATTR_IFINDEX: u16 = 3;
const ATTR_SCAN_FREQUENCIES: u16 = 44;
const ATTR_SCAN_SSIDS: u16 = 45;

/// A scan of all channels takes a few seconds, longer where radars are listened for.
const PATIENCE: Duration = Duration::from_secs(15);
/// Between two looks for its end.
const LOOK: Duration = Duration::from_millis(20);
/// Older than the scan by more than this: heard by an earlier one.
const FRESH: Duration = Duration::from_millis(500);
/// Access points kept of a scan.
const MOST: usize = 512;

/// What an interface hears now on these channels (centres in MHz; none: all). Waits for it.
///
/// # Errors
/// The interface is down, or the radio does not scan.
pub fn scan(name: &str, index: u32, frequencies_mhz: &[u32]) -> Result<Vec<Bss>, WifiError> {
    let failed = |e| WifiError::system(format!("a scan by {name}"), e);
    let mut genl = open()?;
    let mut news = events(&genl).map_err(failed)?;
    let until = Instant::now() + PATIENCE;
    loop {
        match genl.order(request(index, frequencies_mhz)) {
            Ok(()) => break,
            // Somebody else's scan is under way.
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) && Instant::now() < until => {
                std::thread::sleep(LOOK * 5);
            }
            Err(e) => return Err(failed(e)),
        }
    }
    let began = Instant::now();
    wait(&mut news, index, until).map_err(failed)?.ok_or_else(|| WifiError::NoScan(name.to_owned()))?;
    let mut heard = cached(name, index)?;
    // What earlier scans heard may be gone.
    heard.retain(|bss| bss.age <= began.elapsed() + FRESH);
    Ok(heard)
}

/// What the radio remembers of its last scans.
///
/// # Errors
/// The interface is gone.
pub fn cached(name: &str, index: u32) -> Result<Vec<Bss>, WifiError> {
    let question = Raw::new(GET_SCAN, &[nla(ATTR_IFINDEX, &index.to_ne_bytes())]);
    let answers = open()?.ask(question, NLM_F_DUMP);
    let answers = answers.map_err(|e| WifiError::system(format!("reading what {name} has heard"), e))?;
    Ok(answers.iter().filter_map(Bss::read).take(MOST).collect())
}

fn request(index: u32, frequencies_mhz: &[u32]) -> Raw {
    let mut attributes = vec![nla(ATTR_IFINDEX, &index.to_ne_bytes())];
    if !frequencies_mhz.is_empty() {
        let all: Vec<Vec<u8>> =
            frequencies_mhz.iter().enumerate().map(|(n, mhz)| nla(n as u16, &mhz.to_ne_bytes())).collect();
        attributes.push(nested(ATTR_SCAN_FREQUENCIES, &all));
    }
    // The wildcard name: access points are asked to answer, where that is allowed.
    attributes.push(nested(ATTR_SCAN_SSIDS, &[nla(0, &[])]));
    Raw::new(TRIGGER_SCAN, &attributes)
}

/// A socket that hears of scans that end.
fn events(genl: &Genl) -> io::Result<Socket> {
    let mut socket = Socket::new(NETLINK_GENERIC)?;
    socket.bind_auto()?;
    socket.set_non_blocking(true)?;
    let group = genl.family.group("scan").ok_or_else(|| io::Error::other("nl80211 has no group `scan`"))?;
    socket.add_membership(group)?;
    Ok(socket)
}

/// Waits for the end of a scan. None: it does not end in time.
fn wait(news: &mut Socket, index: u32, until: Instant) -> io::Result<Option<()>> {
    let mut buffer = Vec::with_capacity(64 << 10);
    while Instant::now() < until {
        buffer.clear();
        match news.recv(&mut buffer, 0) {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(LOOK);
                continue;
            }
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOBUFS | libc::EINTR)) => continue,
            Err(e) => return Err(e),
        }
        for message in messages::<GenlMessage<Raw>>(&buffer) {
            let NetlinkPayload::InnerMessage(GenlMessage { payload, .. }) = message.payload else { continue };
            if payload.get(ATTR_IFINDEX).map(u32_of) != Some(index) {
                continue;
            }
            match payload.command {
                NEW_SCAN_RESULTS => return Ok(Some(())),
                SCAN_ABORTED => return Err(io::ErrorKind::Interrupted.into()),
                _ => {}
            }
        }
    }
    Ok(None)
}
