//! Explains why `YuniKorn` drops a name, and what to write instead.
//!
//! Activation skips a name that does not match its list's expression and only logs this. The cause is nearly
//! always one of a few habits from other systems. Each has a rule here, and the rules are tried in order.

use super::{Acl, GROUP_NAME, Names, USER_NAME, codes, group_name_ok, user_name_ok};
use go_compat::diag::{Code, Diagnostic, Span, quoted};

/// The two lists of an ACL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// The names of users.
    Users,
    /// The names of groups.
    Groups,
}

impl List {
    /// Returns whether `YuniKorn` keeps a name in this list.
    pub fn accepts(self, name: &str) -> bool {
        match self {
            Self::Users => user_name_ok(name),
            Self::Groups => group_name_ok(name),
        }
    }

    fn expression(self) -> &'static str {
        match self {
            Self::Users => USER_NAME,
            Self::Groups => GROUP_NAME,
        }
    }

    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Users => "user",
            Self::Groups => "group",
        }
    }
}

/// The form of the names, which affects the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One text: users, a space, groups.
    Text,
    /// Entries of `users` or `groups` in a queuewarden object, without commas and spaces.
    Entries,
}

impl Form {
    fn choose(self, text: &'static str, entries: &'static str) -> &'static str {
        match self {
            Self::Text => text,
            Self::Entries => entries,
        }
    }

    /// Returns how to grant access to everyone.
    fn everyone(self) -> &'static str {
        self.choose("`*`", "`everyone: true`")
    }

    /// Returns how to separate names.
    fn separate(self, text: &'static str) -> &'static str {
        self.choose(text, "write each name as a separate entry")
    }
}

impl Acl {
    /// Returns the ACL of these users and groups, or the errors about each name that `YuniKorn` would drop.
    /// The errors have no spans, because the names are not in one text, and their help is for entries of an
    /// object. Duplicates are merged; without any names the ACL is nobody.
    ///
    /// # Errors
    /// One diagnostic for each such name, of [`codes::DROPS`] or [`codes::EMPTY_ELEMENT`].
    pub fn named<U: AsRef<str>, G: AsRef<str>>(users: &[U], groups: &[G]) -> Result<Self, Vec<Diagnostic>> {
        let (users, groups) = (users.iter().map(AsRef::as_ref), groups.iter().map(AsRef::as_ref));
        let refused = |(list, name): (List, &str)| {
            let why = why_dropped(list, Form::Entries, name);
            Diagnostic::error(why.code, why.message).help(why.help.unwrap_or_default())
        };
        let all = users.clone().map(|name| (List::Users, name));
        let all = all.chain(groups.clone().map(|name| (List::Groups, name)));
        let wrong: Vec<_> = all.filter(|(list, name)| !list.accepts(name)).map(refused).collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(Self { everyone: false, users: Names::new(users), groups: Names::new(groups) })
    }
}

/// Returns the diagnostic for a name that `list` does not accept. The span is relative to the name.
pub(crate) fn why_dropped(list: List, form: Form, name: &str) -> Diagnostic {
    let reason = RULES.iter().find_map(|rule| rule(list, form, name));
    let reason = reason.unwrap_or_else(|| invalid(list, form, name));
    let message = format!(
        "the {} {} is dropped, because it does not match `{}`: {}",
        list.noun(),
        quoted(name),
        list.expression(),
        reason.message
    );
    Diagnostic { message, ..reason }
}

/// Returns the diagnostic of a rule. The message is only the reason, and the span is within the name.
fn reason(code: Code, at: Span, why: impl Into<String>, help: impl Into<String>) -> Diagnostic {
    Diagnostic::warning(code, why).at(at).help(help)
}

type Rule = fn(List, Form, &str) -> Option<Diagnostic>;

/// The rules, from the most specific to the least.
const RULES: &[Rule] = &[
    empty,
    odd_space,
    quotes,
    wildcard,
    pattern,
    ldap_dn,
    service_account,
    system_name,
    prefix,
    deny,
    non_ascii,
    user_as_group,
    submit_only,
    first_character,
];

fn whole(name: &str) -> Span {
    Span::new(0, name.len())
}

