//! Authorities and the server certificate, with their keys. rcgen creates them and x509-parser parses them
//! again, so decisions depend only on the certificates themselves, never on data stored with them.
//!
//! They are stored in one Secret with the keys of `kubernetes.io/tls`, and an additional key for the
//! authorities' keys.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use pem::{EncodeConfig, LineEnding, Pem};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use super::schedule::{Due, Shown, Validity, due};
use crate::server::tls::{TlsError, certificates};
use queuewarden_client::call::call;

/// The key of the server certificate.
const CERTIFICATE: &str = "tls.crt";
/// The entry with the private key of the certificate.
const KEY: &str = "tls.key";
/// The entry with the authorities that callers should trust, oldest first.
const AUTHORITIES: &str = "ca.crt";
/// The entry with the authorities' private keys, in the same order.
pub(super) const AUTHORITY_KEYS: &str = "ca.key";
/// Maximum bytes read of one entry; real entries are much smaller.
const MOST: usize = 256 * 1024;
/// Tolerance for callers' clocks that are slow; less if lifetimes are short.
const LATE_CLOCKS: SignedDuration = SignedDuration::from_hours(1);

/// The required properties of certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The lifetime of an authority.
    pub authority: SignedDuration,
    /// The lifetime of a certificate.
    pub certificate: SignedDuration,
    /// DNS names and IP addresses of the endpoints.
    pub names: BTreeSet<String>,
}

/// A certificate and its key: of an authority, or of the server.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    /// PEM; the first certificate is its own.
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
        let lines = EncodeConfig::new().set_line_ending(LineEnding::LF);
        let chain = pem::encode_config(&Pem::new("CERTIFICATE", der.to_vec()), lines);
        Self::parse(der, "the authority", chain, key.serialize_pem())
    }

    fn parse(der: CertificateDer<'static>, what: &str, chain: String, key: String) -> Result<Self, TlsError> {
        let (_, certificate) = X509Certificate::from_der(&der).map_err(|error| unreadable(what, &error))?;
        let (validity, names) = (validity(&certificate)?, names(&certificate));
        Ok(Self { chain, key, der, validity, names })
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

    /// Reads the material in a Secret. Returns empty material if all parts are missing or empty.
    ///
    /// # Errors
    /// When a part is missing or cannot be parsed.
    pub fn read(secret: &Secret) -> Result<Self, TlsError> {
        let text = |key| text(secret, key);
        let (authorities, keys) = (text(AUTHORITIES)?, text(AUTHORITY_KEYS)?);
        let (chain, key) = (text(CERTIFICATE)?, text(KEY)?);
        let shown =
            if chain.is_empty() && key.is_empty() { None } else { Some(Certificate::read(chain, key)?) };
        if authorities.is_empty() && keys.is_empty() {
            return Ok(Self { authorities: Vec::new(), shown });
        }
        let authorities = certificates(authorities.as_bytes(), AUTHORITIES)
            .map_err(|error| unreadable(AUTHORITIES, &error))?;
        let keys = PrivateKeyDer::pem_slice_iter(keys.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unreadable(AUTHORITY_KEYS, &error))?;
        if authorities.len() != keys.len() {
            let why = format!("it has {} keys for {} authorities", keys.len(), authorities.len());
            return Err(unreadable(AUTHORITY_KEYS, &why));
        }
        let pairs = authorities.into_iter().zip(&keys);
        let authorities =
            pairs.map(|(authority, key)| Certificate::authority(authority, key)).collect::<Result<_, _>>()?;
        Ok(Self { authorities, shown })
    }

    /// Returns the data of a Secret with this material.
    pub fn data(&self) -> BTreeMap<String, ByteString> {
        let keys: String = self.authorities.iter().map(|authority| authority.key.as_str()).collect();
        let (chain, key) =
            self.shown.as_ref().map(|shown| (shown.chain.clone(), shown.key.clone())).unwrap_or_default();
        let entries =
            [(CERTIFICATE, chain), (KEY, key), (AUTHORITIES, self.bundle()), (AUTHORITY_KEYS, keys)];
        entries.into_iter().map(|(name, text)| (name.to_owned(), ByteString(text.into_bytes()))).collect()
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
    /// When it cannot be created.
    pub fn add_authority(&mut self, now: Timestamp, terms: &Terms) -> Result<(), TlsError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        lasting(&mut params, now, terms.authority, None)?;
        // Each authority has a unique name, because it is looked up by name.
        params.distinguished_name.push(DnType::CommonName, format!("queuewarden-ca@{}", now.as_second()));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key)?;
        self.authorities.push(Certificate::read(certificate.pem(), key.serialize_pem())?);
        Ok(())
    }

    /// Signs a new certificate.
    ///
    /// # Errors
    /// When there is no such authority, or the certificate cannot be created.
    pub fn sign(&mut self, now: Timestamp, terms: &Terms, by: usize) -> Result<(), TlsError> {
        let by = self.authorities.get(by).ok_or_else(|| unreadable("the authority", &"there is none"))?;
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
        self.shown = Some(Certificate::read(certificate.pem(), key.serialize_pem())?);
        Ok(())
    }

    /// Removes an authority.
    pub fn forget(&mut self, at: usize) {
        if at < self.authorities.len() {
            self.authorities.remove(at);
        }
    }
}

