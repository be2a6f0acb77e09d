//! The filter of a placement rule, which selects users and groups (yunikorn-core
//! `pkg/scheduler/placement/filter.go`).

use std::collections::BTreeSet;
use std::fmt;

use super::trace::Why;
use go_compat::go_regex::{GoRegex, is_undecided};
use go_compat::yaml::decode::{Spanned, items};
use yunikorn::config::names::{is_expression, is_group, is_user};
use yunikorn::config::schema;
use yunikorn::identity::Identity;

/// A rule's filter.
#[derive(Debug)]
pub(super) struct Filter {
    /// False only for the exact type `deny`. The validator accepts any case, but the filter does not
    /// (`filter.go:138`).
    allow: bool,
    empty: bool,
    users: Names,
    groups: Names,
}

/// The users or the groups of a filter.
#[derive(Debug)]
enum Names {
    Listed(BTreeSet<String>),
    Matching(GoRegex),
    /// An expression that Go may compile but whose meaning is unknown.
    Undecided {
        pattern: String,
        reason: String,
    },
}

impl Filter {
    /// `newFilter` (`filter.go:127`).
    pub(super) fn new(written: &schema::Filter) -> Self {
        let [users, groups] = [items(&written.users), items(&written.groups)];
        Self {
            allow: written.kind.as_str() != "deny",
            empty: users.is_empty() && groups.is_empty(),
            users: Names::new(users, is_user),
            groups: Names::new(groups, is_group),
        }
    }

    /// Returns whether the rule applies to this user, and why (`allowUser`, `filter.go:50`).
    ///
    /// # Errors
    /// The reason why this is unknown.
    pub(super) fn apply(&self, identity: &Identity) -> Result<(bool, Why), String> {
        let why = self.listed(identity)?;
        Ok((self.allow != (why == Why::NotListed), why))
    }

    fn listed(&self, identity: &Identity) -> Result<Why, String> {
        if self.empty {
            return Ok(Why::Empty);
        }
        if self.users.has(&identity.user)? {
            return Ok(Why::User);
        }
        for group in &identity.groups {
            if self.groups.has(group)? {
                return Ok(Why::Group(group.clone()));
            }
        }
        Ok(Why::NotListed)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [("users", &self.users), ("groups", &self.groups)];
        let named = lists.iter().filter(|(_, names)| !names.is_empty());
        let named: Vec<String> = named.map(|(what, names)| format!("{what} {names}")).collect();
        let verb = if self.allow { "allow" } else { "deny" };
        match named.as_slice() {
            [] if self.empty => f.write_str(if self.allow { "" } else { verb }),
            [] => write!(f, "{verb} nobody"),
            named => write!(f, "{verb} {}", named.join(", ")),
        }
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listed(names) => f.write_str(&names.iter().cloned().collect::<Vec<_>>().join(", ")),
            Self::Matching(expression) => f.write_str(expression.as_str()),
            Self::Undecided { pattern, .. } => f.write_str(pattern),
        }
    }
}

impl Names {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Listed(names) if names.is_empty())
    }

    /// Parses the names. A single name with a special character is an expression, even `alice$`, which is
    /// also a valid user name. In a longer list, invalid names are dropped.
    fn new(written: &[Spanned], is_name: impl Fn(&str) -> bool) -> Self {
        match written {
            [only] if is_expression(only.as_str()) => Self::expression(only.as_str()),
            names => {
                let names = names.iter().map(Spanned::as_str).filter(|name| is_name(name));
                Self::Listed(names.map(str::to_owned).collect())
            }
        }
    }

    fn expression(pattern: &str) -> Self {
        match GoRegex::new(pattern) {
            Ok(expression) => Self::Matching(expression),
            Err(error) if is_undecided(&error) => {
                Self::Undecided { pattern: pattern.to_owned(), reason: error.message }
            }
            // Go logs an error and continues with an empty list (`filter.go:147`).
            Err(_) => Self::Listed(BTreeSet::new()),
        }
    }

    fn has(&self, name: &str) -> Result<bool, String> {
        match self {
            Self::Listed(names) => Ok(names.contains(name)),
            Self::Matching(expression) => Ok(expression.is_match(name)),
            Self::Undecided { pattern, reason } => {
                Err(format!("the expression `{pattern}` of its filter: {reason}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(kind: &str, users: &[&str], groups: &[&str]) -> Filter {
        let list = |names: &[&str]| {
            Some(
                names
                    .iter()
                    .map(|name| Spanned { value: (*name).to_owned(), ..Spanned::default() })
                    .collect(),
            )
        };
        let kind = Spanned { value: kind.to_owned(), ..Spanned::default() };
        Filter::new(&schema::Filter { kind, users: list(users), groups: list(groups) })
    }

    fn answer(filter: &Filter, user: &str, groups: &[&str]) -> (bool, Why) {
        let groups = groups.iter().map(ToString::to_string).collect();
        filter.apply(&Identity { user: user.to_owned(), groups }).expect("decided")
    }

    #[test]
    fn lists_and_expressions_are_distinguished_as_yunikorn_does() {
        let cases = [
            (filter("", &[], &[]), (true, Why::Empty)),
            (filter("allow", &[], &[]), (true, Why::Empty)),
            (filter("deny", &[], &[]), (false, Why::Empty)),
            (filter("Deny", &[], &[]), (true, Why::Empty)),
            (filter("", &["alice"], &[]), (true, Why::User)),
            (filter("deny", &["alice"], &[]), (false, Why::User)),
            (filter("DENY", &["alice"], &[]), (true, Why::User)),
            (filter("", &["bob"], &["devs"]), (true, Why::Group("devs".to_owned()))),
            (filter("deny", &["bob"], &["ops"]), (true, Why::NotListed)),
            (filter("", &["bob"], &["ops"]), (false, Why::NotListed)),
            // A single expression is not anchored; in a longer list, it is not a valid name.
            (filter("", &["li."], &[]), (false, Why::NotListed)),
            (filter("", &["li.?"], &[]), (true, Why::User)),
            (filter("", &["li.?", "bob"], &[]), (false, Why::NotListed)),
            (filter("", &["ice$"], &[]), (true, Why::User)),
            (filter("", &[], &["^de"]), (true, Why::Group("devs".to_owned()))),
            (filter("", &["["], &[]), (false, Why::NotListed)),
        ];
        for (filter, expected) in cases {
            assert_eq!(answer(&filter, "alice", &["qa", "devs"]), expected, "{filter:?}");
        }
    }

    #[test]
    fn filter_is_described() {
        let cases = [
            (filter("", &[], &[]), ""),
            (filter("deny", &[], &[]), "deny"),
            (filter("Deny", &["bob", "al", "b.*"], &["^qa"]), "allow users al, bob, groups ^qa"),
            (filter("deny", &[], &["ops"]), "deny groups ops"),
            (filter("", &["b.*", "c.*"], &[]), "allow nobody"),
        ];
        for (filter, expected) in cases {
            assert_eq!(filter.to_string(), expected);
        }
    }

    #[test]
    fn undecidable_filter_is_not_guessed() {
        let deep = format!("{}a{}", "(".repeat(40), ")".repeat(40));
        let reason = filter("", &[&deep], &[]).apply(&Identity::default()).expect_err("undecided");
        assert!(reason.contains("its filter"), "{reason}");
    }
}
