//! Lookups that callers of endpoints cause, in addition to permission checks: annotations of namespaces and
//! classes that `YuniKorn`'s admission controller reads for a request, the registration of that controller
//! itself, and the names in resources that own the objects of operators.
//!
//! Anyone who can reach the port can cause them. They use a separate client with at most [`AT_ONCE`]
//! concurrent requests, so leases, watches and statuses never wait for them, and answers are cached for
//! [`TTL`]. Errors are not cached.

use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::client::ClientBuilder;
use kube::{Api, Client, Config, Resource};
use moka::future::Cache;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tower::limit::ConcurrencyLimitLayer;

use queuewarden_api::identity_webhook::YUNIKORN;
use yunikorn::admission::request::Texts;

/// Maximum number of concurrent requests to the API server.
const AT_ONCE: usize = 32;
/// How long an answer is cached.
const TTL: Duration = Duration::from_secs(5);
/// Bytes of all entries of a cache.
const BYTES: u64 = 1024 * LEAST as u64;
/// Minimum bytes charged for an entry, which limits a cache to 1,024 entries.
const LEAST: u32 = 4096;

/// Number of owners that are read concurrently. Each may be as large as an object can be.
const OWNERS_AT_ONCE: usize = 4;

/// The time for one lookup of annotations, or of all owners; the whole response may take 3 seconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// Creates the client of the endpoints.
///
/// # Errors
/// When no HTTP client can be created.
pub fn client(config: Config) -> Result<Client, kube::Error> {
    Ok(ClientBuilder::try_from(config)?.with_layer(&ConcurrencyLimitLayer::new(AT_ONCE)).build())
}

/// Looks things up for the endpoints.
#[expect(missing_debug_implementations, reason = "kube's client does not implement Debug")]
pub struct Lookups {
    /// Speaks to the API server.
    pub(super) client: Client,
    /// Annotations of objects by kind and name. An absence is not cached, because a namespace is often
    /// created right before its first pod.
    annotations: Cache<String, Texts>,
    /// The names in owners by path and UID, because another object of the same name has another UID. An
    /// absence is not cached.
    owners: Cache<(String, String), Arc<[String]>>,
    reading_owners: Semaphore,
    /// Whether `YuniKorn`'s admission controller is registered; an absence is cached too.
    registered: Cache<(), bool>,
    /// True if the last read failed and that was logged; otherwise every request would report it again.
    registered_unread: AtomicBool,
}

impl Lookups {
    /// Without anything cached.
    pub fn new(client: Client) -> Self {
        let annotations = cache(|object: &String, texts: &Texts| {
            object.len() + texts.iter().map(|(key, text)| key.len() + text.len()).sum::<usize>()
        });
        let owners = cache(|(path, uid): &(String, String), names: &Arc<[String]>| {
            path.len() + uid.len() + names.iter().map(String::len).sum::<usize>()
        });
        Self {
            client,
            annotations,
            owners,
            reading_owners: Semaphore::new(OWNERS_AT_ONCE),
            registered: cache(|(), _| 0),
            registered_unread: AtomicBool::new(false),
        }
    }

    /// Returns the annotations of a namespace, which decide whether `YuniKorn` schedules it and where.
    /// Returns `None` if the namespace does not exist.
    ///
    /// # Errors
    /// When it cannot be read in time.
    pub(super) async fn namespace(&self, name: &str) -> Result<Option<Texts>, String> {
        let annotations = self.annotations_of::<Namespace>(name).await;
        annotations.map_err(|why| format!("namespace {name} {why}"))
    }

    /// Returns the annotations of a `PriorityClass`; empty if the class does not exist.
    ///
    /// # Errors
    /// When it cannot be read in time.
    pub(super) async fn priority_class(&self, name: &str) -> Result<Texts, String> {
        if name.is_empty() {
            return Ok(Texts::new());
        }
        let annotations = self.annotations_of::<PriorityClass>(name).await;
        annotations.map(Option::unwrap_or_default).map_err(|why| format!("PriorityClass {name} {why}"))
    }

