//! The admission controller's settings that affect `user.info`.

use std::fmt;

use super::codes::NOT_A_BOOLEAN;
use super::keys::{
    BYPASS_AUTH, BYPASS_NAMESPACES, DEFAULT_GENERATE_UNIQUE_APP_ID, EXTERNAL_GROUPS, EXTERNAL_USERS,
    GENERATE_UNIQUE_APP_ID, LABEL_NAMESPACES, NO_LABEL_NAMESPACES, PROCESS_NAMESPACES, SYSTEM_USERS,
    TRUST_CONTROLLERS,
};
use super::lists::PatternList;
use super::request::{ENABLE_YUNIKORN, GENERATE_APP_ID, Texts};
use crate::version::Version;
use go_compat::diag::{Diagnostic, Span, quoted};
use go_compat::go_bool::go_bool;
use go_compat::go_regex::GoRegex;

/// The admission controller's configuration, from the merged ConfigMaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conf {
    /// The `accessControl` keys, which control who may set `user.info`.
    pub access: AccessControl,
    /// The `filtering` keys, which select the namespaces that the admission controller handles.
    pub filtering: Filtering,
    /// The running version of `YuniKorn`, which is not a key.
    pub version: Version,
}

impl Conf {
    /// Parses the keys of the merged ConfigMaps (`am_conf.go:286-333`). An invalid key has its default and is
    /// reported as an error. Spans are in the value of the key that the message names.
    pub fn from_keys(keys: &Texts, version: Version) -> (Self, Vec<Diagnostic>) {
        let (access, mut found) = AccessControl::from_keys(keys);
        let (filtering, more) = Filtering::from_keys(keys);
        found.extend(more);
        (Self { access, filtering, version }, found)
    }
}

// The access keys, which control who may set the annotation `yunikorn.apache.org/user.info`.

/// The keys as the admission controller reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessControl {
    /// True if nothing is checked or injected.
    pub bypass_auth: bool,
    /// True if [`Self::system_users`] may set `user.info`.
    pub trust_controllers: bool,
    /// The users of controllers.
    pub system_users: PatternList,
    /// Users that may set `user.info`.
    pub external_users: PatternList,
    /// Groups that may set `user.info`.
    pub external_groups: PatternList,
}

/// Whether a user may set `user.info`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Allowed by an expression.
    Allowed(Allowed),
    /// No list in force matches the user or a group.
    Denied,
    /// No known list allows it, and the content of the list of this key is unknown.
    Unknown(&'static str),
}

/// The reason why a user may set `user.info`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// The key of the list that contains the expression.
    pub list: &'static str,
    /// The expression that matched.
    pub pattern: String,
    /// The user or group that matched.
    pub name: String,
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} matches {}", quoted(&self.pattern), self.list, quoted(&self.name))
    }
}

impl AccessControl {
    /// Parses the keys of the merged ConfigMaps. An invalid key has its default and is reported as an error;
    /// so is a key whose meaning is unknown. Spans are in the value of the key that the message names.
    pub fn from_keys(keys: &Texts) -> (Self, Vec<Diagnostic>) {
        let mut found = Vec::new();
        let bypass_auth = read_flag(keys, BYPASS_AUTH, false, &mut found);
        let trust_controllers = read_flag(keys, TRUST_CONTROLLERS, true, &mut found);
        let mut list = |key| PatternList::of_key(keys, key, &mut found);
        let control = Self {
            bypass_auth,
            trust_controllers,
            system_users: list(SYSTEM_USERS),
            external_users: list(EXTERNAL_USERS),
            external_groups: list(EXTERNAL_GROUPS),
        };
        (control, found)
    }

    /// Returns whether this user in these groups may set `user.info`, and which expression allows it (k8shim
    /// `metadata/usergroup.go`, `IsAnnotationAllowed`). `bypass_auth` is ignored here, because it disables
    /// this check.
    pub fn is_annotation_allowed<G: AsRef<str>>(&self, user: &str, groups: &[G]) -> Access {
        let groups: Vec<_> = groups.iter().map(AsRef::as_ref).collect();
        let lists = [
            self.trust_controllers.then_some((SYSTEM_USERS, &self.system_users, vec![user])),
            Some((EXTERNAL_USERS, &self.external_users, vec![user])),
            Some((EXTERNAL_GROUPS, &self.external_groups, groups)),
        ];
        let mut verdict = Access::Denied;
        for (list, patterns, names) in lists.into_iter().flatten() {
            if let Some(allowed) = first_match(list, patterns, &names) {
                return Access::Allowed(allowed);
            }
            // An unknown list decides nothing if there are no names to check.
            if verdict == Access::Denied && !patterns.is_known() && !names.is_empty() {
                verdict = Access::Unknown(list);
            }
        }
        verdict
    }

