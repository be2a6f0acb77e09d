//! Finds the programs that write an object from another source and would therefore undo changes to it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::convert::LAST_APPLIED;

/// The field manager of the command line.
pub const COMMAND_LINE: &str = "queuewarden-cli";
/// The field manager of `kubectl apply --server-side`.
const KUBECTL: &str = "kubectl";
/// The field manager of `kubectl apply`.
const KUBECTL_CLIENT: &str = "kubectl-client-side-apply";
/// The operation of server-side apply.
const APPLY: &str = "Apply";

/// Names the programs that restore an object's previous state: tools of Git workflows, recognized by their
/// annotations, labels and field managers; otherwise Helm; otherwise programs that applied the object.
pub fn restorers(meta: &ObjectMeta) -> Vec<String> {
    let label = |key: &str| meta.labels.as_ref().and_then(|labels| labels.get(key)).map(String::as_str);
    let note = |key: &str| meta.annotations.as_ref().and_then(|notes| notes.get(key)).map(String::as_str);
    let entries = meta.managed_fields.iter().flatten();
    let of_object = entries.filter(|entry| entry.subresource.as_deref().is_none_or(str::is_empty));
    let managers: Vec<(&str, bool)> = of_object
        .filter_map(|entry| Some((entry.manager.as_deref()?, entry.operation.as_deref() == Some(APPLY))))
        .collect();
    let wrote = |names: &[&str]| managers.iter().any(|(manager, _)| names.contains(manager));
    let one = |tool: &str, kind: &str, name: Option<&str>, found: bool| match name {
        Some(name) => Some(format!("{tool} ({kind} {name})")),
        None => found.then(|| tool.to_owned()),
    };
    let tracked = note("argocd.argoproj.io/tracking-id").and_then(|id| id.split(':').next());
    let instance = || label("argocd.argoproj.io/instance");
    let argo = managers.iter().any(|(manager, _)| manager.starts_with("argocd"));
    let flux = |kind: &str, namespace: &str, name: &str, manager: &str| {
        let name = label(name).map(|name| match label(namespace) {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        });
        one("Flux", kind, name.as_deref(), wrote(&[manager]))
    };
    let found = [
        one("Argo CD", "application", tracked.or_else(instance), argo),
        flux(
            "Kustomization",
            "kustomize.toolkit.fluxcd.io/namespace",
            "kustomize.toolkit.fluxcd.io/name",
            "kustomize-controller",
        ),
        flux(
            "HelmRelease",
            "helm.toolkit.fluxcd.io/namespace",
            "helm.toolkit.fluxcd.io/name",
            "helm-controller",
        ),
    ];
    let found: Vec<String> = found.into_iter().flatten().collect();
    if !found.is_empty() {
        return found;
    }
    if let Some(helm) = one("Helm", "release", note("meta.helm.sh/release-name"), wrote(&["helm"])) {
        return vec![helm];
    }
    let appliers = || managers.iter().filter(|(_, applies)| *applies).map(|(manager, _)| *manager);
    let by_kubectl =
        note(LAST_APPLIED).is_some() || wrote(&[KUBECTL_CLIENT]) || appliers().any(|it| it == KUBECTL);
    let kubectl = by_kubectl.then(|| "`kubectl apply` of its file".to_owned());
    let others = appliers().filter(|manager| ![KUBECTL, KUBECTL_CLIENT, COMMAND_LINE].contains(manager));
    kubectl.into_iter().chain(others.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn of(meta: Value) -> Vec<String> {
        restorers(&serde_json::from_value(meta).unwrap())
    }

    fn managed(manager: &str, operation: &str) -> Value {
        json!({"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}})
    }

    #[test]
    fn gitops_tools_are_known_by_what_they_leave() {
        let last_applied = json!({LAST_APPLIED: "{}"});
        for (meta, expected) in [
            (
                json!({"annotations": {"argocd.argoproj.io/tracking-id": "acls:queuewarden.dev/QueueAcl:/prod"}}),
                "Argo CD (application acls)",
            ),
            (
                json!({"annotations": last_applied, "managedFields": [managed("argocd-controller", "Update")]}),
                "Argo CD",
            ),
            (
                json!({
                    "labels": {"argocd.argoproj.io/instance": "acls"},
                    "managedFields": [managed("argocd-application-controller", "Apply")],
                }),
                "Argo CD (application acls)",
            ),
            (
                json!({"labels": {
                    "kustomize.toolkit.fluxcd.io/name": "acls", "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
                }}),
                "Flux (Kustomization flux-system/acls)",
            ),
            (json!({"managedFields": [managed("kustomize-controller", "Apply")]}), "Flux"),
            (json!({"labels": {"helm.toolkit.fluxcd.io/name": "acls"}}), "Flux (HelmRelease acls)"),
            (json!({"annotations": {"meta.helm.sh/release-name": "acls"}}), "Helm (release acls)"),
            (json!({"managedFields": [managed("helm", "Update")]}), "Helm"),
        ] {
            assert_eq!(of(meta.clone()), [expected], "{meta}");
        }
    }

    #[test]
    fn other_programs_count_if_they_applied_it() {
        let kubectl = "`kubectl apply` of its file";
        let applied = json!({"annotations": {LAST_APPLIED: "{}"}});
        let managers = |all: &[(&str, &str)]| {
            let all: Vec<Value> =
                all.iter().map(|(manager, operation)| managed(manager, operation)).collect();
            json!({"managedFields": all})
        };
        for (meta, expected) in [
            (applied, vec![kubectl]),
            (managers(&[("kubectl-client-side-apply", "Update")]), vec![kubectl]),
            (managers(&[("kubectl", "Apply"), ("terraform", "Apply")]), vec![kubectl, "terraform"]),
            (managers(&[("kubectl-edit", "Update"), ("kubectl-create", "Update")]), vec![]),
            (managers(&[(COMMAND_LINE, "Apply"), ("unknown", "Update")]), vec![]),
            (
                json!({"managedFields": [{"manager": "queuewarden", "operation": "Apply", "subresource": "status"}]}),
                vec![],
            ),
            (json!({}), vec![]),
        ] {
            assert_eq!(of(meta.clone()), expected, "{meta}");
        }
    }
}
