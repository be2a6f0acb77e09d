//! Storage of keys and certificates: one Secret whose keys are those of `kubernetes.io/tls`, and one more
//! for the authorities' keys.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;

use super::material::{Certificate, Material, unreadable};
use crate::server::tls::{TlsError, certificates};
use queuewarden_client::call::call;

/// The key of the server certificate.
pub const CERTIFICATE: &str = "tls.crt";
/// The key of its private key.
pub const KEY: &str = "tls.key";
/// The key of the authorities that callers should trust, oldest first.
pub const AUTHORITIES: &str = "ca.crt";
/// The key of the authorities' private keys, in the same order.
pub const AUTHORITY_KEYS: &str = "ca.key";
/// Bytes that are read of one entry; real entries are much smaller.
const MOST: usize = 256 * 1024;

/// Gets the Secret `name`; `None`: there is none.
///
/// # Errors
/// When it cannot be read, or belongs to another program.
pub async fn get(secrets: &Api<Secret>, name: &str) -> Result<Option<Secret>, TlsError> {
    let found = call(secrets.get_opt(name)).await;
    let found = found.map_err(|error| TlsError(format!("cannot read Secret {name}: {error}")))?;
    // One without authorities may belong to another program as well as be emptied.
    if found.as_ref().is_some_and(|found| !is_ours(found)) {
        return Err(TlsError(format!(
            "Secret {name} was not written by queuewarden: there is something in it, but no {AUTHORITY_KEYS}; mount it and name its files \
             with --tls-cert-file and --tls-private-key-file, or name another Secret with --tls-secret"
        )));
    }
    Ok(found)
}

/// Returns the material in a Secret; nothing where all of it is missing or empty.
///
/// # Errors
/// When a part is missing or cannot be read.
pub fn read(secret: &Secret) -> Result<Material, TlsError> {
    let text = |key| text(secret, key);
    let (authorities, keys) = (text(AUTHORITIES)?, text(AUTHORITY_KEYS)?);
    let (chain, key) = (text(CERTIFICATE)?, text(KEY)?);
    let authorities =
        if authorities.is_empty() && keys.is_empty() { Vec::new() } else { pairs(&authorities, &keys)? };
    let shown = if chain.is_empty() && key.is_empty() { None } else { Some(Certificate::read(chain, key)?) };
    Ok(Material { authorities, shown })
}

/// Returns whether queuewarden wrote the Secret: no other program stores the authorities' keys beside the
/// certificate. A Secret whose keys are all empty, as type `kubernetes.io/tls` requires of a placeholder,
/// belongs to no program.
fn is_ours(secret: &Secret) -> bool {
    let is_empty = |data: &BTreeMap<String, ByteString>| data.values().all(|value| value.0.is_empty());
    secret.data.as_ref().is_none_or(|data| is_empty(data) || data.contains_key(AUTHORITY_KEYS))
}

/// Returns the data of a Secret with this material.
pub fn data(material: &Material) -> BTreeMap<String, ByteString> {
    let keys: String = material.authorities.iter().map(|authority| authority.key.as_str()).collect();
    let (chain, key) = material
        .shown
        .as_ref()
        .map_or_else(Default::default, |shown| (shown.chain.clone(), shown.key.clone()));
    let entries =
        [(CERTIFICATE, chain), (KEY, key), (AUTHORITIES, material.bundle()), (AUTHORITY_KEYS, keys)];
    entries.into_iter().map(|(name, text)| (name.to_owned(), ByteString(text.into_bytes()))).collect()
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

fn pairs(authorities: &str, keys: &str) -> Result<Vec<Certificate>, TlsError> {
    let authorities =
        certificates(authorities.as_bytes(), AUTHORITIES).map_err(|error| unreadable(AUTHORITIES, &error))?;
    let keys = PrivateKeyDer::pem_slice_iter(keys.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unreadable(AUTHORITY_KEYS, &error))?;
    if authorities.len() != keys.len() {
        let why = format!("it has {} keys for {} authorities", keys.len(), authorities.len());
        return Err(unreadable(AUTHORITY_KEYS, &why));
    }
    let pairs = authorities.into_iter().zip(&keys);
    pairs.map(|(authority, key)| Certificate::authority(authority, key)).collect()
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
        Secret { data: Some(data(material)), ..Secret::default() }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut material = Material::default();
        assert_eq!(read(&Secret::default()).unwrap(), material);
        material.add_authority(day(0), &terms()).unwrap();
        material.add_authority(day(1), &terms()).unwrap();
        material.sign(day(1), &terms(), 1).unwrap();
        assert_eq!(read(&secret(&material)).unwrap(), material);
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
                assert!(read(&secret).unwrap_err().to_string().contains("cannot read"), "{key}");
            }
        }
        let mut half = secret(&material);
        half.data.as_mut().unwrap().remove(AUTHORITY_KEYS);
        assert!(read(&half).unwrap_err().to_string().contains("0 keys for 1 authorities"));
    }
}
