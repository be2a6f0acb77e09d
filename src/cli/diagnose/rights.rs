//! Checks that the operator's `ServiceAccount` has the rights it needs. These are in `manifests/rbac.yaml`
//! and, for the webhooks, in `manifests/https/rbac.yaml`, with reasons; a test compares them with the table
//! in [`needed`]. Not every installation needs all of them, and an installation that grants fewer is not
//! advised to grant more.

mod needed;

use futures::StreamExt as _;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};

pub use needed::{NEEDED, Needed, Place, Purpose};

use super::Line;
use crate::cli::installed::NAME;
use crate::operator::call::{self, call};
use queuewarden_plan::snapshot::{Adoption, ConfigSpec, YUNIKORN_DEFAULTS};

const RIGHTS: &str = "rights";
/// Maximum number of parallel reviews.
const CONCURRENCY: usize = 8;
/// Maximum number of missing rights that are named.
const NAMED: usize = 6;

/// Parts of an installation that decide which rights it needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'s> {
    /// Namespace of the operator.
    pub(super) namespace: &'s str,
    /// Settings of its `YuniKornConfig`.
    pub(super) spec: &'s ConfigSpec,
    /// True if any webhook or the served API is used.
    pub(super) https: bool,
    /// True if the output ConfigMap exists; `None` if unknown.
    pub(super) output: Option<bool>,
    /// True if its certificate is mounted, and managed by somebody else; `None` if unknown.
    pub(super) mounted: Option<bool>,
}

/// A right to check by an access review.
struct Question {
    right: &'static Needed,
    asked: ResourceAttributes,
}

impl Setting<'_> {
    /// Returns whether the installation needs a right; `None` if unknown.
    fn needs(&self, right: &Needed) -> Option<bool> {
        match right.purpose {
            _ if right.https && !self.https => Some(false),
            Purpose::Work => Some(true),
            // Import creates a base, and Force a copy of the text it replaces.
            Purpose::Creation if self.spec.adoption != Adoption::IfUnowned => Some(true),
            Purpose::Creation => self.output.map(|there| !there),
            Purpose::Certificate | Purpose::Keeping => self.mounted.map(|mounted| !mounted),
        }
    }

    fn user(&self) -> String {
        format!("system:serviceaccount:{}:{NAME}", self.namespace)
    }

    /// Returns the account that needs a right.
    fn needed_by(&self, right: &Needed) -> String {
        let keeper = if right.purpose == Purpose::Keeping { "-certificates" } else { "" };
        format!("{}{keeper}", self.user())
    }

    /// Returns one question for each verb, resource and name of the rights that are, or may be, needed.
    fn questions(&self) -> Vec<Question> {
        let mut questions = Vec::new();
        for right in NEEDED.iter().filter(|right| self.needs(right) != Some(false)) {
            let place = match right.place {
                Place::Cluster => None,
                Place::YuniKorn => Some(self.spec.namespace.clone()),
                Place::Own => Some(self.namespace.to_owned()),
                Place::Default => Some("default".to_owned()),
            };
            for (resource, verb) in right
                .resources
                .iter()
                .flat_map(|resource| right.verbs.iter().map(move |verb| (resource, verb)))
            {
                let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
                let subresource = Some(subresource.to_owned()).filter(|subresource| !subresource.is_empty());
                for name in names(right, self.spec) {
                    let asked = ResourceAttributes {
                        namespace: place.clone(),
                        group: Some(right.group.to_owned()),
                        resource: Some(resource.to_owned()),
                        subresource: subresource.clone(),
                        verb: Some((*verb).to_owned()),
                        name,
                        ..ResourceAttributes::default()
                    };
                    questions.push(Question { right, asked });
                }
            }
        }
        questions
    }

    /// Creates the line for `asked` questions, of which those in `missing` were denied.
    fn judge(&self, asked: usize, missing: &[Question]) -> Line {
        let user = self.user();
        if missing.is_empty() {
            return Line::ok(RIGHTS, format!("{user} may do all {asked} things it needs to"));
        }
        let needed = |question: &&Question| self.needs(question.right) == Some(true);
        let (sure, maybe): (Vec<&Question>, Vec<&Question>) = missing.iter().partition(needed);
        let named: Vec<String> =
            sure.iter().chain(&maybe).take(NAMED).map(|question| missing_right(question)).collect();
        let more = missing.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let found = format!("{user} may not: {}{more}", named.join(", "));
        if sure.is_empty() {
            return Line::warn(
                RIGHTS,
                format!("{found}; whether it needs to is not known"),
                "run this as somebody who may read the operator's Deployment, in the namespace that \
                --namespace names, and YuniKorn's ConfigMaps",
            );
        }
        Line::fail(RIGHTS, found, self.remedy(&sure))
    }

    /// Returns the remedy for missing rights. The files may hold more than is needed, so it does not say to
    /// apply them as they are.
    fn remedy(&self, missing: &[&Question]) -> String {
        let file = if self.https {
            "manifests/rbac.yaml and manifests/https/rbac.yaml"
        } else {
            "manifests/rbac.yaml"
        };
        let creation = missing.iter().any(|question| question.right.purpose == Purpose::Creation);
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
            "give it these, which stand in {file}: change the namespaces there to those of this \
            installation, as the chart's values do{way}"
        )
    }
}

