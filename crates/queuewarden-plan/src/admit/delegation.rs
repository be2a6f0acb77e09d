//! Decides whether an administrator of a queue, who is no cluster administrator, may write an object.
//!
//! The decision uses ACLs that do not depend on the object itself. The object must name its writer, because
//! the plan evaluates it again in each round and does not know the writer. This module checks that writers
//! use their own name; so does the `ValidatingAdmissionPolicy` of `manifests/delegation` in the API server
//! itself.

use crate::admit::{QueueAcl, Versions};
use crate::effective::ParseCache;
use crate::grants::{Administrators, content, granted, not_administered, resolve, shown};
use crate::plan::evaluate;
use crate::snapshot::{QueueAclSpec, Snapshot};
use go_compat::diag::quoted;
use yunikorn::{Identity, QueuePath};

/// The rule while nobody delegates.
const ALONE: &str = "cluster administrators alone (who may `escalate` queueacls.queuewarden.dev) write QueueAcls, and everyone may delete what \
    is in their own name";

/// Returns an error if they may not, which explains why and what to write instead.
pub(super) fn permit(
    snapshot: &Snapshot,
    versions: &Versions<QueueAcl>,
    who: &Identity,
) -> Result<(), String> {
    let Versions { old, new } = versions;
    if new.is_none() && old.as_ref().is_some_and(|old| is_own(old, who)) {
        return Ok(());
    }
    let spec = snapshot.spec().ok_or_else(|| {
        format!("there is no YuniKornConfig that can be read and says who administers what: until there is, {ALONE}")
    })?;
    if !spec.delegation {
        return Err(format!("`delegation` of YuniKornConfig `default` is Disabled: {ALONE}"));
    }
    let name = new.as_ref().or(old.as_ref()).map(|entry| &*entry.meta.name).unwrap_or_default();
    let mut without = snapshot.clone();
    without.queue_acls.retain(|entry| *entry.meta.name != *name);
    let decided = evaluate(&without, &mut ParseCache::new(without.version()));
    let context = decided.as_ref().map(|decided| &decided.context);
    let decided = context.and_then(|context| Some((&context.resolved.queue_acls, context.base().ok()?)));
    let (objects, base) = decided.ok_or_else(|| {
        "there is no queue tree that says who administers what; YuniKornConfig `default` says why".to_owned()
    })?;
    let administrators = Administrators::new(objects, &base.tree);
    if let Some(old) = old {
        let spec = readable(old)?;
        let Some(writer) = &spec.delegated_by else {
            return Err(format!(
                "QueueAcl {} is a cluster administrator's: an administrator of a queue changes only objects with `delegatedBy`",
                quoted(name)
            ));
        };
        let queue = path(spec)?;
        if !administrators.contain(who, &spec.partition, &queue) {
            return Err(not_administered(&shown(who), &queue));
        }
        if writer.user != who.user
            && let Some(highest) = administrators.highest(writer, &spec.partition, &queue)
            && !administrators.contain(who, &spec.partition, &highest)
        {
            return Err(format!(
                "{} wrote it as administrator of `{highest}`: only administrators of that queue, or of one above it, change or delete it",
                shown(writer)
            ));
        }
    }
    let Some(new) = new else { return Ok(()) };
    let spec = readable(new)?;
    let queue = path(spec)?;
    let claim = claimed(spec, who)?;
    if let Some(finalizer) = added_finalizer(old.as_ref(), new) {
        return Err(format!(
            "`metadata.finalizers` adds {}: an administrator of a queue adds none, so that what is deleted goes",
            quoted(finalizer)
        ));
    }
    let granted = || resolve::read(spec).ok().and_then(|intent| granted(&intent.by_right));
    if let Some(why) = content(&queue, spec.base_acl).or_else(granted) {
        return Err(why.to_owned());
    }
    if administrators.contain(claim, &spec.partition, &queue) {
        return Ok(());
    }
    let by_group = who.groups.iter().find(|group| {
        let one = Identity { user: who.user.clone(), groups: vec![(*group).clone()] };
        administrators.contain(&one, &spec.partition, &queue)
    });
    Err(match by_group {
        Some(group) => format!(
            "group {} makes you administrator of queue `{queue}`: name it, `delegatedBy: {{user: {:?}, groups: [{group:?}]}}`",
            quoted(group),
            who.user
        ),
        None => not_administered(&shown(claim), &queue),
    })
}

fn is_own(entry: &QueueAcl, who: &Identity) -> bool {
    let writer = entry.spec.as_ref().ok().and_then(|spec| spec.delegated_by.as_ref());
    writer.is_some_and(|writer| writer.user == who.user)
}

/// Returns a finalizer that the change adds. Existing ones may stay or be removed: the API server and
/// controllers set them.
fn added_finalizer<'e>(old: Option<&QueueAcl>, new: &'e QueueAcl) -> Option<&'e String> {
    let old = old.map(|old| old.meta.finalizers.as_slice()).unwrap_or_default();
    new.meta.finalizers.iter().find(|finalizer| !old.contains(finalizer))
}

fn readable(entry: &QueueAcl) -> Result<&QueueAclSpec, String> {
    entry.spec.as_ref().map_err(|findings| {
        findings.first().map_or_else(|| "the object cannot be read".to_owned(), ToString::to_string)
    })
}

fn path(spec: &QueueAclSpec) -> Result<QueuePath, String> {
    QueuePath::parse(&spec.queue).map_err(|finding| finding.to_string())
}

/// Returns the identity in whose name the object is, which must be the writer's own.
fn claimed<'s>(spec: &'s QueueAclSpec, who: &Identity) -> Result<&'s Identity, String> {
    let own = format!("`delegatedBy: {{user: {:?}}}`", who.user);
    let Some(claim) = &spec.delegated_by else {
        return Err(format!(
            "you are no cluster administrator (who may `escalate` queueacls.queuewarden.dev): write {own} and `baseAcl: Extend`, as an \
             administrator of the queue"
        ));
    };
    if claim.user != who.user {
        return Err(format!("`delegatedBy` names user {}: write your own name, {own}", quoted(&claim.user)));
    }
    match claim.groups.iter().find(|group| !who.groups.contains(group)) {
        Some(group) => Err(format!("`delegatedBy` names group {}, and you are not in it", quoted(group))),
        None => Ok(claim),
    }
}
