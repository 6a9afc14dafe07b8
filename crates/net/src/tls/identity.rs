//! Certificates: what a gateway shows, and what a client makes of it.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme, version};

/// What both ends say that they speak within TLS.
const ALPN: &[u8] = b"http/1.1";

/// Why TLS cannot be offered, or used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file does not hold what it should.
    #[error("there is no {0} in it: PEM is expected, with lines of -----BEGIN …-----")]
    NoPem(&'static str),
    /// The two do not belong together, or are of a kind that is not used.
    #[error("the certificate and its key cannot be used: {0}")]
    Unusable(Error),
    /// A certificate could not be made.
    #[error("making a certificate failed: {0}")]
    Making(#[from] rcgen::Error),
}

/// A certificate and its key: what a gateway shows.
#[derive(Clone, Debug)]
pub struct Identity(pub(super) Arc<ServerConfig>);

impl Identity {
    /// From the contents of two files in PEM, such as an ACME client writes.
    ///
    /// # Errors
    /// They hold no certificate, no key, or two that do not belong together.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Identity, TlsError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
        let chain = chain.ok().filter(|c| !c.is_empty()).ok_or(TlsError::NoPem("certificate"))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::NoPem("private key"))?;
        Identity::new(chain, key)
    }

    /// From what [`make_certificate`] gave.
    ///
    /// # Errors
    /// It is something else.
    pub fn from_der(certificate: Vec<u8>, key: Vec<u8>) -> Result<Identity, TlsError> {
        let key = PrivateKeyDer::try_from(key).map_err(|_| TlsError::NoPem("private key"))?;
        Identity::new(vec![certificate.into()], key)
    }

    fn new(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<Identity, TlsError> {
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(&[&version::TLS13])
            .and_then(|b| b.with_no_client_auth().with_single_cert(chain, key));
        let mut config = config.map_err(TlsError::Unusable)?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Identity(Arc::new(config)))
    }
}

/// A new certificate, signed by itself, and its key; both in DER.
///
/// # Errors
/// There is no randomness.
pub fn make_certificate() -> Result<(Vec<u8>, Vec<u8>), TlsError> {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    Ok((own.cert.der().to_vec(), own.signing_key.serialize_der()))
}

/// What a client speaks TLS with.
pub(super) fn client_config() -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

/// Takes any certificate. Who answers is proven inside, by the key that the token names; a check
/// here would shut out networks whose proxy opens TLS, and keep nothing secret that is not sealed
/// already.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("only TLS 1.3 is spoken".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_of_ones_own_can_be_shown_and_others_cannot() {
        let (certificate, key) = make_certificate().unwrap();
        Identity::from_der(certificate.clone(), key).unwrap();
        let (_, other) = make_certificate().unwrap();
        assert!(matches!(Identity::from_der(certificate, other), Err(TlsError::Unusable(_))));
        let error = Identity::from_pem(b"hello", b"").unwrap_err();
        assert!(error.to_string().contains("no certificate"), "{error}");
        client_config().unwrap();
    }
}
