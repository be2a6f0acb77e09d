//! Finds names that are likely wrong: unknown ones, users that are groups elsewhere, typing errors.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Findings, Place, codes};
use crate::tree::{Origin, Tree};
use go_compat::diag::{plural, quoted};
use go_compat::go_regex::GoRegex;
use yunikorn::acl::Match;
use yunikorn::queue::nearest;

/// The names that the identities of a cluster can have.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The users; `None` when they are not known, and then no user is checked.
    pub users: Option<Population>,
    /// The groups, in the same way.
    pub groups: Option<Population>,
}

/// A set of names.
#[derive(Debug, Clone, Default)]
pub struct Population {
    /// Exact names.
    pub names: BTreeSet<String>,
    /// Expressions that match further names, anywhere in them unless anchored.
    pub patterns: Vec<GoRegex>,
}

impl Population {
    fn has(&self, name: &str) -> bool {
        self.names.contains(name) || self.patterns.iter().any(|pattern| pattern.is_match(name))
    }
}

impl Known {
    fn population(&self, entry: Match<'_>) -> Option<&Population> {
        match entry {
            Match::Everyone => None,
            Match::User(_) => self.users.as_ref(),
            Match::Group(_) => self.groups.as_ref(),
        }
    }
}

/// The uses of a name: several objects may have written it into one ACL.
type Uses<'t> = BTreeMap<Match<'t>, Vec<(Place<'t>, &'t Origin)>>;

pub(super) fn find(tree: &Tree, known: &Known, findings: &mut Findings) {
    let uses = uses(tree);
    let slips = Slips::new(&uses);
    for (entry, places) in &uses {
        match known.population(*entry) {
            Some(population) if !population.has(name(*entry)) => {
                unknown(*entry, &uses, population, findings);
            }
            Some(_) => {}
            None => {
                if !known_otherwise(*entry, places, known, findings) && !other_kind(*entry, &uses, findings) {
                    slip(*entry, places, &slips, findings);
                }
            }
        }
    }
}

fn uses(tree: &Tree) -> Uses<'_> {
    let mut uses = Uses::new();
    for place in Place::each(tree) {
        for (origin, part) in place.parts() {
            for entry in part.entries().filter(|entry| *entry != Match::Everyone) {
                uses.entry(entry).or_default().push((place, origin));
            }
        }
    }
    uses
}

