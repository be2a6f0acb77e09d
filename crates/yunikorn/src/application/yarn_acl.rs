//! YARN's access control list, parsed like Hadoop's `AccessControlList` (hadoop-common 3.4.1), with Java's
//! definitions of white space.
//!
//! The text is split at the first U+0020 only. Each part is trimmed like Java's `trim` (everything up to
//! U+0020, including control characters) and split at `\s*[,\n]\s*` (Java's `\s`: six ASCII characters).
//! Empty names are dropped, and duplicates are removed in the order of the text. There are no errors, escapes
//! or deny entries: any text is a valid ACL. A part that consists of `*` means everyone.

use super::{Reading, codes};
use crate::acl::lint::Findings;
use crate::acl::{self, Acl, Form, List, Match, group_name_ok, user_name_ok, why_dropped};
use crate::identity::Identity;
use go_compat::diag::{Diagnostic, Span, quoted};

/// An effective YARN ACL.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct YarnAcl {
    everyone: bool,
    users: Vec<String>,
    groups: Vec<String>,
}

impl YarnAcl {
    /// Parses a text. Like YARN, this accepts every text.
    pub fn parse(text: &str, reading: Reading) -> Self {
        let parts = Parts::parse(text, reading);
        if parts.wildcard() {
            return Self::everyone();
        }
        let named = |part: Option<Part<'_>>| once(part.iter().flat_map(|part| names(part.text)));
        Self { everyone: false, users: named(Some(parts.users)), groups: named(parts.groups) }
    }

    /// Returns the wildcard ACL.
    pub fn everyone() -> Self {
        Self { everyone: true, ..Self::default() }
    }

    /// Returns the ACL that names nobody, which YARN writes as a space.
    pub fn nobody() -> Self {
        Self::default()
    }

    /// `isAllAllowed`. A wildcard has no names.
    pub fn is_everyone(&self) -> bool {
        self.everyone
    }

    /// Returns whether it grants access to nobody.
    pub fn is_nobody(&self) -> bool {
        !self.everyone && self.users.is_empty() && self.groups.is_empty()
    }

    /// `getUsers`, in the order of the text.
    pub fn users(&self) -> &[String] {
        &self.users
    }

    /// `getGroups`, in the order of the text.
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// `getAclString`: `*`, or the users, one space, and the groups. The space is present even without
    /// groups, and alone for nobody.
    pub fn canonical(&self) -> String {
        if self.everyone {
            return "*".to_owned();
        }
        format!("{} {}", self.users.join(","), self.groups.join(","))
    }

    /// Returns the entry that grants access (`isUserInList`): the wildcard, the user, or the first group of
    /// the list that the user is in. The name must be the short one. A proxy user's `~name` never matches,
    /// because nobody acts as another user here.
    pub fn matched(&self, identity: &Identity) -> Option<Match<'_>> {
        if self.everyone {
            return Some(Match::Everyone);
        }
        if let Some(user) = self.users.iter().find(|user| **user == identity.user) {
            return Some(Match::User(user));
        }
        self.groups.iter().find(|group| identity.groups.contains(group)).map(|group| Match::Group(group))
    }
}

/// The parts of a text, with offsets into it.
#[derive(Debug, Clone, Copy)]
struct Parts<'a> {
    users: Part<'a>,
    /// The groups; `None` if there is no space.
    groups: Option<Part<'a>>,
    /// Text that is ignored.
    ignored: Option<Part<'a>>,
}

/// A part of a text and its offset.
#[derive(Debug, Clone, Copy)]
struct Part<'a> {
    at: usize,
    text: &'a str,
}

impl<'a> Parts<'a> {
    fn parse(text: &'a str, reading: Reading) -> Self {
        let Some((users, rest)) = Part { at: 0, text }.cut() else {
            return Self { users: Part { at: 0, text }, groups: None, ignored: None };
        };
        match (reading, rest.cut()) {
            (Reading::Cloudera, Some((groups, ignored))) => {
                Self { users, groups: Some(groups), ignored: Some(ignored) }
            }
            _ => Self { users, groups: Some(rest), ignored: None },
        }
    }

    /// Returns whether one of the parts is `*`.
    fn wildcard(&self) -> bool {
        [Some(self.users), self.groups].into_iter().flatten().any(|part| trim(part.text) == "*")
    }
}

