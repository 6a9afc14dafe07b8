//! `ropewalk web`: a page to look at the running bond, in a process of its own, so that no HTTP is in the data loop.
//!
//! | file | what |
//! |---|---|
//! | `feed` | asks the daemon by its control socket, again and again |
//! | `view` | what a page is told of it |
//! | `past` | the past of anything, in bounded memory |
//! | `rings` | that of each path |
//! | `walk`, `members` | that of a client of several access points, and of a bunch |
//! | `kept` | its minutes on disk |
//! | `timeline` | what happened when |
//! | `links` | one page for each directory, and links to it |
//! | `access` | who may see the page, and who may change something |
//! | `actions` | what a page may change |
//! | `server` | what is answered by HTTP |
//! | `assets` | the page itself, from `crates/ropewalk/web` |

mod access;
mod actions;
mod assets;
mod feed;
mod kept;
mod links;
mod members;
mod past;
mod rings;
mod server;
mod timeline;
mod view;
mod walk;

use crate::cli::Existing;
use crate::exit::{Code, failure};
use crate::state::StateDir;
use access::Access;
use anyhow::Context;
use feed::{Feed, Shared};
use links::LinkServer;
use rustix::fs::Mode;
use rustix::thread::{CapabilitySet, CapabilitySets};
use server::Site;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{BufRead, ErrorKind, IsTerminal};
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::time::timeout;

/// How often the server looks whether it is to end.
const LOOK: Duration = Duration::from_millis(250);
/// Threads that wait for the daemon's answers.
const WAITING: usize = 4;

/// `ropewalk web`.
#[derive(Debug, clap::Args)]
pub(crate) struct Web {
    #[command(flatten)]
    pub state: Existing,
    /// Address of the page, on this machine only
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:4580")]
    pub listen: SocketAddr,
    /// Serve the page at this unix socket instead, which only this user can open
    #[arg(long, value_name = "PATH", conflicts_with = "listen")]
    pub socket: Option<PathBuf>,
    /// Print no link when the page starts, for a service whose output goes into a log
    #[arg(long)]
    pub no_link: bool,
    /// Print a link to the page that runs with this state directory, and serve none
    #[arg(long, conflicts_with_all = ["listen", "socket", "no_link"])]
    pub link: bool,
}

/// Where browsers come in.
enum Door {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

/// Serves the page until the process is told to end.
pub(crate) fn run(args: &Web) -> anyhow::Result<()> {
    if args.link {
        println!("{}", links::ask(&StateDir::existing(&args.state.dir)?)?);
        return Ok(());
    }
    if !args.listen.ip().is_loopback() {
        let port = args.listen.port();
        let words = format!(
            "{} can be reached from other machines, and the page is for this one: listen on 127.0.0.1, and from elsewhere use `ssh -L {port}:127.0.0.1:{port} HOST`",
            args.listen
        );
        return Err(failure(Code::Usage, words));
    }
    ropewalk_net::privileges::keep_secrets()?;
    let dir = StateDir::existing(&args.state.dir)?;
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ended)).context("a signal cannot be watched")?;
    }
    let links = LinkServer::open(&dir)?;
    if args.no_link && links.is_none() {
        let words = "the state directory is another user's, so `--link` will print no link to its page: leave --no-link out, or run this as that user";
        return Err(failure(Code::Usage, words));
    }
    let shared = Shared::new(dir);
    kept::take_up(&shared, feed::wall() as u32);
    let feed = Feed::open(Arc::clone(&shared))?;
    give_up_rights(&shared.dir)?;
    kept::start(&shared);
    std::thread::Builder::new().name("feed".into()).spawn(move || feed.run())?;
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_io().enable_time().max_blocking_threads(WAITING).build()?;
    let own = args.socket.is_none().then(|| args.listen.ip());
    let site = Site::new(Access::new(own), Arc::clone(&shared));
    let outcome = runtime.block_on(serve(args, site, links.as_ref(), &ended));
    // Pages that are open are not waited for.
    runtime.shutdown_background();
    shared.keep_now();
    outcome
}

