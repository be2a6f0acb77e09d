//! Settings that trust more people than they name: Kubernetes accounts and, through them, everyone who writes
//! the objects that they create pods from; groups of everyone; `bypassAuth` and `trustControllers`.

use super::codes::{
    ALL_OF_KUBE_SYSTEM, ANONYMOUS_TRUSTED, BYPASS_AUTH, CLOSED_PREFIX, GROUP_OF_EVERYONE, MATCHES_ALL,
    OPEN_NAMESPACE, SHELL_PATTERN, SPLIT_ANCHORS, UNANCHORED, UNCHECKED_COPIES, UNGUARDED_ACCOUNT,
};
use go_compat::diag::{Code, Diagnostic, Span, quoted};
use go_compat::go_regex::GoRegex;

/// Matches the Kubernetes controllers that copy pod templates, but no add-on. These are accounts of
/// `kube-controller-manager --use-service-account-credentials` (kubernetes
/// `plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go`).
pub const TEMPLATE_CONTROLLERS: &str = "^system:serviceaccount:kube-system:(cronjob|daemon-set|deployment\
    |job|replicaset|replication|statefulset)-controller$";

/// The prefix of a service account's name.
const ACCOUNT: &str = "system:serviceaccount:";
/// The prefix of a service account's name in kube-system.
const KUBE_SYSTEM: &str = "system:serviceaccount:kube-system:";
/// Unrelated accounts of kube-system. An expression that matches all of them is assumed to match every
/// account.
const UNRELATED: [&str; 3] = ["a", "keda-operator", "x7"];
/// An account that no expression matches unless it matches many others.
const ANY: &str = "system:serviceaccount:any:account";
/// The prefix of the groups of all service accounts of a namespace.
const ACCOUNTS: &str = "system:serviceaccounts:";
/// The user of an unauthenticated request.
const ANONYMOUS: &str = "system:anonymous";
/// Large groups, and their members.
const GROUPS: [(&str, &str); 3] = [
    ("system:authenticated", "everyone who has logged in"),
    ("system:unauthenticated", "everyone who has not logged in"),
    ("system:serviceaccounts", "every service account"),
];

/// The codes of this module's findings.
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
    let message = "every user can set `user.info` of pods and workloads, and so submit as anyone";
    Diagnostic::warning(BYPASS_AUTH, message)
        .help("set it to false, and list trusted users in `externalUsers` or `externalGroups`")
}

/// Returns the finding about `trustControllers: true` for a policy that trusts all of kube-system without
/// checking changed workloads.
pub fn unchecked_copies() -> Diagnostic {
    let message = "every account of kube-system can copy `user.info` from pod templates, which nothing checks in \
                   changed workloads: anyone who can change a workload can submit as anyone";
    let help = format!(
        "name the controllers in `systemUsers`: `{TEMPLATE_CONTROLLERS}`; and let the user-info webhook check \
         changes: `userInfo` with `mode: Enforce` and profile `strict`"
    );
    Diagnostic::warning(UNCHECKED_COPIES, message).help(help)
}

/// Returns the finding about an element of `externalGroups`. The span is the whole element. An expression
/// that matches every name has another code.
pub fn trusted_group(element: &str) -> Option<Diagnostic> {
    let regex = GoRegex::new(element).ok().filter(|regex| matches_all(regex).is_none())?;
    let wide = GROUPS.iter().find(|(group, _)| regex.is_match(group));
    let of_namespace = || regex.prefixes().iter().any(|prefix| prefix.starts_with(ACCOUNTS));
    let who = match wide {
        Some((group, who)) => format!("{}, which contains {who},", quoted(group)),
        None if of_namespace() => "of all service accounts in a namespace".to_owned(),
        None => return None,
    };
    let message = format!("the expression {} allows the group {who} to submit as anyone", quoted(element));
    let help = "list only groups of people who may act for everyone else, anchored with `^` and `$`";
    Some(Diagnostic::warning(GROUP_OF_EVERYONE, message).at(Span::new(0, element.len())).help(help))
}

