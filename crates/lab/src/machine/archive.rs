//! The archive that a kernel takes for its first file system (cpio, "newc"), and in which results come back.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};

use cpio::newc::{Builder, ModeFileType, Reader, trailer};

/// Results may not be larger than that, bytes: captures of a long run.
const MOST: u64 = 1 << 30;

/// An archive that is being written.
pub(super) struct Archive<W> {
    out: W,
    inode: u32,
}

impl<W: Write> Archive<W> {
    pub(super) fn new(out: W) -> Archive<W> {
        Archive { out, inode: 0 }
    }

    fn entry(&mut self, entry: Builder, kind: ModeFileType, bytes: &[u8]) -> io::Result<()> {
        self.inode += 1;
        let length = u32::try_from(bytes.len()).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        let mut writer = entry.ino(self.inode).nlink(1).set_mode_file_type(kind).write(&mut self.out, length);
        writer.write_all(bytes)?;
        writer.finish().map(drop)
    }

    /// A file, behind the directories that lead to it: a kernel makes none by itself.
    pub(super) fn file(&mut self, name: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
        let parents: Vec<&Path> = Path::new(name).ancestors().skip(1).collect();
        for parent in parents.iter().rev().filter(|p| !p.as_os_str().is_empty()) {
            self.directory(&parent.to_string_lossy())?;
        }
        self.entry(Builder::new(name).mode(mode), ModeFileType::Regular, bytes)
    }

    pub(super) fn directory(&mut self, name: &str) -> io::Result<()> {
        self.entry(Builder::new(name).mode(0o755), ModeFileType::Directory, &[])
    }

    pub(super) fn link(&mut self, name: &str, to: &str) -> io::Result<()> {
        self.entry(Builder::new(name).mode(0o777), ModeFileType::Symlink, to.as_bytes())
    }

    pub(super) fn device(&mut self, name: &str, (major, minor): (u32, u32)) -> io::Result<()> {
        let entry = Builder::new(name).mode(0o600).rdev_major(major).rdev_minor(minor);
        self.entry(entry, ModeFileType::Char, &[])
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        trailer(&mut self.out)?;
        self.out.flush()
    }
}

/// The files of an archive, by name; none if it is not whole, or not what a machine sends.
pub(super) fn read(from: impl Read) -> Option<BTreeMap<PathBuf, Vec<u8>>> {
    let mut rest = BufReader::new(from.take(MOST));
    let mut files = BTreeMap::new();
    loop {
        let mut reader = Reader::new(rest).ok()?;
        let entry = reader.entry();
        if entry.is_trailer() {
            return Some(files);
        }
        let name = PathBuf::from(entry.name());
        // A file is written below a directory of the user's: its name leads nowhere else.
        if !name.components().all(|c| matches!(c, Component::Normal(_))) {
            return None;
        }
        let is_file = entry.mode() & 0o170_000 == u32::from(ModeFileType::Regular);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).ok()?;
        if is_file {
            files.insert(name, bytes);
        }
        rest = reader.finish().ok()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(name: &str, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut archive = Archive::new(&mut out);
        archive.file(name, 0o644, bytes).unwrap();
        archive.link("var/run", "/run").unwrap();
        archive.device("dev/console", (5, 1)).unwrap();
        archive.finish().unwrap();
        out
    }

    #[test]
    fn what_is_written_is_read_and_only_whole() {
        let whole = archive("a/b/report.json", &[7; 4099]);
        let files = read(&whole[..]).unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), [Path::new("a/b/report.json")]);
        assert_eq!(files[Path::new("a/b/report.json")], [7; 4099]);
        for cut in [0, 1, 100, 500, 4000, whole.len() - 200] {
            assert_eq!(read(&whole[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        assert!(read(&archive("a/../../etc/passwd", &[])[..]).is_none());
        assert!(read(&archive("/etc/passwd", &[])[..]).is_none());
    }
}