impl<'a> Part<'a> {
    /// Splits a part at the first U+0020.
    fn cut(self) -> Option<(Self, Self)> {
        let (before, behind) = self.text.split_once(' ')?;
        Some((Self { text: before, ..self }, Self { at: self.at + before.len() + 1, text: behind }))
    }

    /// Iterates over the names with their spans.
    fn names(self) -> impl Iterator<Item = (Span, &'a str)> {
        let from = self.at;
        names(self.text).map(move |(at, name)| (Span::new(from + at, from + at + name.len()), name))
    }

    fn span(self) -> Span {
        Span::new(self.at, self.at + self.text.len())
    }
}

/// Trims like Java's `String.trim`.
pub fn trim(text: &str) -> &str {
    text.trim_matches(|c| c <= ' ')
}

/// Returns whether Java's `\s` matches without flags.
fn is_java_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

/// `StringUtils.getTrimmedStrings` without the empty ones: the names of one part, each with its offset. White
/// space next to a separator belongs to it.
fn names(part: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = part.find(|c| c > ' ').unwrap_or_default();
    trim(part).split([',', '\n']).filter_map(move |piece| {
        let behind_spaces = piece.trim_start_matches(is_java_space);
        let start = at + piece.len() - behind_spaces.len();
        at += piece.len() + 1;
        let name = behind_spaces.trim_end_matches(is_java_space);
        (!name.is_empty()).then_some((start, name))
    })
}

/// Removes duplicates, keeping the first, like a `LinkedHashSet`.
fn once<'a>(names: impl Iterator<Item = (usize, &'a str)>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    names.filter(|(_, name)| seen.insert(*name)).map(|(_, name)| name.to_owned()).collect()
}

// Compares how YARN and `YuniKorn` read an ACL text, and suggests an equivalent text for `YuniKorn`.
//
// They agree on the usual texts. YARN accepts every name and every text, whereas `YuniKorn` refuses a second
// space and drops invalid names. The suggestion never widens access: a name without an equivalent is removed
// and reported.

/// The analysis of a YARN ACL text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Analysis {
    /// The ACL that YARN reads.
    pub acl: YarnAcl,
    /// The equivalent ACL for `YuniKorn`, without names that it does not allow. `None` if a part of the text
    /// has no equivalent.
    pub carried: Option<Acl>,
    /// The findings, ordered by their spans in the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Returns the names in a text with their spans, or none if everyone has access.
pub fn named(text: &str, reading: Reading) -> Vec<(Span, List, &str)> {
    named_in(Parts::parse(text, reading))
}

fn named_in(parts: Parts<'_>) -> Vec<(Span, List, &str)> {
    if parts.wildcard() {
        return Vec::new();
    }
    let users = parts.users.names().map(|(at, name)| (at, List::Users, name));
    let groups = parts.groups.into_iter().flat_map(Part::names).map(|(at, name)| (at, List::Groups, name));
    users.chain(groups).collect()
}

/// Returns why a name cannot be used unchanged in `YuniKorn`, or `None` if it can.
pub fn objection(list: List, name: &str) -> Option<Diagnostic> {
    match list {
        List::Users => user(name),
        List::Groups => group(name),
    }
}

/// Reports likely mistakes in a text other than in its single names.
pub fn misread(text: &str, reading: Reading) -> Vec<Diagnostic> {
    let parts = Parts::parse(text, reading);
    let mut findings = Findings::default();
    misread_parts(text, parts, reading, &mut findings);
    findings.sorted()
}

fn misread_parts(text: &str, parts: Parts<'_>, reading: Reading, findings: &mut Findings) {
    if let Some(ignored) = parts.ignored.filter(|part| !trim(part.text).is_empty()) {
        findings.push(ignored.span(), || after_second_space(ignored));
    }
    if parts.wildcard() {
        wildcard(parts, findings);
    } else {
        pretty_printed(text, parts, reading, findings);
        comma_space(parts, findings);
        line_break(text, parts, findings);
    }
}