/// Returns the finding about an element of `systemUsers` or `externalUsers`. The span is the whole element.
/// `operators` are accounts that can only pass on the owner's name, even if they are listed because
/// `YuniKorn`'s admission controller requires it. An expression that matches every name has another code.
pub fn trusted(element: &str, operators: &[String]) -> Option<Diagnostic> {
    let regex = GoRegex::new(element).ok().filter(|regex| matches_all(regex).is_none())?;
    let is_operator = operators.iter().any(|operator| regex.is_match(operator));
    let (code, accounts, help) = if !is_operator && is_outside(&regex) {
        let help = "list an operator's account in `operators` of `userInfo`, with `mode: Enforce`, profile \
                    `strict` and `templates` for all kinds it creates pods from, or remove it";
        let accounts = format!(
            "{} outside kube-system: anyone who can write the objects it creates pods from can submit as anyone",
            accounts(&regex)
        );
        (UNGUARDED_ACCOUNT, accounts, help.to_owned())
    } else if UNRELATED.iter().all(|name| regex.is_match(&format!("{KUBE_SYSTEM}{name}"))) {
        let help = format!("list only the controllers that copy pod templates: `{TEMPLATE_CONTROLLERS}`");
        let accounts =
            "every account of kube-system, including add-ons that create pods from others' objects";
        (ALL_OF_KUBE_SYSTEM, accounts.to_owned(), help)
    } else {
        return None;
    };
    let message = format!("the expression {} trusts {accounts}", quoted(element));
    Some(Diagnostic::warning(code, message).at(Span::new(0, element.len())).help(help))
}

/// Returns the finding about an element of `systemUsers` or `externalUsers` that matches unauthenticated
/// requests. The span is the whole element. An expression that matches every name has another code.
pub fn trusted_anonymous(element: &str) -> Option<Diagnostic> {
    let regex = GoRegex::new(element).ok().filter(|regex| matches_all(regex).is_none())?;
    regex.is_match(ANONYMOUS).then(|| {
        let message = format!(
            "the expression {} matches `{ANONYMOUS}`, so unauthenticated requests can submit as anyone",
            quoted(element)
        );
        let help = "list only users who may act for everyone else, anchored with `^` and `$`";
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
            format!("every account of namespaces with prefix {}", quoted(name))
        }
        Some(name) => format!("every account of namespace {}", quoted(name)),
        None => "an account".to_owned(),
    }
}

/// Returns whether the expression is certain to match an account outside kube-system.
fn is_outside(regex: &GoRegex) -> bool {
    let other = |prefix: &str| {
        // After a shorter prefix, the rest is known only if the match can end there.
        let open = KUBE_SYSTEM.starts_with(prefix) && regex.is_match(prefix);
        prefix.starts_with(ACCOUNT) && !prefix.starts_with(KUBE_SYSTEM) && !open
    };
    regex.is_match(ANY) || regex.prefixes().iter().any(|prefix| other(prefix))
}

// Expressions that match more or less than they seem to.

/// Unrelated names. An expression that matches all of them is assumed to match every name.
const UNRELATED_NAMES: [&str; 8] =
    ["a", "Z", "7", "é", "system:anonymous", "x@y.z", "-_-", "https://idp#zoë|1"];

const SERVICE_ACCOUNT: &str = "^system:serviceaccount:";

/// Returns the finding about an expression, if there is one. The span is the whole expression.
pub(super) fn check(regex: &GoRegex) -> Option<Diagnostic> {
    let found = matches_all(regex)
        .or_else(|| shell_pattern(regex))
        .or_else(|| split_anchors(regex))
        .or_else(|| closed_prefix(regex))
        .or_else(|| open_namespace(regex))
        .or_else(|| unanchored(regex))?;
    Some(found.at(Span::new(0, regex.as_str().len())))
}

