//! Certificates of etcd and of the gateways, and who signed them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use ropewalk_fleet::TlsFiles;

pub(super) struct Certificates {
    pub ca: PathBuf,
    /// A certificate and its key.
    pub etcd: [PathBuf; 2],
    pub gateway: [PathBuf; 2],
}

impl Certificates {
    /// Writes them into a directory; etcd has these addresses.
    pub(super) fn write(directory: &Path, addresses: &[String]) -> Result<Certificates> {
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "bench");
        let key = KeyPair::generate()?;
        let ca = directory.join("ca.pem");
        write(&ca, "CERTIFICATE", params.self_signed(&key)?.der())?;
        let issuer = Issuer::new(params, key);
        let issue = |name: &str| -> Result<[PathBuf; 2]> {
            let mut params = CertificateParams::new(addresses.to_vec())?;
            // etcd's HTTP gateway asks etcd itself with the server's certificate.
            params.extended_key_usages =
                vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            let key = KeyPair::generate()?;
            let files = ["pem", "key"].map(|kind| directory.join(format!("{name}.{kind}")));
            write(&files[0], "CERTIFICATE", params.signed_by(&key, &issuer)?.der())?;
            write(&files[1], "PRIVATE KEY", &key.serialize_der())?;
            Ok(files)
        };
        let (etcd, gateway) = (issue("etcd")?, issue("gateway")?);
        Ok(Certificates { ca, etcd, gateway })
    }

    /// What a gateway shows, and whom it believes.
    pub(super) fn files(&self) -> TlsFiles {
        let [certificate, key] = self.gateway.clone();
        TlsFiles { ca: self.ca.clone(), own: Some((certificate, key)) }
    }
}

fn write(file: &Path, label: &str, der: &[u8]) -> std::io::Result<()> {
    let text = STANDARD.encode(der);
    std::fs::write(file, format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n"))
}
