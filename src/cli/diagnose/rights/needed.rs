//! Table of all rights that an installation may need.

use crate::operator::last_base;
use queuewarden_plan::snapshot::{YUNIKORN_CONFIGS, YUNIKORN_DEFAULTS};

/// Scope of a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The cluster, by a `ClusterRole`.
    Cluster,
    /// The namespace of `YuniKorn`.
    YuniKorn,
    /// The namespace of queuewarden.
    Own,
    /// The namespace `default`, which holds events about cluster-scoped objects.
    Default,
}

/// Purpose of a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The work of every installation.
    Work,
    /// Creation of missing ConfigMaps.
    Creation,
    /// Use of a certificate of its own.
    Certificate,
    /// Renewal of that certificate, and writing `caBundle` wherever the API server has to trust it: for
    /// `queuewarden certificates`, under an account of its own.
    Keeping,
}

/// A right that the operator needs.
#[derive(Debug, Clone, Copy)]
pub struct Needed {
    /// Scope.
    pub place: Place,
    /// API group.
    pub group: &'static str,
    /// Plural names, with `/status` for the subresource.
    pub resources: &'static [&'static str],
    /// Names of the objects; empty for all.
    pub names: &'static [&'static str],
    /// Verbs.
    pub verbs: &'static [&'static str],
    /// True if only webhooks and the served API need it.
    pub https: bool,
    /// Purpose.
    pub purpose: Purpose,
}

const fn needed(
    place: Place,
    group: &'static str,
    resources: &'static [&'static str],
    names: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Needed {
    Needed { place, group, resources, names, verbs, https: false, purpose: Purpose::Work }
}

const fn for_creation(right: Needed) -> Needed {
    Needed { purpose: Purpose::Creation, ..right }
}

const fn for_endpoints(right: Needed) -> Needed {
    Needed { https: true, ..right }
}

const fn for_certificate(right: Needed) -> Needed {
    Needed { purpose: Purpose::Certificate, ..for_endpoints(right) }
}

const fn for_keeping(right: Needed) -> Needed {
    Needed { purpose: Purpose::Keeping, ..for_endpoints(right) }
}

const KINDS: &[&str] = &["queueacls", "admissionpolicies", "yunikornconfigs", "queueaccesstests"];
const STATUSES: &[&str] =
    &["queueacls/status", "admissionpolicies/status", "yunikornconfigs/status", "queueaccesstests/status"];

/// All rights.
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
    for_creation(needed(Place::YuniKorn, "", &["configmaps"], &[], &["create"])),
    needed(Place::Own, "coordination.k8s.io", &["leases"], &["queuewarden"], &["get", "update"]),
    needed(Place::Own, "coordination.k8s.io", &["leases"], &[], &["create"]),
    needed(Place::Own, "", &["configmaps"], &[last_base::NAME], &["get", "patch"]),
    needed(Place::Own, "", &["configmaps"], &[], &["create"]),
    needed(Place::Default, "events.k8s.io", &["events"], &[], &["create", "patch"]),
    for_certificate(needed(Place::Own, "", &["secrets"], &["queuewarden-tls"], &["get"])),
    for_keeping(needed(Place::Own, "", &["secrets"], &["queuewarden-tls"], &["get", "update"])),
    for_keeping(needed(
        Place::Cluster,
        "admissionregistration.k8s.io",
        &["validatingwebhookconfigurations"],
        &["queuewarden", "queuewarden-configmaps", "queuewarden-submission", "queuewarden-user-info"],
        &["get", "patch"],
    )),
    for_keeping(needed(
        Place::Cluster,
        "admissionregistration.k8s.io",
        &["mutatingwebhookconfigurations"],
        &["zz-queuewarden-user-info"],
        &["get", "patch"],
    )),
    for_keeping(needed(
        Place::Cluster,
        "apiregistration.k8s.io",
        &["apiservices"],
        &["v1alpha1.access.queuewarden.dev"],
        &["get", "patch"],
    )),
    for_endpoints(needed(Place::Cluster, "authentication.k8s.io", &["tokenreviews"], &[], &["create"])),
];
