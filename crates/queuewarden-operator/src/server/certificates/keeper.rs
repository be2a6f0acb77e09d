//! Renews queuewarden's own certificate: a loop that writes due changes to the Secret, then to `caBundle` of
//! the objects that make the API server call queuewarden's endpoints. These objects have fixed names, so that
//! RBAC can grant write permission by name. Missing objects are skipped.
//!
//! The loop runs in a separate process (`queuewarden certificates`) that does not listen on any port, because
//! permission to change a webhook configuration is as powerful as owning the cluster. Running two of them is
//! safe, because the `resourceVersion` of the Secret lets only one write succeed.
//!
//! Each round reads everything again: the Secret, the wall clock, the bundle in the API server. The loop only
//! remembers the last content of the Secret, which it writes back if the Secret was emptied or removed,
//! because no caller would trust a new authority.

use std::future::ready;

use futures::stream::{Stream, StreamExt as _, select_all};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{ApiResource, DynamicObject, ObjectMeta, Patch};
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::material::{self, Material, Terms};
use super::schedule::{Due, MOST};
use super::{Problem, delay};
use crate::controller::clock;
use crate::server::tls::TlsError;
use queuewarden_api::registration::{API_SERVICE, MUTATING, VALIDATING};
use queuewarden_client::call::{CallError, call};
use queuewarden_client::objects::{patch_params, post_params};

/// Maximum number of steps in one round: enough to remove, create and sign everything.
const STEPS: usize = 2 * MOST;

/// The largest number of changes of objects that one round takes up.
const MOST_CHANGES: usize = 16;

/// Renews the certificate in the Secret.
#[expect(missing_debug_implementations, reason = "kube's client does not implement Debug")]
pub struct Keeper {
    client: Client,
    secrets: Api<Secret>,
    name: String,
    terms: Terms,
    /// The last content of the Secret.
    material: Material,
    /// The bundle that was last written to the API server.
    reported: Option<String>,
    problem: Problem,
}

impl Keeper {
    /// Returns the keeper of Secret `name` in `namespace`.
    pub fn new(client: &Client, (namespace, name): (&str, &str), terms: Terms) -> Self {
        Self {
            secrets: Api::namespaced(client.clone(), namespace),
            client: client.clone(),
            name: name.to_owned(),
            terms,
            material: Material::default(),
            reported: None,
            problem: Problem::default(),
        }
    }

    /// Renews the certificate for ever.
    pub async fn run(mut self) {
        let mut changes = changes(&self.client).ready_chunks(MOST_CHANGES);
        loop {
            let round = self.round(clock::now()).await;
            self.problem.note(round);
            let lifetime = self.material.shown.as_ref().map(|_| self.terms.certificate);
            // A new webhook refuses until it has a bundle.
            tokio::select! {
                () = sleep(delay(lifetime)) => {}
                Some(_) = changes.next() => {}
            }
        }
    }

    async fn round(&mut self, now: Timestamp) -> Result<(), TlsError> {
        let stored = material::secret(&self.secrets, &self.name).await?;
        match stored.as_ref().map(Material::read) {
            Some(Ok(read)) if !read.authorities.is_empty() => self.material = read,
            Some(Err(error)) => tracing::warn!(secret = self.name, %error, "The Secret is damaged"),
            // The old material is written back rather than replaced, because callers trust it.
            None | Some(Ok(_)) => {}
        }
        self.renew(stored, now).await?;
        self.publish().await
    }

