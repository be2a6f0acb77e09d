//! The admission controller's configuration as far as it decides about `user.info`.

use std::collections::BTreeMap;

use super::access::AccessControl;
use super::codes::NOT_A_BOOLEAN;
use super::filtering::Filtering;
use super::keys::ListKey;
use super::lists::PatternList;
use go_compat::diag::{Diagnostic, Span, quoted};
use go_compat::go_bool::go_bool;

/// The admission controller's configuration, read from the merged ConfigMaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conf {
    /// The `accessControl` keys: they decide who may set `user.info`.
    pub access: AccessControl,
    /// The `filtering` keys: they decide in which namespaces the admission controller acts.
    pub filtering: Filtering,
}

impl Conf {
    /// Reads the keys of the merged ConfigMaps (`am_conf.go:286-333`). A key that cannot be read has
    /// its default, and is reported as an error. Spans are in the key's value; the message names the key.
    pub fn from_keys(keys: &BTreeMap<String, String>) -> (Self, Vec<Diagnostic>) {
        let (access, mut found) = AccessControl::from_keys(keys);
        let (filtering, more) = Filtering::from_keys(keys);
        found.extend(more);
        (Self { access, filtering }, found)
    }
}

/// Reads keys of the merged ConfigMaps, and collects the findings.
pub(super) struct KeyReader<'k> {
    keys: &'k BTreeMap<String, String>,
    pub(super) findings: Vec<Diagnostic>,
}

impl<'k> KeyReader<'k> {
    pub(super) fn new(keys: &'k BTreeMap<String, String>) -> Self {
        Self { keys, findings: Vec::new() }
    }

    /// Reads a boolean. A value that Go does not read becomes the default and is reported.
    pub(super) fn flag(&mut self, key: &str, default: bool) -> bool {
        let Some(text) = self.keys.get(key) else { return default };
        go_bool(text).unwrap_or_else(|| {
            let message = format!(
                "{key}: {} is no boolean as Go reads one, so the default `{default}` is in force",
                quoted(text)
            );
            let finding = Diagnostic::error(NOT_A_BOOLEAN, message).at(Span::new(0, text.len()));
            self.findings.push(finding.help("write \"true\" or \"false\""));
            default
        })
    }

    /// Reads a list of expressions.
    pub(super) fn list(&mut self, list: impl Into<ListKey>) -> PatternList {
        let list = list.into();
        let (patterns, findings) = PatternList::read(list, self.keys.get(list.key).map(String::as_str));
        self.findings.extend(findings);
        patterns
    }
}
