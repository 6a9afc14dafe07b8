//! A certificate of a gateway's owner.

use super::States;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use ropewalk_net::tls::make_certificate;

fn pem(kind: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|l| std::str::from_utf8(l).unwrap()).collect();
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n"))
}

/// A new certificate and its key as files.
pub(crate) fn certificate(states: &States) -> (String, String) {
    let (certificate, key) = make_certificate().unwrap();
    let files = (states.of("cert.pem"), states.of("key.pem"));
    std::fs::write(&files.0, pem("CERTIFICATE", &certificate)).unwrap();
    std::fs::write(&files.1, pem("PRIVATE KEY", &key)).unwrap();
    files
}