    /// Writes due changes.
    async fn renew(&mut self, stored: Option<Secret>, now: Timestamp) -> Result<(), TlsError> {
        let mut desired = self.material.clone();
        for _ in 0..STEPS {
            let reported = self.reported.as_deref() == Some(&desired.bundle());
            let step = desired.due(&self.terms, reported, now);
            match step {
                Due::Nothing => break,
                Due::Forget(at) => desired.forget(at),
                Due::Authority => desired.add_authority(now, &self.terms)?,
                Due::Certificate(by) => desired.sign(now, &self.terms, by)?,
            }
            tracing::info!(?step, secret = self.name, "Renewing the certificate of the HTTPS endpoints");
        }
        let data = Some(desired.data());
        if stored.as_ref().is_none_or(|stored| stored.data != data) {
            let written = if let Some(stored) = stored {
                let secret = Secret { data, ..stored };
                call(self.secrets.replace(&self.name, &post_params(), &secret)).await
            } else {
                // Server-side apply names what it creates, so the role can limit `create` to this Secret.
                let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
                let secret = Secret { metadata, data, ..Secret::default() };
                call(self.secrets.patch(&self.name, &patch_params(), &Patch::Apply(&secret))).await
            };
            written.map_err(|error| TlsError(format!(
                "cannot write Secret {}: {error}; the role of ServiceAccount queuewarden-certificates must \
                 allow get, update, create and patch on it",
                self.name
            )))?;
        }
        self.material = desired;
        Ok(())
    }

    /// Publishes the authorities to the API server: writes the bundle into every object that does not have it
    /// yet.
    async fn publish(&mut self) -> Result<(), TlsError> {
        let bundle = self.material.bundle();
        self.reported = None;
        let bytes = ByteString(bundle.as_bytes().to_vec());
        let mut problem = None;
        for (resource, name) in targets() {
            if let Err(error) = inject(&self.client, &resource, name, &bytes).await {
                problem.get_or_insert_with(|| {
                    TlsError(format!(
                        "cannot update the caBundle, so the certificate stays as it is: {} {name}: {error}",
                        resource.kind
                    ))
                });
            }
        }
        problem.map_or(Ok(()), Err)?;
        self.reported = Some(bundle);
        Ok(())
    }
}

/// Returns the patch that sets `bundle` in an object, or `None` if it already has the bundle or takes none. A
/// webhook configuration has a bundle for each webhook; an `APIService` has one.
fn change(object: &Value, bundle: &ByteString) -> Option<Value> {
    let bundle = json!(bundle);
    if let Some(before) = object.get("webhooks") {
        let mut after = before.clone();
        for webhook in after.as_array_mut()? {
            let config = webhook.get_mut("clientConfig").and_then(Value::as_object_mut);
            if let Some(config) = config {
                config.insert("caBundle".to_owned(), bundle.clone());
            }
        }
        return (after != *before).then(|| json!({"webhooks": after}));
    }
    let spec = object.get("spec")?;
    // Without a Service the API server serves it itself; with insecureSkipTLSVerify it takes no bundle.
    let local = spec.get("service").is_none_or(Value::is_null);
    let blind = spec.get("insecureSkipTLSVerify") == Some(&Value::Bool(true));
    let reported = spec.get("caBundle") == Some(&bundle);
    (!local && !blind && !reported).then(|| json!({"spec": {"caBundle": bundle}}))
}

/// Returns the objects that have a bundle.
fn targets() -> impl Iterator<Item = (ApiResource, &'static str)> {
    let validating = ApiResource::erase::<ValidatingWebhookConfiguration>(&());
    let mutating = ApiResource::erase::<MutatingWebhookConfiguration>(&());
    let service = ApiResource::erase::<APIService>(&());
    let validating = VALIDATING.iter().map(move |name| (validating.clone(), *name));
    let mutating = MUTATING.iter().map(move |name| (mutating.clone(), *name));
    validating.chain(mutating).chain([(service, API_SERVICE)])
}

/// Returns an item for each change of these objects; none while they cannot be watched.
fn changes(client: &Client) -> impl Stream<Item = ()> + Send + Unpin + use<> {
    let watches = targets().map(|(resource, name)| {
        let objects = Api::<PartialObjectMeta<DynamicObject>>::all_with(client.clone(), &resource);
        let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
        let events = watcher(objects, config).default_backoff();
        events.filter_map(|event| ready(event.ok().map(drop))).boxed()
    });
    select_all(watches)
}

