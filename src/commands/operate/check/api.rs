//! Checks the API server, and the definitions of our kinds.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::Condition as _;
use kube::{Api, Client};
use serde_json::Value;

use crate::source::checks::{Line, page};
use queuewarden_api::crd::crds;
use queuewarden_client::call::call;

const SERVER: &str = "api-server";
const DEFINITIONS: &str = "definitions";
const QUEUE_OPERATOR: &str = "queue-operator";
/// The names that the definition of kind `Queue` has in the versions of k8shim's pull request 1049.
const QUEUES: [&str; 2] = ["queues.queue.yunikorn.k8s.io", "queues.yunikorn.apache.org"];
const APPLY: &str =
    "kubectl apply --server-side -k manifests (or `queuewarden crds | kubectl apply --server-side -f -`)";

pub(super) async fn check(client: &Client, server: &str) -> Vec<Line> {
    let version = match call(client.apiserver_version()).await {
        Ok(version) => Line::ok(SERVER, format!("Kubernetes {} at {server}", version.git_version)),
        Err(error) => Line::unread(SERVER, "the version of the API server", &error),
    };
    vec![version, definitions(client).await, queue_operator(client).await]
}

/// Checks that each of our kinds is served as this program defines it.
async fn definitions(client: &Client) -> Line {
    let installed: Api<CustomResourceDefinition> = Api::all(client.clone());
    let (mut missing, mut other, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
    for wanted in crds() {
        let name = wanted.metadata.name.clone().unwrap_or_default();
        match call(installed.get_opt(&name)).await {
            Ok(None) => missing.push(name),
            Ok(Some(found)) if !is_established(&found) => waiting.push(name),
            Ok(Some(found)) if schemas(&found) != schemas(&wanted) => other.push(name),
            Ok(Some(_)) => {}
            Err(error) => {
                return Line::unknown(DEFINITIONS, &format!("CustomResourceDefinition {name}"), &error);
            }
        }
    }
    if !missing.is_empty() {
        return Line::fail(DEFINITIONS, format!("not installed: {}", missing.join(", ")), APPLY);
    }
    if !waiting.is_empty() {
        let found = format!("not established, or being deleted: {}", waiting.join(", "));
        return Line::fail(DEFINITIONS, found, "see kubectl describe crd for the cause");
    }
    if !other.is_empty() {
        let found = format!(
            "of another version than this program, {}: {}",
            env!("CARGO_PKG_VERSION"),
            other.join(", ")
        );
        return Line::warn(DEFINITIONS, found, APPLY);
    }
    Line::ok(DEFINITIONS, "all CRDs are installed in the version of this program")
}

/// Reports whether `YuniKorn`'s queue operator may be around. Both can run, so its definition is no problem;
/// [`super::written`] checks who owns the output.
async fn queue_operator(client: &Client) -> Line {
    let installed: Api<CustomResourceDefinition> = Api::all(client.clone());
    for name in QUEUES {
        match call(installed.get_opt(name)).await {
            Ok(None) => {}
            Ok(Some(_)) => {
                let found = format!(
                    "CustomResourceDefinition {name} is installed; YuniKorn's queue operator and queuewarden both run as in \
                     {}",
                    page("install.md")
                );
                return Line::ok(QUEUE_OPERATOR, found);
            }
            Err(error) => {
                return Line::unread(QUEUE_OPERATOR, &format!("CustomResourceDefinition {name}"), &error);
            }
        }
    }
    Line::ok(QUEUE_OPERATOR, "YuniKorn's queue operator is not installed")
}

fn is_established(definition: &CustomResourceDefinition) -> bool {
    definition.metadata.deletion_timestamp.is_none() && is_crd_established().matches_object(Some(definition))
}

/// Returns the versions with their schemas, as JSON; other fields that the API server fills in are ignored.
fn schemas(definition: &CustomResourceDefinition) -> Vec<(String, Value)> {
    let versions = definition.spec.versions.iter();
    versions
        .map(|version| (version.name.clone(), serde_json::to_value(&version.schema).unwrap_or_default()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_definition_is_established_unless_it_goes() {
        let mut definition = crds().remove(0);
        assert!(!is_established(&definition));
        let established = json!({"conditions": [{"type": "Established", "status": "True"}]});
        definition.status = serde_json::from_value(established).unwrap();
        assert!(is_established(&definition));
        definition.metadata.deletion_timestamp =
            serde_json::from_value(json!("2026-12-24T00:00:00Z")).unwrap();
        assert!(!is_established(&definition));
    }
}
