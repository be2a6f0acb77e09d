//! `YuniKorn`'s access control list: a wildcard, or users and groups; nobody when both are empty.
//!
//! * [`parse`](mod@parse): the string exactly as activation reads it, and as the validator decides about it
//!   (the two disagree).
//! * [`lint`](mod@lint): the differences between what was written and what is in force.
//! * [`print`](mod@print): the canonical string.
//! * [`eval`]: the access that an ACL grants.
//!
//! There is no deny entry in `YuniKorn`: an ACL only ever adds access to what the queues above grant.

pub mod codes;
mod dropped;
pub mod eval;
pub mod lint;
mod names;
pub mod parse;
pub mod print;
mod spaces;
mod suggest;

pub use dropped::List;
pub(crate) use dropped::{Form, why_dropped};
pub use eval::Match;
pub use lint::{Analysis, findings, lint};
pub(crate) use names::is_name;
pub use names::{GROUP_NAME, Names, USER_NAME, group_name_ok, user_name_ok};
pub use parse::{AclError, activates, parse, validates};

/// An ACL in force. Its names all match [`USER_NAME`] and [`GROUP_NAME`], and a wildcard has no names beside
/// it: an `Acl` cannot hold what `YuniKorn` would drop, so what is printed is what will be in force.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Acl {
    everyone: bool,
    users: Names,
    groups: Names,
}

impl Acl {
    /// The ACL that grants nothing, as an absent one does.
    pub fn nobody() -> Self {
        Self::default()
    }

    /// The wildcard `*`.
    pub fn everyone() -> Self {
        Self { everyone: true, ..Self::default() }
    }

    /// Returns whether it is the wildcard; then there are no names.
    pub fn is_everyone(&self) -> bool {
        self.everyone
    }

    /// Returns whether it grants nothing.
    pub fn is_nobody(&self) -> bool {
        !self.everyone && self.users.is_empty() && self.groups.is_empty()
    }

    /// The users named.
    pub fn users(&self) -> &Names {
        &self.users
    }

    /// The groups named.
    pub fn groups(&self) -> &Names {
        &self.groups
    }

    /// Grants what either grants.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        if self.everyone || other.everyone {
            return Self::everyone();
        }
        Self {
            everyone: false,
            users: self.users.union(&other.users),
            groups: self.groups.union(&other.groups),
        }
    }

    /// Grants what both grant, by the names in them, because the members of groups are not known.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        if self.everyone {
            return other.clone();
        }
        if other.everyone {
            return self.clone();
        }
        Self {
            everyone: false,
            users: self.users.difference(&self.users.difference(&other.users)),
            groups: self.groups.difference(&self.groups.difference(&other.groups)),
        }
    }

    /// Returns whether it grants all that `other` grants, whoever the members of the groups are.
    pub fn contains(&self, other: &Self) -> bool {
        self.everyone || other.lost(self).is_nobody()
    }

    /// The access that is lost when `self` is replaced by `new`: the names that only `self` has, and
    /// [`Acl::is_nobody`] when nothing is lost. It is everyone when a wildcard is replaced by names: all lose
    /// access but those to whom `new` grants it. A user who is no longer named may keep access through a
    /// group; the ACL alone does not show that.
    #[must_use]
    pub fn lost(&self, new: &Self) -> Self {
        match (self.everyone, new.everyone) {
            (_, true) => Self::nobody(),
            (true, false) => Self::everyone(),
            (false, false) => Self {
                everyone: false,
                users: self.users.difference(&new.users),
                groups: self.groups.difference(&new.groups),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acl::parse::tests::{any_acl, any_person};
    use proptest::prelude::*;

    fn acl(text: &str) -> Acl {
        parse(text).expect(text)
    }

    #[test]
    fn union_joins_names_and_lets_the_wildcard_win() {
        let cases = [
            ("sue dev", "bob,sue ops", "bob,sue dev,ops"),
            ("sue", " dev", "sue dev"),
            ("", " ops", " ops"),
            ("sue dev", "*", "*"),
            ("*", "", "*"),
            ("", "", ""),
        ];
        for (left, right, expected) in cases {
            assert_eq!(acl(left).union(&acl(right)).canonical(), expected, "{left:?} {right:?}");
            assert_eq!(acl(right).union(&acl(left)).canonical(), expected, "{right:?} {left:?}");
        }
    }

    #[test]
    fn intersection_keeps_the_names_of_both() {
        let cases = [
            ("sue,bob dev", "bob,ann dev,ops", "bob dev"),
            ("sue", " sue", ""),
            ("*", "sue dev", "sue dev"),
            ("*", "*", "*"),
            ("", "*", ""),
        ];
        for (left, right, expected) in cases {
            assert_eq!(acl(left).intersection(&acl(right)).canonical(), expected, "{left:?} {right:?}");
            assert_eq!(acl(right).intersection(&acl(left)).canonical(), expected, "{right:?} {left:?}");
        }
    }

    #[test]
    fn lost_is_what_only_the_old_one_named() {
        let cases = [
            ("sue,bob dev", "bob dev,ops", "sue"),
            ("sue dev", "dev sue", "sue dev"),
            ("sue dev", "*", ""),
            ("*", "sue", "*"),
            ("*", "*", ""),
            ("", "sue", ""),
        ];
        for (old, new, expected) in cases {
            assert_eq!(acl(old).lost(&acl(new)).canonical(), expected, "{old:?} {new:?}");
            assert_eq!(acl(new).contains(&acl(old)), expected.is_empty(), "{old:?} {new:?}");
        }
    }

    proptest! {
        #[test]
        fn union_is_monotone(left in any_acl(), right in any_acl(), (user, groups) in any_person()) {
            let both = left.union(&right);
            prop_assert_eq!(both.allows(&user, &groups), left.allows(&user, &groups) || right.allows(&user, &groups));
            prop_assert!(both.contains(&left) && both.contains(&right));
        }

        #[test]
        fn who_had_access_and_is_not_lost_keeps_it(old in any_acl(), new in any_acl(), (user, groups) in any_person()) {
            if old.allows(&user, &groups) && !old.lost(&new).allows(&user, &groups) {
                prop_assert!(new.allows(&user, &groups));
            }
            prop_assert_eq!(new.contains(&old), old.lost(&new).is_nobody());
        }
    }
}