/// All rights of root, which nobody needs who owns the daemon's socket. Where it is another user's, the right to open it has to stay.
fn give_up_rights(dir: &StateDir) -> anyhow::Result<()> {
    let owner = std::fs::metadata(dir.socket())?.uid();
    if owner == rustix::process::geteuid().as_raw() {
        ropewalk_net::privileges::drop_all_but_network()?;
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        rustix::thread::set_capabilities(None, sets).map_err(std::io::Error::from)?;
    }
    Ok(())
}

async fn serve(
    args: &Web,
    site: Arc<Site>,
    links: Option<&LinkServer>,
    ended: &AtomicBool,
) -> anyhow::Result<()> {
    let door = match &args.socket {
        Some(path) => Door::Unix(listen_at(path)?, path.clone()),
        None => Door::Tcp(listen_on(args.listen).await?),
    };
    let base = door.base()?;
    if let Some(links) = links {
        links.serve(base.clone(), Arc::clone(&site))?;
    }
    if args.no_link {
        eprintln!("ropewalk: the page is served; `ropewalk web --link` prints a link to it");
    } else {
        println!("{}", site.link(&base));
        if std::io::stdin().is_terminal() {
            offer_links(base, Arc::clone(&site))?;
        }
    }
    while !ended.load(Ordering::Relaxed) {
        match &door {
            Door::Tcp(listener) => {
                if let Ok(Ok((stream, _))) = timeout(LOOK, listener.accept()).await {
                    let _ = stream.set_nodelay(true);
                    let _ = timeout(LOOK, site.welcome(stream)).await;
                }
            }
            Door::Unix(listener, _) => {
                if let Ok(Ok((stream, _))) = timeout(LOOK, listener.accept()).await {
                    let _ = timeout(LOOK, site.welcome(stream)).await;
                }
            }
        }
    }
    if let Door::Unix(_, path) = &door {
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

impl Door {
    /// What a link begins with.
    fn base(&self) -> anyhow::Result<String> {
        match self {
            Door::Tcp(listener) => Ok(format!("http://{}", listener.local_addr()?)),
            Door::Unix(_, path) => {
                let path = path.display();
                println!(
                    "the page is at the socket {path}; from another machine: ssh -L 4580:{path} HOST, then open"
                );
                Ok("http://127.0.0.1:4580".into())
            }
        }
    }
}

/// Each Enter prints another link.
fn offer_links(base: String, site: Arc<Site>) -> anyhow::Result<()> {
    eprintln!("The link opens the page in one browser. Enter prints one for another browser, Ctrl-C ends.");
    std::thread::Builder::new().name("links".into()).spawn(move || {
        for _ in std::io::stdin().lock().lines().map_while(Result::ok) {
            println!("{}", site.link(&base));
        }
    })?;
    Ok(())
}

async fn listen_on(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        let taken = error.kind() == ErrorKind::AddrInUse;
        let words = format!("the page cannot be served at {address}: {error}; choose another with --listen");
        failure(if taken { Code::Taken } else { Code::Usage }, words)
    })
}

/// A socket for this user only. What an earlier run left there is taken away, but nothing else.
fn listen_at(path: &Path) -> anyhow::Result<UnixListener> {
    if let Ok(there) = std::fs::symlink_metadata(path) {
        let words = format!("{} is there already: name another path with --socket", path.display());
        // Also a page that takes nobody in any more is one.
        let connected = ropewalk_net::peer::connect(path, LOOK);
        let is_left = connected.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused);
        if !there.file_type().is_socket() || !is_left {
            return Err(failure(Code::Taken, words));
        }
        std::fs::remove_file(path).with_context(|| format!("{} cannot be removed", path.display()))?;
    }
    let umask = rustix::process::umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
    let listener =
        UnixListener::bind(path).with_context(|| format!("no socket can be made at {}", path.display()));
    rustix::process::umask(umask);
    listener
}
