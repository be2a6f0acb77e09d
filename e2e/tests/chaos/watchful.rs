//! Tests that the history itself detects violations.

use anyhow::{Result, ensure};
use queuewarden_e2e::test_cluster::BASE;
use queuewarden_e2e::{GrantHistory, TestCluster};

/// Returns [`BASE`] with these users on `root.prod`.
fn with(users: &str) -> String {
    BASE.replace("- name: prod\n", &format!("- name: prod\n            submitacl: {users}\n"))
}

#[tokio::test]
async fn a_moment_of_too_much_access_is_found_afterwards() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        let mut grant_history = GrantHistory::begin(cluster).await?;
        grant_history.grant("prod", "root.prod", &["alice"]).await?;
        cluster.set_configs(&with("alice")).await?;
        ensure!(grant_history.check().await? == 1);
        grant_history.grant("prod", "root.prod", &["bob"]).await?;
        cluster.set_configs(&with("alice")).await?;
        ensure!(grant_history.check().await? == 0, "the same text makes no version");
        cluster.set_configs(&with("bob")).await?;
        ensure!(grant_history.check().await? == 1);

        let mut lenient = GrantHistory::begin(cluster).await?;
        lenient.expect_foreign(&with("alice,bob"));
        cluster.set_configs(&with("alice,bob")).await?;
        cluster.set_configs(BASE).await?;
        ensure!(lenient.check().await? == 2, "texts of others need no grants");
        let error = grant_history.check().await.map_err(|error| error.to_string());
        ensure!(error.is_err_and(|error| error.contains("wider than the last: true")));

        let mut grant_history = GrantHistory::begin(cluster).await?;
        grant_history.grant("prod", "root.prod", &["alice"]).await?;
        cluster.set_configs(&with("alice")).await?;
        grant_history.revoke("prod").await?;
        cluster.set_configs(BASE).await?;
        grant_history.check().await?;
        cluster.set_configs(&with("alice")).await?;
        cluster.delete_config_map(queuewarden_e2e::yunikorn::CONFIGS).await?;
        ensure!(grant_history.check().await.is_err(), "what was revoked came back, for a moment");
        Ok(())
    })
    .await
}
