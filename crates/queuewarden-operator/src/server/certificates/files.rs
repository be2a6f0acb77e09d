//! Certificate files that another program renews, such as cert-manager through a mounted Secret. They are
//! read every few seconds, because a mounted directory is replaced by a link, which file watchers do not
//! notice reliably.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use super::Problem;
use super::material::Certificate;
use crate::controller::health::Health;
use crate::server::caller::Authorities;
use crate::server::tls::{ServerCertificate, TlsError};

/// The time between two reads.
const LOOK: Duration = Duration::from_secs(5);
/// Bytes that are read of one file; real files are much smaller.
const MOST: u64 = 1024 * 1024;

/// The certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificatePaths {
    /// The certificate and those that signed it, in PEM.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// The files, and their content when they were last used.
#[expect(missing_debug_implementations, reason = "there is a private key in it")]
pub struct CertificateFiles {
    pair: Option<CertificatePaths>,
    clients: Option<PathBuf>,
    identity: ServerCertificate,
    authorities: watch::Sender<Option<Arc<Authorities>>>,
    health: Arc<Health>,
    last_pair: Option<(Vec<u8>, Vec<u8>)>,
    last_clients: Option<Vec<u8>>,
}

impl CertificateFiles {
    /// Reads the files of a certificate for `identity`, if it is mounted, and of the authorities of client
    /// certificates, if there are any.
    ///
    /// # Errors
    /// When a file cannot be used. Later such problems are logged and the last usable content stays, but a
    /// server must not begin with them.
    pub fn begin(
        pair: Option<CertificatePaths>,
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

    /// Returns the authorities of client certificates; `None`: client certificates do not count.
    pub fn authorities(&self) -> watch::Receiver<Option<Arc<Authorities>>> {
        self.authorities.subscribe()
    }

    /// Reads the files again and again.
    pub async fn run(mut self) {
        if self.pair.is_none() && self.clients.is_none() {
            return;
        }
        let mut problem = Problem::default();
        loop {
            sleep(LOOK).await;
            let read = self.look();
            problem.note(read.map_err(|error| format!("{error}; going on with what was read before")));
        }
    }

    /// Reads the files; they are small, so the runtime's thread does it.
    fn look(&mut self) -> Result<(), TlsError> {
        let pair = self.look_at_pair();
        // Runs even if the pair has failed: a removed authority must not stay trusted because of that.
        self.look_at_clients().and(pair)
    }

    fn look_at_pair(&mut self) -> Result<(), TlsError> {
        let Some(pair) = &self.pair else { return Ok(()) };
        let found = (read(&pair.certificate)?, read(&pair.key)?);
        if self.last_pair.as_ref() == Some(&found) {
            return Ok(());
        }
        self.identity.show(&found.0, &found.1).map_err(|error| unusable(&pair.certificate, &error))?;
        let chain = String::from_utf8_lossy(&found.0).into_owned();
        if let Ok(certificate) = Certificate::read(chain, String::new()) {
            let until = certificate.validity.until;
            self.health.metrics.endpoints.certified(until, None);
            tracing::info!(file = %pair.certificate.display(), %until, "Showing a new certificate");
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
        tracing::info!(file = %path.display(), "Taking client certificates of new authorities");
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

    use super::*;
    use crate::server::certificates::material::Material;

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
        let pair = CertificatePaths { certificate: certificate.clone(), key };
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
}
