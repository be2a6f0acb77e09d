//! Expressions that match more, or less, than they seem to.

use super::codes::{CLOSED_PREFIX, MATCHES_ALL, OPEN_NAMESPACE, SHELL_PATTERN, SPLIT_ANCHORS, UNANCHORED};
use go_compat::diag::{Code, Diagnostic, Span, quoted};
use go_compat::go_regex::GoRegex;

/// Names that have nothing in common; an expression that matches all of them is taken to match every name.
const UNRELATED_NAMES: [&str; 8] =
    ["a", "Z", "7", "é", "system:anonymous", "x@y.z", "-_-", "https://idp#zoë|1"];

const SERVICE_ACCOUNT: &str = "^system:serviceaccount:";

/// Returns the finding about an expression, if there is one; its span is the whole expression.
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

pub(super) fn matches_all(regex: &GoRegex) -> Option<Diagnostic> {
    let all = UNRELATED_NAMES.iter().all(|name| regex.is_match(name));
    all.then(|| {
        warning(MATCHES_ALL, regex, "matches every name", "name those that are meant, from `^` to `$`")
    })
}

/// Finds a `*` written as in a shell: after a character of a name, which it repeats.
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
        "has {part}, which is any number of {}, or none: it {also}{does} {}",
        quoted(&repeated.to_string()),
        quoted(&name)
    );
    Some(warning(code, regex, &what, format!("write `{instead}`")))
}

fn split_anchors(regex: &GoRegex) -> Option<Diagnostic> {
    regex.has_split_anchors().then(|| {
        let inner = regex.as_str().trim_start_matches('^').trim_end_matches('$');
        let what =
            "has its `^` in the first alternative and its `$` in the last alone, so both match longer names";
        warning(SPLIT_ANCHORS, regex, what, format!("write `^({inner})$`"))
    })
}

fn closed_prefix(regex: &GoRegex) -> Option<Diagnostic> {
    let prefix = regex.as_str().strip_prefix('^')?.strip_suffix('$')?;
    let is_prefix = is_name(prefix) && prefix.ends_with(['-', ':', '/', '_', '@']);
    is_prefix.then(|| {
        let what = format!("matches only the name {}, which looks like a prefix", quoted(prefix));
        warning(CLOSED_PREFIX, regex, &what, format!("write `^{prefix}` for every name that begins so"))
    })
}

fn open_namespace(regex: &GoRegex) -> Option<Diagnostic> {
    let namespace = regex.as_str().strip_prefix(SERVICE_ACCOUNT)?;
    let is_open = is_name(namespace) && !namespace.contains(':');
    is_open.then(|| {
        let other = format!("{namespace}-2");
        let what =
            format!("matches the service accounts of every namespace that begins so, as {}", quoted(&other));
        warning(OPEN_NAMESPACE, regex, &what, format!("write `{SERVICE_ACCOUNT}{namespace}:`"))
    })
}

/// Finds names without anchors, or with only the last one. A `^` alone is a prefix, which is mostly meant.
fn unanchored(regex: &GoRegex) -> Option<Diagnostic> {
    let name = regex.as_str().strip_suffix('$').unwrap_or(regex.as_str());
    if !is_name(name) {
        return None;
    }
    let (what, help) = if regex.is_closed() {
        (format!("matches every name that ends so, as {}", quoted(&format!("not-{name}"))), exactly(name))
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

/// Returns whether the text could be a user's or group's name, without anything that only an expression has;
/// a dot may be either.
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

    #[test]
    fn each_pitfall_has_its_code_and_what_to_write_instead() {
        let rows = [
            ("admin", Some((UNANCHORED, "write `^admin$`"))),
            ("alice.smith@example.com", Some((UNANCHORED, r"write `^alice\.smith@example\.com$`"))),
            ("admin$", Some((UNANCHORED, "write `^admin$`"))),
            ("group-", Some((UNANCHORED, "write `^group-`"))),
            ("system:serviceaccount:spark:", Some((UNANCHORED, "write `^system:serviceaccount:spark:`"))),
            ("^group-$", Some((CLOSED_PREFIX, "write `^group-` for every name that begins so"))),
            ("^system:serviceaccount:spark", Some((OPEN_NAMESPACE, "write `^system:serviceaccount:spark:`"))),
            ("^alice|bob$", Some((SPLIT_ANCHORS, "write `^(alice|bob)$`"))),
            (".*", Some((MATCHES_ALL, "name those that are meant, from `^` to `$`"))),
            (".", Some((MATCHES_ALL, "name those that are meant, from `^` to `$`"))),
            ("^", Some((MATCHES_ALL, "name those that are meant, from `^` to `$`"))),
            ("a*", Some((MATCHES_ALL, "name those that are meant, from `^` to `$`"))),
            ("alice|", Some((MATCHES_ALL, "name those that are meant, from `^` to `$`"))),
            ("^.+$", Some((MATCHES_ALL, "name those that are meant, from `^` to `$`"))),
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
    fn what_is_reported_is_so_and_what_is_suggested_ends_it() {
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
