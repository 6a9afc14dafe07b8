//! `bench soak`: twenty flows for hours, of which every byte is checked at both ends, while the paths come, go and change;
//! and what memory the daemons hold meanwhile.
//!
//! A bond lets packets pass with their checksums unfinished, so nobody behind it would notice memory that passes from one
//! flow to another. Here each eight bytes name their flow and their place (`content`).

mod changes;
mod content;
mod transfer;

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use ropewalk_air::wired::LinkSpec;

use crate::site::Site;
use crate::system::Bond;
use crate::usage;
use transfer::{Seen, Transfer};

/// Where the server listens.
const PORT: u16 = 7000;
/// The largest transfer in one direction. Sizes are drawn so that each power of two is as likely.
const LARGEST: u64 = 32 << 20;
/// How long a connection may take: a few SYNs may be lost.
const CONNECT: Duration = Duration::from_secs(30);
/// How often memory is looked at; at least six times in a run.
const SAMPLE: Duration = Duration::from_secs(60);
/// What comes before this share of the run is warm-up: buffers grow to what the load needs.
const WARM_UP: f64 = 1.0 / 3.0;
/// Complaints kept; all are counted.
const COMPLAINTS: usize = 20;
const MIB: f64 = 1_048_576.0;
/// How often an acceptor to whom nobody comes looks whether it is over.
const LOOK: Duration = Duration::from_millis(5);

/// The cipher of a bond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Cipher {
    /// AES-128-GCM, where the processor has instructions for it.
    Aes,
    /// ChaCha20-Poly1305.
    Chacha20,
}

impl Cipher {
    /// As `ropewalk status` has it.
    fn name(self) -> &'static str {
        match self {
            Cipher::Aes => "aes-128-gcm",
            Cipher::Chacha20 => "chacha20-poly1305",
        }
    }

    /// A client's configuration.
    fn config(self) -> &'static str {
        match self {
            Cipher::Aes => "",
            Cipher::Chacha20 => "[up]\nchacha20 = true\n",
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The binary.
    pub ropewalk: PathBuf,
    /// How long, for each cipher.
    pub span: Duration,
    /// How many transfers at a time.
    pub flows: usize,
    /// Of sizes, content and changes.
    pub seed: u64,
    /// One after the other.
    pub ciphers: Vec<Cipher>,
}

/// The paths, in both directions.
fn links() -> [LinkSpec; 2] {
    let link = |mbps, ms, jitter_us| {
        let link = LinkSpec::new(mbps, Duration::from_millis(ms)).loss_percent(0.2);
        link.jitter(Duration::from_micros(jitter_us))
    };
    [link(200.0, 5, 500), link(100.0, 15, 1500)]
}

/// What has happened so far.
#[derive(Debug, Clone, Default)]
struct Tally {
    /// Transfers that ended as they should.
    transfers: u64,
    /// Bytes that arrived in them, in both directions.
    bytes: u64,
    /// Bytes that were not what was sent.
    wrong: u64,
    /// Transfers that broke, or came with another length.
    failed: u64,
    complaints: Vec<String>,
}

impl Tally {
    fn complain(&mut self, what: String) {
        if self.complaints.len() < COMPLAINTS {
            self.complaints.push(what);
        }
    }

    /// Counts a transfer as its client saw it.
    fn count(&mut self, transfer: Transfer, outcome: Result<[Seen; 2]>) {
        let flow = transfer.flow;
        match outcome {
            Ok([down, up]) => {
                self.bytes += down.bytes + up.bytes;
                self.wrong += down.wrong + up.wrong;
                if (down.bytes, up.bytes) == (transfer.down, transfer.up) {
                    self.transfers += 1;
                } else {
                    self.failed += 1;
                    self.complain(format!(
                        "transfer {flow}: {transfer:?} came as {} up, {} down",
                        up.bytes, down.bytes
                    ));
                }
                if let Some(wrong) = down.first {
                    self.complain(format!("download {flow}: {wrong}"));
                }
            }
            Err(error) => {
                self.failed += 1;
                self.complain(format!("transfer {flow}: {error:#}"));
            }
        }
    }
}

/// Memory at a moment, the client's and the gateway's, MiB.
#[derive(Debug, Clone, Copy)]
struct Memory {
    at: Duration,
    /// Resident.
    resident: [f64; 2],
    /// Of it, what is neither program nor packet memory.
    heap: [f64; 2],
}

