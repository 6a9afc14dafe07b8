//! bpf(2). Attributes are the words of `union bpf_attr` (include/uapi/linux/bpf.h), written at
//! their places.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Commands.
const MAP_CREATE: i64 = 0;
const MAP_LOOKUP: i64 = 1;
const MAP_UPDATE: i64 = 2;
const MAP_DELETE: i64 = 3;
const MAP_NEXT_KEY: i64 = 4;
const PROG_LOAD: i64 = 5;
const OBJ_PIN: i64 = 6;
const OBJ_GET: i64 = 7;
const PROG_TEST_RUN: i64 = 10;
const PROG_QUERY: i64 = 16;
const BTF_LOAD: i64 = 18;
const LINK_CREATE: i64 = 28;
/// Attach type of a link to a struct of functions.
const BPF_STRUCT_OPS: u32 = 44;
/// Attach type of a program that sees what arrives by an interface.
const BPF_TCX_INGRESS: u32 = 46;
/// What the verifier says is cut at this length, bytes.
const LOG: usize = 1 << 20;

/// `union bpf_attr`; what is not written is 0.
#[derive(Clone)]
pub(crate) struct Attr([u64; 20]);

impl Attr {
    fn new() -> Attr {
        Attr([0; 20])
    }

    fn word(mut self, at: usize, value: u32) -> Attr {
        let shift = if cfg!(target_endian = "little") { at % 8 * 8 } else { 32 - at % 8 * 8 };
        self.0[at / 8] |= u64::from(value) << shift;
        self
    }

    fn fd(self, at: usize, fd: BorrowedFd<'_>) -> Attr {
        self.word(at, fd.as_raw_fd() as u32)
    }

    fn pointer<T>(mut self, at: usize, to: *const T) -> Attr {
        self.0[at / 8] = to as u64;
        self
    }

    fn name(mut self, at: usize, name: &str) -> Attr {
        let mut text = [0_u8; 16];
        for (to, from) in text.iter_mut().take(15).zip(name.bytes()) {
            *to = from;
        }
        for (i, half) in text.chunks_exact(8).enumerate() {
            self.0[at / 8 + i] = u64::from_ne_bytes(half.try_into().expect("eight bytes"));
        }
        self
    }

    /// Does it. What the pointers in it lead to has to live, and to be as long as the command says.
    fn call(&self, command: i64) -> io::Result<i32> {
        self.clone().call_and_read(command)
    }

    /// The same, where the kernel writes into the words.
    fn call_and_read(&mut self, command: i64) -> io::Result<i32> {
        let length = std::mem::size_of_val(&self.0);
        // SAFETY: the kernel reads and writes so many bytes of an array that is ours, and what its
        // pointers lead to lives in each caller.
        let answer = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), length) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as i32) }
    }

    /// The word at a place.
    fn read(&self, at: usize) -> u32 {
        let shift = if cfg!(target_endian = "little") { at % 8 * 8 } else { 32 - at % 8 * 8 };
        (self.0[at / 8] >> shift) as u32
    }

    fn open(&self, command: i64) -> io::Result<OwnedFd> {
        // SAFETY: what these commands answer is a descriptor that is nobody else's.
        self.call(command).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

/// What a map is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewMap<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: u32,
    pub(crate) key_size: u32,
    pub(crate) value_size: u32,
    pub(crate) entries: u32,
    pub(crate) flags: u32,
    /// Types of key and value in the object's BTF.
    pub(crate) types: (BorrowedFd<'a>, u32, u32),
    /// Type of the value in the kernel's BTF.
    pub(crate) kernel_type: u32,
}

pub(crate) fn create_map(map: NewMap<'_>) -> io::Result<OwnedFd> {
    let attr = Attr::new()
        .word(0, map.kind)
        .word(4, map.key_size)
        .word(8, map.value_size)
        .word(12, map.entries)
        .word(16, map.flags)
        // Two words of name lie at 28: byte by byte, as it is not a multiple of eight.
        .word(60, map.kernel_type);
    let attr = map.name.bytes().take(15).enumerate().fold(attr, |attr, (i, byte)| {
        let at = 28 + i;
        let shift = if cfg!(target_endian = "little") { at % 4 * 8 } else { 24 - at % 4 * 8 };
        attr.word(at / 4 * 4, u32::from(byte) << shift)
    });
    let (btf, key, value) = map.types;
    attr.fd(48, btf).word(52, key).word(56, value).open(MAP_CREATE)
}

pub(crate) fn load_btf(btf: &[u8]) -> io::Result<OwnedFd> {
    Attr::new().pointer(0, btf.as_ptr()).word(16, btf.len() as u32).open(BTF_LOAD)
}

/// What a program is to be.
#[derive(Clone, Copy)]
pub(crate) struct NewProgram<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    pub(crate) code: &'a [u8],
    pub(crate) btf: BorrowedFd<'a>,
    /// The kernel's struct, and which of its members.
    pub(crate) member: Option<(u32, u32)>,
    pub(crate) functions: &'a crate::object::Records,
    pub(crate) relocations: &'a crate::object::Records,
}

