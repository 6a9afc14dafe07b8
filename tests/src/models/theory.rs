//! What theory says: one sender, Bianchi's analysis, overlapping slots. Written from the papers and the standard, and on purpose without any of
//! the model's code, so that both would have to be wrong in the same way. Times are in µs.

/// The duration of an OFDM PPDU of 11a with `bytes` in it (802.11-2020, 17.4.3).
pub fn ofdm(bytes: u32, mbps: f64) -> f64 {
    20.0 + 4.0 * (f64::from(16 + 8 * bytes + 6) / (4.0 * mbps)).ceil()
}

/// A PHY and how much it sends at a time.
#[derive(Debug, Clone, Copy)]
pub struct Sender {
    /// Preamble and headers of the PHY.
    pub preamble: f64,
    /// Data bits in a symbol.
    pub bits_per_symbol: f64,
    /// Length of a symbol.
    pub symbol: f64,
    /// Packets of 1500 B in a PPDU.
    pub packets: u32,
    /// AIFS.
    pub aifs: f64,
    /// Bytes that an MPDU has besides the IP packet.
    pub overhead: u32,
    /// Encoders, each with six tail bits.
    pub encoders: u32,
    /// The answer: ACK or Block Ack.
    pub response: f64,
}

impl Sender {
    /// Mb/s of IP packets when it is alone and always has something to send: a mean backoff of 7.5 slots of 9 µs, data, SIFS, answer.
    pub fn mbps(&self) -> f64 {
        let mpdu = 1500 + self.overhead;
        let psdu = if self.packets == 1 {
            mpdu
        } else {
            (self.packets - 1) * (mpdu + 4).next_multiple_of(4) + mpdu + 4
        };
        let symbols = (f64::from(16 + 8 * psdu + 6 * self.encoders) / self.bits_per_symbol).ceil();
        let data = (symbols * self.symbol / 4.0 - 1e-9).ceil() * 4.0;
        12_000.0 * f64::from(self.packets) / (self.aifs + 67.5 + self.preamble + data + 16.0 + self.response)
    }
}

/// Bianchi's probabilities for `n` saturated stations with windows from 16 to 1024: (τ that one sends in a slot, p that it collides).
pub fn bianchi(n: u32) -> (f64, f64) {
    let (w, m) = (16.0, 6);
    let collides = |tau: f64| 1.0 - (1.0 - tau).powi(n as i32 - 1);
    let sends = |p: f64| 2.0 / (1.0 + w + p * w * (0..m).map(|i| (2.0 * p).powi(i)).sum::<f64>());
    let (mut low, mut high) = (1e-9, 0.999);
    for _ in 0..200 {
        let tau = f64::midpoint(low, high);
        if sends(collides(tau)) > tau { low = tau } else { high = tau }
    }
    let tau = f64::midpoint(low, high);
    (tau, collides(tau))
}

/// Saturation throughput of 11a in Mb/s of 1500 B packets by Bianchi (2000), as ns-3 varies it: after a success the sender itself may go on at once
/// with probability 1/W. The two values are for stations that wait EIFS after a collision, and DIFS.
pub fn saturation(n: u32, mbps: f64, ack_mbps: f64) -> (f64, f64) {
    let eifs = 34.0 + 16.0 + ofdm(14, ack_mbps);
    (saturation_waiting(n, mbps, ack_mbps, eifs), saturation_waiting(n, mbps, ack_mbps, 34.0))
}

/// The same if everybody, those who have collided included, begins to count so many µs after the end of a collision.
pub fn saturation_waiting(n: u32, mbps: f64, ack_mbps: f64, wait: f64) -> f64 {
    let (tau, _) = bianchi(n);
    let again = 1.0 / 16.0;
    let (data, ack) = (ofdm(1536, mbps), ofdm(14, ack_mbps));
    let success = (data + 16.0 + ack + 34.0) / (1.0 - again) + 9.0;
    let payload = 12_000.0 / (1.0 - again);
    let busy = 1.0 - (1.0 - tau).powi(n as i32);
    let alone = f64::from(n) * tau * (1.0 - tau).powi(n as i32 - 1) / busy;
    let collision = data + wait;
    alone * busy * payload / ((1.0 - busy) * 9.0 + busy * alone * success + busy * (1.0 - alone) * collision)
}

/// The share of three channels that `n` clients use who are each on one of them, at random phases, a third of the time (MA-20): all but (2/3)ⁿ.
pub fn slots_used(n: u32) -> f64 {
    1.0 - (2.0_f64 / 3.0).powi(n as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bianchi_gives_the_published_table() {
        // design/wifi-model.md: upper and lower curve.
        let published = [
            (5, [(29.83, 29.29), (16.25, 16.08), (4.709, 4.690)]),
            (10, [(28.15, 27.38), (15.14, 14.92), (4.345, 4.320)]),
            (50, [(23.56, 22.42), (12.41, 12.09), (3.507, 3.471)]),
        ];
        for (n, by_rate) in published {
            for ((mbps, ack), (upper, lower)) in
                [(54.0, 24.0), (24.0, 24.0), (6.0, 6.0)].into_iter().zip(by_rate)
            {
                let (low, high) = saturation(n, mbps, ack);
                assert!(
                    (low / lower - 1.0).abs() < 1e-3 && (high / upper - 1.0).abs() < 1e-3,
                    "{n} {mbps}: {low} {high}"
                );
            }
        }
    }

    #[test]
    fn slots_leave_what_the_paper_says() {
        let used: Vec<f64> = (1..=6).map(|n| (100.0 * slots_used(n)).round()).collect();
        assert_eq!(used, [33.0, 56.0, 70.0, 80.0, 87.0, 91.0]);
    }
}
