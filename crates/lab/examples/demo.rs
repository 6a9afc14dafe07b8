//! What `./run demo` runs.
//!
//! `demo [LINK LINK] [--ropewalk FILE] [--out FILE.svg]`, where a link is `MBPS,MS`: its rate and its delay one way. The
//! program is the `ropewalk` of the same build unless another is named.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::atomic::AtomicBool;

use ropewalk_lab::demo::{self, Link, Options};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("demo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn work() -> Outcome {
    let options = options(std::env::args().skip(1))?;
    if !rustix::process::geteuid().is_root() {
        println!("network namespaces need root: going on with sudo");
        return Err(Command::new("sudo").arg("--").args(std::env::args()).exec().into());
    }
    ropewalk_lab::clean_on_interrupt()?;
    // The interrupt ends this program, and cleans up by itself.
    demo::run(&options, &AtomicBool::new(false))?;
    Ok(())
}

fn options(args: impl Iterator<Item = String>) -> Outcome<Options> {
    // target/release/examples/demo: the program is one directory up, and the picture goes next to the build.
    let own = std::env::current_exe()?;
    let build = own.parent().and_then(|d| d.parent()).ok_or("this program does not know where it is")?;
    let out = build.parent().unwrap_or(build).join("demo.svg");
    let mut options = Options::new(build.join("ropewalk"), out);
    let (mut links, mut args) = (Vec::new(), args);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--ropewalk" => options.ropewalk = PathBuf::from(args.next().ok_or("--ropewalk takes a file")?),
            "--out" => options.out = PathBuf::from(args.next().ok_or("--out takes a file")?),
            text => links.push(link(text)?),
        }
    }
    match links.len() {
        0 => {}
        2 => options.links = Some(links.try_into().map_err(|_| "two links")?),
        _ => return Err("name two links, or none".into()),
    }
    if !options.ropewalk.is_file() {
        return Err(format!(
            "there is no {}; `cargo build --release -p ropewalk` makes it",
            options.ropewalk.display()
        )
        .into());
    }
    Ok(options)
}

fn link(text: &str) -> Outcome<Link> {
    let numbers =
        text.split_once(',').and_then(|(rate, delay)| Some((rate.parse().ok()?, delay.parse().ok()?)));
    let (mbps, delay_ms) =
        numbers.ok_or(format!("\"{text}\" is no link; write its rate in Mb/s and its delay in ms: 40,10"))?;
    Ok(Link { mbps, delay_ms })
}