pub(super) async fn check(client: &Client, setting: &Setting<'_>) -> Vec<Line> {
    let questions = setting.questions();
    let asked = questions.len();
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let answers = futures::stream::iter(questions).map(|question| {
        let reviews = reviews.clone();
        async move { may(&reviews, setting, &question).await.map(|may| (question, may)) }
    });
    let answers: Vec<_> = answers.buffered(CONCURRENCY).collect().await;
    let mut missing = Vec::new();
    for answer in answers {
        match answer {
            Ok((_, true)) => {}
            Ok((question, false)) => missing.push(question),
            Err(error) => {
                return vec![Line::unknown(RIGHTS, &format!("what {} may do", setting.user()), &error)];
            }
        }
    }
    vec![setting.judge(asked, &missing)]
}

/// Returns the names of the objects that a right is needed for: of the ConfigMaps, those that the
/// `YuniKornConfig` names.
fn names(right: &Needed, spec: &ConfigSpec) -> Vec<Option<String>> {
    if right.names.is_empty() {
        return vec![None];
    }
    let used = |name: &&&str| {
        right.place != Place::YuniKorn
            || [&spec.base_config_map, &spec.output_config_map].into_iter().any(|used| used == **name)
            || **name == YUNIKORN_DEFAULTS
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
    setting: &Setting<'_>,
    question: &Question,
) -> Result<bool, call::Error> {
    let groups = ["system:serviceaccounts", "system:authenticated"].map(str::to_owned).into_iter();
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(setting.needed_by(question.right)),
            groups: Some(groups.chain([format!("system:serviceaccounts:{}", setting.namespace)]).collect()),
            resource_attributes: Some(question.asked.clone()),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let answer = call(reviews.create(&PostParams::default(), &review)).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

/// Describes a missing right.
fn missing_right(question: &Question) -> String {
    let words = words(&question.asked);
    match question.right.purpose {
        Purpose::Keeping => format!("{words} (as {NAME}-certificates)"),
        _ => words,
    }
}

/// Describes a request: `patch queueacls/status`, `update configmaps yunikorn/yunikorn-configs`.
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
    use crate::cli::diagnose::Level;

    /// Creates an installation with webhooks, a certificate of its own, and a missing output.
    fn setting(spec: &ConfigSpec) -> Setting<'_> {
        Setting { namespace: "ops", spec, https: true, output: Some(false), mounted: Some(false) }
    }

    fn asked(setting: &Setting<'_>) -> Vec<String> {
        setting.questions().iter().map(|question| words(&question.asked)).collect()
    }

    /// Returns the line if every right whose description contains the word is missing.
    fn without(setting: &Setting<'_>, word: &str) -> Line {
        let questions = setting.questions();
        let asked = questions.len();
        let missing: Vec<Question> =
            questions.into_iter().filter(|question| words(&question.asked).contains(word)).collect();
        setting.judge(asked, &missing)
    }

    #[test]
    fn the_rights_asked_for_are_those_of_this_installation() {
        let spec =
            ConfigSpec { namespace: "yk".into(), base_config_map: "tree".into(), ..ConfigSpec::default() };
        let all = asked(&setting(&spec));
        for right in [
            "watch queueacls",
            "patch queueacls/status",
            "watch configmaps yk/tree",
            "get configmaps yk/yunikorn-defaults",
            "patch configmaps yk/yunikorn-configs",
            "create configmaps in yk",
            "update leases ops/queuewarden",
            "create events in default",
            "update secrets ops/queuewarden-tls",
        ] {
            assert!(all.iter().any(|found| found == right), "{right}: {all:?}");
        }
        let closed = asked(&Setting { https: false, ..setting(&spec) });
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
        let mounted = Setting { mounted: Some(true), ..setting(&spec) };
        let all = asked(&mounted);
        assert!(!all.iter().any(|found| kept.iter().any(|word| found.contains(word))), "{all:?}");
        assert!(all.iter().any(|found| found == "create tokenreviews"), "{all:?}");
        for word in kept {
            assert_eq!(without(&mounted, word).level, Level::Ok, "{word}");
            assert_eq!(without(&setting(&spec), word).level, Level::Fail, "{word}");
            let unknown = Setting { mounted: None, ..setting(&spec) };
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
            let setting = Setting { output, ..setting(&spec) };
            let line = without(&setting, create);
            assert_eq!(line.level, level, "{adoption:?} {output:?}");
            assert_eq!(level != Level::Ok, line.found.contains(create), "{line:?}");
            let told = line.remedy.unwrap_or_default().contains("yunikorn/yunikorn-configs is there");
            assert_eq!(
                told,
                level == Level::Fail,
                "{adoption:?} {output:?}: there is a way without the right"
            );
        }
    }

    #[test]
    fn what_is_surely_needed_is_named_first() {
        let spec = ConfigSpec::default();
        let unknown = Setting { mounted: None, output: None, ..setting(&spec) };
        let line = without(&unknown, "");
        assert_eq!(line.level, Level::Fail);
        let first = "system:serviceaccount:ops:queuewarden may not: get queueacls, list queueacls";
        assert!(line.found.starts_with(first), "{line:?}");
        assert!(!line.remedy.unwrap().contains("spec.adoption"));
        let file = |https| without(&Setting { https, ..setting(&spec) }, "leases").remedy.unwrap();
        assert!(file(true).contains("manifests/https/rbac.yaml") && !file(false).contains("https"));
    }
}