async fn inject(
    client: &Client,
    resource: &ApiResource,
    name: &str,
    bundle: &ByteString,
) -> Result<(), CallError> {
    let objects: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    let Some(object) = call(objects.get_opt(name)).await? else { return Ok(()) };
    let Some(mut change) = change(&object.data, bundle) else { return Ok(()) };
    // A merge patch replaces the whole list, so the list must not have changed since it was read.
    if let (Some(change), Some(version)) = (change.as_object_mut(), object.metadata.resource_version) {
        change.insert("metadata".to_owned(), json!({"resourceVersion": version}));
    }
    call(objects.patch(name, &patch_params(), &Patch::Merge(&change))).await?;
    tracing::info!(kind = resource.kind, name, "Registered the authority of the certificate");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};

    use jiff::SignedDuration;
    use k8s_openapi::ByteString;
    use serde_json::json;

    use super::*;
    use crate::server::testing::{client, not_found, reply};

    fn ago(hours: i64) -> Timestamp {
        clock::now() - SignedDuration::from_hours(hours)
    }

    /// A keeper, the Secrets that it has written, and a switch that makes the API server accept bundles.
    struct Replica {
        keeper: Keeper,
        written: Arc<Mutex<Vec<Secret>>>,
        listens: Arc<AtomicBool>,
    }

    impl Replica {
        /// Returns the keeper of a cluster with this Secret, or without one.
        fn keeping(data: Option<BTreeMap<String, ByteString>>) -> Self {
            let metadata = ObjectMeta { name: Some("endpoints".to_owned()), ..ObjectMeta::default() };
            let kept = data.map(|data| Secret { metadata, data: Some(data), ..Secret::default() });
            let (written, listens) = (Arc::default(), Arc::new(AtomicBool::new(true)));
            let (writes, open) = (Arc::clone(&written), Arc::clone(&listens));
            let client = client(move |request| {
                let (kept, writes) = (kept.clone(), Arc::<Mutex<Vec<Secret>>>::clone(&writes));
                let reported = open.load(Ordering::Relaxed);
                async move {
                    let secret = request.uri().path().contains("/secrets");
                    match *request.method() {
                        http::Method::GET if secret => match kept {
                            Some(kept) => reply(200, &json!(kept)),
                            None => not_found(),
                        },
                        http::Method::GET => {
                            reply(200, &json!({"webhooks": [{"clientConfig": {"service": {}}}]}))
                        }
                        http::Method::PATCH if reported && !secret => reply(200, &json!({"metadata": {}})),
                        http::Method::PATCH if !secret => not_found(),
                        _ => {
                            let body = http_body_util::BodyExt::collect(request.into_body()).await.unwrap();
                            let secret: Secret = serde_json::from_slice(&body.to_bytes()).unwrap();
                            writes.lock().unwrap().push(secret.clone());
                            reply(200, &json!(secret))
                        }
                    }
                }
            });
            Self { keeper: Keeper::new(&client, ("guards", "endpoints"), Terms::sample()), written, listens }
        }

        /// Runs a round; returns its problem, which may be empty, and the Secrets that were written so far.
        async fn round(&mut self) -> (String, Vec<BTreeMap<String, ByteString>>) {
            let problem = self.keeper.round(clock::now()).await.err().map(|error| error.to_string());
            let written = self.written.lock().unwrap().clone();
            (problem.unwrap_or_default(), written.into_iter().filter_map(|secret| secret.data).collect())
        }
    }

    /// Runs a round of a keeper that previously had this material; returns the same.
    async fn round(
        material: &Material,
        data: Option<BTreeMap<String, ByteString>>,
    ) -> (String, Vec<BTreeMap<String, ByteString>>) {
        let mut leader = Replica::keeping(data);
        leader.keeper.material = material.clone();
        leader.round().await
    }

    #[tokio::test]
    async fn what_is_somebody_elses_is_left_alone() {
        let held = Material::sample();
        for keys in [&["tls.crt", "tls.key"][..], &["tls.crt", "tls.key", "ca.crt"]] {
            let mut data = Material::sample().data();
            data.retain(|key, _| keys.contains(&key.as_str()));
            let (problem, written) = round(&held, Some(data)).await;
            assert!(problem.contains("was not written by queuewarden"), "{keys:?}: {problem}");
            assert!(written.is_empty(), "{keys:?}");
        }
        let password = BTreeMap::from([("password".to_owned(), ByteString(b"x".to_vec()))]);
        let (problem, written) = round(&held, Some(password)).await;
        assert!(problem.contains("was not written by queuewarden"), "{problem}");
        assert!(written.is_empty());
    }

    #[tokio::test]
    async fn what_was_emptied_or_removed_is_put_back() {
        let held = Material::sample();
        let empty = Material::default().data();
        let mut empty_keys = empty.clone();
        empty_keys.retain(|key, _| key == material::AUTHORITY_KEYS);
        let placeholder = ["tls.crt", "tls.key"].map(|key| (key.to_owned(), ByteString::default())).into();
        for data in [Some(BTreeMap::new()), Some(empty), Some(empty_keys), Some(placeholder), None] {
            assert_eq!(round(&held, data).await, (String::new(), vec![held.data()]));
        }
    }

    #[tokio::test]
    async fn a_new_authority_does_not_sign_before_callers_were_reported() {
        let mut material = Material::default();
        material.add_authority(ago(500), &Terms::sample()).unwrap();
        material.add_authority(ago(120), &Terms::sample()).unwrap();
        material.sign(clock::now(), &Terms::sample(), 0).unwrap();
        let mut leader = Replica::keeping(Some(material.data()));
        leader.listens.store(false, Ordering::Relaxed);
        for _ in 0..2 {
            let (problem, written) = leader.round().await;
            assert!(problem.contains("cannot update the caBundle") && written.is_empty(), "{problem}");
        }
        leader.listens.store(true, Ordering::Relaxed);
        assert_eq!(leader.round().await, (String::new(), Vec::new()));
        assert_eq!(leader.round().await.1.len(), 1);
        assert_eq!(leader.keeper.material.signer(), Some(1));
    }

    fn bundle() -> ByteString {
        ByteString(b"new".to_vec())
    }

    #[test]
    fn every_webhook_of_a_configuration_gets_the_bundle_and_keeps_the_rest() {
        let object = json!({"webhooks": [
            {"name": "a", "clientConfig": {"service": {"name": "queuewarden"}, "caBundle": "b2xk"}, "unknown": 1},
            {"name": "b", "clientConfig": {"url": "https://127.0.0.1:8443/"}},
        ]});
        let changed = change(&object, &bundle()).unwrap();
        assert_eq!(
            changed,
            json!({"webhooks": [
                {"name": "a", "clientConfig": {"service": {"name": "queuewarden"}, "caBundle": "bmV3"}, "unknown": 1},
                {"name": "b", "clientConfig": {"url": "https://127.0.0.1:8443/", "caBundle": "bmV3"}},
            ]})
        );
        assert_eq!(change(&changed, &bundle()), None);
    }

    #[test]
    fn an_api_service_gets_it_unless_it_takes_none() {
        let served = json!({"spec": {"service": {"name": "queuewarden"}}});
        assert_eq!(change(&served, &bundle()), Some(json!({"spec": {"caBundle": "bmV3"}})));
        let reported = json!({"spec": {"service": {"name": "queuewarden"}, "caBundle": "bmV3"}});
        let blind = json!({"spec": {"service": {"name": "queuewarden"}, "insecureSkipTLSVerify": true}});
        for object in [reported, blind, json!({"spec": {"service": null}}), json!({}), json!({"webhooks": 1})]
        {
            assert_eq!(change(&object, &bundle()), None, "{object}");
        }
    }
}
