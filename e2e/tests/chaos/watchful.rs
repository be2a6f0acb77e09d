//! Tests the history itself: it finds what it must find.

use anyhow::{Result, ensure};
use queuewarden_e2e::bed::BASE;
use queuewarden_e2e::{Bed, Ledger};

/// Returns [`BASE`] with these users on `root.prod`.
fn with(users: &str) -> String {
    BASE.replace("- name: prod\n", &format!("- name: prod\n            submitacl: {users}\n"))
}

#[tokio::test]
async fn a_moment_of_too_much_access_is_found_afterwards() -> Result<()> {
    Bed::with(async |bed| {
        bed.install().await?;
        let mut ledger = Ledger::begin(bed).await?;
        ledger.grant("prod", "root.prod", &["alice"]).await?;
        bed.set_configs(&with("alice")).await?;
        ensure!(ledger.check().await? == 1);
        ledger.grant("prod", "root.prod", &["bob"]).await?;
        bed.set_configs(&with("alice")).await?;
        ensure!(ledger.check().await? == 0, "the same text makes no version");
        bed.set_configs(&with("bob")).await?;
        ensure!(ledger.check().await? == 1);

        let mut lenient = Ledger::begin(bed).await?;
        lenient.expect_foreign(&with("alice,bob"));
        bed.set_configs(&with("alice,bob")).await?;
        bed.set_configs(BASE).await?;
        ensure!(lenient.check().await? == 2, "texts of others need no grants");
        let error = ledger.check().await.map_err(|error| error.to_string());
        ensure!(error.is_err_and(|error| error.contains("wider than the last: true")));

        let mut ledger = Ledger::begin(bed).await?;
        ledger.grant("prod", "root.prod", &["alice"]).await?;
        bed.set_configs(&with("alice")).await?;
        ledger.revoke("prod").await?;
        bed.set_configs(BASE).await?;
        ledger.check().await?;
        bed.set_configs(&with("alice")).await?;
        bed.delete_config_map(queuewarden_e2e::yunikorn::CONFIGS).await?;
        ensure!(ledger.check().await.is_err(), "what was revoked came back, for a moment");
        Ok(())
    })
    .await
}
