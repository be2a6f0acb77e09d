//! Client certificates. The handshake has proven that the client has the key; here is decided whose word the certificate is.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, crypto};
use x509_parser::prelude::{FromDer as _, X509Certificate, X509Name};

use super::Caller;
use crate::operator::clock;
use crate::server::tls::{self, certificates};

/// Those whose certificates count.
#[derive(Debug)]
pub struct Authorities {
    verifier: Arc<dyn ClientCertVerifier>,
}

/// Whom a certificate names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// `CN`
    pub common_name: String,
    /// `O`, each of them.
    pub organizations: Vec<String>,
}

impl Authorities {
    /// Reads their own certificates from PEM.
    ///
    /// # Errors
    /// When there is none, or one that cannot be used.
    pub fn of(pem: &[u8]) -> Result<Self, tls::Error> {
        let mut roots = RootCertStore::empty();
        for authority in certificates(pem, "client authorities")? {
            roots.add(authority).map_err(|error| tls::Error::Clients(error.to_string()))?;
        }
        let provider = Arc::new(crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| tls::Error::Clients(error.to_string()))?;
        Ok(Self { verifier })
    }

    /// Whom a chain names, the client's own certificate first, if these authorities have signed it, it is for clients and it is valid
    /// now.
    ///
    /// # Errors
    /// Why it does not count.
    pub fn verify(&self, chain: &[CertificateDer<'_>]) -> Result<Subject, String> {
        let Some((own, others)) = chain.split_first() else {
            return Err("there is no client certificate".to_owned());
        };
        let seconds = u64::try_from(clock::now().as_second()).unwrap_or(0);
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        self.verifier
            .verify_client_cert(own, others, now)
            .map_err(|error| format!("the client certificate does not count here: {error}"))?;
        Subject::of(own)
    }
}

impl Subject {
    fn of(certificate: &CertificateDer<'_>) -> Result<Self, String> {
        let (_, certificate) = X509Certificate::from_der(certificate)
            .map_err(|error| format!("the client certificate cannot be read: {error}"))?;
        Ok(Self::named(certificate.subject()))
    }

    /// Of several `CN` the last counts, as in Go's `pkix.Name.FillFromRDNSequence`.
    fn named(name: &X509Name<'_>) -> Self {
        let text = |part: &x509_parser::x509::AttributeTypeAndValue<'_>| {
            part.as_str().map(str::to_owned).unwrap_or_default()
        };
        Self {
            common_name: name.iter_common_name().last().map(text).unwrap_or_default(),
            organizations: name.iter_organization().map(text).filter(|text| !text.is_empty()).collect(),
        }
    }

    /// The user of that name, as the API server has it
    /// (`k8s.io/apiserver/pkg/authentication/request/x509/x509.go`, `CommonNameUserConversion`).
    ///
    /// # Errors
    /// When there is no name.
    pub fn into_caller(self) -> Result<Caller, String> {
        if self.common_name.is_empty() {
            return Err("the client certificate names nobody: its CN is empty".to_owned());
        }
        Ok(Caller { user: self.common_name, groups: self.organizations, ..Caller::default() })
    }
}
