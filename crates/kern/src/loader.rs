//! From an object to programs and maps in the kernel.

use crate::btf::{Btf, Member};
use crate::object::{INGRESS, MapSpec, Object, Program};
use crate::sys::{self, NewMap, NewProgram};
use crate::{KernError, Law};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Types of programs and maps, and flags (include/uapi/linux/bpf.h).
const PROG_SCHED_CLS: u32 = 3;
const PROG_STRUCT_OPS: u32 = 27;
const PROG_SYSCALL: u32 = 31;
const SLEEPABLE: u32 = 1 << 4;
const MAP_STRUCT_OPS: u32 = 26;
const MAP_LINK: u32 = 1 << 13;
/// The instruction that loads 64 bits takes a map's descriptor with this in its upper half of the
/// second byte.
const PSEUDO_MAP_FD: u8 = 1;
/// `TCP_CONG_NON_RESTRICTED` (include/net/tcp.h).
const NON_RESTRICTED: u32 = 1;
/// `ENOTSUPP` of the kernel alone (include/linux/errno.h).
const ENOTSUPP: i32 = 524;
/// Of the verifier's log so much is shown.
const LOG_SHOWN: usize = 2000;

/// An object whose maps are in the kernel.
#[derive(Debug)]
pub(crate) struct Maps {
    /// What the kernel calls its programs.
    name: &'static str,
    object: Object,
    btf: OwnedFd,
    made: Vec<(String, OwnedFd)>,
}

impl Maps {
    /// Makes an object's maps; `connections` have room for so many if it is said.
    pub(crate) fn new(name: &'static str, file: &[u8], connections: Option<u32>) -> Result<Maps, KernError> {
        let object = Object::parse(file)?;
        let btf = sys::load_btf(object.btf.bytes()).map_err(KernError::system("loading BTF"))?;
        let make = |spec: &MapSpec| {
            let entries = connections.filter(|_| spec.name == "connections").unwrap_or(spec.entries);
            let map = NewMap {
                name: &spec.name,
                kind: spec.kind,
                key_size: spec.key_size,
                value_size: spec.value_size,
                entries,
                flags: spec.flags,
                types: (btf.as_fd(), spec.key_type, spec.value_type),
                kernel_type: 0,
            };
            let made = sys::create_map(map).map_err(KernError::system("making a BPF map"))?;
            Ok((spec.name.clone(), made))
        };
        let made = object.maps.iter().map(make).collect::<Result<_, KernError>>()?;
        Ok(Maps { name, object, btf, made })
    }

    /// One of them.
    pub(crate) fn map(&self, name: &str) -> Result<&OwnedFd, KernError> {
        let found = self.made.iter().find(|(n, _)| n == name);
        found.map(|(_, map)| map).ok_or(KernError::Damaged("a map is missing"))
    }

    fn program(
        &self,
        program: &Program,
        kind: u32,
        member: Option<(u32, u32)>,
    ) -> Result<OwnedFd, KernError> {
        let mut code = program.code.clone();
        for (at, name) in &program.maps {
            let fd = self.map(name)?.as_raw_fd();
            let instruction = code.get_mut(*at..at + 8).ok_or(KernError::Damaged("a relocation"))?;
            let registers = instruction[1];
            instruction[1] = match cfg!(target_endian = "little") {
                true => registers & 0x0f | PSEUDO_MAP_FD << 4,
                false => registers & 0xf0 | PSEUDO_MAP_FD,
            };
            instruction[4..].copy_from_slice(&fd.to_ne_bytes());
        }
        let short = program.section.rsplit('/').next().unwrap_or_default();
        let new = NewProgram {
            name: &format!("{}_{short}", self.name),
            kind,
            flags: if kind == PROG_SYSCALL { SLEEPABLE } else { 0 },
            code: &code,
            btf: self.btf.as_fd(),
            member,
            functions: &program.functions,
            relocations: &program.relocations,
        };
        sys::load_program(new).map_err(|(error, log)| refused((self.name, short), kind, error, &log))
    }

    /// The program that runs the law alone.
    pub(crate) fn trial(&self) -> Result<OwnedFd, KernError> {
        self.program(self.section("syscall")?, PROG_SYSCALL, None)
    }

    /// The program that looks at what arrives by an interface.
    pub(crate) fn ingress(&self) -> Result<OwnedFd, KernError> {
        self.program(self.section(INGRESS)?, PROG_SCHED_CLS, None)
    }

    fn section(&self, name: &str) -> Result<&Program, KernError> {
        let program = self.object.programs.iter().find(|p| p.section == name);
        program.ok_or(KernError::Damaged("a program is missing"))
    }

