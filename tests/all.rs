//! All integration tests in one binary.

mod crds;
mod manifests;
