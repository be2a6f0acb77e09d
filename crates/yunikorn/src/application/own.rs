//! The rules that an application in `YuniKorn` brings itself: annotations of its pods, and the configuration
//! of a Spark driver.
//!
//! The annotations are queuewarden's, in the syntax of queue ACLs, as `mapreduce.job.acl-view-job` is in that
//! of YARN's. The submitter writes them, so they only ever grant access to the submitter's own application.

use super::settings::{Rules, SparkRules, Written};
use crate::acl::{self, Acl};
use crate::application::Dialect;
use go_compat::diag::Diagnostic;

/// The annotation that lists who may view the application and read its logs, besides its owner and the
/// queue's administrators.
pub const VIEW_ACL: &str = "queuewarden.dev/view-acl";
/// The annotation that lists who may modify and end the application.
pub const MODIFY_ACL: &str = "queuewarden.dev/modify-acl";

/// The rules of one application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnRules {
    /// [`VIEW_ACL`]; nobody when not set.
    pub view: Written<Acl>,
    /// [`MODIFY_ACL`]; nobody when not set.
    pub modify: Written<Acl>,
    /// A Spark driver's configuration, where it switches ACLs on. With ACLs off everybody may do everything,
    /// but only on Spark's own pages, so that case is not used here.
    pub spark: Option<SparkRules>,
}

impl Default for OwnRules {
    /// No rules.
    fn default() -> Self {
        let unset = |key| Written { key, text: String::new(), set: false, value: Acl::nobody() };
        Self { view: unset(VIEW_ACL), modify: unset(MODIFY_ACL), spark: None }
    }
}

impl OwnRules {
    /// Adds the configuration of the Spark driver. A configuration that Spark could not start with adds
    /// nothing.
    #[must_use]
    pub fn with_spark<'a>(self, settings: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let (rules, findings) = Rules::read(Dialect::Spark, settings);
        let spark = match rules {
            Rules::Spark(rules) if rules.enabled && !findings.iter().any(Diagnostic::is_error) => Some(rules),
            _ => None,
        };
        Self { spark, ..self }
    }
}

/// Reads an ACL as `YuniKorn` would, and reports everything that differs from what is written. A text that it
/// would refuse is nobody.
pub(super) fn read(key: &str, text: &str) -> (Acl, Vec<Diagnostic>) {
    let analysis = acl::lint(text);
    // An error means that one of YuniKorn's two parsers refuses the text.
    let acl = if analysis.has_errors() { None } else { analysis.acl };
    let findings = analysis.diagnostics.into_iter().map(|finding| Diagnostic {
        message: format!("`{key}`: {}", finding.message),
        span: None,
        help: finding.help.or_else(|| Some("write it as the ACL of a queue".to_owned())),
        ..finding
    });
    (acl.unwrap_or_default(), findings.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::settings::{SPARK_ENABLE, SPARK_VIEW};
    use proptest::prelude::*;

    fn own(settings: &[(&str, &str)]) -> (OwnRules, Vec<Diagnostic>) {
        match Rules::read(Dialect::YuniKorn, settings.iter().copied()) {
            (Rules::YuniKorn(rules), findings) => (rules, findings),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn annotations_are_acls_of_their_own() {
        let (rules, findings) = own(&[(VIEW_ACL, "ann,bob qa"), (MODIFY_ACL, " ops")]);
        assert!(
            rules.view.set
                && rules.view.value.allows("x", &["qa"])
                && !rules.view.value.allows("x", &["ops"])
        );
        assert!(rules.modify.value.allows("x", &["ops"]) && findings.is_empty(), "{findings:?}");
        assert_eq!(own(&[]).0, OwnRules::default());
    }

    #[test]
    fn what_cannot_be_read_lets_nobody_in() {
        for text in ["ann  bob", "a b c", "sue dev qa", "${x}", "a\tb c\td e"] {
            let (rules, findings) = own(&[(VIEW_ACL, text)]);
            assert!(
                rules.view.value.is_nobody() && findings.iter().any(Diagnostic::is_error),
                "{text}: {findings:?}"
            );
        }
    }

    #[test]
    fn only_a_driver_that_has_switched_acls_on_is_heard() {
        let with = |settings: &[(&'static str, &'static str)]| {
            OwnRules::default().with_spark(settings.iter().copied()).spark
        };
        assert!(with(&[(SPARK_ENABLE, "true"), (SPARK_VIEW, "ann")]).is_some());
        assert!(with(&[(SPARK_VIEW, "ann")]).is_none());
        assert!(with(&[(SPARK_ENABLE, "yes")]).is_none());
        assert!(with(&[(SPARK_ENABLE, "true"), (SPARK_VIEW, "${x}")]).is_none());
    }

    proptest! {
        #[test]
        fn no_text_lets_in_more_than_its_acl(text in any::<String>(), user in "[a-c]{1,2}", group in "[a-c]{1,2}") {
            let (acl, findings) = read(VIEW_ACL, &text);
            if acl.allows(&user, &[&group]) {
                prop_assert!(!findings.iter().any(Diagnostic::is_error));
                prop_assert!(acl::parse(&text).is_ok_and(|read| read.allows(&user, &[&group])));
            }
        }
    }
}
