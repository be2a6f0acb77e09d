//! The names in the annotation's text, and the aliases beside them.
//!
//! An alias in a text proves nothing by itself: it counts only if it follows from a name in the same text
//! ([`Names::foreign`]). The webhook writes a text anew if its aliases are others than those of its names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::json;
use crate::alias::{Kind, alias, aliases_of, escaped, is_alias, needing, shown, unescaped};
use yunikorn::admission::UserInfo;
use yunikorn::identity::Identity;

/// The group of all users. Its alias is written only where it is granted: each text would need the webhook
/// otherwise, also the texts of users whose own names need no alias.
const EVERYBODY: &str = "system:authenticated";
static OF_EVERYBODY: LazyLock<String> = LazyLock::new(|| alias(Kind::Group, EVERYBODY));

/// The content of a text, or of an authenticated requester.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names {
    /// The user as authenticated, and the groups without those of alias form.
    identity: Identity,
    /// The groups of alias form.
    aliases: Vec<String>,
    /// The user as in the text.
    written_user: String,
}

/// A text to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    /// The annotation's value.
    pub(super) text: String,
    /// True if there are more aliases than the text may have.
    pub(super) is_cut: bool,
}

/// A text whose aliases are not those of its names, as far as ACLs name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongAliases {
    /// The user that it names, as authenticated.
    pub user: String,
    /// The names whose aliases it lacks, such as `group team.a@example.com`.
    pub lacks: Vec<String>,
    /// The aliases that it has and that follow from none of its names.
    pub foreign: Vec<String>,
    /// The text with all aliases of its names, and no others.
    pub text: String,
}

/// Returns the aliases that a text lacks or has wrongly, of those that ACLs name; `None` if there are none,
/// or if it cannot be read.
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
    let lacks = lacking.into_iter().map(|(kind, name)| format!("{} {}", kind.noun(), shown(name))).collect();
    let (user, text) = (names.identity.user.clone(), names.with(aliases, is_cut).text);
    Some(WrongAliases { user, lacks, foreign, text })
}

impl Names {
    /// Reads a text.
    ///
    /// # Errors
    /// The error, as the end of a sentence.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let UserInfo { user, groups } = json::read(text)?;
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

    /// The user.
    pub(super) fn user(&self) -> &str {
        &self.identity.user
    }

    /// The groups of alias form, whether or not they follow from the names.
    pub(super) fn aliases(&self) -> &[String] {
        &self.aliases
    }

    /// Returns whether both name the same user with the same groups, whatever their aliases are.
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

    /// Returns the names that need an alias, by it.
    fn by_alias(&self) -> BTreeMap<String, (Kind, &str)> {
        needing(&self.identity).map(|(kind, name)| (alias(kind, name), (kind, name))).collect()
    }

    /// Returns the text that names them with their aliases; `None` if the text that was read does so.
    pub(super) fn rewritten(&self, granted: &BTreeSet<String>) -> Option<Written> {
        let (aliases, is_cut) = self.own_aliases(granted);
        let is_written =
            self.written_user == escaped(&self.identity.user) && set(&aliases) == set(&self.aliases);
        (!is_written).then(|| self.with(aliases, is_cut))
    }

    /// Returns the text that names them with their aliases.
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
