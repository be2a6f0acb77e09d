//! Loads queuewarden's own certificate on every replica that listens: a loop that reads the Secret, which
//! `queuewarden certificates` writes.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use tokio::time::sleep;

use super::material::Material;
use super::schedule::Validity;
use super::{Problem, delay, secret};
use crate::controller::clock;
use crate::controller::health::Health;
use crate::server::tls::{ServerCertificate, TlsError};

/// Follows the Secret.
#[expect(missing_debug_implementations, reason = "kube's client has none")]
pub struct Follower {
    secrets: Api<Secret>,
    name: String,
    identity: ServerCertificate,
    health: Arc<Health>,
    /// The certificate in use, without its key, and the time for which it is valid.
    shown: Option<(String, Validity)>,
    problem: Problem,
}

impl Follower {
    /// Returns the follower of Secret `name` in `namespace`, for a certificate that `identity` shows.
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

    /// Loads the certificate of the Secret. An invalid one is of no use: without another, this replica is
    /// not ready.
    async fn round(&mut self, now: Timestamp) -> Result<(), TlsError> {
        let name = &self.name;
        let found = secret::get(&self.secrets, name).await?;
        let material = found.as_ref().map(secret::read).transpose();
        let material = material.map_err(|error| TlsError(format!("cannot use Secret {name}: {error}")))?;
        let Material { authorities, shown } = material.unwrap_or_default();
        let valid = shown.filter(|certificate| certificate.validity.holds(now));
        let Some(certificate) = valid else {
            return Err(TlsError(format!(
                "there is no valid certificate in Secret {name}: queuewarden certificates, which writes it, \
                 has to run"
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
        self.health.metrics.endpoints.certified(until, authority_until);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;
    use crate::server::certificates::material::Material;
    use crate::server::testing::{client, reply};

    /// The follower only gets the Secret, loads a valid certificate from it, and keeps that one when the
    /// Secret is emptied or taken over.
    #[tokio::test]
    async fn valid_certificate_in_the_secret_is_shown_and_stays() {
        let secret = |material: &Material| Secret { data: Some(secret::data(material)), ..Secret::default() };
        let mut foreign = secret(&Material::sample());
        foreign.data.as_mut().unwrap().remove(secret::AUTHORITY_KEYS);
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
            (Secret::default(), "no valid certificate in Secret endpoints"),
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
        assert!(expired.contains("there is no valid certificate in Secret"), "{expired}");
    }
}
