//! Tests that a `QueueAccessTest` is decided by the groups that a directory service has.

use std::path::Path;

use anyhow::{Result, ensure};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use queuewarden_e2e::conditions::Expected;
use queuewarden_e2e::front_proxy::Authority;
use queuewarden_e2e::slapd::{BASE, MemberOf, PASSWORD, Slapd, settings};
use queuewarden_e2e::test_cluster::BASE as QUEUES;
use queuewarden_e2e::wait::{LONG, eventually};
use queuewarden_e2e::{Capability, Kind, Operator, TestCluster};
use tokio::net::TcpListener;

use super::{apply, configure, grant};

/// A test that passes if this user may do on `root.prod` what `side` says.
async fn expect(cluster: &TestCluster, side: &str, user: &str) -> Result<()> {
    let text = format!(
        "apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAccessTest\nmetadata: {{name: test}}\n\
         spec: {{cases: [{{subjects: [{{user: {user}}}], {side}: {{submit: [root.prod]}}}}]}}\n"
    );
    apply(cluster, &text).await
}

async fn is(cluster: &TestCluster, status: &str, reason: &str) -> Result<()> {
    let expected = Expected { r#type: "Passing", status, reason: Some(reason) };
    cluster.wait_for(Kind::QueueAccessTest, "test", expected, LONG).await.map(drop)
}

/// Waits until the test is undecided for this reason.
async fn is_undecided(cluster: &TestCluster, why: &str) -> Result<()> {
    eventually(&format!("a test that is undecided: {why}"), LONG, || async {
        let found = passing(cluster).await?.filter(|found| found.reason == "Undecided");
        Ok(found.filter(|found| found.message.contains(why)).map(drop))
    })
    .await
}

/// Returns condition `Passing` of the test.
async fn passing(cluster: &TestCluster) -> Result<Option<Condition>> {
    let conditions = cluster.conditions(Kind::QueueAccessTest, "test").await?;
    Ok(conditions.into_iter().find(|condition| condition.type_ == "Passing"))
}

fn write(directory: &Path, port: u16) -> Result<()> {
    for (name, text) in settings(port) {
        std::fs::write(directory.join(name), text)?;
    }
    Ok(())
}

#[tokio::test]
async fn access_test_is_decided_by_groups_in_ldap() -> Result<()> {
    TestCluster::with(async |cluster| {
        if !cluster.can_run(&[Capability::OperatorProcess])? {
            return Ok(());
        }
        let people = format!(
            "dn: cn=sue,{BASE}\nobjectClass: inetOrgPerson\nobjectClass: member\ncn: sue\nsn: x\nuid: sue\n\
             memberOf: CN=devs,OU=Groups\n\n"
        );
        let slapd = Slapd::start(MemberOf::Text, &people, &Authority::new()?.server(2096)?).await?;
        let ldap = "- name: default\n    usergroupresolver: {type: ldap}\n";
        cluster.set_base(&QUEUES.replace("- name: default\n", ldap)).await?;
        cluster.install().await?;
        configure(cluster, "").await?;
        let operator = Operator::start(cluster).await?;
        grant(cluster, "devs", "root.prod", "submit: {groups: [devs]}").await?;
        expect(cluster, "allow", "sue").await?;
        is_undecided(cluster, "come from LDAP, which cannot be asked here").await?;
        drop(operator);

        let directory = tempfile::tempdir()?;
        let path = directory.path().to_string_lossy().into_owned();
        let operator = Operator::start_with(cluster, &["--ldap-settings", &path], &[]).await?;
        is_undecided(cluster, "Host: add a file of this name").await?;
        write(directory.path(), slapd.port)?;
        is(cluster, "True", "Passing").await?;
        expect(cluster, "deny", "sue").await?;
        is(cluster, "False", "Failing").await?;
        expect(cluster, "deny", "bob").await?;
        is(cluster, "True", "Passing").await?;

        // A process that has just been started takes no status back while it looks up.
        let before = passing(cluster).await?;
        let log = operator.log().await?;
        ensure!(log.matches("Host: add a file of this name").count() == 1, "it is logged once: {log}");
        drop(operator);
        let operator = Operator::start_with(cluster, &["--ldap-settings", &path], &[]).await?;
        grant(cluster, "team", "root.team", "submit: {groups: [devs]}").await?;
        ensure!(passing(cluster).await? == before);

        // A server that takes connections and never answers delays no write.
        let silent = TcpListener::bind("127.0.0.1:0").await?;
        write(directory.path(), silent.local_addr()?.port())?;
        expect(cluster, "allow", "eve").await?;
        grant(cluster, "eve", "root.prod", "submit: {users: [eve]}").await?;
        is_undecided(cluster, "there is no answer within 10 s").await?;
        drop(silent);
        slapd.kill()?;
        write(directory.path(), slapd.port)?;
        expect(cluster, "deny", "ann").await?;
        is_undecided(cluster, "which cannot be reached from here: Connection refused").await?;
        grant(cluster, "ann", "root.prod", "submit: {users: [ann]}").await?;
        let log = operator.log().await?;
        ensure!(!log.contains(&format!("={PASSWORD}")) && !log.contains(&format!("\"{PASSWORD}\"")), "{log}");
        let failures = log.lines().filter(|line| line.contains("cannot be looked up in LDAP"));
        let refused = failures.filter(|line| line.contains("Connection refused")).count();
        ensure!(refused == 1, "it is logged once: {log}");
        Ok(())
    })
    .await
}
