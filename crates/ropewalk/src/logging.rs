//! Where log lines go and how they look, and how many there may be: many of them tell what others do, and nobody outside is to fill a disk with them.

use crate::cli::LogFormat;
use anyhow::Context;
use std::collections::HashMap;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tracing::callsite::Identifier;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{MakeWriter, layer};
use tracing_subscriber::layer::{Context as LayerContext, SubscriberExt};
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

/// The filter in force, to be changed by a reload.
static FILTER: OnceLock<Handle<Targets, Registry>> = OnceLock::new();
/// Lines that one place in the program may write at once: the paths of a client that comes, with room to spare.
const BURST: u32 = 30;
/// And one more in each such time: 14,400 a day, some 2 MB.
const EVERY: Duration = Duration::from_secs(6);

/// Starts logging to standard error: what `filter` says, else `RUST_LOG`, else `info`.
///
/// Under systemd the journal has its own clock, so lines carry no time of their own there.
pub(crate) fn start(filter: Option<&str>, format: LogFormat) -> anyhow::Result<()> {
    let (filter, handle) = reload::Layer::new(parse(filter)?);
    let journal = std::env::var("JOURNAL_STREAM").is_ok_and(|stream| is_stream(std::io::stderr(), &stream));
    let lines = layer().with_writer(std::io::stderr).with_target(false);
    let lines = match (format, journal) {
        (LogFormat::Json, _) => layer().json().with_writer(std::io::stderr).boxed(),
        (LogFormat::Text, true) => lines.without_time().with_ansi(false).boxed(),
        (LogFormat::Text, false) => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
    };
    tracing_subscriber::registry()
        .with(filter)
        .with(Limited::new(lines, std::io::stderr, format))
        .try_init()
        .context("logging cannot be started")?;
    let _ = FILTER.set(handle);
    Ok(())
}

/// A file is the stream of the journal that a variable names (systemd.exec(5), `$JOURNAL_STREAM`). What
/// a desktop or a cron job starts inherits the variable, and may write elsewhere.
fn is_stream(file: impl AsFd, stream: &str) -> bool {
    let Some((device, inode)) = stream.split_once(':') else { return false };
    let file = file.as_fd().try_clone_to_owned().map(File::from);
    file.and_then(|f| f.metadata())
        .is_ok_and(|meta| device.parse::<u64>() == Ok(meta.dev()) && inode.parse::<u64>() == Ok(meta.ino()))
}

/// Changes what is logged.
pub(crate) fn set_filter(filter: Option<&str>) -> anyhow::Result<()> {
    let Some(handle) = FILTER.get() else { return Ok(()) };
    handle.reload(parse(filter)?).context("the log filter cannot be changed")
}

fn parse(filter: Option<&str>) -> anyhow::Result<Targets> {
    let from_environment = std::env::var("RUST_LOG").ok();
    let words = filter.or(from_environment.as_deref()).unwrap_or("info");
    words
        .parse::<Targets>()
        .with_context(|| format!("`{words}` is no log filter; use error, warn, info, debug or trace"))
}

/// Writes lines as `lines` does, but no more than the limit from each place in the program. Who asks for debug or trace gets all of that.
struct Limited<L, W> {
    lines: L,
    writer: W,
    format: LogFormat,
    limit: Mutex<Limit>,
}

impl<L, W> Limited<L, W> {
    fn new(lines: L, writer: W, format: LogFormat) -> Self {
        Limited { lines, writer, format, limit: Mutex::default() }
    }
}

impl<S, L, W> Layer<S> for Limited<L, W>
where
    S: Subscriber,
    L: Layer<S>,
    W: for<'a> MakeWriter<'a> + 'static,
{
    fn on_event(&self, event: &Event<'_>, context: LayerContext<'_, S>) {
        let left_out = if *event.metadata().level() > Level::INFO {
            Some(0)
        } else {
            let mut limit = self.limit.lock().unwrap_or_else(PoisonError::into_inner);
            limit.admit(event.metadata().callsite(), Instant::now())
        };
        let Some(left_out) = left_out else { return };
        self.lines.on_event(event, context);
        if left_out > 0 {
            // Who cannot write a line cannot say so either.
            let _ = self.writer.make_writer().write_all(note(left_out, self.format).as_bytes());
        }
    }
}

