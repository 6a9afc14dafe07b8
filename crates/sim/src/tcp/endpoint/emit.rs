//! Segments as they leave: flags, options, window.

use super::super::send::Outgoing;
use super::{TcpEndpoint, clock};
use ropewalk_air::Time;
use ropewalk_packet::seq;
use ropewalk_packet::{
    Ecn, Flags, ForeignOptions, MAX_OPTIONS_BYTES, MptcpOption, Options, SackBlocks, Segment, Timestamps,
};

impl TcpEndpoint {
    pub(super) fn has_option_due(&self) -> bool {
        self.connected && self.subflow.as_ref().is_some_and(|part| !part.once.is_empty())
    }

    pub(super) fn build_outgoing(&mut self, now: Time, out: &Outgoing) -> Segment {
        let mut flags = if self.peer_isn.is_some() { Flags::ACK } else { Flags(0) };
        if out.syn {
            flags = flags | Flags::SYN | self.ecn_of_syn();
        }
        if out.fin {
            flags = flags | Flags::FIN;
            self.closed_first |= !self.peer_closed;
        }
        if out.push && out.payload_bytes > 0 {
            flags = flags | Flags::PSH;
        }
        if out.payload_bytes > 0 {
            self.rx.on_data_sent(now);
            if !out.repeated && core::mem::take(&mut self.tx.tell_reduced) && self.agreed.ecn {
                flags = flags | Flags::CWR;
            }
        }
        self.build(now, flags, out)
    }

    /// RFC 3168 §6.1.1.
    fn ecn_of_syn(&self) -> Flags {
        match (self.peer_isn.is_some(), self.config.ecn) {
            (false, true) => Flags::ECE | Flags::CWR,
            (true, _) if self.agreed.ecn => Flags::ECE,
            _ => Flags(0),
        }
    }

    pub(super) fn build(&mut self, now: Time, mut flags: Flags, out: &Outgoing) -> Segment {
        let syn = flags.has(Flags::SYN);
        if !syn && self.rx.echo_marks && flags.has(Flags::ACK) {
            flags = flags | Flags::ECE;
        }
        let mut options = if syn { self.syn_options(now) } else { self.options(now, out) };
        let full = options.sack.as_slice().is_empty() && out.payload_bytes > 0 && self.rx.has_gap();
        if out.payload_bytes + options.len() as u32 > u32::from(self.config.mss) {
            options.sack = SackBlocks::default();
        }
        let window = match (full && self.rx.is_ack_due(), syn) {
            // The blocks did not fit: a bare acknowledgement with them follows.
            (true, _) => self.rx.window.offer(self.rx.next(), self.tx.mss, self.agreed.our_scale),
            (false, true) => self.rx.on_ack_sent(0),
            (false, false) => self.rx.on_ack_sent(self.agreed.our_scale),
        };
        Segment {
            source: self.local,
            destination: self.remote,
            ecn: if self.agreed.ecn && out.payload_bytes > 0 && !out.repeated {
                Ecn::Ect0
            } else {
                Ecn::NotEct
            },
            flags,
            seq: seq::wire(self.isn, out.seq),
            ack: self.peer_isn.map_or(0, |isn| seq::wire(isn, self.rx.next())),
            window: self.shared_window().unwrap_or(window),
            urgent: 0,
            options,
            payload_bytes: out.payload_bytes,
        }
    }

    /// A subflow offers the connection's window.
    fn shared_window(&self) -> Option<u16> {
        let part = self.subflow.as_ref().filter(|part| part.data_ack.is_some())?;
        Some((part.window >> self.agreed.our_scale).min(65_535) as u16)
    }

    fn syn_options(&self, now: Time) -> Options {
        let answers = self.peer_isn.is_some();
        let timestamps = if answers { self.agreed.timestamps } else { self.config.timestamps };
        let scale = self.config.window_scaling
            && (!answers || self.agreed.our_scale > 0 || self.agreed.peer_scale > 0);
        Options {
            mss: Some(self.config.mss),
            window_scale: scale.then_some(self.agreed.our_scale),
            sack_permitted: true,
            timestamps: timestamps.then(|| Timestamps { value: clock(now), echo: self.rx.echo }),
            sack: SackBlocks::default(),
            mptcp: self.subflow.as_ref().and_then(|part| part.handshake),
            foreign: ForeignOptions::default(),
        }
    }

    fn options(&mut self, now: Time, out: &Outgoing) -> Options {
        let timestamps = self.agreed.timestamps.then(|| Timestamps { value: clock(now), echo: self.rx.echo });
        let mptcp = self.subflow_option(out);
        let mut options = Options { timestamps, mptcp, ..Options::default() };
        let room = (MAX_OPTIONS_BYTES - options.len()).saturating_sub(4) / 8;
        let fits = out.payload_bytes == 0 || u64::from(out.payload_bytes) + 12 <= self.tx.mss;
        if let (true, true, Some(isn)) = (self.agreed.sack, fits, self.peer_isn) {
            for (start, end) in self.rx.blocks(room.min(4)) {
                options.sack.push((seq::wire(isn, start), seq::wire(isn, end)));
            }
        }
        options
    }

    fn subflow_option(&mut self, out: &Outgoing) -> Option<MptcpOption> {
        let mapping = self.tx.mapping(out.seq, out.payload_bytes);
        let part = self.subflow.as_mut()?;
        if mapping.is_none()
            && let Some(option) = part.once.pop_front()
        {
            return Some(option);
        }
        let data_ack = part.data_ack?;
        Some(MptcpOption::Dss { data_ack: Some(data_ack), mapping, data_fin: false })
    }
}
