//! Maps the names of users and groups in the source to their names in Kubernetes.
//!
//! A map consists of a template, such as `oidc:{u}`, and of pairs from a file, which take precedence. Without
//! either, a name stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use go_compat::diag::quoted;
use yunikorn::acl::List;
use yunikorn_access::subject::Subject;

/// Maximum number of lines in a file.
const MAX_PAIRS: usize = 1_000_000;

/// Names of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameMap {
    template: Option<(String, String)>,
    /// The new name, or `None` to omit the name.
    pairs: BTreeMap<String, Option<String>>,
}

/// The maps of both kinds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// The map for users.
    pub users: NameMap,
    /// The map for groups.
    pub groups: NameMap,
}

/// The result of mapping a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mapped {
    /// The name in a pair.
    Pair(String),
    /// A pair omits the name.
    LeftOut,
    /// The name that the template produces.
    Made(String),
    /// The name does not change.
    Same,
}

impl NameMap {
    /// Adds a template, which must contain `placeholder` exactly once.
    ///
    /// # Errors
    /// Fails if it does not, or if there is already a template.
    pub fn with_template(self, text: &str, placeholder: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(placeholder).collect();
        let [before, behind] = parts.as_slice() else {
            return Err(format!("write {placeholder} once in {}", quoted(text)));
        };
        if self.template.is_some() {
            return Err(format!("{} is a second template; only one is allowed", quoted(text)));
        }
        Ok(Self { template: Some(((*before).to_owned(), (*behind).to_owned())), ..self })
    }

    /// Adds the pairs in a file: `FROM=TO` on each line, split at the last `=`. If TO is empty, the name is
    /// omitted. Empty lines and lines that begin with `#` are ignored.
    ///
    /// # Errors
    /// Fails when a line is not a pair, or contradicts another.
    pub fn with_pairs(mut self, text: &str) -> Result<Self, String> {
        for (at, line) in text.lines().enumerate().take(MAX_PAIRS) {
            let number = at.saturating_add(1);
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((from, to)) = line
                .rsplit_once('=')
                .map(|(from, to)| (from.trim(), to.trim()))
                .filter(|(from, _)| !from.is_empty())
            else {
                return Err(format!("line {number} is not a pair: write FROM=TO"));
            };
            let to = Some(to.to_owned()).filter(|to| !to.is_empty());
            let before = self.pairs.insert(from.to_owned(), to.clone());
            if before.is_some_and(|before| before != to) {
                return Err(format!(
                    "line {number} maps {} to a different name than an earlier line",
                    quoted(from)
                ));
            }
        }
        Ok(self)
    }

    /// Maps a name.
    pub fn map(&self, name: &str) -> Mapped {
        match (self.pairs.get(name), &self.template) {
            (Some(Some(to)), _) => Mapped::Pair(to.clone()),
            (Some(None), _) => Mapped::LeftOut,
            (None, Some((before, behind))) => Mapped::Made([before, name, behind].concat()),
            (None, None) => Mapped::Same,
        }
    }

    /// Returns the name in Kubernetes, or `None` if it is omitted and no one there has it.
    pub fn identity(&self, name: &str) -> Option<String> {
        match self.map(name) {
            Mapped::Pair(to) | Mapped::Made(to) => Some(to),
            Mapped::Same => Some(name.to_owned()),
            Mapped::LeftOut => None,
        }
    }

    /// Returns all source names that map to one of these Kubernetes names and can be derived: through a pair,
    /// or because no pair overrides the template. They need not appear in the source.
    fn called<'a>(&'a self, names: &'a BTreeSet<String>) -> impl Iterator<Item = String> + 'a {
        let by_pair = self
            .pairs
            .keys()
            .filter(|from| self.identity(from).is_some_and(|to| names.contains(&to)))
            .cloned();
        by_pair.chain(names.iter().filter_map(|name| self.unmapped(name)))
    }

    /// Returns the source name that maps to this one because no pair overrides it.
    fn unmapped(&self, name: &str) -> Option<String> {
        let from = match &self.template {
            Some((before, behind)) => name.strip_prefix(before.as_str())?.strip_suffix(behind.as_str())?,
            None => name,
        };
        (!from.is_empty() && self.identity(from).is_some_and(|to| to == name)).then(|| from.to_owned())
    }
}

