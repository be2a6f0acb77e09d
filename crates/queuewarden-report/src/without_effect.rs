//! Lists the objects that change nothing: refused, planned, expired or redundant objects, and objects that
//! give their rights to nobody and close nothing; and those that grant nothing now because of their time, or
//! because they are suspended.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{is_here, number};
use queuewarden_plan::conditions::{Status, Type, find};
use queuewarden_plan::snapshot::{BaseAcl, Meta, Phase, QueueAclSpec, Snapshot};
use queuewarden_plan::{grant_acl, merged, merged_alone};
use yunikorn::acl;
use yunikorn::config::{Config, verdict};
use yunikorn::right::Right;
use yunikorn_access::Tree;

/// The reason for an object that gives its rights to nobody, and replaces no ACL of the base.
const GRANTS_NOBODY: &str = "GrantsNobody";

/// An object that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "WithoutEffectAnswer")]
pub struct ReportWithoutEffect {
    /// Its kind.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// The number of its queue; null when there is none.
    pub queue: Option<usize>,
    /// The reason, as in its conditions: `Expired`, `QueueNotFound`, `AncestorAllowsEveryone`; or
    /// `GrantsNobody`.
    pub reason: String,
    /// The same in a sentence.
    pub message: String,
}

/// Returns these objects of a snapshot, by their conditions and by what the base has on their queues, without
/// those about another partition than the tree's.
pub fn without_effect(snapshot: &Snapshot, tree: &Tree) -> Vec<ReportWithoutEffect> {
    let base = base(snapshot);
    let acls = snapshot.queue_acls.iter().filter_map(|entry| {
        let spec = entry.spec.as_ref().ok();
        let target = spec.and_then(QueueAclSpec::target);
        if target.as_ref().is_some_and(|target| !is_here(tree, target)) {
            return None;
        }
        let queue = target.and_then(|target| number(tree, &target));
        object("QueueAcl", &entry.meta, queue).or_else(|| {
            spec.filter(|spec| spec.phase(snapshot.now) == Phase::Current && is_empty(spec, base.as_ref()))
                .map(|_| ReportWithoutEffect {
                    kind: "QueueAcl",
                    name: entry.meta.name.to_string(),
                    queue,
                    reason: GRANTS_NOBODY.to_owned(),
                    message:
                        "it gives its rights to nobody, and the base has no ACL of the queue that it replaces"
                            .to_owned(),
                })
        })
    });
    let policies = snapshot.policies.iter();
    acls.chain(policies.filter_map(|entry| object("AdmissionPolicy", &entry.meta, None))).collect()
}

/// Returns the queues of the base, if it can be read.
fn base(snapshot: &Snapshot) -> Option<Config> {
    let spec = snapshot.config.as_ref().and_then(|config| config.spec.as_ref().ok());
    let key = spec.and_then(|spec| spec.base_key.clone());
    let key = key.unwrap_or_else(|| merged(snapshot).queues_key());
    let text = merged_alone(snapshot.base.as_deref()?).get(&key)?.text.clone();
    verdict(&text, &[], snapshot.version()).config
}

/// Returns whether an object gives each of its rights to nobody and leaves the base's ACLs of its queue as
/// they are, because they are empty or because it extends them.
fn is_empty(spec: &QueueAclSpec, base: Option<&Config>) -> bool {
    let Some(queue) = base.and_then(|base| {
        let (partition, path) = spec.target()?;
        base.partition(&partition)?.queue(&path)
    }) else {
        return false;
    };
    let grants = [(Right::Submit, &spec.submit), (Right::Admin, &spec.admin)];
    let mut rights =
        grants.into_iter().filter_map(|(right, grant)| Some((right, grant.as_ref()?))).peekable();
    rights.peek().is_some()
        && rights.all(|(right, grant)| {
            let keeps = spec.base_acl == BaseAcl::Extend
                || acl::parse(&queue.acl(right).value).is_ok_and(|own| own.is_nobody());
            keeps && grant_acl(grant).0.is_some_and(|acl| acl.is_nobody())
        })
}

fn object(kind: &'static str, meta: &Meta, queue: Option<usize>) -> Option<ReportWithoutEffect> {
    let found =
        [Type::Accepted, Type::Effective].into_iter().filter_map(|type_| find(&meta.conditions, type_));
    let mut current = found.filter(|condition| condition.observed_generation == meta.generation);
    let condition = current.find(|condition| condition.status == Status::False)?;
    Some(ReportWithoutEffect {
        kind,
        name: meta.name.to_string(),
        queue,
        reason: condition.reason.to_string(),
        message: condition.message.clone(),
    })
}

/// A QueueAcl that grants nothing now because of its time, or because it is suspended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OutsideAnswer")]
pub struct ReportOutside {
    /// Its name.
    pub name: String,
    /// The number of its queue; null when there is none.
    pub queue: Option<usize>,
    /// True if its end has passed.
    pub expired: bool,
    /// True if it is suspended. If it is neither, its beginning lies ahead.
    pub suspended: bool,
    /// The time at which it begins; null when it has none.
    pub not_before: Option<Timestamp>,
    /// The time at which it ends; null when it has none.
    pub expires_at: Option<Timestamp>,
}

/// Returns the objects of a snapshot that are about the tree's partition, those that are planned first, each
/// by its time.
pub fn outside(snapshot: &Snapshot, tree: &Tree) -> Vec<ReportOutside> {
    let specs = snapshot.queue_acls.iter().filter_map(|entry| Some((entry, entry.spec.as_ref().ok()?)));
    let all = specs.filter_map(|(entry, spec)| {
        let (phase, target) = (spec.phase(snapshot.now), spec.target()?);
        let object = ReportOutside {
            name: entry.meta.name.to_string(),
            queue: number(tree, &target),
            expired: phase == Phase::Expired,
            suspended: phase == Phase::Suspended,
            not_before: spec.not_before,
            expires_at: spec.expires_at,
        };
        (phase != Phase::Current && is_here(tree, &target)).then_some((phase, object))
    });
    let mut outside: Vec<_> = all.collect();
    outside.sort_by_cached_key(|(phase, of)| (*phase, of.not_before, of.expires_at, of.name.clone()));
    outside.into_iter().map(|(_, object)| object).collect()
}
