//! Provides certificates that let the API server act as a proxy for other API servers and name the user of
//! each request.
//!
//! The flags are the same as kubeadm sets.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};

use crate::control_plane::flag;
use crate::test_cluster::TestCluster;

/// The client name that aggregated API servers trust.
const NAME: &str = "front-proxy-client";

/// An authority of certificates.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate with its key, in PEM.
#[derive(Debug, Clone)]
pub struct Client {
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    /// Creates an authority.
    ///
    /// # Errors
    /// When no key can be made.
    pub fn new() -> Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "front-proxy-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// Returns its certificate in PEM.
    #[must_use]
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Writes its certificate into a file.
    pub(crate) fn file(&self, path: &Path) -> Result<PathBuf> {
        fs::write(path, self.pem())?;
        Ok(path.to_owned())
    }

    /// Creates a certificate for a client of this name.
    ///
    /// # Errors
    /// When no key can be made.
    pub fn client(&self, name: &str) -> Result<Client> {
        self.named(&[(DnType::CommonName, name)])
    }

    /// Creates a certificate for a user in two organizations, which an API server treats as groups:
    /// `/CN=…/O=…/O=…`.
    ///
    /// # Errors
    /// When no key can be created.
    pub fn member(&self, name: &str, organisations: [&str; 2]) -> Result<Client> {
        // rcgen holds only one value of each type, so this adds the same type a second time.
        let again = DnType::CustomDnType(vec![2, 5, 4, 10]);
        let [first, second] = organisations;
        self.named(&[(DnType::CommonName, name), (DnType::OrganizationName, first), (again, second)])
    }

    /// Creates a certificate for a server at 127.0.0.1 that expires at the end of this year.
    ///
    /// # Errors
    /// When no key can be created.
    pub fn server(&self, ends: i32) -> Result<Client> {
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()])?;
        params.not_after = date_time_ymd(ends, 12, 31);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&params)
    }

    fn named(&self, names: &[(DnType, &str)]) -> Result<Client> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        for (kind, name) in names {
            params.distinguished_name.push(kind.clone(), *name);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Result<Client> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Client { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

impl TestCluster {
    /// Returns the API server's own certificate as a proxy.
    ///
    /// # Errors
    /// When the API server is not ours.
    pub fn front_proxy(&self) -> Result<Client> {
        self.local()?;
        let pki = self.directory.join("pki");
        let read = |name: &str| fs::read_to_string(pki.join(name));
        Ok(Client { certificate: read("front-proxy-client.crt")?, key: read("front-proxy-client.key")? })
    }
}

/// Makes an authority and the API server's certificate, and the flags that name them.
pub(crate) fn flags(pki: &Path) -> Result<Vec<OsString>> {
    let authority = Authority::new()?;
    let client = authority.client(NAME)?;
    let write = |name: &str, text: &str| {
        let path = pki.join(name);
        fs::write(&path, text).map(|()| path)
    };
    let mut flags: Vec<OsString> = vec![
        format!("--requestheader-allowed-names={NAME}").into(),
        "--requestheader-username-headers=X-Remote-User".into(),
        "--requestheader-group-headers=X-Remote-Group".into(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
    ];
    flags.extend(flag("--requestheader-client-ca-file", &write("front-proxy-ca.crt", &authority.pem())?));
    flags.extend(flag("--proxy-client-cert-file", &write("front-proxy-client.crt", &client.certificate)?));
    flags.extend(flag("--proxy-client-key-file", &write("front-proxy-client.key", &client.key)?));
    Ok(flags)
}
