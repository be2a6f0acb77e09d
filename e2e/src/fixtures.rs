//! Creates the fixtures of the cluster once, and restores them before each test.

use std::fmt::Debug;

use anyhow::Result;
use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod, ReplicationController, Secret, Service};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::Kind;
use crate::operator;
use crate::servers::ADMISSION_IP;
use crate::test_cluster::{BASE, Cluster, NAMESPACE, SinceReset, TestCluster};
use crate::wait::PATIENCE;
use crate::yunikorn;

/// The field manager of the fixtures.
pub(crate) const FIELD_MANAGER: &str = "queuewarden-e2e";

impl TestCluster {
    /// Creates the initial content of a cluster: a node, namespaces, the admission controller's Service.
    pub(crate) async fn create_fixtures(&self) -> Result<()> {
        self.create_namespace(yunikorn::NAMESPACE).await?;
        self.create_namespace(NAMESPACE).await?;
        self.let_everyone_submit().await?;
        self.create_node().await?;
        self.create_admission_service().await
    }

    /// Creates the node. Pods on it stay Pending, because there is no kubelet, but they are bound, which is
    /// all that the scheduler does.
    async fn create_node(&self) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.client()?);
        let node = serde_json::from_value(json!({
            "metadata": {"name": "node", "labels": {"kubernetes.io/hostname": "node", "kubernetes.io/os": "linux"}},
        }))?;
        nodes.create(&PostParams::default(), &node).await?;
        let room = json!({"cpu": "1000", "memory": "1Ti", "pods": "10000"});
        let ready = json!({"type": "Ready", "status": "True", "reason": "TestCluster", "message": "", "lastHeartbeatTime": null,
                           "lastTransitionTime": null});
        let status = json!({"status": {"capacity": room, "allocatable": room, "conditions": [ready]}});
        nodes.patch_status("node", &PatchParams::default(), &Patch::Merge(status)).await?;
        let untainted = json!({"spec": {"taints": null}});
        nodes.patch("node", &PatchParams::default(), &Patch::Merge(untainted)).await?;
        Ok(())
    }

    /// Creates the objects of the admission controller's Helm chart. The Service selects no pods; the
    /// forwarder leads to the process.
    async fn create_admission_service(&self) -> Result<()> {
        let services: Api<Service> = Api::namespaced(self.client()?, yunikorn::NAMESPACE);
        let service = serde_json::from_value(json!({
            "metadata": {"name": yunikorn::ADMISSION_SERVICE},
            "spec": {"clusterIP": ADMISSION_IP, "ports": [{"port": 443, "targetPort": yunikorn::ADMISSION.port()}]},
        }))?;
        services.create(&PostParams::default(), &service).await?;
        let secrets: Api<Secret> = Api::namespaced(self.client()?, yunikorn::NAMESPACE);
        let secret = serde_json::from_value(json!({"metadata": {"name": yunikorn::ADMISSION_SECRET}}))?;
        secrets.create(&PostParams::default(), &secret).await?;
        Ok(())
    }

    /// Creates the namespace if necessary.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn create_namespace(&self, name: &str) -> Result<()> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let api: Api<Namespace> = Api::all(self.client()?);
        api.patch(name, &PatchParams::apply(FIELD_MANAGER), &Patch::Apply(namespace)).await?;
        Ok(())
    }

    /// Lets every authenticated user handle pods in [`NAMESPACE`], so that the queue's ACL decides:
    /// Kubernetes' RBAC is not under test. It uses a custom role, because kube-controller-manager, which may
    /// not run, fills the built-in `edit`.
    pub(crate) async fn let_everyone_submit(&self) -> Result<()> {
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": FIELD_MANAGER},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]},
                      {"apiGroups": ["apps", "batch"], "resources": ["*"], "verbs": ["*"]}],
        });
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": FIELD_MANAGER},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": FIELD_MANAGER},
        });
        let apply = PatchParams::apply(FIELD_MANAGER).force();
        let roles: Api<Role> = Api::namespaced(self.client()?, NAMESPACE);
        roles.patch(FIELD_MANAGER, &apply, &Patch::Apply(role)).await?;
        let bindings: Api<RoleBinding> = Api::namespaced(self.client()?, NAMESPACE);
        bindings.patch(FIELD_MANAGER, &apply, &Patch::Apply(binding)).await?;
        Ok(())
    }

    /// Restores the initial state, in which all servers run, there are no objects of ours and no test pods,
    /// `yunikorn-defaults` holds [`BASE`], `yunikorn-configs` does not exist, the admission controller is
    /// off, and the scheduler was restarted with an empty memory.
    ///
    /// # Errors
    /// When the cluster does not reach this state.
    pub async fn reset(&self) -> Result<()> {
        *self.since_reset() = SinceReset::default();
        if self.operator_is_deployed() {
            self.scale_operator(0).await?;
        }
        if let Cluster::Local(local) = &self.cluster {
            local.plane.ensure().await?;
            self.authorize_by_rbac().await?;
            local.plane.controller_manager.kill()?;
            self.stop_admission_controller().await?;
        }
        self.delete_gates().await?;
        self.delete_objects().await?;
        self.delete_namespaced::<Lease>(operator::NAMESPACE).await?;
        self.reset_config_maps().await?;
        if let Cluster::Local(local) = &self.cluster {
            local.scheduler.kill()?;
            self.start_scheduler().await?;
        }
        self.yunikorn()?.wait_for_text(BASE, PATIENCE).await
    }

    /// Removes everything that tests have created, with a running operator: the base is [`BASE`] again, and
    /// the scheduler runs it.
    pub(crate) async fn clean(&self) -> Result<()> {
        *self.since_reset() = SinceReset::default();
        self.delete_objects().await?;
        self.reset_config_maps().await?;
        self.yunikorn()?.wait_for_text(BASE, PATIENCE).await
    }

    /// Deletes objects that would block or validate everyone's writes after their test.
    async fn delete_gates(&self) -> Result<()> {
        self.remove_webhooks().await?;
        // The policy for names refuses every pod if its parameter kind has been removed.
        self.remove_admission_policies().await
    }

    /// Deletes everything that tests and the operator have left over.
    async fn delete_objects(&self) -> Result<()> {
        // These come first, because an API server is slow to delete objects while it calls an extension
        // server that no longer exists.
        let services: Api<APIService> = Api::all(self.client()?);
        for service in services.list(&ListParams::default()).await? {
            let name = service.name_any();
            if name.ends_with("queuewarden.dev") && service.spec.is_some_and(|spec| spec.service.is_some()) {
                services.delete(&name, &DeleteParams::default()).await?;
            }
        }
        for kind in Kind::ALL {
            delete_all(&self.objects(kind)?).await?;
        }
        self.delete_rbac_mirror().await?;
        // The copy of the base that the operator of another test has saved.
        let maps: Api<ConfigMap> = Api::namespaced(self.client()?, operator::NAMESPACE);
        gone(maps.delete("queuewarden-last-base", &DeleteParams::default()).await.map(drop))?;
        // The history of another test's texts.
        self.delete_namespaced::<ControllerRevision>(yunikorn::NAMESPACE).await?;
        // Owners are deleted first, although no controller is running that would create new pods.
        self.delete_namespaced::<CronJob>(NAMESPACE).await?;
        self.delete_namespaced::<StatefulSet>(NAMESPACE).await?;
        self.delete_namespaced::<DaemonSet>(NAMESPACE).await?;
        self.delete_namespaced::<Job>(NAMESPACE).await?;
        self.delete_namespaced::<Deployment>(NAMESPACE).await?;
        self.delete_namespaced::<ReplicaSet>(NAMESPACE).await?;
        self.delete_namespaced::<ReplicationController>(NAMESPACE).await?;
        self.delete_namespaced::<Pod>(NAMESPACE).await
    }

    /// Deletes the RBAC mirror, which only the operator or a garbage collector would remove.
    async fn delete_rbac_mirror(&self) -> Result<()> {
        let client = self.client()?;
        let mirrored = ListParams::default().labels("queuewarden.dev/mirror=rbac");
        let now = DeleteParams::default();
        Api::<ClusterRoleBinding>::all(client.clone()).delete_collection(&now, &mirrored).await?;
        Api::<ClusterRole>::all(client).delete_collection(&now, &mirrored).await?;
        Ok(())
    }

    async fn delete_namespaced<K>(&self, namespace: &str) -> Result<()>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        delete_all(&Api::<K>::namespaced(self.client()?, namespace)).await
    }

    async fn reset_config_maps(&self) -> Result<()> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client()?, yunikorn::NAMESPACE);
        for map in maps.list(&ListParams::default()).await? {
            let name = map.name_any();
            if name != yunikorn::DEFAULTS && name != "kube-root-ca.crt" {
                maps.delete(&name, &DeleteParams::default()).await?;
            }
        }
        self.set_base(BASE).await
    }
}

/// Treats an object that does not exist as deleted.
pub(crate) fn gone(deleted: kube::Result<()>) -> Result<()> {
    match deleted {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => Ok(other?),
    }
}

/// Deletes all objects of a kind, if the API server knows the kind. By default, `ReplicationControllers`
/// would stay until a controller, which may not be running, has orphaned their pods.
async fn delete_all<K: Clone + DeserializeOwned + Debug>(api: &Api<K>) -> Result<()> {
    gone(
        api.delete_collection(&DeleteParams::background().grace_period(0), &ListParams::default())
            .await
            .map(drop),
    )
}
