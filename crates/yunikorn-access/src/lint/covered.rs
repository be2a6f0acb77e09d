//! Finds entries that are redundant because their access is granted elsewhere.

use std::collections::{BTreeMap, HashMap};

use super::{Findings, LocatedAcl, acl_of, codes, list};
use crate::reach::{checked, granted_on};
use crate::tree::{GrantingEntry, Origin, QueueId, TextLocation, Tree};
use yunikorn::acl::Match;
use yunikorn::right::Right;

pub(super) fn find(tree: &Tree, findings: &mut Findings) {
    for acl in LocatedAcl::each(tree) {
        if acl.node.path.is_root() && acl.grants().acl.is_everyone() {
            root_everyone(tree, acl, findings);
        }
        if acl.node.path.is_recovery() {
            recovery(acl, findings);
        } else if acl.grants().acl.is_nobody() {
            closes_nothing(tree, acl, findings);
        } else if let Some(granting) = everyone_anyway(tree, acl) {
            everyone_above(tree, acl, granting, findings);
        } else {
            granted_anyway(tree, acl, findings);
            granted_twice(acl, findings);
        }
    }
}

/// Reports a `*` at the root, the widest grant there is.
fn root_everyone(tree: &Tree, acl: LocatedAcl<'_>, findings: &mut Findings) {
    // Administrators may submit, but the right to submit does not include administering.
    let redundant = |other: &LocatedAcl<'_>| {
        other.id != acl.id
            && other.right.acls().contains(&acl.right)
            && granted_on(tree, other.right, acl.id).contains(other.id.number())
            && !other.grants().acl.is_nobody()
    };
    let others = match LocatedAcl::each(tree).filter(redundant).count() {
        0 => String::new(),
        1 => "; one ACL below it has no effect".to_owned(),
        more => format!("; {more} ACLs below it have no effect"),
    };
    let verb = acl.right.verb();
    let message = format!("everyone may {verb} everywhere because of the `*` of the root{others}");
    let help = "to limit access, remove it and grant access per queue";
    findings.about_parts(acl, codes::ROOT_EVERYONE, &message, help);
}

/// Reports any ACL of the recovery queue.
fn recovery(acl: LocatedAcl<'_>, findings: &mut Findings) {
    let message = match acl.right {
        Right::Submit => "nobody may submit to the recovery queue, regardless of its ACLs",
        Right::Admin => {
            "the scheduler never checks who administers the recovery queue, and its administrators may not \
             submit to it"
        }
    };
    findings.about_parts(acl, codes::RECOVERY_ACL, message, "remove the ACL");
}

/// Returns the `*` that would give everyone the right without this ACL.
fn everyone_anyway<'t>(tree: &'t Tree, acl: LocatedAcl<'t>) -> Option<GrantingEntry<'t>> {
    let by_admin = (acl.right == Right::Submit && acl.node.grants(Right::Admin).acl.is_everyone())
        .then_some(GrantingEntry { queue: acl.id, acl: Right::Admin, entry: Match::Everyone });
    by_admin.or_else(|| all_above(tree, acl, Match::Everyone))
}

/// Returns the entry above that already grants an entry the right.
fn above<'t>(
    tree: &'t Tree,
    acl: LocatedAcl<'t>,
    right: Right,
    entry: Match<'t>,
) -> Option<GrantingEntry<'t>> {
    GrantingEntry::of_name(tree, right, acl.node.parent?, entry)
}

/// Like [`above`], for everything that the ACL grants. An `adminacl` also grants submit, except below the
/// recovery queue.
fn all_above<'t>(tree: &'t Tree, acl: LocatedAcl<'t>, entry: Match<'t>) -> Option<GrantingEntry<'t>> {
    above(tree, acl, Right::Submit, entry).and_then(|_| above(tree, acl, acl.right, entry))
}

/// Reports an ACL next to or below a `*`.
fn everyone_above(tree: &Tree, acl: LocatedAcl<'_>, granting: GrantingEntry<'_>, findings: &mut Findings) {
    let (verb, written) = (acl.right.verb(), written(tree, granting));
    let message = format!("{acl} has no effect: everyone may {verb} because of {written}");
    let help = if granting.queue == acl.id {
        "remove one of them; administrators may submit"
    } else {
        "an ACL cannot remove access granted by a queue above; remove the `*` there, or the ACL here"
    };
    findings.about_parts(acl, codes::EVERYONE_ABOVE, &message, help);
}

/// Reports an ACL of one space, which is meant to close a queue but does not.
fn closes_nothing(tree: &Tree, acl: LocatedAcl<'_>, findings: &mut Findings) {
    let grants = acl.grants();
    if grants.text.is_empty() || !grants.text.trim().is_empty() {
        return;
    }
    let Some(granting) = someone_above(tree, acl) else { return };
    let who = if granting.entry == Match::Everyone { "everyone" } else { "others" };
    let (verb, written) = (acl.right.verb(), written(tree, granting));
    let message =
        format!("{acl} has no names but does not close the queue: {who} may {verb} because of {written}");
    let unknown = Origin::Text(TextLocation::default());
    let origin = grants.parts.first().map_or(&unknown, |(origin, _)| origin);
    let help = "ACLs cannot deny; grant less above, and grant access at the queues below where it is needed";
    findings.about_part(acl, origin, codes::CLOSES_NOTHING, message, help);
}

