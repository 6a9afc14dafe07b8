//! `ropewalk reproduce`: a paper's claims beside what the simulator, the lab, and the lab in virtual time give.
//!
//! A directory holds the paper's claims and scenarios (`ropewalk_scenario::paper`). Here they are run, and the page is written: nothing on it
//! is typed but the explanations, which stand beside the claims.

mod charts;
pub(crate) mod origin;
mod page;

use crate::exit::{Code, failure};
use crate::lab::machine::Virtual;
use crate::lab::run::Live;
use crate::sim::driver::{Driver, Simulator};
use crate::sim::store::Store;
use crate::sim::workers::{self, WorkerPool};
use crate::sim::{interrupt, output};
use anyhow::Result;
use clap::Args;
use origin::Origin;
use ropewalk_lab::machine::Source;
use ropewalk_scenario::paper::{FILE_NAME, Outcome, Paper};
use ropewalk_scenario::report::Report;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// `ropewalk reproduce`.
#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// The paper: a directory with a paper.toml, or the name of one below `scenarios`, here or further up
    pub paper: PathBuf,
    /// Run the scenarios in the simulator (if neither is said, this)
    #[arg(long)]
    pub sim: bool,
    /// Run the scenarios in the live lab
    #[arg(long, conflicts_with = "both")]
    pub lab: bool,
    /// Run the scenarios in both
    #[arg(long, conflicts_with = "sim")]
    pub both: bool,
    /// Run the scenarios on a kernel in virtual time, too or alone, as `ropewalk lab run --virtual` does
    #[arg(long = "virtual")]
    pub in_virtual_time: bool,
    /// With `--virtual`: where the machine's kernel is, a directory with boot/vmlinuz-* and lib/modules [default: VM_ROOT, or /]
    #[arg(long, value_name = "DIR", requires = "in_virtual_time")]
    pub kernel: Option<PathBuf>,
    /// Shorter runs, as the paper's file says: rough figures
    #[arg(long)]
    pub quick: bool,
    /// Directory for the page and its charts; made if it is not there [default: docs/papers beside `scenarios`, or here]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Directory for finished runs [default: reproduce-PAPER]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Keep what is finished, and run the rest
    #[arg(long)]
    pub resume: bool,
    /// Run nothing: fail if the page that is there was made by another build or from other rows
    #[arg(long, conflicts_with_all = ["lab", "both", "sim", "in_virtual_time", "runs", "resume"])]
    pub check: bool,
}

