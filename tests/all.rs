//! All integration tests in one binary.

#[cfg(test)]
mod cli;
#[cfg(test)]
mod crds;
#[cfg(test)]
mod manifests;
