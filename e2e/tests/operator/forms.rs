//! Tests all changes from one form of a right to another, as written by each kind of program, on the real API
//! server.

use anyhow::{Context as _, Result, ensure};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Kind, TestCluster, eventually};
use serde_json::{Map, Value, json};

/// Returns each way to write `admin`; `None` leaves the right out.
fn forms() -> Vec<(&'static str, Option<Value>)> {
    vec![
        ("absent", None),
        ("nobody", Some(json!({"nobody": true}))),
        ("empty", Some(json!({}))),
        ("no-names", Some(json!({"users": [], "groups": []}))),
        ("everyone", Some(json!({"everyone": true}))),
        ("acl", Some(json!({"acl": "ann dev"}))),
        ("users", Some(json!({"users": ["sue"]}))),
        ("groups", Some(json!({"groups": ["ops"]}))),
        ("both", Some(json!({"users": ["bob", "sue"], "groups": ["qa"]}))),
    ]
}

/// An object that is written in one form and then in another.
struct Change {
    from: Value,
    to: Value,
}

/// Returns a change for each ordered pair of forms, including a form and itself.
fn changes() -> Vec<Change> {
    let forms = forms();
    let pairs = forms.iter().flat_map(|from| forms.iter().map(move |to| (from, to)));
    pairs
        .map(|((left, from), (right, to))| {
            let name = format!("{left}-to-{right}");
            Change { from: object(&name, from.as_ref()), to: object(&name, to.as_ref()) }
        })
        .collect()
}

fn object(name: &str, admin: Option<&Value>) -> Value {
    let spec = json!({"queue": "root.prod", "submit": {"users": ["sue"]}});
    let admin = admin.map(|admin| ("admin".to_owned(), admin.clone()));
    let spec: Map<_, _> = spec.as_object().cloned().into_iter().flatten().chain(admin).collect();
    json!({
        "apiVersion": "queuewarden.dev/v1alpha1",
        "kind": "QueueAcl",
        "metadata": {"name": name},
        "spec": spec,
    })
}

/// Joins many objects to one text for kubectl.
fn list<'a>(items: impl Iterator<Item = &'a Value>) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items.collect::<Vec<_>>()}).to_string()
}

/// Returns the JSON merge patch (RFC 7386) from one object to another, which Helm 3 sends for custom
/// resources.
fn merge_patch(from: &Value, to: &Value) -> Value {
    let (Some(from), Some(to)) = (from.as_object(), to.as_object()) else { return to.clone() };
    let removed = from.keys().filter(|key| !to.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let set = to.iter().filter(|(key, value)| from.get(*key) != Some(value)).map(|(key, value)| {
        let value = from.get(key).map_or_else(|| value.clone(), |old| merge_patch(old, value));
        (key.clone(), value)
    });
    Value::Object(removed.chain(set).collect::<Map<_, _>>())
}

/// Names each object whose `admin` does not equal the second form.
async fn differences(cluster: &TestCluster, changes: &[Change]) -> Result<Vec<String>> {
    let stored = cluster.kubectl(&["get", "queueacls", "-o", "json"]).await?;
    let stored: Value = serde_json::from_str(&stored)?;
    let items = stored.get("items").and_then(Value::as_array).context("no list")?;
    let different = changes.iter().filter_map(|Change { to, .. }| {
        let name = to.pointer("/metadata/name");
        let item = items.iter().find(|item| item.pointer("/metadata/name") == name);
        let Some(item) = item else { return Some(format!("{name:?} is not there")) };
        let (expected, found) = (to.pointer("/spec/admin"), item.pointer("/spec/admin"));
        (expected != found).then(|| format!("{name:?}: {found:?} instead of {expected:?}"))
    });
    Ok(different.collect())
}

/// Runs all pairs with kubectl: `first` writes the first forms, `second` the second ones.
async fn walk(cluster: &TestCluster, first: &[&str], second: &[&str]) -> Result<()> {
    let changes = changes();
    cluster.kubectl_with_input(first, &list(changes.iter().map(|change| &change.from))).await?;
    let refused = cluster.kubectl_with_input(second, &list(changes.iter().map(|change| &change.to))).await;
    let different = differences(cluster, &changes).await?;
    ensure!(different.is_empty(), "{}\n{:?}", different.join("\n"), refused.err());
    refused.map(drop)
}

#[tokio::test]
async fn forms_by_server_side_apply_change_into_each_other() -> Result<()> {
    let apply = ["apply", "--server-side", "--field-manager=flux", "-f", "-"];
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        walk(cluster, &apply, &apply).await
    })
    .await
}

