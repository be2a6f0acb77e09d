//! The `admissionController.filtering.*` keys: they select the namespaces whose pods go to `YuniKorn`, and
//! those whose pods get an application ID.

use super::access::read_flag;
use super::keys::{
    BYPASS_NAMESPACES, DEFAULT_GENERATE_UNIQUE_APP_ID, GENERATE_UNIQUE_APP_ID, LABEL_NAMESPACES,
    NO_LABEL_NAMESPACES, PROCESS_NAMESPACES,
};
use super::lists::PatternList;
use super::request::{ENABLE_YUNIKORN, GENERATE_APP_ID, Texts};
use go_compat::diag::{Diagnostic, quoted};
use go_compat::go_regex::GoRegex;

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
    /// The reason for the answer, as the end of a sentence.
    pub because: String,
}

impl Filtering {
    /// Reads the keys of the merged ConfigMaps, as [`super::AccessControl::from_keys`] does.
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

    /// Returns whether pods of a namespace with these annotations go to `YuniKorn`
    /// (`admission_controller.go:539-545`).
    ///
    /// # Errors
    /// The key of the list that decides but whose content is not known.
    pub fn processes(&self, namespace: &str, annotations: &Texts) -> Result<Choice, &'static str> {
        let lists = [(PROCESS_NAMESPACES, &self.process), (BYPASS_NAMESPACES, &self.bypass)];
        annotated(annotations, ENABLE_YUNIKORN).map_or_else(|| select(namespace, lists), Ok)
    }

    /// Returns whether pods of a namespace with these annotations get an application ID
    /// (`admission_controller.go:551-557`).
    ///
    /// # Errors
    /// The key of the list that decides but whose content is not known.
    pub fn labels(&self, namespace: &str, annotations: &Texts) -> Result<Choice, &'static str> {
        let lists = [(LABEL_NAMESPACES, &self.label), (NO_LABEL_NAMESPACES, &self.no_label)];
        annotated(annotations, GENERATE_APP_ID).map_or_else(|| select(namespace, lists), Ok)
    }
}

/// Returns whether the namespace is selected: not excluded, and among the chosen ones if there are any.
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
    use std::collections::BTreeMap;

    fn filtering(keys: &[(&str, &str)]) -> Filtering {
        let keys = keys.iter().map(|(list, text)| ((*list).to_owned(), (*text).to_owned())).collect();
        Filtering::from_keys(&keys).0
    }

    fn why(keys: &[(&str, &str)], namespace: &str) -> (bool, String) {
        let choice = filtering(keys).processes(namespace, &BTreeMap::new()).unwrap();
        (choice.yes, choice.because)
    }

    #[test]
    fn an_excluded_namespace_is_excluded_and_an_empty_list_chooses_all() {
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
