//! Whether `YuniKorn`'s own admission controller is asked as well.
//!
//! It adds a name, and refuses any that it finds, unless the requester may set names. Who does the same behind it would refuse the name that it
//! has just added; so profile yunikorn has to know that it is there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::Api;
use tokio::time::{Instant, timeout};

use crate::server::Doors;

/// Its registration (k8shim `pkg/admission/webhook_manager.go:47`).
const NAME: &str = "yunikorn-admission-controller-mutations";
/// How long an answer is good for.
const FRESH: Duration = Duration::from_secs(10);
/// How long the API server may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// Remembers it.
#[derive(Debug, Clone, Default)]
pub(super) struct Beside {
    seen: Arc<Mutex<Option<(Instant, bool)>>>,
}

impl Beside {
    /// Whether it is registered; no, where that cannot be known.
    pub(super) async fn is_registered(&self, doors: &Doors) -> bool {
        let now = Instant::now();
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, is)) = seen
            && now.duration_since(at) < FRESH
        {
            return is;
        }
        let hooks: Api<MutatingWebhookConfiguration> = Api::all(doors.client.clone());
        let is = match timeout(PATIENCE, hooks.get_metadata_opt(NAME)).await {
            Ok(Ok(found)) => found.is_some(),
            Ok(Err(error)) => {
                tracing::warn!(%error, name = NAME, "Nobody knows whether YuniKorn's admission controller is registered");
                false
            }
            Err(_) => false,
        };
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, is));
        is
    }
}
