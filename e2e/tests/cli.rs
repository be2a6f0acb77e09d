//! Tests the commands that answer questions, on a real cluster, by a user who may only read.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use queuewarden_e2e::conditions::{Expected, is_false, is_true};
use queuewarden_e2e::test_cluster::{BASE, NAMESPACE};
use queuewarden_e2e::wait::PATIENCE;
use queuewarden_e2e::{Kind, Operator, TestCluster, assets, eventually, yunikorn};
use serde_json::{Value, json};

/// The user who runs the commands.
const ASKER: &str = "asker";

/// The result of a command.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    /// Reads the output of a program.
    pub(crate) fn of(output: std::process::Output) -> Result<Self> {
        Ok(Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout)?,
            err: String::from_utf8(output.stderr)?,
        })
    }

    /// Fails unless it ended like this.
    pub(crate) fn expect(&self, code: i32, out: &str) -> Result<&Self> {
        ensure!(self.code == Some(code) && self.out == out, "{self}, expected {code} and {out:?}");
        Ok(self)
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "code {:?}\nout:\n{}err:\n{}", self.code, self.out, self.err)
    }
}

pub(crate) async fn ask(kubeconfig: &Path, command: &str) -> Result<Ended> {
    let program = tokio::task::spawn_blocking(assets::operator).await??;
    let output = tokio::process::Command::new(program)
        .args(command.split_whitespace())
        .env("KUBECONFIG", kubeconfig)
        .env("NO_COLOR", "1")
        .output()
        .await?;
    Ended::of(output)
}

/// Returns a `ServiceAccount` that may read `YuniKorn`'s ConfigMaps, and with `ours` our objects by the role
/// that is shipped for it.
pub(crate) async fn asker(cluster: &TestCluster, maps: bool, ours: bool) -> Result<PathBuf> {
    let subject = json!([{"kind": "ServiceAccount", "name": ASKER, "namespace": NAMESPACE}]);
    let rbac = "rbac.authorization.k8s.io";
    let rules = if maps {
        json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}])
    } else {
        json!([])
    };
    let role = if ours { "queuewarden-viewer" } else { "system:basic-user" };
    let objects = [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ASKER, "namespace": NAMESPACE}}),
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "Role", "rules": rules,
               "metadata": {"name": ASKER, "namespace": yunikorn::NAMESPACE}}),
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "subjects": subject,
               "metadata": {"name": ASKER, "namespace": yunikorn::NAMESPACE},
               "roleRef": {"apiGroup": rbac, "kind": "Role", "name": ASKER}}),
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "subjects": subject,
               "metadata": {"name": format!("e2e-{ASKER}-{role}").replace(':', "-")},
               "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role}}),
    ];
    cluster
        .kubectl(&[
            "delete",
            "clusterrolebinding",
            "--ignore-not-found",
            &format!("e2e-{ASKER}-queuewarden-viewer"),
        ])
        .await?;
    for object in objects {
        cluster.kubectl_with_input(&["apply", "-f", "-"], &object.to_string()).await?;
    }
    let user = format!("system:serviceaccount:{NAMESPACE}:{ASKER}");
    eventually("the asker's rights", PATIENCE, || async {
        let object = Some((yunikorn::NAMESPACE, yunikorn::CONFIGS));
        let may = [
            cluster.may(&user, "get", "", "configmaps", object).await? == maps,
            cluster.may(&user, "list", "queuewarden.dev", "queueacls", None).await? == ours,
        ];
        Ok((may == [true, true]).then_some(()))
    })
    .await?;
    cluster.sa_kubeconfig(NAMESPACE, ASKER).await
}

