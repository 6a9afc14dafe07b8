//! TCP at packet level: pure state machines in virtual time.
