//! Checks that the operator's `ServiceAccount` has the rights it needs: those of `manifests/rbac.yaml` and,
//! for the webhooks, of `manifests/https/rbac.yaml`, and for the served API of `manifests/access`. Not every
//! installation needs all of them, and an installation that grants fewer is not advised to grant more.

use std::collections::BTreeSet;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::rbac::v1::PolicyRule;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};
use serde::Deserialize;

use crate::source::checks::{Line, ROLE, list};
use crate::source::installed::{NAME, NAMESPACE};
use queuewarden_client::call::{CallError, call};
use queuewarden_plan::snapshot::{Adoption, ConfigSpec, Snapshot, YUNIKORN_DEFAULTS};
use queuewarden_plan::user_info;

const RIGHTS: &str = "rights";
/// The rights of every installation.
const MANIFEST: &str = include_str!("../../../../manifests/rbac.yaml");
/// The rights that only webhooks and the served API need.
const MANIFEST_OF_HTTPS: &str = include_str!("../../../../manifests/https/rbac.yaml");
/// The rights that only the served API needs, and roles of its users.
const MANIFEST_OF_ACCESS: &str = include_str!("../../../../manifests/access/rbac.yaml");
/// `YuniKorn`'s namespace in the manifests.
const YUNIKORN: &str = "yunikorn";
/// Role and account for the renewal of the certificate, and for writing `caBundle` wherever the API server
/// has to trust it.
const KEEPER: &str = "queuewarden-certificates";
/// Maximum number of parallel reviews.
const CONCURRENCY: usize = 8;
/// Maximum number of missing rights that are named.
const NAMED: usize = 6;

/// Parts of an installation that decide which rights it needs.
#[derive(Debug, Clone)]
pub(super) struct RightSetting<'s> {
    /// Namespace of the operator.
    pub(super) namespace: &'s str,
    /// Name of its `ServiceAccount`.
    pub(super) account: &'s str,
    /// Settings of its `YuniKornConfig`.
    pub(super) spec: &'s ConfigSpec,
    /// True if any webhook or the served API is used.
    pub(super) https: bool,
    /// True if the served API is used.
    pub(super) access: bool,
    /// True if the output ConfigMap exists; `None` if unknown.
    pub(super) output: Option<bool>,
    /// True if its certificate is mounted and managed by another program; `None` if unknown.
    pub(super) mounted: Option<bool>,
    /// Kinds whose resources own the objects that operators create: API group and resource.
    pub(super) owners: BTreeSet<(String, String)>,
}

/// A role in the manifests. A binding is read as a role without rules.
#[derive(Debug, Deserialize)]
struct Role {
    metadata: ObjectMeta,
    #[serde(default)]
    rules: Vec<PolicyRule>,
}

/// Purpose of a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// The work of every installation.
    Work,
    /// Creation of missing ConfigMaps.
    Creation,
    /// Use and renewal of queuewarden's own certificate.
    Certificate,
    /// The names in the resources that own what operators create.
    Owners,
}

/// A right to check by an access review.
struct RightRequest {
    purpose: Purpose,
    /// Account that needs the right.
    account: &'static str,
    attributes: ResourceAttributes,
}

impl Role {
    fn in_yunikorn(&self) -> bool {
        self.metadata.namespace.as_deref() == Some(YUNIKORN)
    }

    fn account(&self) -> &'static str {
        if self.metadata.name.as_deref() == Some(KEEPER) { KEEPER } else { NAME }
    }

    fn purpose(&self, rule: &PolicyRule) -> Purpose {
        let secrets = rule.resources.iter().flatten().any(|resource| resource == "secrets");
        if secrets || self.account() == KEEPER {
            Purpose::Certificate
        } else if self.in_yunikorn() && rule.verbs == ["create"] {
            Purpose::Creation
        } else {
            Purpose::Work
        }
    }
}

