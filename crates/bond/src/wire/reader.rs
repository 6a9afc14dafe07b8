//! A cursor over untrusted bytes: every read is checked.

use super::frame::FrameError;

#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn take(&mut self, n: usize) -> Result<&'a [u8], FrameError> {
        let (head, tail) = self.rest.split_at_checked(n).ok_or(FrameError::Truncated)?;
        self.rest = tail;
        Ok(head)
    }

    pub(super) fn take_rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.rest)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        Ok(self.take(N)?.try_into().expect("take returned N bytes"))
    }

    pub(super) fn u8(&mut self) -> Result<u8, FrameError> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, FrameError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(super) fn u24(&mut self) -> Result<u32, FrameError> {
        let [a, b, c] = self.array()?;
        Ok(u32::from_be_bytes([0, a, b, c]))
    }

    pub(super) fn u32(&mut self) -> Result<u32, FrameError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, FrameError> {
        Ok(u64::from_be_bytes(self.array()?))
    }
}