/// Parses a text like YARN, and reports every difference in `YuniKorn`.
pub fn lint(text: &str, reading: Reading) -> Analysis {
    let parts = Parts::parse(text, reading);
    let acl = YarnAcl::parse(text, reading);
    let mut findings = Findings::default();
    misread_parts(text, parts, reading, &mut findings);
    for (at, list, name) in named_in(parts) {
        if let Some(finding) = objection(list, name) {
            findings.push(at, || finding);
        }
    }
    let carried = carried(&acl);
    let mut diagnostics = findings.sorted();
    let refused = diagnostics.iter().any(Diagnostic::is_error);
    if !refused && !reads_alike(text, &carried) && !is_reported(&diagnostics) {
        diagnostics.push(other_form(text, &carried));
    }
    Analysis { acl, carried: (!refused).then_some(carried), diagnostics }
}

/// Returns the equivalent ACL, as close as `YuniKorn` allows.
fn carried(acl: &YarnAcl) -> Acl {
    if acl.is_everyone() {
        return Acl::everyone();
    }
    // A principal never matches in YARN, so it must not match here either.
    let is_user = |name: &&String| user_name_ok(name) && !name.contains('@') && !means_nobody(name);
    let is_group = |name: &&String| group_name_ok(name) && !means_nobody(name);
    let users: Vec<_> = acl.users().iter().filter(is_user).collect();
    let groups: Vec<_> = acl.groups().iter().filter(is_group).collect();
    Acl::named(&users, &groups).unwrap_or_default()
}

fn means_nobody(name: &str) -> bool {
    matches!(name, "NOUSERS" | "NOGROUPS")
}

fn reads_alike(text: &str, carried: &Acl) -> bool {
    acl::validates(text).is_ok() && acl::parse(text).is_ok_and(|read| read == *carried)
}

/// Returns whether a finding already implies that another text is needed. A dropped name alone does not
/// change how `YuniKorn` reads the rest.
fn is_reported(diagnostics: &[Diagnostic]) -> bool {
    let rewrites = [codes::SECOND_SPACE, codes::PRINCIPAL, codes::NOBODY_BY_NAME, codes::PRETTY_PRINTED];
    diagnostics.iter().any(|diagnostic| rewrites.contains(&diagnostic.code))
}

fn other_form(text: &str, carried: &Acl) -> Diagnostic {
    let message = match acl::validates(text).and(acl::parse(text).map(drop)) {
        Err(_) => format!("YuniKorn refuses {}", quoted(text)),
        Ok(()) => format!("YuniKorn reads {} differently", quoted(text)),
    };
    Diagnostic::warning(codes::OTHER_FORM, message)
        .at(Span::new(0, text.len()))
        .help(format!("write `{}` for YuniKorn", carried.yaml()))
}

fn after_second_space(ignored: Part<'_>) -> Diagnostic {
    let message = format!("text after the second space is ignored: {}", quoted(ignored.text));
    Diagnostic::warning(codes::SECOND_SPACE, message)
        .help("remove it, or separate groups with commas; in Hadoop's source, it is part of the groups")
}

/// Reports names next to an effective wildcard, because they have no effect.
fn wildcard(parts: Parts<'_>, findings: &mut Findings) {
    for part in [Some(parts.users), parts.groups].into_iter().flatten() {
        let named = trim(part.text);
        if !named.is_empty() && named != "*" {
            findings.push(part.span(), || {
                let message = format!("`*` grants access to everyone; {} has no effect", quoted(named));
                Diagnostic::warning(codes::WILDCARD_BESIDE, message)
                    .help("write only `*` to grant access to everyone, or remove the `*`")
            });
        }
    }
}

/// Reports a text such as `\n  alice dev\n`, as in a formatted XML file.
fn pretty_printed(text: &str, parts: Parts<'_>, reading: Reading, findings: &mut Findings) {
    let indented = !parts.users.text.is_empty() && trim(parts.users.text).is_empty() && text.contains('\n');
    let meant = trim(text);
    if indented && !meant.is_empty() && YarnAcl::parse(meant, reading) != YarnAcl::parse(text, reading) {
        findings.push(Span::new(0, text.len()), || {
            let message = "the first space belongs to the indentation, so there are no users".to_owned();
            Diagnostic::warning(codes::PRETTY_PRINTED, message)
                .help(format!("write it on one line: {}", quoted(meant)))
        });
    }
}

