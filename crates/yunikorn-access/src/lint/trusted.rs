//! Finds names with rights on queues that the admission controller lets submit as others.

use std::collections::BTreeMap;

use super::{LocatedAcl, list};
use crate::tree::GrantingEntry;
use crate::tree::{QueueId, Tree};
use go_compat::diag::{Diagnostic, plural, quoted};
use yunikorn::acl::Match;
use yunikorn::admission::codes::TENANT_TRUSTED;
use yunikorn::admission::{EXTERNAL_GROUPS, EXTERNAL_USERS, PatternList};
use yunikorn::right::Right;

/// Returns a warning for each expression of a list of `YuniKorn`'s admission controller that matches names in
/// ACLs. Its span is the expression in the text of the list. Names that may submit to the root gain no queue
/// by it, and are left out.
pub fn trusted_names(tree: &Tree, key: &str, text: &str) -> Vec<Diagnostic> {
    if ![EXTERNAL_GROUPS, EXTERNAL_USERS].contains(&key) {
        return Vec::new();
    }
    let of_list = |entry: &Match<'_>| match entry {
        Match::Everyone => false,
        Match::User(_) => key == EXTERNAL_USERS,
        Match::Group(_) => key == EXTERNAL_GROUPS,
    };
    let named = |entry| GrantingEntry::of_name(tree, Right::Submit, QueueId::ROOT, entry);
    let on_root = |entry| named(entry).is_some_and(|granting| granting.entry != Match::Everyone);
    let mut queues: BTreeMap<&str, (Match<'_>, String)> = BTreeMap::new();
    for acl in LocatedAcl::each(tree) {
        for entry in acl.grants().acl.entries().filter(|entry| !on_root(*entry)) {
            let real = tree.real(entry);
            if let (true, Match::User(name) | Match::Group(name)) = (of_list(&real), real) {
                queues.entry(name).or_insert_with(|| (real, quoted(acl.node.path.as_str())));
            }
        }
    }
    let (list_of_key, _) = PatternList::read(key, Some(text));
    let expressions = list_of_key.patterns().iter().zip(PatternList::spans(text));
    let found = expressions.filter_map(|(pattern, span)| {
        let matched: Vec<_> = queues.iter().filter(|(name, _)| pattern.is_match(name)).collect();
        let (_, (_, queue)) = matched.first()?;
        let trusted: Vec<Match<'_>> = matched.iter().map(|(_, (entry, _))| *entry).collect();
        let queues = match trusted.len() {
            1 => format!("which ACLs let use {queue}"),
            count => format!("{}, which ACLs let use {queue} and others", plural(count, "name")),
        };
        let message = format!(
            "the expression {} trusts {}, {queues}: they submit as anyone, and so to every queue",
            quoted(pattern.as_str()),
            list(&trusted)
        );
        let help = "an ACL is enough to use a queue: remove them from the list, which is for front ends that submit \
                    for others";
        Some(Diagnostic::warning(TENANT_TRUSTED, message).at(span).help(help))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::parsed;

    fn found(key: &str, text: &str, root: &str) -> Vec<(String, String)> {
        let tree = parsed(&format!(
            "partitions: [{{name: default, queues: [{{name: root, {root} queues: [\
             {{name: red, submitacl: 'rita red-team'}}, {{name: blue, adminacl: ' blue-team'}}]}}]}}]"
        ));
        let warnings = trusted_names(&tree, key, text).into_iter().map(|found| {
            let span = found.span.unwrap();
            (text.get(span.start..span.end).unwrap().to_owned(), found.message)
        });
        warnings.collect()
    }

    #[test]
    fn names_with_queues_that_lists_trust_are_reported() {
        let groups = found(EXTERNAL_GROUPS, "^livy$, ^red-team$,team", "");
        let [(first, red), (second, both)] = groups.as_slice() else { panic!("{groups:?}") };
        assert_eq!((first.as_str(), second.as_str()), ("^red-team$", "team"));
        assert!(
            red.contains("trusts group `red-team`, which ACLs let use `root.red`: they submit as"),
            "{red}"
        );
        assert!(
            both.contains("groups `blue-team`, `red-team`, 2 names, which ACLs let use `root.blue`"),
            "{both}"
        );
        assert!(
            matches!(found(EXTERNAL_USERS, "^r", "").as_slice(), [(_, said)] if said.contains("user `rita`"))
        );
        // A user is no group, and the list of controllers is not looked at.
        assert_eq!(found(EXTERNAL_GROUPS, "^rita$", ""), []);
        assert_eq!(found("admissionController.accessControl.systemUsers", "^rita$", ""), []);
    }

    #[test]
    fn names_that_may_submit_to_the_root_are_not() {
        assert_eq!(found(EXTERNAL_GROUPS, "^red-team$", "adminacl: ' red-team',"), []);
        assert_eq!(found(EXTERNAL_GROUPS, "^red-team$", "submitacl: '*',").len(), 1);
        assert_eq!(found(EXTERNAL_GROUPS, "^(red", ""), []);
    }
}