fn note(left_out: u64, format: LogFormat) -> String {
    match format {
        LogFormat::Text => {
            format!(" WARN lines like the last that were left out since the one before it: {left_out}\n")
        }
        LogFormat::Json => format!(
            "{{\"level\":\"WARN\",\"fields\":{{\"message\":\"lines like the last were left out\",\"left_out\":{left_out}}}}}\n"
        ),
    }
}

/// What each place in the program, of which there are a few dozen, may write.
#[derive(Default)]
struct Limit(HashMap<Identifier, Account>);

struct Account {
    /// Lines that may follow at once.
    left: u32,
    /// When the last one was credited.
    credited: Instant,
    left_out: u64,
}

impl Limit {
    /// Whether a line may be written; if so, how many were left out since the one before it.
    fn admit(&mut self, place: Identifier, now: Instant) -> Option<u64> {
        let account = self.0.entry(place).or_insert(Account { left: BURST, credited: now, left_out: 0 });
        let credits = now.duration_since(account.credited).as_nanos() / EVERY.as_nanos();
        let credits = u32::try_from(credits).unwrap_or(u32::MAX);
        account.left = account.left.saturating_add(credits).min(BURST);
        account.credited = if account.left == BURST { now } else { account.credited + EVERY * credits };
        if account.left == 0 {
            account.left_out += 1;
            return None;
        }
        account.left -= 1;
        Some(std::mem::take(&mut account.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::Arc;
    use tracing::callsite::Callsite;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What `work` logs at the level `debug`.
    fn logged(work: impl FnOnce()) -> Vec<String> {
        let paper = Paper::default();
        let writer = {
            let paper = paper.clone();
            move || paper.clone()
        };
        let lines = layer().with_writer(writer.clone()).without_time().with_ansi(false);
        let subscriber = tracing_subscriber::registry()
            .with(parse(Some("debug")).unwrap())
            .with(Limited::new(lines, writer, LogFormat::Text));
        tracing::subscriber::with_default(subscriber, work);
        let bytes = paper.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn who_comes_again_and_again_does_not_fill_the_disk() {
        let all = logged(|| {
            for n in 0..100_000 {
                tracing::info!(n, "a device was refused");
            }
            tracing::info!("something else");
        });
        assert_eq!(all.len(), BURST as usize + 1, "{:?}", all.last());
        assert!(all.last().unwrap().contains("something else"));
    }

    #[test]
    fn the_journal_is_known_by_its_stream_not_by_a_variable_that_was_inherited() {
        let (mine, other) = (std::io::pipe().unwrap().0, std::io::pipe().unwrap().0);
        let of = |file: &io::PipeReader| {
            let meta = File::from(file.as_fd().try_clone_to_owned().unwrap()).metadata().unwrap();
            format!("{}:{}", meta.dev(), meta.ino())
        };
        assert!(is_stream(&mine, &of(&mine)));
        assert!(!is_stream(&mine, &of(&other)) && !is_stream(&mine, "") && !is_stream(&mine, "8:x"));
    }

    #[test]
    fn what_a_person_asked_for_is_all_there() {
        assert_eq!(logged(|| (0..1000).for_each(|n| tracing::debug!(n, "detail"))).len(), 1000);
    }

    /// A place in a program.
    struct Place;

    impl Callsite for Place {
        fn set_interest(&self, _: tracing::subscriber::Interest) {}

        fn metadata(&self) -> &tracing::Metadata<'_> {
            unreachable!("only its identity counts")
        }
    }

    #[test]
    fn later_lines_come_as_time_passes_and_say_how_many_were_left_out() {
        static PLACE: Place = Place;
        let (mut limit, start) = (Limit::default(), Instant::now());
        let mut at = |s: f64| limit.admit(Identifier(&PLACE), start + Duration::from_secs_f64(s));
        assert!((0..BURST).all(|_| at(0.0) == Some(0)));
        assert_eq!([at(0.0), at(1.0), at(5.9)], [None; 3]);
        assert_eq!([at(6.1), at(6.2), at(11.9), at(12.1)], [Some(3), None, None, Some(2)]);
        let day = (0..86_400).filter(|s| at(100.0 + f64::from(*s)).is_some()).count();
        assert!((14_400..14_450).contains(&day), "{day}");
        assert!((0..BURST).all(|_| at(200_000.0).is_some()) && at(200_000.0).is_none());
    }
}
