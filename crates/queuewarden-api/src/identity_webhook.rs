//! Decides whether the user-info webhook is registered so that all pods get their aliases, and none keeps
//! one that is not its own (manifests/user-info).

use k8s_openapi::api::admissionregistration::v1::{MatchCondition, RuleWithOperations, WebhookClientConfig};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::Deserialize;
use serde_json::Value;

/// The name of the configuration that makes the API server call the webhook which writes aliases.
pub const MUTATING: &str = "zz-queuewarden-user-info";
/// The name of the configuration that makes it call the webhook which checks them.
pub const VALIDATING: &str = "queuewarden-user-info";
/// The name of the configuration of `YuniKorn`'s admission controller (k8shim
/// `pkg/admission/webhook_manager.go:47`). API servers call it before [`MUTATING`], in the order of names.
pub const YUNIKORN: &str = "yunikorn-admission-controller-mutations";

/// The namespace that both webhooks leave out.
const LEFT_OUT: &str = "kube-system";
/// The condition that the shipped webhook which writes has.
const UPDATES: &str = "not-an-update-that-leaves-it";
/// The conditions that the shipped webhook which checks has.
const CHECKED: [&str; 2] = ["may-have-aliases", UPDATES];

/// A webhook of a configuration, of either kind, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    name: String,
    client_config: WebhookClientConfig,
    #[serde(default)]
    rules: Vec<RuleWithOperations>,
    #[serde(default)]
    namespace_selector: LabelSelector,
    #[serde(default)]
    object_selector: LabelSelector,
    #[serde(default)]
    match_conditions: Vec<MatchCondition>,
    failure_policy: Option<String>,
    reinvocation_policy: Option<String>,
}

/// Returns the webhooks of a configuration; none if it cannot be read.
pub fn webhooks(configuration: &Value) -> Vec<Webhook> {
    configuration.get("webhooks").and_then(|webhooks| Vec::deserialize(webhooks).ok()).unwrap_or_default()
}

/// Returns the path of the endpoint, whether a Service or a URL leads there.
fn path(client: &WebhookClientConfig) -> String {
    let of_service = client.service.as_ref().and_then(|service| service.path.clone());
    let of_url = || {
        let (_, rest) = client.url.as_deref()?.split_once("://")?;
        rest.split_once('/').map(|(_, path)| format!("/{path}"))
    };
    of_service.or_else(of_url).unwrap_or_default()
}

/// Checks that all pods get their aliases, by the webhooks of [`MUTATING`], [`VALIDATING`] and [`YUNIKORN`];
/// `None` where there is no such configuration. `left_alone` are `YuniKorn`'s namespace and queuewarden's.
///
/// # Errors
/// The reason why not, and what to do.
pub fn check(
    mutating: Option<&[Webhook]>,
    validating: Option<&[Webhook]>,
    yunikorn: Option<&[Webhook]>,
    left_alone: &[&str],
) -> Result<(), String> {
    let [mutating_name, validating_name] = [("Mutating", MUTATING), ("Validating", VALIDATING)]
        .map(|(kind, name)| format!("{kind}WebhookConfiguration {name}"));
    let webhook = named(mutating, &mutating_name, "user-info.queuewarden.dev")?;
    let mut namespaces = left_alone.to_vec();
    namespaces.push(LEFT_OUT);
    webhook.covers_pods(&mutating_name, "/user-info", &namespaces, &[UPDATES])?;
    let webhook = named(validating, &validating_name, "alias.user-info.queuewarden.dev")?;
    webhook.covers_pods(&validating_name, "/user-info/check", &[LEFT_OUT], &CHECKED)?;
    if webhook.failure_policy.as_deref() == Some("Ignore") {
        return Err(format!(
            "webhook {} of {validating_name} lets foreign aliases pass while queuewarden is down: set its \
             failurePolicy to Fail",
            webhook.name
        ));
    }
    match yunikorn
        .unwrap_or_default()
        .iter()
        .find(|webhook| webhook.reinvocation_policy.as_deref() == Some("IfNeeded"))
    {
        None => Ok(()),
        Some(webhook) => Err(format!(
            "webhook {} of MutatingWebhookConfiguration {YUNIKORN} is called again after queuewarden's, and \
             refuses the aliases: set its reinvocationPolicy to Never",
            webhook.name
        )),
    }
}

