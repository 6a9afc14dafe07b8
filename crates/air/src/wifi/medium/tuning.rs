//! Where radios and frames lie in the spectrum, and how much of one falls into another.

use super::receiver::SUBS;
use crate::wifi::phy::{Band, Channel, Format, Span, SpectralMask, Width};

/// A channel and a width around its primary channel: what a radio listens to, or what a frame occupies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TuningId(pub(crate) u16);

/// What a receiver can make of a frame, if it is strong enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decodes {
    /// It is noise.
    Nothing,
    /// Only what each 20 MHz carry: the legacy header, and all of a duplicate.
    Legacy,
    /// All of it, from so many 20 MHz parts.
    All {
        /// 1, 2 or 4.
        parts: u8,
    },
}

/// How a frame of one tuning appears to a receiver of another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coupling {
    /// Share of the power in each part of the receiver's channel, primary first.
    pub(crate) parts: [f64; SUBS],
    pub(crate) decodes: Decodes,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Tuning {
    Channel {
        channel: Channel,
        width: Width,
    },
    /// An interferer's energy; `wifi_like` if it begins with a preamble.
    Energy {
        span: Span,
        wifi_like: bool,
    },
}

impl Tuning {
    fn span(&self) -> Span {
        match self {
            Tuning::Channel { channel, width } => channel.span(*width),
            Tuning::Energy { span, .. } => *span,
        }
    }
}

/// All tunings that a run has seen; few.
#[derive(Debug, Default)]
pub(crate) struct Tunings {
    list: Vec<Tuning>,
    /// By frame, then by receiver.
    couplings: Vec<Vec<Coupling>>,
    strict_mask: bool,
}

impl Tunings {
    /// `strict_mask`: transmitters leak into their neighbours as much as the standard allows.
    pub(crate) fn new(strict_mask: bool) -> Tunings {
        Tunings { strict_mask, ..Tunings::default() }
    }

    /// The tuning of frames of this width in this channel.
    pub(crate) fn id(&mut self, channel: Channel, width: Width) -> TuningId {
        self.find_or_add(Tuning::Channel { channel, width: width.min(channel.width()) })
    }

    /// The tuning of an interferer.
    pub(crate) fn energy(&mut self, span: Span, wifi_like: bool) -> TuningId {
        self.find_or_add(Tuning::Energy { span, wifi_like })
    }

    fn find_or_add(&mut self, tuning: Tuning) -> TuningId {
        let known = self.list.iter().position(|t| *t == tuning);
        TuningId(known.unwrap_or_else(|| self.add(tuning)) as u16)
    }

    fn add(&mut self, tuning: Tuning) -> usize {
        self.list.push(tuning);
        for (frame, row) in self.list.iter().zip(&mut self.couplings) {
            row.push(couple(frame, &tuning, self.strict_mask));
        }
        let row = self.list.iter().map(|receiver| couple(&tuning, receiver, self.strict_mask)).collect();
        self.couplings.push(row);
        self.list.len() - 1
    }

    /// The width that a tuning stands for.
    pub(crate) fn width(&self, id: TuningId) -> Width {
        match self.list[usize::from(id.0)] {
            Tuning::Channel { width, .. } => width,
            Tuning::Energy { .. } => Width::Mhz20,
        }
    }

    pub(crate) fn coupling(&self, frame: TuningId, receiver: TuningId) -> &Coupling {
        &self.couplings[usize::from(frame.0)][usize::from(receiver.0)]
    }
}

/// How many 20 MHz parts a width has; one for DMG.
pub(crate) fn parts(width: Width) -> usize {
    match width {
        Width::Mhz40 => 2,
        Width::Mhz80 => 4,
        Width::Mhz20 | Width::Mhz2160 => 1,
    }
}

/// The parts of a channel, primary first, then what is nearest to it; none of an interferer, which does not listen.
fn part_spans(tuning: &Tuning) -> [Option<Span>; SUBS] {
    let mut spans = [None; SUBS];
    let Tuning::Channel { channel, width } = *tuning else { return spans };
    if width == Width::Mhz2160 {
        spans[0] = Some(channel.span(width));
        return spans;
    }
    let mut count = 0;
    for narrower in [Width::Mhz20, Width::Mhz40, Width::Mhz80].into_iter().filter(|&w| w <= width) {
        let whole = channel.span(narrower);
        let lowest = whole.centre_mhz - whole.width_mhz / 2.0 + 10.0;
        for k in 0..parts(narrower) {
            let centre_mhz = lowest + 20.0 * k as f64;
            let have = spans[..count].iter().flatten().any(|s: &Span| s.centre_mhz == centre_mhz);
            if !have && count < SUBS {
                spans[count] = Some(Span { centre_mhz, width_mhz: 20.0 });
                count += 1;
            }
        }
    }
    spans
}