    /// Returns whether `YuniKorn`'s own admission controller is registered. Requests that arrive while this
    /// is being read wait for the same answer.
    ///
    /// # Errors
    /// When it cannot be read in time.
    pub(super) async fn has_yunikorn(&self) -> Result<bool, String> {
        let read = Box::pin(async {
            let annotations = self.annotations_of::<MutatingWebhookConfiguration>(YUNIKORN).await;
            annotations.map(|annotations| annotations.is_some())
        });
        let registered = self.registered.try_get_with((), read).await;
        let registered = registered.map_err(|why| format!("MutatingWebhookConfiguration {YUNIKORN} {why}"));
        let was_unread = self.registered_unread.swap(registered.is_err(), Ordering::Relaxed);
        if let Err(why) = &registered
            && !was_unread
        {
            tracing::warn!(
                name = YUNIKORN,
                %why,
                "It is unknown whether YuniKorn's admission controller is registered"
            );
        }
        registered
    }

    /// Returns the names that `read` finds in the object at a path; `None` if there is no object with this
    /// UID.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) async fn owner(
        &self,
        path: String,
        uid: &str,
        read: impl FnOnce(&RawValue) -> Result<Option<Vec<String>>, String>,
    ) -> Result<Option<Arc<[String]>>, String> {
        let key = (path.clone(), uid.to_owned());
        let names = Box::pin(async {
            let object = self.object(&path).await.map_err(Some)?.ok_or(None)?;
            read(&object).map_err(Some)?.map(Arc::from).ok_or(None)
        });
        match self.owners.try_get_with(key, names).await {
            Ok(names) => Ok(Some(names)),
            Err(why) => Option::clone(&why).map_or(Ok(None), Err),
        }
    }

    /// Reads the object at a path; `None` if it does not exist.
    async fn object(&self, path: &str) -> Result<Option<Box<RawValue>>, String> {
        let unread = |error: &dyn Display| format!("cannot be read: {error}");
        let _permit = self.reading_owners.acquire().await.map_err(|error| unread(&error))?;
        let request = http::Request::get(path).body(Vec::new()).map_err(|error| unread(&error))?;
        match self.client.request_text(request).await {
            Ok(text) => RawValue::from_string(text).map(Some).map_err(|error| unread(&error)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(kube::Error::Api(status)) if status.code == 403 => {
                Err("cannot be read: allow queuewarden's service account to get it, as examples/operators \
                     does"
                    .to_owned())
            }
            Err(error) => Err(unread(&error)),
        }
    }

    async fn annotations_of<K>(&self, name: &str) -> Result<Option<Texts>, String>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let objects: Api<K> = Api::all(self.client.clone());
        let read = Box::pin(async {
            match timeout(PATIENCE, objects.get_metadata_opt(name)).await {
                Ok(Ok(Some(object))) => Ok(object.metadata.annotations.unwrap_or_default()),
                Ok(Ok(None)) => Err(None),
                Ok(Err(error)) => Err(Some(format!("cannot be read: {error}"))),
                Err(_) => Err(Some("was not received in time".to_owned())),
            }
        });
        let object = format!("{} {name}", K::kind(&()));
        match self.annotations.try_get_with(object, read).await {
            Ok(texts) => Ok(Some(texts)),
            Err(why) => Option::clone(&why).map_or(Ok(None), Err),
        }
    }
}

