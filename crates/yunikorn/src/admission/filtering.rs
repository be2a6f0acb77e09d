//! The `admissionController.filtering.*` keys: they select the namespaces whose pods go to `YuniKorn`, and
//! those whose pods get an application ID.

use std::collections::BTreeMap;
use std::fmt;

use super::access::read_flag;
use super::keys::{DEFAULT_GENERATE_UNIQUE_APP_ID, GENERATE_UNIQUE_APP_ID, NamespaceList};
use super::lists::PatternList;
use super::request::{ENABLE_YUNIKORN, GENERATE_APP_ID};
use go_compat::diag::{Diagnostic, quoted};

/// The keys as the admission controller reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filtering {
    /// Namespaces whose pods go to `YuniKorn`; empty means all.
    pub process: PatternList,
    /// Namespaces whose pods do not go to `YuniKorn`.
    pub bypass: PatternList,
    /// Namespaces whose pods get an application ID; empty means all.
    pub label: PatternList,
    /// Namespaces whose pods do not get an application ID.
    pub no_label: PatternList,
    /// True if each pod without an application ID gets one of its own.
    pub generate_unique_app_id: bool,
}

/// An answer about a namespace, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// True if the namespace is chosen.
    pub yes: bool,
    /// The reason for the answer.
    pub because: Because,
}

/// The reason why a namespace is chosen or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Because {
    /// An annotation of the namespace decides; any value but `true` means no.
    Annotation {
        /// The key of the annotation.
        key: &'static str,
        /// The value of the annotation.
        value: String,
    },
    /// An expression of this list matches the namespace.
    Matched(NamespaceList, String),
    /// The list has expressions, and none of them matches.
    NotMatched(NamespaceList),
    /// The list is empty, which means all namespaces.
    All(NamespaceList),
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Annotation { key, value } => {
                write!(f, "the namespace's annotation {key} is {}", quoted(value))
            }
            Self::Matched(list, pattern) => write!(f, "{} of {} matches it", quoted(pattern), list.key()),
            Self::NotMatched(list) => write!(f, "no expression of {} matches it", list.key()),
            Self::All(list) => write!(f, "{} is empty, which means all", list.key()),
        }
    }
}

impl Filtering {
    /// Reads the keys of the merged ConfigMaps, as [`super::AccessControl::from_keys`] does.
    pub fn from_keys(keys: &BTreeMap<String, String>) -> (Self, Vec<Diagnostic>) {
        let mut found = Vec::new();
        let generate_unique_app_id =
            read_flag(keys, GENERATE_UNIQUE_APP_ID, DEFAULT_GENERATE_UNIQUE_APP_ID, &mut found);
        let mut read_list = |list: NamespaceList| {
            let (patterns, findings) = PatternList::read(list, keys.get(list.key()).map(String::as_str));
            found.extend(findings);
            patterns
        };
        let filtering = Self {
            process: read_list(NamespaceList::Process),
            bypass: read_list(NamespaceList::Bypass),
            label: read_list(NamespaceList::Label),
            no_label: read_list(NamespaceList::NoLabel),
            generate_unique_app_id,
        };
        (filtering, found)
    }

    /// Returns whether pods of a namespace with these annotations go to `YuniKorn`
    /// (`admission_controller.go:539-545`).
    ///
    /// # Errors
    /// The list that decides but whose content is not known.
    pub fn processes(
        &self,
        namespace: &str,
        annotations: &BTreeMap<String, String>,
    ) -> Result<Choice, NamespaceList> {
        annotated(annotations, ENABLE_YUNIKORN)
            .map_or_else(|| self.select(namespace, NamespaceList::Process, NamespaceList::Bypass), Ok)
    }

