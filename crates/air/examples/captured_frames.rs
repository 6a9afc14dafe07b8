//! Frames of each kind as text2pcap reads them, to let another program decode what the monitor writes:
//! `cargo run -p ropewalk-air --example captured_frames | text2pcap -l 127 - frames.pcap && tshark -r frames.pcap -V`

use ropewalk_air::Time;
use ropewalk_air::wifi::phy::{Band, Channel, GuardInterval, Rate, Secondary, Width};
use ropewalk_air::wifi::{CapturedFrame, FrameType, Mac, RadioId, monitor};

type Frame = CapturedFrame<Vec<u8>>;

/// An IPv4 and UDP packet of 36 bytes from 10.0.0.2 to 10.0.0.1, port 9.
fn packet() -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 36, 0, 1, 0, 0, 64, 17, 0x66, 0xc6, 10, 0, 0, 2, 10, 0, 0, 1];
    bytes.extend([0x30, 0x39, 0, 9, 0, 16, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    bytes
}

fn frame(n: u64, frame_type: FrameType, rate: Rate, channel: Channel) -> Frame {
    CapturedFrame {
        at: Time::from_micros(1_000 * n),
        radio: RadioId(0),
        channel,
        rate,
        signal_dbm: -55.0,
        noise_dbm: -94.0,
        frame_type,
        receiver: Mac([2, 0, 0, 0, 0, 1]),
        transmitter: Some(Mac([2, 0, 0, 0, 0, 2])),
        bssid: Some(Mac([2, 0, 0, 0, 0, 1])),
        to_ds: false,
        from_ds: false,
        retry: false,
        power_management: false,
        more_data: false,
        sequence: Some(77),
        tid: Some(0),
        duration_us: 44,
        len_bytes: 14,
        ampdu: None,
        payloads: Vec::new(),
    }
}

fn frames() -> Result<Vec<Frame>, Box<dyn std::error::Error>> {
    let five = Channel::new(Band::Ghz5, 36, Width::Mhz80, None)?;
    let two = Channel::new(Band::Ghz2_4, 6, Width::Mhz40, Some(Secondary::Above))?;
    let (six, eleven) = (Rate::legacy(6_000_000)?, Rate::legacy(11_000_000)?);
    let ht = Rate::ht(7, 2, Width::Mhz40, GuardInterval::Short)?;
    let vht = Rate::vht(9, 2, Width::Mhz80, GuardInterval::Short)?;
    let controls = [
        FrameType::Ack,
        FrameType::Cts,
        FrameType::Rts,
        FrameType::CfEnd,
        FrameType::PsPoll,
        FrameType::BlockAckRequest { start: 291 },
        FrameType::BlockAck { start: 291, bitmap: 7 },
        FrameType::Beacon { interval_tu: 100 },
        FrameType::Authentication,
        FrameType::AssociationRequest,
        FrameType::AssociationResponse,
        FrameType::Deauthentication,
    ];
    let mut all: Vec<Frame> =
        controls.into_iter().enumerate().map(|(n, t)| frame(n as u64, t, six, five)).collect();
    let data = |n, frame_type, rate, channel| Frame {
        to_ds: true,
        retry: true,
        len_bytes: 30 + 8 + 36,
        payloads: vec![packet()],
        ..frame(n, frame_type, rate, channel)
    };
    all.push(data(20, FrameType::Data, eleven, two));
    all.push(Frame { ampdu: Some((5, false)), ..data(21, FrameType::QosData, ht, two) });
    all.push(Frame { ampdu: Some((6, true)), ..data(22, FrameType::QosData, vht, five) });
    let many =
        Frame { payloads: vec![packet(), packet(), packet()], ..data(23, FrameType::QosData, vht, five) };
    all.push(Frame { len_bytes: 30 + 60 + 60 + 58, ..many });
    all.push(Frame { power_management: true, payloads: Vec::new(), ..data(24, FrameType::Null, six, five) });
    Ok(all)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for frame in frames()? {
        let captured = monitor::encode(&frame, |packet, out| out.extend(packet));
        let hex: Vec<String> = captured.bytes.iter().map(|b| format!("{b:02x}")).collect();
        println!("000000 {}", hex.join(" "));
    }
    Ok(())
}
