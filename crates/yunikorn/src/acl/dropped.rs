//! Explains why `YuniKorn` drops a name, and what to write instead.
//!
//! Activation skips a name that does not match its list's expression, and only writes a line to the log. The
//! reason is nearly always one of a few habits of other systems; each has its own rule here, and the rules
//! are tried in order.

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

/// The form in which names are written. A help text depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// In one text: users, a space, groups.
    Text,
    /// Each in an entry of `users` or `groups` in one of our objects, which has no commas and no space.
    Entries,
}

impl Form {
    fn choose(self, text: &'static str, entries: &'static str) -> &'static str {
        match self {
            Self::Text => text,
            Self::Entries => entries,
        }
    }

    /// The way to grant everyone.
    fn everyone(self) -> &'static str {
        self.choose("`*`", "`everyone: true`")
    }

    /// The advice for separating names from each other.
    fn separate(self, text: &'static str) -> &'static str {
        self.choose(text, "put each name in an entry of its own")
    }
}

impl Acl {
    /// The ACL of these users and groups, or the reasons for each name that `YuniKorn` would drop. These are
    /// errors without spans, because the names are not in one text; their help texts are for entries of an
    /// object. Duplicates count once; no names at all is nobody.
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

/// Returns the diagnostic for `name`, which `list` does not accept. The span is relative to the name.
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

/// A rule's diagnostic: its message is the reason alone, its span is within the name.
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

/// The span of the first character that `wrong` matches, and the character.
fn find(name: &str, wrong: impl Fn(char) -> bool) -> Option<(Span, char)> {
    name.char_indices().find(|(_, c)| wrong(*c)).map(|(at, c)| (Span::new(at, at + c.len_utf8()), c))
}

fn empty(_: List, _: Form, name: &str) -> Option<Diagnostic> {
    name.is_empty().then(|| {
        reason(codes::EMPTY_ELEMENT, whole(name), "it is empty", "write a name, or remove the entry")
    })
}

fn odd_space(_: List, form: Form, name: &str) -> Option<Diagnostic> {
    let (span, space) = find(name, char::is_whitespace)?;
    let why = format!("{} is part of the name and separates nothing", space_name(space));
    let help = form.choose(
        "write the ACL on one line: commas between names, one space (U+0020) between users and groups",
        "put each name in an entry of its own, without spaces",
    );
    Some(reason(codes::ODD_SPACE, span, why, help))
}

/// A readable name for a white-space character that cannot be seen.
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

/// Returns whether the character is a quote of shells, YAML, word processors or documentation pages.
pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '\u{2018}'..='\u{201f}' | '\u{ab}' | '\u{bb}')
}

fn quotes(list: List, form: Form, name: &str) -> Option<Diagnostic> {
    // Quotes of a word processor whose bytes were read in a wrong encoding are any characters but ASCII's.
    let foreign = |c: char| !c.is_ascii();
    let garbled = name.starts_with(foreign) && name.ends_with(foreign) && name.trim_matches(foreign) == "*";
    let (span, _) = find(name, |c| is_quote(c) || (garbled && foreign(c)))?;
    let bare = if garbled { "*" } else { name.trim_matches(is_quote) };
    let help = match form {
        _ if bare.contains(is_quote) => {
            "no name can have a quote: write the plain name, or grant a group with one".to_owned()
        }
        Form::Text => format!("quote the whole ACL once, in YAML: {} without quotes inside", quoted(bare)),
        Form::Entries if bare == "*" => format!("for everyone write {}", form.everyone()),
        Form::Entries if list.accepts(bare) => format!("write {} without quotes inside", quoted(bare)),
        Form::Entries => "put each name in an entry of its own, without quotes inside".to_owned(),
    };
    Some(reason(codes::QUOTES, span, "quotes inside the text are part of the name", help))
}

fn wildcard(_: List, form: Form, name: &str) -> Option<Diagnostic> {
    (name == "*").then(|| {
        let why = form
            .choose("`*` is the wildcard only when it stands alone", "in a list of names `*` is no wildcard");
        let help = form.choose(
            "for everyone write `*` and nothing else; else leave it out",
            "for everyone write `everyone: true` instead of the lists; else leave it out",
        );
        reason(codes::WILDCARD_IN_LIST, whole(name), why, help)
    })
}

fn pattern(_: List, _: Form, name: &str) -> Option<Diagnostic> {
    let anchored = name.starts_with('^') && name.ends_with('$');
    (anchored || name.contains(['*', '?'])).then(|| {
        let help = "write each name, or grant a group";
        reason(codes::PATTERN, whole(name), "ACLs compare names and know no patterns", help)
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
            "distinguished names are cut at their commas and not understood",
            "distinguished names are not understood",
        );
        reason(codes::LDAP_DN, whole(name), why, help)
    })
}

