//! Whether this machine can work a scenario in real time, asked before it starts.
//!
//! The scenario is simulated for a moment: that says how many packets it moves, and what its models cost here. What its devices cost is measured by writing
//! to one.

use std::path::Path;
use std::time::{Duration, Instant};

use ropewalk_air::wifi::RadioId;
use ropewalk_scenario::Scenario;
use ropewalk_sim::Simulation;
use ropewalk_sim::net::Attach;

use super::tap;
use crate::site::Site;
use crate::{LabError, Result};

/// Processor time that may be spent on simulating.
const BUDGET: Duration = Duration::from_millis(250);
/// Simulated time that is enough: flows have found their rates.
const ENOUGH: Duration = Duration::from_secs(5);
/// Processor time from which on a span's cost is told from chance.
const SPAN: Duration = Duration::from_millis(25);
/// The shortest and the longest step of the simulation.
const STEPS: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(100)];
/// Of a processor's time, what the thread can use while programs and kernels share the machine.
const USABLE: f64 = 0.9;
/// Packets of one system call: of aggregates and large packets most, of lone ones few.
const PACKETS_PER_CALL: f64 = 4.0;

/// What a scenario will ask of the thread that works it, in its busiest moment that was simulated.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Forecast {
    /// Packets that devices take in and give out, per second.
    pub packets_per_s: f64,
    /// Frames on air, per second.
    pub frames_per_s: f64,
    /// The models' share of one processor's time.
    pub models: f64,
    /// The devices' share of one processor's time.
    pub devices: f64,
}

impl Forecast {
    /// Simulates the scenario for a moment and measures what a device costs.
    ///
    /// # Errors
    /// The simulator refuses the scenario; the machine lacks what the lab needs.
    pub fn of(scenario: &Scenario, directory: &Path) -> Result<Forecast> {
        let call_s = cost_of_a_call()?.as_secs_f64();
        let mut forecast = simulate(scenario, directory)?;
        forecast.devices = forecast.packets_per_s / PACKETS_PER_CALL * call_s;
        Ok(forecast)
    }

    /// Of one processor's time, what the thread needs. Above 1 it cannot keep time.
    pub fn load(&self) -> f64 {
        self.models + self.devices
    }

    /// What is to be said before such a scenario starts; none if it fits.
    pub fn warning(&self) -> Option<String> {
        (self.load() > USABLE).then(|| {
            format!(
                "this scenario is too fast for this machine: working it in real time would take {:.1} times what one processor can do ({:.0} packets/s, \
                 {:.0} frames/s on air); lower its rates or take stations out, or run it with `ropewalk sim`",
                self.load(),
                self.packets_per_s,
                self.frames_per_s
            )
        })
    }
}

/// Counts at one time.
#[derive(Clone, Copy)]
struct Mark {
    simulated: Duration,
    spent: Duration,
    packets: u64,
    frames: u64,
}

fn simulate(scenario: &Scenario, directory: &Path) -> Result<Forecast> {
    let mut simulation = Simulation::new(scenario, directory)?;
    let begin = processor_time();
    let mark = |simulation: &Simulation| {
        let net = &simulation.built().world.net;
        let on_wire =
            |i: &&ropewalk_sim::net::Interface| matches!(i.attach, Attach::Cable(_) | Attach::Radio(_));
        Mark {
            simulated: simulation.now() - ropewalk_air::Time::ZERO,
            spent: processor_time().saturating_sub(begin),
            packets: net
                .interfaces
                .iter()
                .filter(on_wire)
                .map(|i| i.counters.sent + i.counters.received)
                .sum(),
            frames: net.radios.as_ref().map_or(0, |radios| {
                let sent = |r: usize| radios.radio_stats(RadioId(r as u16)).ppdus_sent;
                (0..simulation.built().radios.len()).map(sent).sum()
            }),
        }
    };
    let (mut since, mut step, mut busiest) = (mark(&simulation), STEPS[0], Forecast::default());
    since.spent = Duration::ZERO;
    loop {
        let before = processor_time();
        let ended = simulation.advance_by(step);
        // Steps that cost a tenth of a span.
        step = match processor_time().saturating_sub(before) < SPAN / 10 {
            true => (step * 2).min(STEPS[1]),
            false => (step / 2).max(STEPS[0]),
        };
        let now = mark(&simulation);
        let over = ended || now.spent >= BUDGET || now.simulated >= ENOUGH;
        // What is left at the end tells of its rates only if there is nothing else.
        if now.spent - since.spent >= SPAN || over && since.spent.is_zero() {
            busiest = busier(busiest, rates(&since, &now));
            since = now;
        }
        if over {
            return Ok(busiest);
        }
    }
}

