//! Tests the migration to another version of the API, step by step: docs/api-versions.md.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use queuewarden_e2e::conditions::{is_false, is_true};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Kind, Operator, TestCluster, eventually};
use serde_json::{Value, json};

use super::{apply, config_is, grant, live_when, running};
use crate::pages::blocks;

const OLD: &str = "v1alpha1";
const NEW: &str = "v1beta1";
/// In the order of [`Kind::ALL`].
const KINDS: [&str; 4] = ["queueacls", "admissionpolicies", "yunikornconfigs", "queueaccesstests"];

#[tokio::test]
async fn api_version_is_migrated_step_by_step() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let outcome = story(cluster).await;
        // The shipped definitions are refused while objects are stored in a version that they do not have.
        cluster.remove_installation().await?;
        outcome
    })
    .await
}

async fn story(cluster: &TestCluster) -> Result<()> {
    let operator = running(cluster).await?;
    grant(cluster, "old", "root.prod", "submit: {users: [alice]}").await?;
    let policy = "apiVersion: queuewarden.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {name: default}\nspec: {bypassAuth: false}\n";
    let test = "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAccessTest\nmetadata: {name: prod}\n\
                spec: {cases: [{subjects: [{user: alice}], allow: {submit: [root.prod]}}]}\n";
    apply(cluster, &format!("{policy}---\n{test}")).await?;

    // N, back, and N again.
    for versions in [&[OLD, NEW][..], &[OLD], &[OLD, NEW]] {
        define(cluster, versions, OLD).await?;
    }
    both_are_served(cluster).await?;

    // N+1: N+2 cannot be installed before everything is rewritten.
    define(cluster, &[OLD, NEW], NEW).await?;
    written_in(cluster, NEW).await?;
    let error = define(cluster, &[NEW], NEW)
        .await
        .err()
        .context("objects are stored in the old version")?
        .to_string();
    ensure!(
        error.contains("v1alpha1 was previously a storage version, and must remain in spec.versions"),
        "{error}"
    );
    all_is_rewritten(cluster).await?;

    // N+2: the old version is no longer served.
    operator.kill().await?;
    let count = objects(cluster).await?.len();
    define(cluster, &[NEW], NEW).await?;
    eventually("the old version to be gone, and nothing with it", PATIENCE, || async {
        let mut left = 0;
        for plural in KINDS {
            ensure!(read(cluster, OLD, plural).await.is_err(), "{plural} are served in {OLD}");
            left += at(&read(cluster, NEW, plural).await?, "/items").as_array().map_or(0, Vec::len);
        }
        Ok((left == count).then_some(()))
    })
    .await?;

    is_kept(cluster).await?;

    // Back to N+1, to N, and to before it.
    define(cluster, &[OLD, NEW], NEW).await?;
    let _operator = Operator::start(cluster).await?;
    grant(cluster, "later", "root.team", "submit: {users: [dora]}").await?;
    config_is(cluster, is_true("Ready"), PATIENCE).await?;
    define(cluster, &[OLD, NEW], OLD).await?;
    written_in(cluster, OLD).await?;
    ensure!(define(cluster, &[OLD], OLD).await.is_err(), "objects are stored in {NEW}");
    migrate(cluster, OLD).await?;
    define(cluster, &[OLD], OLD).await?;
    grant(cluster, "last", "root.team", "submit: {users: [dora, erin]}").await?;
    // kubectl continues to use the version that it found last until it runs discovery again.
    typed(cluster, "kubectl api-resources --api-group queuewarden.dev").await?;
    typed(cluster, "kubectl get queueacls last").await?;
    Ok(())
}

/// Applies the shipped definitions in these versions, which differ only in name, with an additional field:
/// `spec.note`.
async fn define(cluster: &TestCluster, versions: &[&str], storage: &str) -> Result<()> {
    let mut all = serde_json::to_value(queuewarden_api::crds())?;
    for definition in all.as_array_mut().context("no definitions")? {
        let shipped = at(definition, "/spec/versions/0").clone();
        let mut made = Vec::new();
        for &name in versions {
            let mut version = shipped.clone();
            let fields = version.pointer_mut("/schema/openAPIV3Schema/properties/spec/properties");
            let fields = fields.and_then(Value::as_object_mut).context("no fields")?;
            fields.insert("note".to_owned(), json!({"type": "string"}));
            let version = version.as_object_mut().context("no version")?;
            version.insert("name".to_owned(), json!(name));
            version.insert("storage".to_owned(), json!(name == storage));
            made.push(json!(version));
        }
        *definition.pointer_mut("/spec/versions").context("no versions")? = json!(made);
    }
    let list = json!({"apiVersion": "v1", "kind": "List", "items": all});
    // An additional field of a QueueAcl must also be added to the rule that counts the fields.
    let list = list.to_string().replace("[has(self.partition)", "[has(self.note), has(self.partition)");
    cluster.apply_text(&list, "queuewarden-e2e").await
}