/// Returns the first character that `wrong` matches, with its span.
fn find(name: &str, wrong: impl Fn(char) -> bool) -> Option<(Span, char)> {
    name.char_indices().find(|(_, c)| wrong(*c)).map(|(at, c)| (Span::new(at, at + c.len_utf8()), c))
}

fn empty(_: List, _: Form, name: &str) -> Option<Diagnostic> {
    name.is_empty()
        .then(|| reason(codes::EMPTY_ELEMENT, whole(name), "it is empty", "write a name or remove the entry"))
}

fn odd_space(_: List, form: Form, name: &str) -> Option<Diagnostic> {
    let (span, space) = find(name, char::is_whitespace)?;
    let why = format!("{} is part of the name and separates nothing", space_name(space));
    let help = form.choose(
        "write the ACL on one line: commas between names, one space (U+0020) between users and groups",
        "write each name as a separate entry, without spaces",
    );
    Some(reason(codes::ODD_SPACE, span, why, help))
}

/// Returns a readable name of an invisible white-space character.
pub(super) fn space_name(space: char) -> String {
    match space {
        ' ' => "a space".to_owned(),
        '\t' => "a tab".to_owned(),
        '\n' => "a line end".to_owned(),
        '\r' => "a carriage return".to_owned(),
        '\u{a0}' => "a no-break space (U+00A0)".to_owned(),
        other => format!("the space U+{:04X}", u32::from(other)),
    }
}

/// Returns whether the character is a quote in shells, YAML, word processors or documentation pages.
pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '\u{2018}'..='\u{201f}' | '\u{ab}' | '\u{bb}')
}

fn quotes(list: List, form: Form, name: &str) -> Option<Diagnostic> {
    // Typographic quotes in a wrong encoding can be any characters outside ASCII.
    let foreign = |c: char| !c.is_ascii();
    let garbled = name.starts_with(foreign) && name.ends_with(foreign) && name.trim_matches(foreign) == "*";
    let (span, _) = find(name, |c| is_quote(c) || (garbled && foreign(c)))?;
    let bare = if garbled { "*" } else { name.trim_matches(is_quote) };
    let help = match form {
        _ if bare.contains(is_quote) => {
            "names cannot contain quotes; write the plain name, or use a group with a plain name".to_owned()
        }
        Form::Text => format!("quote the whole ACL once in YAML: {} without inner quotes", quoted(bare)),
        Form::Entries if bare == "*" => format!("to grant access to everyone, write {}", form.everyone()),
        Form::Entries if list.accepts(bare) => format!("write {} without inner quotes", quoted(bare)),
        Form::Entries => "write each name as a separate entry, without inner quotes".to_owned(),
    };
    Some(reason(codes::QUOTES, span, "quotes inside the text are part of the name", help))
}

fn wildcard(_: List, form: Form, name: &str) -> Option<Diagnostic> {
    (name == "*").then(|| {
        let why =
            form.choose("`*` is a wildcard only on its own", "`*` is not a wildcard in a list of names");
        let help = form.choose(
            "to grant access to everyone, write only `*`; otherwise remove it",
            "to grant access to everyone, write `everyone: true` instead of the lists; otherwise remove it",
        );
        reason(codes::WILDCARD_IN_LIST, whole(name), why, help)
    })
}

fn pattern(_: List, _: Form, name: &str) -> Option<Diagnostic> {
    let anchored = name.starts_with('^') && name.ends_with('$');
    (anchored || name.contains(['*', '?'])).then(|| {
        let help = "write each name, or grant access to a group";
        reason(codes::PATTERN, whole(name), "ACLs compare exact names and do not support patterns", help)
    })
}

fn ldap_dn(list: List, form: Form, name: &str) -> Option<Diagnostic> {
    name.contains('=').then(|| {
        let plain = name.rsplit('=').next().unwrap_or_default();
        let help = if list.accepts(plain) {
            format!("write the plain name, such as {}", quoted(plain))
        } else {
            "write the plain name".to_owned()
        };
        let why = form.choose(
            "distinguished names are not supported and are split at their commas",
            "distinguished names are not supported",
        );
        reason(codes::LDAP_DN, whole(name), why, help)
    })
}

