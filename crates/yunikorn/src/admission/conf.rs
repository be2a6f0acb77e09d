//! The admission controller's configuration as far as it decides about `user.info`.

use super::access::AccessControl;
use super::filtering::Filtering;
use super::request::Texts;
use crate::version::Version;
use go_compat::diag::Diagnostic;

/// The admission controller's configuration, read from the merged ConfigMaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conf {
    /// The `accessControl` keys: they decide who may set `user.info`.
    pub access: AccessControl,
    /// The `filtering` keys: they decide in which namespaces the admission controller acts.
    pub filtering: Filtering,
    /// The `YuniKorn` version that runs; not among the keys.
    pub version: Version,
}

impl Conf {
    /// Reads the keys of the merged ConfigMaps (`am_conf.go:286-333`). A key that cannot be read has its
    /// default, and is reported as an error. Spans are in the key's value; the message names the key.
    pub fn from_keys(keys: &Texts, version: Version) -> (Self, Vec<Diagnostic>) {
        let (access, mut found) = AccessControl::from_keys(keys);
        let (filtering, more) = Filtering::from_keys(keys);
        found.extend(more);
        (Self { access, filtering, version }, found)
    }
}
