//! The objects that make the API server call the endpoints. Their names are fixed, so that RBAC can grant
//! write permission by name.

use super::identity_webhook;

/// The `ValidatingWebhookConfiguration`s.
pub const VALIDATING: [&str; 4] =
    ["queuewarden", "queuewarden-configmaps", "queuewarden-submission", identity_webhook::VALIDATING];
/// The `MutatingWebhookConfiguration`s.
pub const MUTATING: [&str; 1] = [identity_webhook::MUTATING];
/// The `APIService`.
pub const API_SERVICE: &str = "v1alpha1.access.queuewarden.dev";