fn service_account(_: List, form: Form, name: &str) -> Option<Diagnostic> {
    name.starts_with("system:serviceaccount:").then(|| {
        let help = format!(
            "use `serviceAccounts:` of a QueueAcl with the user-info webhook, or set a plain user or group in the pods' \
             `yunikorn.apache.org/user.info` and grant access to that (externalUsers of an AdmissionPolicy lists who \
             may set it), or grant {} on a separate queue",
            form.everyone()
        );
        reason(codes::SERVICE_ACCOUNT, whole(name), "an ACL cannot contain the name of a service account", help)
    })
}

fn system_name(_: List, form: Form, name: &str) -> Option<Diagnostic> {
    name.starts_with("system:").then(|| {
        let help = if name == "system:authenticated" || name == "system:serviceaccounts" {
            format!(
                "to grant access to everyone, write {}; otherwise use a group of the identity provider",
                form.everyone()
            )
        } else {
            "grant access to a plain user or a group of the identity provider".to_owned()
        };
        reason(codes::SYSTEM_NAME, whole(name), "an ACL cannot contain names reserved by Kubernetes", help)
    })
}

fn prefix(_: List, form: Form, name: &str) -> Option<Diagnostic> {
    const WORDS: [&str; 6] = ["user", "users", "u", "group", "groups", "g"];
    let (kind, bare) = match name.split_once(':') {
        Some((word, bare)) if WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)) => (word, bare),
        Some(_) => return None,
        None => name.strip_prefix(['@', '%']).map(|bare| ("g", bare))?,
    };
    user_name_ok(bare).then(|| {
        let span = Span::new(0, name.len() - bare.len());
        let to_groups = form.choose("after the space", "under `groups`");
        let help = if kind.starts_with(['u', 'U']) {
            format!("write {} {}", quoted(bare), form.choose("before the space", "under `users`"))
        } else if !group_name_ok(bare) {
            format!("write groups {to_groups}; their names must match {GROUP_NAME}")
        } else if form == Form::Text {
            format!("write {} {to_groups}: \" {bare}\"", quoted(bare))
        } else {
            format!("write {} {to_groups}", quoted(bare))
        };
        reason(codes::PREFIX, span, "users and groups are distinguished by position, not by a prefix", help)
    })
}

fn deny(_: List, _: Form, name: &str) -> Option<Diagnostic> {
    let denied = name
        .strip_prefix(['!', '-', '^', '~'])
        .or_else(|| name.strip_prefix("deny:"))
        .or_else(|| name.strip_prefix("not:"))
        .filter(|denied| user_name_ok(denied))?;
    let help = format!(
        "list only names that need access; if a queue above grants access to {}, remove it there",
        quoted(denied)
    );
    let span = Span::new(0, name.len() - denied.len());
    Some(reason(codes::DENY, span, "an ACL can only grant access, not deny it", help))
}

fn non_ascii(_: List, form: Form, name: &str) -> Option<Diagnostic> {
    let (span, c) = find(name, |c| !c.is_ascii())?;
    let why = format!("{} (U+{:04X}) is not ASCII", quoted(&c.to_string()), u32::from(c));
    let help = match c {
        '\u{ff0c}' | '\u{3001}' | '\u{60c}' | '\u{ff1b}' => {
            form.separate("separate names with the comma `,` (U+002C)")
        }
        '\u{ff0a}' | '\u{2217}' | '\u{fe61}' => {
            form.choose("the wildcard is `*` (U+002A)", "to grant access to everyone, write `everyone: true`")
        }
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "write a hyphen as `-` (U+002D)",
        _ if is_invisible(c) => "remove this invisible character",
        _ => "grant access to a group with a plain name",
    };
    Some(reason(codes::NON_ASCII, span, why, help))
}

/// Returns whether the character is invisible, such as those left over from copying web pages.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn user_as_group(list: List, form: Form, name: &str) -> Option<Diagnostic> {
    (list == List::Groups && user_name_ok(name)).then(|| {
        let (span, c) = find(name, |c| matches!(c, '.' | '@' | '$')).unwrap_or((whole(name), ' '));
        let why = format!("{} is allowed in the name of a user but not of a group", quoted(&c.to_string()));
        let to_users = form.choose("before the space", "under `users`");
        let help = format!("if {} is a user, write it {to_users}; a group needs a plain name", quoted(name));
        reason(codes::USER_AS_GROUP, span, why, help)
    })
}

