//! Running applications: their pods, their owner and queue, and the users that they grant access to.
//!
//! `YuniKorn` creates an application from the first pod with its ID and uses the owner and queue of that pod;
//! later pods join it (k8shim v1.8.0 `pkg/cache/context.go:917-952`). For a question about a pod, only that
//! pod and its owner are considered. Otherwise, anyone who guesses the ID of an application could become its
//! owner.
//!
//! * [`registry`]: the pods, and the owner of each application.
//! * [`joins`]: the applications that a new pod may not name.

pub mod joins;
pub mod registry;
#[cfg(test)]
mod registry_tests;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::alias::unescaped;
use super::placement::{Naming, Outcome, Placement, RuleName, RuleStep, Workload, may_exist, place};
use super::review::{Application, Lookup};
use super::tree::{Scheduler, Tree};
use crate::alias;
use go_compat::diag::quoted;
use yunikorn::admission::user_info::{Source, Submitter};
use yunikorn::application::settings::{MODIFY_ACL, VIEW_ACL};
use yunikorn::application::{ApplicationAcl, Dialect, Rules};
use yunikorn::config::schema::PlacementRule;
use yunikorn::identity::{Claim, Identity, identify};
use yunikorn::queue;
use yunikorn::version::Version;

/// The relevant parts of a pod that `YuniKorn` schedules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pod {
    /// `metadata.name`
    pub name: String,
    /// The namespace and metadata.
    pub workload: Workload,
    /// The application's ID according to the shim, in the form of [`id_of`].
    pub application: String,
    /// `metadata.creationTimestamp`
    pub created: Timestamp,
    /// The UIDs of the pods in `metadata.ownerReferences`. For example, a Spark driver owns its executors.
    pub owners: Vec<String>,
    /// True if it has succeeded or failed.
    pub ended: bool,
    /// The `ConfigMap` with the configuration, if the pod is a Spark driver.
    pub spark_conf: Option<String>,
}

/// Maximum length of an ID that is stored unchanged, in bytes. No label can be longer.
const MAX_ID: usize = 253;

/// Returns the stored form of an ID: the ID itself, or its hash if it is too long for a label.
pub fn id_of(id: &str) -> Cow<'_, str> {
    if id.len() <= MAX_ID {
        return Cow::Borrowed(id);
    }
    let mut hash = "sha256:".to_owned();
    for byte in Sha256::digest(id) {
        // Writing to a string cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    Cow::Owned(hash)
}

/// Returns the pod that represents an application: the oldest pod with its ID in the namespace, or in any
/// namespace if none is given.
///
/// # Errors
/// Pods of several namespaces have the ID.
fn first<'a>(
    pods: impl Iterator<Item = &'a Arc<Pod>>,
    namespace: &str,
    id: &str,
) -> Result<Option<Arc<Pod>>, String> {
    let here = |pod: &&Arc<Pod>| namespace.is_empty() || pod.workload.namespace == namespace;
    let pods: Vec<_> = pods.filter(|pod| pod.application == id).filter(here).collect();
    let mut namespaces = pods.iter().map(|pod| &pod.workload.namespace);
    if let Some(one) = namespaces.next()
        && let Some(other) = namespaces.find(|other| *other != one)
    {
        return Err(format!(
            "there are applications with this ID in the namespaces {one} and {other}; choose one with -n NAMESPACE"
        ));
    }
    Ok(pods.into_iter().min_by_key(|pod| (pod.created, &pod.name)).cloned())
}

/// Returns the pod that names the owner of a pod: the pod itself, or the pod of the same application that
/// owns it.
pub fn speaker<'a>(mut pods: impl Iterator<Item = &'a Arc<Pod>>, pod: &'a Arc<Pod>) -> &'a Arc<Pod> {
    let owns = |other: &&Arc<Pod>| {
        other.workload.namespace == pod.workload.namespace
            && other.application == pod.application
            && pod.owners.contains(&other.workload.pod.uid)
    };
    if pod.owners.is_empty() { pod } else { pods.find(owns).unwrap_or(pod) }
}

/// Returns the owner, rules and queue of the application that begins with this pod. `spark` is the
/// configuration of a driver.
pub fn application(pod: &Pod, spark: &[(String, String)], scheduler: Scheduler<'_>) -> Lookup {
    let submitter = Submitter::from_pod(&pod.workload.pod, scheduler.version);
    match queue_of(pod, &submitter, scheduler) {
        Ok(queue) => {
            let acl = ApplicationAcl { owner: owner(&submitter), rules: rules(pod, spark) };
            Lookup::Application(Box::new(Application { acl, queue }))
        }
        Err(why) => Lookup::Undecided(why),
    }
}