/// Objects that were applied before the forms became atomic can still be changed.
#[tokio::test]
async fn formerly_granular_forms_change_into_each_other() -> Result<()> {
    let apply = ["apply", "--server-side", "--field-manager=flux", "-f", "-"];
    TestCluster::with(async |cluster| {
        cluster.remove_installation().await?;
        cluster.apply_file("e2e/upgrade/0.1.0/crds.yaml").await?;
        cluster.crds_established().await?;
        let mut changes = changes();
        // nobody is a new field. A writer of empty lists never owned them, so they stay when the right is
        // left out, and grant nothing.
        changes.retain(|Change { from, to }| {
            from["spec"]["admin"].get("nobody").is_none() && to["metadata"]["name"] != "no-names-to-absent"
        });
        cluster.kubectl_with_input(&apply, &list(changes.iter().map(|change| &change.from))).await?;
        cluster.install().await?;
        let second = list(changes.iter().map(|change| &change.to));
        // kubectl requests the schema that the API server publishes a moment after it has changed.
        eventually("the new schema", PATIENCE, || async {
            let applied = cluster.kubectl_with_input(&apply, &second).await;
            let waits = applied.as_ref().is_err_and(|error| error.to_string().contains("unknown field"));
            if waits { Ok(None) } else { applied.map(Some) }
        })
        .await?;
        let different = differences(cluster, &changes).await?;
        ensure!(different.is_empty(), "{}", different.join("\n"));
        Ok(())
    })
    .await
}

#[tokio::test]
async fn forms_by_client_side_apply_change_into_each_other() -> Result<()> {
    let apply = ["apply", "-f", "-"];
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        walk(cluster, &apply, &apply).await
    })
    .await
}

#[tokio::test]
async fn forms_by_replace_change_into_each_other() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        walk(cluster, &["create", "-f", "-"], &["replace", "-f", "-"]).await
    })
    .await
}

#[tokio::test]
async fn forms_by_merge_patch_change_into_each_other() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        let changes = changes();
        cluster
            .kubectl_with_input(&["create", "-f", "-"], &list(changes.iter().map(|change| &change.from)))
            .await?;
        let api: Api<DynamicObject> = cluster.objects(Kind::QueueAcl)?;
        let mut refused = Vec::new();
        for Change { from, to } in &changes {
            let name = to["metadata"]["name"].as_str().unwrap_or_default();
            let patch = Patch::Merge(merge_patch(from, to));
            if let Err(error) = api.patch(name, &PatchParams::default(), &patch).await {
                refused.push(format!("{name}: {error}"));
            }
        }
        let different = differences(cluster, &changes).await?;
        ensure!(different.is_empty() && refused.is_empty(), "{different:?} {refused:?}");
        Ok(())
    })
    .await
}

/// A right that a template left empty is null. If it reaches the API server, it is refused.
#[tokio::test]
async fn a_right_left_empty_is_refused() -> Result<()> {
    const WHY: &str = "is left empty (null)";
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        let api: Api<DynamicObject> = cluster.objects(Kind::QueueAcl)?;
        let path = "/apis/queuewarden.dev/v1alpha1/queueacls";
        let send = async |method: &str, path: &str, kind: &str, object: &Value| {
            let request = http::Request::builder().method(method).uri(path).header("content-type", kind);
            let answer = cluster.client()?.request_text(request.body(serde_json::to_vec(object)?)?).await;
            anyhow::Ok(answer.map_err(|error| error.to_string()))
        };
        let empty = object("empty", Some(&Value::Null));
        let created = send("POST", path, "application/json", &empty).await?;
        ensure!(created.as_ref().is_err_and(|why| why.contains(WHY)), "created: {created:?}");
        let apply = format!("{path}/empty?fieldManager=flux");
        let applied = send("PATCH", &apply, "application/apply-patch+yaml", &empty).await?;
        ensure!(applied.as_ref().is_err_and(|why| why.contains(WHY)), "applied: {applied:?}");

        let users = object("empty", Some(&json!({"users": ["sue"]})));
        send("PATCH", &apply, "application/apply-patch+yaml", &users).await?.map_err(anyhow::Error::msg)?;
        let applied = send("PATCH", &apply, "application/apply-patch+yaml", &empty).await?;
        ensure!(applied.as_ref().is_err_and(|why| why.contains(WHY)), "applied: {applied:?}");
        let mut replacement = empty.clone();
        replacement["metadata"]["resourceVersion"] = json!(api.get("empty").await?.metadata.resource_version);
        let replaced = send("PUT", &format!("{path}/empty"), "application/json", &replacement).await?;
        ensure!(replaced.as_ref().is_err_and(|why| why.contains(WHY)), "replaced: {replaced:?}");
        let named = object("by-kubectl", Some(&Value::Null)).to_string();
        let created = cluster.kubectl_with_input(&["create", "-f", "-"], &named).await;
        let created = created.map_err(|error| error.to_string());
        ensure!(created.as_ref().is_err_and(|why| why.contains(WHY)), "created by kubectl: {created:?}");

        // kubectl apply does not send the null, but stores it in its annotation, which makes the object
        // invalid.
        cluster.kubectl_with_input(&["apply", "-f", "-"], &named).await?;
        let read = queuewarden_api::convert::queue_acl(&api.get("by-kubectl").await?);
        let why = format!("{:?}", read.spec);
        ensure!(read.spec.is_err() && why.contains(WHY), "{why}");
        Ok(())
    })
    .await
}