/// Finds names that yunikorn-core accepts as a submitting user (`configvalidator.go:87`) or in limits
/// (`:90`), but not in ACLs.
fn submit_only(list: List, _: Form, name: &str) -> Option<Diagnostic> {
    let wider = |c: char| matches!(c, ':' | '/' | '#');
    let plain: String = name.chars().map(|c| if wider(c) { '_' } else { c }).collect();
    let (span, c) = find(name, wider)?;
    (!name.starts_with(wider) && user_name_ok(&plain)).then(|| {
        let why =
            format!("a {} with {} in its name can submit but cannot be in an ACL", list.noun(), quoted(&c.to_string()));
        let help = "configure plain names in the API server (OIDC claim prefixes), or grant access to a group \
            with a plain name";
        reason(codes::SUBMIT_ONLY, span, why, help)
    })
}

fn first_character(list: List, form: Form, name: &str) -> Option<Diagnostic> {
    let first = name.chars().next()?;
    let rest_ok = list.accepts(&format!("_{name}"));
    rest_ok.then(|| {
        let help = if name == "-" {
            form.separate("an ACL is a string, not a YAML list: `sue,bob dev`")
        } else {
            "grant access to a group with a plain name"
        };
        let why = format!("names must begin with a letter or `_`, not with {}", quoted(&first.to_string()));
        reason(codes::FIRST_CHARACTER, Span::new(0, first.len_utf8()), why, help)
    })
}

