//! The processor against queueing theory, in simulated time.

use super::*;
use rand::{Rng, SeedableRng};

const BASE: CpuSpec = CpuSpec {
    per_packet: Duration::from_micros(20),
    per_byte: Duration::from_nanos(10),
    per_interrupt: Duration::ZERO,
    coalescing: Duration::ZERO,
    queue: 100_000,
};
/// Bytes of a packet; it takes 30 us.
const BYTES: u32 = 1000;
const SERVICE_S: f64 = 30e-6;

/// Lets packets arrive at these times, and time pass until all that were taken are done.
fn run(spec: CpuSpec, arrivals: impl Iterator<Item = Time>) -> (CpuCounts, Time) {
    let mut cpu = Cpu::new(spec);
    let mut now = Time::ZERO;
    let mut until = |cpu: &mut Cpu<()>, end: Time| {
        while let Some(at) = cpu.next_timeout().filter(|at| *at <= end) {
            now = at;
            while cpu.poll(at).is_some() {}
        }
        now
    };
    for at in arrivals {
        until(&mut cpu, at);
        cpu.receive(at, (), BYTES);
    }
    let end = until(&mut cpu, Time::NEVER);
    (cpu.counts(end), end)
}

/// Times of a Poisson process of this rate.
fn poisson(per_second: f64, packets: usize) -> impl Iterator<Item = Time> {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(7);
    let mut at_s = 0.0;
    (0..packets).map(move |_| {
        at_s -= libm::log(1.0 - rng.random::<f64>()) / per_second;
        Time::from_nanos((at_s * 1e9) as u64)
    })
}

fn near(value: f64, of: f64, tolerance: f64) -> bool {
    (value / of - 1.0).abs() <= tolerance
}

#[test]
fn at_saturation_it_does_one_packet_in_each_service_time() {
    // Twice as many as it can do, for a second, in front of ten places.
    let spec = CpuSpec { queue: 10, ..BASE };
    let (counts, end) = run(spec, (0..66_666).map(|i| Time::from_micros(15 * i)));
    let per_second = counts.packets as f64 / end.as_secs_f64();
    assert!(near(per_second, 1.0 / SERVICE_S, 1e-3), "{counts:?} by {end:?}");
    assert_eq!(counts.packets + counts.dropped, 66_666);
    assert!(near(counts.busy_ns as f64, end.as_nanos() as f64, 1e-3), "{counts:?} by {end:?}");
    assert_eq!(counts.interrupts, 1, "it never comes to the end of its queue");
}

#[test]
fn below_saturation_packets_wait_as_long_as_in_an_m_d_1_queue() {
    for load in [0.3, 0.6, 0.8] {
        let (counts, end) = run(BASE, poisson(load / SERVICE_S, 1_000_000));
        // Pollaczek and Khinchine, with a service time that is always the same.
        let wait_s = load * SERVICE_S / (2.0 * (1.0 - load));
        let mean_s = counts.wait_ns as f64 / counts.packets as f64 / 1e9;
        assert!(near(mean_s, wait_s, 0.03), "load {load}: {mean_s} s, {wait_s} expected");
        let busy = counts.busy_ns as f64 / end.as_nanos() as f64;
        assert!(near(busy, load, 0.01), "the utilisation law: {busy} at {load}");
        assert_eq!(counts.dropped, 0);
    }
}

#[test]
fn interrupts_and_coalescing_are_the_setup_of_each_busy_period() {
    for (coalescing, interrupt) in [(0, 10), (50, 0), (100, 25)] {
        let spec = CpuSpec {
            coalescing: Duration::from_micros(coalescing),
            per_interrupt: Duration::from_micros(interrupt),
            ..BASE
        };
        let (load, setup_s) = (0.5, (coalescing + interrupt) as f64 / 1e6);
        let rate = load / SERVICE_S;
        let (counts, end) = run(spec, poisson(rate, 1_000_000));
        // M/D/1, and what a setup D adds to it (Welch, 1964): (2D + λD²) / 2(1 + λD).
        let setup = (2.0 * setup_s + rate * setup_s * setup_s) / (2.0 * (1.0 + rate * setup_s));
        let wait_s = load * SERVICE_S / (2.0 * (1.0 - load)) + setup;
        let mean_s = counts.wait_ns as f64 / counts.packets as f64 / 1e9;
        assert!(near(mean_s, wait_s, 0.03), "{spec:?}: {mean_s} s, {wait_s} expected");
        // One for each cycle: an idle time 1/λ, the setup, and the work on all that came.
        let interrupts = end.as_secs_f64() * (1.0 - load) / (1.0 / rate + setup_s);
        assert!(near(counts.interrupts as f64, interrupts, 0.02), "{spec:?}: {counts:?}, {interrupts}");
    }
}

#[test]
fn a_program_needs_no_interrupt_and_goes_before_one_that_waits() {
    let mut cpu = Cpu::new(CpuSpec { coalescing: Duration::from_millis(1), ..BASE });
    cpu.receive(Time::ZERO, "received", BYTES);
    cpu.send(Time::from_micros(1), "sent", BYTES);
    assert_eq!(cpu.next_timeout(), Some(Time::from_micros(31)));
    assert_eq!(cpu.poll(Time::from_micros(30)), None);
    assert_eq!(cpu.poll(Time::from_micros(31)), Some("sent"));
    assert_eq!(cpu.next_timeout(), Some(Time::from_millis(1)));
    // A driver that is late changes nothing but when it hears of it.
    assert_eq!(cpu.poll(Time::from_millis(9)), Some("received"));
    assert_eq!(cpu.counts(Time::from_millis(9)).wait_ns, 1_000_000);
}

#[test]
fn packets_that_come_while_it_polls_need_no_interrupt_and_keep_their_order() {
    let spec = CpuSpec { per_interrupt: Duration::from_micros(5), ..BASE };
    let mut cpu = Cpu::new(spec);
    for i in 0..3 {
        cpu.receive(Time::from_micros(i), i, BYTES);
    }
    let mut out = Vec::new();
    while let Some(at) = cpu.next_timeout() {
        out.extend(cpu.poll(at).map(|i| (i, at.as_micros())));
    }
    assert_eq!(out, [(0, 35), (1, 65), (2, 95)]);
    assert_eq!(cpu.counts(Time::from_millis(1)).interrupts, 1);
    cpu.receive(Time::from_millis(1), 9, BYTES);
    assert_eq!(cpu.counts(Time::from_millis(1)).interrupts, 2);
}

#[test]
fn what_finds_the_queue_full_is_dropped_and_present_work_counts_by_its_part() {
    let mut cpu = Cpu::new(CpuSpec { queue: 2, ..BASE });
    for i in 0..5 {
        cpu.send(Time::ZERO, i, BYTES);
    }
    let at = Time::from_micros(12);
    assert_eq!((cpu.counts(at).dropped, cpu.counts(at).busy_ns), (2, 12_000));
    let done: Vec<i32> = std::iter::from_fn(|| cpu.poll(Time::from_millis(1))).collect();
    assert_eq!(done, [0, 1, 2]);
    assert_eq!(cpu.counts(Time::from_millis(1)).busy_ns, 90_000);
}