fn named<'a>(
    webhooks: Option<&'a [Webhook]>,
    configuration: &str,
    name: &str,
) -> Result<&'a Webhook, String> {
    let webhooks =
        webhooks.ok_or_else(|| format!("there is no {configuration}: install manifests/user-info"))?;
    let found = webhooks.iter().find(|webhook| webhook.name == name);
    found.ok_or_else(|| format!("{configuration} has no webhook {name}: install manifests/user-info again"))
}

impl Webhook {
    /// Checks that it is called at this path for each new pod outside of these namespaces, as far as these
    /// conditions let it be.
    fn covers_pods(
        &self,
        configuration: &str,
        path: &str,
        namespaces: &[&str],
        conditions: &[&str],
    ) -> Result<(), String> {
        let wrong = if self::path(&self.client_config) != path {
            format!("is not called at path {path}")
        } else if !self.rules.iter().any(covers_new_pods) {
            "has no rule for CREATE of pods".to_owned()
        } else if !leaves_out_only(&self.namespace_selector, namespaces) {
            format!("has a namespaceSelector that leaves out more than {}", namespaces.join(", "))
        } else if self.object_selector != LabelSelector::default() {
            "has an objectSelector".to_owned()
        } else if let Some(other) =
            self.match_conditions.iter().find(|condition| !conditions.contains(&&*condition.name))
        {
            format!("has a matchCondition of its own, {}", other.name)
        } else {
            return Ok(());
        };
        Err(format!("webhook {} of {configuration} {wrong}: install manifests/user-info again", self.name))
    }
}

fn covers_new_pods(rule: &RuleWithOperations) -> bool {
    let has = |list: &Option<Vec<String>>, names: &[&str]| {
        list.iter().flatten().any(|one| names.contains(&one.as_str()))
    };
    has(&rule.operations, &["CREATE", "*"])
        && has(&rule.api_groups, &["", "*"])
        && has(&rule.api_versions, &["v1", "*"])
        && has(&rule.resources, &["pods", "*", "*/*"])
        && rule.scope.as_deref().is_none_or(|scope| scope != "Cluster")
}

