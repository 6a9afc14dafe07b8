//! What is wrong with a file, where, and what to do.

use std::fmt;
use std::path::Path;

/// A sentence with file and line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) struct ConfigError {
    place: String,
    sentence: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.sentence)
    }
}

impl ConfigError {
    pub(super) fn unreadable(path: &Path, error: std::io::Error) -> ConfigError {
        ConfigError {
            place: path.display().to_string(),
            sentence: format!("the file cannot be read: {error}"),
        }
    }

    /// About the line where `key` is set first.
    pub(super) fn about(path: &Path, text: &str, key: &str, sentence: String) -> ConfigError {
        let sets = |line: &str| {
            line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
        };
        let line = text.lines().position(sets).map(|n| n + 1);
        ConfigError { place: place(path, line), sentence }
    }

    pub(super) fn from_toml(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map(|b| b.matches('\n').count() + 1);
        ConfigError { place: place(path, line), sentence: sentence(error.message()) }
    }
}

fn place(path: &Path, line: Option<usize>) -> String {
    match line {
        Some(line) => format!("{}, line {line}", path.display()),
        None => path.display().to_string(),
    }
}

/// The parser's message, and the remedy for those that have one.
fn sentence(message: &str) -> String {
    let message = message.trim().replace('\n', " ");
    let Some(rest) = message.strip_prefix("unknown field `") else { return message };
    let mut names = rest.split('`').step_by(2);
    let (unknown, known): (&str, Vec<&str>) = (names.next().unwrap_or(""), names.collect());
    match nearest(unknown, &known) {
        Some(near) => format!("there is no key `{unknown}` here; did you mean `{near}`?"),
        None => format!("there is no key `{unknown}` here; known are {}", known.join(", ")),
    }
}

/// The known name that is most like `name`, if any is.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let like = |k: &str| strsim::jaro_winkler(&name.replace('_', "-"), k);
    let best = known.iter().max_by(|a, b| like(a).total_cmp(&like(b)))?;
    (like(best) > 0.75).then_some(*best)
}