#[tokio::test]
async fn answers_match_the_scheduler() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        let url = cluster.scheduler_url();
        let objects = format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: YuniKornConfig\nmetadata: {{name: default}}\nspec: {{schedulerUrl: '{url}'}}\n---\n\
             apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: prod}}\nspec: {{queue: root.prod, submit: {{users: [alice]}}, admin: {{groups: [ops]}}}}\n---\n\
             apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: team}}\nspec: {{queue: root.team, submit: {{groups: [devs]}}}}\n"
        );
        cluster.kubectl_with_input(&["apply", "-f", "-"], &objects).await?;
        let _operator = Operator::start(cluster).await?;
        for name in ["prod", "team"] {
            cluster.wait_for(Kind::QueueAcl, name, is_true("Ready"), PATIENCE).await?;
        }
        let kubeconfig = asker(cluster, true, true).await?;
        for (user, group) in [("alice", "qa"), ("bob", "devs"), ("carol", "ops")] {
            for queue in ["root.prod", "root.dev", "root.team.batch"] {
                let really = cluster.submit(user, &[group], queue).await?.is_allowed();
                for source in ["", " --live"] {
                    let command = format!("can-i submit {queue} --as {user} --as-group {group} -q{source}");
                    let ended = ask(&kubeconfig, &command).await?;
                    ended.expect(i32::from(!really), "").with_context(|| command.clone())?;
                    ensure!(ended.err.is_empty(), "{command}: {ended}");
                }
            }
        }
        origins(&kubeconfig).await
    })
    .await
}

/// `grant` and `revoke` apply the printed objects with the caller's permissions.
#[tokio::test]
async fn grant_and_revoke_change_the_scheduler() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        let url = cluster.scheduler_url();
        let config = format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: YuniKornConfig\nmetadata: {{name: default}}\nspec: {{schedulerUrl: '{url}'}}\n"
        );
        cluster.kubectl_with_input(&["apply", "-f", "-"], &config).await?;
        let _operator = Operator::start(cluster).await?;
        cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
        let grant = "grant submit root.prod --user alice --user bob --until 8h --name both --apply";
        let reader = asker(cluster, true, true).await?;
        let refused = ask(&reader, grant).await?;
        ensure!(refused.expect(1, "")?.err.contains("cannot apply QueueAcl/both: "), "{refused}");
        let admin = cluster.kubeconfig();
        ask(admin, grant).await?.expect(0, "")?;
        cluster.wait_for(Kind::QueueAcl, "both", is_true("Ready"), PATIENCE).await?;
        for user in ["alice", "bob"] {
            ensure!(cluster.submit(user, &[], "root.prod").await?.is_allowed(), "{user} is rejected");
        }
        let revoke = "revoke submit root.prod --user alice --apply";
        let refused = ask(&reader, revoke).await?;
        ensure!(refused.expect(1, "")?.err.contains("cannot apply QueueAcl/both: "), "{refused}");
        let revoked = ask(admin, revoke).await?;
        ensure!(revoked.expect(0, "")?.err.contains("loses    user alice"), "{revoked}");
        eventually("alice to be rejected", PATIENCE, || async {
            Ok((!cluster.submit("alice", &[], "root.prod").await?.is_allowed()).then_some(()))
        })
        .await?;
        ensure!(cluster.submit("bob", &[], "root.prod").await?.is_allowed(), "bob is rejected");

        // Without `--replace`, the end of a grant does not change, and nothing is printed.
        let again = "grant submit root.prod --user bob --until 30d --name both";
        for apply in ["", " --apply"] {
            let refused = ask(admin, &format!("{again}{apply}")).await?;
            ensure!(refused.expect(1, "")?.err.contains("error: nothing applied: QueueAcl/both"), "{refused}");
        }
        let replaced = ask(admin, &format!("{again} --replace --apply")).await?;
        ensure!(replaced.expect(0, "")?.err.contains("note: ends "), "{replaced}");
        let past = ask(&reader, "who-can submit root.prod --now 2020-01-01").await?;
        ensure!(past.expect(2, "")?.err.contains("`--at 2020-01-01T00:00:00Z`"), "{past}");
        // The last name is removed, and no one gains access through the deletion, because the object only
        // added access.
        let revoked = ask(admin, "revoke submit root.prod --user bob --apply").await?;
        ensure!(revoked.expect(0, "")?.err.contains("QueueAcl/both is deleted"), "{revoked}");
        eventually("bob to be rejected", PATIENCE, || async {
            Ok((!cluster.submit("bob", &[], "root.prod").await?.is_allowed()).then_some(()))
        })
        .await
    })
    .await
}

