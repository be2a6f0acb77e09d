//! Checks that the registered user-info webhook gives all pods their aliases and removes aliases that belong
//! to another user (manifests/user-info).

use k8s_openapi::api::admissionregistration::v1::{MatchCondition, RuleWithOperations, WebhookClientConfig};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::Deserialize;
use serde_json::Value;

/// The configuration that makes the API server call the mutating webhook, which adds aliases.
pub const MUTATING: &str = "zz-queuewarden-user-info";
/// The configuration that makes the API server call the validating webhook, which checks aliases.
pub const VALIDATING: &str = "queuewarden-user-info";
/// The configuration of `YuniKorn`'s admission controller (k8shim `pkg/admission/webhook_manager.go:47`). API
/// servers call webhooks in the order of their configurations' names, so this one comes before [`MUTATING`].
pub const YUNIKORN: &str = "yunikorn-admission-controller-mutations";

/// The namespace that both webhooks exclude.
const LEFT_OUT: &str = "kube-system";
/// The match condition of the shipped mutating webhook.
const UPDATES: &str = "not-an-update-that-leaves-it";
/// The match conditions of the shipped validating webhook.
const CHECKED: [&str; 2] = ["may-have-aliases", UPDATES];

/// The parts of a mutating or validating webhook that matter here.
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

/// Returns the webhooks of a configuration; empty if it cannot be parsed.
pub fn webhooks(configuration: &Value) -> Vec<Webhook> {
    configuration.get("webhooks").and_then(|webhooks| Vec::deserialize(webhooks).ok()).unwrap_or_default()
}

/// Returns the path of the endpoint, from either a Service or a URL.
fn path(client: &WebhookClientConfig) -> String {
    let of_service = client.service.as_ref().and_then(|service| service.path.clone());
    let of_url = || {
        let (_, rest) = client.url.as_deref()?.split_once("://")?;
        rest.split_once('/').map(|(_, path)| format!("/{path}"))
    };
    of_service.or_else(of_url).unwrap_or_default()
}

/// Checks that the webhooks of [`MUTATING`], [`VALIDATING`] and [`YUNIKORN`] give all pods their aliases. A
/// configuration is `None` if it does not exist. `left_alone` are `YuniKorn`'s namespace and queuewarden's.
///
/// # Errors
/// Explains what is wrong and how to fix it.
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
            "webhook {} of {validating_name} lets pods with another user's alias through while queuewarden \
             is down: set its failurePolicy to Fail",
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
            "webhook {} of MutatingWebhookConfiguration {YUNIKORN} is called again after queuewarden's and \
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
        webhooks.ok_or_else(|| format!("{configuration} does not exist: install manifests/user-info"))?;
    let found = webhooks.iter().find(|webhook| webhook.name == name);
    found.ok_or_else(|| format!("{configuration} has no webhook {name}: install manifests/user-info again"))
}

impl Webhook {
    /// Checks that the webhook is called at this path for every new pod outside the given namespaces, and
    /// that it has only the given match conditions.
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
            format!("has a namespaceSelector that excludes more than {}", namespaces.join(", "))
        } else if self.object_selector != LabelSelector::default() {
            "has an objectSelector".to_owned()
        } else if let Some(other) =
            self.match_conditions.iter().find(|condition| !conditions.contains(&&*condition.name))
        {
            format!("has the additional matchCondition {}", other.name)
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

/// Returns whether a selector excludes no other namespaces.
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
                "MutatingWebhookConfiguration zz-queuewarden-user-info does not exist: install",
            ),
            (
                (1, ""),
                "",
                Value::Null,
                "ValidatingWebhookConfiguration queuewarden-user-info does not exist: install",
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
                "excludes more than",
            ),
            (
                alias,
                "/namespaceSelector/matchExpressions/0/values",
                json!(["yunikorn"]),
                "excludes more than kube-system:",
            ),
            (mutates, "/namespaceSelector", json!({"matchLabels": {"a": "b"}}), "excludes more than"),
            (
                mutates,
                "/namespaceSelector",
                json!({"matchExpressions": [{"key": name, "operator": "In", "values": ["yunikorn"]}]}),
                "excludes more than",
            ),
            (alias, "/objectSelector", json!({"matchLabels": {"a": "b"}}), "has an objectSelector"),
            (mutates, "/matchConditions/0/name", "mine".into(), "has the additional matchCondition mine"),
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
