//! What an access point does with what it overhears.

use super::{AIR, BATCH, Daemon};
use crate::bunch::flows::Flow;
use crate::bunch::overhear::Overhear;
use crate::bunch::words::Word;
use ropewalk_bunch::ap::{Frame, Input};
use ropewalk_bunch::inner::Inner;
use ropewalk_bunch::{Mac, Time};
use ropewalk_net::poll::Interest;

/// The frame of a packet of the home. Where nobody overhears, 802.11 has no number for it, so it
/// has one of the connection's own, in a cell that the key stands for.
pub(super) fn frame(
    flow: &mut Flow,
    air: Option<&mut Overhear>,
    cell: Mac,
    packet: &[u8],
    inner: &Inner,
    now: Time,
) -> Option<Frame> {
    let Some(air) = air else {
        flow.sequence = (flow.sequence + 1) % 4096;
        let [a, b, c, d] = inner.source.ip().octets();
        let station = [2, 0, a, b, c, d];
        return Some(Frame { bssid: cell, station, tid: 0, sequence: flow.sequence, home: true });
    };
    let label = air.number(packet, now)?;
    // What is none of its session goes its ordinary way.
    let is_next = flow.takes(&label);
    let frame = Frame {
        bssid: label.bssid,
        station: label.station,
        tid: label.tid,
        sequence: label.sequence,
        home: true,
    };
    is_next.then_some(frame)
}

impl Daemon<'_> {
    /// Frames wait at the monitor interface.
    pub(super) fn on_air(&mut self) -> anyhow::Result<()> {
        self.take_heard(true)?;
        self.flush()
    }

    /// Hands on what was overheard; `read`: and takes what waits at the interface before.
    pub(super) fn take_heard(&mut self, read: bool) -> anyhow::Result<()> {
        let now = self.now();
        let Some(air) = &mut self.parts.overhear else { return Ok(()) };
        let heard = if read { air.hear(now) } else { air.heard() };
        heard.into_iter().try_for_each(|(frame, packet)| self.put(Input::Captured(frame, packet)))
    }

    /// Tells the gateway which cells are in reach, and looks for an interface that went away.
    pub(super) fn on_air_time(&mut self) -> anyhow::Result<()> {
        let now = self.now();
        let Some(air) = &mut self.parts.overhear else { return Ok(()) };
        if air.open_again(now)
            && let Some(monitor) = air.monitor()
        {
            self.poller.add(monitor, AIR, Interest::Read)?;
        }
        let Some(tunnel) = &mut self.tunnel else { return Ok(()) };
        match air.cells(now).map(|cells| tunnel.say(&Word::Hears { cells })) {
            Some(Err(broken)) => self.lose(&broken.to_string()),
            _ => Ok(()),
        }
    }

    /// When [`Daemon::on_air_time`] has something to do.
    pub(super) fn air_due(&self) -> Option<Time> {
        self.parts.overhear.as_ref().and_then(|air| air.due(self.tunnel.is_some()))
    }

    /// Packets of the home, each with what was overheard before it.
    pub(super) fn on_device(&mut self) -> anyhow::Result<()> {
        let mut buffer = vec![0; 65_535];
        for _ in 0..BATCH {
            let Some(received) = self.parts.tun.recv(&mut buffer)? else { break };
            self.on_home(&buffer[..received.len])?;
            self.take_heard(false)?;
        }
        self.flush()
    }
}
