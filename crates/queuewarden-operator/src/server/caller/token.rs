//! Bearer tokens: the API server names their users, by `TokenReview`.
//!
//! Answers are cached for [`TTL`], as long as its own delegated authenticators do
//! (`k8s.io/apiserver/pkg/server/options/authentication.go`, `cacheTTL`); failed reviews are not cached.
//! Requests with the same token wait for one review.

use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderValue;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use kube::api::PostParams;
use kube::{Api, Client};
use moka::future::Cache;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use super::{Caller, Unauthenticated};
use queuewarden_client::call::call;
use yunikorn::identity::Identity;

/// The time for which an answer is cached.
const TTL: Duration = Duration::from_secs(10);
/// Answers in the cache.
const REMEMBERED: u64 = 4096;
/// Reviews at once.
const MAX_REVIEWS: usize = 16;

/// Returns the token in a header `Authorization: Bearer …`.
pub(super) fn shown(authorization: &HeaderValue) -> Option<&str> {
    // Tokens are long, and `HeaderValue::to_str` looks at each byte alone.
    let value = str::from_utf8(authorization.as_bytes()).ok().filter(|value| value.is_ascii())?;
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The user of a token, according to the API server.
type Answer = Result<Arc<Caller>, Unauthenticated>;

/// Reviews tokens at the API server and caches the answers.
pub(super) struct Reviews {
    api: Api<TokenReview>,
    audiences: Vec<String>,
    /// The answers by the SHA-256 of the token: the token itself is not stored.
    known: Cache<[u8; 32], Answer>,
    slots: Semaphore,
}

impl Reviews {
    pub(super) fn new(client: Client, audiences: Vec<String>) -> Self {
        Self {
            api: Api::all(client),
            audiences,
            known: Cache::builder().max_capacity(REMEMBERED).time_to_live(TTL).build(),
            slots: Semaphore::new(MAX_REVIEWS),
        }
    }

    pub(super) async fn know(&self, token: &str) -> Answer {
        let key = Sha256::digest(token.as_bytes()).into();
        if let Some(known) = self.known.get(&key).await {
            return known;
        }
        // Only answers are cached: a failed review is an error to the cache, too. Boxed, because each
        // request would have its size.
        let known = Box::pin(self.known.try_get_with(key, self.review(token))).await;
        known.unwrap_or_else(|unchecked| Err(Unauthenticated::clone(&unchecked)))
    }

    /// Reviews a token. The outer error: the review itself failed.
    async fn review(&self, token: &str) -> Result<Answer, Unauthenticated> {
        let unchecked = |why: String| Unauthenticated::Unchecked(why);
        let _slot = self.slots.acquire().await.map_err(|error| unchecked(error.to_string()))?;
        let audiences = (!self.audiences.is_empty()).then(|| self.audiences.clone());
        let spec = TokenReviewSpec { token: Some(token.to_owned()), audiences };
        let review = TokenReview { spec, ..TokenReview::default() };
        let review = call(self.api.create(&PostParams::default(), &review)).await;
        let status = review.map_err(|error| unchecked(error.to_string()))?.status.unwrap_or_default();
        if status.authenticated != Some(true) {
            let why = status.error.filter(|error| !error.is_empty());
            let why = why.unwrap_or_else(|| "the API server does not know it".to_owned());
            return Ok(Err(Unauthenticated::Refused(format!("the token does not count here: {why}"))));
        }
        // An API server that does not know audiences leaves them out: its answer is then about itself only.
        let named = status.audiences.unwrap_or_default();
        if !self.audiences.is_empty() && !named.iter().any(|audience| self.audiences.contains(audience)) {
            let wanted = self.audiences.join(", ");
            return Ok(Err(Unauthenticated::Refused(format!("the token is not for {wanted}"))));
        }
        Ok(caller(status.user.unwrap_or_default()).map(|caller| Arc::new(caller.known())))
    }
}

fn caller(user: UserInfo) -> Result<Caller, Unauthenticated> {
    let name = user.username.filter(|name| !name.is_empty());
    let Some(name) = name else {
        return Err(Unauthenticated::Refused("the token names nobody".to_owned()));
    };
    Ok(Caller {
        identity: Identity { user: name, groups: user.groups.unwrap_or_default() },
        uid: user.uid.unwrap_or_default(),
        extra: user.extra.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::http::{Request, Response};
    use kube::client::Body;
    use serde_json::{Value, json};
    use tokio::time::sleep;

    use super::*;
    use crate::server::caller::AUTHENTICATED;

    /// An API server that answers each `TokenReview` with the same, and counts them.
    fn reviews(audiences: &[&str], code: u16, answer: Value) -> (Reviews, Arc<AtomicUsize>) {
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&calls);
        let service = tower::service_fn(move |request: Request<Body>| {
            assert_eq!(request.uri().path(), "/apis/authentication.k8s.io/v1/tokenreviews");
            counter.fetch_add(1, Ordering::Relaxed);
            let answer = answer.to_string();
            async move {
                sleep(Duration::from_millis(10)).await;
                let response = Response::builder().status(code).body(Body::from(answer.into_bytes()));
                Ok::<_, Infallible>(response.unwrap())
            }
        });
        let audiences = audiences.iter().map(|&audience| audience.to_owned()).collect();
        (Reviews::new(Client::new(service, "default"), audiences), calls)
    }

    fn review(status: &Value) -> Value {
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {}, "status": status})
    }

    #[tokio::test]
    async fn one_question_answers_for_all_who_show_the_same() {
        let user = json!({"username": "sue", "groups": ["devs"], "uid": "7", "extra": {"k": ["v"]}});
        let (reviews, calls) = reviews(&[], 201, review(&json!({"authenticated": true, "user": user})));
        let knowing = (0..50).map(|_| reviews.know("token"));
        let known = futures::future::join_all(knowing).await;
        for caller in known {
            let caller = caller.unwrap();
            assert_eq!((caller.identity.user.as_str(), caller.uid.as_str()), ("sue", "7"));
            assert_eq!(
                (&caller.identity.groups, &caller.extra["k"]),
                (&vec!["devs".to_owned(), AUTHENTICATED.to_owned()], &vec!["v".to_owned()])
            );
        }
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        reviews.know("another").await.unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn what_does_not_count_is_refused_with_the_reason() {
        let cases = [
            (json!({"authenticated": false, "error": "it has expired"}), "it has expired"),
            (json!({}), "the API server does not know it"),
            (
                json!({"authenticated": true, "user": {"username": ""}, "audiences": ["queuewarden"]}),
                "names nobody",
            ),
            (
                json!({"authenticated": true, "user": {"username": "sue"}, "audiences": ["other"]}),
                "is not for queuewarden",
            ),
            (json!({"authenticated": true, "user": {"username": "sue"}}), "is not for queuewarden"),
        ];
        for (status, why) in cases {
            let (reviews, calls) = reviews(&["queuewarden"], 201, review(&status));
            for _ in 0..2 {
                let refused = reviews.know("token").await.unwrap_err();
                assert!(
                    matches!(&refused, Unauthenticated::Refused(reported) if reported.contains(why)),
                    "{refused}"
                );
            }
            assert_eq!(calls.load(Ordering::Relaxed), 1, "{status}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_checked_is_asked_again() {
        let failure = json!({"kind": "Status", "status": "Failure", "message": "no right to", "code": 403});
        let (reviews, calls) = reviews(&[], 403, failure);
        for times in 1..3 {
            let unchecked = reviews.know("token").await.unwrap_err();
            assert!(
                matches!(&unchecked, Unauthenticated::Unchecked(why) if why.contains("no right to")),
                "{unchecked}"
            );
            assert_eq!(calls.load(Ordering::Relaxed), times);
        }
    }

    #[test]
    fn only_bearer_tokens_are_tokens() {
        let cases = [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Bearer", None),
            ("Bearer ", None),
            ("Basic abc", None),
            ("", None),
        ];
        for (value, token) in cases {
            assert_eq!(shown(&HeaderValue::from_static(value)), token, "{value}");
        }
        assert_eq!(shown(&HeaderValue::from_bytes("Bearer ü".as_bytes()).unwrap()), None);
    }
}
