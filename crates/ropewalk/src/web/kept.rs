//! The minutes of each path on disk, so that a day outlives the page's process.
//!
//! The file is in the daemon's state directory, and this process alone writes it: every five
//! minutes, since a flash wears, and at the end. Where the directory is another user's (root looks
//! at somebody's bond), nothing is left there.

use super::feed::Shared;
use super::rings::{Kept, Rings};
use crate::state::StateDir;
use crate::state::saver::Saver;
use anyhow::Context;

const FILE: &str = "web.json";
/// Most bytes of it; what [`Rings`] can hold takes less.
const MOST: u64 = 8 << 20;
/// How often it is written, seconds: so much is lost when the machine loses power.
pub(super) const EVERY: u64 = 300;

/// Takes up what an earlier process kept. `now` is seconds since 1970.
pub(super) fn take_up(shared: &Shared, now: u32) {
    if is_own(&shared.dir) {
        *shared.rings() = read(&shared.dir, now);
    }
}

/// Keeps the minutes from now on. It has to be called on a thread that has given up its rights
/// already: the one that writes inherits them.
pub(super) fn start(shared: &std::sync::Arc<Shared>) {
    if !is_own(&shared.dir) {
        return eprintln!(
            "ropewalk: the state directory is another user's, so the day is not kept when this ends"
        );
    }
    let rings = shared.rings_to_keep();
    let contents = move || serde_json::to_vec(&super::feed::lock(&rings).kept());
    let saver = Saver::start(shared.dir.clone(), FILE, contents);
    match saver.and_then(|saver| saver.save_now().map(|()| saver)) {
        Ok(saver) => shared.keep_by(saver),
        Err(error) => eprintln!("ropewalk: the day will not be kept when this ends: {error:#}"),
    }
}

/// What the file says. One that is damaged is put aside, for whoever wants to see what happened to
/// it.
fn read(dir: &StateDir, now: u32) -> Rings {
    let kept = dir.read_at_most(FILE, MOST).and_then(|text| {
        let Some(text) = text else { return Ok(Rings::default()) };
        let kept: Kept = serde_json::from_str(&text).context("it is no JSON of this kind")?;
        Rings::restore(kept, now).map_err(anyhow::Error::msg)
    });
    kept.unwrap_or_else(|error| {
        let place = dir.path().join(FILE);
        let aside = match dir.put_aside(FILE) {
            Ok(name) => format!("it is {name} now"),
            Err(error) => format!("and cannot be renamed ({error})"),
        };
        eprintln!("ropewalk: {} is damaged ({error:#}); {aside}, and the day begins anew", place.display());
        Rings::default()
    })
}

/// Whether the directory is this user's, so that something may be left there.
pub(super) fn is_own(dir: &StateDir) -> bool {
    dir.owner().is_ok_and(|owner| owner == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::Scratch;
    use crate::web::past::Span;
    use crate::web::rings::{PATHS, Point};

    const NOW: u32 = 10_000 * 60;

    fn day() -> Rings {
        let mut rings = Rings::default();
        for minute in 0..3 * 24 * 60 {
            for path in ["wan1", "wan2"] {
                let point = Point { up: 1e9 / 3.0, down: 0.25, rtt: f32::NAN, loss: 100.0 / 3.0 };
                rings.add("gateway", path, NOW - (3 * 24 * 60 - minute) * 60, point);
            }
        }
        rings
    }

    fn write(dir: &StateDir, rings: &Rings) {
        dir.write(FILE, &serde_json::to_vec(&rings.kept()).unwrap()).unwrap();
    }

    fn minutes(rings: &Rings) -> serde_json::Value {
        serde_json::to_value(rings.of("gateway", Span::Minutes)).unwrap()
    }

    #[test]
    fn a_day_is_as_it_was() {
        let (scratch, day) = (Scratch::new(), day());
        write(&scratch.0, &day);
        let again = read(&scratch.0, NOW);
        let (before, after) = (minutes(&day), minutes(&again));
        assert_eq!(after.as_array().unwrap().len(), 2);
        for k in 0..2 {
            let [before, after] = [&before[k], &after[k]];
            let (old, new) = (before["t"].as_array().unwrap(), after["t"].as_array().unwrap());
            // The minute under way is no point yet, and the last one of the day may be over by now.
            assert!(new.len() > 1430 && old.ends_with(new), "{} {}", old.len(), new.len());
            let last = |v: &serde_json::Value, key: &str| v[key].as_array().unwrap().last().unwrap().clone();
            for key in ["up", "rtt", "loss"] {
                match (last(before, key).as_f64(), last(after, key).as_f64()) {
                    (None, None) => {}
                    (a, b) => assert!((a.unwrap() / b.unwrap() - 1.0).abs() < 1e-3, "{key} {a:?} {b:?}"),
                }
            }
        }
        let later = minutes(&read(&scratch.0, NOW + 12 * 3600));
        let left = later[0]["t"].as_array().unwrap().len();
        assert!((700..=720).contains(&left), "what is older than a day is gone: {left}");
        assert!(read(&scratch.0, NOW + 2 * 86_400).of("gateway", Span::Minutes).is_empty());
        assert!(read(&scratch.0, 60).of("gateway", Span::Minutes).is_empty(), "of the future");
    }

    #[test]
    fn the_file_is_bounded() {
        let mut rings = Rings::default();
        for path in 0..PATHS + 9 {
            for minute in 0..1500 {
                let point = Point { up: 8.76e11, down: 8.76e11, rtt: 1234.567, loss: 99.123 };
                rings.add(&format!("a-client-with-a-name-{path}"), "192.0.2.1:40000", minute * 60, point);
            }
        }
        let bytes = serde_json::to_vec(&rings.kept()).unwrap().len() as u64;
        assert!((1 << 20..MOST).contains(&bytes), "{bytes}");
    }

    #[test]
    fn what_is_damaged_is_put_aside() {
        let scratch = Scratch::new();
        let good = serde_json::to_string(&day().kept()).unwrap();
        let cut = &good[..good.len() / 2];
        let long = " ".repeat(MOST as usize + 1);
        let bad = [
            "",
            cut,
            &long,
            r#"{"version":9,"paths":[]}"#,
            r#"{"version":1,"paths":[{"peer":"p","path":"w","t":[2,1],"up":[1,1],"down":[1,1],"rtt":[1,1],"loss":[1,1]}]}"#,
            r#"{"version":1,"paths":[{"peer":"p","path":"w","t":[1,2],"up":[1],"down":[1,1],"rtt":[1,1],"loss":[1,1]}]}"#,
            r#"{"version":1,"paths":[{"peer":"p","path":"w","t":[1],"up":[-1],"down":[1],"rtt":[1],"loss":[1]}]}"#,
        ];
        for text in bad {
            scratch.0.write(FILE, text.as_bytes()).unwrap();
            assert!(minutes(&read(&scratch.0, NOW)).as_array().unwrap().is_empty());
            assert!(scratch.0.read(FILE).unwrap().is_none(), "{text:.80}");
            assert_eq!(scratch.0.read("web.json.bad").unwrap().unwrap().len(), text.len(), "{text:.80}");
        }
        write(&scratch.0, &day());
        assert!(!minutes(&read(&scratch.0, NOW)).as_array().unwrap().is_empty());
    }
}
