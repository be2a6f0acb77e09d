//! All integration tests in one binary.

#[cfg(test)]
mod argo_cd;
#[cfg(test)]
mod chart;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod crds;
#[cfg(test)]
mod image;
#[cfg(test)]
mod import;
#[cfg(test)]
mod manifests;
#[cfg(test)]
mod monitoring;
#[cfg(test)]
mod rights;
#[cfg(test)]
mod structure;
#[cfg(test)]
mod words;