    /// Registers the controller. It lives as long as what is returned, or a pin of it.
    pub(crate) fn register(&self, law: Law) -> Result<OwnedFd, KernError> {
        let kernel = kernel_btf()?;
        let outer = kernel.structure("bpf_struct_ops_tcp_congestion_ops").ok_or(KernError::NoStructOps)?;
        let inner = kernel.structure("tcp_congestion_ops").ok_or(KernError::NoStructOps)?;
        let data = kernel.members(outer).into_iter().find(|m| m.name == "data").map(|m| m.offset);
        let data = data.ok_or(KernError::NoStructOps)?;
        let size = kernel.size(outer).ok_or(KernError::NoStructOps)?;
        let members = kernel.members(inner);
        // First: a kernel that is too old is known by it, whatever its verifier makes of the programs.
        let map = self.controller(law, size, outer)?;
        let mut value = vec![0_u8; size];
        let mut programs = Vec::new();
        for program in &self.object.programs {
            let Some(name) = program.section.strip_prefix("struct_ops/") else { continue };
            let (index, member) = place(&members, name)?;
            let loaded = self.program(program, PROG_STRUCT_OPS, Some((inner, index)))?;
            let at = data + member.offset;
            value[at..at + 8].copy_from_slice(&(loaded.as_raw_fd() as u64).to_ne_bytes());
            programs.push(loaded);
        }
        let at = data + place(&members, "name")?.1.offset;
        let name = law.kernel_name().as_bytes();
        value[at..at + name.len()].copy_from_slice(name);
        if law.is_for_all() {
            let at = data + place(&members, "flags")?.1.offset;
            value[at..at + 4].copy_from_slice(&NON_RESTRICTED.to_ne_bytes());
        }
        sys::update(map.as_fd(), &[0; 4], &value)
            .map_err(KernError::system("filling the controller's map"))?;
        sys::link(map.as_fd()).map_err(|e| match e.raw_os_error() {
            Some(libc::EEXIST) => KernError::Taken(law.kernel_name()),
            _ => KernError::system("registering the controller")(e),
        })
    }

    /// The map of a controller's functions, which is of the kernel's type `outer`.
    fn controller(&self, law: Law, size: usize, outer: u32) -> Result<OwnedFd, KernError> {
        let map = NewMap {
            name: law.kernel_name(),
            kind: MAP_STRUCT_OPS,
            key_size: 4,
            value_size: size as u32,
            entries: 1,
            flags: MAP_LINK,
            // The kernel asks for the object's BTF, though it uses its own type.
            types: (self.btf.as_fd(), 0, 0),
            kernel_type: outer,
        };
        sys::create_map(map).map_err(|e| match e.raw_os_error() {
            // Links came with 6.4; older kernels do not know the flag.
            Some(libc::EINVAL) => KernError::TooOld(release()),
            _ => KernError::system("making the controller's map")(e),
        })
    }
}

/// Why the kernel did not take a program of an object.
fn refused(
    (object, program): (&'static str, &str),
    kind: u32,
    error: std::io::Error,
    log: &str,
) -> KernError {
    match error.raw_os_error() {
        Some(libc::EPERM) => return KernError::system("loading a BPF program")(error),
        // CONFIG_BPF_JIT is what struct_ops is built with.
        Some(ENOTSUPP) => return KernError::NoStructOps,
        // Before 5.17 a kernel relocated nothing itself: it does not know those attributes, and does not ask
        // the verifier.
        Some(libc::E2BIG) if log.is_empty() && kind == PROG_SCHED_CLS => return KernError::NoTcx(release()),
        Some(libc::E2BIG) if log.is_empty() => return KernError::TooOld(release()),
        _ => {}
    }
    let from = log.len().saturating_sub(LOG_SHOWN);
    let log = log.get(from..).unwrap_or(log).trim_end().to_owned();
    KernError::Verifier { object, program: program.to_owned(), error, log }
}

fn place<'a>(members: &'a [Member], name: &str) -> Result<(u32, &'a Member), KernError> {
    let found = members.iter().enumerate().find(|(_, m)| m.name == name);
    found.map(|(i, m)| (i as u32, m)).ok_or(KernError::NoStructOps)
}

fn kernel_btf() -> Result<Btf, KernError> {
    let types = std::fs::read("/sys/kernel/btf/vmlinux").map_err(|_| KernError::NoBtf)?;
    Btf::parse(types).map_err(|_| KernError::StrangeBtf(release()))
}

pub(crate) fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_is_too_old_is_told_from_one_whose_verifier_refuses() {
        let said = |kind, errno, log| {
            let error = std::io::Error::from_raw_os_error(errno);
            refused(("rw_lia", "init"), kind, error, log)
        };
        assert!(matches!(said(PROG_STRUCT_OPS, libc::E2BIG, ""), KernError::TooOld(_)));
        assert!(matches!(said(PROG_SCHED_CLS, libc::E2BIG, ""), KernError::NoTcx(_)));
        assert!(matches!(said(PROG_STRUCT_OPS, ENOTSUPP, ""), KernError::NoStructOps));
        let verifiers = [(libc::E2BIG, "BPF program is too large"), (libc::EACCES, ""), (libc::EINVAL, "")];
        for (errno, log) in verifiers {
            let error = said(PROG_STRUCT_OPS, errno, log);
            assert!(matches!(error, KernError::Verifier { .. }), "{error}");
        }
    }
}
