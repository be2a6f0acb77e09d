//! Whether the operator's `ServiceAccount` may do what it needs to. What that is stands in `manifests/rbac.yaml` and, for the doors, in
//! `manifests/doors/rbac.yaml`, with reasons; a test compares them with the table below.

use futures::StreamExt as _;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};

use super::Line;
use crate::cli::installed::NAME;
use crate::operator::call::{self, call};
use crate::plan::snapshot::{ConfigSpec, YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};

const RIGHTS: &str = "rights";
/// Questions under way at one time.
const CONCURRENCY: usize = 8;
/// Missing rights that are named.
const NAMED: usize = 6;

/// Where a right is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Everywhere, by a `ClusterRole`.
    Cluster,
    /// In `YuniKorn`'s namespace.
    YuniKorn,
    /// In queuewarden's own.
    Own,
    /// In namespace `default`, where events about cluster-scoped objects are.
    Default,
}

/// A right that the operator needs.
#[derive(Debug, Clone, Copy)]
pub struct Needed {
    /// Where.
    pub place: Place,
    /// API group.
    pub group: &'static str,
    /// Plural, with `/status` where it is that.
    pub resources: &'static [&'static str],
    /// Of these objects only; empty: of all.
    pub names: &'static [&'static str],
    /// To do what.
    pub verbs: &'static [&'static str],
    /// Whether only open doors need it.
    pub doors: bool,
}

const fn needed(
    place: Place,
    group: &'static str,
    resources: &'static [&'static str],
    names: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Needed {
    Needed { place, group, resources, names, verbs, doors: false }
}

const fn for_doors(right: Needed) -> Needed {
    Needed { doors: true, ..right }
}

const KINDS: &[&str] = &["queueacls", "admissionpolicies", "yunikornconfigs", "queueaccesstests"];
const STATUSES: &[&str] =
    &["queueacls/status", "admissionpolicies/status", "yunikornconfigs/status", "queueaccesstests/status"];

/// All of them.
pub const NEEDED: &[Needed] = &[
    needed(Place::Cluster, "queuewarden.dev", KINDS, &[], &["get", "list", "watch"]),
    needed(Place::Cluster, "queuewarden.dev", STATUSES, &[], &["patch"]),
    needed(
        Place::YuniKorn,
        "",
        &["configmaps"],
        &[YUNIKORN_DEFAULTS, YUNIKORN_CONFIGS, "yunikorn-queues"],
        &["get", "list", "watch"],
    ),
    needed(Place::YuniKorn, "", &["configmaps"], &[YUNIKORN_CONFIGS], &["update", "patch"]),
    needed(Place::YuniKorn, "", &["configmaps"], &[], &["create"]),
    needed(Place::Own, "coordination.k8s.io", &["leases"], &["queuewarden"], &["get", "update"]),
    needed(Place::Own, "coordination.k8s.io", &["leases"], &[], &["create"]),
    needed(Place::Default, "events.k8s.io", &["events"], &[], &["create", "patch"]),
    for_doors(needed(Place::Own, "", &["secrets"], &["queuewarden-doors"], &["get", "update"])),
    for_doors(needed(
        Place::Cluster,
        "admissionregistration.k8s.io",
        &["validatingwebhookconfigurations"],
        &["queuewarden", "queuewarden-guard", "queuewarden-submission", "queuewarden-user-info"],
        &["get", "patch"],
    )),
    for_doors(needed(
        Place::Cluster,
        "admissionregistration.k8s.io",
        &["mutatingwebhookconfigurations"],
        &["zz-queuewarden-user-info"],
        &["get", "patch"],
    )),
    for_doors(needed(
        Place::Cluster,
        "apiregistration.k8s.io",
        &["apiservices"],
        &["v1alpha1.access.queuewarden.dev"],
        &["get", "patch"],
    )),
    for_doors(needed(Place::Cluster, "authentication.k8s.io", &["tokenreviews"], &[], &["create"])),
];

