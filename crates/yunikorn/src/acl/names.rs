//! Valid names in an ACL, and a sorted set of them.
//!
//! The expressions are `YuniKorn`'s (yunikorn-core `pkg/common/security/acl.go:34-35`). They are narrower
//! than the names of submitting users (`configvalidator.go:87`): service accounts, `system:` groups and most
//! names from OIDC providers can submit, but an ACL cannot name them.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// Valid names of users in an ACL. `YuniKorn` silently drops other names. ASCII, case-sensitive.
pub const USER_NAME: &str = "^[_a-zA-Z][a-zA-Z0-9_.@-]*[$]?$";

/// Valid names of groups in an ACL. `YuniKorn` silently drops other names. ASCII, case-sensitive.
pub const GROUP_NAME: &str = "^[_a-zA-Z][a-zA-Z0-9_-]*$";

/// Returns whether `name` matches [`USER_NAME`].
pub fn user_name_ok(name: &str) -> bool {
    is_name(name.strip_suffix('$').unwrap_or(name), |byte| group_byte(byte) || byte == b'.' || byte == b'@')
}

/// Returns whether `name` matches [`GROUP_NAME`].
pub fn group_name_ok(name: &str) -> bool {
    is_name(name, group_byte)
}

/// Returns whether a byte is allowed after the first byte of a group name.
fn group_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// Returns whether a name is a letter or underscore followed by any number of `more`.
pub(crate) fn is_name(name: &str, more: impl Fn(u8) -> bool) -> bool {
    match name.as_bytes() {
        [first, rest @ ..] => {
            (*first == b'_' || first.is_ascii_alphabetic()) && rest.iter().all(|byte| more(*byte))
        }
        [] => false,
    }
}

/// A sorted set of names.
///
/// The set is stored as one text joined by commas, as in an ACL. It needs only one allocation, formatting is
/// a copy, and clones share the text.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Names(Arc<str>);

impl Names {
    /// Returns the set of `names`, which must be valid and so contain no commas and no empty name.
    pub(super) fn new<'a>(mut names: impl Iterator<Item = &'a str>) -> Self {
        match (names.next(), names.next()) {
            (None, _) => Self::default(),
            (Some(only), None) => Self(only.into()),
            (Some(first), Some(second)) => Self::sorted([first, second].into_iter().chain(names)),
        }
    }

    fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut names: Vec<_> = names.map(|name| (start(name), name)).collect();
        names.sort_unstable();
        names.dedup();
        let mut joined = String::with_capacity(names.iter().map(|(_, name)| name.len() + 1).sum());
        for (_, name) in names {
            if !joined.is_empty() {
                joined.push(',');
            }
            joined.push_str(name);
        }
        Self(joined.into())
    }

    /// Returns the names of a list that `accepts` matches.
    pub(super) fn in_list(list: &str, accepts: impl Fn(&str) -> bool) -> Self {
        let mut before = (0, "");
        // No name is empty. Generated lists are usually sorted already and can be used unchanged.
        let is_set = Iter::new(list).all(|name| {
            let this = (start(name), name);
            accepts(name) && std::mem::replace(&mut before, this) < this
        });
        match (is_set, list) {
            (true, "") => Self::default(),
            (true, _) => Self(list.into()),
            (false, _) => Self::new(Iter::new(list).filter(|name| accepts(name))),
        }
    }

    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.iter().len()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the names, ordered by their bytes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        Iter::new(&self.0)
    }

    /// Returns whether the set contains `name`, case-sensitively.
    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Returns the set's own copy of `name` if it contains it. This is a binary search over the text.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        let mut left: &str = &self.0;
        while !left.is_empty() {
            let (before, behind) = left.as_bytes().split_at(left.len() / 2);
            let start = before.iter().rposition(|byte| *byte == b',').map_or(0, |comma| comma + 1);
            let end = behind.iter().position(|byte| *byte == b',').map_or(left.len(), |at| before.len() + at);
            let held = left.get(start..end)?;
            left = match held.cmp(name) {
                Ordering::Equal => return Some(held),
                Ordering::Less => left.get(end + 1..).unwrap_or_default(),
                Ordering::Greater => left.get(..start.saturating_sub(1)).unwrap_or_default(),
            };
        }
        None
    }

    /// Returns the names joined by commas, as in an ACL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        if other.is_empty() {
            return self.clone();
        }
        if self.is_empty() {
            return other.clone();
        }
        Self::new(self.iter().chain(other.iter()))
    }

    pub(super) fn difference(&self, other: &Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return self.clone();
        }
        Self::new(self.iter().filter(|name| !other.contains(name)))
    }
}

