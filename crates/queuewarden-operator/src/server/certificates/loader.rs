//! Loads the certificate that the endpoints use, on every replica that listens: from the Secret that
//! `queuewarden certificates` writes, or from files that another program renews, such as cert-manager through
//! a mounted Secret. The authorities of client certificates also come from a file.
//!
//! Files are read every few seconds, because a mounted directory is replaced by a link, which file watchers
//! do not notice reliably.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::sleep;

use super::material::{self, Certificate, Material};
use super::schedule::Validity;
use super::{Problem, delay};
use crate::controller::clock;
use crate::controller::health::Health;
use crate::server::caller::Authorities;
use crate::server::tls::{ServerCertificate, TlsError};

/// Follows the Secret.
#[expect(missing_debug_implementations, reason = "kube's client does not implement Debug")]
pub struct Follower {
    secrets: Api<Secret>,
    name: String,
    identity: ServerCertificate,
    health: Arc<Health>,
    /// The certificate in use, without its key, and its validity.
    shown: Option<(String, Validity)>,
    problem: Problem,
}

impl Follower {
    /// Returns the loader of Secret `name` in `namespace`, for the certificate of `identity`.
    pub fn new(
        client: &Client,
        (namespace, name): (&str, &str),
        identity: ServerCertificate,
        health: Arc<Health>,
    ) -> Self {
        let secrets = Api::namespaced(client.clone(), namespace);
        Self { secrets, name: name.to_owned(), identity, health, shown: None, problem: Problem::default() }
    }

    /// Follows the Secret for ever.
    pub async fn run(mut self) {
        loop {
            let round = self.round(clock::now()).await;
            self.problem.note(round);
            let lifetime = self.shown.as_ref().map(|(_, validity)| validity.length());
            sleep(delay(lifetime)).await;
        }
    }

    /// Loads the certificate of the Secret. An invalid one is ignored: if this replica has no other, it is
    /// not ready.
    async fn round(&mut self, now: Timestamp) -> Result<(), TlsError> {
        let name = &self.name;
        let found = material::secret(&self.secrets, name).await?;
        let material = found.as_ref().map(Material::read).transpose();
        let material = material.map_err(|error| TlsError(format!("cannot use Secret {name}: {error}")))?;
        let Material { authorities, shown } = material.unwrap_or_default();
        let valid = shown.filter(|certificate| certificate.validity.holds(now));
        let Some(certificate) = valid else {
            return Err(TlsError(format!(
                "Secret {name} {}: queuewarden certificates, which writes it, must be running",
                if found.is_some() { "has no valid certificate" } else { "is missing" }
            )));
        };
        let until = certificate.validity.until;
        if self.shown.as_ref().is_none_or(|(chain, _)| *chain != certificate.chain) {
            let shown = self.identity.show(certificate.chain.as_bytes(), certificate.key.as_bytes());
            shown.map_err(|error| {
                TlsError(format!("cannot show the certificate in Secret {name}: {error}"))
            })?;
            tracing::info!(%until, "Showing a new certificate");
            self.shown = Some((certificate.chain, certificate.validity));
        }
        let authority_until = authorities.iter().map(|authority| authority.validity.until).max();
        self.health.metrics.certified(until, authority_until);
        Ok(())
    }
}

/// The time between two reads.
const LOOK_AT_FILES: Duration = Duration::from_secs(5);
/// Maximum bytes read of one file; real files are much smaller.
const MOST: u64 = 1024 * 1024;

/// The files, and their content when they were last used.
#[expect(missing_debug_implementations, reason = "it contains a private key")]
pub struct CertificateFiles {
    /// The certificate chain and the private key, in PEM.
    pair: Option<(PathBuf, PathBuf)>,
    clients: Option<PathBuf>,
    identity: ServerCertificate,
    authorities: watch::Sender<Option<Arc<Authorities>>>,
    health: Arc<Health>,
    last_pair: Option<(Vec<u8>, Vec<u8>)>,
    last_clients: Option<Vec<u8>>,
}

impl CertificateFiles {
    /// Reads the files of a certificate for `identity`, if it is mounted, and of the authorities of client
    /// certificates, if configured.
    ///
    /// # Errors
    /// When a file cannot be used. Later such problems are logged and the last usable content stays, but a
    /// server must not start with them.
    pub fn begin(
        pair: Option<(PathBuf, PathBuf)>,
        clients: Option<PathBuf>,
        identity: ServerCertificate,
        health: Arc<Health>,
    ) -> Result<Self, TlsError> {
        let authorities = watch::Sender::new(None);
        let mut files =
            Self { pair, clients, identity, authorities, health, last_pair: None, last_clients: None };
        files.look()?;
        Ok(files)
    }

    /// Returns the authorities of client certificates; `None` means that client certificates are not
    /// accepted.
    pub fn authorities(&self) -> watch::Receiver<Option<Arc<Authorities>>> {
        self.authorities.subscribe()
    }

    /// Reads the files periodically.
    pub async fn run(mut self) {
        if self.pair.is_none() && self.clients.is_none() {
            return;
        }
        let mut problem = Problem::default();
        loop {
            sleep(LOOK_AT_FILES).await;
            let read = self.look();
            problem.note(read.map_err(|error| format!("{error}; continuing with the files as last read")));
        }
    }

