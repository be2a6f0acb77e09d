//! Authorities and the server certificate, with their keys. rcgen makes them and x509-parser reads them
//! back, so the content of the certificates decides and never the data beside them.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use pem::{EncodeConfig, LineEnding, Pem};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use super::schedule::{Due, Shown, Validity, due};
use crate::server::tls::{TlsError, certificates};

/// Clocks of callers may be late by this much; less, where lifetimes are short.
const LATE_CLOCKS: SignedDuration = SignedDuration::from_hours(1);

/// The required properties of certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The lifetime of an authority.
    pub authority: SignedDuration,
    /// The lifetime of a certificate.
    pub certificate: SignedDuration,
    /// DNS names and IP addresses under which callers reach the endpoints.
    pub names: BTreeSet<String>,
}

/// A certificate and its key: of an authority, or of the server.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    /// PEM; the first one is its own.
    pub chain: String,
    /// PEM.
    pub key: String,
    der: CertificateDer<'static>,
    /// Its validity.
    pub validity: Validity,
    names: BTreeSet<String>,
}

impl fmt::Debug for Certificate {
    /// Leaves out the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Certificate");
        shown.field("validity", &self.validity).field("names", &self.names).finish_non_exhaustive()
    }
}

/// The authorities and the certificate in the Secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Material {
    /// The authorities, which sign certificates, oldest first.
    pub authorities: Vec<Certificate>,
    /// The server certificate.
    pub shown: Option<Certificate>,
}

impl Certificate {
    /// Reads a certificate and its key.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn read(chain: String, key: String) -> Result<Self, TlsError> {
        const WHAT: &str = "the certificate";
        let all = certificates(chain.as_bytes(), WHAT).map_err(|error| unreadable(WHAT, &error))?;
        let der = all.into_iter().next().ok_or_else(|| unreadable(WHAT, &"it is empty"))?;
        Self::parse(der, WHAT, chain, key)
    }

    /// Reads an authority and its key.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn authority(der: CertificateDer<'static>, key: &PrivateKeyDer<'_>) -> Result<Self, TlsError> {
        let key = KeyPair::try_from(key).map_err(|error| unreadable("the authority's key", &error))?;
        let chain = pem(&der);
        Self::parse(der, "the authority", chain, key.serialize_pem())
    }

    fn parse(der: CertificateDer<'static>, what: &str, chain: String, key: String) -> Result<Self, TlsError> {
        let (_, certificate) = X509Certificate::from_der(&der).map_err(|error| unreadable(what, &error))?;
        let (validity, names) = (validity(&certificate)?, names(&certificate));
        Ok(Self { chain, key, der, validity, names })
    }

    fn make_authority(now: Timestamp, terms: &Terms) -> Result<Self, TlsError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        lasting(&mut params, now, terms.authority, None)?;
        // Each has a name of its own: an authority is found by its name.
        params.distinguished_name.push(DnType::CommonName, format!("queuewarden-ca@{}", now.as_second()));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key)?;
        Self::read(certificate.pem(), key.serialize_pem())
    }

    fn make(now: Timestamp, terms: &Terms, by: &Self) -> Result<Self, TlsError> {
        let key = KeyPair::generate()?;
        let names: Vec<String> = terms.names.iter().cloned().collect();
        let mut params = CertificateParams::new(names)?;
        lasting(&mut params, now, terms.certificate, Some(by.validity))?;
        params.distinguished_name.push(DnType::CommonName, "queuewarden");
        params.is_ca = IsCa::ExplicitNoCa;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let issuer = Issuer::from_ca_cert_der(&by.der, KeyPair::from_pem(&by.key)?)?;
        let certificate = params.signed_by(&key, &issuer)?;
        Self::read(certificate.pem(), key.serialize_pem())
    }

    fn is_signed_by(&self, authority: &Self) -> bool {
        let [own, signer] = [self, authority].map(|one| X509Certificate::from_der(&one.der));
        let (Ok((_, own)), Ok((_, signer))) = (own, signer) else { return false };
        own.issuer() == signer.subject() && own.verify_signature(Some(signer.public_key())).is_ok()
    }
}

#[cfg(test)]
impl Terms {
    /// Returns terms with an authority for weeks, and a certificate for hours.
    pub(super) fn sample() -> Self {
        Self {
            authority: SignedDuration::from_hours(600),
            certificate: SignedDuration::from_hours(6),
            names: BTreeSet::from(["queuewarden.guards.svc".to_owned()]),
        }
    }
}

