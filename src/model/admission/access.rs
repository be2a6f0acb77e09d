//! What the keys decide: who may set the annotation `yunikorn.apache.org/user.info`.

use std::collections::BTreeMap;

use super::keys::{
    BYPASS_AUTH, DEFAULT_BYPASS_AUTH, DEFAULT_SYSTEM_USERS, DEFAULT_TRUST_CONTROLLERS, EXTERNAL_GROUPS, EXTERNAL_USERS,
    SYSTEM_USERS, TRUST_CONTROLLERS,
};
use super::lists::PatternList;
use super::{LIST_DISCARDED, NOT_A_BOOLEAN};
use crate::text::diag::{Diagnostic, Span, quoted};
use crate::text::go_bool::go_bool;

/// The keys as the admission controller holds them.
#[derive(Debug, Clone)]
pub struct AccessControl {
    /// Whether nothing is checked, and nothing injected.
    pub bypass_auth: bool,
    /// Whether [`Self::system_users`] counts.
    pub trust_controllers: bool,
    /// The users that controllers run as.
    pub system_users: PatternList,
    /// Users that may set `user.info`.
    pub external_users: PatternList,
    /// Groups that may set `user.info`.
    pub external_groups: PatternList,
}

/// Why someone may set `user.info`: the expression that matched, and what it matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// The key with the list.
    pub key: &'static str,
    /// The expression.
    pub pattern: String,
    /// The user or group.
    pub name: String,
}

impl AccessControl {
    /// Reads the keys of the merged ConfigMaps. A key that cannot be read has its default, and is told as an error, whose place is in
    /// the key's value; the key is named in the message.
    pub fn from_keys(keys: &BTreeMap<String, String>) -> (Self, Vec<Diagnostic>) {
        let mut found = Vec::new();
        let mut flag = |key: &str, default| {
            let Some(text) = keys.get(key) else { return default };
            go_bool(text).unwrap_or_else(|| {
                found.push(not_a_boolean(key, text, default));
                default
            })
        };
        let bypass_auth = flag(BYPASS_AUTH, DEFAULT_BYPASS_AUTH);
        let trust_controllers = flag(TRUST_CONTROLLERS, DEFAULT_TRUST_CONTROLLERS);
        let mut list = |key: &str, default: &str| {
            let read = PatternList::parse(keys.get(key).map_or(default, String::as_str));
            read.unwrap_or_else(|error| {
                found.push(Diagnostic { message: format!("{key}: {}", error.message), ..error });
                PatternList::parse(default).unwrap_or_default()
            })
        };
        let control = Self {
            bypass_auth,
            trust_controllers,
            system_users: list(SYSTEM_USERS, DEFAULT_SYSTEM_USERS),
            external_users: list(EXTERNAL_USERS, ""),
            external_groups: list(EXTERNAL_GROUPS, ""),
        };
        debug_assert!(found.iter().all(|d| d.code == NOT_A_BOOLEAN || d.code == LIST_DISCARDED));
        (control, found)
    }

    /// Whether this user in these groups may set `user.info`, and by which expression (k8shim `metadata/usergroup.go`,
    /// `IsAnnotationAllowed`). `bypass_auth` is not asked here: then nobody asks.
    pub fn is_annotation_allowed<G: AsRef<str>>(&self, user: &str, groups: &[G]) -> Option<Allowed> {
        let by = |key: &'static str, list: &PatternList, name: &str| {
            list.matching(name).map(|pattern| Allowed { key, pattern: pattern.as_str().into(), name: name.into() })
        };
        self.trust_controllers
            .then(|| by(SYSTEM_USERS, &self.system_users, user))
            .flatten()
            .or_else(|| by(EXTERNAL_USERS, &self.external_users, user))
            .or_else(|| groups.iter().find_map(|group| by(EXTERNAL_GROUPS, &self.external_groups, group.as_ref())))
    }
}

fn not_a_boolean(key: &str, text: &str, default: bool) -> Diagnostic {
    let message = format!("{key}: {} is no boolean as Go reads one, so the default `{default}` is in force", quoted(text));
    Diagnostic::error(NOT_A_BOOLEAN, message).at(Span::new(0, text.len())).help("write \"true\" or \"false\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROLLER: &str = "system:serviceaccount:kube-system:job-controller";

    fn read(keys: &[(&str, &str)]) -> (AccessControl, Vec<Diagnostic>) {
        let keys = keys.iter().map(|(key, text)| ((*key).to_string(), (*text).to_string())).collect();
        AccessControl::from_keys(&keys)
    }

    fn allowed(keys: &[(&str, &str)], user: &str, groups: &[&str]) -> Option<&'static str> {
        read(keys).0.is_annotation_allowed(user, groups).map(|allowed| allowed.key)
    }

    #[test]
    fn defaults_trust_the_controllers_of_kube_system_only() {
        assert_eq!(allowed(&[], CONTROLLER, &[]), Some(SYSTEM_USERS));
        assert_eq!(allowed(&[], "alice", &["system:masters"]), None);
        assert!(!read(&[]).0.bypass_auth);
    }

    #[test]
    fn an_empty_list_trusts_nobody_and_a_word_go_does_not_know_is_the_default() {
        assert_eq!(allowed(&[(SYSTEM_USERS, "")], CONTROLLER, &[]), None);
        assert_eq!(allowed(&[(TRUST_CONTROLLERS, "false")], CONTROLLER, &[]), None);
        let (control, found) = read(&[(TRUST_CONTROLLERS, "no"), (BYPASS_AUTH, "yes")]);
        assert!(control.trust_controllers && !control.bypass_auth);
        assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), [NOT_A_BOOLEAN, NOT_A_BOOLEAN]);
    }

    #[test]
    fn one_bad_expression_brings_the_default_back() {
        let keys = [(SYSTEM_USERS, "^robot$,("), (EXTERNAL_USERS, "^alice$,[")];
        assert_eq!(allowed(&keys, CONTROLLER, &[]), Some(SYSTEM_USERS));
        assert_eq!(allowed(&keys, "robot", &[]), None);
        assert_eq!(allowed(&keys, "alice", &[]), None);
        let (_, found) = read(&keys);
        assert!(found.iter().all(|d| d.code == LIST_DISCARDED && d.is_error()) && found.len() == 2);
    }

    #[test]
    fn expressions_match_anywhere_unless_anchored() {
        assert_eq!(allowed(&[(EXTERNAL_USERS, "admin")], "not-admin-either", &[]), Some(EXTERNAL_USERS));
        assert_eq!(allowed(&[(EXTERNAL_GROUPS, "admin,^group-$")], "bob", &["group-a"]), None);
        assert_eq!(allowed(&[(EXTERNAL_GROUPS, "^group-")], "bob", &["x", "group-a"]), Some(EXTERNAL_GROUPS));
    }
}