fn comma_space(parts: Parts<'_>, findings: &mut Findings) {
    let Some(groups) = parts.groups else { return };
    // An indentation begins with a space, too.
    let before = trim(parts.users.text).ends_with(',');
    let behind = groups.text.trim_start().starts_with(',');
    let Some((_, first)) = groups.names().next().filter(|_| before || behind) else { return };
    let indentation = parts.users.text.len() - parts.users.text.trim_end().len();
    let start = if before { groups.at - 2 - indentation } else { groups.at - 1 };
    let end =
        if behind { groups.at + 1 + groups.text.len() - groups.text.trim_start().len() } else { groups.at };
    findings.push(Span::new(start, end), || {
        let message = format!("the space ends the users, so {} is read as a group", quoted(first));
        Diagnostic::warning(codes::COMMA_SPACE, message)
            .help("write `alice,bob` for two users, or `alice bob` for a user and a group")
    });
}

/// Reports the first line break that separates a user from the next name and might be intended as a comma or
/// a space.
fn line_break(text: &str, parts: Parts<'_>, findings: &mut Findings) {
    let users = parts.users.names().map(|name| (name, "a user"));
    let group = parts.groups.into_iter().flat_map(Part::names).map(|name| (name, "a group")).take(1);
    let names: Vec<_> = users.chain(group).collect();
    let pairs = names.iter().zip(names.iter().skip(1));
    let broken = pairs.filter_map(|(((before, _), _), ((after, name), kind))| {
        let between = text.get(before.end..after.start)?;
        (between.contains('\n') && !between.contains(',')).then_some((*after, *name, *kind))
    });
    if let Some((at, name, kind)) = broken.take(1).next() {
        findings.push(at, || {
            let message =
                format!("a line break separates names like a comma, so {} is read as {kind}", quoted(name));
            Diagnostic::warning(codes::LINE_BREAK, message).help(
                "write the ACL on one line: users separated by commas, one space, groups separated by commas",
            )
        });
    }
}

fn user(name: &str) -> Option<Diagnostic> {
    let shown = quoted(name);
    let (code, message, help) = if let Some(real) = name.strip_prefix('~') {
        let real = quoted(real);
        let message =
            format!("{shown} grants access to the proxied users of {real}, which YuniKorn does not support");
        (codes::REAL_USER, message, "remove it, and grant access to those users")
    } else if let Some(finding) = either(name) {
        return Some(finding);
    } else if name.contains('@') {
        let message =
            format!("{shown} grants access to nobody, because YARN compares short names without a realm");
        let help = "to grant this user access in YuniKorn, write the name that the API server sends";
        (codes::PRINCIPAL, message, help)
    } else {
        return dropped(List::Users, name);
    };
    Some(Diagnostic::warning(code, message).help(help))
}

fn group(name: &str) -> Option<Diagnostic> {
    if name.contains(' ') {
        let message = format!("YARN reads one group, {}; YuniKorn refuses a second space", quoted(name));
        let help =
            "separate groups with commas; a group with a space in its name needs another name in YuniKorn";
        return Some(Diagnostic::error(codes::GROUP_SPACE, message).help(help));
    }
    either(name).or_else(|| dropped(List::Groups, name))
}

/// Quotation marks, including typographic ones.
const QUOTES: [char; 9] =
    ['"', '\'', '`', '\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}', '\u{201a}'];

/// Reports problems that users and groups share.
fn either(name: &str) -> Option<Diagnostic> {
    let shown = quoted(name);
    let is_odd = |c: char| c.is_control() || (c.is_whitespace() && c != ' ');
    let (code, message, help) = if name.chars().all(|c| c == '*') {
        let message = format!("{shown} next to other names is a name, not a wildcard");
        (codes::LITERAL_WILDCARD, message, "write only `*` to grant access to everyone, or remove it")
    } else if name.starts_with(QUOTES) || name.ends_with(QUOTES) {
        let message = format!("the quotation mark is part of the name {shown}, which matches nobody");
        (codes::QUOTED, message, "write the name without quotation marks")
    } else if name.chars().any(is_odd) {
        let message = format!("{shown} contains a control character or unusual space, so it matches nobody");
        (codes::CONTROL, message, "write one U+0020 between users and groups")
    } else if let Some(denied) = name.strip_prefix(['!', '-']) {
        let message = format!("{shown} is an ordinary name and does not deny access to {}", quoted(denied));
        (codes::DENY, message, "list only names that need access")
    } else if means_nobody(name) {
        let message = format!("{shown} is an ordinary name; a user or group of this name would have access");
        (codes::NOBODY_BY_NAME, message, "remove it; an empty ACL grants access to nobody")
    } else {
        return None;
    };
    Some(Diagnostic::warning(code, message).help(help))
}

