//! Settings that trust more people than they name: accounts of Kubernetes, and with them everyone who writes
//! the objects from which they make pods; groups of everyone; `bypassAuth` and `trustControllers`.

use super::codes::{
    ALL_OF_KUBE_SYSTEM, ANONYMOUS_TRUSTED, BYPASS_AUTH, GROUP_OF_EVERYONE, UNCHECKED_COPIES,
    UNGUARDED_ACCOUNT,
};
use super::pitfalls;
use go_compat::diag::{Code, Diagnostic, Span, quoted};
use go_compat::go_regex::GoRegex;

/// Matches the controllers of Kubernetes that copy pod templates, and no add-on. Their accounts are those of
/// `kube-controller-manager --use-service-account-credentials` (kubernetes
/// `plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go`).
pub const TEMPLATE_CONTROLLERS: &str = "^system:serviceaccount:kube-system:(cronjob|daemon-set|deployment\
    |job|replicaset|replication|statefulset)-controller$";

/// The start of the name of a service account.
const ACCOUNT: &str = "system:serviceaccount:";
/// The start of the names of the service accounts in kube-system.
const KUBE_SYSTEM: &str = "system:serviceaccount:kube-system:";
/// Accounts of kube-system with nothing in common: an expression that matches all of them is taken to match
/// every one.
const UNRELATED: [&str; 3] = ["a", "keda-operator", "x7"];
/// An account that an expression matches only together with many others.
const ANY: &str = "system:serviceaccount:any:account";
/// The start of the names of the groups of all service accounts of a namespace.
const ACCOUNTS: &str = "system:serviceaccounts:";
/// The user of a request without a login.
const ANONYMOUS: &str = "system:anonymous";
/// Groups of many people, and who is in them.
const GROUPS: [(&str, &str); 3] = [
    ("system:authenticated", "everyone who has logged in"),
    ("system:unauthenticated", "everyone who has not logged in"),
    ("system:serviceaccounts", "every service account"),
];

/// The codes of the findings of this module.
pub const CODES: [Code; 6] = [
    UNGUARDED_ACCOUNT,
    ALL_OF_KUBE_SYSTEM,
    BYPASS_AUTH,
    GROUP_OF_EVERYONE,
    UNCHECKED_COPIES,
    ANONYMOUS_TRUSTED,
];

/// Returns the finding about `bypassAuth: true`.
pub fn bypass_auth() -> Diagnostic {
    let message = "every user may set `user.info` of pods and workloads, and so submits as anyone";
    Diagnostic::warning(BYPASS_AUTH, message)
        .help("set it to false, and name those who may in `externalUsers` or `externalGroups`")
}

/// Returns the finding about `trustControllers: true` where it trusts all of kube-system, and nothing checks
/// changed workloads.
pub fn unchecked_copies() -> Diagnostic {
    let message = "every account of kube-system may copy `user.info` of pod templates, which nothing checks in \
                   changed workloads: whoever may change one submits as anyone";
    let help = format!(
        "name the controllers in `systemUsers`: `{TEMPLATE_CONTROLLERS}`; and let the user-info webhook check \
         changes: `userInfo` with `mode: Enforce` and profile `strict`"
    );
    Diagnostic::warning(UNCHECKED_COPIES, message).help(help)
}

/// Returns the finding about an element of `externalGroups`; its span is the whole element. An expression
/// that matches every name has a code of its own.
pub fn trusted_group(element: &str) -> Option<Diagnostic> {
    let regex = GoRegex::new(element).ok().filter(|regex| pitfalls::matches_all(regex).is_none())?;
    let wide = GROUPS.iter().find(|(group, _)| regex.is_match(group));
    let of_namespace = || regex.prefixes().iter().any(|prefix| prefix.starts_with(ACCOUNTS));
    let who = match wide {
        Some((group, who)) => format!("{} with {who}", quoted(group)),
        None if of_namespace() => "of all service accounts of a namespace".to_owned(),
        None => return None,
    };
    let message = format!("the expression {} matches the group {who}, who submit as anyone", quoted(element));
    let help = "name groups of people who may act for all others, from `^` to `$`";
    Some(Diagnostic::warning(GROUP_OF_EVERYONE, message).at(Span::new(0, element.len())).help(help))
}