/// Loads a program; refused, with what the verifier said.
pub(crate) fn load_program(p: NewProgram<'_>) -> Result<OwnedFd, (io::Error, String)> {
    let (structure, member) = p.member.unwrap_or_default();
    let attr = Attr::new()
        .word(0, p.kind)
        .word(4, (p.code.len() / 8) as u32)
        .pointer(8, p.code.as_ptr())
        .pointer(16, c"GPL".as_ptr())
        .word(44, p.flags)
        .name(48, p.name)
        .word(68, member)
        .fd(72, p.btf)
        .word(76, p.functions.each)
        .pointer(80, p.functions.bytes.as_ptr())
        .word(88, p.functions.count())
        .word(108, structure)
        .word(116, p.relocations.count())
        .pointer(128, p.relocations.bytes.as_ptr())
        .word(136, p.relocations.each);
    let first = match attr.open(PROG_LOAD) {
        Ok(fd) => return Ok(fd),
        Err(e) => e,
    };
    // Once more, to hear why.
    let mut log = vec![0_u8; LOG];
    let attr = attr.word(24, 1).word(28, LOG as u32).pointer(32, log.as_mut_ptr());
    match attr.open(PROG_LOAD) {
        Ok(fd) => Ok(fd),
        Err(_) => {
            let end = log.iter().position(|b| *b == 0).unwrap_or(LOG);
            Err((first, String::from_utf8_lossy(&log[..end]).into_owned()))
        }
    }
}

/// Registers what a map of functions holds.
pub(crate) fn link(map: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Attr::new().fd(0, map).word(8, BPF_STRUCT_OPS).open(LINK_CREATE)
}

/// Has a program see what arrives by an interface, as long as what is returned is open.
pub(crate) fn link_ingress(program: BorrowedFd<'_>, interface: u32) -> io::Result<OwnedFd> {
    Attr::new().fd(0, program).word(4, interface).word(8, BPF_TCX_INGRESS).open(LINK_CREATE)
}

/// How many programs do.
pub(crate) fn count_ingress(interface: u32) -> io::Result<u32> {
    let mut attr = Attr::new().word(0, interface).word(4, BPF_TCX_INGRESS);
    attr.call_and_read(PROG_QUERY)?;
    Ok(attr.read(24))
}

fn path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

pub(crate) fn pin(fd: BorrowedFd<'_>, at: &Path) -> io::Result<()> {
    let at = path(at)?;
    Attr::new().pointer(0, at.as_ptr()).fd(8, fd).call(OBJ_PIN).map(drop)
}

pub(crate) fn pinned(at: &Path) -> io::Result<OwnedFd> {
    let at = path(at)?;
    Attr::new().pointer(0, at.as_ptr()).open(OBJ_GET)
}

/// Runs a program of type `syscall` on a context, which it may change.
pub(crate) fn run(program: BorrowedFd<'_>, context: &mut [u8]) -> io::Result<()> {
    let attr = Attr::new().fd(0, program).word(40, context.len() as u32);
    attr.pointer(48, context.as_mut_ptr()).call(PROG_TEST_RUN).map(drop)
}

/// Runs a program for packets once on a frame, and gives the frame as it leaves it.
pub(crate) fn run_on(program: BorrowedFd<'_>, frame: &[u8]) -> io::Result<Vec<u8>> {
    let mut after = vec![0; frame.len()];
    let length = frame.len() as u32;
    let attr = Attr::new().fd(0, program).word(8, length).word(12, length).word(32, 1);
    attr.pointer(16, frame.as_ptr()).pointer(24, after.as_mut_ptr()).call(PROG_TEST_RUN)?;
    Ok(after)
}

/// A value; none if there is no such key. `value` is as long as the map's values.
pub(crate) fn lookup(map: BorrowedFd<'_>, key: &[u8], value: &mut [u8]) -> io::Result<bool> {
    let attr = Attr::new().fd(0, map).pointer(8, key.as_ptr()).pointer(16, value.as_mut_ptr());
    match attr.call(MAP_LOOKUP) {
        Ok(_) => Ok(true),
        Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(e) => Err(e),
    }
}

pub(crate) fn update(map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> io::Result<()> {
    Attr::new().fd(0, map).pointer(8, key.as_ptr()).pointer(16, value.as_ptr()).call(MAP_UPDATE).map(drop)
}

/// Takes a key away; nothing if it is not there.
pub(crate) fn delete(map: BorrowedFd<'_>, key: &[u8]) -> io::Result<()> {
    match Attr::new().fd(0, map).pointer(8, key.as_ptr()).call(MAP_DELETE) {
        Err(e) if e.raw_os_error() != Some(libc::ENOENT) => Err(e),
        _ => Ok(()),
    }
}

/// The key after this one, or the first.
pub(crate) fn next_key(map: BorrowedFd<'_>, key: Option<&[u8]>, next: &mut [u8]) -> io::Result<bool> {
    let attr = Attr::new().fd(0, map).pointer(16, next.as_mut_ptr());
    let attr = match key {
        Some(key) => attr.pointer(8, key.as_ptr()),
        None => attr,
    };
    match attr.call(MAP_NEXT_KEY) {
        Ok(_) => Ok(true),
        Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(e) => Err(e),
    }
}