/// Sets a validity that begins slightly in the past, so that a caller whose clock is slow accepts it, and
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
    // `notAfter` is the last valid second, `until` is the one after it.
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

/// Gets the Secret `name`, or `None` if it does not exist.
///
/// # Errors
/// When it cannot be read, or belongs to another program.
pub(super) async fn secret(secrets: &Api<Secret>, name: &str) -> Result<Option<Secret>, TlsError> {
    let found = call(secrets.get_opt(name)).await;
    let found = found.map_err(|error| TlsError(format!("cannot read Secret {name}: {error}")))?;
    // A Secret without authorities may have been emptied, or may belong to another program.
    if found.as_ref().is_some_and(|found| !is_ours(found)) {
        return Err(TlsError(format!(
            "Secret {name} was not written by queuewarden: it has content, but no {AUTHORITY_KEYS}; mount it \
             and pass its files with --tls-cert-file and --tls-private-key-file, or name another Secret with \
             --tls-secret"
        )));
    }
    Ok(found)
}

/// Returns whether queuewarden wrote the Secret. Other programs do not store the authorities' keys in it. A
/// Secret whose keys are all empty, as type `kubernetes.io/tls` requires of a placeholder, belongs to no
/// program.
fn is_ours(secret: &Secret) -> bool {
    let is_empty = |data: &BTreeMap<String, ByteString>| data.values().all(|value| value.0.is_empty());
    secret.data.as_ref().is_none_or(|data| is_empty(data) || data.contains_key(AUTHORITY_KEYS))
}

fn text(secret: &Secret, key: &str) -> Result<String, TlsError> {
    let Some(ByteString(bytes)) = secret.data.as_ref().and_then(|data| data.get(key)) else {
        return Ok(String::new());
    };
    if bytes.len() > MOST {
        return Err(unreadable(key, &"it is too long"));
    }
    String::from_utf8(bytes.clone()).map_err(|_| unreadable(key, &"it is not text"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::server::certificates::material::Terms;
    use crate::server::certificates::schedule::Due;

    fn terms() -> Terms {
        Terms {
            authority: SignedDuration::from_hours(24 * 600),
            certificate: SignedDuration::from_hours(24 * 6),
            names: BTreeSet::from(["queuewarden.queuewarden-system.svc".to_owned(), "127.0.0.1".to_owned()]),
        }
    }

    fn day(day: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + day * 24 * 60 * 60).unwrap()
    }

    fn secret(material: &Material) -> Secret {
        Secret { data: Some(material.data()), ..Secret::default() }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut material = Material::default();
        assert_eq!(Material::read(&Secret::default()).unwrap(), material);
        material.add_authority(day(0), &terms()).unwrap();
        material.add_authority(day(1), &terms()).unwrap();
        material.sign(day(1), &terms(), 1).unwrap();
        assert_eq!(Material::read(&secret(&material)).unwrap(), material);
        assert_eq!(material.signer(), Some(1));
    }

    #[test]
    fn what_is_due_is_read_from_the_certificates() {
        let mut material = Material::default();
        material.add_authority(day(0), &terms()).unwrap();
        material.sign(day(0), &terms(), 0).unwrap();
        let due_on = |material: &Material, terms: &Terms, at| material.due(terms, true, day(at));
        assert_eq!(due_on(&material, &terms(), 3), Due::Nothing);
        assert_eq!(due_on(&material, &terms(), 5), Due::Certificate(0));
        assert_eq!(due_on(&material, &terms(), 500), Due::Authority);
        assert_eq!(due_on(&material, &terms(), 600), Due::Forget(0));
        let mut other = terms();
        other.names.insert("localhost".to_owned());
        assert_eq!(due_on(&material, &other, 3), Due::Certificate(0));
    }

    #[test]
    fn a_damaged_secret_is_an_error() {
        let mut material = Material::default();
        material.add_authority(day(0), &terms()).unwrap();
        material.sign(day(0), &terms(), 0).unwrap();
        for key in [CERTIFICATE, AUTHORITIES, AUTHORITY_KEYS] {
            for text in [&b"damaged"[..], &[0xff; 4]] {
                let mut secret = secret(&material);
                secret.data.as_mut().unwrap().insert(key.to_owned(), ByteString(text.to_vec()));
                assert!(Material::read(&secret).unwrap_err().to_string().contains("cannot read"), "{key}");
            }
        }
        let mut half = secret(&material);
        half.data.as_mut().unwrap().remove(AUTHORITY_KEYS);
        assert!(Material::read(&half).unwrap_err().to_string().contains("0 keys for 1 authorities"));
    }
}
