//! The example of the README: what `render` says offline is what the cluster says.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::{Bed, Kind, assets, eventually};
use queuewarden_e2e::wait::PATIENCE;

use super::{configure, live};

/// Kind, name, and `status/reason` of condition `Ready`.
type Ready = (String, String, String);

#[tokio::test]
async fn the_cluster_says_what_render_said() -> Result<()> {
    Bed::with(async |bed| {
        let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/quickstart");
        let (text, mut expected) = rendered(examples).await?;
        bed.install().await?;
        bed.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", examples]).await?;
        // The bed's scheduler listens elsewhere than the example's, and needs some keys of its own.
        configure(bed, "").await?;
        let _operator = queuewarden_e2e::Operator::start(bed).await?;
        let body = |text: &str| text.lines().skip(2).map(|line| format!("{line}\n")).collect::<String>();
        eventually("the rendered text", PATIENCE, || async {
            let live = live(bed).await?;
            ensure!(body(&live) == body(&text), "live:\n{live}\nrendered:\n{text}");
            Ok(Some(()))
        })
        .await?;
        expected.sort();
        eventually("the same conditions", PATIENCE, || async {
            let mut seen = Vec::new();
            for kind in Kind::ALL {
                for object in bed.objects(kind)?.list(&kube::api::ListParams::default()).await? {
                    let name = object.metadata.name.clone().unwrap_or_default();
                    let conditions = bed.conditions(kind, &name).await?;
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

/// What `queuewarden render` prints: the queue tree, and each object's `Ready`.
async fn rendered(examples: &str) -> Result<(String, Vec<Ready>)> {
    let program = tokio::task::spawn_blocking(assets::operator).await??;
    let output = tokio::process::Command::new(program)
        .args(["render", "-f", examples, "-o", "queues", "--status", "json"])
        .output()
        .await?;
    let report: serde_json::Value = serde_json::from_slice(&output.stderr)
        .with_context(|| format!("status: {}", String::from_utf8_lossy(&output.stderr)))?;
    let objects = report["objects"].as_array().context("no objects")?;
    let ready = objects.iter().map(|object| {
        let conditions = object["conditions"].as_array().context("no conditions")?;
        let ready = conditions.iter().find(|c| c["type"] == "Ready").context("no Ready")?;
        let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let shown = format!("{}/{}", word(&ready["status"]), word(&ready["reason"]));
        Ok((word(&object["kind"]), word(&object["name"]), shown))
    });
    Ok((String::from_utf8(output.stdout)?, ready.collect::<Result<_>>()?))
}