/// The number of ACLs.
fn acls(places: &[(Place<'_>, &Origin)]) -> usize {
    places.chunk_by(|left, right| left.0.is(right.0)).count()
}

/// The one ACL, if there is only one.
fn only<'t>(places: &[(Place<'t>, &'t Origin)]) -> Option<(Place<'t>, &'t Origin)> {
    places.first().copied().filter(|_| acls(places) == 1)
}

fn name(entry: Match<'_>) -> &str {
    match entry {
        Match::Everyone => "*",
        Match::User(name) | Match::Group(name) => name,
    }
}

fn kind(entry: Match<'_>) -> &'static str {
    match entry {
        Match::Everyone => "everyone",
        Match::User(_) => "user",
        Match::Group(_) => "group",
    }
}

/// The same name in the other list.
fn other(entry: Match<'_>) -> Option<Match<'_>> {
    match entry {
        Match::User(name) => Some(Match::Group(name)),
        Match::Group(name) => Some(Match::User(name)),
        Match::Everyone => None,
    }
}

/// Reports a name that is none of the known ones, once for all its uses.
fn unknown(entry: Match<'_>, uses: &Uses<'_>, known: &Population, findings: &mut Findings) {
    let (kind, name) = (kind(entry), name(entry));
    let elsewhere = other(entry).filter(|other| uses.contains_key(other));
    // There may be a hundred thousand known names, and they are only searched when the result matters.
    let near = || nearest(known.names.iter().map(String::as_str), name);
    let help = match elsewhere.map_or_else(near, |_| None) {
        _ if elsewhere.is_some() => {
            "other ACLs have it in the other list: users stand before the space, groups behind it".to_owned()
        }
        Some(near) => format!("write {} if that is meant", quoted(near)),
        None => format!("write the name as the identity provider sends it, or make the {kind} known"),
    };
    for (place, origin) in uses.get(&entry).into_iter().flatten() {
        let message = format!("{place} names the {kind} {}, which is not known", quoted(name));
        findings.about_part(*place, origin, codes::NAME_UNKNOWN, message, &help);
    }
}

/// Reports a group with the name of a known user, or a user with that of a known group, when nothing else is
/// known about it.
fn known_otherwise(
    entry: Match<'_>,
    locations: &[(Place<'_>, &Origin)],
    known: &Known,
    findings: &mut Findings,
) -> bool {
    let Some(other) = other(entry) else { return false };
    if !known.population(other).is_some_and(|population| population.names.contains(name(entry))) {
        return false;
    }
    let help = match entry {
        Match::Group(_) => {
            "write the user before the space: a user is in a group of its own name only where there is no \
             resolver and no groups are sent"
        }
        _ => "write the group behind the space",
    };
    for (place, origin) in locations {
        let (name, kind, other) = (quoted(name(entry)), kind(entry), kind(other));
        let message = format!("{name} is a {kind} in {place}, and a {other} is known by that name");
        findings.about_part(*place, origin, codes::USER_OR_GROUP, message, help);
    }
    true
}

/// Reports a user in one ACL that is a group in others, or the other way round. Where one ACL has both, they
/// count as two names.
fn other_kind(entry: Match<'_>, uses: &Uses<'_>, findings: &mut Findings) -> bool {
    let Some(other) = other(entry) else { return false };
    let (Some(places), Some(others)) = (uses.get(&entry), uses.get(&other)) else { return false };
    let (Some((place, origin)), Some((first, _))) = (only(places), others.first()) else { return false };
    // Of two names with one use each, the user is reported, because a space that YAML lost makes users of
    // groups.
    let more = acls(others).saturating_sub(1);
    let is_rarer = more > 0 || matches!(entry, Match::User(_));
    if !is_rarer || others.iter().any(|(other, _)| other.is(place)) {
        return false;
    }
    let more = if more > 0 { format!(" and {}", plural(more, "more ACL")) } else { String::new() };
    let (name, kind, other) = (quoted(name(entry)), kind(entry), kind(other));
    let message = format!("{name} is a {kind} in {place}, and a {other} in {first}{more}");
    let help = "users stand before the space, groups behind it; quoted, groups alone begin with a space: `\" \
        devs\"`";
    findings.about_part(place, origin, codes::USER_OR_GROUP, message, help);
    true
}

/// Reports a name with one use that is like one with more uses.
fn slip(entry: Match<'_>, places: &[(Place<'_>, &Origin)], slips: &Slips<'_>, findings: &mut Findings) {
    let Some((place, origin)) = only(places) else { return };
    let Some((near, count)) = slips.meant(entry) else { return };
    let (kind, name, near) = (kind(entry), name(entry), name(near));
    let case = if near.eq_ignore_ascii_case(name) { ": case matters" } else { "" };
    let (name, near, acls) = (quoted(name), quoted(near), plural(count, "ACL"));
    let message = format!("the {kind} {name} stands in {place} only, and {near} in {acls}{case}");
    findings.about_part(place, origin, codes::NAME_SLIP, message, &format!("write {near} if that is meant"));
}

/// Names that are in several ACLs, indexed by the text that remains when one letter is taken out: names that
/// are one letter apart share such a text, so that not every pair has to be compared.
struct Slips<'t> {
    frequent: HashMap<(bool, String), Vec<(Match<'t>, usize)>>,
}

/// The longest name that is examined, because each name adds as many texts as it has letters.
const MAX_NAME: usize = 64;
/// The shortest word that is compared. Shorter ones mostly differ on purpose: `team-a`, `team-b`.
const MIN_WORD: usize = 4;

impl<'t> Slips<'t> {
    fn new(uses: &Uses<'t>) -> Self {
        let mut frequent: HashMap<_, Vec<_>> = HashMap::new();
        for (entry, places) in uses.iter().filter(|(_, places)| acls(places) > 1) {
            for key in keys(*entry) {
                frequent.entry(key).or_default().push((*entry, acls(places)));
            }
        }
        Self { frequent }
    }

    /// The name that was meant, if it is clear, and the number of its uses.
    fn meant(&self, entry: Match<'_>) -> Option<(Match<'t>, usize)> {
        let candidates: BTreeMap<&str, (Match<'t>, usize)> = keys(entry)
            .filter_map(|key| self.frequent.get(&key))
            .flatten()
            .filter(|(other, _)| is_slip(name(entry), name(*other)))
            .map(|found| (name(found.0), *found))
            .collect();
        let near = nearest(candidates.keys().copied(), name(entry))?;
        candidates.get(near).copied()
    }
}

/// The name without case, and without any one of its letters.
fn keys(entry: Match<'_>) -> impl Iterator<Item = (bool, String)> {
    let is_user = matches!(entry, Match::User(_));
    let lower = name(entry).to_ascii_lowercase();
    let lower = if lower.len() <= MAX_NAME { lower } else { String::new() };
    let shorter: Vec<String> = (0..lower.len())
        .filter_map(|at| Some(format!("{}{}", lower.get(..at)?, lower.get(at + 1..)?)))
        .collect();
    shorter.into_iter().chain([lower]).filter(|key| !key.is_empty()).map(move |key| (is_user, key))
}

/// Returns whether two names differ as by a typing error: not in their numbers, and not in a short word.
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
    // `data-eng` and `dataeng` have different words and the same letters.
    let alike = if a.len() == b.len() { a.iter().zip(&b).all(long) } else { a.concat() == b.concat() };
    alike && digits(&left) == digits(&right)
}
