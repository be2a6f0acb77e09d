//! Reads an ACL text in the two ways in which `YuniKorn` does.
//!
//! Activation (`NewACL`, yunikorn-core `pkg/common/security/acl.go:113-132`) decides what is in force; the
//! validator (`checkACL`, `pkg/common/configs/configvalidator.go:109-123`) decides what passes
//! `validate-conf` and `YuniKorn`'s webhook. They split differently, so each accepts what the other refuses:
//! `sue  dev` validates and then stops the scheduler from starting; `sue,bob\tdev ops` would activate and
//! never validates. Neither reports a name that it drops.

use super::{Acl, Names, group_name_ok, user_name_ok};

/// `YuniKorn`'s refusal of an ACL text, in its own words: it has more than two parts, counted as activation
/// or as the validator counts them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("multiple spaces found in ACL: '{0}'")]
pub struct AclError(String);

/// Reads `text` as activation does: users, one space, groups; each list separated by commas; `*` alone is
/// everyone. Names that are not valid are dropped in silence, as activation drops them; [`super::lint()`]
/// reports which.
///
/// # Errors
/// With the text as given, when it has more than one U+0020.
pub fn parse(text: &str) -> Result<Acl, AclError> {
    let (users, groups) = lists(text)?;
    // The trimmed whole catches what the lists do not: a wildcard with a tab or a line break beside it.
    if users == "*" || groups == Some("*") || trim(text) == "*" {
        return Ok(Acl::everyone());
    }
    Ok(Acl {
        everyone: false,
        users: Names::in_list(users, user_name_ok),
        groups: Names::in_list(groups.unwrap_or_default(), group_name_ok),
    })
}

/// Checks whether activation accepts `text`, without reading its names.
///
/// # Errors
/// As [`parse`].
pub fn activates(text: &str) -> Result<(), AclError> {
    lists(text).map(|_| ())
}

/// The users, and the groups if there is a space.
fn lists(text: &str) -> Result<(&str, Option<&str>), AclError> {
    match text.split_once(' ') {
        None => Ok((text, None)),
        Some((_, groups)) if groups.contains(' ') => Err(AclError(text.to_owned())),
        Some((users, groups)) => Ok((users, Some(groups))),
    }
}

/// Validates `text` as the validator does: at most two fields between white space of any kind and length. It
/// looks at no name.
///
/// # Errors
/// With the trimmed text, when it has more than two fields.
pub fn validates(text: &str) -> Result<(), AclError> {
    // Nearly all texts have at most one space, and so no third field. This check needs no Unicode.
    if text.bytes().filter(|byte| *byte <= b' ' || !byte.is_ascii()).count() <= 1 {
        return Ok(());
    }
    let text = trim(text);
    match text.split_whitespace().nth(2) {
        None => Ok(()),
        Some(_) => Err(AclError(text.to_owned())),
    }
}

