//! Lookups that callers of endpoints cause: permissions, and the annotations of a namespace or a
//! `PriorityClass`.
//!
//! Anybody who reaches the port can cause them. They have a client of their own with [`AT_ONCE`] requests
//! at once, so leases, watches and status never queue behind them, and answers are cached for [`TTL`].
//! Errors are not cached.

use std::sync::Arc;
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::{Client, Config};
use moka::future::Cache;
use tower::limit::ConcurrencyLimitLayer;

use super::caller::Caller;
use super::permission::Wish;
use yunikorn::admission::request::Texts;

/// Requests to the API server at once.
const AT_ONCE: usize = 32;
/// The time for which an answer is cached.
const TTL: Duration = Duration::from_secs(5);
/// Bytes of all entries of a cache.
const BYTES: u64 = 1024 * LEAST as u64;
/// Bytes that an entry counts for at least: so a cache has 1,024 entries at most.
const LEAST: u32 = 4096;

/// Makes the client of the endpoints.
///
/// # Errors
/// When no HTTP client can be made.
pub fn client(config: Config) -> Result<Client, kube::Error> {
    Ok(ClientBuilder::try_from(config)?.with_layer(&ConcurrencyLimitLayer::new(AT_ONCE)).build())
}

/// A cache key: the SHA-256 of the kind and name, because names from outside may be long.
type Key = [u8; 32];

/// Looks things up for the endpoints. Clones share their caches.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "kube's client has none")]
pub struct Lookups {
    /// Speaks to the API server.
    pub(super) client: Client,
    /// Reasons why a caller may not do something; `None` when they may. Denials are cached, too, so repeated
    /// denied requests cause no more lookups than allowed ones. Kubernetes' own delegated authorizers cache
    /// both for ten seconds (`k8s.io/apiserver/pkg/server/options/authorization.go`, `allowCacheTTL`,
    /// `denyCacheTTL`).
    pub(super) permissions: Cache<(Arc<Caller>, Wish), Option<String>>,
    /// Annotations of objects. An absence is not cached: a namespace is often created right before its first
    /// pod.
    pub(super) annotations: Cache<Key, Texts>,
}

impl Lookups {
    /// Without anything cached.
    pub fn new(client: Client) -> Self {
        let permissions = Cache::builder()
            .weigher(|(caller, wish): &(Arc<Caller>, Wish), reason: &Option<String>| {
                weight(caller.bytes() + wish.name.len() + reason.as_ref().map_or(0, String::len))
            })
            .max_capacity(BYTES)
            .time_to_live(TTL)
            .build();
        let annotations = Cache::builder()
            .weigher(|_: &Key, texts: &Texts| {
                weight(texts.iter().map(|(key, text)| key.len() + text.len()).sum())
            })
            .max_capacity(BYTES)
            .time_to_live(TTL)
            .build();
        Self { client, permissions, annotations }
    }
}

/// Returns the bytes that an entry counts for.
fn weight(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX).max(LEAST)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use axum::http::Request;
    use futures::future::join_all;
    use http_body_util::BodyExt as _;
    use serde_json::{Value, json};

    use yunikorn::identity::Identity;

    use super::*;
    use crate::server::permission::reason_against;
    use crate::server::surroundings;
    use crate::server::testing::{client, not_found, reply};

    /// Lookups at an API server that lets `sue` do everything and has the namespaces `jobs…`; also the number
    /// of requests to it, and a switch that makes it fail.
    fn lookups() -> (Lookups, Arc<AtomicUsize>, Arc<AtomicBool>) {
        let (asked, fails) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, failing) = (Arc::clone(&asked), Arc::clone(&fails));
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
        (Lookups::new(client), asked, fails)
    }

    fn wish(name: &str) -> Wish {
        Wish { verb: "get", group: "g", version: "v1", resource: "queues", name: name.to_owned() }
    }

    fn caller(user: &str, groups: &[&str]) -> Arc<Caller> {
        let groups = groups.iter().map(ToString::to_string).collect();
        Arc::new(Caller { identity: Identity { user: user.to_owned(), groups }, ..Caller::default() })
    }

    #[tokio::test]
    async fn hundred_reviews_of_one_caller_cause_one_lookup() {
        let (lookups, asked, _) = lookups();
        for (times, (who, name, expected)) in [
            (caller("sue", &[]), "root.prod", None),
            (caller("eve", &[]), "root.prod", Some("RBAC")),
            (caller("sue", &["x"]), "root.prod", None),
            (caller("sue", &[]), "root.dev", None),
        ]
        .into_iter()
        .enumerate()
        {
            let wish = wish(name);
            for _ in 0..2 {
                let reasons = join_all((0..50).map(|_| reason_against(&lookups, &who, &wish))).await;
                assert!(
                    reasons.iter().all(|reason| reason.as_ref().unwrap().as_deref() == expected),
                    "{reasons:?}"
                );
            }
            assert_eq!(asked.load(Ordering::Relaxed), times + 1);
        }
    }

    #[tokio::test]
    async fn hundred_reviews_in_one_namespace_cause_one_lookup() {
        let (lookups, asked, _) = lookups();
        for _ in 0..100 {
            let annotations = surroundings::of_namespace(&lookups, "jobs").await.unwrap().unwrap();
            assert_eq!(annotations["a"], "b");
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        for times in 2..4 {
            assert_eq!(surroundings::of_namespace(&lookups, "none").await, Ok(None));
            assert_eq!(asked.load(Ordering::Relaxed), times, "an absence is not cached");
        }
    }

    #[tokio::test]
    async fn lookup_that_fails_is_tried_again() {
        let (lookups, _, fails) = lookups();
        fails.store(true, Ordering::Relaxed);
        let sue = caller("sue", &[]);
        reason_against(&lookups, &sue, &wish("")).await.unwrap_err();
        surroundings::of_namespace(&lookups, "jobs").await.unwrap_err();
        fails.store(false, Ordering::Relaxed);
        assert_eq!(reason_against(&lookups, &sue, &wish("")).await, Ok(None));
        surroundings::of_namespace(&lookups, "jobs").await.unwrap();
    }

    #[tokio::test]
    async fn caches_are_bounded() {
        let (lookups, ..) = lookups();
        for i in 0..2000 {
            surroundings::of_namespace(&lookups, &format!("jobs-{i}")).await.unwrap().unwrap();
            reason_against(&lookups, &caller("sue", &[]), &wish(&i.to_string())).await.unwrap();
        }
        lookups.annotations.run_pending_tasks().await;
        lookups.permissions.run_pending_tasks().await;
        assert!(lookups.annotations.entry_count() <= 1024, "{}", lookups.annotations.entry_count());
        assert!(lookups.permissions.entry_count() <= 1024, "{}", lookups.permissions.entry_count());
    }
}
