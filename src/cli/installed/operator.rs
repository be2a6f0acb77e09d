//! The operator's Deployment, and the Lease that names the leader.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Container;
use kube::{Api, Client};
use schemars::JsonSchema;
use serde::Serialize;

use super::NAME;
use queuewarden_operator::controller::call::call;

/// Seconds after its duration that a Lease still counts as held, because clocks differ a little.
const SLACK: i64 = 5;

/// Flag of `run` that names a mounted certificate.
const MOUNTED: &str = "--tls-cert-file";

/// State of the operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorState {
    /// The namespace it runs in.
    pub namespace: String,
    /// The number of desired replicas; absent if there is no Deployment, or it may not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The number of ready replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// The image it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The replica that writes; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// Reasons why some of this is unknown.
    pub problems: Vec<String>,
    /// True if it is unknown whether a replica writes, because the Lease may not be read.
    #[serde(skip)]
    pub unknown: bool,
    /// True if its endpoints use a mounted certificate that somebody else manages; `None` if unknown.
    #[serde(skip)]
    pub mounted_certificate: Option<bool>,
}

impl OperatorState {
    /// Returns whether a replica is known to write.
    pub fn writes(&self) -> bool {
        self.leader.is_some()
    }

    /// Formats the state in one line.
    pub fn line(&self) -> String {
        let replicas = self.replicas.map(|wanted| {
            format!(
                "{} of {wanted} replicas ready in {}",
                self.ready_replicas.unwrap_or_default(),
                self.namespace
            )
        });
        let leader = self.leader.as_ref().map(|leader| format!("{leader} writes"));
        let known: Vec<String> = replicas.into_iter().chain(leader).chain(self.problems.clone()).collect();
        known.join("; ")
    }
}

/// Reads the state at `now`; a part that may not be read is a problem, not an error.
pub async fn look(client: &Client, namespace: &str, now: Timestamp) -> OperatorState {
    let mut state = OperatorState { namespace: namespace.to_owned(), ..OperatorState::default() };
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    match call(deployments.get_opt(NAME)).await {
        Ok(Some(deployment)) => {
            let container = container(&deployment);
            state.image = container.and_then(|container| container.image.clone());
            state.mounted_certificate = container.map(mounts_certificate);
            // The default is one.
            state.replicas = Some(deployment.spec.and_then(|spec| spec.replicas).unwrap_or(1));
            state.ready_replicas =
                Some(deployment.status.and_then(|status| status.ready_replicas).unwrap_or(0));
        }
        Ok(None) => state.problems.push(format!("there is no Deployment {namespace}/{NAME}")),
        Err(error) => state.problems.push(format!("Deployment {namespace}/{NAME} is not known: {error}")),
    }
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    match call(leases.get_opt(NAME)).await {
        Ok(lease) => match lease.as_ref().and_then(|lease| holder(lease, now)) {
            Some(leader) => state.leader = Some(leader),
            None => state.problems.push(format!("no replica holds Lease {namespace}/{NAME}")),
        },
        Err(error) => {
            state.unknown = true;
            state.problems.push(format!("Lease {namespace}/{NAME} is not known: {error}"));
        }
    }
    state
}

/// Returns the operator's own container, because others may be added as sidecars.
fn container(deployment: &Deployment) -> Option<&Container> {
    let containers = &deployment.spec.as_ref()?.template.spec.as_ref()?.containers;
    containers.iter().find(|container| container.name == NAME).or_else(|| containers.first())
}

/// Returns whether a container gets the path of a mounted certificate.
fn mounts_certificate(container: &Container) -> bool {
    let words = container.command.iter().chain(&container.args).flatten();
    words.map(|word| word.split_once('=').map_or(word.as_str(), |(flag, _)| flag)).any(|flag| flag == MOUNTED)
}

/// Returns the holder of the Lease at `now`.
fn holder(lease: &Lease, now: Timestamp) -> Option<String> {
    let spec = lease.spec.as_ref()?;
    let holder = spec.holder_identity.clone().filter(|holder| !holder.is_empty())?;
    let renewed = spec.renew_time.as_ref()?.0;
    let lasts = i64::from(spec.lease_duration_seconds?).saturating_add(SLACK);
    (now.duration_since(renewed).as_secs() <= lasts).then_some(holder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mounted_certificate_is_known_by_the_flag() {
        let mounted = |containers: serde_json::Value| {
            let template = json!({"spec": {"containers": containers}});
            let spec = json!({"selector": {}, "template": template});
            let deployment: Deployment = serde_json::from_value(json!({"spec": spec})).unwrap();
            container(&deployment).map(mounts_certificate)
        };
        let run = |args: &[&str]| json!([{"name": "queuewarden", "args": args}]);
        assert_eq!(mounted(run(&["run", "--https=:8443", "--tls-cert-file=/tls/tls.crt"])), Some(true));
        assert_eq!(mounted(run(&["run", "--tls-cert-file", "/tls/tls.crt"])), Some(true));
        assert_eq!(mounted(run(&["run", "--https=:8443", "--tls-secret=own"])), Some(false));
        assert_eq!(mounted(json!([{"name": "queuewarden"}])), Some(false));
        let ours = json!({"name": "queuewarden", "command": ["queuewarden", "run", "--tls-cert-file=x"]});
        assert_eq!(mounted(json!([{"name": "mesh"}, ours])), Some(true));
        assert_eq!(mounted(json!([])), None);
    }

    #[test]
    fn who_did_not_renew_the_lease_does_not_hold_it() {
        let lease = |holder: &str| -> Lease {
            let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": "2026-12-24T00:00:00.000000Z"});
            serde_json::from_value(json!({"spec": spec})).unwrap()
        };
        let at = |time: &str| time.parse().unwrap();
        assert_eq!(holder(&lease("a"), at("2026-12-24T00:00:20Z")).as_deref(), Some("a"));
        assert_eq!(holder(&lease("a"), at("2026-12-24T00:00:21Z")), None);
        assert_eq!(holder(&lease(""), at("2026-12-24T00:00:00Z")), None, "it was given up");
        assert_eq!(holder(&Lease::default(), at("2026-12-24T00:00:00Z")), None);
    }
}
