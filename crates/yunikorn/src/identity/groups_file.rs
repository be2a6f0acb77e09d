//! Users and their groups written in a file, for questions about people whose groups `YuniKorn` resolves from
//! a source that we cannot read.
//!
//! The file is YAML, a list of groups for each user, the primary group first:
//!
//! ```yaml
//! sue: [devs, ops]
//! bob: [devs]
//! eve: []          # known, and in no group
//! ```
//!
//! A user who is missing in the file is unknown: it does not follow that `YuniKorn` would refuse them.

use std::collections::BTreeMap;

use super::Refusal;
use super::resolver::GroupResolver;
use go_compat::diag::{Code, Diagnostic, quoted};
use go_compat::yaml::decode::{List, Map, decode};
use go_compat::yaml::parse_in;

go_compat::codes! {
    /// A user in a file of groups has no name, which no request can have either.
    pub const EMPTY_USER: Code = Code::new(7001, "empty-user-name");
    /// A group in a file of groups has no name: `YuniKorn` would keep it, and no ACL can name it.
    pub const EMPTY_GROUP: Code = Code::new(7002, "empty-group-name");
}

/// The groups of users.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupsFile {
    groups: BTreeMap<String, Vec<String>>,
}

impl GroupsFile {
    /// Reads the text of such a file, with findings about what is odd in it.
    ///
    /// # Errors
    /// All errors with their spans, when the text is not YAML, or not lists of groups by user.
    pub fn read(text: &str) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let document = parse_in(text).map_err(|problem| vec![problem])?;
        let help = "write a list of groups for each user, as in `sue: [devs, ops]`";
        let with_help =
            |wrong: Vec<Diagnostic>| wrong.into_iter().map(|found| found.help(help)).collect::<Vec<_>>();
        let users: Map<List<String>> = decode(document.as_ref()).map_err(with_help)?;
        let users = users.into_iter().flatten();
        let groups: BTreeMap<_, _> = users.map(|(user, groups)| (user, groups.unwrap_or_default())).collect();
        let odd = groups.iter().flat_map(|(user, groups)| oddities(user, groups)).collect();
        Ok((Self { groups }, odd))
    }
}

fn oddities(user: &str, groups: &[String]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if user.is_empty() {
        let message = "a user without a name has groups, and YuniKorn refuses such a user";
        found.push(Diagnostic::warning(EMPTY_USER, message).help("remove the entry, or name the user"));
    }
    if groups.iter().any(String::is_empty) {
        let message = format!("{} is in a group without a name, which no ACL can name", quoted(user));
        found.push(Diagnostic::warning(EMPTY_GROUP, message).help("remove the empty group"));
    }
    found
}

impl GroupResolver for GroupsFile {
    fn resolve(&self, user: &str) -> Result<Vec<String>, Refusal> {
        let unknown = || Refusal::Undecided(format!("the file of groups does not have {}", quoted(user)));
        self.groups.get(user).cloned().ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(text: &str, user: &str) -> Result<Vec<String>, Refusal> {
        GroupsFile::read(text).unwrap().0.resolve(user)
    }

    #[test]
    fn users_have_the_groups_that_are_listed() {
        let text = "sue: [devs, ops]\nbob:\n- devs\neve: []\nnil:\n1: [2]\n";
        let list = |groups: &[&str]| Ok(groups.iter().map(ToString::to_string).collect());
        assert_eq!(groups(text, "sue"), list(&["devs", "ops"]));
        assert_eq!(groups(text, "bob"), list(&["devs"]));
        assert_eq!(groups(text, "eve"), list(&[]));
        assert_eq!(groups(text, "nil"), list(&[]));
        assert_eq!(groups(text, "1"), list(&["2"]));
        let undecided = |why: &str| Err(Refusal::Undecided(why.to_owned()));
        assert_eq!(groups(text, "Sue"), undecided("the file of groups does not have `Sue`"));
        assert_eq!(groups("", "sue"), undecided("the file of groups does not have `sue`"));
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_place() {
        for (text, place) in
            [("sue: devs", "devs"), ("- sue", "- sue"), ("sue: [a]\nsue: [b]", "sue"), ("sue: [", "")]
        {
            let found = GroupsFile::read(text).unwrap_err();
            let span = found[0].span.unwrap();
            assert!(
                found[0].is_error() && text.get(span.start..).unwrap().starts_with(place),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn names_that_are_empty_are_reported() {
        let (_, found) = GroupsFile::read("\"\": [a]\nsue: [a, '']").unwrap();
        assert_eq!(found.iter().map(|finding| finding.code).collect::<Vec<_>>(), [EMPTY_USER, EMPTY_GROUP]);
    }
}