/// What was run of each scenario, by driver and name.
#[derive(Default)]
pub(crate) struct Results(BTreeMap<(&'static str, String), Vec<Report>>);

impl Results {
    fn of(&self, driver: &'static str, run: &str) -> Vec<Report> {
        self.0.get(&(driver, run.to_owned())).cloned().unwrap_or_default()
    }

    fn any(&self, driver: &str) -> bool {
        self.0.iter().any(|((d, _), reports)| *d == driver && !reports.is_empty())
    }

    /// The machine whose time was virtual, if one was run.
    fn machine(&self) -> Option<&str> {
        let reports = self.0.values().flatten();
        reports.filter_map(|r| r.provenance.lab.as_ref()).find_map(|lab| lab.machine.as_deref())
    }
}

/// Runs a paper's scenarios and writes its page.
pub(crate) fn run(args: &Reproduce) -> Result<()> {
    let directory = find(&args.paper)?;
    let name = directory.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let paper = Paper::read(&directory, args.quick)?;
    let drivers = drivers(args)?;
    let out = args.out.clone().unwrap_or_else(|| page_directory(&directory));
    if args.check {
        return check(&paper, &directory, &out.join(format!("{name}.md")));
    }
    let charts = out.join(&name);
    output::prepare(&charts)?;
    let runs = args.runs.clone().unwrap_or_else(|| PathBuf::from(format!("reproduce-{name}")));
    let interrupted = interrupt::watch()?;
    for driver in &drivers {
        work(&paper, &**driver, &runs, args.resume, &interrupted)?;
    }
    let results = collect(&paper, &runs)?;
    if interrupted.load(Ordering::Relaxed) {
        let sentence =
            format!("interrupted; what is finished is in {}, and --resume runs the rest", runs.display());
        return Err(failure(Code::Interrupted, sentence));
    }
    charts::write(&paper, &results, &charts)?;
    let path = out.join(format!("{name}.md"));
    let origin = Origin::of(&paper, &directory)?;
    output::write(
        &path,
        page::render(&paper, &name, &results, &page::Made::now(origin, args.quick)).as_bytes(),
    )?;
    conclude(&paper, &results, &path)
}

/// Whether a page says what this build would say of these rows.
fn check(paper: &Paper, directory: &Path, path: &Path) -> Result<()> {
    let page = std::fs::read_to_string(path).map_err(|e| {
        failure(Code::Usage, format!("{} cannot be read: {e}; `ropewalk reproduce` makes it", path.display()))
    })?;
    let stale = match Origin::read(&page) {
        None => vec!["it does not say what made it".to_owned()],
        Some(origin) => origin.stale(&Origin::of(paper, directory)?),
    };
    if stale.is_empty() {
        println!("{} is of this build and these rows", path.display());
        return Ok(());
    }
    let sentence =
        format!("{} is stale; `ropewalk reproduce` makes it anew\n{}", path.display(), stale.join("\n"));
    Err(failure(Code::Unexpected, sentence))
}

/// The drivers that the command line asks for.
fn drivers(args: &Reproduce) -> Result<Vec<Box<dyn Driver>>> {
    let mut drivers: Vec<Box<dyn Driver>> = Vec::new();
    if args.sim || args.both || !args.lab && !args.in_virtual_time {
        drivers.push(Box::new(Simulator));
    }
    if args.lab || args.both {
        drivers.push(Box::new(Live));
    }
    if args.in_virtual_time {
        drivers.push(Box::new(Virtual(Source::find(args.kernel.as_deref())?)));
    }
    Ok(drivers)
}

/// The directory of a paper.
fn find(paper: &Path) -> Result<PathBuf> {
    if paper.join(FILE_NAME).is_file() {
        return Ok(paper.canonicalize()?);
    }
    let here = std::env::current_dir()?;
    let papers = here.ancestors().map(|d| d.join("scenarios")).find(|d| d.is_dir());
    let found = papers.as_ref().map(|d| d.join(paper)).filter(|d| d.join(FILE_NAME).is_file());
    found.ok_or_else(|| {
        let known = papers.as_deref().map(known).filter(|k| !k.is_empty());
        let known = known.map_or("none are in `scenarios`, here or further up".into(), |k| {
            format!("known are {}", k.join(", "))
        });
        let sentence =
            format!("there is no paper `{}` (a directory with a {FILE_NAME}); {known}", paper.display());
        failure(Code::Usage, sentence)
    })
}

fn known(scenarios: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(scenarios).into_iter().flatten().flatten();
    let papers = entries.filter(|e| e.path().join(FILE_NAME).is_file());
    let mut names: Vec<String> = papers.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// `docs/papers` of the repository that a paper's directory is in; the current directory for any other.
fn page_directory(paper: &Path) -> PathBuf {
    let scenarios = paper.parent().filter(|d| d.ends_with("scenarios"));
    let docs = scenarios.and_then(Path::parent).map(|root| root.join("docs")).filter(|d| d.is_dir());
    docs.map_or_else(PathBuf::new, |docs| docs.join("papers"))
}

/// Where the runs of a scenario by a driver are kept.
fn place(runs: &Path, driver: &str, run: &str) -> PathBuf {
    runs.join(driver).join(run)
}

/// Makes the runs that are missing.
fn work(
    paper: &Paper,
    driver: &dyn Driver,
    runs: &Path,
    resume: bool,
    interrupted: &AtomicBool,
) -> Result<()> {
    let mut stores = Vec::new();
    for run in paper.runs_of(driver.name()) {
        let store = Store::open(&place(runs, driver.name(), &run.name))?;
        if !resume && !store.is_empty() {
            let sentence = format!(
                "{} has runs already; add --resume to keep those that still fit, or choose another directory with --runs",
                runs.display()
            );
            return Err(failure(Code::Taken, sentence));
        }
        stores.push(store);
    }
    let pools = paper.runs_of(driver.name()).iter().zip(&stores);
    let pools: Vec<WorkerPool<'_>> = pools
        .map(|(run, store)| WorkerPool::new((&run.document, &run.plan), store, driver, interrupted))
        .collect::<Result<_>>()?;
    let bar = workers::bar(pools.iter().map(WorkerPool::missing).sum());
    let worked = pools.iter().try_for_each(|pool| pool.work(driver.jobs(), &bar));
    bar.finish_and_clear();
    for (run, pool) in paper.runs_of(driver.name()).iter().zip(&pools) {
        pool.unusable().iter().for_each(|why| eprintln!("{}, left out: {why}", run.name));
    }
    worked
}

/// All that is finished, whoever made it and when.
fn collect(paper: &Paper, runs: &Path) -> Result<Results> {
    let mut results = Results::default();
    for driver in page::DRIVERS {
        for run in paper.runs_of(driver.name) {
            let directory = place(runs, driver.name, &run.name);
            if !directory.is_dir() {
                continue;
            }
            let finished = Store::look(&directory).of(&run.document, &run.plan)?;
            let reports = finished.into_iter().map(|(_, report)| report).collect();
            results.0.insert((driver.name, run.name.clone()), reports);
        }
    }
    Ok(results)
}

/// How each claim turned out under a driver.
fn outcomes(paper: &Paper, results: &Results, driver: &'static str) -> Vec<Outcome> {
    let series = |name: &str| paper.series(name, driver, &|run| results.of(driver, run));
    paper.file.claim.iter().map(|claim| claim.outcome(driver, &series)).collect()
}

/// Says where the page is; a claim that differs without a reason is a failure.
fn conclude(paper: &Paper, results: &Results, path: &Path) -> Result<()> {
    let mut open = Vec::new();
    for driver in page::columns(results) {
        for (claim, outcome) in paper.file.claim.iter().zip(outcomes(paper, results, driver.name)) {
            if claim.is_arithmetic() && driver.name != page::DRIVERS[0].name {
                // What is worked out is said once.
                continue;
            }
            let because = claim.because.contains_key(driver.name);
            match outcome {
                Outcome::Differs(value, None) => open.push(format!(
                    "{} ({}): {} gives {}, expected {}",
                    claim.id,
                    claim.what,
                    driver.title,
                    page::figure(value),
                    claim.band().map(|b| b.to_string()).unwrap_or_default()
                )),
                Outcome::Reproduced(_) if because => {
                    println!(
                        "{}: it is reproduced, so its `because.{}` is no longer true",
                        claim.id, driver.name
                    )
                }
                _ => {}
            }
        }
    }
    println!("{}\n{}", page::summary(paper, results), path.display());
    match open.len() {
        0 => Ok(()),
        n => Err(failure(
            Code::Unexpected,
            format!("{n} claims differ and nothing says why\n{}", open.join("\n")),
        )),
    }
}