/// The operator, which uses the old version, accepts an object of the new one. It refuses an object with an
/// unknown field, and like every writer of the old version leaves that field unchanged.
async fn both_are_served(cluster: &TestCluster) -> Result<()> {
    let manifest = |version: &str, name: &str, spec: &str| {
        format!(
            "apiVersion: queuewarden.dev/{version}\nkind: QueueAcl\nmetadata: {{name: {name}}}\nspec: {{queue: root.dev, {spec}}}\n"
        )
    };
    let new = manifest(NEW, "new", "submit: {users: [bob]}");
    eventually("the new version to be served", PATIENCE, || async { apply(cluster, &new).await.map(Some) })
        .await?;
    cluster.wait_for(Kind::QueueAcl, "new", is_true("Ready"), PATIENCE).await?;
    live_when(cluster, "the grant of the new version", |text| text.contains("'bob'")).await?;

    apply(cluster, &manifest(NEW, "noted", "note: kept, submit: {users: [carol]}")).await?;
    apply(cluster, &manifest(OLD, "noted", "note: kept, submit: {users: [dave]}")).await?;
    let acls = cluster.objects(Kind::QueueAcl)?;
    let admin = json!({
        "apiVersion": format!("queuewarden.dev/{OLD}"), "kind": "QueueAcl", "spec": {"admin": {"groups": ["ops"]}},
    });
    acls.patch("noted", &PatchParams::apply("somebody"), &Patch::Apply(admin)).await?;
    eventually("the object to be replaced", PATIENCE, || async {
        let mut object = acls.get("noted").await?;
        *object.data.pointer_mut("/spec/submit/users").context("no users")? = json!(["erin"]);
        Ok(Some(acls.replace("noted", &PostParams::default(), &object).await?))
    })
    .await?;
    let refused =
        cluster.wait_for(Kind::QueueAcl, "noted", is_false("Accepted", "Invalid"), PATIENCE).await?;
    ensure!(refused.message.contains("unknown field `note`"), "{refused:?}");

    for name in ["new", "noted"] {
        let path = format!("queueacls/{name}");
        let [old, mut new] = [read(cluster, OLD, &path).await?, read(cluster, NEW, &path).await?];
        ensure!(at(&new, "/status/conditions/0").is_object(), "{new}");
        let version = new.pointer_mut("/apiVersion").context("no version")?;
        ensure!(*version == format!("queuewarden.dev/{NEW}"), "{version}");
        *version = at(&old, "/apiVersion").clone();
        ensure!(old == new, "{old}\n{new}");
    }
    is_kept(cluster).await
}

/// Checks that the additional field is stored, together with the other fields.
async fn is_kept(cluster: &TestCluster) -> Result<()> {
    let noted = read(cluster, NEW, "queueacls/noted").await?;
    let spec = json!({
        "queue": "root.dev", "note": "kept", "submit": {"users": ["erin"]}, "admin": {"groups": ["ops"]},
        "partition": "default", "baseAcl": "Replace",
    });
    ensure!(at(&noted, "/spec") == &spec, "{noted}");
    Ok(())
}

/// Migrates to the new version, and checks that nothing else in the objects changes.
async fn all_is_rewritten(cluster: &TestCluster) -> Result<()> {
    let [look]: [String; 1] = blocks("docs/api-versions.md", "sh")?.try_into().ok().context("one block")?;
    let both = typed(cluster, &look).await?;
    ensure!(both.matches("[v1alpha1 v1beta1]").count() == KINDS.len(), "{both}");
    let before = objects(cluster).await?;
    migrate(cluster, NEW).await?;
    for (plural, object) in &before {
        ensure!(stored(cluster, plural, name(object)?).await? == NEW, "{plural}: {object}");
    }
    ensure!(objects(cluster).await? == before, "before: {before:?}");
    let one = typed(cluster, &look).await?;
    ensure!(one.matches("[v1beta1]").count() == KINDS.len(), "{one}");
    Ok(())
}

/// Writes all objects in the storage version, and lists no other version as stored, as a
/// `StorageVersionMigration` does.
async fn migrate(cluster: &TestCluster, storage: &str) -> Result<()> {
    for (plural, object) in objects(cluster).await? {
        cluster.kubectl(&["patch", plural, name(&object)?, "--type=merge", "-p", "{}"]).await?;
    }
    let status = json!({"status": {"storedVersions": [storage]}}).to_string();
    for plural in KINDS {
        let name = format!("{plural}.queuewarden.dev");
        cluster
            .kubectl(&["patch", "crd", &name, "--subresource=status", "--type=merge", "-p", &status])
            .await?;
    }
    Ok(())
}

/// Waits until the API server, which learns of new definitions a moment later, stores in this version.
async fn written_in(cluster: &TestCluster, version: &str) -> Result<()> {
    eventually("objects to be stored in the version", PATIENCE, || async {
        cluster.kubectl(&["patch", "queueacl", "new", "--type=merge", "-p", "{}"]).await?;
        Ok((stored(cluster, "queueacls", "new").await? == version).then_some(()))
    })
    .await
}

/// Returns the storage version of an object.
async fn stored(cluster: &TestCluster, plural: &str, name: &str) -> Result<String> {
    let stored = cluster.stored(plural, name).await?;
    Ok(at(&stored, "/apiVersion").as_str().unwrap_or_default().replace("queuewarden.dev/", ""))
}

/// Returns all objects of ours with their plurals, without what each write changes.
async fn objects(cluster: &TestCluster) -> Result<Vec<(&'static str, Value)>> {
    let mut all = Vec::new();
    for (kind, plural) in Kind::ALL.into_iter().zip(KINDS) {
        for mut object in cluster.objects(kind)?.list(&ListParams::default()).await? {
            object.metadata.resource_version = None;
            all.push((plural, serde_json::to_value(object)?));
        }
    }
    Ok(all)
}

fn name(object: &Value) -> Result<&str> {
    at(object, "/metadata/name").as_str().context("no name")
}

async fn read(cluster: &TestCluster, version: &str, what: &str) -> Result<Value> {
    let path = format!("/apis/queuewarden.dev/{version}/{what}");
    Ok(serde_json::from_str(&cluster.kubectl(&["get", "--raw", &path]).await?)?)
}

async fn typed(cluster: &TestCluster, lines: &str) -> Result<String> {
    cluster.shell(Path::new("."), lines).await
}

fn at<'a>(object: &'a Value, pointer: &str) -> &'a Value {
    object.pointer(pointer).unwrap_or(&Value::Null)
}