fn service_account(_: List, form: Form, name: &str) -> Option<Diagnostic> {
    name.starts_with("system:serviceaccount:").then(|| {
        let help = format!(
            "grant it by a QueueAcl with `serviceAccounts:` and the user-info webhook, or else let the pods carry a \
             plain user or group in `yunikorn.apache.org/user.info` (an AdmissionPolicy's externalUsers decide who \
             may set it) and grant that, or grant {} on a queue of its own",
            form.everyone()
        );
        reason(codes::SERVICE_ACCOUNT, whole(name), "an ACL cannot hold the name of a service account", help)
    })
}

fn system_name(_: List, form: Form, name: &str) -> Option<Diagnostic> {
    name.starts_with("system:").then(|| {
        let help = if name == "system:authenticated" || name == "system:serviceaccounts" {
            format!("for everyone write {}; else grant a group of the identity provider", form.everyone())
        } else {
            "grant a plain user, or a group of the identity provider".to_owned()
        };
        reason(codes::SYSTEM_NAME, whole(name), "Kubernetes' own names cannot be granted", help)
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
        let to_groups = form.choose("behind the space", "under `groups`");
        let help = if kind.starts_with(['u', 'U']) {
            format!("write {} {}", quoted(bare), form.choose("before the space", "under `users`"))
        } else if !group_name_ok(bare) {
            format!("groups stand {to_groups}, and need names of the form {GROUP_NAME}")
        } else if form == Form::Text {
            format!("write {} {to_groups}: \" {bare}\"", quoted(bare))
        } else {
            format!("write {} {to_groups}", quoted(bare))
        };
        reason(codes::PREFIX, span, "the place tells users from groups, not a prefix", help)
    })
}

fn deny(_: List, _: Form, name: &str) -> Option<Diagnostic> {
    let denied = name
        .strip_prefix(['!', '-', '^', '~'])
        .or_else(|| name.strip_prefix("deny:"))
        .or_else(|| name.strip_prefix("not:"))
        .filter(|denied| user_name_ok(denied))?;
    let help = format!(
        "grant only who should have access; if {} is granted by a queue above, take it away there",
        quoted(denied)
    );
    let span = Span::new(0, name.len() - denied.len());
    Some(reason(codes::DENY, span, "there is no deny, an ACL only grants", help))
}

fn non_ascii(_: List, form: Form, name: &str) -> Option<Diagnostic> {
    let (span, c) = find(name, |c| !c.is_ascii())?;
    let why = format!("{} (U+{:04X}) is not ASCII", quoted(&c.to_string()), u32::from(c));
    let help = match c {
        '\u{ff0c}' | '\u{3001}' | '\u{60c}' | '\u{ff1b}' => {
            form.separate("separate names with the comma `,` (U+002C)")
        }
        '\u{ff0a}' | '\u{2217}' | '\u{fe61}' => {
            form.choose("the wildcard is `*` (U+002A)", "for everyone write `everyone: true`")
        }
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "if a hyphen is meant, write `-` (U+002D)",
        _ if is_invisible(c) => "remove this character, which cannot be seen",
        _ => "grant a group with a plain name",
    };
    Some(reason(codes::NON_ASCII, span, why, help))
}

/// Returns whether the character has no shape of its own, such as those left by copying from web pages.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn user_as_group(list: List, form: Form, name: &str) -> Option<Diagnostic> {
    (list == List::Groups && user_name_ok(name)).then(|| {
        let (span, c) = find(name, |c| matches!(c, '.' | '@' | '$')).unwrap_or((whole(name), ' '));
        let why = format!("a user may have {} in its name, a group may not", quoted(&c.to_string()));
        let to_users = form.choose("before the space", "under `users`");
        let help = format!("if {} is a user, write it {to_users}; a group needs a plain name", quoted(name));
        reason(codes::USER_AS_GROUP, span, why, help)
    })
}

/// Matches names that yunikorn-core accepts for a submitting user (`configvalidator.go:87`) or in limits
/// (`:90`), but not in ACLs.
fn submit_only(list: List, _: Form, name: &str) -> Option<Diagnostic> {
    let wider = |c: char| matches!(c, ':' | '/' | '#');
    let plain: String = name.chars().map(|c| if wider(c) { '_' } else { c }).collect();
    let (span, c) = find(name, wider)?;
    (!name.starts_with(wider) && user_name_ok(&plain)).then(|| {
        let why =
            format!("a {} with {} may submit, but cannot be granted", list.noun(), quoted(&c.to_string()));
        let help = "let the API server send plain names (the prefixes of its OIDC claims), or grant a group \
            with a plain name";
        reason(codes::SUBMIT_ONLY, span, why, help)
    })
}