    /// Returns whether this user in these groups is certain to be allowed to set `user.info`.
    pub fn may_set_names<G: AsRef<str>>(&self, user: &str, groups: &[G]) -> bool {
        self.bypass_auth || matches!(self.is_annotation_allowed(user, groups), Access::Allowed(_))
    }
}

/// Returns the first expression that matches a name, with the first name that it matches.
fn first_match(list: &'static str, patterns: &PatternList, names: &[&str]) -> Option<Allowed> {
    patterns.patterns().iter().find_map(|pattern| {
        let name = names.iter().find(|name| pattern.is_match(name))?;
        Some(Allowed { list, pattern: pattern.as_str().to_owned(), name: (*name).to_owned() })
    })
}

/// Parses a boolean key. An invalid value is reported and replaced by the default.
fn read_flag(keys: &Texts, key: &str, default: bool, found: &mut Vec<Diagnostic>) -> bool {
    let Some(text) = keys.get(key) else { return default };
    go_bool(text).unwrap_or_else(|| {
        let shown = quoted(text);
        let message =
            format!("{key}: {shown} is not a valid boolean in Go, so the default `{default}` is in force");
        let finding = Diagnostic::error(NOT_A_BOOLEAN, message).at(Span::new(0, text.len()));
        found.push(finding.help("write \"true\" or \"false\""));
        default
    })
}

// The `admissionController.filtering.*` keys, which select the namespaces whose pods `YuniKorn` schedules,
// and the namespaces whose pods get an application ID.

/// The keys as the admission controller reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filtering {
    /// Namespaces whose pods `YuniKorn` schedules. An empty list selects all.
    pub process: PatternList,
    /// Namespaces whose pods `YuniKorn` does not schedule.
    pub bypass: PatternList,
    /// Namespaces whose pods get an application ID. An empty list selects all.
    pub label: PatternList,
    /// Namespaces whose pods do not get an application ID.
    pub no_label: PatternList,
    /// True if each pod without an application ID gets a separate one.
    pub generate_unique_app_id: bool,
}

/// Whether a namespace is selected, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// True if the namespace is selected.
    pub yes: bool,
    /// The reason, worded as the end of a sentence.
    pub because: String,
}

impl Filtering {
    /// Parses the keys of the merged ConfigMaps, like [`super::AccessControl::from_keys`].
    pub fn from_keys(keys: &Texts) -> (Self, Vec<Diagnostic>) {
        let mut found = Vec::new();
        let generate_unique_app_id =
            read_flag(keys, GENERATE_UNIQUE_APP_ID, DEFAULT_GENERATE_UNIQUE_APP_ID, &mut found);
        let mut list = |key| PatternList::of_key(keys, key, &mut found);
        let filtering = Self {
            process: list(PROCESS_NAMESPACES),
            bypass: list(BYPASS_NAMESPACES),
            label: list(LABEL_NAMESPACES),
            no_label: list(NO_LABEL_NAMESPACES),
            generate_unique_app_id,
        };
        (filtering, found)
    }

    /// Returns whether `YuniKorn` schedules the pods of a namespace with these annotations
    /// (`admission_controller.go:539-545`).
    ///
    /// # Errors
    /// The key of the list that decides if its content is unknown.
    pub fn processes(&self, namespace: &str, annotations: &Texts) -> Result<Choice, &'static str> {
        let lists = [(PROCESS_NAMESPACES, &self.process), (BYPASS_NAMESPACES, &self.bypass)];
        annotated(annotations, ENABLE_YUNIKORN).map_or_else(|| select(namespace, lists), Ok)
    }

    /// Returns whether the pods of a namespace with these annotations get an application ID
    /// (`admission_controller.go:551-557`).
    ///
    /// # Errors
    /// The key of the list that decides if its content is unknown.
    pub fn labels(&self, namespace: &str, annotations: &Texts) -> Result<Choice, &'static str> {
        let lists = [(LABEL_NAMESPACES, &self.label), (NO_LABEL_NAMESPACES, &self.no_label)];
        annotated(annotations, GENERATE_APP_ID).map_or_else(|| select(namespace, lists), Ok)
    }
}

