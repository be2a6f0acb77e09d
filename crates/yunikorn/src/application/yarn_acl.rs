//! YARN's access control list, as Hadoop reads it: `AccessControlList`, hadoop-common 3.4.1, with Java's own
//! definitions of white space.
//!
//! The text is cut at the first U+0020 only. Each part is trimmed as by Java's `trim` (all up to U+0020,
//! control characters included) and split at `\s*[,\n]\s*` (Java's `\s`: six ASCII characters). Empty names
//! are left out and duplicates kept once, in the order written. There is no error, no escape and no deny
//! entry: any text gives some ACL. `*` is everyone when it is all of either part.

use super::Reading;
use crate::acl::Match;
use crate::identity::Identity;
use go_compat::diag::Span;

/// A YARN ACL in force.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct YarnAcl {
    everyone: bool,
    users: Vec<String>,
    groups: Vec<String>,
}

impl YarnAcl {
    /// Reads a text. Nothing is refused, as YARN refuses nothing.
    pub fn parse(text: &str, reading: Reading) -> Self {
        let parts = Parts::parse(text, reading);
        if parts.wildcard() {
            return Self::everyone();
        }
        let named = |part: Option<Part<'_>>| once(part.iter().flat_map(|part| names(part.text)));
        Self { everyone: false, users: named(Some(parts.users)), groups: named(parts.groups) }
    }

    /// The wildcard ACL.
    pub fn everyone() -> Self {
        Self { everyone: true, ..Self::default() }
    }

    /// The ACL that names nobody: YARN's one space.
    pub fn nobody() -> Self {
        Self::default()
    }

    /// `isAllAllowed`; then there are no names.
    pub fn is_everyone(&self) -> bool {
        self.everyone
    }

    /// Returns whether it grants nobody access.
    pub fn is_nobody(&self) -> bool {
        !self.everyone && self.users.is_empty() && self.groups.is_empty()
    }

    /// `getUsers`, in the order written.
    pub fn users(&self) -> &[String] {
        &self.users
    }

    /// `getGroups`, in the order written.
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// `getAclString`: `*`, or the users, one space, the groups. The space is there even without groups, and
    /// alone for nobody.
    pub fn canonical(&self) -> String {
        if self.everyone {
            return "*".to_owned();
        }
        format!("{} {}", self.users.join(","), self.groups.join(","))
    }

    /// The entry that grants somebody access (`isUserInList`): the wildcard, the user, the first group of the
    /// list that the user is in. The name is the short one. A proxy user's `~name` never matches, because
    /// nobody acts in another's name here.
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

/// The parts of a text. Offsets are into the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) users: Part<'a>,
    /// The groups; `None` without a space.
    pub(super) groups: Option<Part<'a>>,
    /// The text that the reading ignores.
    pub(super) ignored: Option<Part<'a>>,
}

/// A part of a text, with its offset.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) at: usize,
    pub(super) text: &'a str,
}

impl<'a> Parts<'a> {
    pub(super) fn parse(text: &'a str, reading: Reading) -> Self {
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

    /// Returns whether either part is `*` alone.
    pub(super) fn wildcard(&self) -> bool {
        [Some(self.users), self.groups].into_iter().flatten().any(|part| trim(part.text) == "*")
    }
}

impl<'a> Part<'a> {
    /// The text before the first U+0020, and the text after it.
    fn cut(self) -> Option<(Self, Self)> {
        let (before, behind) = self.text.split_once(' ')?;
        Some((Self { text: before, ..self }, Self { at: self.at + before.len() + 1, text: behind }))
    }

    /// The names in it, with their spans.
    pub(super) fn names(self) -> impl Iterator<Item = (Span, &'a str)> {
        let from = self.at;
        names(self.text).map(move |(at, name)| (Span::new(from + at, from + at + name.len()), name))
    }

    pub(super) fn span(self) -> Span {
        Span::new(self.at, self.at + self.text.len())
    }
}

/// Trims as Java's `String.trim` does.
pub fn trim(text: &str) -> &str {
    text.trim_matches(|c| c <= ' ')
}

/// Returns whether Java's `\s` matches without flags.
fn is_java_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

/// `StringUtils.getTrimmedStrings` without the empty ones: the names of one part, each with its offset.
/// White space beside a separator belongs to it.
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

/// Keeps the first of equal names, as a `LinkedHashSet` does.
fn once<'a>(names: impl Iterator<Item = (usize, &'a str)>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    names.filter(|(_, name)| seen.insert(*name)).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn person(user: &str, groups: &[&str]) -> Identity {
        Identity { user: user.to_owned(), groups: groups.iter().map(ToString::to_string).collect() }
    }

    /// Compares every recorded answer of Hadoop 3.4.1.
    #[test]
    fn every_recorded_reading_is_met() {
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
    fn the_readings_differ_behind_the_second_space_only() {
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
    fn the_entry_that_lets_someone_in_is_named() {
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
        fn places_are_those_of_the_names(text in any_text()) {
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
        fn what_is_canonical_is_read_again(text in "[ab ,*~\n\u{3000}]{0,12}") {
            let acl = YarnAcl::parse(&text, Reading::Hadoop);
            let again = YarnAcl::parse(&acl.canonical(), Reading::Hadoop);
            // A literal `*` is the wildcard when the empty names beside it are gone, as in Hadoop.
            let stars = [acl.users(), acl.groups()].iter().any(|names| *names == ["*"]);
            prop_assert!(again == acl || again.is_everyone() && stars, "{:?} {:?}", acl, again);
        }

        #[test]
        fn the_readings_are_one_without_a_second_space(text in any_text()) {
            prop_assume!(text.matches(' ').count() < 2);
            prop_assert_eq!(YarnAcl::parse(&text, Reading::Hadoop), YarnAcl::parse(&text, Reading::Cloudera));
        }

        #[test]
        fn any_text_is_read(text in any::<String>()) {
            let hadoop = YarnAcl::parse(&text, Reading::Hadoop);
            prop_assert!(!hadoop.is_everyone() || hadoop.users().is_empty() && hadoop.groups().is_empty());
        }
    }
}
