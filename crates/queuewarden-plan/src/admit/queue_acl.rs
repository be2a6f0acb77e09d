//! Reviews a change to a `QueueAcl`, and decides whether a queue administrator who is not a cluster
//! administrator may make it.
//!
//! That decision uses ACLs that do not depend on the object itself. The object must name its writer, because
//! the plan evaluates it again in each round and does not know the writer. This module checks that writers
//! use their own name; so does the `ValidatingAdmissionPolicy` of `manifests/delegation` in the API server
//! itself.

use std::sync::Arc;

use crate::access_tests::broken;
use crate::admit::{
    ACCESS_TEST, CONCURRENT, DELEGATION, QueueAcl, Response, Versions, access_changed, grows, obstacles, put,
};
use crate::conditions::Reason;
use crate::effective::ParseCache;
use crate::grants::delegation::{NoSpace, Promise, check_space};
use crate::grants::{
    Administrators, Resolved, content, granted, not_administered, resolve, returning, shown,
};
use crate::plan::evaluate;
use crate::snapshot::{QueueAclSpec, Snapshot};
use crate::status::without_effect;
use crate::write::Evaluation;
use go_compat::diag::quoted;
use yunikorn::acl::codes::DROPS;
use yunikorn::{Identity, QueuePath};

/// The refusal of a change that exceeds the limits together with other recent changes.
const TOO_MANY_AT_ONCE: &str = "too many writes at once: changes accepted within the last minute may use up \
    what remains of the limits; try again in a minute";

/// Reviews the change. `promised` is set if the writer is not a cluster administrator but is permitted by
/// [`super::delegation`].
pub(super) fn admit(
    snapshot: &Snapshot,
    versions: &Versions<QueueAcl>,
    promised: Option<&[Promise]>,
) -> Response {
    let Versions { old, new } = versions;
    let faults = new.as_deref().map(resolve::diagnostics).unwrap_or_default();
    // A dropped name makes the object Invalid, and its status will report that. Content that cannot be parsed
    // at all is refused.
    let wrong: Vec<_> = faults.iter().filter(|fault| !DROPS.contains(&fault.code)).collect();
    if !wrong.is_empty() {
        return Response::wrong(wrong);
    }
    let mut after = snapshot.clone();
    let new = new.clone().map(|mut new| {
        // A new object, or one that grows, comes last, so that the writer's other objects keep their space.
        // Otherwise each object in turn could grow to the limit, while newer ones that no longer fit stay
        // stored.
        if grows(versions) || old.as_ref().and_then(writer) != writer(&new) {
            Arc::make_mut(&mut new).meta.created = None;
        }
        new
    });
    put(&mut after.queue_acls, old.as_ref(), new.as_ref());
    let cache = &mut ParseCache::new(snapshot.version());
    let Some(is) = evaluate(&after, cache) else {
        return Response::warned(&[
            "no readable YuniKornConfig named `default` exists, so nothing is written".to_owned(),
        ]);
    };
    let mut objects = is.context.resolved.queue_acls.iter();
    let found = new.as_ref().and_then(|new| objects.find(|object| object.entry.meta.name == new.meta.name));
    if let Some(Err(refusal)) = found.map(|object| &object.outcome)
        && promised.is_some()
        && matches!(refusal.reason, Reason::NotDelegated | Reason::TooLarge)
    {
        return Response::refused(DELEGATION, refusal.message.clone());
    }
    let space = promised.and_then(|promised| Some((wanted(versions)?, promised)));
    if let Some((wanted, promised)) = &space
        && let Err(why) = check_space(&is.context.resolved.queue_acls, wanted, promised)
    {
        return match why {
            NoSpace::Stored(message) => Response::refused(DELEGATION, message),
            NoSpace::Promised => Response::refused(CONCURRENT, TOO_MANY_AT_ONCE),
        };
    }
    let before = evaluate(snapshot, cache);
    let (was, wanted) = (before.as_ref().and_then(Evaluation::queues), is.queues());
    let broken = match broken(snapshot, was, wanted) {
        Ok(warnings) => warnings,
        Err(why) => return Response::refused(ACCESS_TEST, why),
    };
    let mut warnings = vec![access_changed((snapshot, before.as_ref()), (&after, &is))];
    if let (Some(before), Some(base)) = (&before, &is.context.read.from) {
        warnings.extend(returning(&before.contributions(), &is.contributions(), &base.tree));
    }
    warnings.extend(broken);
    warnings.extend(found.map(|object| about(object, &is)).unwrap_or_default());
    warnings.extend(obstacles(&is));
    Response { promise: space.map(|(wanted, _)| wanted), ..Response::warned(&warnings) }
}