/// A user is removed from every object, in force or not, and the remaining places are listed.
#[tokio::test]
async fn revoked_user_is_removed_everywhere() -> Result<()> {
    const OBJECTS: &str = "\
apiVersion: queuewarden.dev/v1alpha1
kind: QueueAcl
metadata: {name: prod}
spec: {queue: root.prod, submit: {users: [alice, bob]}}
---
apiVersion: queuewarden.dev/v1alpha1
kind: QueueAcl
metadata: {name: later}
spec: {queue: root.prod, baseAcl: Extend, admin: {users: [bob]}, notBefore: '2098-01-01T00:00:00Z'}
---
apiVersion: queuewarden.dev/v1alpha1
kind: QueueAcl
metadata: {name: paused}
spec: {queue: root.team, baseAcl: Extend, submit: {users: [bob, carol]}, suspend: true}
---
apiVersion: queuewarden.dev/v1alpha1
kind: QueueAcl
metadata: {name: closed}
spec: {queue: root.dev, submit: {users: [bob]}}
---
apiVersion: queuewarden.dev/v1alpha1
kind: AdmissionPolicy
metadata: {name: default}
spec: {externalUsers: ['^bob$', '^airflow$']}
";
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        cluster.set_base(&BASE.replace("- name: dev\n", "- name: dev\n            submitacl: eve\n")).await?;
        let url = cluster.scheduler_url();
        let config = format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: YuniKornConfig\nmetadata: {{name: default}}\nspec: {{schedulerUrl: '{url}'}}\n"
        );
        for objects in [config.as_str(), OBJECTS] {
            cluster.kubectl_with_input(&["apply", "-f", "-"], objects).await?;
        }
        let _operator = Operator::start(cluster).await?;
        for name in ["prod", "later", "paused", "closed"] {
            cluster.wait_for(Kind::QueueAcl, name, is_true("Ready"), PATIENCE).await?;
        }
        let admin = cluster.kubeconfig();
        let listed = ask(admin, "what-can --as bob --all").await?;
        let expected = ["QueueAcl/prod", "QueueAcl/later", "QueueAcl/paused", "QueueAcl/closed", "AdmissionPolicy/default"];
        ensure!(listed.code == Some(0) && expected.iter().all(|name| listed.out.contains(name)), "{listed}");
        let printed = ask(admin, "revoke --user bob --everywhere").await?;
        ensure!(printed.code == Some(0) && !printed.out.contains("last-applied"), "{printed}");
        let revoked = ask(admin, "revoke --user bob --everywhere --apply").await?;
        ensure!(revoked.expect(0, "")?.err.contains("QueueAcl/later is deleted"), "{revoked}");
        ensure!(revoked.err.contains("QueueAcl/closed has no names any more and is kept"), "{revoked}");
        eventually("no entry to be left", PATIENCE, || async {
            let listed = ask(admin, "what-can --as bob --all").await?;
            Ok((listed.code == Some(1) && listed.out.is_empty()).then_some(()))
        })
        .await?;
        eventually("bob to be rejected", PATIENCE, || async {
            let mut rejected = true;
            for queue in ["root.prod", "root.team.batch", "root.dev"] {
                rejected &= !cluster.submit("bob", &[], queue).await?.is_allowed();
            }
            Ok(rejected.then_some(()))
        })
        .await?;
        ensure!(cluster.submit("alice", &[], "root.prod").await?.is_allowed(), "alice is rejected");
        ensure!(!cluster.submit("eve", &[], "root.dev").await?.is_allowed(), "eve is let in again");
        // The field manager is queuewarden's, so that no one gets a conflict with an unknown one.
        let get = ["get", "queueacl", "prod", "-o", "json", "--show-managed-fields"];
        let object = cluster.kubectl(&get).await?;
        ensure!(object.contains("\"queuewarden-cli\"") && !object.contains("\"unknown\""), "{object}");
        // An entry of the base is left.
        cluster.set_base(&BASE.replace("- name: dev\n", "- name: dev\n            submitacl: bob\n")).await?;
        eventually("the entry of the base", PATIENCE, || async {
            let left = ask(admin, "revoke --user bob --everywhere --apply").await?;
            let is_left = left.code == Some(1) && left.err.contains(" names user bob, to submit root.dev ");
            Ok(is_left.then_some(()))
        })
        .await?;
        cluster.remove_admission_policies().await
    })
    .await
}

