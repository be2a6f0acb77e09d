//! Finds names that are probably wrong (unknown names, users that are groups elsewhere, typos), and names
//! with rights on queues that the admission controller lets submit as others.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Findings, LocatedAcl, codes, list};
use crate::alias::{ALIAS, is_alias};
use crate::tree::{GrantingEntry, Origin, QueueId, Tree};
use go_compat::diag::{Diagnostic, plural, quoted};
use go_compat::go_regex::GoRegex;
use yunikorn::acl::Match;
use yunikorn::admission::codes::TENANT_TRUSTED;
use yunikorn::admission::{EXTERNAL_GROUPS, EXTERNAL_USERS, PatternList};
use yunikorn::queue::nearest;
use yunikorn::right::Right;

/// The names that identities in a cluster can have.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The users; `None` if unknown. Users are then not checked.
    pub users: Option<Population>,
    /// The groups, likewise.
    pub groups: Option<Population>,
}

/// A set of names.
#[derive(Debug, Clone, Default)]
pub struct Population {
    /// Exact names.
    pub names: BTreeSet<String>,
    /// Expressions for further names. They match anywhere in a name unless anchored.
    pub patterns: Vec<GoRegex>,
}

impl Population {
    fn has(&self, name: &str) -> bool {
        self.names.contains(name) || self.patterns.iter().any(|pattern| pattern.is_match(name))
    }
}

impl Known {
    fn population(&self, name: Name<'_>) -> Option<&Population> {
        if name.is_group { self.groups.as_ref() } else { self.users.as_ref() }
    }
}

/// A user or a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Name<'t> {
    is_group: bool,
    text: &'t str,
}

impl<'t> Name<'t> {
    fn of(entry: Match<'t>) -> Option<Self> {
        match entry {
            Match::Everyone => None,
            Match::User(text) => Some(Self { is_group: false, text }),
            Match::Group(text) => Some(Self { is_group: true, text }),
        }
    }

    fn kind(self) -> &'static str {
        if self.is_group { "group" } else { "user" }
    }

    /// Returns the same name in the other list.
    fn other(self) -> Self {
        Self { is_group: !self.is_group, ..self }
    }
}

/// The uses of a name. Several objects may have written it into the same ACL.
type Uses<'t> = BTreeMap<Name<'t>, Vec<(LocatedAcl<'t>, &'t Origin)>>;

pub(super) fn find(tree: &Tree, known: &Known, findings: &mut Findings) {
    let uses = uses(tree);
    let slips = Slips::new(&uses);
    let mut compared = 0_usize;
    for (name, locations) in &uses {
        if name.is_group && is_alias(name.text) {
            alias_named(*name, locations, findings);
            continue;
        }
        match known.population(*name) {
            Some(population) if !population.has(name.text) => {
                unknown(*name, &uses, population, &mut compared, findings);
            }
            Some(_) => {}
            None => {
                if !known_otherwise(*name, locations, known, findings) && !other_kind(*name, &uses, findings)
                {
                    slip(*name, locations, &slips, findings);
                }
            }
        }
    }
}

fn uses(tree: &Tree) -> Uses<'_> {
    let mut locations = Uses::new();
    for acl in LocatedAcl::each(tree) {
        for (origin, part) in acl.parts() {
            for name in part.entries().filter_map(|entry| Name::of(tree.real(entry))) {
                locations.entry(name).or_default().push((acl, origin));
            }
        }
    }
    locations
}

/// Returns the number of ACLs.
fn acls(locations: &[(LocatedAcl<'_>, &Origin)]) -> usize {
    locations.chunk_by(|left, right| left.0.is(right.0)).count()
}

/// Returns the ACL if there is only one.
fn only<'t>(locations: &[(LocatedAcl<'t>, &'t Origin)]) -> Option<(LocatedAcl<'t>, &'t Origin)> {
    locations.first().copied().filter(|_| acls(locations) == 1)
}

/// Reports an alias without an effect, that is, in a text that no object wrote. An alias in an object's part
/// is ignored even if its name is unknown here.
fn alias_named(name: Name<'_>, locations: &[(LocatedAcl<'_>, &Origin)], findings: &mut Findings) {
    for (acl, origin) in locations.iter().filter(|(_, origin)| matches!(origin, Origin::Text(_))) {
        let message = format!("{acl} names the group {}, which has the form of an alias", quoted(name.text));
        let help = "write the user or group itself in a QueueAcl";
        findings.about_part(*acl, origin, ALIAS, message, help);
    }
}

