//! The certificate of the server. It can be replaced at any time: a connection keeps its certificate, and the
//! next connection uses the new one.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{self, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};

/// Why there is no usable certificate, in words for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TlsError(pub String);

/// The certificate in use, shared with the task that replaces it.
#[derive(Debug, Clone, Default)]
pub struct ServerCertificate {
    shown: Arc<RwLock<Option<Arc<CertifiedKey>>>>,
}

impl ServerCertificate {
    /// Uses another certificate from the next connection on. The previous one stays in use if the new one
    /// cannot be used.
    ///
    /// # Errors
    /// When the texts are not a certificate chain and its key.
    pub fn show(&self, chain: &[u8], key: &[u8]) -> Result<(), TlsError> {
        let chain = certificates(chain, "certificate")?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| TlsError(format!("cannot read the private key: {error}")))?;
        let certified = CertifiedKey::from_der(chain, key, &crypto::aws_lc_rs::default_provider())
            .map_err(|error| TlsError(format!("the certificate does not match its key: {error}")))?;
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(certified));
        Ok(())
    }

    /// Returns whether there is a certificate.
    pub fn is_ready(&self) -> bool {
        self.shown.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl ResolvesServerCert for ServerCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.shown.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns the server's side of TLS. Clients may send a certificate. Each endpoint decides whether to accept
/// it ([`super::caller`]), because the endpoints trust different authorities, and because an error message is
/// better than a failed handshake.
///
/// # Errors
/// When the cryptography has no protocol version in common with the server.
pub fn server_config(identity: ServerCertificate) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(crypto::aws_lc_rs::default_provider());
    let possession = Arc::new(Possession(Arc::clone(&provider)));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError(format!("cannot set up TLS: {error}")))?
        .with_client_cert_verifier(possession)
        .with_cert_resolver(Arc::new(identity));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Accepts every client that has the key of its certificate, and clients without a certificate.
#[derive(Debug)]
struct Possession(Arc<CryptoProvider>);

impl ClientCertVerifier for Possession {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Returns the certificates in a text.
pub(super) fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match read {
        Ok(none) if none.is_empty() => Err(TlsError(format!("there is no certificate in the {what}"))),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(TlsError(format!("cannot read the {what}: {error}"))),
    }
}