/// Returns the beginning of a name as a number. Different numbers have the order of their names and are much
/// faster to compare.
fn start(name: &str) -> u64 {
    let mut bytes = name.bytes();
    u64::from_be_bytes(std::array::from_fn(|_| bytes.next().unwrap_or_default()))
}

/// Iterates over the names between the commas of a list. An empty list has none.
///
/// [`str::split`] uses a search that is faster only for long names.
pub(super) struct Iter<'n> {
    list: &'n str,
    left: usize,
}

impl<'n> Iter<'n> {
    pub(super) fn new(list: &'n str) -> Self {
        let commas = list.bytes().filter(|byte| *byte == b',').count();
        Self { list, left: commas + usize::from(!list.is_empty()) }
    }
}

impl<'n> Iterator for Iter<'n> {
    type Item = &'n str;

    fn next(&mut self) -> Option<&'n str> {
        self.left = self.left.checked_sub(1)?;
        let end = self.list.bytes().position(|byte| byte == b',').unwrap_or(self.list.len());
        let name = self.list.get(..end).unwrap_or_default();
        self.list = self.list.get(end + 1..).unwrap_or_default();
        Some(name)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::sync::LazyLock;

    static USER: LazyLock<regex::Regex> =
        LazyLock::new(|| regex::Regex::new(USER_NAME).expect("an expression"));
    static GROUP: LazyLock<regex::Regex> =
        LazyLock::new(|| regex::Regex::new(GROUP_NAME).expect("an expression"));

    #[test]
    fn names_match_like_the_expressions() {
        let mut names: Vec<String> =
            ["", "$", "a$", "a$$", "$a", "_$", "a$b", "é", "aé", "a\n", "a.b@c-d_$"].map(Into::into).into();
        names.extend(
            (0..=127_u8).map(char::from).flat_map(|c| [format!("{c}"), format!("a{c}"), format!("a{c}b")]),
        );
        for name in names {
            assert_eq!(user_name_ok(&name), USER.is_match(&name), "{name:?}");
            assert_eq!(group_name_ok(&name), GROUP.is_match(&name), "{name:?}");
        }
    }

    #[test]
    fn names_are_counted_and_ordered() {
        let names = Names::in_list("sue,bob,1,eve,bob", user_name_ok);
        assert_eq!(names.as_str(), "bob,eve,sue");
        let mut left = names.iter();
        assert_eq!((left.len(), left.next(), left.len()), (3, Some("bob"), 2));
        assert_eq!((left.next(), left.len()), (Some("eve"), 1));
        assert_eq!((left.next(), left.len()), (Some("sue"), 0));
        assert_eq!((left.next(), left.len()), (None, 0));
        let none = Names::default();
        assert_eq!((none.iter().len(), none.iter().next(), none.as_str()), (0, None, ""));
    }

    proptest! {
        #[test]
        fn random_names_match_like_the_expressions(name in "[a-z0-9_.@$: é\n-]{0,8}") {
            prop_assert_eq!(user_name_ok(&name), USER.is_match(&name));
            prop_assert_eq!(group_name_ok(&name), GROUP.is_match(&name));
        }

        #[test]
        fn names_behave_as_a_set(left in proptest::collection::vec("[a-c]{1,2}", 0..8), right in proptest::collection::vec("[a-c]{1,2}", 0..8)) {
            let set = |names: &[String]| Names::new(names.iter().map(String::as_str));
            let model = |names: &[String]| names.iter().cloned().collect::<BTreeSet<String>>();
            let same = |names: &Names, model: &BTreeSet<String>| {
                names.iter().eq(model.iter()) && names.len() == model.len() && names.is_empty() == model.is_empty()
            };
            let (l, r) = (set(&left), set(&right));
            prop_assert!(same(&l, &model(&left)), "{:?}", l);
            prop_assert!(same(&l.union(&r), &model(&left).union(&model(&right)).cloned().collect()));
            prop_assert!(same(&l.difference(&r), &model(&left).difference(&model(&right)).cloned().collect()));
            for name in left.iter().chain(&right) {
                prop_assert_eq!(l.contains(name), left.contains(name));
            }
            prop_assert!(!l.contains("") && !l.contains("a,b"));
            prop_assert_eq!(l == r, model(&left) == model(&right));
        }
    }
}