/// Maximum number of comparisons between known and unknown names.
const MAX_COMPARED: usize = 5_000_000;

/// Reports an unknown name at all its uses.
fn unknown(
    name: Name<'_>,
    uses: &Uses<'_>,
    known: &Population,
    compared: &mut usize,
    findings: &mut Findings,
) {
    let (kind, text) = (name.kind(), quoted(name.text));
    let help = if uses.contains_key(&name.other()) {
        "other ACLs contain it in the other list; users come before the space, groups after it".to_owned()
    } else {
        // There may be a hundred thousand known names, and they are searched only if the result is needed.
        let candidates = known.names.iter().map(String::as_str);
        let candidates = candidates.take(MAX_COMPARED.saturating_sub(*compared));
        *compared = compared.saturating_add(known.names.len());
        match nearest(candidates, name.text) {
            Some(near) => format!("did you mean {}?", quoted(near)),
            None => format!(
                "write the name as the identity provider sends it, or add the {kind} to the known names"
            ),
        }
    };
    for (acl, origin) in uses.get(&name).into_iter().flatten() {
        let message = format!("{acl} names the unknown {kind} {text}");
        findings.about_part(*acl, origin, codes::NAME_UNKNOWN, message, &help);
    }
}

/// Reports a group with the name of a known user, or a user with the name of a known group, if nothing else
/// is known about it.
fn known_otherwise(
    name: Name<'_>,
    locations: &[(LocatedAcl<'_>, &Origin)],
    known: &Known,
    findings: &mut Findings,
) -> bool {
    if !known.population(name.other()).is_some_and(|population| population.names.contains(name.text)) {
        return false;
    }
    let help = if name.is_group {
        "write the user before the space; a user is in a group of the same name only if there is no \
         resolver and no groups are sent"
    } else {
        "write the group after the space"
    };
    for (acl, origin) in locations {
        let (text, kind, other) = (quoted(name.text), name.kind(), name.other().kind());
        let message = format!("{text} is a {kind} in {acl}, but the known name is a {other}");
        findings.about_part(*acl, origin, codes::USER_OR_GROUP, message, help);
    }
    true
}

/// Reports a name that is a user in one ACL but a group in others, or the other way round. If one ACL
/// contains both, they are different names.
fn other_kind(name: Name<'_>, uses: &Uses<'_>, findings: &mut Findings) -> bool {
    let (Some(locations), Some(others)) = (uses.get(&name), uses.get(&name.other())) else { return false };
    let (Some((acl, origin)), Some((first, _))) = (only(locations), others.first()) else { return false };
    // If both have one use, the user is reported, because YAML may have lost the space that makes them
    // groups.
    let more = acls(others).saturating_sub(1);
    let is_rarer = more > 0 || !name.is_group;
    if !is_rarer || others.iter().any(|(other, _)| other.is(acl)) {
        return false;
    }
    let more = if more > 0 { format!(" and {}", plural(more, "more ACL")) } else { String::new() };
    let (text, kind, other) = (quoted(name.text), name.kind(), name.other().kind());
    let message = format!("{text} is a {kind} in {acl}, but a {other} in {first}{more}");
    let help = "users come before the space, groups after it; groups without users begin with a quoted space: `\" \
        devs\"`";
    findings.about_part(acl, origin, codes::USER_OR_GROUP, message, help);
    true
}

/// Reports a name with a single use that is similar to a name with more uses.
fn slip(name: Name<'_>, locations: &[(LocatedAcl<'_>, &Origin)], slips: &Slips<'_>, findings: &mut Findings) {
    let Some((acl, origin)) = only(locations) else { return };
    let Some((near, count)) = slips.meant(name) else { return };
    let case = if near.eq_ignore_ascii_case(name.text) { "; names are case-sensitive" } else { "" };
    let (kind, text, near, acls) = (name.kind(), quoted(name.text), quoted(near), plural(count, "ACL"));
    let message = format!("the {kind} {text} is only in {acl}, but {near} is in {acls}{case}");
    findings.about_part(acl, origin, codes::NAME_SLIP, message, &format!("did you mean {near}?"));
}

/// Names in several ACLs, indexed by their text without one letter. Names that differ by one letter share
/// such a text, so that not all pairs must be compared.
struct Slips<'t> {
    frequent: HashMap<(bool, String), Vec<(&'t str, usize)>>,
}