/// `whoami` needs none of our roles. `describe` shows an object with its events to users with the role
/// shipped for readers.
#[tokio::test]
async fn whoami_and_describe_show_caller_and_object() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        let nobody = asker(cluster, false, false).await?;
        let account = format!("system:serviceaccount:{NAMESPACE}:{ASKER}");
        let named = format!(
            "user/{account}\ngroup/system:serviceaccounts\ngroup/system:serviceaccounts:{NAMESPACE}\ngroup/system:authenticated\n"
        );
        ask(&nobody, "whoami -o name").await?.expect(0, &named)?;
        let shown = ask(&nobody, "whoami").await?;
        let row = format!("User    {account}");
        let row = shown.out.lines().find(|line| line.starts_with(&row)).unwrap_or_default();
        ensure!(shown.code == Some(0) && row.ends_with("by an alias"), "{shown}");
        let url = cluster.scheduler_url();
        let objects = format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: YuniKornConfig\nmetadata: {{name: default}}\nspec: {{schedulerUrl: '{url}'}}\n---\n\
             apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: prod}}\nspec: {{queue: root.prod, submit: {{users: [alice]}}, baseAcl: Extend, expiresAt: '2099-01-01T00:00:00Z'}}\n"
        );
        cluster.kubectl_with_input(&["apply", "-f", "-"], &objects).await?;
        let _operator = Operator::start(cluster).await?;
        cluster.wait_for(Kind::QueueAcl, "prod", is_true("Ready"), PATIENCE).await?;
        let described = eventually("the event that prod is ready", PATIENCE, || async {
            let described = ask(cluster.kubeconfig(), "describe queueacl prod").await?;
            let events = described.out.split("Events:\n").nth(1).unwrap_or_default();
            Ok(events.contains("in force: grants submit to user alice").then_some(described))
        })
        .await?;
        let line = |start: &str, words: &[&str]| {
            let mut lines = described.out.lines().filter(|line| line.trim_start().starts_with(start));
            let found = lines.any(|line| words.iter().all(|word| line.contains(word)));
            found.then_some(()).with_context(|| format!("{start} {words:?}: {described}"))
        };
        line("Submit:", &["user alice, as \"alice\""])?;
        line("Ends:", &["2099-01-01T00:00:00Z"])?;
        line("Last Writer:", &["kubectl", "Update", "Z"])?;
        line("Ready", &["True", "in force"])?;
        line("root.prod", &["submitacl", "\"alice\"", "QueueAcl/prod"])?;
        line("gains", &["user alice", "submit", "root.prod", "2099-01-01T00:00:00Z"])?;
        let reader = asker(cluster, true, true).await?;
        let described = ask(&reader, "describe queueacl/prod").await?;
        let (shown, events) = described.out.split_once("Events:\n").with_context(|| described.to_string())?;
        ensure!(shown.contains("gains    user alice") && events.contains("in force: grants submit to user alice"), "{described}");
        ask(&nobody, "describe queueacl/none").await?.expect(3, "")?;
        Ok(())
    })
    .await
}

