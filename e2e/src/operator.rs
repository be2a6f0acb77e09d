//! The operator under test, as a process with the rights of its own `ServiceAccount`.
/// The namespace of `manifests/`.
pub const NAMESPACE: &str = "queuewarden-system";