fn couple(frame: &Tuning, receiver: &Tuning, strict_mask: bool) -> Coupling {
    let span = frame.span();
    let mask = match frame {
        Tuning::Channel { channel, width } if strict_mask => {
            let format = if channel.band() == Band::Ghz60 { Format::DmgSc } else { Format::Ofdm };
            SpectralMask::standard(format, *width)
        }
        _ => SpectralMask::rectangular(span.width_mhz),
    };
    let spans = part_spans(receiver);
    let share = |part: Option<Span>| part.map_or(0.0, |part| mask.share(span.centre_mhz, &part));
    Coupling { parts: spans.map(share), decodes: decodes(frame, receiver) }
}

fn decodes(frame: &Tuning, receiver: &Tuning) -> Decodes {
    let Tuning::Channel { channel: there, width: listening } = *receiver else { return Decodes::Nothing };
    let (channel, width) = match *frame {
        Tuning::Channel { channel, width } => (channel, width),
        Tuning::Energy { span, wifi_like } => {
            let primary = there.span(Width::Mhz20);
            let preamble = wifi_like && primary.overlap(&span) >= 1.0;
            return if preamble { Decodes::Legacy } else { Decodes::Nothing };
        }
    };
    if channel.band() != there.band() {
        return Decodes::Nothing;
    }
    let inside = channel.span(width).overlap(&there.span(listening)) >= 1.0;
    if channel.shares_primary(&there) && inside {
        return Decodes::All { parts: parts(width) as u8 };
    }
    let primary = f64::from(there.primary_mhz());
    let covers = part_spans(frame).iter().flatten().any(|part| part.centre_mhz == primary);
    if covers { Decodes::Legacy } else { Decodes::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn five(primary: u8, width: Width) -> Channel {
        Channel::new(Band::Ghz5, primary, width, None).unwrap()
    }

    fn seen(frame: (u8, Width), receiver: (u8, Width)) -> Coupling {
        let mut tunings = Tunings::new(false);
        let frame = tunings.id(five(frame.0, frame.1), frame.1);
        let receiver = tunings.id(five(receiver.0, receiver.1), receiver.1);
        *tunings.coupling(frame, receiver)
    }

    #[test]
    fn one_channel() {
        let same = seen((36, Width::Mhz20), (36, Width::Mhz20));
        assert_eq!((same.parts, same.decodes), ([1.0, 0.0, 0.0, 0.0], Decodes::All { parts: 1 }));
        let wide = seen((44, Width::Mhz80), (44, Width::Mhz80));
        assert_eq!((wide.parts, wide.decodes), ([0.25; 4], Decodes::All { parts: 4 }));
        let apart = seen((36, Width::Mhz20), (40, Width::Mhz20));
        assert_eq!((apart.parts, apart.decodes), ([0.0; 4], Decodes::Nothing));
    }

    #[test]
    fn narrow_beside_wide() {
        // On the wide receiver's secondary channel: energy there, nothing to decode.
        let secondary = seen((40, Width::Mhz20), (36, Width::Mhz40));
        assert_eq!((secondary.parts[..2].to_vec(), secondary.decodes), (vec![0.0, 1.0], Decodes::Nothing));
        // A wide frame at a narrow receiver in its upper half: half of the power, the legacy header only.
        let half = seen((36, Width::Mhz40), (40, Width::Mhz20));
        assert_eq!((half.parts[0], half.decodes), (0.5, Decodes::Legacy));
        // A narrow frame on the wide receiver's primary.
        assert_eq!(seen((36, Width::Mhz20), (36, Width::Mhz80)).decodes, Decodes::All { parts: 1 });
    }

    #[test]
    fn parts_start_at_the_primary() {
        let tuning = Tuning::Channel { channel: five(44, Width::Mhz80), width: Width::Mhz80 };
        let centres = part_spans(&tuning).map(|s| s.unwrap().centre_mhz);
        assert_eq!(centres, [5220.0, 5240.0, 5180.0, 5200.0]);
    }

    #[test]
    fn channels_of_2_4_ghz_overlap_by_halves() {
        let two = |n| Channel::new(Band::Ghz2_4, n, Width::Mhz20, None).unwrap();
        let mut tunings = Tunings::new(false);
        let (one, three) = (tunings.id(two(1), Width::Mhz20), tunings.id(two(3), Width::Mhz20));
        let coupling = tunings.coupling(one, three);
        assert!((coupling.parts[0] - 0.5).abs() < 1e-12);
        assert_eq!(coupling.decodes, Decodes::Nothing);
    }
}
