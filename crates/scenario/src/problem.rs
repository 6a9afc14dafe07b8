//! What is wrong with a scenario: where, which key, why, and what to do.

use crate::tree::Origin;
use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it was written.
    pub origin: Origin,
    /// The key, dotted, as `--set` takes it; empty if it concerns no key.
    pub key: String,
    /// What is wrong and what to do, one sentence.
    pub sentence: String,
}

/// All that is wrong with a scenario, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems {
    /// The file, as it was named.
    pub file: String,
    /// At least one.
    pub list: Vec<Problem>,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.list.iter().enumerate() {
            let place = match &problem.origin {
                Origin::Line(0) => self.file.clone(),
                Origin::Line(line) => format!("{}:{line}", self.file),
                Origin::Given(text) => text.to_string(),
            };
            let colon = if problem.key.is_empty() { "" } else { ": " };
            let (key, sentence) = (&problem.key, &problem.sentence);
            f.write_str(if i == 0 { "" } else { "\n" })?;
            f.write_str(&shown(&format!("{place}{colon}{key}: {sentence}")))?;
        }
        Ok(())
    }
}

/// What is wrong with a text that has some.
pub(crate) const COMMANDS: &str = "a terminal obeys control characters; write this text without them";

/// Whether a terminal may do something other than show this.
pub(crate) fn is_command(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\r' | '\t')
}

/// What somebody else wrote, for a terminal.
fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_command(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// The known name that is most like `name`, if any is.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase().replace('_', "-");
    // One slip of the finger is near, however short the name.
    let like = |k: &str| match strsim::osa_distance(&name, &k.to_lowercase()) {
        1 => 0.95,
        _ => strsim::jaro_winkler(&name, &k.to_lowercase()),
    };
    let best = known.into_iter().map(|k| (like(k), k)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.75).then_some(best.1)
}

/// "; did you mean `x`?", or all that is known: the second half of a sentence about an unknown name.
pub fn remedy<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(name, known.clone()) {
        return format!("did you mean `{near}`?");
    }
    let known: Vec<&str> = known.into_iter().collect();
    match known.len() {
        0 => "there is none".into(),
        1..=24 => format!("known are {}", known.join(", ")),
        n => format!("known are {} and {} more", known[..24].join(", "), n - 24),
    }
}