    /// Returns whether pods of a namespace with these annotations get an application ID
    /// (`admission_controller.go:551-557`).
    ///
    /// # Errors
    /// The list that decides but whose content is not known.
    pub fn labels(
        &self,
        namespace: &str,
        annotations: &BTreeMap<String, String>,
    ) -> Result<Choice, NamespaceList> {
        annotated(annotations, GENERATE_APP_ID)
            .map_or_else(|| self.select(namespace, NamespaceList::Label, NamespaceList::NoLabel), Ok)
    }

    /// Returns whether the namespace is selected: not excluded, and among the chosen ones if there are any.
    fn select(
        &self,
        namespace: &str,
        chosen: NamespaceList,
        excluded: NamespaceList,
    ) -> Result<Choice, NamespaceList> {
        if let Some(pattern) = self.list(excluded).matching(namespace) {
            let because = Because::Matched(excluded, pattern.as_str().to_owned());
            return Ok(Choice { yes: false, because });
        }
        let because = match self.list(chosen).matching(namespace) {
            Some(pattern) => Because::Matched(chosen, pattern.as_str().to_owned()),
            None if !self.list(chosen).is_known() => return Err(chosen),
            None if self.list(chosen).patterns().is_empty() => Because::All(chosen),
            None => return Ok(Choice { yes: false, because: Because::NotMatched(chosen) }),
        };
        if self.list(excluded).is_known() { Ok(Choice { yes: true, because }) } else { Err(excluded) }
    }

    fn list(&self, list: NamespaceList) -> &PatternList {
        match list {
            NamespaceList::Process => &self.process,
            NamespaceList::Bypass => &self.bypass,
            NamespaceList::Label => &self.label,
            NamespaceList::NoLabel => &self.no_label,
        }
    }
}

fn annotated(annotations: &BTreeMap<String, String>, key: &'static str) -> Option<Choice> {
    let value = annotations.get(key)?;
    let because = Because::Annotation { key, value: value.clone() };
    Some(Choice { yes: value == "true", because })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtering(keys: &[(NamespaceList, &str)]) -> Filtering {
        let keys = keys.iter().map(|(list, text)| (list.key().to_owned(), (*text).to_owned())).collect();
        Filtering::from_keys(&keys).0
    }

    fn why(keys: &[(NamespaceList, &str)], namespace: &str) -> (bool, String) {
        let choice = filtering(keys).processes(namespace, &BTreeMap::new()).unwrap();
        (choice.yes, choice.because.to_string())
    }

    #[test]
    fn an_excluded_namespace_is_excluded_and_an_empty_list_chooses_all() {
        use NamespaceList::{Bypass, Process};
        let all = "admissionController.filtering.processNamespaces is empty, which means all";
        assert_eq!(why(&[], "ns"), (true, all.into()));
        let bypassed = "`^kube-system$` of admissionController.filtering.bypassNamespaces matches it";
        assert_eq!(why(&[], "kube-system"), (false, bypassed.into()));
        assert_eq!(why(&[(Bypass, "")], "kube-system"), (true, all.into()));
        assert!(why(&[(Process, "^a,b$")], "ab").0);
        assert_eq!(
            why(&[(Process, "^a")], "b"),
            (false, "no expression of admissionController.filtering.processNamespaces matches it".into())
        );
        assert!(!why(&[(Process, "^kube-system$")], "kube-system").0);
    }

    #[test]
    fn an_annotation_overrides_the_lists() {
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
    fn a_list_that_is_not_known_decides_only_where_the_other_does_not() {
        use NamespaceList::{Bypass, Process};
        let deep = format!("{}a{}", "(".repeat(40), ")".repeat(40));
        let none = BTreeMap::new();
        let unknown = filtering(&[(Process, &deep), (Bypass, "^b$")]);
        assert_eq!(unknown.processes("a", &none), Err(Process));
        assert!(!unknown.processes("b", &none).unwrap().yes);
        let unknown = filtering(&[(Process, "^a$"), (Bypass, &deep)]);
        assert_eq!(unknown.processes("a", &none), Err(Bypass));
        assert!(!unknown.processes("b", &none).unwrap().yes);
    }
}