/// `suspend` and `resume` change the objects with the caller's permissions.
#[tokio::test]
async fn suspended_object_grants_nothing_in_the_scheduler() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        let url = cluster.scheduler_url();
        let objects = format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: YuniKornConfig\nmetadata: {{name: default}}\nspec: {{schedulerUrl: '{url}'}}\n---\n\
             apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: prod}}\nspec: {{queue: root.prod, submit: {{users: [alice]}}}}\n"
        );
        cluster.kubectl_with_input(&["apply", "-f", "-"], &objects).await?;
        let _operator = Operator::start(cluster).await?;
        let alice = |may: bool| {
            eventually("the scheduler's answer about alice", PATIENCE, move || async move {
                Ok((cluster.submit("alice", &[], "root.prod").await?.is_allowed() == may).then_some(()))
            })
        };
        alice(true).await?;
        let reader = asker(cluster, true, true).await?;
        let refused = ask(&reader, "suspend queueacl/prod --apply").await?;
        ensure!(refused.expect(1, "")?.err.contains("cannot apply QueueAcl/prod: "), "{refused}");
        let admin = cluster.kubeconfig();
        let printed = ask(&reader, "suspend queueacl/prod").await?;
        ensure!(printed.code == Some(0) && printed.err.contains("loses    user alice"), "{printed}");
        ensure!(printed.out.contains("\n  suspend: true\n") && !printed.out.contains("last-applied"), "{printed}");
        ensure!(printed.err.contains("QueueAcl/prod is managed by `kubectl apply` of its file"), "{printed}");
        let suspended = ask(admin, "suspend queueacl/prod --apply").await?;
        ensure!(suspended.expect(0, "")?.err.contains("QueueAcl/prod is applied"), "{suspended}");
        alice(false).await?;
        let suspended = Expected { r#type: "Ready", status: "True", reason: Some("Suspended") };
        cluster.wait_for(Kind::QueueAcl, "prod", suspended, PATIENCE).await?;
        // A suspended object is not written at all.
        ask(admin, "suspend yunikornconfig/default --apply").await?.expect(0, "")?;
        cluster.wait_for(Kind::YuniKornConfig, "default", is_true("Ready"), PATIENCE).await?;
        let resumed = ask(admin, "resume queueacl/prod --apply").await?;
        ensure!(resumed.expect(0, "")?.err.contains("gains    user alice"), "{resumed}");
        cluster.wait_for(Kind::QueueAcl, "prod", is_false("Programmed", "ObserveMode"), PATIENCE).await?;
        let resumed = ask(admin, "resume yunikornconfig/default --apply").await?;
        ensure!(resumed.expect(0, "")?.err.contains("gains    user alice"), "{resumed}");
        alice(true).await
    })
    .await
}

/// `lint --until` looks ahead with the cluster's objects, and locates its findings in the base.
#[tokio::test]
async fn lint_until_uses_the_objects_of_the_cluster() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        cluster.set_base(&BASE.replace("- name: dev\n", "- name: dev\n            submitacl: bob\n")).await?;
        let url = cluster.scheduler_url();
        let objects = format!(
            "apiVersion: queuewarden.dev/v1alpha1\nkind: YuniKornConfig\nmetadata: {{name: default}}\nspec: {{schedulerUrl: '{url}'}}\n---\n\
             apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: prod}}\nspec: {{queue: root.prod, submit: {{users: [alice]}}, baseAcl: Extend, expiresAt: '2099-01-01T00:00:00Z'}}\n---\n\
             apiVersion: queuewarden.dev/v1alpha1\nkind: QueueAcl\nmetadata: {{name: team}}\nspec: {{queue: root.team, submit: {{groups: [devs]}}}}\n"
        );
        cluster.kubectl_with_input(&["apply", "-f", "-"], &objects).await?;
        let _operator = Operator::start(cluster).await?;
        for name in ["prod", "team"] {
            cluster.wait_for(Kind::QueueAcl, name, is_true("Ready"), PATIENCE).await?;
        }
        let reader = asker(cluster, true, true).await?;
        ask(&reader, "lint --strict --until 2098-12-30").await?.expect(0, "")?;
        let later = ask(&reader, "lint --strict --until 2099-01-02").await?;
        let expected = [
            "from 2099-01-01T00:00:00Z: QueueAcl/prod ends\n\nwarning[QW7209]: nobody may submit to `root.prod`: ",
            " --> yunikorn-defaults/queues.yaml:9:19\n",
        ];
        ensure!(later.code == Some(1) && expected.iter().all(|words| later.out.contains(words)), "{later}");
        ensure!(later.err.contains("0 warnings, 1 later; 6 queues checked"), "{later}");
        // Once the object is gone, it is there from the beginning.
        cluster.kubectl(&["delete", "queueacl", "prod"]).await?;
        eventually("the finding", PATIENCE, || async {
            let now = ask(&reader, "lint --strict --until 2099-01-02").await?;
            let found = now.code == Some(1) && now.out.starts_with("warning[QW7209]: ") && !now.out.contains("from ");
            Ok(found.then_some(()))
        })
        .await
    })
    .await
}

