//! A gateway's TLS: which certificate it shows, and where it listens.

use crate::config;
use crate::exit::{Code, failure};
use crate::state::StateDir;
use anyhow::Context;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use ropewalk_bond::engine::Shard;
use ropewalk_net::tls::{Identity, Listeners, Tls, make_certificate};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// The file in the state directory: the certificate that was made here.
const FILE: &str = "tls.json";

/// A certificate of the gateway's own.
#[derive(Serialize, Deserialize, ZeroizeOnDrop)]
struct Own {
    /// DER, base64.
    certificate: String,
    /// PKCS #8, DER, base64.
    key: String,
}

/// What TLS is offered with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Certificate {
    /// The files of one that somebody else made, and renews.
    files: Option<(PathBuf, PathBuf)>,
}

impl Certificate {
    /// As the configuration says.
    pub(crate) fn new(serve: &config::Serve) -> Certificate {
        Certificate { files: serve.tls_cert.clone().zip(serve.tls_key.clone()) }
    }

    /// What is to be shown; made, where nobody gives one and there is none yet.
    pub(crate) fn load(&self, dir: &StateDir) -> anyhow::Result<Identity> {
        if let Some((certificate, key)) = &self.files {
            return read(certificate, key);
        }
        let own = match dir.read_json(FILE)? {
            Some(own) => own,
            None => make(dir)?,
        };
        let damaged = || format!("{FILE} in {} is damaged: remove it", dir.path().display());
        let der = |text: &str| STANDARD.decode(text).with_context(damaged);
        Identity::from_der(der(&own.certificate)?, der(&own.key)?).with_context(damaged)
    }

    /// The files again, after a reload; `None` where there are none.
    pub(crate) fn again(&self) -> Option<anyhow::Result<Identity>> {
        self.files.as_ref().map(|(certificate, key)| read(certificate, key))
    }
}

fn make(dir: &StateDir) -> anyhow::Result<Own> {
    let (certificate, key) = make_certificate()?;
    let key = Zeroizing::new(key);
    let own = Own { certificate: STANDARD.encode(certificate), key: STANDARD.encode(&*key) };
    dir.write_json(FILE, &own)?;
    tracing::info!("made a certificate for TLS");
    Ok(own)
}

fn read(certificate: &Path, key: &Path) -> anyhow::Result<Identity> {
    let bytes = |path: &Path| {
        std::fs::read(path).map(Zeroizing::new).with_context(|| format!("{} cannot be read", path.display()))
    };
    let identity = Identity::from_pem(&bytes(certificate)?, &bytes(key)?);
    identity.map_err(|e| {
        let words = format!("{} and {}: {e}", certificate.display(), key.display());
        failure(Code::Usage, words)
    })
}

/// Starts to offer it, for each loop: [`Listeners`] were opened while rights for low ports were there.
pub(crate) fn offer(listeners: Listeners, identity: Identity, shard: Shard) -> anyhow::Result<Vec<Tls>> {
    for address in listeners.addresses() {
        tracing::info!(%address, "listening for TLS");
    }
    Tls::start_for(shard, listeners, Some(identity)).context("TLS cannot be offered")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::Scratch;

    #[test]
    fn a_certificate_is_made_once() {
        let scratch = Scratch::new();
        let dir = &scratch.0;
        let certificate = Certificate::default();
        certificate.load(dir).unwrap();
        let kept = dir.read(FILE).unwrap().unwrap();
        certificate.load(dir).unwrap();
        assert_eq!(dir.read(FILE).unwrap().unwrap(), kept);
        dir.write(FILE, br#"{"certificate":"AAAA","key":"AAAA"}"#).unwrap();
        let error = certificate.load(dir).unwrap_err();
        assert!(format!("{error:#}").contains("damaged"), "{error:#}");
        let serve = config::Serve {
            tls_cert: Some("/nonexistent/a".into()),
            tls_key: Some("/nonexistent/b".into()),
            ..config::Serve::default()
        };
        let error = Certificate::new(&serve).load(dir).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/a cannot be read"), "{error}");
    }
}
