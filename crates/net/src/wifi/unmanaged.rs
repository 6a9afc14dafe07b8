//! NetworkManager keeps off interfaces that are ours.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::command::Tool;
use crate::setup::{Change, Journal, SetupError};

/// NetworkManager keeps its state here while it runs.
const STATE: &str = "/run/NetworkManager";
/// Where it reads settings from that last until the next boot (`NetworkManager.conf(5)`).
const DIRECTORY: &str = "/run/NetworkManager/conf.d";
const NMCLI: Tool =
    Tool { program: "nmcli", purpose: "keeping NetworkManager off stations", package: "network-manager" };

/// Interfaces that NetworkManager does not touch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmanaged {
    /// What their names begin with.
    pub prefix: String,
}

/// Has NetworkManager, if it runs here, keep off interfaces whose names begin with `prefix`, before there are any.
///
/// # Errors
/// Its directory cannot be written.
pub fn keep_others_off(journal: &mut Journal, prefix: &str) -> Result<(), SetupError> {
    if !Path::new(STATE).exists() {
        return Ok(());
    }
    journal.make(Change::Unmanaged(Unmanaged { prefix: prefix.into() }))
}

impl Unmanaged {
    pub(crate) fn add(&self) -> Result<(), SetupError> {
        let path = self.path();
        let text = format!(
            "# Made by ropewalk, and removed by it.\n[device-ropewalk-{0}]\nmatch-device=interface-name:{0}*\nmanaged=0\n",
            self.prefix
        );
        let written = std::fs::create_dir_all(DIRECTORY).and_then(|()| std::fs::write(&path, text));
        written.map_err(|e| SetupError::system(format!("writing {}", path.display()), e))?;
        reload();
        Ok(())
    }

    pub(crate) fn delete(&self) -> Result<(), SetupError> {
        match std::fs::remove_file(self.path()) {
            Ok(()) => reload(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(SetupError::system(format!("removing {}", self.path().display()), e)),
        }
        Ok(())
    }

    fn path(&self) -> PathBuf {
        let plain: String = self.prefix.chars().filter(char::is_ascii_alphanumeric).collect();
        Path::new(DIRECTORY).join(format!("90-ropewalk-{plain}.conf"))
    }
}

fn reload() {
    if let Err(error) = NMCLI.run(&["general", "reload", "conf"], "") {
        tracing::warn!("{error}: NetworkManager may take our stations for its own");
    }
}
