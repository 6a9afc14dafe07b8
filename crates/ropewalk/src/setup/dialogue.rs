//! Questions with defaults. Answers come from standard input, and everything is said on standard
//! error, so that a token alone goes to standard output.

use crate::exit::{Code, failure};
use anyhow::Context;
use std::fmt::Display;
use std::io::BufRead;
use std::str::FromStr;

/// Longest answer, bytes: a token has 4096 at most.
const ANSWER_MAX: u64 = 8192;

/// A conversation.
pub(super) struct Dialogue {
    /// Nobody is asked.
    yes: bool,
}

impl Dialogue {
    pub(super) fn new(yes: bool) -> Dialogue {
        Dialogue { yes }
    }

    /// Nobody is asked.
    pub(super) fn is_silent(&self) -> bool {
        self.yes
    }

    /// Says a line.
    pub(super) fn say(&self, words: &str) {
        eprintln!("{words}");
    }

    /// A yes or no: what an option says, else what is answered.
    pub(super) fn confirm(
        &self,
        question: &str,
        given: Option<super::Answer>,
        default: bool,
    ) -> anyhow::Result<bool> {
        if let Some(given) = given {
            return Ok(given.is_yes());
        }
        if self.yes {
            return Ok(default);
        }
        loop {
            let choice = if default { "Y/n" } else { "y/N" };
            match self.line(&format!("{question} [{choice}]"))?.to_ascii_lowercase().as_str() {
                "" => return Ok(default),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => self.say("  Please answer y or n."),
            }
        }
    }

    /// A value: what an option says, else what is answered, else the default.
    pub(super) fn value<T>(&self, question: &str, given: Option<T>, default: T) -> anyhow::Result<T>
    where
        T: FromStr + Display,
        T::Err: Display,
    {
        if let Some(given) = given {
            return Ok(given);
        }
        if self.yes {
            return Ok(default);
        }
        loop {
            let answer = self.line(&format!("{question} [{default}]"))?;
            if answer.is_empty() {
                return Ok(default);
            }
            match answer.parse() {
                Ok(value) => return Ok(value),
                Err(why) => self.say(&format!("  {answer}: {why}")),
            }
        }
    }

    /// Values with blanks or commas between; none by default.
    pub(super) fn values<T>(&self, question: &str, given: &[T]) -> anyhow::Result<Vec<T>>
    where
        T: FromStr + Clone,
        T::Err: Display,
    {
        if !given.is_empty() || self.yes {
            return Ok(given.to_vec());
        }
        loop {
            let answer = self.line(&format!("{question} [none]"))?;
            let words = answer.split([' ', ',']).filter(|w| !w.is_empty());
            let values = words.map(|word| word.parse::<T>().map_err(|why| format!("{word}: {why}")));
            match values.collect::<Result<Vec<T>, String>>() {
                Ok(values) => return Ok(values),
                Err(why) => self.say(&format!("  {why}")),
            }
        }
    }

    /// A line that has to be there.
    pub(super) fn line(&self, question: &str) -> anyhow::Result<String> {
        eprint!("{question}: ");
        let mut answer = String::new();
        let mut input = std::io::Read::take(std::io::stdin().lock(), ANSWER_MAX);
        let read = input.read_line(&mut answer).context("the answer cannot be read")?;
        if read == 0 {
            eprintln!();
            let words = "there is nobody to answer: --yes takes the defaults, and each answer is an option, too (--help)";
            return Err(failure(Code::Usage, words));
        }
        Ok(answer.trim().to_owned())
    }
}
