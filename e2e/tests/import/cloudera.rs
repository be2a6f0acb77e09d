//! Imports a fair-scheduler.xml with each form of ACL as Cloudera interprets it; the operator renders it and
//! the scheduler loads it. Pods show that access matches Cloudera's handbook.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::ResourceExt as _;
use kube::api::ListParams;
use queuewarden_e2e::conditions::is_true;
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Kind, Operator, Outcome, TestCluster};
use queuewarden_import::yarn::Holders;
use queuewarden_import::{Files, Source};
use yunikorn::application::Reading;
use yunikorn::right::Right;
use yunikorn_access::subject::Subject;

use super::{case, import};
use crate::operator::configure;

const FROM: [&str; 8] = [
    "yarn-fair",
    "cloudera.xml",
    "--yarn-site",
    "yarn-site.xml",
    "--dialect",
    "yarn-cloudera",
    "--cluster-admins",
    "root",
];
/// Pods that are submitted at once.
const AT_ONCE: usize = 8;
/// Groups that the file does not name.
const OTHERS: [&str; 2] = ["lab_f", "strangers"];
/// Names that mean nobody according to the handbook, but are ordinary names to Hadoop. They are left out.
const NOBODY: [&str; 2] = ["NOUSERS", "NOGROUPS"];

#[tokio::test]
async fn imported_access_matches_the_cloudera_handbook() -> Result<()> {
    TestCluster::with(async |cluster| {
        let directory = case("");
        let manifests = import(&directory, &FROM).await?;
        ensure!(manifests.code == Some(0), "{manifests}");
        let skeleton = import(&directory, &[&FROM[..], &["--queues"]].concat()).await?;
        ensure!(skeleton.code == Some(0), "{skeleton}");
        cluster.install().await?;
        cluster.set_base(&base(&skeleton.out)).await?;
        configure(cluster, "").await?;
        cluster.kubectl_with_input(&["apply", "-f", "-"], &manifests.out).await?;
        let _operator = Operator::start(cluster).await?;
        for object in cluster.objects(Kind::QueueAcl)?.list(&ListParams::default()).await? {
            cluster.wait_for(Kind::QueueAcl, &object.name_any(), is_true("Ready"), PATIENCE).await?;
        }
        decisions(cluster).await
    })
    .await
}

/// Returns the tree without its ACLs, so that only the objects grant access, and with a rule that places
/// applications.
fn base(skeleton: &str) -> String {
    let acl = |line: &&str| !line.contains("submitacl:") && !line.contains("adminacl:");
    let tree: String = skeleton.split_inclusive('\n').filter(acl).collect();
    tree.replace(
        "    queues:\n      - name: \"root\"",
        "    placementrules:\n      - name: provided\n    queues:\n      - name: \"root\"",
    )
}

/// Submits as every user named in the file, and as others, to every queue that takes applications.
async fn decisions(cluster: &TestCluster) -> Result<()> {
    let source = source()?;
    let holders = Holders::new(&source);
    let others = OTHERS.map(|group| Subject::Group(group.to_owned()));
    let subjects: Vec<Subject> =
        holders.subjects().into_iter().filter(|who| *who != Subject::Everyone).chain(others).collect();
    let mut questions = Vec::new();
    for subject in &subjects {
        let reached = holders.reach(Right::Submit, subject);
        for (queue, granting) in source.queues.iter().zip(reached).filter(|(queue, _)| !queue.is_parent) {
            questions.push((subject, queue.path.to_ascii_lowercase(), granting.is_some()));
        }
    }
    ensure!(subjects.len() >= 20 && questions.len() >= 180, "{} names, {}", subjects.len(), questions.len());
    let differing: BTreeSet<(String, String)> = futures::stream::iter(questions)
        .map(async |(subject, queue, by_the_handbook)| {
            let outcome = submit(cluster, subject, &queue).await?;
            match &outcome {
                Outcome::Allowed { queue: placed } => {
                    ensure!(*placed == queue, "{subject} into {queue}: {placed}");
                }
                Outcome::Rejected { message } => {
                    ensure!(message.contains("application rejected: no placement rule matched"), "{message}");
                }
                Outcome::Refused { message } => anyhow::bail!("{subject} into {queue}: {message}"),
            }
            ensure!(
                by_the_handbook || !outcome.is_allowed(),
                "{subject} gets into {queue}, and did not before"
            );
            Ok((by_the_handbook && !outcome.is_allowed()).then(|| (subject.to_string(), queue)))
        })
        .buffer_unordered(AT_ONCE)
        .try_filter_map(async |differing| Ok(differing))
        .try_collect()
        .await?;
    let [user, group] = NOBODY;
    let expected = [Subject::Group(group.to_owned()), Subject::User(user.to_owned())]
        .map(|who| (who.to_string(), "root.closed".to_owned()));
    ensure!(differing.into_iter().eq(expected), "shut out besides those who are nobody");
    Ok(())
}

fn source() -> Result<Source> {
    let read = |name| std::fs::read_to_string(case(name)).context(name);
    let (file, site) = (read("cloudera.xml")?, read("yarn-site.xml")?);
    let mut findings = Vec::new();
    let wanted = Files {
        reading: Reading::Cloudera,
        scheduler: (0, &file),
        site: Some((1, &site)),
        defined: &[],
        mapred: None,
        core: &[],
        name: "",
    };
    Source::fair(wanted, &mut findings).with_context(|| format!("{findings:?}"))
}

/// Submits as a user, in a group that is not named anywhere, or as an unnamed member of a group.
async fn submit(cluster: &TestCluster, subject: &Subject, queue: &str) -> Result<Outcome> {
    match subject {
        Subject::User(user) => cluster.submit(user, &["unnamed"], queue).await,
        Subject::Group(group) => cluster.submit(&format!("member-of-{group}"), &[group], queue).await,
        Subject::Everyone => cluster.submit("anybody", &["unnamed"], queue).await,
    }
}