impl RightSetting<'_> {
    /// Returns whether the installation needs a right; `None` if unknown.
    fn needs(&self, purpose: Purpose) -> Option<bool> {
        match purpose {
            Purpose::Work | Purpose::Owners => Some(true),
            // Import creates a base, and Force a copy of the text it replaces.
            Purpose::Creation if self.spec.adoption != Adoption::IfUnowned => Some(true),
            Purpose::Creation => self.output.map(|there| !there),
            Purpose::Certificate => self.mounted.map(|mounted| !mounted),
        }
    }

    fn user(&self, account: &str) -> String {
        let account = if account == NAME { self.account } else { account };
        format!("system:serviceaccount:{}:{account}", self.namespace)
    }

    /// Returns the roles that the installation may need.
    fn roles(&self) -> Vec<Role> {
        let files = [Some(MANIFEST), self.https.then_some(MANIFEST_OF_HTTPS)];
        let read = |file| serde_saphyr::from_multiple::<Role>(file).unwrap_or_default();
        let roles = files.into_iter().flatten().flat_map(read);
        let of_access = self.access.then_some(MANIFEST_OF_ACCESS).into_iter().flat_map(read);
        // Users have its other roles.
        let own = |role: &Role| role.metadata.name.as_deref() == Some("queuewarden-access");
        roles.chain(of_access.filter(own)).collect()
    }

    /// Returns the requests for all rights that are, or may be, needed.
    fn requests(&self) -> Vec<RightRequest> {
        let mut requests = Vec::new();
        for role in self.roles() {
            let needed = role.rules.iter().filter(|rule| self.needs(role.purpose(rule)) != Some(false));
            requests.extend(needed.flat_map(|rule| self.requests_for(&role, rule)));
        }
        requests.extend(self.owners.iter().map(|(group, resource)| RightRequest {
            purpose: Purpose::Owners,
            account: NAME,
            attributes: ResourceAttributes {
                group: Some(group.clone()),
                resource: Some(resource.clone()),
                verb: Some("get".to_owned()),
                ..ResourceAttributes::default()
            },
        }));
        requests
    }

    /// Returns one request for each resource, verb and name of a right.
    fn requests_for(&self, role: &Role, right: &PolicyRule) -> Vec<RightRequest> {
        let namespace = match role.metadata.namespace.as_deref() {
            Some(YUNIKORN) => Some(self.spec.namespace.clone()),
            Some(NAMESPACE) => Some(self.namespace.to_owned()),
            other => other.map(str::to_owned),
        };
        let objects = self.names(right, role.in_yunikorn());
        let mut requests = Vec::new();
        for resource in right.resources.iter().flatten() {
            let (resource, subresource) = match resource.split_once('/') {
                Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
                None => (resource.as_str(), None),
            };
            for verb in &right.verbs {
                requests.extend(objects.iter().map(|name| RightRequest {
                    purpose: role.purpose(right),
                    account: role.account(),
                    attributes: ResourceAttributes {
                        namespace: namespace.clone(),
                        group: right.api_groups.as_ref().map(|groups| groups.concat()),
                        resource: Some(resource.to_owned()),
                        subresource: subresource.clone(),
                        verb: Some(verb.clone()),
                        name: name.clone(),
                        ..ResourceAttributes::default()
                    },
                }));
            }
        }
        requests
    }

    /// Returns the names of the objects for which a right is needed. ConfigMaps come from the
    /// `YuniKornConfig`.
    fn names(&self, rule: &PolicyRule, in_yunikorn: bool) -> Vec<Option<String>> {
        let Some(names) = rule.resource_names.clone() else { return vec![None] };
        if !in_yunikorn {
            return names.into_iter().map(Some).collect();
        }
        let ConfigSpec { base_config_map: base, output_config_map: output, .. } = self.spec;
        let used = |name: &String| [base, output].contains(&name) || name == YUNIKORN_DEFAULTS;
        let reads = rule.verbs.iter().any(|verb| verb == "watch");
        let other = Some(base.clone()).filter(|base| reads && !names.contains(base));
        names.iter().filter(|name| used(name)).cloned().chain(other).map(Some).collect()
    }

    /// Creates the line for `count` requests with the denied ones in `missing`.
    fn evaluate(&self, count: usize, missing: &[RightRequest]) -> Line {
        let user = self.user(NAME);
        if missing.is_empty() {
            return Line::ok(RIGHTS, format!("{user} has all {count} permissions that it needs"));
        }
        let needed = |request: &&RightRequest| self.needs(request.purpose) == Some(true);
        let (sure, maybe): (Vec<&RightRequest>, Vec<&RightRequest>) = missing.iter().partition(needed);
        let named: Vec<String> = sure.iter().chain(&maybe).map(|request| missing_right(request)).collect();
        let found = format!("{user} may not: {}", list(&named, ", ", NAMED));
        if sure.is_empty() {
            return Line::warn(RIGHTS, format!("{found}; it is unknown whether it needs them"), ROLE);
        }
        Line::fail(RIGHTS, found, self.remedy(&sure))
    }

    /// Returns the remedy for missing rights. The files may contain more rights than needed, so they must not
    /// be applied unchanged.
    fn remedy(&self, missing: &[&RightRequest]) -> String {
        if missing.iter().all(|request| request.purpose == Purpose::Owners) {
            return "userInfo.operators needs them, to read the name in the resource that owns an object; \
                kubectl apply the ClusterRole of the operator's file in examples/operators, or one like it"
                .to_owned();
        }
        let file = match (self.https, self.access) {
            (_, true) => "rbac.yaml of manifests, manifests/https and manifests/access",
            (true, false) => "manifests/rbac.yaml and manifests/https/rbac.yaml",
            (false, false) => "manifests/rbac.yaml",
        };
        let creation = missing.iter().any(|request| request.purpose == Purpose::Creation);
        let ConfigSpec { namespace, output_config_map: output, .. } = self.spec;
        let way = if creation {
            format!(
                "; it need not create ConfigMaps where {namespace}/{output} is there, if only an empty one, \
                and spec.adoption is IfUnowned"
            )
        } else {
            String::new()
        };
        format!(
            "give it these, which are listed in {file}: change the namespaces there to those of this \
            installation, as the chart's values do{way}"
        )
    }
}