/// Returns the finding if `YuniKorn` drops the name.
fn dropped(list: List, name: &str) -> Option<Diagnostic> {
    if list.accepts(name) {
        return None;
    }
    let why = why_dropped(list, Form::Text, name);
    let message = format!("in YuniKorn {}", why.message);
    Some(Diagnostic { code: codes::DROPPED, message, span: None, ..why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use go_compat::diag::{Code, Severity};
    use proptest::prelude::*;
    use serde_json::Value;

    fn person(user: &str, groups: &[&str]) -> Identity {
        Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() }
    }

    /// Compares with every recorded answer of Hadoop 3.4.1.
    #[test]
    fn recorded_readings_are_reproduced() {
        let vectors: Value =
            serde_json::from_str(include_str!("../../../../tests/vectors/yarn-acl.json")).expect("JSON");
        let cases = vectors["cases"].as_array().expect("cases");
        let people: Vec<Identity> = vectors["people"]
            .as_array()
            .expect("people")
            .iter()
            .map(|who| {
                let groups = who["groups"].as_array().expect("groups").iter();
                let groups = groups.map(|group| group.as_str().expect("a group").to_owned()).collect();
                Identity { user: who["user"].as_str().expect("a user").to_owned(), groups }
            })
            .collect();
        assert!(cases.len() > 70 && people.len() > 5);
        for case in cases {
            let acl = YarnAcl::parse(case["acl"].as_str().expect("a text"), Reading::Hadoop);
            assert_eq!(Value::from(acl.is_everyone()), case["allAllowed"], "{case}");
            assert_eq!(Value::from(acl.users()), case["users"], "{case}");
            assert_eq!(Value::from(acl.groups()), case["groups"], "{case}");
            assert_eq!(Value::from(acl.canonical()), case["canonical"], "{case}");
            let access: Vec<bool> = people.iter().map(|who| acl.matched(who).is_some()).collect();
            assert_eq!(Value::from(access), case["access"], "{case}");
        }
    }

    /// "All entries after the occurrence of a second single space in an ACL are ignored."
    #[test]
    fn readings_differ_only_after_the_second_space() {
        let cases = [
            ("alice dev test", "alice dev test", "alice dev"),
            ("alice dev,test other,x", "alice dev,test other,x", "alice dev,test"),
            ("alice  dev", "alice dev", "alice "),
            ("  dev", " dev", " "),
            (" Domain Users,Data Eng", " Domain Users,Data Eng", " Domain"),
            ("alice , bob dev", "alice bob dev", "alice "),
            ("alice  *", "*", "alice "),
            (" * ", "*", "*"),
            ("* dev ", "*", "*"),
            ("omar,nora Clerks", "omar,nora Clerks", "omar,nora Clerks"),
            (" lab_a,lab_b", " lab_a,lab_b", " lab_a,lab_b"),
            ("kemal,ivo", "kemal,ivo ", "kemal,ivo "),
            ("*", "*", "*"),
            (" ", " ", " "),
            ("NOUSERS NOGROUPS", "NOUSERS NOGROUPS", "NOUSERS NOGROUPS"),
        ];
        for (text, hadoop, cloudera) in cases {
            assert_eq!(YarnAcl::parse(text, Reading::Hadoop).canonical(), hadoop, "{text:?}");
            assert_eq!(YarnAcl::parse(text, Reading::Cloudera).canonical(), cloudera, "{text:?}");
        }
    }

    #[test]
    fn javas_spaces_are_not_unicodes() {
        let cases = [
            ("a\u{1},b", "a\u{1},b "),
            ("\u{1}a\u{1f}", "a "),
            ("a,\u{1c}b", "a,\u{1c}b "),
            ("a\u{b},\u{c}b", "a,b "),
            ("a\r\nb", "a,b "),
            ("a\rb", "a\rb "),
            ("a\n\n \tb", "a b"),
            ("a\n\t\n,b", "a,b "),
            ("a\u{85}b,\u{a0}c", "a\u{85}b,\u{a0}c "),
            ("\u{3000}a\u{2028}", "\u{3000}a\u{2028} "),
            ("😀,é", "😀,é "),
        ];
        for (text, canonical) in cases {
            assert_eq!(YarnAcl::parse(text, Reading::Hadoop).canonical(), canonical, "{text:?}");
        }
    }

    #[test]
    fn granting_entry_is_returned() {
        let cases = [
            ("*", person("x", &[]), Some(Match::Everyone)),
            ("alice dev", person("alice", &["dev"]), Some(Match::User("alice"))),
            ("alice dev,ops", person("bob", &["ops", "dev"]), Some(Match::Group("dev"))),
            ("alice dev", person("Alice", &["DEV"]), None),
            ("alice,*", person("bob", &[]), None),
            ("alice,*", person("*", &[]), Some(Match::User("*"))),
            (" ", person("", &[""]), None),
        ];
        for (text, identity, expected) in cases {
            assert_eq!(YarnAcl::parse(text, Reading::Hadoop).matched(&identity), expected, "{text:?}");
        }
    }

    fn any_text() -> impl Strategy<Value = String> {
        proptest::collection::vec("[ab]{1,2}|[ ,*~\t\n\r\u{1}\u{b}\u{85}\u{3000}é]", 0..10)
            .prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn spans_cover_the_names(text in any_text()) {
            for reading in [Reading::Hadoop, Reading::Cloudera] {
                let parts = Parts::parse(&text, reading);
                for part in [Some(parts.users), parts.groups].into_iter().flatten() {
                    for (span, name) in part.names() {
                        prop_assert_eq!(text.get(span.start..span.end), Some(name));
                    }
                }
            }
        }

        #[test]
        fn canonical_text_parses_as_the_same_acl(text in "[ab ,*~\n\u{3000}]{0,12}") {
            let acl = YarnAcl::parse(&text, Reading::Hadoop);
            let again = YarnAcl::parse(&acl.canonical(), Reading::Hadoop);
            // A lone `*` next to empty names is the wildcard, as in Hadoop.
            let stars = [acl.users(), acl.groups()].iter().any(|names| *names == ["*"]);
            prop_assert!(again == acl || again.is_everyone() && stars, "{:?} {:?}", acl, again);
        }

        #[test]
        fn readings_agree_without_a_second_space(text in any_text()) {
            prop_assume!(text.matches(' ').count() < 2);
            prop_assert_eq!(YarnAcl::parse(&text, Reading::Hadoop), YarnAcl::parse(&text, Reading::Cloudera));
        }

        #[test]
        fn any_text_parses(text in any::<String>()) {
            let hadoop = YarnAcl::parse(&text, Reading::Hadoop);
            prop_assert!(!hadoop.is_everyone() || hadoop.users().is_empty() && hadoop.groups().is_empty());
        }
    }

    /// A text, its ACL for `YuniKorn` (`None` if a part has no equivalent), and the codes of the findings.
    type Case = (&'static str, Option<&'static str>, &'static [Code]);

    /// Edge cases that were run through both parsers.
    const HADOOP: [Case; 52] = [
        ("", Some(""), &[]),
        (" ", Some(""), &[]),
        ("  ", Some(""), &[codes::OTHER_FORM]),
        ("*", Some("*"), &[]),
        (" *", Some("*"), &[]),
        ("\n*\n", Some("*"), &[]),
        (" * ", Some("*"), &[codes::OTHER_FORM]),
        ("alice *", Some("*"), &[codes::WILDCARD_BESIDE]),
        ("* dev", Some("*"), &[codes::WILDCARD_BESIDE]),
        ("alice  *", Some("*"), &[codes::WILDCARD_BESIDE, codes::OTHER_FORM]),
        ("alice,*", Some("alice"), &[codes::LITERAL_WILDCARD]),
        ("*,*", Some(""), &[codes::LITERAL_WILDCARD, codes::LITERAL_WILDCARD]),
        ("**", Some(""), &[codes::LITERAL_WILDCARD]),
        ("alice dev,*", Some("alice dev"), &[codes::LITERAL_WILDCARD]),
        ("alice dev", Some("alice dev"), &[]),
        ("alice  dev", Some("alice dev"), &[codes::OTHER_FORM]),
        ("  dev", Some(" dev"), &[codes::OTHER_FORM]),
        ("alice dev, test", Some("alice dev,test"), &[codes::OTHER_FORM]),
        ("alice dev test", None, &[codes::GROUP_SPACE]),
        ("alice dev,test other,x", None, &[codes::GROUP_SPACE]),
        ("alice, bob", Some("alice bob"), &[codes::COMMA_SPACE]),
        ("alice ,bob", Some("alice bob"), &[codes::COMMA_SPACE]),
        ("alice , bob dev", None, &[codes::COMMA_SPACE, codes::GROUP_SPACE]),
        ("alice\tdev", Some(""), &[codes::CONTROL]),
        ("\talice dev", Some("alice dev"), &[codes::OTHER_FORM]),
        ("\n  alice dev\n", None, &[codes::PRETTY_PRINTED, codes::GROUP_SPACE]),
        ("\n  alice\n", Some(" alice"), &[codes::PRETTY_PRINTED]),
        ("alice\nbob dev", Some("alice,bob dev"), &[codes::LINE_BREAK, codes::OTHER_FORM]),
        ("alice\r\ndev,ops", Some("alice,dev,ops"), &[codes::LINE_BREAK, codes::OTHER_FORM]),
        ("alice\n\n\tdev\nops", Some("alice,dev,ops"), &[codes::LINE_BREAK, codes::OTHER_FORM]),
        ("alice\n  dev", Some("alice dev"), &[codes::LINE_BREAK, codes::OTHER_FORM]),
        ("alice,\nbob dev\n", Some("alice,bob dev"), &[codes::OTHER_FORM]),
        ("alice,\n  bob,\n  carol", Some("alice bob,carol"), &[codes::COMMA_SPACE, codes::OTHER_FORM]),
        ("alice\n  ,bob", Some("alice bob"), &[codes::COMMA_SPACE, codes::OTHER_FORM]),
        ("alice dev\nops", Some("alice dev,ops"), &[codes::OTHER_FORM]),
        ("\"etl\" 'ops'", Some(""), &[codes::QUOTED, codes::QUOTED]),
        ("\u{201c}etl,ops\u{201d}", Some(""), &[codes::QUOTED, codes::QUOTED]),
        ("o'neil", Some(""), &[codes::DROPPED]),
        ("alice,,bob", Some("alice,bob"), &[]),
        (",alice", Some("alice"), &[]),
        ("DOMAIN\\alice", Some(""), &[codes::DROPPED]),
        ("alice@EXAMPLE.COM", Some(""), &[codes::PRINCIPAL]),
        ("a.b c.d", Some("a.b"), &[codes::DROPPED]),
        ("1001 100", Some(""), &[codes::DROPPED, codes::DROPPED]),
        ("system:serviceaccount:n:s system:authenticated", Some(""), &[codes::DROPPED, codes::DROPPED]),
        ("~knox", Some(""), &[codes::REAL_USER]),
        ("alice$", Some("alice$"), &[]),
        ("!alice,-bob", Some(""), &[codes::DENY, codes::DENY]),
        (" Domain Users,Data Eng", None, &[codes::GROUP_SPACE, codes::GROUP_SPACE]),
        ("alice\u{a0}dev", Some(""), &[codes::CONTROL]),
        ("'*'", Some(""), &[codes::QUOTED]),
        ("NOUSERS NOGROUPS", Some(""), &[codes::NOBODY_BY_NAME, codes::NOBODY_BY_NAME]),
    ];

    const CLOUDERA: [Case; 6] = [
        ("alice dev test", Some("alice dev"), &[codes::SECOND_SPACE]),
        ("alice dev ", Some("alice dev"), &[codes::OTHER_FORM]),
        ("alice  dev", Some("alice"), &[codes::SECOND_SPACE]),
        ("  dev", Some(""), &[codes::SECOND_SPACE]),
        (" Domain Users", Some(" Domain"), &[codes::SECOND_SPACE]),
        ("alice dev", Some("alice dev"), &[]),
    ];

    #[test]
    fn each_difference_is_reported() {
        let cases = HADOOP.map(|case| (Reading::Hadoop, case));
        let cases = cases.into_iter().chain(CLOUDERA.map(|case| (Reading::Cloudera, case)));
        for (reading, (text, carried, expected)) in cases {
            let analysis = lint(text, reading);
            let found: Vec<Code> = analysis.diagnostics.iter().map(|finding| finding.code).collect();
            assert_eq!(found, expected, "{text:?} {:?}", analysis.diagnostics);
            let refused = analysis.diagnostics.iter().any(Diagnostic::is_error);
            assert_eq!(refused, carried.is_none(), "{text:?}");
            assert_eq!(analysis.carried.map(|acl| acl.canonical()).as_deref(), carried, "{text:?}");
        }
    }

    #[test]
    fn indentation_may_span_lines_and_begin_without_a_space() {
        for (text, reported) in [
            ("\n alice", true),
            (" dev\n", false),
            (" \n dev", false),
            ("\t alice", false),
            ("alice dev\n", false),
        ] {
            let found = misread(text, Reading::Hadoop);
            assert_eq!(
                found.iter().any(|finding| finding.code == codes::PRETTY_PRINTED),
                reported,
                "{text:?}"
            );
        }
    }

    #[test]
    fn spans_cover_the_reported_text() {
        let cases = [
            ("alice dev,Data Eng", 10..18),
            ("alice, bob", 5..7),
            ("alice ,bob", 5..7),
            ("alice , bob", 5..7),
            ("bob,~knox dev", 4..9),
            ("alice  *", 0..5),
            ("\u{1}é,x", 1..3),
        ];
        for (text, place) in cases {
            let analysis = lint(text, Reading::Hadoop);
            let span = analysis.diagnostics.first().and_then(|finding| finding.span).expect("a span");
            assert_eq!(span.start..span.end, place, "{text:?} {:?}", analysis.diagnostics);
        }
    }

    #[test]
    fn findings_of_a_long_text_are_bounded() {
        let text = "~a,".repeat(10_000);
        let diagnostics = lint(&text, Reading::Hadoop).diagnostics;
        assert!(diagnostics.len() <= acl::lint::MAX_FINDINGS + 2, "{}", diagnostics.len());
    }

    fn any_odd_text() -> impl Strategy<Value = String> {
        let piece = "[ab]{1,2}|[ ,*~!@.:\t\n\u{1}\u{a0}é]";
        proptest::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
    }

    fn reading() -> impl Strategy<Value = Reading> {
        proptest::sample::select([Reading::Hadoop, Reading::Cloudera].as_slice())
    }

    proptest! {
        /// Without a finding, `YuniKorn` reads the same users and groups.
        #[test]
        fn text_without_findings_reads_the_same(text in any_odd_text(), reading in reading()) {
            let analysis = lint(&text, reading);
            if analysis.diagnostics.is_empty() {
                let yunikorn = acl::parse(&text).expect("activates");
                let sorted = |names: &[String]| names.iter().cloned().collect::<std::collections::BTreeSet<_>>();
                prop_assert_eq!(yunikorn.is_everyone(), analysis.acl.is_everyone());
                prop_assert_eq!(yunikorn.users().iter().map(str::to_owned).collect::<std::collections::BTreeSet<_>>(), sorted(analysis.acl.users()));
                prop_assert_eq!(yunikorn.groups().iter().map(str::to_owned).collect::<std::collections::BTreeSet<_>>(), sorted(analysis.acl.groups()));
            }
        }

        /// The equivalent ACL grants access to nobody who has none in YARN.
        #[test]
        fn equivalent_acl_is_never_wider(text in any_odd_text(), reading in reading()) {
            let analysis = lint(&text, reading);
            let Some(carried) = &analysis.carried else { return Ok(()) };
            prop_assert!(!carried.is_everyone() || analysis.acl.is_everyone());
            prop_assert!(carried.users().iter().all(|name| analysis.acl.users().contains(&name.to_owned())));
            prop_assert!(carried.groups().iter().all(|name| analysis.acl.groups().contains(&name.to_owned())));
        }

        #[test]
        fn every_finding_has_a_span_and_help(text in any::<String>(), reading in reading()) {
            for finding in lint(&text, reading).diagnostics {
                let span = finding.span.expect("a span");
                prop_assert!(text.get(span.start..span.end).is_some() && finding.help.is_some());
                prop_assert_eq!(finding.severity == Severity::Error, finding.code == codes::GROUP_SPACE);
            }
        }
    }
}