/// Returns the space that a delegate's change takes, if it takes more than before.
fn wanted(versions: &Versions<QueueAcl>) -> Option<Promise> {
    let (new, old) = (versions.new.as_ref()?, versions.old.as_ref());
    let writer = writer(new)?;
    (grows(versions) || old.and_then(self::writer) != Some(writer)).then(|| Promise {
        name: new.meta.name.to_string(),
        writer: writer.to_owned(),
        stored: new.meta.stored,
    })
}

fn writer(entry: &QueueAcl) -> Option<&str> {
    Some(&entry.spec.as_ref().ok()?.delegated_by.as_ref()?.user)
}

/// Returns the warnings about the object itself.
fn about(object: &Resolved<'_>, decided: &Evaluation<'_>) -> Vec<String> {
    let mut warnings: Vec<String> = object.warnings.iter().map(ToString::to_string).collect();
    match &object.outcome {
        Err(refusal) => {
            warnings.insert(0, format!("{}: {}", refusal.reason, refusal.message));
            if object.last_valid.is_some() && resolve::freezes(refusal.reason) {
                warnings.push("its last valid version stays in force".to_owned());
            }
        }
        Ok(contribution) => {
            let tree = decided.context.combined.desired.as_ref();
            warnings.extend(tree.map(|tree| without_effect(tree, contribution)).unwrap_or_default());
            let why =
                decided.context.resolved.no_aliases.as_deref().filter(|_| !contribution.left_out.is_nobody());
            warnings.extend(
                why.map(|why| {
                    resolve::dropped(&contribution.left_out, &decided.context.resolved.aliased, why)
                }),
            );
        }
    }
    warnings
}

/// The rule while nobody delegates.
const ALONE: &str = "only cluster administrators (who may `escalate` queueacls.queuewarden.dev) can write \
    QueueAcls, but everyone can delete objects in their own name";

/// Returns an error that explains why they may not, and what to write instead.
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
        format!("no readable YuniKornConfig shows who administers which queue: until then, {ALONE}")
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
        "no queue tree shows who administers which queue; see the conditions of YuniKornConfig `default`"
            .to_owned()
    })?;
    let administrators = Administrators::new(objects, &base.tree);
    if let Some(old) = old {
        let spec = readable(old)?;
        let Some(writer) = &spec.delegated_by else {
            return Err(format!(
                "QueueAcl {} belongs to a cluster administrator: queue administrators can change only \
                 objects with `delegatedBy`",
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
                "{} wrote it as administrator of `{highest}`: only administrators of that queue, or of a \
                 queue above it, can change or delete it",
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
            "`metadata.finalizers` adds {}: queue administrators cannot add finalizers, so that \
             deletions complete",
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
            "group {} makes you administrator of queue `{queue}`: add it, `delegatedBy: {{user: {:?}, \
             groups: [{group:?}]}}`",
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

/// Returns a finalizer that the change adds. Existing ones may stay or be removed, because the API server and
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

/// Returns the identity that the object claims, which must be the writer's own.
fn claimed<'s>(spec: &'s QueueAclSpec, who: &Identity) -> Result<&'s Identity, String> {
    let own = format!("`delegatedBy: {{user: {:?}}}`", who.user);
    let Some(claim) = &spec.delegated_by else {
        return Err(format!(
            "you are not a cluster administrator (who may `escalate` queueacls.queuewarden.dev): as an \
             administrator of the queue, write {own} and `baseAcl: Extend`"
        ));
    };
    if claim.user != who.user {
        return Err(format!("`delegatedBy` names user {}: write your own name, {own}", quoted(&claim.user)));
    }
    match claim.groups.iter().find(|group| !who.groups.contains(group)) {
        Some(group) => Err(format!("`delegatedBy` names group {}, but you are not in it", quoted(group))),
        None => Ok(claim),
    }
}