/// Soaks each cipher; prints as it goes.
///
/// # Errors
/// If a byte was wrong or a transfer failed, or nothing could be measured.
pub fn run(options: &Options) -> Result<()> {
    let mut bad = 0;
    for cipher in &options.ciphers {
        println!("{}, seed {}:", cipher.name(), options.seed);
        let tally = one(options, *cipher)?;
        tally.complaints.iter().for_each(|complaint| println!("  * {complaint}"));
        bad += tally.wrong + tally.failed;
        ensure!(tally.transfers > 0, "not one transfer has ended");
    }
    if bad > 0 {
        bail!("bytes were wrong, or transfers failed, as said above");
    }
    Ok(())
}

fn one(options: &Options, cipher: Cipher) -> Result<Tally> {
    let site = Site::emulated(&links(), options.seed)?;
    let mut bond = Bond::start(&options.ropewalk, &site, cipher.config())?;
    let said = bond.status(&site)?["peers"][0]["cipher"].as_str().unwrap_or_default().to_lowercase();
    ensure!(said == cipher.name(), "the session's cipher is {said:?}: this processor or binary has no other");
    let (tally, next) = (Mutex::new(Tally::default()), AtomicU64::new(0));
    let (over, all_done) = (AtomicBool::new(false), AtomicBool::new(false));
    let target = SocketAddr::new(bond.open.target, PORT);
    let listener = site.lab.gateway.run(|| TcpListener::bind(target))?.context("cannot listen inside")?;
    let key = StdRng::seed_from_u64(options.seed).random();
    let (memory, changes) = std::thread::scope(|scope| {
        let (tally, over, next, bond, site) = (&tally, &over, &next, &bond, &site);
        let all_done = &all_done;
        let server = scope.spawn(move || serve(&listener, key, tally, all_done));
        let changing = scope.spawn(move || changes::run(site, bond, options.seed, over));
        let work = move |seed| site.lab.client.run(|| transfers(target, key, seed, tally, over, next));
        let flows = options.flows as u64;
        let workers: Vec<_> = (0..flows).map(|n| scope.spawn(move || work(options.seed + n))).collect();
        let memory = watch(options.span, site, bond, tally);
        over.store(true, Ordering::Relaxed);
        let changes = join(changing);
        let worked: Vec<_> = workers.into_iter().map(join).collect();
        all_done.store(true, Ordering::Relaxed);
        join(server)?;
        worked.into_iter().collect::<Result<(), _>>()?;
        Ok::<_, anyhow::Error>((memory?, changes?))
    })?;
    for (name, process) in &mut bond.open.processes {
        if let Some(status) = process.exit_status()? {
            bail!("{name} ended with {status}: {}", process.stderr().trim());
        }
    }
    let tally = tally.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    println!(
        "  {} transfers, {:.1} GB, {} wrong bytes, {} failed; {changes} changes of paths",
        tally.transfers,
        tally.bytes as f64 / 1e9,
        tally.wrong,
        tally.failed
    );
    println!("  {}", growth(&memory, options.span));
    Ok(tally)
}

fn join<R>(thread: ScopedJoinHandle<R>) -> R {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Makes one transfer after the other.
fn transfers(to: SocketAddr, key: u64, seed: u64, tally: &Mutex<Tally>, over: &AtomicBool, next: &AtomicU64) {
    let mut dice = StdRng::seed_from_u64(seed);
    let mut size = || 2_f64.powf(dice.random_range(0.0..(LARGEST as f64).log2())) as u64;
    while !over.load(Ordering::Relaxed) {
        let transfer = Transfer { flow: next.fetch_add(1, Ordering::Relaxed), up: size(), down: size() };
        let stream = TcpStream::connect_timeout(&to, CONNECT).context("nobody answers");
        let outcome = stream.and_then(|stream| transfer.ask(&stream, key));
        tally.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).count(transfer, outcome);
    }
}

/// Answers whoever comes, a thread for each, until all clients are done.
fn serve(listener: &TcpListener, key: u64, tally: &Mutex<Tally>, all_done: &AtomicBool) -> Result<()> {
    listener.set_nonblocking(true)?;
    let complain = |what| tally.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).complain(what);
    let answer = |stream: TcpStream| match Transfer::answer(&stream, key) {
        Ok((transfer, Seen { first: Some(wrong), .. })) => {
            complain(format!("upload {}: {wrong}", transfer.flow))
        }
        Ok(_) => {}
        // The client counts it.
        Err(error) => complain(format!("at the server: {error:#}")),
    };
    std::thread::scope(|scope| {
        while !all_done.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    scope.spawn(move || answer(stream));
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => std::thread::sleep(LOOK),
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    })
}

