//! The names in the text of the annotation, and their aliases.
//!
//! An alias in a text proves nothing. It is valid only if it follows from a name in the same text
//! ([`Names::foreign`]). The webhook rewrites a text whose aliases do not match its names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::alias::{Kind, alias, aliases_of, escaped, is_alias, needing, shown, unescaped};
use yunikorn::admission::UserInfo;
use yunikorn::identity::Identity;

/// The group of all users. Its alias is written only if an ACL grants it something. Otherwise every text
/// would need the webhook, including texts of users whose own names need no alias.
const EVERYBODY: &str = "system:authenticated";
static OF_EVERYBODY: LazyLock<String> = LazyLock::new(|| alias(Kind::Group, EVERYBODY));

/// The content of a text, or of an authenticated requester.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names {
    /// The user as authenticated, and the groups without groups in alias form.
    identity: Identity,
    /// The groups in alias form.
    aliases: Vec<String>,
    /// The user as written in the text.
    written_user: String,
}

/// A text to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    /// The value of the annotation.
    pub(super) text: String,
    /// True if some aliases were omitted because there are too many.
    pub(super) is_cut: bool,
}

/// A text whose aliases do not match its names, considering only aliases in ACLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongAliases {
    /// The named user, as authenticated.
    pub user: String,
    /// The names with missing aliases, such as `group team.a@example.com`.
    pub lacks: Vec<String>,
    /// The aliases that follow from none of the names.
    pub foreign: Vec<String>,
    /// The text with exactly the aliases of its names.
    pub text: String,
}

/// Returns the missing and wrong aliases of a text, considering only aliases in ACLs, or `None` if there are
/// none or the text is invalid.
pub fn wrong_aliases(text: &str, granted: &BTreeSet<String>) -> Option<WrongAliases> {
    if granted.is_empty() {
        return None;
    }
    let names = Names::read(text).ok()?;
    let (aliases, is_cut) = names.own_aliases(granted);
    let own = names.by_alias();
    let is_lacking =
        |alias: &String| granted.contains(alias) && aliases.contains(alias) && !names.aliases.contains(alias);
    let lacking: BTreeSet<_> =
        own.iter().filter(|(alias, _)| is_lacking(alias)).map(|(_, name)| name).collect();
    let is_foreign = |alias: &&String| granted.contains(*alias) && !own.contains_key(*alias);
    let foreign: Vec<_> = names.aliases.iter().filter(is_foreign).cloned().collect();
    if lacking.is_empty() && foreign.is_empty() {
        return None;
    }
    let lacks = lacking.into_iter().map(|(kind, name)| format!("{kind} {}", shown(name))).collect();
    let (user, text) = (names.identity.user.clone(), names.with(aliases, is_cut).text);
    Some(WrongAliases { user, lacks, foreign, text })
}

impl Names {
    /// Parses a text.
    ///
    /// # Errors
    /// The error, as the end of a sentence.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let UserInfo { user, groups } = read(text)?;
        Ok(Self::new(unescaped(&user).into_owned(), user, groups))
    }

    /// Returns the names of an authenticated user.
    pub(super) fn authenticated(user: &str, groups: &[String]) -> Self {
        Self::new(user.to_owned(), user.to_owned(), groups.to_vec())
    }

    fn new(user: String, written_user: String, mut groups: Vec<String>) -> Self {
        let aliases = groups.extract_if(.., |group| is_alias(group)).collect();
        Self { identity: Identity { user, groups }, aliases, written_user }
    }

    /// Returns the user.
    pub(super) fn user(&self) -> &str {
        &self.identity.user
    }

    /// Returns the groups in alias form, whether or not they follow from the names.
    pub(super) fn aliases(&self) -> &[String] {
        &self.aliases
    }

    /// Returns whether both contain the same user and groups, ignoring aliases.
    pub(super) fn are_the_same_as(&self, other: &Self) -> bool {
        self.identity.user == other.identity.user && set(&self.identity.groups) == set(&other.identity.groups)
    }

    /// Returns the first alias that follows from none of the names.
    pub(super) fn foreign(&self) -> Option<&str> {
        if self.aliases.is_empty() {
            return None;
        }
        let own = self.by_alias();
        self.aliases.iter().find(|alias| !own.contains_key(*alias)).map(String::as_str)
    }

    /// Returns the names that need an alias, by alias.
    fn by_alias(&self) -> BTreeMap<String, (Kind, &str)> {
        needing(&self.identity).map(|(kind, name)| (alias(kind, name), (kind, name))).collect()
    }

    /// Returns the text with the names and their aliases, or `None` if the parsed text already has this form.
    pub(super) fn rewritten(&self, granted: &BTreeSet<String>) -> Option<Written> {
        let (aliases, is_cut) = self.own_aliases(granted);
        let is_written =
            self.written_user == escaped(&self.identity.user) && set(&aliases) == set(&self.aliases);
        (!is_written).then(|| self.with(aliases, is_cut))
    }

    /// Returns the text with the names and their aliases.
    pub(super) fn write(&self, granted: &BTreeSet<String>) -> Written {
        let (aliases, is_cut) = self.own_aliases(granted);
        self.with(aliases, is_cut)
    }

    fn with(&self, aliases: Vec<String>, is_cut: bool) -> Written {
        let user = escaped(&self.identity.user).into_owned();
        let groups = self.identity.groups.iter().cloned().chain(aliases).collect();
        Written { text: UserInfo { user, groups }.write(), is_cut }
    }

    fn own_aliases(&self, granted: &BTreeSet<String>) -> (Vec<String>, bool) {
        let is_granted = |alias: &str| granted.contains(alias);
        let is_wanted = |(_, name): &(Kind, &str)| *name != EVERYBODY || is_granted(&OF_EVERYBODY);
        aliases_of(needing(&self.identity).filter(is_wanted), is_granted)
    }
}

