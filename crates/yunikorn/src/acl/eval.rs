//! Decides who has access by an ACL (`CheckAccess`, yunikorn-core `pkg/common/security/acl.go:135-152`).

use super::Acl;

/// An entry of an ACL: the one that grants access, or any ([`Acl::entries`]). Ordered as listed here, names
/// by their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Match<'a> {
    /// The wildcard.
    Everyone,
    /// The user, by name.
    User(&'a str),
    /// This group: the first of the person's groups that the ACL names.
    Group(&'a str),
}

impl<'a> Match<'a> {
    /// The name, if it is a user's.
    pub fn user(self) -> Option<&'a str> {
        if let Self::User(name) = self { Some(name) } else { None }
    }

    /// The name, if it is a group's.
    pub fn group(self) -> Option<&'a str> {
        if let Self::Group(name) = self { Some(name) } else { None }
    }
}

impl Acl {
    /// Returns whether a user with these groups has access by this ACL alone; the queues above may grant it
    /// too. Names match byte for byte.
    pub fn allows<G: AsRef<str>>(&self, user: &str, groups: &[G]) -> bool {
        self.matched(user, groups).is_some()
    }

    /// All entries: the wildcard, or the users and the groups in order.
    pub fn entries(&self) -> impl Iterator<Item = Match<'_>> {
        let wildcard = self.is_everyone().then_some(Match::Everyone);
        let users = self.users().iter().map(Match::User);
        wildcard.into_iter().chain(users).chain(self.groups().iter().map(Match::Group))
    }

    /// Returns whether this entry is in the ACL. A wildcard has no other.
    pub fn has(&self, entry: Match<'_>) -> bool {
        self.entry_of(entry) == Some(entry)
    }

    /// The entry that grants access to somebody about whom only this name is known: the wildcard, or the
    /// name.
    pub fn entry_of(&self, name: Match<'_>) -> Option<Match<'_>> {
        match name {
            _ if self.is_everyone() => Some(Match::Everyone),
            Match::Everyone => None,
            Match::User(user) => self.users().find(user).map(Match::User),
            Match::Group(group) => self.groups().find(group).map(Match::Group),
        }
    }

    /// The entry that grants access, in the order in which `YuniKorn` looks: the wildcard, the user, the
    /// groups as listed.
    pub fn matched<G: AsRef<str>>(&self, user: &str, groups: &[G]) -> Option<Match<'_>> {
        if self.is_everyone() {
            return Some(Match::Everyone);
        }
        if let Some(user) = self.users().find(user) {
            return Some(Match::User(user));
        }
        groups.iter().find_map(|group| self.groups().find(group.as_ref())).map(Match::Group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acl::parse;

    #[test]
    fn the_first_entry_that_matches_is_named() {
        let cases: [(&str, &str, &[&str], Option<Match<'_>>); 9] = [
            ("*", "sue", &[], Some(Match::Everyone)),
            ("sue dev", "sue", &["dev"], Some(Match::User("sue"))),
            ("sue dev,ops", "bob", &["ops", "dev"], Some(Match::Group("ops"))),
            ("sue dev", "bob", &["test"], None),
            ("sue dev", "dev", &["sue"], None),
            ("sue dev", "Sue", &["Dev"], None),
            ("", "", &[""], None),
            (" ", "sue", &["dev"], None),
            ("*", "", &[], Some(Match::Everyone)),
        ];
        for (text, user, groups, expected) in cases {
            let acl = parse(text).expect(text);
            assert_eq!(acl.matched(user, groups), expected, "{text:?} {user} {groups:?}");
            assert_eq!(acl.allows(user, groups), expected.is_some(), "{text:?} {user} {groups:?}");
        }
    }

    #[test]
    fn the_entries_are_what_the_acl_has() {
        use Match::{Everyone, Group, User};
        let cases: [(&str, &[Match<'_>]); 4] = [
            ("*", &[Everyone]),
            ("sue,bob dev", &[User("bob"), User("sue"), Group("dev")]),
            (" b,a", &[Group("a"), Group("b")]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            let acl = parse(text).expect(text);
            let entries: Vec<_> = acl.entries().collect();
            assert_eq!(entries, expected, "{text:?}");
            assert!(entries.is_sorted(), "{text:?}");
            for entry in [Everyone, User("sue"), Group("sue"), User("a"), Group("a")] {
                assert_eq!(acl.has(entry), entries.contains(&entry), "{text:?} {entry:?}");
            }
        }
    }

    #[test]
    fn allows_users_and_groups_by_name() {
        let mia: (&str, &[&str]) = ("mia", &["mia"]);
        let ben: (&str, &[&str]) = ("ben", &["press", "print"]);
        let ida: (&str, &[&str]) = ("ida", &["post"]);
        let cases = [
            ("mia", [true, false, false]),
            ("mia,ida print", [true, true, true]),
            (" press,post", [false, true, true]),
            // Unquoted in YAML, the leading space is lost and the groups become users.
            ("press,post", [false, false, false]),
            ("* press", [true, true, true]),
            ("ben *", [true, true, true]),
            ("", [false, false, false]),
            (" ", [false, false, false]),
        ];
        for (text, expected) in cases {
            let acl = parse(text).expect(text);
            let answers = [mia, ben, ida].map(|(user, groups)| acl.allows(user, groups));
            assert_eq!(answers, expected, "{text:?}");
        }
    }
}