/// Returns the reason for a name that no other rule matches: its first invalid character.
fn invalid(list: List, form: Form, name: &str) -> Diagnostic {
    let valid = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '-') || (list == List::Users && matches!(c, '.' | '@'))
    };
    let (span, c) = find(name, |c| !valid(c)).unwrap_or((whole(name), ' '));
    let help = match c {
        ',' | ';' | '|' | '&' | '+' => form.separate("separate names with commas"),
        '[' | ']' | '{' | '}' | '(' | ')' | '<' | '>' => {
            form.choose("write names without brackets: `sue,bob dev`", "write names without brackets")
        }
        '\\' => "write the name as the API server knows it, without a domain",
        c if is_invisible(c) => "remove this invisible character",
        '$' => "`$` is allowed only at the end of a user's name",
        _ => {
            "write the name as the API server knows it; if it contains this character, grant access to a group \
             with a plain name"
        }
    };
    reason(codes::INVALID_NAME, span, format!("{} is not allowed here", quoted(&c.to_string())), help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_habit_has_its_own_help() {
        use List::{Groups, Users};
        let cases = [
            (Users, "", codes::EMPTY_ELEMENT, "", "remove"),
            (Users, "alice\tdev", codes::ODD_SPACE, "\t", "U+0020"),
            (Groups, "dev\n", codes::ODD_SPACE, "\n", "one line"),
            (Users, "\"*\"", codes::QUOTES, "\"", "`*`"),
            (Users, "'alice'", codes::QUOTES, "'", "`alice`"),
            (Users, "\u{201c}*\u{201d}", codes::QUOTES, "\u{201c}", "`*`"),
            (Users, "*", codes::WILDCARD_IN_LIST, "*", "write only `*`"),
            (Users, "**", codes::PATTERN, "**", "each name"),
            (Groups, "team-*", codes::PATTERN, "team-*", "each name"),
            (Groups, "^dev$", codes::PATTERN, "^dev$", "each name"),
            (Users, "CN=bob", codes::LDAP_DN, "CN=bob", "`bob`"),
            (
                Users,
                "system:serviceaccount:ns:sa",
                codes::SERVICE_ACCOUNT,
                "system:serviceaccount:ns:sa",
                "user.info",
            ),
            (
                Groups,
                "system:serviceaccounts:ns",
                codes::SYSTEM_NAME,
                "system:serviceaccounts:ns",
                "identity provider",
            ),
            (Groups, "system:authenticated", codes::SYSTEM_NAME, "system:authenticated", "`*`"),
            (
                Groups,
                "system:serviceaccounts",
                codes::SYSTEM_NAME,
                "system:serviceaccounts",
                "to grant access to everyone, write `*`",
            ),
            (Groups, "system:masters", codes::SYSTEM_NAME, "system:masters", "grant access to a plain user"),
            (Users, "group:dev", codes::PREFIX, "group:", "\" dev\""),
            (Users, "@dev", codes::PREFIX, "@", "\" dev\""),
            (Users, "group:g.h", codes::PREFIX, "group:", "their names must match"),
            (Groups, "%svc$", codes::PREFIX, "%", "their names must match"),
            (Groups, "User:sue", codes::PREFIX, "User:", "before the space"),
            (Users, "!bob", codes::DENY, "!", "`bob`"),
            (Users, "-bob", codes::DENY, "-", "`bob`"),
            (Groups, "^dev", codes::DENY, "^", "`dev`"),
            (Users, "deny:bob", codes::DENY, "deny:", "`bob`"),
            (Users, "été", codes::NON_ASCII, "é", "group"),
            (Users, "bob\u{200b}", codes::NON_ASCII, "\u{200b}", "remove"),
            (Users, "alice\u{ff0c}bob", codes::NON_ASCII, "\u{ff0c}", "comma"),
            (Users, "\u{ff0a}", codes::NON_ASCII, "\u{ff0a}", "wildcard"),
            (Users, "a\u{2013}b", codes::NON_ASCII, "\u{2013}", "hyphen"),
            (Users, "bob\u{1b}", codes::INVALID_NAME, "\u{1b}", "remove"),
            (Users, "o'brien", codes::QUOTES, "'", "plain name"),
            (Users, "\u{e42}\u{20ac}\u{153}*\u{e42}\u{20ac}", codes::QUOTES, "\u{e42}", "`*`"),
            (Users, "\u{e9}*", codes::PATTERN, "\u{e9}*", "each name"),
            (Users, "*\u{e9}", codes::PATTERN, "*\u{e9}", "each name"),
            (Groups, "g.h", codes::USER_AS_GROUP, ".", "before the space"),
            (Groups, "g@h", codes::USER_AS_GROUP, "@", "before the space"),
            (Groups, "g$", codes::USER_AS_GROUP, "$", "before the space"),
            (Users, "oidc:alice", codes::SUBMIT_ONLY, ":", "OIDC"),
            (Users, "https://issuer#sub", codes::SUBMIT_ONLY, ":", "OIDC"),
            (Groups, "/devs", codes::INVALID_NAME, "/", "API server"),
            (Users, "al/ice", codes::SUBMIT_ONLY, "/", "OIDC"),
            (Users, "1alice", codes::FIRST_CHARACTER, "1", "group"),
            (Users, "-", codes::FIRST_CHARACTER, "-", "YAML list"),
            (Groups, "3-d", codes::FIRST_CHARACTER, "3", "group"),
            (Users, "alice;bob", codes::INVALID_NAME, ";", "commas"),
            (Users, "a.b@c;d", codes::INVALID_NAME, ";", "commas"),
            (Groups, "a.b;c", codes::INVALID_NAME, ".", "plain name"),
            (Users, "svc$x", codes::INVALID_NAME, "$", "end of a user's name"),
            (Users, "[alice", codes::INVALID_NAME, "[", "brackets"),
            (Users, "CORP\\bob", codes::INVALID_NAME, "\\", "domain"),
        ];
        for (list, name, code, fragment, help) in cases {
            assert!(!list.accepts(name), "{name:?}");
            let diagnostic = why_dropped(list, Form::Text, name);
            assert_eq!(diagnostic.code, code, "{name:?}: {diagnostic}");
            let span = diagnostic.span.expect("a span");
            assert_eq!(name.get(span.start..span.end), Some(fragment), "{name:?}");
            assert!(
                diagnostic.help.as_deref().is_some_and(|text| text.contains(help)),
                "{name:?}: {diagnostic}"
            );
            let (noun, expression) = if list == Users { ("user", USER_NAME) } else { ("group", GROUP_NAME) };
            let opening =
                format!("the {noun} {} is dropped, because it does not match `{expression}`: ", quoted(name));
            assert!(diagnostic.message.starts_with(&opening), "{name:?}: {diagnostic}");
            assert!(!diagnostic.message.contains(char::is_control), "{name:?}: {diagnostic}");
        }
    }

    #[test]
    fn help_for_entries_mentions_no_commas_and_spaces() {
        use List::{Groups, Users};
        let apart = "write each name as a separate entry";
        let cases = [
            (
                Users,
                "*",
                "to grant access to everyone, write `everyone: true` instead of the lists; otherwise remove it",
            ),
            (Users, "a b", "write each name as a separate entry, without spaces"),
            (Users, "\"*\"", "to grant access to everyone, write `everyone: true`"),
            (Users, "'alice'", "write `alice` without inner quotes"),
            (Users, "'alice,bob'", "write each name as a separate entry, without inner quotes"),
            (
                Groups,
                "system:authenticated",
                "to grant access to everyone, write `everyone: true`; otherwise use a group of the identity provider",
            ),
            (Users, "group:dev", "write `dev` under `groups`"),
            (
                Users,
                "group:g.h",
                "write groups under `groups`; their names must match ^[_a-zA-Z][a-zA-Z0-9_-]*$",
            ),
            (Groups, "User:sue", "write `sue` under `users`"),
            (Groups, "g.h", "if `g.h` is a user, write it under `users`; a group needs a plain name"),
            (Users, "alice\u{ff0c}bob", apart),
            (Users, "\u{ff0a}", "to grant access to everyone, write `everyone: true`"),
            (Users, "-", apart),
            (Users, "alice,bob", apart),
            (Groups, "dev;ops", apart),
            (Users, "[alice", "write names without brackets"),
        ];
        for (list, name, help) in cases {
            let diagnostic = why_dropped(list, Form::Entries, name);
            assert_eq!(diagnostic.help.as_deref(), Some(help), "{name:?}");
        }
        let account = why_dropped(Users, Form::Entries, "system:serviceaccount:ns:sa").help.expect("a help");
        assert!(account.ends_with("or grant `everyone: true` on a separate queue"), "{account}");
        let alone = why_dropped(Users, Form::Entries, "*").message;
        assert!(alone.ends_with(": `*` is not a wildcard in a list of names"), "{alone}");
        let reported = Acl::named(&["*"], &["g.h"]).expect_err("invalid names");
        let helps: Vec<&str> = reported.iter().filter_map(|diagnostic| diagnostic.help.as_deref()).collect();
        assert!(helps.len() == 2 && helps.iter().all(|help| !help.contains("space")), "{helps:?}");
    }

    #[test]
    fn space_in_a_name_is_described() {
        let cases = [
            ("alice bob", "a space"),
            ("alice\tbob", "a tab"),
            ("alice\n", "a line end"),
            ("alice\r\n", "a carriage return"),
            ("\u{a0}alice", "a no-break space (U+00A0)"),
            ("alice\u{3000}", "the space U+3000"),
            ("alice\u{85}", "the space U+0085"),
        ];
        for (name, space) in cases {
            let message = why_dropped(List::Users, Form::Text, name).message;
            let reason = format!(": {space} is part of the name and separates nothing");
            assert!(message.ends_with(&reason), "{name:?}: {message}");
        }
    }

    #[test]
    fn lists_of_names_give_an_acl_or_an_error_per_name() {
        let acl = Acl::named(&["sue", "bob", "sue"], &["dev"]).expect("valid names");
        assert_eq!(acl.canonical(), "bob,sue dev");
        assert_eq!(Acl::named::<&str, &str>(&[], &[]), Ok(Acl::nobody()));
        let wrong =
            Acl::named(&["sue", "*", "system:serviceaccount:a:b"], &["g.h", ""]).expect_err("invalid names");
        let found: Vec<Code> = wrong.iter().map(|diagnostic| diagnostic.code).collect();
        let expected =
            [codes::WILDCARD_IN_LIST, codes::SERVICE_ACCOUNT, codes::USER_AS_GROUP, codes::EMPTY_ELEMENT];
        assert_eq!(found, expected);
        assert!(wrong.iter().all(|diagnostic| diagnostic.is_error() && diagnostic.span.is_none()));
    }

    proptest! {
        #[test]
        fn every_dropped_name_has_a_reason_within_it(
            name in any::<String>(), users in any::<bool>(), text in any::<bool>(),
        ) {
            let list = if users { List::Users } else { List::Groups };
            let form = if text { Form::Text } else { Form::Entries };
            let diagnostic = why_dropped(list, form, &name);
            let span = diagnostic.span.expect("a span");
            prop_assert!(name.get(span.start..span.end).is_some());
            prop_assert!(diagnostic.help.is_some_and(|help| !help.is_empty()));
            if !name.is_empty() {
                prop_assert!(codes::DROPS.contains(&diagnostic.code));
            }
        }
    }
}
