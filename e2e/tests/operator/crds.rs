//! Tests the rules of the schema on the real API server: accepted objects, refused objects, and the messages
//! of the refusals.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{TestCluster, eventually};
use serde_json::{Value, json};

/// The files of `e2e/tests/cases/crds`, and the kind of each.
const CASES: [(&str, &str, &str); 4] = [
    ("QueueAcl", "queueacls", include_str!("../cases/crds/queueacls.yaml")),
    ("AdmissionPolicy", "admissionpolicies", include_str!("../cases/crds/admissionpolicies.yaml")),
    ("YuniKornConfig", "yunikornconfigs", include_str!("../cases/crds/yunikornconfigs.yaml")),
    ("QueueAccessTest", "queueaccesstests", include_str!("../cases/crds/queueaccesstests.yaml")),
];

#[tokio::test]
async fn crd_cases_match_the_api_server() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        let mut wrong = Vec::new();
        let mut count = 0;
        for (kind, plural, text) in CASES {
            let cases: Vec<Value> =
                serde_saphyr::from_str(text).with_context(|| format!("the cases of {kind}"))?;
            for case in cases {
                count += 1;
                if let Err(error) = check(cluster, kind, plural, &case).await {
                    wrong.push(format!("{kind}, {}: {error:#}", case["name"]));
                }
            }
        }
        ensure!(count > 50, "only {count} cases were read");
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    })
    .await
}

/// Creates the object, replaces it if the case requires it, and compares the API server's last answer.
async fn check(cluster: &TestCluster, kind: &str, plural: &str, case: &Value) -> Result<()> {
    let name = case["object"].as_str().unwrap_or(if kind == "YuniKornConfig" { "default" } else { "case" });
    let object = |spec: &Value| {
        json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}).to_string()
    };
    let mut answer = cluster.kubectl_with_input(&["create", "-f", "-"], &object(&case["create"])).await;
    if answer.is_ok() && !case["update"].is_null() {
        answer = cluster.kubectl_with_input(&["replace", "-f", "-"], &object(&case["update"])).await;
    }
    cluster.kubectl(&["delete", plural, name, "--ignore-not-found"]).await?;
    match (answer, case["refused"].as_str()) {
        (Ok(_), None) => Ok(()),
        (Err(error), Some(expected)) => {
            let text = error.to_string();
            ensure!(is_expected(&text, expected), "expected `{expected}`, got: {text}");
            Ok(())
        }
        (Ok(_), Some(expected)) => anyhow::bail!("was accepted, expected `{expected}`"),
        (Err(error), None) => Err(error.context("was refused")),
    }
}

/// Returns whether the API server answers as expected. For a broken CEL rule, it quotes the value instead of
/// its type from Kubernetes 1.35.4 on.
fn is_expected(text: &str, expected: &str) -> bool {
    let typed = |kind| expected.split_once(&format!("Invalid value: \"{kind}\": "));
    match ["string", "object"].into_iter().find_map(typed) {
        Some((field, rule)) => {
            text.split_once(&format!("{field}Invalid value: ")).is_some_and(|(_, rest)| rest.contains(rule))
        }
        None => text.contains(expected),
    }
}

#[tokio::test]
async fn every_field_is_explained() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        for (_, plural, _) in CASES {
            // The API server publishes a new kind's documentation some time after it serves the kind.
            let field = format!("{plural}.spec");
            let spec = eventually(&format!("{plural} to be explained"), PATIENCE, || async {
                cluster.kubectl(&["explain", &field]).await.map(Some)
            })
            .await?;
            ensure!(!spec.contains("<no description>"), "{spec}");
            let text = cluster.kubectl(&["explain", plural, "--recursive"]).await?;
            ensure!(!text.contains("<empty>"), "{text}");
        }
        Ok(())
    })
    .await
}
