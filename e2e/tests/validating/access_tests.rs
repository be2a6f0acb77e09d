//! Tests access tests in a cluster: they are checked continuously, and before a `QueueAcl` is stored.

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::conditions::{is_false, is_true};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Capability, Kind, TestCluster, eventually};
use serde_json::{Value, json};

use super::{ACLS, Answer, acl, create, decided, delete, merge, send};

const TESTS: &str = "/apis/queuewarden.dev/v1alpha1/queueaccesstests";

const BASE: &str = "\
partitions:
  - name: default
    placementrules: [{name: provided, create: false}]
    queues:
      - name: root
        queues:
          - name: prod
            submitacl: 'pat'
          - name: test
";

/// Returns a test: pat and no one else runs in prod; the prod pipeline is placed there.
fn test(enforcement: &str) -> Value {
    let spec = json!({"enforcement": enforcement, "cases": [
        {"name": "pat runs", "subjects": [{"user": "pat"}], "allow": {"submit": ["root.prod"]},
         "placements": [{"queue": "root.prod", "runsIn": "root.prod"}]},
        {"name": "strangers stay out", "subjects": [{"user": "eve", "groups": ["guests"]}],
         "deny": {"submit": ["root.prod"], "administer": ["root"]}},
    ]});
    json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": "QueueAccessTest", "metadata": {"name": "closed"}, "spec": spec})
}

#[tokio::test]
async fn change_that_breaks_a_test_is_refused() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (operator, _) = decided(cluster, BASE, &json!({})).await?;
        let admin = cluster.client()?;
        let made = create(&admin, TESTS, &test("Block")).await?;
        ensure!(made.code == 201 && made.warnings.is_empty(), "{made:?}");
        cluster.wait_for(Kind::QueueAccessTest, "closed", is_true("Passing"), PATIENCE).await?;
        cluster.wait_for(Kind::QueueAccessTest, "closed", is_true("Ready"), PATIENCE).await?;

        let opens = acl("opens", &json!({"queue": "root.prod", "submit": {"everyone": true}}));
        let refused = |answer: &Answer| {
            answer.code == 403 && answer.message.contains("QueueAccessTest/closed refuses this change")
        };
        // The endpoints learn of the test with the reconcile that checks it.
        let answer = eventually("the test to block", PATIENCE, || async {
            let answer = create(&admin, &format!("{ACLS}?dryRun=All"), &opens).await?;
            Ok(refused(&answer).then_some(answer))
        })
        .await?;
        let why = "case 2 (strangers stay out): expected: user eve in group guests may not submit to root.prod; but everyone may submit";
        ensure!(answer.message.contains(why), "{answer:?}");
        let kubectl = cluster.kubectl_with_input(&["create", "-f", "-"], &opens.to_string()).await;
        let words = kubectl.err().context("kubectl creates what a test forbids")?.to_string();
        ensure!(words.contains("QueueAccessTest/closed"), "{words}");
        ensure!(cluster.objects(Kind::QueueAcl)?.get_opt("opens").await?.is_none(), "it was stored all the same");
        // Locking a user out breaks the test as well, whether by a change or by a deletion.
        let locks = acl("locks", &json!({"queue": "root.prod", "submit": {"users": ["bob"]}}));
        ensure!(refused(&create(&admin, ACLS, &locks).await?));
        let keeps = acl("keeps", &json!({"queue": "root.prod", "submit": {"users": ["pat", "bob"]}}));
        let answer = create(&admin, ACLS, &keeps).await?;
        ensure!(answer.code == 201, "{answer:?}");
        cluster.wait_for(Kind::QueueAcl, "keeps", is_true("Ready"), PATIENCE).await?;
        let narrows = json!({"spec": {"submit": {"users": ["bob"]}}});
        let answer = merge(&admin, "keeps", &narrows).await?;
        ensure!(refused(&answer) && answer.message.contains("user pat"), "{answer:?}");

        // A user who intends it changes the test first; then the change is warned about, made and reported.
        let report = json!({"spec": {"enforcement": "Report"}});
        let kind = "application/merge-patch+json";
        let answer = send(&admin, "PATCH", &format!("{TESTS}/closed"), kind, &report).await?;
        ensure!(answer.code == 200, "{answer:?}");
        let answer = eventually("the test to let it through", PATIENCE, || async {
            let answer = merge(&admin, "keeps", &narrows).await?;
            Ok((answer.code == 200).then_some(answer))
        })
        .await?;
        ensure!(answer.warns("breaks QueueAccessTest/closed, case 1 (pat runs)"), "{answer:?}");
        cluster.wait_for(Kind::QueueAccessTest, "closed", is_false("Passing", "Failing"), PATIENCE).await?;
        let object = cluster.objects(Kind::QueueAccessTest)?.get("closed").await?;
        let status = object.data.get("status").context("no status")?;
        ensure!(status["checks"] == 4 && status["passed"] == 2 && status["failed"] == 2, "{status}");
        let failures = status["failures"].to_string();
        ensure!(failures.contains("user pat may submit to root.prod; but no ACL"), "{failures}");
        let failing = r#"kind="QueueAccessTest",condition="Passing",status="False""#;
        ensure!(operator.metric("queuewarden_objects", failing).await? > 0.0);

        // It recovers automatically: no one has to touch the test.
        let answer = delete(&admin, "keeps").await?;
        ensure!(answer.code == 200, "{answer:?}");
        cluster.wait_for(Kind::QueueAccessTest, "closed", is_true("Passing"), PATIENCE).await?;
        Ok(())
    })
    .await
}

/// We cannot refuse changes of the base, but report the tests that they break.
#[tokio::test]
async fn test_follows_the_configuration_in_force() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let (_operator, _) = decided(cluster, BASE, &json!({})).await?;
        let admin = cluster.client()?;
        let made = create(&admin, TESTS, &test("Block")).await?;
        ensure!(made.code == 201, "{made:?}");
        cluster.wait_for(Kind::QueueAccessTest, "closed", is_true("Passing"), PATIENCE).await?;
        cluster.set_base(&BASE.replace("'pat'", "'*'")).await?;
        cluster.wait_for(Kind::QueueAccessTest, "closed", is_false("Passing", "Failing"), PATIENCE).await?;
        cluster.set_base(BASE).await?;
        cluster.wait_for(Kind::QueueAccessTest, "closed", is_true("Passing"), PATIENCE).await?;
        // An impossible test is refused by whichever check comes first.
        let mut nothing = test("Block");
        nothing["metadata"]["name"] = "nothing".into();
        nothing["spec"]["cases"] = json!([{"subjects": [{"user": "pat"}], "allow": {}}]);
        let answer = create(&admin, TESTS, &nothing).await?;
        ensure!(answer.code == 403 && answer.message.contains("QW5151"), "{answer:?}");
        Ok(())
    })
    .await
}
