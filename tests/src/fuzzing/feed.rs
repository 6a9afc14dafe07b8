//! Reads an input as a list of choices.

/// The bytes of an input, from front to back. After the end everything is zero.
#[derive(Debug)]
pub struct Feed<'a>(&'a [u8]);

impl<'a> Feed<'a> {
    /// All of an input.
    pub fn new(data: &'a [u8]) -> Self {
        Feed(data)
    }

    /// Nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    pub fn u8(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Two bytes.
    pub fn u16(&mut self) -> u16 {
        u16::from_be_bytes([self.u8(), self.u8()])
    }

    /// Four bytes.
    pub fn u32(&mut self) -> u32 {
        u32::from(self.u16()) << 16 | u32::from(self.u16())
    }

    /// Up to `n` bytes.
    pub fn bytes(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// As many bytes as the next byte says.
    pub fn short(&mut self) -> &'a [u8] {
        let n = self.u8() as usize;
        self.bytes(n)
    }

    /// A number whose size is chosen before its digits: small ones are as likely as large ones.
    pub fn scaled(&mut self, most_bits: u32) -> u64 {
        let bits = u32::from(self.u8()) % (most_bits + 1);
        let value = u64::from(self.u32());
        if bits == 0 { 0 } else { (1 << (bits - 1)) | (value % (1 << (bits - 1)).max(1)) }
    }
}
