//! `ropewalk setup`: a gateway or a client on this machine by a conversation, and back.
//!
//! | file | what |
//! |---|---|
//! | `gateway`, `client` | what is asked, and what is done with the answers |
//! | `dialogue` | questions with defaults |
//! | `machine` | what is looked up to make the defaults: addresses, networks, ports, firewalls |
//! | `service` | units of systemd |
//! | `record` | what was done, step by step, so that `undo` takes back that and nothing else |

mod client;
mod dialogue;
mod gateway;
mod machine;
mod record;
mod service;

use crate::exit::{Code, failure};
use clap::{Args, Subcommand, ValueEnum};
use record::Record;
use std::path::{Path, PathBuf};

/// `ropewalk setup`.
#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// What to do.
    #[command(subcommand)]
    pub command: SetupCommand,
}

/// What can be set up.
#[derive(Debug, Subcommand)]
pub(crate) enum SetupCommand {
    /// Set up a gateway on this machine and create its first token
    Gateway(Box<gateway::GatewayArgs>),
    /// Set up this machine as a client of a gateway
    Client(Box<client::ClientArgs>),
    /// Undo what `setup` did, and nothing else; or nothing, where something stands against it
    Undo(UndoArgs),
}

/// What all of them take.
#[derive(Clone, Debug, Args)]
pub(crate) struct Common {
    /// Name of the setup: its files are /etc/ropewalk/NAME.toml and /var/lib/ropewalk/NAME
    #[arg(long, value_name = "NAME", default_value = "home", value_parser = setup_name)]
    pub name: String,
    /// Ask nothing: take the default wherever no option answers
    #[arg(long, short)]
    pub yes: bool,
    /// Start by systemd, and with the machine [default: yes where systemd runs]
    #[arg(long, value_name = "ANSWER")]
    pub service: Option<Answer>,
    /// Work below this directory instead of / (for images and tests)
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}

/// `ropewalk setup undo`.
#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// Name of the setup
    #[arg(value_name = "NAME", default_value = "home", value_parser = setup_name)]
    pub name: String,
    /// Also remove files that were changed since, and the state directory if devices have been invited or connected since
    #[arg(long)]
    pub all: bool,
    /// The directory that was given to `setup`
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}

/// An answer given as an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Answer {
    /// Do it.
    Yes,
    /// Do not.
    No,
}

impl Answer {
    fn is_yes(self) -> bool {
        self == Answer::Yes
    }
}

/// Does what the command line says.
pub(crate) fn run(args: Setup) -> anyhow::Result<()> {
    ropewalk_net::privileges::keep_secrets()?;
    match args.command {
        SetupCommand::Gateway(args) => gateway::run(&args),
        SetupCommand::Client(args) => client::run(&args),
        SetupCommand::Undo(args) => undo(&args),
    }
}

fn undo(args: &UndoArgs) -> anyhow::Result<()> {
    let places = Places::new(&args.root, &args.name)?;
    let Some(record) = Record::open(&places)? else {
        let words = format!("there is no setup named {}: nothing to undo", args.name);
        return Err(failure(Code::Usage, words));
    };
    record.undo(&places, args.all)
}

/// Where the files of a setup are.
#[derive(Clone, Debug)]
struct Places {
    root: PathBuf,
    name: String,
}

impl Places {
    fn new(root: &Path, name: &str) -> anyhow::Result<Places> {
        Ok(Places { root: std::path::absolute(root)?, name: name.to_owned() })
    }

    /// A path of the machine, below the root.
    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    fn config(&self) -> PathBuf {
        self.at(&format!("etc/ropewalk/{}.toml", self.name))
    }

    fn token(&self) -> PathBuf {
        self.at(&format!("etc/ropewalk/{}.token", self.name))
    }

    fn state(&self) -> PathBuf {
        self.at(&format!("var/lib/ropewalk/{}", self.name))
    }

    /// Beside the state directory, whose user is not root: whoever may write the record decides what root undoes.
    fn record(&self) -> PathBuf {
        self.at(&format!("var/lib/ropewalk/{}.setup.json", self.name))
    }

    /// Fails before anything is asked if there is something already.
    fn check_free(&self) -> anyhow::Result<()> {
        if !rustix::process::geteuid().is_root() && self.root == Path::new("/") {
            return Err(failure(
                Code::Rights,
                "setup writes to /etc and /var/lib: run it as root (`sudo ropewalk setup …`)",
            ));
        }
        for path in [self.record(), self.config(), self.state()] {
            if path.exists() {
                let (name, path) = (&self.name, path.display());
                let words = format!(
                    "{path} exists: `ropewalk setup undo {name}` takes an earlier setup back, or choose another name with --name NAME"
                );
                return Err(failure(Code::Taken, words));
            }
        }
        Ok(())
    }
}

/// A name that can be a file's and a unit's.
fn setup_name(text: &str) -> Result<String, String> {
    let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let good = (1..=32).contains(&text.len()) && text.bytes().all(letter) && !text.starts_with('-');
    if good { Ok(text.into()) } else { Err("a name has 1 to 32 small letters, digits or '-'".into()) }
}

/// A value of a TOML file.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A list of texts in a TOML file.
fn list<T: ToString>(values: &[T]) -> String {
    let all: Vec<String> = values.iter().map(|v| quoted(&v.to_string())).collect();
    format!("[{}]", all.join(", "))
}

/// An argument as a shell takes it.
fn shell(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-+:@".contains(&b);
    if text.bytes().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files_and_units() {
        for good in ["home", "a", "site-2"] {
            assert_eq!(setup_name(good).as_deref(), Ok(good));
        }
        for bad in ["", "-a", "../x", "A", "a b", "a/b", "a%i", &"x".repeat(33)] {
            assert!(setup_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn arguments_survive_a_shell() {
        assert_eq!(shell(Path::new("/var/lib/ropewalk/home")), "/var/lib/ropewalk/home");
        assert_eq!(shell(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
