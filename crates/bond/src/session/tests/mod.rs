//! Tests of whole handshakes.
