//! Client certificates. The handshake has proven that the client has the key; this module decides whether
//! the certificate counts.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, crypto};
use x509_parser::prelude::{AttributeTypeAndValue, FromDer as _, X509Certificate, X509Name};

use super::Caller;
use crate::controller::clock;
use crate::server::tls::{self, certificates};
use yunikorn::identity::Identity;

/// Authorities whose client certificates count.
#[derive(Debug)]
pub struct Authorities {
    verifier: Arc<dyn ClientCertVerifier>,
}

impl Authorities {
    /// Reads the authorities' own certificates from PEM.
    ///
    /// # Errors
    /// When there is none, or a certificate cannot be used.
    pub fn from_pem(pem: &[u8]) -> Result<Self, tls::TlsError> {
        let unusable =
            |error: &dyn Display| tls::TlsError(format!("cannot check client certificates: {error}"));
        let mut roots = RootCertStore::empty();
        for authority in certificates(pem, "client authorities")? {
            roots.add(authority).map_err(|error| unusable(&error))?;
        }
        let provider = Arc::new(crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| unusable(&error))?;
        Ok(Self { verifier })
    }

    /// Returns the subject of a chain, the client's own certificate first, if these authorities have signed
    /// it, it is for clients and it is valid now: its `CN`, which may be empty, and each `O` as a group.
    ///
    /// # Errors
    /// The reason why it does not count.
    pub fn verify(&self, chain: &[CertificateDer<'_>]) -> Result<Identity, String> {
        let Some((own, others)) = chain.split_first() else {
            return Err("there is no client certificate".to_owned());
        };
        let seconds = u64::try_from(clock::now().as_second()).unwrap_or(0);
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        self.verifier
            .verify_client_cert(own, others, now)
            .map_err(|error| format!("the client certificate does not count here: {error}"))?;
        let (_, certificate) = X509Certificate::from_der(own)
            .map_err(|error| format!("the client certificate cannot be read: {error}"))?;
        Ok(subject(certificate.subject()))
    }

    /// Returns the user of a chain, as the API server names them
    /// (`k8s.io/apiserver/pkg/authentication/request/x509/x509.go`, `CommonNameUserConversion`).
    ///
    /// # Errors
    /// As [`Self::verify`], and when there is no name.
    pub fn caller(&self, chain: &[CertificateDer<'_>]) -> Result<Caller, String> {
        let identity = self.verify(chain)?;
        if identity.user.is_empty() {
            return Err("the client certificate names nobody: its CN is empty".to_owned());
        }
        Ok(Caller { identity, ..Caller::default() })
    }
}

/// Of several `CN` the last counts, as in Go's `pkix.Name.FillFromRDNSequence`.
fn subject(name: &X509Name<'_>) -> Identity {
    let text = |part: &AttributeTypeAndValue<'_>| part.as_str().map(str::to_owned).unwrap_or_default();
    Identity {
        user: name.iter_common_name().last().map(text).unwrap_or_default(),
        groups: name.iter_organization().map(text).filter(|text| !text.is_empty()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
    use time::OffsetDateTime;

    use super::*;
    use crate::controller::testing::{Issuer, issuer};

    /// Returns a client certificate, changed by `change`.
    fn certificate(by: &Issuer, change: impl FnOnce(&mut CertificateParams)) -> CertificateDer<'static> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "sue");
        params.distinguished_name.push(DnType::OrganizationName, "devs");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        params.signed_by(&KeyPair::generate().unwrap(), by).unwrap().into()
    }

    #[test]
    fn a_certificate_names_a_user_and_groups() {
        let ours = issuer("ours");
        let authorities = Authorities::from_pem(ours.pem().as_bytes()).unwrap();
        let caller = authorities.caller(&[certificate(&ours, |_| {})]).unwrap();
        assert_eq!((caller.identity.user.as_str(), caller.identity.groups), ("sue", vec!["devs".to_owned()]));
    }

    #[test]
    fn whose_word_does_not_count_names_nobody() {
        let (ours, theirs) = (issuer("ours"), issuer("theirs"));
        let authorities = Authorities::from_pem(ours.pem().as_bytes()).unwrap();
        let past = OffsetDateTime::from_unix_timestamp(1_000_000_000).unwrap();
        let nameless =
            |params: &mut CertificateParams| params.distinguished_name = rcgen::DistinguishedName::new();
        let cases = [
            (certificate(&theirs, |_| {}), "UnknownIssuer"),
            (certificate(&ours, |params| params.not_after = past), "Expired"),
            (
                certificate(&ours, |params| {
                    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
                }),
                "extended key usage",
            ),
            (certificate(&ours, nameless), "names nobody"),
            (CertificateDer::from(vec![1, 2, 3]), "does not count here"),
        ];
        for (certificate, why) in cases {
            let refused = authorities.caller(&[certificate]).unwrap_err();
            assert!(refused.to_lowercase().contains(&why.to_lowercase()), "{refused} does not say {why}");
        }
        assert!(authorities.verify(&[]).is_err());
        assert!(Authorities::from_pem(b"nothing").is_err());
    }
}
