//! Who may ask about everybody: whoever Kubernetes lets create `subjectaccessreviews`.
//!
//! The API server asks before each of its requests that reaches this authorizer, so a yes is believed for a short while. A no is cached for
//! less ([`crate::server::lookups`]): who gets the right may use it after seconds.

use std::time::Duration;

use moka::future::Cache;

use crate::server::caller::Caller;
use crate::server::lookups::Lookups;
use crate::server::permission::{Wish, forbidden, reason_against};
use crate::server::refusal::Refusal;

/// How long a yes is believed; as long as the API server's own delegated authorizers do (`k8s.io/apiserver/pkg/server/options/authorization.go`,
/// `allowCacheTTL`).
const TTL: Duration = Duration::from_secs(10);
/// Callers that are remembered.
const REMEMBERED: u64 = 256;

/// The right that is asked for.
const WISH: Wish<'static> = Wish {
    verb: "create",
    group: "authorization.k8s.io",
    version: "v1",
    resource: "subjectaccessreviews",
    name: "",
};

/// Those of whom Kubernetes has said so.
#[derive(Debug)]
pub(super) struct Trusted {
    /// By the whole of what Kubernetes was asked: whoever loses a group is somebody else.
    known: Cache<Caller, ()>,
}

impl Default for Trusted {
    fn default() -> Self {
        Self { known: Cache::builder().max_capacity(REMEMBERED).time_to_live(TTL).build() }
    }
}

impl Trusted {
    /// Whether it is known that they may.
    pub(super) fn knows(&self, caller: &Caller) -> bool {
        self.known.contains_key(caller)
    }

    /// Asks whether they may; a refusal when they may not.
    ///
    /// # Errors
    /// When nobody knows, and why.
    pub(super) async fn ask(&self, lookups: &Lookups, caller: &Caller) -> Result<Option<Refusal>, String> {
        match reason_against(lookups, caller, WISH).await {
            Ok(None) => {
                self.known.insert(caller.clone(), ()).await;
                Ok(None)
            }
            Ok(Some(reason)) => Ok(Some(Refusal::forbidden(format!(
                "about other users, and about more groups than your own, only an administrator of the queue may ask, and whoever may create \
                 subjectaccessreviews; about yourself ask with a SelfSubjectAccessReview: {}",
                forbidden(caller, WISH, &reason)
            )))),
            Err(refusal) => Err(refusal.message),
        }
    }
}