/// Trims as Go's `strings.TrimSpace` does. Its `unicode.IsSpace` and Rust's `char::is_whitespace` are both
/// Unicode's `White_Space`.
pub(super) fn trim(text: &str) -> &str {
    text.trim()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    /// The recorded answers of yunikorn-core v1.8.0: `configs.ParseAndValidateConfig`, `security.NewACL`,
    /// `ACL.CheckAccess`.
    pub(in super::super) fn vectors() -> Value {
        serde_json::from_str(include_str!("../../../../tests/vectors/yunikorn-acl.json")).expect("JSON")
    }

    /// The pieces that ACL texts are made of, including all that `YuniKorn` reads in an unusual way.
    pub(in super::super) fn any_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            6 => "[a-c]{1,2}",
            2 => "[a-zA-Z0-9_.@$:/#!^'\"-]{1,6}",
            3 => Just(",".to_owned()),
            2 => Just(" ".to_owned()),
            1 => Just("*".to_owned()),
            1 => "[\t\n\u{b}\u{c}\r\u{85}\u{a0}\u{1680}\u{2003}\u{2028}\u{202f}\u{205f}\u{3000}\u{200b}\u{feff}é]",
        ];
        proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    pub(in super::super) fn any_acl() -> impl Strategy<Value = Acl> {
        any_text().prop_filter_map("refused", |text| parse(&text).ok())
    }

    pub(in super::super) fn any_person() -> impl Strategy<Value = (String, Vec<String>)> {
        ("[a-c]{0,2}", proptest::collection::vec("[a-c]{0,2}", 0..3))
    }

    #[test]
    fn every_recorded_verdict_and_access_is_met() {
        let vectors = vectors();
        let people: Vec<(String, Vec<String>)> = vectors["people"]
            .as_array()
            .expect("people")
            .iter()
            .map(|person| {
                let groups = person["groups"].as_array().cloned().unwrap_or_default();
                let groups = groups.iter().map(|group| group.as_str().expect("a group").to_owned()).collect();
                (person["user"].as_str().expect("a user").to_owned(), groups)
            })
            .collect();
        let rows = vectors["rows"].as_array().expect("rows");
        assert!(rows.len() > 50 && people.len() > 15);
        for row in rows {
            let text = row["acl"].as_str().expect("an ACL");
            let error =
                |result: Result<(), AclError>| result.err().map_or(String::new(), |error| error.to_string());
            // The config validator wraps the error; its own text comes last.
            let recorded = row["validate_error"].as_str().expect("a verdict");
            assert_eq!(validates(text).is_ok(), recorded.is_empty(), "{text:?}");
            assert!(recorded.ends_with(&error(validates(text))), "{text:?}");
            assert_eq!(
                error(parse(text).map(drop)),
                row["newacl_error"].as_str().expect("a verdict"),
                "{text:?}"
            );
            let acl = parse(text).unwrap_or_default();
            for ((user, groups), expected) in people.iter().zip(row["access"].as_array().expect("access")) {
                assert_eq!(
                    Some(acl.allows(user, groups)),
                    expected.as_bool(),
                    "{text:?} {user:?} {groups:?}"
                );
            }
        }
    }

    #[test]
    fn spaces_are_gos_spaces() {
        // unicode.IsSpace: the six of Latin 1's control range, U+0020, U+0085, U+00A0, then Unicode's
        // White_Space.
        let spaces = "\t\n\u{b}\u{c}\r \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";
        for c in (0..=0x0010_ffff).filter_map(char::from_u32) {
            assert_eq!(trim(&c.to_string()).is_empty(), spaces.contains(c), "{c:?}");
        }
    }

    #[test]
    fn the_parsers_disagree_where_yunikorn_does() {
        // text, validates, activates, what is in force.
        let cases = [
            ("", true, true, ""),
            (" ", true, true, ""),
            ("  ", true, false, ""),
            ("*\n", true, true, "*"),
            ("\u{3000}*", true, true, "*"),
            (" * ", true, false, ""),
            ("alice *", true, true, "*"),
            ("* dev", true, true, "*"),
            (" *,dev", true, true, " dev"),
            ("alice,bob\tdev ops", false, true, "alice ops"),
            ("a b c", false, false, ""),
            ("alice dev\n", true, true, "alice"),
            ("\u{a0}\u{a0}", true, true, ""),
            ("system:serviceaccount:ns:sa", true, true, ""),
            (" system:authenticated", true, true, ""),
            ("\"*\"", true, true, ""),
        ];
        for (text, valid, active, canonical) in cases {
            assert_eq!(validates(text).is_ok(), valid, "{text:?}");
            assert_eq!(parse(text).is_ok(), active, "{text:?}");
            assert_eq!(parse(text).unwrap_or_default().canonical(), canonical, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = (parse(&text), validates(&text));
        }

        #[test]
        fn spaces_alone_decide_activation(text in any_text()) {
            prop_assert_eq!(parse(&text).is_ok(), text.matches(' ').count() <= 1);
            prop_assert_eq!(validates(&text).is_ok(), text.split_whitespace().count() <= 2);
        }
    }
}
