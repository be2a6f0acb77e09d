//! Reads and writes the objects of the RBAC mirror.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject as RbacSubject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::API_VERSION;
use super::v1alpha1::SINGLETON;
use queuewarden_plan::snapshot::{
    FIELD_MANAGER, MANAGED_BY, MIRROR_LABEL, MIRROR_VALUE, MirrorContent, MirrorKind, MirrorObject,
    MirrorRule, MirrorSubject,
};

/// The group of roles, bindings, users and groups.
const RBAC: &str = "rbac.authorization.k8s.io";
/// The kind of the owner.
const OWNER: &str = "YuniKornConfig";

/// Builds a role with these rules. `version` is the `resourceVersion` of the role that it replaces.
pub fn role(name: &str, rules: &[MirrorRule], owner: &str, version: Option<&str>) -> ClusterRole {
    let rules = rules.iter().map(|rule| PolicyRule {
        api_groups: Some(rule.groups.clone()),
        resources: Some(rule.resources.clone()),
        resource_names: Some(rule.names.clone()),
        verbs: rule.verbs.clone(),
        non_resource_urls: None,
    });
    ClusterRole {
        metadata: metadata(name, owner, version),
        rules: Some(rules.collect()),
        aggregation_rule: None,
    }
}

/// Builds a binding for the role of the same name. `version` is used as in [`role`].
pub fn binding(
    name: &str,
    subjects: &BTreeSet<MirrorSubject>,
    owner: &str,
    version: Option<&str>,
) -> ClusterRoleBinding {
    let subjects = subjects.iter().map(|subject| {
        let kind = match subject {
            MirrorSubject::User(_) => "User",
            MirrorSubject::Group(_) => "Group",
        };
        RbacSubject {
            api_group: Some(RBAC.to_owned()),
            kind: kind.to_owned(),
            name: subject.name().to_owned(),
            namespace: None,
        }
    });
    ClusterRoleBinding {
        metadata: metadata(name, owner, version),
        role_ref: RoleRef {
            api_group: RBAC.to_owned(),
            kind: MirrorKind::Role.name().to_owned(),
            name: name.to_owned(),
        },
        subjects: Some(subjects.collect()),
    }
}

/// Reads a current role.
pub fn current_role(role: ClusterRole) -> MirrorObject {
    let plain = |rule: PolicyRule| {
        rule.non_resource_urls.is_none_or(|urls| urls.is_empty()).then(|| MirrorRule {
            groups: rule.api_groups.unwrap_or_default(),
            resources: rule.resources.unwrap_or_default(),
            names: rule.resource_names.unwrap_or_default(),
            verbs: rule.verbs,
        })
    };
    let rules: Option<Vec<_>> = role.rules.unwrap_or_default().into_iter().map(plain).collect();
    let rules = rules.filter(|_| role.aggregation_rule.is_none());
    current_object(role.metadata, rules.map_or(MirrorContent::Other, MirrorContent::Role))
}

/// Reads a current binding.
pub fn current_binding(binding: ClusterRoleBinding) -> MirrorObject {
    let subject = |subject: RbacSubject| match subject.kind.as_str() {
        _ if subject.api_group.as_deref() != Some(RBAC) || subject.namespace.is_some() => None,
        "User" => Some(MirrorSubject::User(subject.name)),
        "Group" => Some(MirrorSubject::Group(subject.name)),
        _ => None,
    };
    let RoleRef { kind, name, .. } = binding.role_ref;
    let of_its_role = kind == MirrorKind::Role.name() && Some(&name) == binding.metadata.name.as_ref();
    let subjects = binding.subjects.unwrap_or_default();
    let count = subjects.len();
    let subjects: Option<BTreeSet<_>> = subjects.into_iter().map(subject).collect();
    let subjects = subjects.filter(|subjects| of_its_role && subjects.len() == count);
    current_object(binding.metadata, subjects.map_or(MirrorContent::Other, MirrorContent::Binding))
}

/// Returns whether the mirror may change an object. Objects without its label belong to someone else.
pub fn is_labelled(metadata: &ObjectMeta) -> bool {
    metadata.labels.iter().any(|labels| labels.get(MIRROR_LABEL).is_some_and(|value| value == MIRROR_VALUE))
}

fn current_object(metadata: ObjectMeta, content: MirrorContent) -> MirrorObject {
    let owner = metadata.owner_references.into_iter().flatten().find(|owner| owner.kind == OWNER);
    MirrorObject {
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
        owner: owner.map(|owner| owner.uid),
        content,
    }
}

fn metadata(name: &str, owner: &str, version: Option<&str>) -> ObjectMeta {
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    ObjectMeta {
        name: Some(name.to_owned()),
        resource_version: version.map(str::to_owned),
        labels: Some(BTreeMap::from([label(MIRROR_LABEL, MIRROR_VALUE), label(MANAGED_BY, FIELD_MANAGER)])),
        owner_references: Some(vec![OwnerReference {
            api_version: API_VERSION.to_owned(),
            kind: OWNER.to_owned(),
            name: SINGLETON.to_owned(),
            uid: owner.to_owned(),
            controller: Some(true),
            block_owner_deletion: None,
        }]),
        ..ObjectMeta::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Vec<MirrorRule> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        vec![MirrorRule {
            groups: words(&["queuewarden.dev"]),
            resources: words(&["queues"]),
            names: words(&["root.prod"]),
            verbs: words(&["submit"]),
        }]
    }

    #[test]
    fn what_is_written_reads_as_it_was_meant() {
        let read = current_role(role("queuewarden:mirror:x", &rules(), "uid", Some("7")));
        assert_eq!(read.content, MirrorContent::Role(rules()));
        assert_eq!((read.owner.as_deref(), read.resource_version.as_str()), (Some("uid"), "7"));
        let subjects =
            BTreeSet::from([MirrorSubject::User("sue".to_owned()), MirrorSubject::Group("devs".to_owned())]);
        let written = binding("queuewarden:mirror:x", &subjects, "uid", None);
        assert!(is_labelled(&written.metadata));
        assert_eq!(current_binding(written).content, MirrorContent::Binding(subjects));
    }

    #[test]
    fn what_others_put_in_is_seen() {
        let mut other = binding("x", &BTreeSet::from([MirrorSubject::User("sue".to_owned())]), "uid", None);
        let mut elsewhere = other.clone();
        elsewhere.role_ref.name = "cluster-admin".to_owned();
        assert_eq!(current_binding(elsewhere).content, MirrorContent::Other);
        let account = RbacSubject {
            kind: "ServiceAccount".to_owned(),
            name: "x".to_owned(),
            namespace: Some("default".to_owned()),
            api_group: None,
        };
        other.subjects.get_or_insert_default().push(account);
        assert_eq!(current_binding(other).content, MirrorContent::Other);
        let mut path = role("x", &rules(), "uid", None);
        if let Some(rule) = path.rules.as_mut().and_then(|rules| rules.first_mut()) {
            rule.non_resource_urls = Some(vec!["/metrics".to_owned()]);
        }
        assert_eq!(current_role(path).content, MirrorContent::Other);
        let mut aggregated = role("x", &rules(), "uid", None);
        aggregated.aggregation_rule = Some(k8s_openapi::api::rbac::v1::AggregationRule::default());
        assert_eq!(current_role(aggregated).content, MirrorContent::Other);
    }
}