fn warning(code: Code, regex: &GoRegex, what: &str, help: impl Into<String>) -> Diagnostic {
    Diagnostic::warning(code, format!("the expression {} {what}", quoted(regex.as_str()))).help(help)
}

fn matches_all(regex: &GoRegex) -> Option<Diagnostic> {
    let all = UNRELATED_NAMES.iter().all(|name| regex.is_match(name));
    all.then(|| {
        warning(
            MATCHES_ALL,
            regex,
            "matches every name",
            "list the intended names, anchored with `^` and `$`",
        )
    })
}

/// Finds a `*` used like a shell pattern, that is, after a character of a name.
fn shell_pattern(regex: &GoRegex) -> Option<Diagnostic> {
    let body = regex.as_str().trim_start_matches('^').trim_end_matches('$');
    let repeated = |before: &str| before.chars().next_back().filter(|c| *c != '.');
    let (before, behind) = body.match_indices('*').find_map(|(at, _)| {
        let (before, behind) = body.split_at_checked(at)?;
        repeated(before)?;
        Some((before, behind.trim_start_matches('*')))
    })?;
    let repeated = repeated(before)?;
    if !is_name(&before.replace('*', "")) || !(behind.is_empty() || is_name(&behind.replace('*', ""))) {
        return None;
    }
    let start = before.strip_suffix(repeated)?;
    let more = if repeated == ':' { format!("{start}-dev:default") } else { format!("{start}-2") };
    let (code, does, name, instead) = if regex.is_match(&more) && behind.is_empty() {
        let is_account = start.starts_with(SERVICE_ACCOUNT.trim_start_matches('^'));
        let code = if is_account && repeated == ':' { OPEN_NAMESPACE } else { SHELL_PATTERN };
        (code, "matches", more, format!("^{before}"))
    } else {
        let end = if regex.is_closed() { "$" } else { "" };
        (SHELL_PATTERN, "does not match", format!("{before}x{behind}"), format!("^{before}.*{behind}{end}"))
    };
    let part = quoted(&format!("{repeated}*"));
    let also = if does == "matches" { "also " } else { "" };
    let what = format!(
        "contains {part}, which means any number of {}, including zero: it {also}{does} {}",
        quoted(&repeated.to_string()),
        quoted(&name)
    );
    Some(warning(code, regex, &what, format!("write `{instead}`")))
}

fn split_anchors(regex: &GoRegex) -> Option<Diagnostic> {
    regex.has_split_anchors().then(|| {
        let inner = regex.as_str().trim_start_matches('^').trim_end_matches('$');
        let what =
            "has `^` only in the first alternative and `$` only in the last, so both match longer names";
        warning(SPLIT_ANCHORS, regex, what, format!("write `^({inner})$`"))
    })
}

fn closed_prefix(regex: &GoRegex) -> Option<Diagnostic> {
    let prefix = regex.as_str().strip_prefix('^')?.strip_suffix('$')?;
    let is_prefix = is_name(prefix) && prefix.ends_with(['-', ':', '/', '_', '@']);
    is_prefix.then(|| {
        let what = format!("matches only the name {}, which looks like a prefix", quoted(prefix));
        warning(
            CLOSED_PREFIX,
            regex,
            &what,
            format!("write `^{prefix}` to match every name with this prefix"),
        )
    })
}

fn open_namespace(regex: &GoRegex) -> Option<Diagnostic> {
    let namespace = regex.as_str().strip_prefix(SERVICE_ACCOUNT)?;
    let is_open = is_name(namespace) && !namespace.contains(':');
    is_open.then(|| {
        let other = format!("{namespace}-2");
        let what = format!(
            "also matches the service accounts of other namespaces with this prefix, such as {}",
            quoted(&other)
        );
        warning(OPEN_NAMESPACE, regex, &what, format!("write `{SERVICE_ACCOUNT}{namespace}:`"))
    })
}