/// Returns the nearest entry above that grants the right to anyone.
fn someone_above<'t>(tree: &'t Tree, acl: LocatedAcl<'t>) -> Option<GrantingEntry<'t>> {
    checked(tree, acl.right, acl.node.parent?).find_map(|(queue, node)| {
        acl.right.acls().iter().find_map(|acl| {
            let entry = node.grants(*acl).acl.entries().next()?;
            Some(GrantingEntry { queue, acl: *acl, entry })
        })
    })
}

/// Reports names with redundant grants, and administrators who may already submit.
fn granted_anyway(tree: &Tree, acl: LocatedAcl<'_>, findings: &mut Findings) {
    for (origin, part) in acl.parts() {
        let (mut inherited, mut repeated) = (ByWay::default(), ByWay::default());
        let mut count = 0;
        for entry in part.entries() {
            count += 1;
            if let Some(granting) = all_above(tree, acl, entry) {
                inherited.add(granting, tree.real(entry));
            } else if let Some(granting) = submits_anyway(tree, acl, entry) {
                repeated.add(granting, tree.real(entry));
            }
        }
        if inherited.count > 0 {
            let all = if inherited.count == count { "" } else { " for some" };
            let (verb, granted) = (acl.right.verb(), inherited.shown(tree));
            let message = format!("{acl} adds nothing{all}: queues above already let them {verb}, {granted}");
            let help = "remove them here; to keep others out, grant less above";
            findings.about_part(acl, origin, codes::GRANTED_ABOVE, message, help);
        }
        if repeated.count > 0 {
            let all = if repeated.count == count { "" } else { " for some" };
            let granted = repeated.shown(tree);
            let message = format!("in YuniKorn {acl} adds nothing{all}: they may already submit, {granted}");
            let help = "YuniKorn uses it only to let administrators submit; remove them unless other software \
                else reads who administers the queue";
            findings.about_part(acl, origin, codes::ADMIN_WITHOUT_EFFECT, message, help);
        }
    }
}

/// Reports an object that grants nothing beyond another one, and not for longer. Of two equal objects, it
/// reports the second.
fn granted_twice(acl: LocatedAcl<'_>, findings: &mut Findings) {
    let parts: Vec<_> = acl.parts().filter(|(origin, _)| origin.object().is_some()).collect();
    let mut having: HashMap<Match<'_>, Vec<usize>> = HashMap::new();
    for (index, (_, part)) in parts.iter().enumerate() {
        part.entries().for_each(|entry| having.entry(entry).or_default().push(index));
    }
    for (index, (origin, part)) in parts.iter().enumerate() {
        let covers = |other: &&usize| {
            let Some((by, all)) = parts.get(**other).filter(|_| **other != index) else { return false };
            let lasts = by.until().is_none() || (origin.until().is_some() && by.until() >= origin.until());
            let is_same = by.until() == origin.until() && all == part;
            lasts && part.lost(all).is_nobody() && (!is_same || **other < index)
        };
        // An object that covers this one contains all its names, including the rarest.
        let candidates = part.entries().filter_map(|entry| having.get(&entry)).min_by_key(|all| all.len());
        let by = candidates.and_then(|others| parts.get(*others.iter().find(covers)?));
        if let Some((by, _)) = by {
            let message = format!("{origin} adds nothing to {acl}: {by} grants the same");
            let help = "delete one of them, or keep each name in only one of them";
            findings.about_part(acl, origin, codes::GRANTED_TWICE, message, help);
        }
    }
}

/// Returns the entry through which an administrator may submit even without this ACL.
fn submits_anyway<'t>(tree: &'t Tree, acl: LocatedAcl<'t>, entry: Match<'t>) -> Option<GrantingEntry<'t>> {
    if acl.right == Right::Submit || acl.node.stops(Right::Submit) {
        return None;
    }
    // Next to a wildcard of the administrators, it is the submit ACL that adds nothing.
    let own = acl.node.grants(Right::Submit).acl.entry_of(entry).filter(|_| entry != Match::Everyone);
    own.map(|entry| GrantingEntry { queue: acl.id, acl: Right::Submit, entry })
        .or_else(|| above(tree, acl, Right::Submit, entry))
}

/// Entries, grouped by what grants them the same.
#[derive(Default)]
struct ByWay<'t> {
    count: usize,
    by: BTreeMap<(QueueId, Right, bool), Vec<Match<'t>>>,
}

impl<'t> ByWay<'t> {
    fn add(&mut self, granting: GrantingEntry<'_>, entry: Match<'t>) {
        self.count += 1;
        self.by
            .entry((granting.queue, granting.acl, granting.entry == Match::Everyone))
            .or_default()
            .push(entry);
    }

    fn shown(&self, tree: &Tree) -> String {
        let shown = self.by.iter().map(|((queue, acl, everyone), entries)| {
            format!("{} through {}", list(entries), source(tree, *queue, *acl, *everyone))
        });
        shown.collect::<Vec<_>>().join("; ")
    }
}

fn written(tree: &Tree, granting: GrantingEntry<'_>) -> String {
    source(tree, granting.queue, granting.acl, granting.entry == Match::Everyone)
}

/// Returns ``the `*` in `submitacl` of `root` ``.
fn source(tree: &Tree, queue: QueueId, acl: Right, everyone: bool) -> String {
    let star = if everyone { "the `*` in " } else { "" };
    tree.node(queue).map_or_else(String::new, |node| format!("{star}{}", acl_of(acl, &node.path)))
}