/// `history` shows written revisions to people with Kubernetes' role `view` in `YuniKorn`'s namespace, and
/// which objects queuewarden cannot have recorded.
#[tokio::test]
async fn history_shows_and_compares_revisions() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        let nobody = asker(cluster, false, false).await?;
        let refused = ask(&nobody, "history").await?;
        ensure!(refused.expect(3, "")?.err.contains("list controllerrevisions of apps"), "{refused}");
        let reader = viewer(cluster).await?;
        let none = ask(&reader, "history").await?;
        ensure!(none.expect(1, "")?.err.contains("there is no revision in namespace yunikorn"), "{none}");

        let _operator = crate::operator::running(cluster).await?;
        for user in ["alice", "bob"] {
            let spec = format!("submit: {{users: [{user}]}}");
            crate::operator::grant(cluster, "prod", "root.prod", &spec).await?;
        }
        let listed = eventually("three revisions", PATIENCE, || async {
            let listed = ask(&reader, "history").await?;
            Ok((listed.out.lines().count() == 4).then_some(listed))
        })
        .await?;
        let mut lines = listed.out.lines();
        ensure!(lines.next().is_some_and(|line| line.starts_with("REVISION   WRITTEN")), "{listed}");
        let last = lines.next_back().unwrap_or_default();
        let access = "takes submit on root.prod from user alice; grants submit on root.prod to user bob";
        ensure!(
            last.starts_with("3 ") && last.contains("   QueueAcl/prod   ") && last.ends_with(access),
            "{listed}"
        );

        let text = crate::operator::live(cluster).await?;
        ask(&reader, "history 3").await?.expect(0, &text)?;
        let json: Value = serde_json::from_str(&ask(&reader, "history 2 -o json").await?.out)?;
        ensure!(json["revisions"][0]["revision"] == 2, "{json}");
        ensure!(json["revisions"][0]["text"].as_str().is_some_and(|text| text.contains("alice")), "{json}");
        let compared = ask(&reader, "history 2 3").await?;
        let header = "CHANGE   WHO          VERB     QUEUES      ACL         WRITTEN IN\n";
        ensure!(compared.code == Some(1) && compared.out.starts_with(header), "{compared}");
        for row in ["gains    user bob     submit   root.prod", "loses    user alice   submit   root.prod"] {
            ensure!(compared.out.contains(row), "{compared}");
        }
        ask(&reader, "history 3 3").await?.expect(0, "")?;
        at_that_time(&reader).await?;
        let unknown = ask(&reader, "history 2 9").await?;
        ensure!(unknown.expect(2, "")?.err.contains("begins with 1 and ends with 3"), "{unknown}");
        forged(cluster, &reader).await
    })
    .await
}

/// Questions about the past are answered from the revision in force at that time.
async fn at_that_time(reader: &Path) -> Result<()> {
    let json: Value = serde_json::from_str(&ask(reader, "history -o json").await?.out)?;
    let at = |index: usize| {
        let time = json.pointer(&format!("/revisions/{index}/at"));
        time.and_then(Value::as_str).context("no time").map(str::to_owned)
    };
    for (index, user) in [(1, "alice"), (2, "bob")] {
        let command = format!("who-can submit root.prod -o name --at {}", at(index)?);
        let answered = eventually("that time to be past", PATIENCE, || async {
            let answered = ask(reader, &command).await?;
            Ok((answered.code != Some(2)).then_some(answered))
        })
        .await?;
        answered.expect(0, &format!("user/{user}\n"))?;
        let note = format!("note: revision {}, in force from {}", index + 1, at(index)?);
        ensure!(answered.err.contains(&note), "{answered}");
    }
    let unknown = ask(reader, "can-i submit root.prod --as alice --at 2020-01-01").await?;
    ensure!(unknown.expect(3, "")?.err.contains("the history begins with revision 1, at "), "{unknown}");
    let later = ask(reader, "explain submit root.prod --as alice --at 2098-01-01").await?;
    ensure!(later.expect(2, "")?.err.contains("`--now 2098-01-01T00:00:00Z`"), "{later}");
    Ok(())
}