/// Returns the finding about an element of `systemUsers` or `externalUsers`; its span is the whole element.
/// `operators` are accounts that set no name but the one in the owner, also if they are on a list, as
/// `YuniKorn`'s own admission controller demands. An expression that matches every name has a code of its
/// own.
pub fn trusted(element: &str, operators: &[String]) -> Option<Diagnostic> {
    let regex = GoRegex::new(element).ok().filter(|regex| pitfalls::matches_all(regex).is_none())?;
    let is_operator = operators.iter().any(|operator| regex.is_match(operator));
    let (code, accounts, help) = if !is_operator && is_outside(&regex) {
        let help = "name an operator's account in `operators` of `userInfo`, with `mode: Enforce`, profile \
                    `strict` and `templates` for all kinds that it makes pods of; or leave it out";
        let accounts = format!(
            "{} outside of kube-system: whoever may write what it makes pods of submits as anyone",
            accounts(&regex)
        );
        (UNGUARDED_ACCOUNT, accounts, help.to_owned())
    } else if UNRELATED.iter().all(|name| regex.is_match(&format!("{KUBE_SYSTEM}{name}"))) {
        let help = format!("name the controllers that copy pod templates: `{TEMPLATE_CONTROLLERS}`");
        let accounts = "every account of kube-system, also of add-ons that make pods of what others write";
        (ALL_OF_KUBE_SYSTEM, accounts.to_owned(), help)
    } else {
        return None;
    };
    let message = format!("the expression {} trusts {accounts}", quoted(element));
    Some(Diagnostic::warning(code, message).at(Span::new(0, element.len())).help(help))
}

/// Returns the finding about an element of `systemUsers` or `externalUsers` that matches everyone without a
/// login; its span is the whole element. An expression that matches every name has a code of its own.
pub fn trusted_anonymous(element: &str) -> Option<Diagnostic> {
    let regex = GoRegex::new(element).ok().filter(|regex| pitfalls::matches_all(regex).is_none())?;
    regex.is_match(ANONYMOUS).then(|| {
        let message = format!(
            "the expression {} matches `{ANONYMOUS}`, everyone who has not logged in, who submit as anyone",
            quoted(element)
        );
        let help = "name the users who may act for all others, from `^` to `$`";
        Diagnostic::warning(ANONYMOUS_TRUSTED, message).at(Span::new(0, element.len())).help(help)
    })
}

/// Describes the accounts that an expression matches.
fn accounts(regex: &GoRegex) -> String {
    let all_of = |namespace: &str| {
        UNRELATED.iter().all(|name| regex.is_match(&format!("{ACCOUNT}{namespace}:{name}")))
    };
    if all_of("any") {
        return "every service account".to_owned();
    }
    let prefixes = regex.prefixes();
    let namespaces = prefixes.iter().filter_map(|prefix| prefix.strip_prefix(ACCOUNT));
    let namespaces = namespaces.map(|rest| rest.split(':').next().unwrap_or(rest));
    let mut namespaces = namespaces.filter(|name| !name.is_empty() && all_of(name));
    match namespaces.next() {
        Some(name) if all_of(&format!("{name}-dev")) => {
            format!("every account of namespaces that begin with {}", quoted(name))
        }
        Some(name) => format!("every account of namespace {}", quoted(name)),
        None => "an account".to_owned(),
    }
}

