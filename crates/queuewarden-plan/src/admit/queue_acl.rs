//! Answers a change of a `QueueAcl`.

use std::sync::Arc;

use crate::access_tests::broken;
use crate::admit::{
    ACCESS_TEST, CONCURRENT, DELEGATION, QueueAcl, Response, Versions, access_changed, grows, obstacles, put,
};
use crate::conditions::Reason;
use crate::effective::ParseCache;
use crate::grants::delegation::{NoSpace, Promise, check_space};
use crate::grants::{Resolved, resolve, returning};
use crate::plan::evaluate;
use crate::snapshot::Snapshot;
use crate::status::without_effect;
use crate::write::Evaluation;
use yunikorn::acl::codes::DROPS;

/// The refusal of a change that has no space beside others.
const TOO_MANY_AT_ONCE: &str = "too many writes at once: changes that were accepted within the last minute may take the space that is left of \
    the limits; try again in a minute";

/// Answers the change. `promised` is set when the writer is not a cluster administrator, but one that
/// [`super::delegation`] permits.
pub(super) fn admit(
    snapshot: &Snapshot,
    versions: &Versions<QueueAcl>,
    promised: Option<&[Promise]>,
) -> Response {
    let Versions { old, new } = versions;
    let faults = new.as_deref().map(resolve::diagnostics).unwrap_or_default();
    // A dropped name makes the object Invalid, and its status will report that. Content that cannot be read
    // at all is refused.
    let wrong: Vec<_> = faults.iter().filter(|fault| !DROPS.contains(&fault.code)).collect();
    if !wrong.is_empty() {
        return Response::wrong(wrong);
    }
    let mut after = snapshot.clone();
    let new = new.clone().map(|mut new| {
        // An object that its writer did not have before, or that grows, comes last: their other objects keep
        // their space. Otherwise each object in turn could grow to the limit, while the younger ones that
        // have no space any more stay stored.
        if grows(versions) || old.as_ref().and_then(writer) != writer(&new) {
            Arc::make_mut(&mut new).meta.created = None;
        }
        new
    });
    put(&mut after.queue_acls, old.as_ref(), new.as_ref());
    let cache = &mut ParseCache::new(snapshot.version());
    let Some(is) = evaluate(&after, cache) else {
        return Response::warned(&[
            "there is no YuniKornConfig named `default` that can be read, so nothing is written".to_owned(),
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