pub(super) async fn check(client: &Client, namespace: &str, spec: &ConfigSpec, doors: bool) -> Vec<Line> {
    let questions = questions(namespace, spec, doors);
    let asked = questions.len();
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let answers = futures::stream::iter(questions).map(|question| {
        let reviews = reviews.clone();
        async move { may(&reviews, namespace, &question).await.map(|may| (question, may)) }
    });
    let answers: Vec<_> = answers.buffered(CONCURRENCY).collect().await;
    let mut missing = Vec::new();
    for answer in answers {
        match answer {
            Ok((_, true)) => {}
            Ok((question, false)) => missing.push(words(&question)),
            Err(error) => {
                return vec![Line::unknown(RIGHTS, &format!("what {} may do", user(namespace)), &error)];
            }
        }
    }
    if missing.is_empty() {
        return vec![Line::ok(RIGHTS, format!("{} may do all {asked} things it needs to", user(namespace)))];
    }
    let more = missing.len().saturating_sub(NAMED);
    missing.truncate(NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let found = format!("{} may not: {}{more}", user(namespace), missing.join(", "));
    let file =
        if doors { "manifests/rbac.yaml and manifests/doors/rbac.yaml" } else { "manifests/rbac.yaml" };
    vec![Line::fail(
        RIGHTS,
        found,
        format!("apply {file}; where YuniKorn runs elsewhere, change the namespaces in it"),
    )]
}

fn user(namespace: &str) -> String {
    format!("system:serviceaccount:{namespace}:{NAME}")
}

/// One question for each verb, resource and name.
fn questions(namespace: &str, spec: &ConfigSpec, doors: bool) -> Vec<ResourceAttributes> {
    let mut questions = Vec::new();
    for right in NEEDED.iter().filter(|right| doors || !right.doors) {
        let place = match right.place {
            Place::Cluster => None,
            Place::YuniKorn => Some(spec.namespace.clone()),
            Place::Own => Some(namespace.to_owned()),
            Place::Default => Some("default".to_owned()),
        };
        for (resource, verb) in
            right.resources.iter().flat_map(|resource| right.verbs.iter().map(move |verb| (resource, verb)))
        {
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            for name in names(right, spec) {
                questions.push(ResourceAttributes {
                    namespace: place.clone(),
                    group: Some(right.group.to_owned()),
                    resource: Some(resource.to_owned()),
                    subresource: Some(subresource.to_owned()).filter(|subresource| !subresource.is_empty()),
                    verb: Some((*verb).to_owned()),
                    name,
                    ..ResourceAttributes::default()
                });
            }
        }
    }
    questions
}

/// The objects that a right is needed for here: of the ConfigMaps, those that the `YuniKornConfig` names.
fn names(right: &Needed, spec: &ConfigSpec) -> Vec<Option<String>> {
    if right.names.is_empty() {
        return vec![None];
    }
    let used = |name: &&&str| {
        right.place != Place::YuniKorn
            || [&spec.base_config_map, &spec.output_config_map].into_iter().any(|used| used == **name)
            || **name == crate::plan::snapshot::YUNIKORN_DEFAULTS
    };
    let mut names: Vec<Option<String>> =
        right.names.iter().filter(used).map(|name| Some((*name).to_owned())).collect();
    let reads = right.place == Place::YuniKorn && right.verbs.contains(&"watch");
    let base = Some(spec.base_config_map.clone());
    if reads && !names.contains(&base) {
        names.push(base);
    }
    names
}

async fn may(
    reviews: &Api<SubjectAccessReview>,
    namespace: &str,
    question: &ResourceAttributes,
) -> Result<bool, call::Error> {
    let groups = ["system:serviceaccounts", "system:authenticated"].map(str::to_owned).into_iter();
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user(namespace)),
            groups: Some(groups.chain([format!("system:serviceaccounts:{namespace}")]).collect()),
            resource_attributes: Some(question.clone()),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let answer = call(reviews.create(&PostParams::default(), &review)).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

/// `patch queueacls/status`, `update configmaps yunikorn/yunikorn-configs`
fn words(question: &ResourceAttributes) -> String {
    let word = |field: &Option<String>| field.clone().unwrap_or_default();
    let subresource = question.subresource.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
    let place = match (&question.namespace, &question.name) {
        (Some(namespace), Some(name)) => format!(" {namespace}/{name}"),
        (Some(namespace), None) => format!(" in {namespace}"),
        (None, Some(name)) => format!(" {name}"),
        (None, None) => String::new(),
    };
    format!("{} {}{subresource}{place}", word(&question.verb), word(&question.resource))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rights_asked_for_are_those_of_this_installation() {
        let spec =
            ConfigSpec { namespace: "yk".into(), base_config_map: "tree".into(), ..ConfigSpec::default() };
        let all: Vec<String> = questions("ops", &spec, true).iter().map(words).collect();
        for right in [
            "watch queueacls",
            "patch queueacls/status",
            "watch configmaps yk/tree",
            "get configmaps yk/yunikorn-defaults",
            "patch configmaps yk/yunikorn-configs",
            "create configmaps in yk",
            "update leases ops/queuewarden",
            "create events in default",
            "update secrets ops/queuewarden-doors",
        ] {
            assert!(all.iter().any(|found| found == right), "{right}: {all:?}");
        }
        let closed: Vec<String> = questions("ops", &spec, false).iter().map(words).collect();
        assert!(
            !closed.iter().any(|found| found.contains("secrets") || found.contains("yunikorn-queues")),
            "{closed:?}"
        );
        assert!(closed.len() < all.len());
    }
}