/// Looks at the daemons' memory until the time is over; prints what it sees.
fn watch(span: Duration, site: &Site, bond: &Bond, tally: &Mutex<Tally>) -> Result<Vec<Memory>> {
    let began = Instant::now();
    let step = SAMPLE.min(span / 6);
    let mut samples = Vec::new();
    println!(
        "  resident memory, and of it what is neither program nor packet memory, MiB; the client's packet memory:"
    );
    println!("        s         client        gateway   in use  peak  transfers  Mb/s  wrong  failed");
    let (mut last, mut last_bytes) = (Duration::ZERO, 0);
    while began.elapsed() < span {
        std::thread::sleep(step.min(span.saturating_sub(began.elapsed())));
        let memory = Memory::now(began.elapsed(), bond)?;
        samples.push(memory);
        let status = bond.status(site)?;
        let packets =
            ["memory_used", "memory_peak"].map(|key| status[key].as_f64().unwrap_or(f64::NAN) / MIB);
        let now = tally.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let mbps = (now.bytes - last_bytes) as f64 * 8e-6 / (memory.at - last).as_secs_f64();
        (last, last_bytes) = (memory.at, now.bytes);
        let [client, gateway] = [0, 1].map(|i| format!("{:.1} ({:.1})", memory.resident[i], memory.heap[i]));
        println!(
            "  {:>7.0}  {client:>13}  {gateway:>13}  {:>7.1}  {:>4.0}  {:>9}  {mbps:>4.0}  {:>5}  {:>6}",
            memory.at.as_secs_f64(),
            packets[0],
            packets[1],
            now.transfers,
            now.wrong,
            now.failed
        );
    }
    Ok(samples)
}

impl Memory {
    fn now(at: Duration, bond: &Bond) -> Result<Memory> {
        let of = |of: fn(u32) -> Option<f64>, i: usize| {
            let (name, process) = &bond.open.processes[i];
            of(process.id()).with_context(|| format!("{name} is gone"))
        };
        let both = |mib| Ok::<_, anyhow::Error>([of(mib, 0)?, of(mib, 1)?]);
        Ok(Memory { at, resident: both(usage::resident_mib)?, heap: both(usage::heap_mib)? })
    }
}

/// How memory grew after the warm-up, in words.
fn growth(samples: &[Memory], span: Duration) -> String {
    let warm = samples.iter().find(|sample| sample.at >= span.mul_f64(WARM_UP));
    let Some((warm, last)) = warm.zip(samples.last()).filter(|(warm, last)| last.at > warm.at) else {
        return "too short to say whether memory grows".to_owned();
    };
    let minutes = (last.at - warm.at).as_secs_f64() / 60.0;
    let one = |i: usize| {
        let grown = |of: fn(&Memory) -> [f64; 2]| of(last)[i] - of(warm)[i];
        format!("{:+.1} MiB, of it {:+.1} not packet memory", grown(|m| m.resident), grown(|m| m.heap))
    };
    format!("memory in the {minutes:.1} min after warm-up: client {}; gateway {}", one(0), one(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_counted_from_the_end_of_the_warm_up() {
        let at = |s, client| Memory {
            at: Duration::from_secs(s),
            resident: [client, 20.0],
            heap: [client / 10.0, 2.0],
        };
        let samples = [at(60, 10.0), at(120, 30.0), at(180, 33.0), at(240, 35.0)];
        assert_eq!(
            growth(&samples, Duration::from_secs(240)),
            "memory in the 2.0 min after warm-up: client +5.0 MiB, of it +0.5 not packet memory; gateway +0.0 MiB, of it +0.0 \
             not packet memory"
        );
        assert_eq!(growth(&samples[..1], Duration::from_secs(60)), "too short to say whether memory grows");
    }

    #[test]
    fn a_wrong_length_and_a_wrong_byte_are_counted() {
        let transfer = Transfer { flow: 1, up: 10, down: 20 };
        let seen = |bytes, wrong| Seen { bytes, wrong, first: None };
        let mut tally = Tally::default();
        tally.count(transfer, Ok([seen(20, 0), seen(10, 0)]));
        tally.count(transfer, Ok([seen(19, 0), seen(10, 0)]));
        tally.count(transfer, Ok([seen(20, 0), seen(11, 0)]));
        tally.count(transfer, Ok([seen(20, 3), seen(10, 2)]));
        tally.count(transfer, Err(anyhow::anyhow!("broke")));
        assert_eq!((tally.transfers, tally.failed, tally.wrong, tally.complaints.len()), (2, 3, 5, 3));
    }
}
