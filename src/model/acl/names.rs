//! Which names an ACL can hold, and the sorted set of them.
//!
//! The expressions are `YuniKorn`'s own (yunikorn-core `pkg/common/security/acl.go:34-35`). They are narrower than what it
//! accepts as the name of a submitting user (`configvalidator.go:87`): service accounts, `system:` groups and most names
//! that an OIDC provider makes can submit, but cannot be granted anything by name.

use std::fmt;

/// What `YuniKorn` accepts as a user in an ACL; other names are dropped in silence. ASCII, sensitive to case.
pub const USER_NAME: &str = "^[_a-zA-Z][a-zA-Z0-9_.@-]*[$]?$";

/// What `YuniKorn` accepts as a group in an ACL; other names are dropped in silence. ASCII, sensitive to case.
pub const GROUP_NAME: &str = "^[_a-zA-Z][a-zA-Z0-9_-]*$";

/// Whether `name` matches [`USER_NAME`].
pub fn user_name_ok(name: &str) -> bool {
    let bytes = name.as_bytes();
    let [first, rest @ ..] = bytes.strip_suffix(b"$").unwrap_or(bytes) else {
        return false;
    };
    first_byte(*first) && rest.iter().copied().all(user_byte)
}

/// Whether `name` matches [`GROUP_NAME`].
pub fn group_name_ok(name: &str) -> bool {
    match name.as_bytes() {
        [first, rest @ ..] => first_byte(*first) && rest.iter().copied().all(group_byte),
        [] => false,
    }
}

fn first_byte(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphabetic()
}

/// A byte of a user's name behind the first; a final `$` is apart.
pub(super) fn user_byte(byte: u8) -> bool {
    group_byte(byte) || byte == b'.' || byte == b'@'
}

/// A byte of a group's name behind the first.
pub(super) fn group_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// A set of names in order.
///
/// Held as one text joined by commas, which is how an ACL is written: parsing a list costs two allocations however many
/// names it has, and printing one is a copy.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Names {
    text: Box<str>,
    /// For each name in order: the offset behind its last byte.
    ends: Box<[usize]>,
}

impl Names {
    /// The set of `names`, which are all valid (and so not empty and without commas).
    pub(super) fn of<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut sorted: Vec<&str> = names.collect();
        if !sorted.is_sorted_by(|left, right| left < right) {
            sorted.sort_unstable();
            sorted.dedup();
        }
        Self::of_sorted(&sorted)
    }

    fn of_sorted(names: &[&str]) -> Self {
        let mut text = String::with_capacity(names.iter().map(|name| name.len() + 1).sum());
        let mut ends = Vec::with_capacity(names.len());
        for name in names {
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(name);
            ends.push(text.len());
        }
        Self { text: text.into(), ends: ends.into() }
    }

    /// How many names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The names in order of their bytes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator {
        (0..self.ends.len()).map(|index| self.get(index).unwrap_or_default())
    }

    /// Whether `name` is among them; case matters.
    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The set's own copy of `name`, if it is among them.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        let (mut from, mut to) = (0, self.ends.len());
        while from < to {
            let middle = from + (to - from) / 2;
            let held = self.get(middle)?;
            match held.cmp(name) {
                std::cmp::Ordering::Equal => return Some(held),
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => to = middle,
            }
        }
        None
    }

    fn get(&self, index: usize) -> Option<&str> {
        let start = match index.checked_sub(1) {
            Some(before) => self.ends.get(before)? + 1,
            None => 0,
        };
        self.text.get(start..*self.ends.get(index)?)
    }

    /// Joined by commas, as an ACL lists them.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        if other.is_empty() {
            return self.clone();
        }
        if self.is_empty() {
            return other.clone();
        }
        Self::of(self.iter().chain(other.iter()))
    }

    pub(super) fn difference(&self, other: &Self) -> Self {
        Self::of(self.iter().filter(|name| !other.contains(name)))
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
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
    fn names_are_judged_as_the_expressions_say() {
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

    proptest! {
        #[test]
        fn random_names_are_judged_as_the_expressions_say(name in "[a-z0-9_.@$: é\n-]{0,8}") {
            prop_assert_eq!(user_name_ok(&name), USER.is_match(&name));
            prop_assert_eq!(group_name_ok(&name), GROUP.is_match(&name));
        }

        #[test]
        fn it_is_a_set(left in proptest::collection::vec("[a-c]{1,2}", 0..8), right in proptest::collection::vec("[a-c]{1,2}", 0..8)) {
            let set = |names: &[String]| Names::of(names.iter().map(String::as_str));
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