/// A copy of a revision under another number is unreadable, and a revision is immutable.
async fn forged(cluster: &TestCluster, reader: &Path) -> Result<()> {
    let names = ask(reader, "history -o name").await?;
    let name = names.out.lines().next_back().context("no name")?;
    let get = ["get", "controllerrevision", name, "-n", yunikorn::NAMESPACE, "-o", "json"];
    let object: Value = serde_json::from_str(&cluster.kubectl(&get).await?)?;
    let data = json!({"data": {"access": "nobody gains or loses access"}}).to_string();
    let patch = ["patch", "controllerrevision", name, "-n", yunikorn::NAMESPACE, "--type=merge", "-p", &data];
    let refused = format!("{:#}", cluster.kubectl(&patch).await.err().context("its data was changed")?);
    ensure!(refused.contains("immutable"), "{refused}");
    let made_up = json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 9, "data": object.get("data"),
        "metadata": {
            "name": "queuewarden-9-made-up", "namespace": yunikorn::NAMESPACE,
            "labels": {"queuewarden.dev/revision": "9"},
        },
    });
    cluster.kubectl_with_input(&["create", "-f", "-"], &made_up.to_string()).await?;
    let listed = ask(reader, "history").await?;
    let last = listed.out.lines().next_back().unwrap_or_default();
    ensure!(last.starts_with("9 ") && last.contains("unreadable: its name, number and text"), "{listed}");
    for command in ["history 9", "history 2 9"] {
        let ended = ask(reader, command).await?;
        ensure!(ended.expect(3, "")?.err.contains("queuewarden-9-made-up is unreadable"), "{ended}");
    }
    Ok(())
}

/// Returns a `ServiceAccount` with the rules of Kubernetes' role `view` in `YuniKorn`'s namespace. It uses
/// the role that is aggregated into `view`, because no controller aggregates it here. The rules of `edit` and
/// `admin` do not include the history.
async fn viewer(cluster: &TestCluster) -> Result<PathBuf> {
    let (name, rbac) = ("historian", "rbac.authorization.k8s.io");
    for object in [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}}),
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding",
               "metadata": {"name": name, "namespace": yunikorn::NAMESPACE},
               "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
               "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "system:aggregate-to-view"}}),
    ] {
        cluster.kubectl_with_input(&["apply", "-f", "-"], &object.to_string()).await?;
    }
    for role in ["system:aggregate-to-edit", "system:aggregate-to-admin"] {
        let rules = cluster.kubectl(&["get", "clusterrole", role, "-o", "json"]).await?;
        ensure!(rules.contains("\"rules\"") && !rules.contains("controllerrevisions"), "{rules}");
    }
    let user = format!("system:serviceaccount:{NAMESPACE}:{name}");
    eventually("the right to view", PATIENCE, || async {
        let object = Some((yunikorn::NAMESPACE, ""));
        Ok(cluster.may(&user, "list", "apps", "controllerrevisions", object).await?.then_some(()))
    })
    .await?;
    cluster.sa_kubeconfig(NAMESPACE, name).await
}