/// Finds names without anchors or with only an end anchor. A name with only `^` is usually an intended
/// prefix.
fn unanchored(regex: &GoRegex) -> Option<Diagnostic> {
    let name = regex.as_str().strip_suffix('$').unwrap_or(regex.as_str());
    if !is_name(name) {
        return None;
    }
    let (what, help) = if regex.is_closed() {
        (
            format!("matches every name that ends like this, such as {}", quoted(&format!("not-{name}"))),
            exactly(name),
        )
    } else if name.ends_with(['-', ':', '/', '@']) {
        (
            format!("matches anywhere in a name, as in {}", quoted(&format!("not-{name}x"))),
            format!("^{}", escaped(name)),
        )
    } else {
        (
            format!("matches anywhere in a name, as in {}", quoted(&format!("not-{name}-either"))),
            exactly(name),
        )
    };
    Some(warning(UNANCHORED, regex, &what, format!("write `{help}`")))
}

fn exactly(name: &str) -> String {
    format!("^{}$", escaped(name))
}

fn escaped(name: &str) -> String {
    name.replace('.', "\\.")
}

/// Returns whether the text could be the name of a user or group and contains no regular expression syntax. A
/// dot can be either.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'@' | b':' | b'.' | b'/')
        })
        && text.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accounts that the expressions in the tests match.
    const OPERATORS: [&str; 6] = [
        "system:serviceaccount:spark-operator:spark-operator",
        "system:serviceaccount:spark:operator",
        "system:serviceaccount:ray:kuberay",
        "system:serviceaccount:kube-flink:operator",
        "system:serviceaccount:flink:flink-controller",
        "system:serviceaccount:sparkling:operator",
    ];

    /// Returns the code of the finding, with or without these accounts as operators.
    fn code(element: &str, with_operators: bool) -> Option<Code> {
        let operators = OPERATORS.map(str::to_owned);
        trusted(element, if with_operators { &operators } else { &[] }).map(|found| found.code)
    }

    #[test]
    fn accounts_outside_kube_system_are_reported_unless_they_are_operators() {
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
    fn message_distinguishes_an_account_from_a_namespace() {
        for (element, accounts) in [
            ("^system:serviceaccount:spark:operator$", "trusts an account outside"),
            ("^system:serviceaccount:default:", "trusts every account of namespace `default` outside"),
            ("^system:serviceaccount:default:.*$", "trusts every account of namespace `default` outside"),
            ("^system:serviceaccount:spark:[a-z0-9-]+$", "trusts every account of namespace `spark` outside"),
            (
                "^system:serviceaccount:spark",
                "trusts every account of namespaces with prefix `spark` outside",
            ),
            ("^system:serviceaccount:air:*", "trusts every account of namespaces with prefix `air` outside"),
            ("^system:serviceaccount:", "trusts every service account outside"),
        ] {
            let found = trusted(element, &[]).unwrap();
            assert!(found.message.contains(accounts), "{element}: {found}");
        }
    }

    #[test]
    fn unauthenticated_user_is_reported() {
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
    fn all_accounts_of_kube_system_are_reported_despite_operators() {
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
    fn other_accounts_are_not_reported() {
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
    fn only_large_groups_are_reported() {
        for (element, who) in [
            ("^system:", Some("`system:authenticated`, which contains everyone")),
            ("authenticated", Some("`system:authenticated`, which contains everyone")),
            (
                "^system:serviceaccounts",
                Some("`system:serviceaccounts`, which contains every service account"),
            ),
            ("^system:serviceaccounts:", Some("of all service accounts in a namespace")),
            ("^system:serviceaccounts:spark$", Some("of all service accounts in a namespace")),
            ("^(devs|system:serviceaccounts:spark)$", Some("of all service accounts in a namespace")),
            (
                "^system:unauthenticated$",
                Some("`system:unauthenticated`, which contains everyone who has not"),
            ),
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
    fn recommended_expression_matches_only_template_controllers() {
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

    #[test]
    fn each_pitfall_has_its_code_and_help() {
        let rows = [
            ("admin", Some((UNANCHORED, "write `^admin$`"))),
            ("alice.smith@example.com", Some((UNANCHORED, r"write `^alice\.smith@example\.com$`"))),
            ("admin$", Some((UNANCHORED, "write `^admin$`"))),
            ("group-", Some((UNANCHORED, "write `^group-`"))),
            ("system:serviceaccount:spark:", Some((UNANCHORED, "write `^system:serviceaccount:spark:`"))),
            ("^group-$", Some((CLOSED_PREFIX, "write `^group-` to match every name with this prefix"))),
            ("^system:serviceaccount:spark", Some((OPEN_NAMESPACE, "write `^system:serviceaccount:spark:`"))),
            ("^alice|bob$", Some((SPLIT_ANCHORS, "write `^(alice|bob)$`"))),
            (".*", Some((MATCHES_ALL, "list the intended names, anchored with `^` and `$`"))),
            (".", Some((MATCHES_ALL, "list the intended names, anchored with `^` and `$`"))),
            ("^", Some((MATCHES_ALL, "list the intended names, anchored with `^` and `$`"))),
            ("a*", Some((MATCHES_ALL, "list the intended names, anchored with `^` and `$`"))),
            ("alice|", Some((MATCHES_ALL, "list the intended names, anchored with `^` and `$`"))),
            ("^.+$", Some((MATCHES_ALL, "list the intended names, anchored with `^` and `$`"))),
            ("^$", None),
            ("^admin$", None),
            ("^group-", None),
            ("^system:serviceaccount:spark:", None),
            ("^system:serviceaccount:spark:driver$", None),
            ("^(alice|bob)$", None),
            ("(^minikube-user$|^kubernetes-admin$)", None),
            ("^team-[a-z]+$", None),
            ("^team-.*$", None),
            ("^[a-z]*$", None),
            (
                "^system:serviceaccount:spark:*",
                Some((OPEN_NAMESPACE, "write `^system:serviceaccount:spark:`")),
            ),
            (
                "system:serviceaccount:spark:*",
                Some((OPEN_NAMESPACE, "write `^system:serviceaccount:spark:`")),
            ),
            ("^team-*", Some((SHELL_PATTERN, "write `^team-`"))),
            ("^team-*$", Some((SHELL_PATTERN, "write `^team-.*$`"))),
            ("^etl-*-prod$", Some((SHELL_PATTERN, "write `^etl-.*-prod$`"))),
            ("admin*", Some((SHELL_PATTERN, "write `^admin`"))),
        ];
        for (pattern, expected) in rows {
            let found = check(&GoRegex::new(pattern).unwrap());
            let found = found.as_ref().map(|finding| (finding.code, finding.help.as_deref().unwrap()));
            assert_eq!(found, expected, "{pattern}");
        }
    }

    #[test]
    fn findings_are_true_and_suggestions_fix_them() {
        for (pattern, unwanted) in [
            ("admin", "not-admin-either"),
            ("admin$", "not-admin"),
            ("group-", "not-group-x"),
            ("^system:serviceaccount:spark", "system:serviceaccount:spark-2:default"),
            ("^alice|bob$", "alice-2"),
            ("^alice|bob$", "not-bob"),
            ("^system:serviceaccount:spark:*", "system:serviceaccount:spark-dev:default"),
            ("^team-*", "team"),
        ] {
            let regex = GoRegex::new(pattern).unwrap();
            assert!(regex.is_match(unwanted), "{pattern}");
            let help = check(&regex).unwrap().help.unwrap();
            let suggested = help.split('`').nth(1).unwrap();
            let better = GoRegex::new(suggested).unwrap();
            assert!(!better.is_match(unwanted), "{suggested}");
            assert_eq!(check(&better), None, "{suggested}");
        }
    }
}