/// Returns the kinds whose resources are read for the names in them: if operators are named, the kinds of the
/// templates.
pub(super) fn owners(snapshot: &Snapshot) -> BTreeSet<(String, String)> {
    let settings = user_info(snapshot);
    let templates = settings.templates.into_iter().filter(|_| !settings.operators.is_empty());
    templates.map(|template| (template.group, template.resource)).collect()
}

pub(super) async fn check(client: &Client, setting: &RightSetting<'_>) -> Line {
    let requests = setting.requests();
    let count = requests.len();
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let reviews = &reviews;
    let answers = futures::stream::iter(requests)
        .map(|request| async move { may(reviews, setting, &request).await.map(|may| (request, may)) });
    let answers: Result<Vec<(RightRequest, bool)>, CallError> =
        answers.buffered(CONCURRENCY).try_collect().await;
    match answers {
        Ok(answers) => {
            let missing = answers.into_iter().filter_map(|(request, may)| (!may).then_some(request));
            setting.evaluate(count, &missing.collect::<Vec<_>>())
        }
        Err(error) => Line::unknown(RIGHTS, &format!("what {} may do", setting.user(NAME)), &error),
    }
}

async fn may(
    reviews: &Api<SubjectAccessReview>,
    setting: &RightSetting<'_>,
    request: &RightRequest,
) -> Result<bool, CallError> {
    let groups = ["system:serviceaccounts", "system:authenticated"].map(str::to_owned).into_iter();
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(setting.user(request.account)),
            groups: Some(groups.chain([format!("system:serviceaccounts:{}", setting.namespace)]).collect()),
            resource_attributes: Some(request.attributes.clone()),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let answer = call(reviews.create(&PostParams::default(), &review)).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

/// Describes a missing right.
fn missing_right(request: &RightRequest) -> String {
    let words = words(&request.attributes);
    if request.account == KEEPER { format!("{words} (as {KEEPER})") } else { words }
}

/// Describes a request: `patch queueacls/status`, `update configmaps yunikorn/yunikorn-configs`.
fn words(request: &ResourceAttributes) -> String {
    let word = |field: &Option<String>| field.clone().unwrap_or_default();
    let subresource = request.subresource.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
    let place = match (&request.namespace, &request.name) {
        (Some(namespace), Some(name)) => format!(" {namespace}/{name}"),
        (Some(namespace), None) => format!(" in {namespace}"),
        (None, Some(name)) => format!(" {name}"),
        (None, None) => String::new(),
    };
    format!("{} {}{subresource}{place}", word(&request.verb), word(&request.resource))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::operate::check::Level;
    use queuewarden_plan::snapshot::{AdmissionPolicySpec, Entry, Meta};
    use serde_json::json;

    #[test]
    fn every_rule_of_the_manifests_has_its_purpose() {
        let spec = ConfigSpec { adoption: Adoption::Import, ..ConfigSpec::default() };
        let rules_by_purpose = |https| {
            let roles = RightSetting { https, access: https, ..setting(&spec) }.roles();
            [Purpose::Work, Purpose::Creation, Purpose::Certificate].map(|purpose| {
                let purposes = roles.iter().flat_map(|role| role.rules.iter().map(|rule| role.purpose(rule)));
                purposes.filter(|of_rule| *of_rule == purpose).count()
            })
        };
        assert_eq!(rules_by_purpose(false), [10, 1, 0]);
        assert_eq!(rules_by_purpose(true), [12, 1, 5]);
    }

    /// Creates an installation with webhooks, its own certificate, and a missing output.
    fn setting(spec: &ConfigSpec) -> RightSetting<'_> {
        RightSetting {
            namespace: "ops",
            account: NAME,
            spec,
            https: true,
            access: true,
            output: Some(false),
            mounted: Some(false),
            owners: BTreeSet::new(),
        }
    }

    fn rights(setting: &RightSetting<'_>) -> Vec<String> {
        setting.requests().iter().map(|question| words(&question.attributes)).collect()
    }

    /// Returns the line if every right whose description contains the word is missing.
    fn without(setting: &RightSetting<'_>, word: &str) -> Line {
        let questions = setting.requests();
        let rights = questions.len();
        let missing: Vec<RightRequest> =
            questions.into_iter().filter(|question| words(&question.attributes).contains(word)).collect();
        setting.evaluate(rights, &missing)
    }

    #[test]
    fn the_rights_asked_for_are_those_of_this_installation() {
        let spec =
            ConfigSpec { namespace: "yk".into(), base_config_map: "tree".into(), ..ConfigSpec::default() };
        let all = rights(&setting(&spec));
        for right in [
            "watch queueacls",
            "patch queueacls/status",
            "watch configmaps yk/tree",
            "get configmaps yk/yunikorn-defaults",
            "patch configmaps yk/yunikorn-configs",
            "create configmaps in yk",
            "create controllerrevisions in yk",
            "delete controllerrevisions in yk",
            "update leases ops/queuewarden",
            "create events in default",
            "update secrets ops/queuewarden-tls",
        ] {
            assert!(all.iter().any(|found| found == right), "{right}: {all:?}");
        }
        let webhooks = rights(&RightSetting { access: false, ..setting(&spec) });
        assert!(!webhooks.iter().any(|found| found.contains("reviews")), "{webhooks:?}");
        let closed = rights(&RightSetting { https: false, access: false, ..setting(&spec) });
        assert!(
            !closed.iter().any(|found| found.contains("secrets") || found.contains("yunikorn-queues")),
            "{closed:?}"
        );
        assert!(closed.len() < all.len());
    }

    #[test]
    fn who_shows_a_mounted_certificate_keeps_none() {
        let spec = ConfigSpec::default();
        let kept = ["secrets", "webhookconfigurations", "apiservices"];
        let mounted = RightSetting { mounted: Some(true), ..setting(&spec) };
        let all = rights(&mounted);
        assert!(!all.iter().any(|found| kept.iter().any(|word| found.contains(word))), "{all:?}");
        assert!(all.iter().any(|found| found == "create tokenreviews"), "{all:?}");
        for word in kept {
            assert_eq!(without(&mounted, word).level, Level::Ok, "{word}");
            assert_eq!(without(&setting(&spec), word).level, Level::Fail, "{word}");
            let unknown = RightSetting { mounted: None, ..setting(&spec) };
            assert_eq!(without(&unknown, word).level, Level::Warn, "{word}");
        }
        assert_eq!(without(&mounted, "tokenreviews").level, Level::Fail);
        let keeper = without(&setting(&spec), "webhookconfigurations").found;
        assert!(keeper.contains("(as queuewarden-certificates)"), "{keeper}");
    }

    #[test]
    fn who_writes_a_config_map_that_is_there_creates_none() {
        let spec = |adoption| ConfigSpec { adoption, ..ConfigSpec::default() };
        let create = "create configmaps in yunikorn";
        for (adoption, output, level) in [
            (Adoption::IfUnowned, Some(true), Level::Ok),
            (Adoption::IfUnowned, Some(false), Level::Fail),
            (Adoption::IfUnowned, None, Level::Warn),
            (Adoption::Import, Some(true), Level::Fail),
            (Adoption::Force, Some(true), Level::Fail),
        ] {
            let spec = spec(adoption);
            let setting = RightSetting { output, ..setting(&spec) };
            let line = without(&setting, create);
            assert_eq!(line.level, level, "{adoption:?} {output:?}");
            assert_eq!(level != Level::Ok, line.found.contains(create), "{line:?}");
            let reported = line.remedy.unwrap_or_default().contains("yunikorn/yunikorn-configs is there");
            assert_eq!(
                reported,
                level == Level::Fail,
                "{adoption:?} {output:?}: there is a way without the right"
            );
        }
    }

    #[test]
    fn the_resources_that_operators_pass_names_on_from_are_read() {
        let policy = |operators: &[&str]| {
            let settings = json!({
                "mode": "Enforce", "operators": operators,
                "templates": [
                    {"group": "ray.io", "resource": "rayclusters", "path": "spec.headGroupSpec.template"},
                    {"group": "ray.io", "resource": "rayclusters", "path": "spec.workerGroupSpecs.*.template"},
                ],
            });
            let spec = AdmissionPolicySpec {
                user_info: Some(serde_json::from_value(settings).unwrap()),
                ..AdmissionPolicySpec::default()
            };
            let policies = vec![Entry { meta: Meta::default(), spec: Ok(spec), in_force: None }];
            owners(&Snapshot { policies, ..Snapshot::empty(jiff::Timestamp::UNIX_EPOCH) })
        };
        assert_eq!(policy(&[]), BTreeSet::new());
        let spec = ConfigSpec::default();
        let owners = policy(&["system:serviceaccount:kuberay:kuberay-operator"]);
        let setting = RightSetting { owners, ..setting(&spec) };
        let line = without(&setting, "rayclusters");
        assert_eq!(line.level, Level::Fail);
        assert!(line.found.ends_with("may not: get rayclusters"), "{line:?}");
        assert!(line.remedy.unwrap().contains("examples/operators"));
    }

    #[test]
    fn what_is_surely_needed_is_named_first() {
        let spec = ConfigSpec::default();
        let unknown = RightSetting { mounted: None, output: None, ..setting(&spec) };
        let line = without(&unknown, "");
        assert_eq!(line.level, Level::Fail);
        let first = "system:serviceaccount:ops:queuewarden may not: get queueacls, list queueacls";
        assert!(line.found.starts_with(first), "{line:?}");
        assert!(!line.remedy.unwrap().contains("spec.adoption"));
        let file = |https| {
            without(&RightSetting { https, access: false, ..setting(&spec) }, "leases").remedy.unwrap()
        };
        assert!(file(true).contains("manifests/https/rbac.yaml") && !file(false).contains("https"));
    }
}
