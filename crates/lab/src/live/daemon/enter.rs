//! Running programs inside nodes of a lab that another process holds; labs without root.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use super::About;
use crate::{LabError, Result};

/// A command that will run inside a node. Of a lab without root it also enters the lab's user and mount namespaces.
///
/// # Errors
/// There is no such node, or the lab is another user's.
pub fn command(about: &About, node: &str, program: impl AsRef<OsStr>) -> Result<Command> {
    let found = about.nodes.iter().find(|n| n.name == node);
    let known = || about.nodes.iter().map(|n| n.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = found.ok_or_else(|| LabError::NoNode { name: node.to_owned(), known: known() })?;
    let process = format!("/proc/{}", about.pid);
    let open = |path: String| File::open(&path).map_err(LabError::kernel(format!("open {path}")));
    let mut doors = Vec::new();
    let user = std::fs::read_link(format!("{process}/ns/user")).ok();
    if user != std::fs::read_link("/proc/self/ns/user").ok() {
        doors.push((open(format!("{process}/ns/user"))?, LinkNameSpaceType::User));
        doors.push((open(format!("{process}/ns/mnt"))?, LinkNameSpaceType::Mount));
    }
    let namespace = open(format!("{process}/root/run/netns/{}", found.namespace))?;
    doors.push((namespace, LinkNameSpaceType::Network));
    let mut command = Command::new(program);
    // SAFETY: between fork and exec the closure does system calls, and neither allocates nor locks.
    unsafe {
        command.pre_exec(move || {
            for (door, kind) in &doors {
                move_into_link_name_space(door.as_fd(), Some(*kind))?;
            }
            Ok(())
        });
    }
    Ok(command)
}

/// Lets a command start in user, mount and network namespaces of its own, in which it is root: a lab without root. Its `/run` is empty. If the command
/// takes the place of this process, this process must have one thread.
pub fn own_namespaces(command: &mut Command) {
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let maps = [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("0 {uid} 1")),
        ("gid_map", format!("0 {gid} 1")),
    ];
    // SAFETY: between fork and exec the closure does system calls on strings that were made before; the child has one thread, as
    // unshare asks. Opening a file allocates a C string in a child of a process whose other threads hold no allocator lock at this time: the
    // caller has one thread.
    unsafe {
        command.pre_exec(move || {
            unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWNET)?;
            for (file, text) in &maps {
                std::fs::write(format!("/proc/self/{file}"), text)?;
            }
            rustix::mount::mount_change(
                "/",
                rustix::mount::MountPropagationFlags::REC | rustix::mount::MountPropagationFlags::PRIVATE,
            )?;
            rustix::mount::mount("tmpfs", "/run", "tmpfs", rustix::mount::MountFlags::empty(), None)?;
            Ok(())
        });
    }
}