fn set(names: &[String]) -> BTreeSet<&str> {
    names.iter().map(String::as_str).collect()
}

/// An example of the expected form, for messages.
pub(super) const FORM: &str = r#"{"user":"alice","groups":["devs"]}"#;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Strict {
    user: String,
    groups: Vec<String>,
}

/// Parses the annotation strictly. `YuniKorn` accepts keys in any case, the last of repeated keys, and
/// unknown keys, so people who read an object could see another user than the scheduler.
///
/// # Errors
/// The error, as the end of a sentence.
fn read(text: &str) -> Result<UserInfo, String> {
    // The decoder would also accept a list of the two values.
    if !text.trim_ascii_start().starts_with('{') {
        return Err("it is not a JSON object".to_owned());
    }
    let Strict { user, groups } =
        serde_json::from_str(text).map_err(|error| format!("it is invalid: {error}"))?;
    if user.is_empty() {
        return Err("it names no user".to_owned());
    }
    Ok(UserInfo { user, groups })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unambiguous_text_is_required() {
        for text in [FORM, r#" { "groups" : [ ] , "user" : "a" } "#, r#"{"user":"a"}"#] {
            let info = read(text).unwrap();
            assert_eq!(UserInfo::read(text), Ok(info), "{text}");
        }
        for (text, why) in [
            ("", "not a JSON object"),
            ("alice", "not a JSON object"),
            (r#"["a",[]]"#, "not a JSON object"),
            ("null", "not a JSON object"),
            (r#"{"user":"a"} x"#, "trailing characters"),
            ("{}", "names no user"),
            (r#"{"user":""}"#, "names no user"),
            (r#"{"groups":["devs"]}"#, "names no user"),
            (r#"{"User":"a"}"#, "unknown field `User`, expected `user` or `groups` at line 1 column 7"),
            (r#"{"user":"a","uid":"1"}"#, "unknown field `uid`"),
            (r#"{"user":"a","user":"b"}"#, "duplicate field `user`"),
            (r#"{"user":"a","groups":[],"groups":["x"]}"#, "duplicate field `groups`"),
            (r#"{"user":"a\ud800"}"#, "hex escape"),
            (r#"{"user":1}"#, "integer `1`, expected a string"),
            (r#"{"user":null}"#, "null, expected a string"),
            (r#"{"user":["a"]}"#, "sequence, expected a string"),
            (r#"{"user":"a","groups":null}"#, "null, expected a sequence"),
            (r#"{"user":"a","groups":"devs"}"#, "string \"devs\", expected a sequence"),
            (r#"{"user":"a","groups":[["devs"]]}"#, "sequence, expected a string"),
            (r#"{"user":"a","groups":[null]}"#, "null, expected a string"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn written_text_parses(user in r"\PC{1,8}", groups in prop::collection::vec(r"\PC{0,8}", 0..4)) {
            let info = UserInfo { user, groups };
            prop_assert_eq!(read(&info.write()), Ok(info));
        }

        #[test]
        fn parsed_text_equals_yunikorns(text in r#"[{}\[\]",:usergopnlUa\\ 0-9]{0,40}|\{"user":"[a-z\\u0-9]{0,9}"(,"groups":\["[a-z]","\PC"\])?\}"#) {
            if let Ok(info) = read(&text) {
                prop_assert_eq!(UserInfo::read(&text), Ok(info));
            }
        }
    }
}
