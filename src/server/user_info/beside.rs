//! Whether `YuniKorn`'s own admission controller is asked as well.
//!
//! It adds a name, and refuses any that it finds, unless the requester may set names. Who does the same behind it would refuse the name that it
//! has just added; so profile yunikorn has to know that it is there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    last: Option<(Instant, bool)>,
    /// Whether it was said that nobody knows: every request finds it out again.
    told: bool,
}

impl Beside {
    /// Whether it is registered.
    ///
    /// # Errors
    /// When that cannot be read in time.
    pub(super) async fn is_registered(&self, doors: &Doors) -> Result<bool, String> {
        let now = Instant::now();
        let last = self.seen().last;
        if let Some((at, is)) = last
            && now.duration_since(at) < FRESH
        {
            return Ok(is);
        }
        let hooks: Api<MutatingWebhookConfiguration> = Api::all(doors.lookups.client.clone());
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