fn first_character(list: List, form: Form, name: &str) -> Option<Diagnostic> {
    let first = name.chars().next()?;
    let rest_ok = list.accepts(&format!("_{name}"));
    rest_ok.then(|| {
        let help = if name == "-" {
            form.separate("an ACL is one text and no YAML list: `sue,bob dev`")
        } else {
            "grant a group with a plain name"
        };
        let why = format!("names begin with a letter or `_`, not with {}", quoted(&first.to_string()));
        reason(codes::FIRST_CHARACTER, Span::new(0, first.len_utf8()), why, help)
    })
}

/// The reason for a name that no rule matches: the first character that is not allowed where it is.
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
        c if is_invisible(c) => "remove this character, which cannot be seen",
        '$' => "`$` may only end the name of a user",
        _ => {
            "write the name as the API server knows it; if it has this character, grant a group with a plain \
             name"
        }
    };
    reason(codes::INVALID_NAME, span, format!("{} cannot stand here", quoted(&c.to_string())), help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_habit_has_its_answer() {
        use List::{Groups, Users};
        let cases = [
            (Users, "", codes::EMPTY_ELEMENT, "", "remove"),
            (Users, "alice\tdev", codes::ODD_SPACE, "\t", "U+0020"),
            (Groups, "dev\n", codes::ODD_SPACE, "\n", "one line"),
            (Users, "\"*\"", codes::QUOTES, "\"", "`*`"),
            (Users, "'alice'", codes::QUOTES, "'", "`alice`"),
            (Users, "\u{201c}*\u{201d}", codes::QUOTES, "\u{201c}", "`*`"),
            (Users, "*", codes::WILDCARD_IN_LIST, "*", "nothing else"),
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
                "for everyone write `*`",
            ),
            (Groups, "system:masters", codes::SYSTEM_NAME, "system:masters", "grant a plain user"),
            (Users, "group:dev", codes::PREFIX, "group:", "\" dev\""),
            (Users, "@dev", codes::PREFIX, "@", "\" dev\""),
            (Users, "group:g.h", codes::PREFIX, "group:", "need names of the form"),
            (Groups, "%svc$", codes::PREFIX, "%", "need names of the form"),
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
            (Users, "svc$x", codes::INVALID_NAME, "$", "end the name"),
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
    fn entries_of_a_list_are_helped_without_commas_and_spaces() {
        use List::{Groups, Users};
        let apart = "put each name in an entry of its own";
        let cases = [
            (Users, "*", "for everyone write `everyone: true` instead of the lists; else leave it out"),
            (Users, "a b", "put each name in an entry of its own, without spaces"),
            (Users, "\"*\"", "for everyone write `everyone: true`"),
            (Users, "'alice'", "write `alice` without quotes inside"),
            (Users, "'alice,bob'", "put each name in an entry of its own, without quotes inside"),
            (
                Groups,
                "system:authenticated",
                "for everyone write `everyone: true`; else grant a group of the identity provider",
            ),
            (Users, "group:dev", "write `dev` under `groups`"),
            (
                Users,
                "group:g.h",
                "groups stand under `groups`, and need names of the form ^[_a-zA-Z][a-zA-Z0-9_-]*$",
            ),
            (Groups, "User:sue", "write `sue` under `users`"),
            (Groups, "g.h", "if `g.h` is a user, write it under `users`; a group needs a plain name"),
            (Users, "alice\u{ff0c}bob", apart),
            (Users, "\u{ff0a}", "for everyone write `everyone: true`"),
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
        assert!(account.ends_with("or grant `everyone: true` on a queue of its own"), "{account}");
        let alone = why_dropped(Users, Form::Entries, "*").message;
        assert!(alone.ends_with(": in a list of names `*` is no wildcard"), "{alone}");
        let reported = Acl::named(&["*"], &["g.h"]).expect_err("invalid names");
        let helps: Vec<&str> = reported.iter().filter_map(|diagnostic| diagnostic.help.as_deref()).collect();
        assert!(helps.len() == 2 && helps.iter().all(|help| !help.contains("space")), "{helps:?}");
    }

    #[test]
    fn a_space_within_a_name_is_called_by_its_name() {
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
    fn lists_of_names_make_an_acl_or_say_what_is_wrong_with_each() {
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
