//! A node: where its programs and sockets are.

use std::ffi::OsStr;
use std::process::Command;
use std::thread::JoinHandle;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::{LabError, Namespace, Result};

/// A node of a live scenario. Clones are handles of the same one.
#[derive(Debug, Clone)]
pub struct Node {
    name: String,
    namespace: Namespace,
}

impl Node {
    pub(super) fn new(name: &str, namespace: Namespace) -> Node {
        Node { name: name.to_owned(), namespace }
    }

    /// Its name in the scenario.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its namespace, with [`Namespace::spawn`], [`Namespace::exec`] and the like.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Runs `work` to its end on a thread inside the node. Sockets that it opens belong to the node for good, whichever thread uses them.
    ///
    /// # Errors
    /// The namespace cannot be entered.
    pub fn enter<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R> {
        self.namespace.run(work)
    }

    /// Starts a thread that lives inside the node. Threads must end before the lab is stopped: nobody stops them.
    ///
    /// # Errors
    /// The thread cannot be started. If the namespace cannot be entered the thread's own result says so.
    pub fn spawn<R: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<JoinHandle<Result<R>>> {
        let inside = self.namespace.clone();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                move_into_link_name_space(inside.as_fd(), Some(LinkNameSpaceType::Network))
                    .map_err(LabError::kernel(format!("enter namespace {}", inside.name())))?;
                Ok(work())
            })
            .map_err(LabError::kernel(format!("start the thread {name}")))
    }

    /// A command that will run inside the node. Start it with [`Namespace::spawn`] of [`Node::namespace`], so that it ends with its handle.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        self.namespace.command(program)
    }
}
