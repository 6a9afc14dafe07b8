//! An object of ours: its programs, its maps, and what the kernel is told of them.

use crate::KernError;
use crate::btf::{Btf, word};
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget, SymbolSection};

/// The section of a program for what arrives by an interface.
pub(crate) const INGRESS: &str = "tcx/ingress";

/// A program as compiled.
#[derive(Debug)]
pub(crate) struct Program {
    /// Its section, which says what it is for.
    pub(crate) section: String,
    /// Instructions of eight bytes.
    pub(crate) code: Vec<u8>,
    /// Instructions (bytes from the beginning) that load a map's address, and which.
    pub(crate) maps: Vec<(usize, String)>,
    /// Records of `.BTF.ext`: functions (places in instructions), and what CO-RE relocates.
    pub(crate) functions: Records,
    /// See above.
    pub(crate) relocations: Records,
}

/// Records of equal length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    /// Length of one, bytes.
    pub(crate) each: u32,
    /// All of them.
    pub(crate) bytes: Vec<u8>,
}

impl Records {
    /// How many.
    pub(crate) fn count(&self) -> u32 {
        (self.bytes.len() as u32).checked_div(self.each).unwrap_or(0)
    }
}

/// A map as declared.
#[derive(Clone, Debug, Default)]
pub(crate) struct MapSpec {
    /// Its variable.
    pub(crate) name: String,
    pub(crate) kind: u32,
    pub(crate) entries: u32,
    pub(crate) flags: u32,
    pub(crate) key_type: u32,
    pub(crate) value_type: u32,
    pub(crate) key_size: u32,
    pub(crate) value_size: u32,
}

/// All of a file.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) btf: Btf,
    pub(crate) programs: Vec<Program>,
    pub(crate) maps: Vec<MapSpec>,
}

impl Object {
    /// Reads a file.
    pub(crate) fn parse(file: &[u8]) -> Result<Object, KernError> {
        let elf: ElfFile64 = ElfFile64::parse(file).map_err(|_| KernError::Damaged("its ELF header"))?;
        let bytes = |name: &str| elf.section_by_name(name).and_then(|s| s.data().ok().map(<[u8]>::to_vec));
        let mut btf = Btf::parse(bytes(".BTF").ok_or(KernError::Damaged("its BTF"))?)?;
        let ext = bytes(".BTF.ext").ok_or(KernError::Damaged("its BTF extension"))?;
        let symbol = |name: &str| elf.symbols().find(|s| s.name() == Ok(name));
        btf.place(
            |section| elf.section_by_name(section).map(|s| s.size() as u32),
            |variable| symbol(variable).map(|s| s.address() as u32),
        );
        let maps_section = elf.section_by_name(".maps").map(|s| s.index());
        let mut maps = Vec::new();
        for name in elf.symbols().filter(|s| s.section_index().is_some() && s.section_index() == maps_section)
        {
            if let Some(spec) = name.name().ok().filter(|n| !n.is_empty()).and_then(|n| map_spec(&btf, n)) {
                maps.push(spec);
            }
        }
        let is_program = |name: &str| name.starts_with("struct_ops/") || name == "syscall" || name == INGRESS;
        let mut programs = Vec::new();
        for section in elf.sections() {
            let name = section.name().unwrap_or_default().to_owned();
            if !is_program(&name) {
                continue;
            }
            let code = section.data().map_err(|_| KernError::Damaged("a program"))?.to_vec();
            let mut uses = Vec::new();
            for (at, relocation) in section.relocations() {
                let RelocationTarget::Symbol(index) = relocation.target() else { continue };
                let target = elf.symbol_by_index(index).map_err(|_| KernError::Damaged("a relocation"))?;
                if !matches!(target.section(), SymbolSection::Section(s) if Some(s) == maps_section) {
                    return Err(KernError::Damaged("a relocation"));
                }
                uses.push((at as usize, target.name().unwrap_or_default().to_owned()));
            }
            let functions = in_instructions(records(&ext, &btf, 8, &name));
            let relocations = records(&ext, &btf, 24, &name);
            programs.push(Program { section: name, code, maps: uses, functions, relocations });
        }
        Ok(Object { btf, programs, maps })
    }
}

fn map_spec(btf: &Btf, name: &str) -> Option<MapSpec> {
    let mut spec = MapSpec { name: name.to_owned(), ..MapSpec::default() };
    for member in btf.members(btf.map_struct(name)?) {
        match member.name.as_str() {
            "type" => spec.kind = btf.number(&member)?,
            "max_entries" => spec.entries = btf.number(&member)?,
            "map_flags" => spec.flags = btf.number(&member)?,
            "key" => spec.key_type = btf.pointee(&member)?,
            "value" => spec.value_type = btf.pointee(&member)?,
            _ => return None,
        }
    }
    // A typedef's length is its target's; the only one here is u32.
    spec.key_size = match btf.members(spec.key_type).is_empty() {
        true => 4,
        false => btf.size(spec.key_type)? as u32,
    };
    spec.value_size = btf.size(spec.value_type)? as u32;
    Some(spec)
}

/// Records of one section. `field` is where the header of `.BTF.ext` says where they are.
fn records(ext: &[u8], btf: &Btf, field: usize, section: &str) -> Records {
    let header = word(ext, 4) as usize;
    if field + 8 > header {
        return Records::default();
    }
    let (start, length) = (header + word(ext, field) as usize, word(ext, field + 4) as usize);
    let each = word(ext, start);
    let (mut at, end) = (start + 4, start + length);
    while at + 8 <= end {
        let bytes = word(ext, at + 4) as usize * each as usize;
        if btf.string(word(ext, at)) == section {
            let all = ext.get(at + 8..at + 8 + bytes).unwrap_or_default();
            return Records { each, bytes: all.to_vec() };
        }
        at += 8 + bytes;
    }
    Records { each, bytes: Vec::new() }
}

/// The kernel counts places of functions in instructions, the file in bytes.
fn in_instructions(mut records: Records) -> Records {
    let each = records.each.max(1) as usize;
    for record in records.bytes.chunks_exact_mut(each) {
        let place = word(record, 0) / 8;
        record[..4].copy_from_slice(&place.to_ne_bytes());
    }
    records
}