/// Returns whether it certainly matches an account outside of kube-system.
fn is_outside(regex: &GoRegex) -> bool {
    let other = |prefix: &str| {
        // After a shorter prefix, what follows is only known where nothing has to follow.
        let open = KUBE_SYSTEM.starts_with(prefix) && regex.is_match(prefix);
        prefix.starts_with(ACCOUNT) && !prefix.starts_with(KUBE_SYSTEM) && !open
    };
    regex.is_match(ANY) || regex.prefixes().iter().any(|prefix| other(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accounts that the expressions of the tests match.
    const OPERATORS: [&str; 6] = [
        "system:serviceaccount:spark-operator:spark-operator",
        "system:serviceaccount:spark:operator",
        "system:serviceaccount:ray:kuberay",
        "system:serviceaccount:kube-flink:operator",
        "system:serviceaccount:flink:flink-controller",
        "system:serviceaccount:sparkling:operator",
    ];

    /// Returns the code of the finding while these accounts are operators, or none is.
    fn code(element: &str, with_operators: bool) -> Option<Code> {
        let operators = OPERATORS.map(str::to_owned);
        trusted(element, if with_operators { &operators } else { &[] }).map(|found| found.code)
    }

    #[test]
    fn accounts_outside_of_kube_system_are_reported_unless_they_are_operators() {
        for element in [
            "^system:serviceaccount:spark-operator:spark-operator$",
            "^system:serviceaccount:spark-operator:",
            "^system:serviceaccount:spark",
            "system:serviceaccount:spark:operator",
            "^system:serviceaccount:(kube-system|spark):operator$",
            "^(alice|system:serviceaccount:ray:kuberay)$",
            "^system:serviceaccount:[a-z]+:operator$",
            "^system:serviceaccount:kube-.*:operator$",
            "^system:serviceaccount:.*-controller$",
        ] {
            assert_eq!(code(element, false), Some(UNGUARDED_ACCOUNT), "{element}");
            assert_eq!(code(element, true), None, "{element}");
        }
        for every in ["^system:serviceaccount:", "^system:"] {
            assert_eq!(code(every, false), Some(UNGUARDED_ACCOUNT), "{every}");
            assert_eq!(code(every, true), Some(ALL_OF_KUBE_SYSTEM), "{every}");
        }
    }

    #[test]
    fn the_message_tells_an_account_from_a_namespace() {
        for (element, accounts) in [
            ("^system:serviceaccount:spark:operator$", "trusts an account outside"),
            ("^system:serviceaccount:default:", "trusts every account of namespace `default` outside"),
            ("^system:serviceaccount:default:.*$", "trusts every account of namespace `default` outside"),
            ("^system:serviceaccount:spark:[a-z0-9-]+$", "trusts every account of namespace `spark` outside"),
            (
                "^system:serviceaccount:spark",
                "trusts every account of namespaces that begin with `spark` outside",
            ),
            (
                "^system:serviceaccount:air:*",
                "trusts every account of namespaces that begin with `air` outside",
            ),
            ("^system:serviceaccount:", "trusts every service account outside"),
        ] {
            let found = trusted(element, &[]).unwrap();
            assert!(found.message.contains(accounts), "{element}: {found}");
        }
    }

    #[test]
    fn everyone_without_a_login_is_reported() {
        for (element, expected) in [
            ("^system:anonymous$", true),
            ("^system:", true),
            ("anonymous", true),
            ("^(alice|system:anonymous)$", true),
            ("^system:serviceaccount:", false),
            ("^alice$", false),
            (".*", false),
            ("(", false),
        ] {
            let found = trusted_anonymous(element).map(|found| found.code);
            assert_eq!(found, expected.then_some(ANONYMOUS_TRUSTED), "{element}");
        }
    }

    #[test]
    fn all_accounts_of_kube_system_are_reported_whoever_is_an_operator() {
        for element in [
            "^system:serviceaccount:kube-system:",
            "^system:serviceaccount:kube-system:.*$",
            "^system:serviceaccount:kube-system",
            "^system:serviceaccount:kube-system:[a-z0-9-]+$",
            "kube-system:",
        ] {
            for with_operators in [false, true] {
                assert_eq!(code(element, with_operators), Some(ALL_OF_KUBE_SYSTEM), "{element}");
            }
        }
    }

    #[test]
    fn names_of_no_such_account_are_not() {
        for element in [
            TEMPLATE_CONTROLLERS,
            "^system:serviceaccount:kube-system:job-controller$",
            "^system:serviceaccount:kube-system:$",
            "^system:serviceaccount:$",
            "^system:kube-controller-manager$",
            "^airflow$",
            "-controller$",
            ".*",
            "a*",
            "(",
        ] {
            assert_eq!(code(element, false), None, "{element}");
        }
    }

    #[test]
    fn groups_that_many_are_in_are_reported_and_others_are_not() {
        for (element, who) in [
            ("^system:", Some("`system:authenticated` with everyone")),
            ("authenticated", Some("`system:authenticated` with everyone")),
            ("^system:serviceaccounts", Some("`system:serviceaccounts` with every service account,")),
            ("^system:serviceaccounts:", Some("of all service accounts of a namespace")),
            ("^system:serviceaccounts:spark$", Some("of all service accounts of a namespace")),
            ("^(devs|system:serviceaccounts:spark)$", Some("of all service accounts of a namespace")),
            ("^system:unauthenticated$", Some("`system:unauthenticated` with everyone who has not")),
            ("^system:masters$", None),
            ("^devs$", None),
            (".*", None),
            ("(", None),
        ] {
            let found = trusted_group(element).map(|found| (found.code, found.message));
            assert_eq!(found.as_ref().map(|(code, _)| *code), who.map(|_| GROUP_OF_EVERYONE), "{element}");
            assert!(found.is_none_or(|(_, message)| message.contains(who.unwrap())), "{element}");
        }
    }

    #[test]
    fn what_is_recommended_matches_the_controllers_that_copy_templates_alone() {
        let regex = GoRegex::new(TEMPLATE_CONTROLLERS).unwrap();
        for name in ["cronjob", "daemon-set", "deployment", "job", "replicaset", "replication", "statefulset"]
        {
            assert!(regex.is_match(&format!("{KUBE_SYSTEM}{name}-controller")), "{name}");
        }
        for other in ["keda-operator", "node-controller", "my-job-controller", "job-controller-2"] {
            assert!(!regex.is_match(&format!("{KUBE_SYSTEM}{other}")), "{other}");
        }
        for text in [
            include_str!("../../../../examples/quickstart/3-admissionpolicy.yaml"),
            include_str!("../../../../docs/identity.md"),
        ] {
            assert!(text.contains(TEMPLATE_CONTROLLERS));
        }
    }
}
