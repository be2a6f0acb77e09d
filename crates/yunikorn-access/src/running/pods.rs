//! Questions of Kubernetes about pods that are questions about their applications: `get pods/log` reads the
//! logs of one, `delete pods` ends a part of it. So an administrator of a queue may kill its applications, as
//! in YARN.
//!
//! The authorizer only ever adds here: what the ACLs do not grant is left to RBAC.

use super::Scheduler;
use crate::application::Verb;
use crate::review::{Answer, Application, Opinion, Review};

/// An action on one pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodRequest<'a> {
    /// The action: read its logs, or end it.
    pub verb: Verb,
    /// `resourceAttributes.namespace`
    pub namespace: &'a str,
    /// `resourceAttributes.name`
    pub name: &'a str,
}

/// Reads the question of a review, if it is about one pod: all pods of a namespace are no application.
pub fn read(review: &Review) -> Option<PodRequest<'_>> {
    let attributes = review.resource.as_ref().filter(|_| review.path.is_none())?;
    if !attributes.group.is_empty()
        || attributes.resource != "pods"
        || attributes.name.is_empty()
        || attributes.namespace.is_empty()
    {
        return None;
    }
    let verb = match (attributes.verb.as_str(), attributes.subresource.as_str()) {
        ("get", "log") => Verb::Logs,
        ("delete", "") => Verb::Kill,
        _ => return None,
    };
    Some(PodRequest { verb, namespace: &attributes.namespace, name: &attributes.name })
}

/// Answers yes if the ACLs grant it, and else has no opinion.
pub fn answer(
    review: &Review,
    question: PodRequest<'_>,
    application: &Application,
    Scheduler { tree, resolver, version }: Scheduler<'_>,
) -> Answer {
    let identity = match tree.identify(&review.identity, resolver, version) {
        Ok(identity) => identity,
        Err(refusal) => return Answer::no_opinion("identity", &refusal.describe(&review.identity.user)),
    };
    match application.answer(tree, (question.verb, ""), &identity) {
        denied @ Answer { opinion: Opinion::Deny, .. } => Answer { opinion: Opinion::NoOpinion, ..denied },
        granted => granted,
    }
}
