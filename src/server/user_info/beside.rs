//! Detection of `YuniKorn`'s own admission controller in the cluster.
//!
//! That controller adds a name, and refuses every name that it finds, unless the requester may set names. A
//! webhook that does the same after it would refuse the name that it has just added, so profile yunikorn
//! has to know about it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::Api;
use tokio::time::{Instant, timeout};

use crate::server::ServerState;

/// The name of its registration (k8shim `pkg/admission/webhook_manager.go:47`).
const NAME: &str = "yunikorn-admission-controller-mutations";
/// The time for which an answer is cached.
const FRESH: Duration = Duration::from_secs(10);
/// The time for one request to the API server.
const PATIENCE: Duration = Duration::from_secs(1);

/// Caches whether the controller is registered.
#[derive(Debug, Clone, Default)]
pub(super) struct Beside {
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    last: Option<(Instant, bool)>,
    /// True if the failure was logged; every request would report it again.
    told: bool,
}

impl Beside {
    /// Returns whether the controller is registered.
    ///
    /// # Errors
    /// When that cannot be read in time.
    pub(super) async fn is_registered(&self, state: &ServerState) -> Result<bool, String> {
        let now = Instant::now();
        let last = self.seen().last;
        if let Some((at, is)) = last
            && now.duration_since(at) < FRESH
        {
            return Ok(is);
        }
        let hooks: Api<MutatingWebhookConfiguration> = Api::all(state.lookups.client.clone());
        let why = match timeout(PATIENCE, hooks.get_metadata_opt(NAME)).await {
            Ok(Ok(found)) => {
                let is = found.is_some();
                *self.seen() = Seen { last: Some((now, is)), told: false };
                return Ok(is);
            }
            Ok(Err(error)) => format!("cannot be read: {error}"),
            Err(_) => "was not told in time".to_owned(),
        };
        if !std::mem::replace(&mut self.seen().told, true) {
            tracing::warn!(name = NAME, %why, "Nobody knows whether YuniKorn's admission controller is registered");
        }
        Err(format!("MutatingWebhookConfiguration {NAME} {why}"))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