/// Returns the owner. The user `nobody` is not a person of that name: a pod without a user belongs to nobody.
fn owner(submitter: &Submitter) -> String {
    match submitter.source {
        Source::Annotation | Source::Label => unescaped(&submitter.user).into_owned(),
        Source::AnnotationWithoutUser | Source::AnnotationUnreadable(_) | Source::Nothing => String::new(),
    }
}

/// Returns the owner of an application that begins with this pod. The label is read even if `YuniKorn`
/// ignores it, because it can only exclude users.
fn starter(pod: &Pod) -> String {
    owner(&Submitter::from_pod(&pod.workload.pod, Version::Unknown))
}

fn rules(pod: &Pod, spark: &[(String, String)]) -> Rules {
    let annotations = [VIEW_ACL, MODIFY_ACL].into_iter();
    let set = annotations.filter_map(|key| Some((key, pod.workload.pod.annotations.get(key)?.as_str())));
    match Rules::read(Dialect::YuniKorn, set).0 {
        Rules::YuniKorn(own) => {
            let spark = spark.iter().map(|(key, value)| (key.as_str(), value.as_str()));
            Rules::YuniKorn(own.with_spark(spark))
        }
        other => other,
    }
}

/// Returns the queue that the rules select for the pod now, if they use no annotations of the namespace.
fn queue_of(pod: &Pod, submitter: &Submitter, scheduler: Scheduler<'_>) -> Result<String, String> {
    let claim = Claim::new(&submitter.user, &submitter.groups);
    let tree = scheduler.tree;
    let (placement, elsewhere) = match identify(claim, scheduler.resolver, scheduler.version) {
        Ok(identity) => placed(pod, alias::of_pod(identity), tree),
        Err(refusal) => (Placement::rejected(refusal.to_string()), false),
    };
    let why = match placement.outcome {
        Outcome::Placed(queue) if placement.steps.iter().any(|step| by_namespace(&step.rule)) => {
            return Err(format!(
                "it may be in {queue}, but that depends on annotations of namespace {}, which are not checked",
                quoted(&pod.workload.namespace)
            ));
        }
        Outcome::Placed(queue) if elsewhere => {
            return Err(format!(
                "it may be in {queue}, or in a queue created at run time that is unknown here"
            ));
        }
        Outcome::Placed(queue) => return Ok(queue),
        Outcome::Rejected(message) => message,
        Outcome::Undecided(reason) => reason,
        Outcome::Crashes(queue) => format!("YuniKorn crashes over queue {queue}"),
    };
    before(pod, tree).ok_or_else(|| format!("the queue of its pod {} is unknown: {why}", quoted(&pod.name)))
}

/// Places the pod as if it had just been submitted, because otherwise a running pod would only go to the
/// recovery queue. Also returns whether an earlier rule would have placed it elsewhere if a queue had been
/// created at run time.
fn placed(pod: &Pod, identity: Identity, tree: &Tree) -> (Placement, bool) {
    let workload = Workload { node_name: String::new(), ..pod.workload.clone() };
    let submission = workload.submission(identity, Naming::default());
    let placement = place(tree, &submission);
    let made = tree.placement_rules().iter().any(makes);
    let elsewhere = made && placement.steps.iter().any(|step| may_exist(tree, step, &submission));
    (placement, elsewhere)
}

/// Returns whether a rule may create queues.
fn makes(rule: &PlacementRule) -> bool {
    rule.create || rule.parent.as_deref().is_some_and(makes)
}

/// Returns the queue of a running pod that the rules now place nowhere. If the only rule is `provided`, it is
/// the queue whose full path the pod names. Any other rule might have placed it elsewhere.
fn before(pod: &Pod, tree: &Tree) -> Option<String> {
    let provided = |rule: &PlacementRule| rule.name.value.eq_ignore_ascii_case(RuleName::Provided.key());
    let named = Some(pod.workload.queue()).filter(|named| named.starts_with("root."));
    named.filter(|_| tree.placement_rules().iter().all(provided)).map(queue::lowered)
}

/// Returns whether a rule that was run uses an annotation of the namespace (`namespace.parentqueue`) rather
/// than its name.
fn by_namespace(rule: &RuleStep) -> bool {
    let annotated = matches!(&rule.name, RuleName::Tag(tag) if tag != "namespace");
    annotated || rule.parent.as_deref().is_some_and(by_namespace)
}