impl Material {
    /// Returns an authority and a certificate that are valid now.
    #[cfg(test)]
    pub(super) fn sample() -> Self {
        let (mut material, terms, now) = (Self::default(), Terms::sample(), crate::controller::clock::now());
        material.add_authority(now, &terms).unwrap();
        material.sign(now, &terms, 0).unwrap();
        material
    }

    /// Returns the change that is due now. `reported` is true if the API server has the bundle.
    pub fn due(&self, terms: &Terms, reported: bool, now: Timestamp) -> Due {
        let authorities: Vec<_> = self.authorities.iter().map(|authority| authority.validity).collect();
        let shown = self.shown.as_ref().map(|shown| Shown {
            validity: shown.validity,
            signer: self.signer(),
            names_fit: shown.names == terms.names,
        });
        due(&authorities, shown, reported, now)
    }

    /// Returns the index of the authority that signed the server certificate.
    pub fn signer(&self) -> Option<usize> {
        let shown = self.shown.as_ref()?;
        self.authorities.iter().position(|authority| shown.is_signed_by(authority))
    }

    /// Returns the PEM of all authorities that callers should trust.
    pub fn bundle(&self) -> String {
        self.authorities.iter().map(|authority| authority.chain.as_str()).collect()
    }

    /// Adds a new authority.
    ///
    /// # Errors
    /// When none can be made.
    pub fn add_authority(&mut self, now: Timestamp, terms: &Terms) -> Result<(), TlsError> {
        self.authorities.push(Certificate::make_authority(now, terms)?);
        Ok(())
    }

    /// Signs a new certificate.
    ///
    /// # Errors
    /// When there is no such authority, or none can be made.
    pub fn sign(&mut self, now: Timestamp, terms: &Terms, by: usize) -> Result<(), TlsError> {
        let by = self.authorities.get(by).ok_or_else(|| unreadable("the authority", &"there is none"))?;
        self.shown = Some(Certificate::make(now, terms, by)?);
        Ok(())
    }

    /// Removes an authority.
    pub fn forget(&mut self, at: usize) {
        if at < self.authorities.len() {
            self.authorities.remove(at);
        }
    }
}

/// Sets a validity that begins a little before now, so that a caller whose clock is late accepts it, and
/// that never outlasts the signer.
fn lasting(
    params: &mut CertificateParams,
    now: Timestamp,
    lasts: SignedDuration,
    signer: Option<Validity>,
) -> Result<(), TlsError> {
    let early = LATE_CLOCKS.min(lasts / 24);
    let from = now.checked_sub(early).map_err(|error| no_time(&error))?;
    let until = now.checked_add(lasts).map_err(|error| no_time(&error))?;
    let from = signer.map_or(from, |signer| from.max(signer.from));
    let until = signer.map_or(until, |signer| until.min(signer.until));
    params.not_before = moment(from)?;
    // `notAfter` is the last second, `until` is the one after it.
    params.not_after = moment(until)? - time::Duration::SECOND;
    Ok(())
}

fn moment(at: Timestamp) -> Result<OffsetDateTime, TlsError> {
    OffsetDateTime::from_unix_timestamp(at.as_second()).map_err(|error| no_time(&error))
}

fn validity(certificate: &X509Certificate<'_>) -> Result<Validity, TlsError> {
    let second = |at: i64| Timestamp::from_second(at).map_err(|error| no_time(&error));
    let validity = certificate.validity();
    let until = validity.not_after.timestamp().saturating_add(1);
    Ok(Validity { from: second(validity.not_before.timestamp())?, until: second(until)? })
}

fn names(certificate: &X509Certificate<'_>) -> BTreeSet<String> {
    let names = certificate.subject_alternative_name().ok().flatten();
    let names = names.map(|names| names.value.general_names.as_slice()).unwrap_or_default();
    names.iter().filter_map(name).collect()
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let four = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            let address = four.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from)).ok()?;
            Some(address.to_string())
        }
        _ => None,
    }
}

fn pem(der: &CertificateDer<'_>) -> String {
    let lines = EncodeConfig::new().set_line_ending(LineEnding::LF);
    pem::encode_config(&Pem::new("CERTIFICATE", der.to_vec()), lines)
}

pub(super) fn unreadable(what: &str, why: &dyn fmt::Display) -> TlsError {
    TlsError(format!("cannot read {what}: {why}"))
}

impl From<rcgen::Error> for TlsError {
    fn from(error: rcgen::Error) -> Self {
        Self(format!("cannot make a certificate: {error}"))
    }
}

fn no_time(error: &dyn fmt::Display) -> TlsError {
    TlsError(format!("no certificate can be valid until then: {error}"))
}
