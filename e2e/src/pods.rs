//! Submits pods to queues as a user does, and returns whether they are allowed or rejected.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::json;

use crate::test_cluster::{NAMESPACE, TestCluster};
use crate::wait::eventually;
use crate::yunikorn::Rest;

/// The pod annotation that names the submitter to the scheduler (k8shim `constants.go`,
/// `AnnotationGenerate...UserInfo`).
pub const USER_INFO: &str = "yunikorn.apache.org/user.info";

const DECISION: Duration = Duration::from_mins(1);

/// The outcome of a submitted pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The scheduler accepted the application and bound the pod.
    Allowed {
        /// The queue where the application was placed, e.g. `root.prod`.
        queue: String,
    },
    /// The scheduler refused the application (pod reason `ApplicationRejected`).
    Rejected {
        /// The scheduler's whole reason.
        message: String,
    },
    /// The API server refused the pod, by RBAC or by an admission webhook.
    Refused {
        /// The API server's message.
        message: String,
    },
}

impl Outcome {
    /// Returns whether the pod was scheduled.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed { .. })
    }

    /// Returns whether the scheduler refused it, rather than the API server.
    pub fn is_rejected(&self) -> bool {
        matches!(self, Self::Rejected { .. })
    }
}

/// One pod, which is an application by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Submission<'a> {
    pub(crate) namespace: &'a str,
    user: &'a str,
    pub(crate) groups: &'a [&'a str],
    pub(crate) queue: &'a str,
    /// True if the test code writes the annotation; otherwise `YuniKorn`'s admission controller does.
    pub(crate) annotate: bool,
}

impl Submission<'_> {
    /// Creates the pod with `submitter`, waits for the decision, deletes the pod with `admin`.
    pub(crate) async fn run(self, submitter: Client, admin: Client, rest: &Rest) -> Result<Outcome> {
        let name = unique_name();
        let pods: Api<Pod> = Api::namespaced(submitter, self.namespace);
        match pods.create(&PostParams::default(), &self.pod(&name)?).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 422) => {
                return Ok(Outcome::Refused { message: status.message });
            }
            Err(error) => return Err(error).context("cannot create a pod"),
        }
        let pods: Api<Pod> = Api::namespaced(admin, self.namespace);
        let outcome =
            eventually(&format!("a decision on {self:?}"), DECISION, || decision(&pods, &name, rest)).await;
        pods.delete(&name, &DeleteParams::default().grace_period(0)).await?;
        outcome
    }

    fn pod(&self, name: &str) -> Result<Pod> {
        let mut pod: Pod = serde_json::from_value(json!({
            "metadata": {
                "name": name,
                "labels": {"applicationId": name, "queue": self.queue},
            },
            "spec": {
                "schedulerName": "yunikorn",
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "pause",
                    "image": "registry.k8s.io/pause:3.10",
                    "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}},
                }],
            },
        }))?;
        if self.annotate {
            let info = json!({"user": self.user, "groups": self.groups});
            pod.annotations_mut().insert(USER_INFO.to_owned(), info.to_string());
        }
        Ok(pod)
    }
}

async fn decision(pods: &Api<Pod>, name: &str, rest: &Rest) -> Result<Option<Outcome>> {
    let pod = pods.get(name).await?;
    if pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some()) {
        let application = rest.get(&format!("/ws/v1/partition/default/application/{name}")).await?;
        let queue = application.get("queueName").and_then(serde_json::Value::as_str).unwrap_or_default();
        return Ok(Some(Outcome::Allowed { queue: queue.to_owned() }));
    }
    let status = pod.status.unwrap_or_default();
    if status.reason.as_deref() != Some("ApplicationRejected") {
        return Ok(None);
    }
    let rejected = rest.rejected_applications().await?;
    let whole = rejected.into_iter().find(|application| application.application_id == name);
    let message =
        whole.map_or_else(|| status.message.unwrap_or_default(), |application| application.rejected_message);
    Ok(Some(Outcome::Rejected { message }))
}

impl TestCluster {
    /// Submits one pod as `user` in `groups` to `queue` and waits for the decision.
    ///
    /// Without the admission controller, the pod has `user` and `groups` in its annotation. With the
    /// admission controller, the pod is created *by* that user, who is also in group `system:authenticated`,
    /// and the admission controller writes the annotation.
    ///
    /// # Errors
    /// When there is no decision.
    pub async fn submit(&self, user: &str, groups: &[&str], queue: &str) -> Result<Outcome> {
        let annotate = !self.admission_controller_runs();
        let submission = Submission { namespace: NAMESPACE, user, groups, queue, annotate };
        submission.run(self.as_user(user, groups)?, self.client()?, &self.yunikorn()?).await
    }

    /// Submits a pod whose annotation *claims* that it belongs to `user` in `groups`, although another user
    /// creates it.
    ///
    /// # Errors
    /// When there is no decision.
    pub async fn submit_by(
        &self,
        creator: (&str, &[&str]),
        user: &str,
        groups: &[&str],
        queue: &str,
    ) -> Result<Outcome> {
        let submission = Submission { namespace: NAMESPACE, user, groups, queue, annotate: true };
        submission.run(self.as_user(creator.0, creator.1)?, self.client()?, &self.yunikorn()?).await
    }
}

/// Returns a name that is never repeated, which application IDs require, even across processes on an existing
/// cluster: the scheduler checks an ACL once per application.
fn unique_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), std::process::id());
    format!("e2e-{random:016x}-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}