/// Returns whether a selector leaves out no namespaces but these.
fn leaves_out_only(selector: &LabelSelector, namespaces: &[&str]) -> bool {
    let by_labels = selector.match_labels.as_ref().is_some_and(|labels| !labels.is_empty());
    let mut expressions = selector.match_expressions.iter().flatten();
    !by_labels
        && expressions.all(|expression| {
            expression.key == "kubernetes.io/metadata.name"
                && expression.operator == "NotIn"
                && expression.values.iter().flatten().all(|name| namespaces.contains(&name.as_str()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns the shipped configurations.
    fn shipped() -> [Value; 2] {
        [
            include_str!("../../../manifests/user-info/mutating.yaml"),
            include_str!("../../../manifests/user-info/validating.yaml"),
        ]
        .map(|text| serde_saphyr::from_str(text).unwrap())
    }

    fn yunikorns(reinvocation: Option<&str>) -> Value {
        let webhook = json!({"name": "admission-webhook.yunikorn.mutate-pods", "clientConfig": {}, "sideEffects": "NoneOnDryRun",
            "admissionReviewVersions": ["v1"], "reinvocationPolicy": reinvocation});
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": YUNIKORN}, "webhooks": [webhook]})
    }

    fn checked([mutates, validates]: &[Value; 2], yunikorn: &Value) -> Result<(), String> {
        let read = |value: &Value| (!value.is_null()).then(|| webhooks(value));
        let [mutates, validates, yunikorn] = [mutates, validates, yunikorn].map(read);
        check(
            mutates.as_deref(),
            validates.as_deref(),
            yunikorn.as_deref(),
            &["yunikorn", "queuewarden-system"],
        )
    }

    #[test]
    fn what_is_shipped_covers_all_pods() {
        for yunikorn in [Value::Null, yunikorns(None), yunikorns(Some("Never"))] {
            assert_eq!(checked(&shipped(), &yunikorn), Ok(()), "{yunikorn}");
        }
        let mut by_url = shipped();
        for (configuration, webhook, path) in [(0, 0, "/user-info"), (1, 2, "/user-info/check")] {
            by_url[configuration]["webhooks"][webhook]["clientConfig"] =
                json!({"url": format!("https://127.0.0.1:9443{path}")});
        }
        assert_eq!(checked(&by_url, &Value::Null), Ok(()));
        let mut wider = shipped();
        wider[0]["webhooks"][0]["namespaceSelector"] = json!({});
        wider[0]["webhooks"][0]["rules"] =
            json!([{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}]);
        assert_eq!(checked(&wider, &Value::Null), Ok(()));
    }

    #[test]
    fn what_is_missing_or_narrower_is_reported_with_what_to_do() {
        let (mutates, alias) = ((0, "/webhooks/0"), (1, "/webhooks/2"));
        let name = "kubernetes.io/metadata.name";
        for ((configuration, webhook), field, value, reported) in [
            (
                (0, ""),
                "",
                Value::Null,
                "there is no MutatingWebhookConfiguration zz-queuewarden-user-info: install",
            ),
            (
                (1, ""),
                "",
                Value::Null,
                "there is no ValidatingWebhookConfiguration queuewarden-user-info: install",
            ),
            ((0, ""), "/webhooks", json!([]), "has no webhook user-info.queuewarden.dev: install"),
            (alias, "/name", "other.dev".into(), "has no webhook alias.user-info.queuewarden.dev: install"),
            (alias, "/failurePolicy", "Ignore".into(), "set its failurePolicy to Fail"),
            (
                mutates,
                "/clientConfig/service/path",
                "/user-info/check".into(),
                "is not called at path /user-info:",
            ),
            (
                alias,
                "/clientConfig/service/path",
                "/user-info".into(),
                "is not called at path /user-info/check",
            ),
            (mutates, "/rules/0/operations", json!(["UPDATE"]), "has no rule for CREATE of pods"),
            (alias, "/rules/0/resources", json!(["pods/status"]), "has no rule for CREATE of pods"),
            (alias, "/rules/0/scope", "Cluster".into(), "has no rule for CREATE of pods"),
            (
                mutates,
                "/namespaceSelector/matchExpressions/0/values",
                json!(["kube-system", "jobs"]),
                "leaves out more than",
            ),
            (
                alias,
                "/namespaceSelector/matchExpressions/0/values",
                json!(["yunikorn"]),
                "leaves out more than kube-system:",
            ),
            (mutates, "/namespaceSelector", json!({"matchLabels": {"a": "b"}}), "leaves out more than"),
            (
                mutates,
                "/namespaceSelector",
                json!({"matchExpressions": [{"key": name, "operator": "In", "values": ["yunikorn"]}]}),
                "leaves out more than",
            ),
            (alias, "/objectSelector", json!({"matchLabels": {"a": "b"}}), "has an objectSelector"),
            (mutates, "/matchConditions/0/name", "mine".into(), "has a matchCondition of its own, mine"),
        ] {
            let mut changed = shipped();
            let target = &mut changed[configuration];
            match target.pointer_mut(&format!("{webhook}{field}")) {
                Some(there) => *there = value,
                None => target.pointer_mut(webhook).unwrap()[field.trim_start_matches('/')] = value,
            }
            let problem = checked(&changed, &Value::Null).unwrap_err();
            assert!(problem.contains(reported), "{problem}");
        }
        let problem = checked(&shipped(), &yunikorns(Some("IfNeeded"))).unwrap_err();
        assert!(problem.contains("set its reinvocationPolicy to Never"), "{problem}");
    }
}