/// Entries come from the objects that wrote them, and the caller's identity is known.
async fn origins(kubeconfig: &Path) -> Result<()> {
    for source in ["", " --live"] {
        let ended = ask(kubeconfig, &format!("who-can submit root.prod -o csv{source}")).await?;
        let expected = "KIND,NAME,QUEUE,ACL,WRITTEN IN\nUser,alice,root.prod,submitacl,QueueAcl/prod\nGroup,ops,root.prod,adminacl,QueueAcl/prod\n";
        ended.expect(0, expected)?;
    }
    let ended = ask(kubeconfig, "explain submit root.prod -o json").await?;
    let answer: Value = serde_json::from_str(&ended.out).with_context(|| ended.to_string())?;
    let user = format!("system:serviceaccount:{NAMESPACE}:{ASKER}");
    ensure!(ended.code == Some(1) && answer.get("user") == Some(&json!(user)), "{ended}");
    let groups = answer.get("groups").and_then(Value::as_array).context("no groups")?;
    ensure!(groups.contains(&json!("system:authenticated")), "{ended}");
    Ok(())
}

/// Returns the text of a tree where only `user` may submit to root.
fn only(user: &str) -> String {
    format!("partitions:\n  - name: default\n    queues:\n      - name: root\n        submitacl: '{user}'\n")
}

#[tokio::test]
async fn scheduler_with_another_configuration_is_reported() -> Result<()> {
    TestCluster::with(async |cluster| {
        let kubeconfig = asker(cluster, true, false).await?;
        let url = cluster.scheduler_url();
        let live = format!("--live --scheduler-url {url}");
        cluster.set_configs(&only("alice")).await?;
        cluster.yunikorn()?.wait_for_text(&only("alice"), PATIENCE).await?;
        let ended = ask(&kubeconfig, &format!("can-i submit root.a --as alice {live}")).await?;
        ensure!(!ended.expect(0, "yes\n")?.err.contains("another configuration"), "{ended}");
        // Two spaces: the validator accepts the text, but the scheduler keeps its current configuration.
        cluster.set_configs(&only("alice  x")).await?;
        let refused = ask(&kubeconfig, "can-i submit root.a --as alice").await?;
        refused.expect(3, "")?;
        ensure!(refused.err.contains("QW1001"), "{refused}");
        let ended = ask(&kubeconfig, &format!("can-i submit root.a --as alice {live}")).await?;
        ensure!(ended.expect(0, "yes\n")?.err.contains("runs another configuration"), "{ended}");
        ensure!(cluster.yunikorn()?.config_checksum().await? == yunikorn::checksum(&only("alice")));
        let ended =
            ask(&kubeconfig, "can-i submit root.a --as alice --live --scheduler-url http://127.0.0.1:1")
                .await?;
        ended.expect(3, "")?;
        ensure!(ended.err.contains("cannot connect to http://127.0.0.1:1/"), "{ended}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn forbidden_objects_are_reported() -> Result<()> {
    TestCluster::with(async |cluster| {
        cluster.install().await?;
        cluster
            .set_base(&BASE.replace("- name: prod\n", "- name: prod\n            submitacl: alice\n"))
            .await?;
        let kubeconfig = asker(cluster, true, false).await?;
        let ended = ask(&kubeconfig, "explain submit root.prod --as alice").await?;
        ensure!(ended.code == Some(0) && ended.out.contains("yunikorn-defaults/queues.yaml:"), "{ended}");
        ensure!(
            ended
                .err
                .contains("origins are places in the ConfigMaps: cannot read the objects of kind QueueAcl: "),
            "{ended}"
        );
        let ended =
            ask(&kubeconfig, "can-i submit root.prod --as alice --cluster-namespace elsewhere").await?;
        ended.expect(3, "")?;
        let ended = ask(&kubeconfig, "can-i submit root.prod --as alice --live").await?;
        ended.expect(3, "")?;
        ensure!(ended.err.contains("--scheduler-url"), "{ended}");
        let ended = ask(&kubeconfig, "can-i submit root.prod --as alice --context nowhere").await?;
        ended.expect(3, "")?;
        ensure!(ended.err.contains("nowhere"), "{ended}");
        let kubeconfig = asker(cluster, false, false).await?;
        let ended = ask(&kubeconfig, "can-i submit root.prod --as alice").await?;
        ended.expect(3, "")?;
        ensure!(ended.err.contains("cannot read ConfigMap yunikorn/yunikorn-"), "{ended}");
        Ok(())
    })
    .await
}