/// Maximum length of a compared name, because a name adds as many texts as it has letters.
const MAX_NAME: usize = 64;
/// Minimum length of a compared word. Shorter words usually differ on purpose: `team-a`, `team-b`.
const MIN_WORD: usize = 4;

impl<'t> Slips<'t> {
    fn new(uses: &Uses<'t>) -> Self {
        let mut frequent: HashMap<_, Vec<_>> = HashMap::new();
        for (name, locations) in uses.iter().filter(|(_, locations)| acls(locations) > 1) {
            for key in keys(*name) {
                frequent.entry(key).or_default().push((name.text, acls(locations)));
            }
        }
        Self { frequent }
    }

    /// Returns the intended name, if it is unambiguous, and the number of its uses.
    fn meant(&self, name: Name<'_>) -> Option<(&'t str, usize)> {
        let frequent = keys(name).filter_map(|key| self.frequent.get(&key)).flatten().copied();
        let candidates: BTreeMap<&str, usize> =
            frequent.filter(|(other, _)| is_slip(name.text, other)).collect();
        let near = nearest(candidates.keys().copied(), name.text)?;
        Some((near, *candidates.get(near)?))
    }
}

/// Returns the name in lower case, itself and with each letter removed.
fn keys(name: Name<'_>) -> impl Iterator<Item = (bool, String)> {
    let is_group = name.is_group;
    let lower = name.text.to_ascii_lowercase();
    let lower = if lower.len() <= MAX_NAME { lower } else { String::new() };
    let shorter: Vec<String> = (0..lower.len())
        .filter_map(|at| Some(format!("{}{}", lower.get(..at)?, lower.get(at + 1..)?)))
        .collect();
    shorter.into_iter().chain([lower]).filter(|key| !key.is_empty()).map(move |key| (is_group, key))
}

/// Returns whether the difference looks like a typo. Differences in numbers and short words do not.
fn is_slip(left: &str, right: &str) -> bool {
    let (left, right) = (left.to_ascii_lowercase(), right.to_ascii_lowercase());
    let words = |name: &str| -> Vec<String> {
        name.split(|c: char| !c.is_ascii_alphabetic())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
    let (a, b) = (words(&left), words(&right));
    let long = |(a, b): (&String, &String)| a == b || (a.len() >= MIN_WORD && b.len() >= MIN_WORD);
    // `data-eng` and `dataeng` have different words but the same letters.
    let alike = if a.len() == b.len() { a.iter().zip(&b).all(long) } else { a.concat() == b.concat() };
    alike && digits(&left) == digits(&right)
}

/// Returns a warning for each expression in a list of `YuniKorn`'s admission controller that matches names in
/// ACLs. The span is the expression in the text of the list. Names that may submit to the root gain nothing
/// from it and are ignored.
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
            1 => format!("which has access to {queue}"),
            count => format!("{} with access to {queue} and other queues", plural(count, "name")),
        };
        let message = format!(
            "the expression {} trusts {}, {queues}: they can submit as anyone, and so to every queue",
            quoted(pattern.as_str()),
            list(&trusted)
        );
        let help = "access to a queue only requires an ACL; remove them from the list, which is for front ends that submit \
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
    fn trusted_names_with_queues_are_reported() {
        let groups = found(EXTERNAL_GROUPS, "^livy$, ^red-team$,team", "");
        let [(first, red), (second, both)] = groups.as_slice() else { panic!("{groups:?}") };
        assert_eq!((first.as_str(), second.as_str()), ("^red-team$", "team"));
        assert!(
            red.contains("trusts group `red-team`, which has access to `root.red`: they can submit as"),
            "{red}"
        );
        assert!(
            both.contains("groups `blue-team`, `red-team`, 2 names with access to `root.blue`"),
            "{both}"
        );
        assert!(
            matches!(found(EXTERNAL_USERS, "^r", "").as_slice(), [(_, said)] if said.contains("user `rita`"))
        );
        // A user is not a group, and the list of controllers is not checked.
        assert_eq!(found(EXTERNAL_GROUPS, "^rita$", ""), []);
        assert_eq!(found("admissionController.accessControl.systemUsers", "^rita$", ""), []);
    }

    #[test]
    fn names_with_submit_on_the_root_are_not_reported() {
        assert_eq!(found(EXTERNAL_GROUPS, "^red-team$", "adminacl: ' red-team',"), []);
        assert_eq!(found(EXTERNAL_GROUPS, "^red-team$", "submitacl: '*',").len(), 1);
        assert_eq!(found(EXTERNAL_GROUPS, "^(red", ""), []);
    }
}