/// Returns the subject for a name in a list of users or groups.
pub(crate) fn subject(list: List, name: &str) -> Subject {
    match list {
        List::Users => Subject::User(name.to_owned()),
        List::Groups => Subject::Group(name.to_owned()),
    }
}

impl Names {
    /// Returns the map for users or for groups.
    pub(crate) fn of(&self, list: List) -> &NameMap {
        match list {
            List::Users => &self.users,
            List::Groups => &self.groups,
        }
    }

    /// Returns the subject in Kubernetes. An omitted one becomes everyone, because it has no more access than
    /// others.
    pub fn identity(&self, subject: &Subject) -> Subject {
        let identity = match subject {
            Subject::Everyone => None,
            Subject::User(name) => self.users.identity(name).map(Subject::User),
            Subject::Group(name) => self.groups.identity(name).map(Subject::Group),
        };
        identity.unwrap_or(Subject::Everyone)
    }

    /// Returns all subjects to compare: the named ones, others that might be confused with them, and
    /// everyone.
    pub fn requested(&self, named: &BTreeSet<Subject>) -> BTreeSet<Subject> {
        let (mut users, mut groups) = (BTreeSet::new(), BTreeSet::new());
        for subject in named {
            match self.identity(subject) {
                Subject::Everyone => continue,
                Subject::User(name) => users.insert(name),
                Subject::Group(name) => groups.insert(name),
            };
        }
        let strangers = self.users.called(&users).map(Subject::User);
        let strangers = strangers.chain(self.groups.called(&groups).map(Subject::Group));
        named.iter().cloned().chain(strangers).chain([Subject::Everyone]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_mapped_by_pairs_then_by_the_template() {
        let map = NameMap::default().with_template("oidc:{u}", "{u}").expect("a template");
        let map = map
            .with_pairs("# people\nalice=a.liddell\n\n CORP\\bob = bob \ncn=x,dc=y=z\nroot=\n")
            .expect("pairs");
        let cases = [
            ("alice", Mapped::Pair("a.liddell".into()), Some("a.liddell")),
            ("CORP\\bob", Mapped::Pair("bob".into()), Some("bob")),
            ("cn=x,dc=y", Mapped::Pair("z".into()), Some("z")),
            ("root", Mapped::LeftOut, None),
            ("carol", Mapped::Made("oidc:carol".into()), Some("oidc:carol")),
        ];
        for (name, mapped, identity) in cases {
            assert_eq!((map.map(name), map.identity(name).as_deref()), (mapped, identity), "{name}");
        }
        assert_eq!(NameMap::default().map("x"), Mapped::Same);
    }

    #[test]
    fn a_map_that_cannot_be_meant_is_refused() {
        assert!(NameMap::default().with_template("everyone", "{u}").is_err());
        assert!(NameMap::default().with_template("{u}{u}", "{u}").is_err());
        assert!(
            NameMap::default()
                .with_template("a{u}", "{u}")
                .and_then(|map| map.with_template("b{u}", "{u}"))
                .is_err()
        );
        for text in ["alice", "=x", "a=b\na=c"] {
            assert!(NameMap::default().with_pairs(text).is_err(), "{text}");
        }
        assert!(NameMap::default().with_pairs("a=b\na=b").is_ok());
    }

    #[test]
    fn who_might_be_taken_for_another_is_asked_too() {
        let users = NameMap::default().with_pairs("alice=bob").expect("pairs");
        let names = Names { users, groups: NameMap::default() };
        let requested = names.requested(&[Subject::User("alice".into())].into());
        let expected = [Subject::Everyone, Subject::User("alice".into()), Subject::User("bob".into())];
        assert_eq!(requested, expected.into());
        let users = NameMap::default().with_pairs("alice=bob\nbob=").expect("pairs");
        let names = Names { users, groups: NameMap::default() };
        assert_eq!(
            names.requested(&[Subject::User("alice".into())].into()).len(),
            2,
            "bob has no name there"
        );
        let users = NameMap::default().with_pairs("eve=alice").expect("pairs");
        let names = Names { users, groups: NameMap::default() };
        let requested = names.requested(&[Subject::User("alice".into())].into());
        let expected = [Subject::Everyone, Subject::User("alice".into()), Subject::User("eve".into())];
        assert_eq!(requested, expected.into());
    }
}