    /// Reads the files on the runtime's thread, because they are small.
    fn look(&mut self) -> Result<(), TlsError> {
        let pair = self.look_at_pair();
        // Runs even if reading the pair has failed, because a removed authority must not stay trusted.
        self.look_at_clients().and(pair)
    }

    fn look_at_pair(&mut self) -> Result<(), TlsError> {
        let Some((path, key)) = &self.pair else { return Ok(()) };
        let found = (read(path)?, read(key)?);
        if self.last_pair.as_ref() == Some(&found) {
            return Ok(());
        }
        self.identity.show(&found.0, &found.1).map_err(|error| unusable(path, &error))?;
        let chain = String::from_utf8_lossy(&found.0).into_owned();
        if let Ok(certificate) = Certificate::read(chain, String::new()) {
            let until = certificate.validity.until;
            self.health.metrics.certified(until, None);
            tracing::info!(file = %path.display(), %until, "Showing a new certificate");
        }
        self.last_pair = Some(found);
        Ok(())
    }

    fn look_at_clients(&mut self) -> Result<(), TlsError> {
        let Some(path) = &self.clients else { return Ok(()) };
        let found = read(path)?;
        if self.last_clients.as_ref() == Some(&found) {
            return Ok(());
        }
        let authorities = Authorities::from_pem(&found).map_err(|error| unusable(path, &error))?;
        tracing::info!(file = %path.display(), "Accepting client certificates of new authorities");
        self.authorities.send_replace(Some(Arc::new(authorities)));
        self.last_clients = Some(found);
        Ok(())
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST).read_to_end(&mut bytes));
    read.map_err(|error| TlsError(format!("cannot read {}: {error}", path.display())))?;
    Ok(bytes)
}

fn unusable(path: &Path, error: &TlsError) -> TlsError {
    TlsError(format!("cannot use {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;

    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;
    use crate::server::testing::{client, reply};

    #[test]
    fn new_authorities_are_taken_while_the_pair_is_broken() {
        let directory = tempfile::tempdir().unwrap();
        let [certificate, key, clients] =
            ["tls.crt", "tls.key", "clients.crt"].map(|name| directory.path().join(name));
        let (before, after) = (Material::sample(), Material::sample());
        let shown = before.shown.as_ref().unwrap();
        fs::write(&certificate, &shown.chain).unwrap();
        fs::write(&key, &shown.key).unwrap();
        fs::write(&clients, before.bundle()).unwrap();
        let pair = (certificate.clone(), key);
        let health = Arc::new(Health::default());
        let mut files =
            CertificateFiles::begin(Some(pair), Some(clients.clone()), ServerCertificate::default(), health)
                .unwrap();
        let mut authorities = files.authorities();
        fs::write(&certificate, "damaged").unwrap();
        assert!(files.look().unwrap_err().to_string().contains("tls.crt"));
        assert!(!authorities.has_changed().unwrap());
        fs::write(&clients, after.bundle()).unwrap();
        assert!(files.look().unwrap_err().to_string().contains("tls.crt"));
        assert!(authorities.has_changed().unwrap());
        authorities.mark_unchanged();
        fs::write(&clients, "damaged").unwrap();
        assert!(files.look().unwrap_err().to_string().contains("clients.crt"));
        assert!(!authorities.has_changed().unwrap());
    }

    /// The loader only gets the Secret, loads a valid certificate from it, and keeps that one if the Secret
    /// is emptied or taken over.
    #[tokio::test]
    async fn valid_certificate_in_the_secret_is_shown_and_stays() {
        let secret = |material: &Material| Secret { data: Some(material.data()), ..Secret::default() };
        let mut foreign = secret(&Material::sample());
        foreign.data.as_mut().unwrap().remove(material::AUTHORITY_KEYS);
        let there = Arc::new(Mutex::new(Secret::default()));
        let served = Arc::clone(&there);
        let client = client(move |request| {
            assert_eq!(request.method(), http::Method::GET);
            let answer = reply(200, &json!(*served.lock().unwrap()));
            async move { answer }
        });
        let identity = ServerCertificate::default();
        let mut follower =
            Follower::new(&client, ("guards", "endpoints"), identity.clone(), Arc::new(Health::default()));
        let mut shown = None;
        for (material, problem) in [
            (Secret::default(), "endpoints has no valid certificate"),
            (secret(&Material::sample()), ""),
            (secret(&Material::sample()), ""),
            (Secret::default(), "no valid certificate"),
            (foreign, "was not written by queuewarden"),
        ] {
            *there.lock().unwrap() = material;
            let found = follower.round(clock::now()).await.err().map(|error| error.to_string());
            assert!(found.clone().unwrap_or_default().contains(problem), "{found:?}");
            assert_eq!(found.is_none(), problem.is_empty(), "{found:?}");
            let changed = follower.shown != shown;
            assert_eq!(changed, problem.is_empty());
            shown = follower.shown.clone();
            assert_eq!(identity.is_ready(), shown.is_some());
        }
        let later = clock::now() + SignedDuration::from_hours(7);
        *there.lock().unwrap() = secret(&Material::sample());
        let expired = follower.round(later).await.unwrap_err().to_string();
        assert!(expired.contains("has no valid certificate"), "{expired}");
    }
}
