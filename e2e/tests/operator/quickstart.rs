//! Tests the example of the README: the offline output of `render` equals the cluster's.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Kind, TestCluster, assets, eventually};

use super::{configure, live};

/// Kind, name, and `status/reason` of condition `Ready`.
type Ready = (String, String, String);

#[tokio::test]
async fn cluster_matches_the_output_of_render() -> Result<()> {
    TestCluster::with(async |cluster| {
        let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/quickstart");
        let (text, mut expected) = rendered(examples).await?;
        cluster.install().await?;
        cluster.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", examples]).await?;
        // The test cluster's scheduler listens at a different address than in the example, and needs some
        // keys of its own.
        configure(cluster, "").await?;
        let _operator = queuewarden_e2e::Operator::start(cluster).await?;
        // The header is left out, because its revision depends on the number of writes.
        let body = |text: &str| text.split_inclusive('\n').skip(2).collect::<String>();
        eventually("the rendered text", PATIENCE, || async {
            let live = live(cluster).await?;
            ensure!(body(&live) == body(&text), "live:\n{live}\nrendered:\n{text}");
            Ok(Some(()))
        })
        .await?;
        expected.sort();
        eventually("the same conditions", PATIENCE, || async {
            let mut seen = Vec::new();
            for kind in Kind::ALL {
                for object in cluster.objects(kind)?.list(&kube::api::ListParams::default()).await? {
                    let name = object.metadata.name.clone().unwrap_or_default();
                    let conditions = cluster.conditions(kind, &name).await?;
                    let ready = conditions.iter().find(|c| c.type_ == "Ready").context("no Ready")?;
                    seen.push((format!("{kind:?}"), name, format!("{}/{}", ready.status, ready.reason)));
                }
            }
            seen.sort();
            ensure!(seen == expected, "{seen:?}, expected {expected:?}");
            Ok(Some(()))
        })
        .await
    })
    .await
}

/// Returns the output of `queuewarden render`: the queue tree, and each object's `Ready`.
async fn rendered(examples: &str) -> Result<(String, Vec<Ready>)> {
    let program = tokio::task::spawn_blocking(assets::operator).await??;
    let output = tokio::process::Command::new(program)
        .args(["render", "-f", examples, "-o", "queues", "--status", "json"])
        .output()
        .await?;
    let report: serde_json::Value = serde_json::from_slice(&output.stderr)
        .with_context(|| format!("status: {}", String::from_utf8_lossy(&output.stderr)))?;
    let objects = report.get("objects").and_then(serde_json::Value::as_array).context("no objects")?;
    let ready = objects.iter().map(|object| {
        let word = |value: &serde_json::Value, key: &str| {
            value.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
        };
        let conditions =
            object.get("conditions").and_then(|list| list.as_array()).context("no conditions")?;
        let ready = conditions.iter().find(|c| word(c, "type") == "Ready").context("no Ready")?;
        let shown = format!("{}/{}", word(ready, "status"), word(ready, "reason"));
        Ok((word(object, "kind"), word(object, "name"), shown))
    });
    Ok((String::from_utf8(output.stdout)?, ready.collect::<Result<_>>()?))
}