/// Returns a cache that limits the total of these bytes.
pub(super) fn cache<K, V>(bytes: fn(&K, &V) -> usize) -> Cache<K, V>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    Cache::builder()
        .weigher(move |key, value| u32::try_from(bytes(key, value)).unwrap_or(u32::MAX).max(LEAST))
        .max_capacity(BYTES)
        .time_to_live(TTL)
        .build()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use axum::http::Request;
    use futures::future::join_all;
    use http_body_util::BodyExt as _;
    use serde_json::{Value, json};

    use yunikorn::identity::Identity;

    use super::*;
    use crate::server::caller::Caller;
    use crate::server::permission::{Permission, Permissions};
    use crate::server::testing::{client, not_found, reply};

    /// Lookups at an API server that allows `sue` everything and has the namespaces `jobs…`; also the number
    /// of requests to it, and a switch that makes it fail.
    fn lookups() -> (Lookups, Permissions, Arc<AtomicUsize>, Arc<AtomicBool>) {
        let (calls, fails) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, failing) = (Arc::clone(&calls), Arc::clone(&fails));
        let client = client(move |request: Request<kube::client::Body>| {
            count.fetch_add(1, Ordering::Relaxed);
            let fails = failing.load(Ordering::Relaxed);
            async move {
                let path = request.uri().path().to_owned();
                let body = request.into_body().collect().await.unwrap().to_bytes();
                if fails {
                    return reply(500, &json!({}));
                }
                if path.contains("/namespaces/jobs") {
                    let metadata = json!({"name": "jobs", "annotations": {"a": "b"}});
                    return reply(
                        200,
                        &json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata}),
                    );
                }
                let Ok(mut review) = serde_json::from_slice::<Value>(&body) else { return not_found() };
                review["status"] = json!({"allowed": review["spec"]["user"] == "sue", "reason": "RBAC"});
                reply(201, &review)
            }
        });
        (Lookups::new(client.clone()), Permissions::new(client), calls, fails)
    }

    fn permission(name: &str) -> Permission {
        Permission { verb: "get", group: "g", version: "v1", resource: "queues", name: name.to_owned() }
    }

    fn caller(user: &str, groups: &[&str]) -> Arc<Caller> {
        let groups = groups.iter().map(ToString::to_string).collect();
        Arc::new(Caller { identity: Identity { user: user.to_owned(), groups }, ..Caller::default() })
    }

    #[tokio::test]
    async fn hundred_reviews_of_one_caller_cause_one_lookup() {
        let (_, permissions, calls, _) = lookups();
        for (times, (who, name, expected)) in [
            (caller("sue", &[]), "root.prod", None),
            (caller("eve", &[]), "root.prod", Some("RBAC")),
            (caller("sue", &["x"]), "root.prod", None),
            (caller("sue", &[]), "root.dev", None),
        ]
        .into_iter()
        .enumerate()
        {
            let permission = permission(name);
            for _ in 0..2 {
                let reasons = join_all((0..50).map(|_| permissions.reason_against(&who, &permission))).await;
                assert!(
                    reasons.iter().all(|reason| reason.as_ref().unwrap().as_deref() == expected),
                    "{reasons:?}"
                );
            }
            assert_eq!(calls.load(Ordering::Relaxed), times + 1);
        }
    }

    #[tokio::test]
    async fn hundred_reviews_in_one_namespace_cause_one_lookup() {
        let (lookups, _, calls, _) = lookups();
        for _ in 0..100 {
            let annotations = lookups.namespace("jobs").await.unwrap().unwrap();
            assert_eq!(annotations["a"], "b");
        }
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        for times in 2..4 {
            assert_eq!(lookups.namespace("none").await, Ok(None));
            assert_eq!(calls.load(Ordering::Relaxed), times, "an absence is not cached");
        }
    }

    #[tokio::test]
    async fn lookup_that_fails_is_tried_again() {
        let (lookups, permissions, _, fails) = lookups();
        fails.store(true, Ordering::Relaxed);
        let sue = caller("sue", &[]);
        permissions.reason_against(&sue, &permission("")).await.unwrap_err();
        lookups.namespace("jobs").await.unwrap_err();
        fails.store(false, Ordering::Relaxed);
        assert_eq!(permissions.reason_against(&sue, &permission("")).await, Ok(None));
        lookups.namespace("jobs").await.unwrap();
    }

    #[tokio::test]
    async fn caches_are_bounded() {
        let (lookups, permissions, ..) = lookups();
        for i in 0..2000 {
            lookups.namespace(&format!("jobs-{i}")).await.unwrap().unwrap();
            permissions.reason_against(&caller("sue", &[]), &permission(&i.to_string())).await.unwrap();
        }
        lookups.annotations.run_pending_tasks().await;
        permissions.reasons.run_pending_tasks().await;
        assert!(lookups.annotations.entry_count() <= 1024, "{}", lookups.annotations.entry_count());
        assert!(permissions.reasons.entry_count() <= 1024, "{}", permissions.reasons.entry_count());
    }
}