/// Returns whether a namespace is selected, that is, not excluded and either in the list or the list is
/// empty.
fn select(
    namespace: &str,
    [(chosen_key, chosen), (excluded_key, excluded)]: [(&'static str, &PatternList); 2],
) -> Result<Choice, &'static str> {
    let matched = |key: &str, pattern: &GoRegex| format!("{} of {key} matches it", quoted(pattern.as_str()));
    if let Some(pattern) = excluded.matching(namespace) {
        return Ok(Choice { yes: false, because: matched(excluded_key, pattern) });
    }
    let because = match chosen.matching(namespace) {
        Some(pattern) => matched(chosen_key, pattern),
        None if !chosen.is_known() => return Err(chosen_key),
        None if chosen.patterns().is_empty() => format!("{chosen_key} is empty, which means all"),
        None => {
            let because = format!("no expression of {chosen_key} matches it");
            return Ok(Choice { yes: false, because });
        }
    };
    if excluded.is_known() { Ok(Choice { yes: true, because }) } else { Err(excluded_key) }
}

fn annotated(annotations: &Texts, key: &str) -> Option<Choice> {
    let value = annotations.get(key)?;
    let because = format!("the namespace's annotation {key} is {}", quoted(value));
    Some(Choice { yes: value == "true", because })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::codes::LIST_DISCARDED;
    use std::collections::BTreeMap;

    const CONTROLLER: &str = "system:serviceaccount:kube-system:job-controller";

    fn read(keys: &[(&str, &str)]) -> (AccessControl, Vec<Diagnostic>) {
        let keys = keys.iter().map(|(key, text)| ((*key).to_string(), (*text).to_string())).collect();
        AccessControl::from_keys(&keys)
    }

    fn allowed(keys: &[(&str, &str)], user: &str, groups: &[&str]) -> Option<&'static str> {
        match read(keys).0.is_annotation_allowed(user, groups) {
            Access::Allowed(allowed) => Some(allowed.list),
            Access::Denied => None,
            Access::Unknown(list) => panic!("{list} is not known"),
        }
    }

    #[test]
    fn decisions_equal_the_admission_controllers() {
        let text = include_str!("../../../../tests/vectors/yunikorn-access-control.json");
        let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
        let rows = vectors["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 99);
        for row in rows {
            let keys = serde_json::from_value(row["keys"].clone()).unwrap();
            let groups: Vec<String> = serde_json::from_value(row["groups"].clone()).unwrap();
            let verdict = AccessControl::from_keys(&keys)
                .0
                .is_annotation_allowed(row["user"].as_str().unwrap(), &groups);
            assert_ne!(
                matches!(verdict, Access::Denied),
                row["allowed"].as_bool().unwrap(),
                "{row}: {verdict:?}"
            );
        }
    }

    #[test]
    fn unknown_list_is_undecided_unless_another_list_allows() {
        let deep = format!("{}a{}", "(".repeat(40), ")".repeat(40));
        let keys = [(SYSTEM_USERS, deep.as_str()), (EXTERNAL_USERS, "^ext$")];
        let (control, found) = read(&keys);
        assert_eq!(found.len(), 1);
        assert_eq!(control.is_annotation_allowed("alice", &["devs"]), Access::Unknown(SYSTEM_USERS));
        assert!(matches!(control.is_annotation_allowed("ext", &["devs"]), Access::Allowed(_)));
        assert_eq!(allowed(&[keys[0], (TRUST_CONTROLLERS, "false")], "alice", &["devs"]), None);
        let (control, _) = read(&[(EXTERNAL_GROUPS, deep.as_str())]);
        assert_eq!(control.is_annotation_allowed("alice", &["devs"]), Access::Unknown(EXTERNAL_GROUPS));
        assert_eq!(control.is_annotation_allowed::<&str>("alice", &[]), Access::Denied);
    }

    #[test]
    fn reason_contains_the_first_matching_expression() {
        let (control, _) = read(&[(EXTERNAL_GROUPS, "^b$,^a$")]);
        let Access::Allowed(allowed) = control.is_annotation_allowed("alice", &["a", "b"]) else { panic!() };
        assert_eq!(
            allowed.to_string(),
            "`^b$` of admissionController.accessControl.externalGroups matches `b`"
        );
    }

    #[test]
    fn defaults_trust_only_controllers_of_kube_system() {
        assert_eq!(allowed(&[], CONTROLLER, &[]), Some(SYSTEM_USERS));
        assert_eq!(allowed(&[], "alice", &["system:masters"]), None);
        assert!(!read(&[]).0.bypass_auth);
    }

    #[test]
    fn empty_list_trusts_nobody_and_invalid_boolean_is_the_default() {
        assert_eq!(allowed(&[(SYSTEM_USERS, "")], CONTROLLER, &[]), None);
        assert_eq!(allowed(&[(TRUST_CONTROLLERS, "false")], CONTROLLER, &[]), None);
        let (control, found) = read(&[(TRUST_CONTROLLERS, "no"), (BYPASS_AUTH, "yes")]);
        assert!(control.trust_controllers && !control.bypass_auth);
        assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), [NOT_A_BOOLEAN, NOT_A_BOOLEAN]);
    }

    #[test]
    fn invalid_expression_restores_the_default() {
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

    fn filtering(keys: &[(&str, &str)]) -> Filtering {
        let keys = keys.iter().map(|(list, text)| ((*list).to_owned(), (*text).to_owned())).collect();
        Filtering::from_keys(&keys).0
    }

    fn why(keys: &[(&str, &str)], namespace: &str) -> (bool, String) {
        let choice = filtering(keys).processes(namespace, &BTreeMap::new()).unwrap();
        (choice.yes, choice.because)
    }

    #[test]
    fn excluded_namespace_is_excluded_and_empty_list_selects_all() {
        let all = "admissionController.filtering.processNamespaces is empty, which means all";
        assert_eq!(why(&[], "ns"), (true, all.into()));
        let bypassed = "`^kube-system$` of admissionController.filtering.bypassNamespaces matches it";
        assert_eq!(why(&[], "kube-system"), (false, bypassed.into()));
        assert_eq!(why(&[(BYPASS_NAMESPACES, "")], "kube-system"), (true, all.into()));
        assert!(why(&[(PROCESS_NAMESPACES, "^a,b$")], "ab").0);
        assert_eq!(
            why(&[(PROCESS_NAMESPACES, "^a")], "b"),
            (false, "no expression of admissionController.filtering.processNamespaces matches it".into())
        );
        assert!(!why(&[(PROCESS_NAMESPACES, "^kube-system$")], "kube-system").0);
    }

    #[test]
    fn annotation_overrides_the_lists() {
        let filtering = filtering(&[]);
        for (value, expected) in [("true", true), ("True", false), ("false", false), ("", false)] {
            let annotations = BTreeMap::from([(ENABLE_YUNIKORN.to_owned(), value.to_owned())]);
            for namespace in ["ns", "kube-system"] {
                assert_eq!(filtering.processes(namespace, &annotations).unwrap().yes, expected, "{value}");
            }
            assert!(filtering.labels("ns", &annotations).unwrap().yes);
        }
    }

    #[test]
    fn unknown_list_decides_only_if_the_other_does_not() {
        let deep = format!("{}a{}", "(".repeat(40), ")".repeat(40));
        let none = BTreeMap::new();
        let unknown = filtering(&[(PROCESS_NAMESPACES, &deep), (BYPASS_NAMESPACES, "^b$")]);
        assert_eq!(unknown.processes("a", &none), Err(PROCESS_NAMESPACES));
        assert!(!unknown.processes("b", &none).unwrap().yes);
        let unknown = filtering(&[(PROCESS_NAMESPACES, "^a$"), (BYPASS_NAMESPACES, &deep)]);
        assert_eq!(unknown.processes("a", &none), Err(BYPASS_NAMESPACES));
        assert!(!unknown.processes("b", &none).unwrap().yes);
    }
}
