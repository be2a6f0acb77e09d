//! Prints the one text for each ACL.
//!
//! The rule: whatever is printed passes the validator, activates, and is read as the same ACL again.

use std::fmt;

use super::Acl;

impl Acl {
    /// The canonical text: `*`, or the users in order joined by `,`, then a space and the groups where there
    /// are groups. So groups alone begin with a space, and nobody is the empty text.
    pub fn canonical(&self) -> String {
        if self.is_everyone() {
            return "*".to_owned();
        }
        let (users, groups) = (self.users().as_str(), self.groups().as_str());
        if groups.is_empty() {
            return users.to_owned();
        }
        let mut text = String::with_capacity(users.len() + 1 + groups.len());
        text.push_str(users);
        text.push(' ');
        text.push_str(groups);
        text
    }

    /// Returns whether a text is the canonical one.
    pub fn is_canonical(&self, text: &str) -> bool {
        let (users, groups) = (self.users().as_str(), self.groups().as_str());
        match text.strip_prefix(users) {
            _ if self.is_everyone() => text == "*",
            None => false,
            Some(rest) if groups.is_empty() => rest.is_empty(),
            Some(rest) => rest.strip_prefix(' ') == Some(groups),
        }
    }

    /// As [`Acl::canonical`], but nobody is one space: `YuniKorn`'s explicit form, which a reader does not
    /// mistake for a forgotten value.
    pub fn explicit(&self) -> String {
        if self.is_nobody() { " ".to_owned() } else { self.canonical() }
    }

    /// Returns whether a text is the explicit one.
    pub fn is_explicit(&self, text: &str) -> bool {
        if self.is_nobody() { text == " " } else { self.is_canonical(text) }
    }

    /// The explicit text as a YAML scalar to paste, always quoted, because without quotes `*` is an alias and
    /// a leading space is lost.
    pub fn yaml(&self) -> String {
        // No character of a valid name needs an escape between double quotes.
        format!("\"{}\"", self.explicit())
    }
}

impl fmt::Display for Acl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.canonical())
    }
}

#[cfg(test)]
mod tests {
    use crate::acl::parse::tests::any_acl;
    use crate::acl::{parse, validates};
    use proptest::prelude::*;

    #[test]
    fn each_acl_has_one_text() {
        let cases = [
            ("", "", " ", "\" \""),
            (" ", "", " ", "\" \""),
            (" *", "*", "*", "\"*\""),
            ("sue,bob,sue", "bob,sue", "bob,sue", "\"bob,sue\""),
            ("sue ", "sue", "sue", "\"sue\""),
            (" test,dev", " dev,test", " dev,test", "\" dev,test\""),
            ("svc$,a.b@c dev", "a.b@c,svc$ dev", "a.b@c,svc$ dev", "\"a.b@c,svc$ dev\""),
            ("1,2 3", "", " ", "\" \""),
        ];
        for (text, canonical, explicit, yaml) in cases {
            let acl = parse(text).expect(text);
            assert_eq!(acl.to_string(), canonical, "{text:?}");
            assert_eq!(acl.explicit(), explicit, "{text:?}");
            assert_eq!(acl.yaml(), yaml, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_the_same_acl_to_both_parsers(acl in any_acl()) {
            prop_assert!(acl.is_canonical(&acl.canonical()) && acl.is_explicit(&acl.explicit()));
            prop_assert_eq!(acl.is_canonical(&acl.explicit()), !acl.is_nobody());
            for text in [acl.canonical(), acl.explicit()] {
                prop_assert_eq!(parse(&text), Ok(acl.clone()));
                prop_assert_eq!(validates(&text), Ok(()));
            }
        }
    }
}
