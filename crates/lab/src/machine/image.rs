//! The image that a machine boots: programs with the libraries that they are linked to, kernel modules, and its task.
//!
//! The same programs and the same task give the same bytes: files are in the order of their names and have no times.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::archive::Archive;
use super::modules::Modules;
use super::{FILES, Machine, TASK, Task};
use crate::{LabError, Result};

/// Programs of the system that the lab and its bonds run, where they are installed; inside, what is missing is said.
const SYSTEM: [&str; 2] = ["ip", "nft"];
/// Kernel modules, where the kernel has them as modules: those of the lab, of the tunnel, and the way out.
const MODULES: [&str; 12] = [
    "crc32c_generic",
    "tun",
    "veth",
    "nf_tables",
    "nft_chain_nat",
    "nft_masq",
    "nft_ct",
    "sch_tbf",
    "sch_fq_codel",
    "tcp_bbr",
    "virtio_pci",
    "virtio_console",
];
const DIRECTORIES: [&str; 9] = ["bin", "dev", "etc", "modules", "proc", "run", "sys", "tmp", "var"];

/// Writes the image of a machine.
pub(super) fn write(machine: &Machine, to: &mut File) -> Result<()> {
    let failed = LabError::kernel("write the machine's image");
    let modules = Modules::below(&machine.source.modules).load(&MODULES)?;
    let mut contents = programs(&machine.program)?;
    let paths = modules.iter().map(|(name, _)| Path::new("/modules").join(name)).collect();
    let task = Task { words: machine.words.clone(), modules: paths };
    let task = serde_json::to_vec(&task).map_err(std::io::Error::from);
    let task = task.map_err(LabError::kernel("write the machine's task"))?;
    contents.extend(modules.into_iter().map(|(name, bytes)| (format!("modules/{name}"), bytes)));
    let files = machine.files.iter().cloned();
    contents.extend(files.map(|(name, bytes)| (format!("{}/{name}", &FILES[1..]), bytes)));
    contents.insert(TASK[1..].to_owned(), task);
    let write = || {
        let mut archive = Archive::new(BufWriter::new(to));
        DIRECTORIES.iter().try_for_each(|name| archive.directory(name))?;
        archive.link("var/run", "/run")?;
        archive.device("dev/console", (5, 1))?;
        contents.iter().try_for_each(|(name, bytes)| archive.file(name, 0o755, bytes))?;
        archive.finish()
    };
    write().map_err(failed)
}

/// Programs and libraries by their names in the image.
fn programs(own: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut contents = BTreeMap::new();
    for program in SYSTEM.iter().filter_map(|name| find(name)).chain([own.to_path_buf()]) {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        contents.insert(format!("bin/{name}"), read(&program)?);
        for library in libraries(&program)? {
            if let Entry::Vacant(place) = contents.entry(library.to_string_lossy()[1..].to_owned()) {
                place.insert(read(&library)?);
            }
        }
    }
    Ok(contents)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = fs::read(path).map_err(LabError::kernel(format!("read {}", path.display())))?;
    cut(&mut bytes);
    Ok(bytes)
}

/// Leaves of a program what is loaded. Symbols and lines for debuggers are three quarters of a program, and follow it.
fn cut(bytes: &mut Vec<u8>) {
    let Some(end) = loaded(bytes).filter(|end| *end <= bytes.len()) else { return };
    bytes.truncate(end);
    // Where the table of sections is, and how many there are: it was behind.
    bytes[0x28..0x30].fill(0);
    bytes[0x3c..0x40].fill(0);
}

/// Where the last segment of a program ends in its file; none if it is no ELF of 64 bits and little end first.
fn loaded(bytes: &[u8]) -> Option<usize> {
    let number = |at: usize, length: usize| -> Option<usize> {
        let bytes = bytes.get(at..at.checked_add(length)?)?;
        usize::try_from(bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))).ok()
    };
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, entry, entries) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
    let end_of = |i: usize| {
        let at = table.checked_add(i * entry)?;
        number(at.checked_add(0x08)?, 8)?.checked_add(number(at.checked_add(0x20)?, 8)?)
    };
    let ends: Vec<usize> = (0..entries).map(end_of).collect::<Option<_>>()?;
    ends.into_iter().chain([table.checked_add(entries * entry)?, 0x40]).max()
}

/// A program of the system.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(usual).map(|directory| directory.join(name)).find(|p| p.is_file())
}

/// The libraries that a program is linked to, and its loader.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let asked = Command::new("ldd").arg(program).output();
    let said = asked.map_err(|source| LabError::Run { program: "ldd".to_owned(), source })?;
    // Of a program that is linked to none ldd complains, and prints no path.
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let is_path = |word: &&str| word.starts_with('/') && !word.ends_with(':');
    Ok(text.split_whitespace().filter(is_path).map(PathBuf::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_program_still_runs() {
        let whole = fs::read(std::env::current_exe().unwrap()).unwrap();
        let mut left = whole.clone();
        cut(&mut left);
        assert!(left.len() < whole.len(), "{} of {}", left.len(), whole.len());
        let path = std::env::temp_dir().join(format!("ropewalk-cut-{}", std::process::id()));
        fs::write(&path, &left).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let run = Command::new(&path).arg("--list").output().unwrap();
        fs::remove_file(&path).unwrap();
        assert!(run.status.success() && String::from_utf8_lossy(&run.stdout).contains("still_runs"));
    }

    #[test]
    fn what_is_no_program_stays_as_it_is() {
        let mut header = b"\x7fELF\x02\x01".to_vec();
        header.resize(64, 0xff);
        for mut bytes in [Vec::new(), b"#!/bin/sh".to_vec(), b"\x7fELF\x02\x01".to_vec(), header] {
            let before = bytes.clone();
            cut(&mut bytes);
            assert_eq!(bytes, before);
        }
    }

    #[test]
    fn an_image_is_equal_to_the_next() {
        let machine = |files: &[(&str, &str)]| Machine {
            source: super::super::Source { kernel: PathBuf::new(), modules: PathBuf::from("/nowhere") },
            program: find("ls").unwrap(),
            files: files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect(),
            words: vec!["lab".to_owned()],
            seed: 1,
            patience: std::time::Duration::ZERO,
        };
        let image = |files: &[(&str, &str)]| {
            let mut host_files = super::super::emulator::HostFiles::new().unwrap();
            write(&machine(files), &mut host_files.image).unwrap();
            std::io::Seek::rewind(&mut host_files.image).unwrap();
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut host_files.image, &mut bytes).unwrap();
            bytes
        };
        let ab = [("a", "1"), ("b/c", "2")];
        assert_eq!(image(&ab), image(&[ab[1], ab[0]]));
        assert_ne!(image(&ab), image(&[ab[0], ("b/c", "3")]));
        let read = super::super::archive::read(&image(&ab)[..]).unwrap();
        assert_eq!(read[Path::new("files/b/c")], b"2");
        assert!(read.contains_key(Path::new("bin/ls")) && read.contains_key(Path::new("task.json")));
    }
}