fn busier(a: Forecast, b: Forecast) -> Forecast {
    let rank = |f: &Forecast| f.models + f.packets_per_s * 1e-6;
    if rank(&b) > rank(&a) { b } else { a }
}

fn rates(from: &Mark, to: &Mark) -> Forecast {
    let simulated = (to.simulated.saturating_sub(from.simulated)).as_secs_f64().max(1e-6);
    Forecast {
        packets_per_s: to.packets.saturating_sub(from.packets) as f64 / simulated,
        frames_per_s: to.frames.saturating_sub(from.frames) as f64 / simulated,
        models: (to.spent.saturating_sub(from.spent)).as_secs_f64() / simulated,
        devices: 0.0,
    }
}

/// Processor time of the calling thread: a machine that is busy with other things makes nothing look slower.
fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// Writes that are measured, after as many that are not.
const WRITES: u32 = 200;

/// The median time that the kernel takes for a datagram that is written to a device: it is received before the call returns.
fn cost_of_a_call() -> Result<Duration> {
    let site = Site::new()?;
    let node = site.namespace("scale")?;
    let device = tap::open(&node, "scale0")?;
    node.ip(&["link set scale0 address 02:00:00:00:00:01 up", "address add 10.0.0.1/24 dev scale0"])?;
    let frame = datagram();
    let mut spans: Vec<Duration> = Vec::new();
    for _ in 0..2 * WRITES {
        let begin = Instant::now();
        rustix::io::write(&device, &frame).map_err(LabError::kernel("write to a device"))?;
        spans.push(begin.elapsed());
    }
    let mut measured = spans.split_off(WRITES as usize);
    measured.sort();
    Ok(measured[measured.len() / 2])
}

/// A datagram with a virtio header, to a port at 10.0.0.1 where nobody listens: of the answers the kernel makes few.
fn datagram() -> Vec<u8> {
    let mut frame = vec![0; super::ether::VNET_BYTES];
    frame.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
    let mut ip = vec![0x45, 0, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
    let sum: u32 = ip.chunks_exact(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    let check = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    frame.extend(ip);
    // Ports 9 (discard), length, no checksum.
    frame.extend([0, 9, 0, 9, 0x05, 0xc8, 0, 0]);
    frame.resize(super::ether::VNET_BYTES + super::ether::ETHER_BYTES + 1500, 0);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_scenario::Document;

    fn forecast(rate: &str, packet: &str) -> Forecast {
        let text = format!(
            "duration = \"2s\"\n[node.a]\n[node.b]\n[[link]]\nname = \"wan\"\nends = [\"a:eth0\", \"b:eth0\"]\nrate = \"100Gbit/s\"\n\
             [[flow]]\nname = \"up\"\nkind = \"udp\"\nfrom = \"a\"\nto = \"b\"\nrate = \"{rate}\"\npacket = \"{packet}\"\n"
        );
        let scenario = Document::parse("test", &text).unwrap().scenario().unwrap();
        simulate(&scenario, Path::new(".")).unwrap()
    }

    #[test]
    fn packets_are_those_of_both_ends() {
        let slow = forecast("8Mbit/s", "1000B");
        assert!((slow.packets_per_s / 2000.0 - 1.0).abs() < 0.05, "{slow:?}");
        assert_eq!(slow.frames_per_s, 0.0);
    }

    #[test]
    fn a_scenario_whose_packets_no_machine_can_move_is_told() {
        // 50 million packets a second, of which the simulation sees but a few milliseconds.
        let absurd = forecast("40Gbit/s", "100B");
        assert!((absurd.packets_per_s / 1e8 - 1.0).abs() < 0.1, "{absurd:?}");
        let said = absurd.warning().unwrap();
        assert!(said.contains("too fast for this machine") && said.contains("ropewalk sim"), "{said}");
    }

    #[test]
    fn what_fits_is_not_spoken_of() {
        let fits = Forecast { packets_per_s: 1e5, frames_per_s: 1e4, models: 0.3, devices: 0.5 };
        assert_eq!(fits.warning(), None);
        let not = Forecast { devices: 0.7, ..fits };
        assert!(not.warning().unwrap().contains("1.0 times"));
        assert_eq!(busier(fits, Forecast { models: 0.4, ..fits }).models, 0.4);
    }
}
