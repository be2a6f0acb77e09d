//! All integration tests in one binary.

mod cli;
mod crds;
mod manifests;
