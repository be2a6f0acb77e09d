//! Applies the steps of a schedule to the cluster, and to the model.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use queuewarden_e2e::history::{revision, versions};
use queuewarden_e2e::process::Process;
use queuewarden_e2e::test_cluster::BASE;
use queuewarden_e2e::wait::{LONG, PATIENCE};
use queuewarden_e2e::yunikorn::{CONFIGS, DEFAULTS, NAMESPACE};
use queuewarden_e2e::{Kind, Operator, TestCluster, eventually, operator};
use serde_json::{Value, json};

use super::access::Access;
use super::model::{KEY, Model, Spec};
use super::now;
use super::schedule::{Base, Draft, Edit, Fault, Step, USERS};
use super::watch::{Common, condition};
use crate::operator::{configure, gzip, open_base};

/// Seconds until another or a newly started replica leads.
const TAKEOVER: f64 = 20.0;
/// Seconds until watches are restored after the API server has stopped.
const RECONNECT: f64 = 35.0;
/// Seconds within which a status must reflect another client's change.
const NOTICE: f64 = 6.0;
/// Number of consecutive checks without a write.
const QUIET: usize = 12;
/// The time within which an edit that opens nothing must be reverted, no matter how often it was made: a
/// delay of ten minutes at most.
const CONTENDED: Duration = Duration::from_mins(11);
/// The name of the only `AdmissionPolicy`, and the key that it sets.
const POLICY: &str = "policy";
const POLICY_KEY: &str = "admissionController.accessControl.externalUsers";

/// The cluster under test.
pub(super) struct World<'cluster> {
    cluster: &'cluster TestCluster,
    client: Client,
    objects: Api<DynamicObject>,
    policies: Api<DynamicObject>,
    maps: Api<ConfigMap>,
    operators: [Operator<'cluster>; 2],
    common: Common,
    state: Mutex<State>,
}

/// The lasting faults, and all other state that is not in the model.
#[derive(Debug, Clone, Default)]
struct State {
    active: BTreeSet<Fault>,
    frozen: Option<usize>,
    /// The last revision of the output that was compared.
    compared: u64,
    policy: Option<Vec<String>>,
}

/// Returns a base with ACLs.
fn text(base: Base) -> String {
    match base {
        Base::Open => {
            open_base().replace("- name: prod\n", "- name: prod\n            submitacl: 'pat ops'\n")
        }
        Base::Closed => BASE
            .replace("- name: team\n", "- name: team\n            adminacl: kim\n")
            .replace("- name: dev\n", "- name: dev\n            submitacl: ' devs'\n"),
    }
}

/// Returns a base that passes YuniKorn's validator but is not activated.
fn broken(base: Base) -> String {
    text(base).replace("- name: adhoc\n", "- name: adhoc\n                submitacl: 'a  b'\n")
}

/// Returns the text with one user, and nobody else, in an ACL.
fn with_mallory(text: &str) -> String {
    let (mut new, mut inside) = (String::new(), false);
    for line in text.lines() {
        let name = line.trim().starts_with("- name:");
        inside = if name { line.trim() == "- name: dev" } else { inside };
        if inside && line.trim().starts_with("submitacl") {
            continue;
        }
        new.extend([line, "\n"]);
        if inside && name {
            new.extend([&*" ".repeat(line.find('-').unwrap_or_default() + 2), "submitacl: mallory\n"]);
        }
    }
    new
}

fn spec(draft: &Draft, spec: &Spec) -> Result<Value> {
    let right = |subjects: &BTreeSet<String>| {
        let groups: Vec<&str> = subjects.iter().filter_map(|name| name.strip_prefix('@')).collect();
        let users: Vec<&str> =
            subjects.iter().filter(|name| !name.starts_with('@')).map(String::as_str).collect();
        if users == ["*"] {
            json!({"everyone": true})
        } else if draft.raw || subjects.is_empty() {
            let groups = groups.join(",");
            json!({"acl": format!("{}{}{groups}", users.join(","), if groups.is_empty() { "" } else { " " })})
        } else {
            let lists = [("users", users), ("groups", groups)];
            lists
                .into_iter()
                .filter(|(_, names)| !names.is_empty())
                .map(|(key, it)| (key, json!(it)))
                .collect()
        }
    };
    let mut object =
        json!({"queue": draft.queue, "baseAcl": if draft.extend { "Extend" } else { "Replace" }});
    let fields = object.as_object_mut().context("no object")?;
    let rights = [("submit", &draft.submit), ("admin", &draft.admin)];
    for (key, subjects) in rights.into_iter().filter_map(|(key, it)| Some((key, it.as_ref()?))) {
        fields.insert(key.to_owned(), right(subjects));
    }
    let times = [("notBefore", spec.begins), ("expiresAt", spec.ends)];
    for (key, time) in times.into_iter().filter_map(|(key, it)| Some((key, it?))) {
        fields.insert(key.to_owned(), jiff::Timestamp::from_second(time)?.to_string().into());
    }
    Ok(object)
}

impl<'cluster> World<'cluster> {
    /// Starts two replicas on a fresh cluster with an open base.
    pub(super) async fn start(cluster: &'cluster TestCluster) -> Result<Self> {
        cluster.set_base(&text(Base::Open)).await?;
        cluster.install().await?;
        let client = cluster.client()?;
        let revision = revision(&client).await?;
        let bases = [Base::Open, Base::Closed].map(|base| Access::of_text(&text(base)).map(|it| (base, it)));
        let [open, closed] = bases;
        let common = Common::new(Model::new([open?, closed?], revision, now()));
        configure(cluster, "").await?;
        let operators = [Operator::start(cluster).await?, Operator::start(cluster).await?];
        let state = State { compared: revision, ..State::default() };
        let world = Self {
            cluster,
            objects: cluster.objects(Kind::QueueAcl)?,
            policies: cluster.objects(Kind::AdmissionPolicy)?,
            maps: Api::namespaced(client.clone(), NAMESPACE),
            client,
            operators,
            common,
            state: Mutex::new(state),
        };
        world.writers_changed(0.0);
        Ok(world)
    }

    pub(super) fn common(&self) -> &Common {
        &self.common
    }

    pub(super) async fn step(&self, step: &Step, number: usize) -> Result<()> {
        self.revive().await?;
        match step {
            Step::Put(name, draft) => self.put(name, draft).await,
            Step::Typo(name) => self.mistype(name).await,
            Step::Delete(name) => self.delete(name).await,
            Step::Policy(users) => self.policy(users).await,
            Step::NoPolicy => self.no_policy().await,
            Step::SetBase(base) => self.set_base(*base).await,
            Step::Pass(time) => {
                tokio::time::sleep(Duration::from_millis(*time)).await;
                Ok(())
            }
            Step::Kill(index) => self.kill(*index).await,
            Step::Start(index) => self.start_operator(*index),
            Step::Edit(edit) => self.edit(*edit).await,
            Step::DeleteOutput => self.delete_map(CONFIGS).await,
            Step::Begin(fault) => self.fault(*fault).await,
            Step::End(fault) => self.mend(*fault).await,
            Step::Settle => self.settle().await,
            Step::Rest => self.rest(number).await,
        }
        .with_context(|| format!("step {number}: {step:?}"))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Applies an object: half of them server-side, the others as `kubectl apply` does.
    async fn apply(&self, kind: &str, name: &str, spec: &Value) -> Result<(i64, u64)> {
        let metadata = json!({"name": name});
        let object = json!({"apiVersion": "queuewarden.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec});
        let api = if kind == "QueueAcl" { &self.objects } else { &self.policies };
        let text = object.to_string();
        let server_side = name.bytes().last().is_some_and(|byte| byte % 2 == 0);
        let applied = eventually("the API server to take an object", PATIENCE, || async {
            if server_side {
                let params = PatchParams::apply("kustomize-controller").force();
                return Ok(Some(api.patch(name, &params, &Patch::Apply(&object)).await?));
            }
            let answer = self.cluster.kubectl_with_input(&["apply", "-o", "json", "-f", "-"], &text);
            Ok(Some(serde_json::from_str(&answer.await?)?))
        })
        .await?;
        let revision = applied.metadata.resource_version.as_deref().unwrap_or_default().parse()?;
        Ok((applied.metadata.generation.context("no generation")?, revision))
    }

    async fn put(&self, name: &str, draft: &Draft) -> Result<()> {
        self.common.begin();
        let known = Spec::at(draft, now());
        let (generation, revision) = self.apply("QueueAcl", name, &spec(draft, &known)?).await?;
        self.common.end(|shared| shared.model.put(name, known, generation, revision, now()));
        Ok(())
    }

    async fn mistype(&self, name: &str) -> Result<()> {
        let last = self.common.lock().model.objects.get(name).and_then(|it| it.specs.last().cloned());
        // A reduced schedule may be empty here.
        let Some(last) = last else { return Ok(()) };
        let user = last.draft.submit.iter().flatten().find(|name| !name.starts_with(['@', '*']));
        let acl = format!("{},oidc:ann", user.map_or("sue", String::as_str));
        let base = if last.draft.extend { "Extend" } else { "Replace" };
        let mistyped = json!({"queue": last.draft.queue, "baseAcl": base, "submit": {"acl": acl}});
        self.common.begin();
        let (generation, revision) = self.apply("QueueAcl", name, &mistyped).await?;
        self.common.end(|shared| shared.model.mistype(name, generation, revision, now()));
        Ok(())
    }

    async fn delete(&self, name: &str) -> Result<()> {
        if !self.common.lock().model.objects.contains_key(name) {
            return Ok(());
        }
        self.common.begin();
        // The response does not contain the revision, which is later than this one.
        let since = self.common.lock().model.revision;
        self.objects.delete(name, &DeleteParams::default()).await?;
        self.common.end(|shared| shared.model.delete(name, since, now()));
        Ok(())
    }

    async fn policy(&self, users: &[String]) -> Result<()> {
        self.apply("AdmissionPolicy", POLICY, &json!({"externalUsers": users})).await?;
        self.state().policy = Some(users.to_vec());
        Ok(())
    }

    async fn no_policy(&self) -> Result<()> {
        if self.state().policy.take().is_some() {
            self.policies.delete(POLICY, &DeleteParams::default()).await?;
        }
        Ok(())
    }

    async fn set_base(&self, base: Base) -> Result<()> {
        self.common.begin();
        self.cluster.set_base(&text(base)).await?;
        let since = self.maps.get(DEFAULTS).await?.metadata.resource_version.unwrap_or_default().parse()?;
        self.common.end(|shared| shared.model.set_base(base, since, now()));
        Ok(())
    }

    fn base(&self) -> Base {
        self.common.lock().model.base_in_force()
    }

    /// Records which replicas can write, after that has changed.
    fn writers_changed(&self, allowance: f64) {
        let (api, frozen) = {
            let state = self.state();
            (!state.active.contains(&Fault::Api), state.frozen)
        };
        let mut alive = self.operators.iter().enumerate().filter(|(index, _)| Some(*index) != frozen);
        let alive = alive.any(|(_, operator)| operator.process().is_ok_and(Process::running));
        let from = now() + allowance;
        let mut shared = self.common.lock();
        if !(api && alive) {
            (shared.writes_from, shared.status_from) = (None, f64::INFINITY);
            return;
        }
        let before = shared.writes_from;
        match before {
            None => (shared.writes_from, shared.status_from) = (Some(from), from),
            Some(before) if allowance > 0.0 => {
                shared.writes_from = Some(before.max(from));
                shared.status_from = shared.status_from.max(from);
            }
            Some(_) => {}
        }
    }

    fn disturbed(&self) {
        let mut shared = self.common.lock();
        shared.status_from = shared.status_from.max(now() + NOTICE);
    }

    async fn kill(&self, index: usize) -> Result<()> {
        let operator = self.operators.get(index).context("no such operator")?;
        let api = !self.state().active.contains(&Fault::Api);
        let leader = if api { self.cluster.leader().await? } else { None };
        operator.process()?.kill()?;
        // If another replica leads, no takeover is needed.
        let led = leader.as_deref().is_none_or(|leader| operator.name().is_ok_and(|name| name == leader));
        self.writers_changed(if led { TAKEOVER } else { 0.0 });
        Ok(())
    }

    fn start_operator(&self, index: usize) -> Result<()> {
        let process = self.operators.get(index).context("no such operator")?.process()?;
        if !process.running() {
            if self.state().frozen == Some(index) {
                self.state().frozen = None;
            }
            process.start()?;
            let nobody = self.common.lock().writes_from.is_none();
            self.writers_changed(if nobody { TAKEOVER } else { 0.0 });
        }
        Ok(())
    }

    /// Changes a `ConfigMap` as another client; the output's next revision is attributed to it.
    async fn merge(&self, name: &str, change: &Value) -> Result<()> {
        self.common.begin();
        let params = PatchParams { field_manager: Some("somebody".into()), ..PatchParams::default() };
        let merged = self.maps.patch(name, &params, &Patch::Merge(change)).await;
        let merged = match merged {
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            other => Some(other?),
        };
        let revision: Option<u64> = merged.and_then(|map| map.metadata.resource_version?.parse().ok());
        self.common.end(|shared| {
            if name == CONFIGS {
                shared.model.foreign.extend(revision);
            }
        });
        self.disturbed();
        Ok(())
    }

    async fn edit(&self, edit: Edit) -> Result<()> {
        let map = self.maps.get_opt(CONFIGS).await?;
        let Some(old) = map.and_then(|map| map.data?.remove(KEY)) else { return Ok(()) };
        let new = match edit {
            Edit::Open => text(Base::Open),
            Edit::Header => {
                let rest = old.split_once('\n').filter(|(first, _)| first.starts_with('#'));
                rest.map_or_else(|| old.clone(), |(_, rest)| rest.to_owned())
            }
            Edit::Grant => with_mallory(&old),
        };
        self.merge(CONFIGS, &json!({"data": {KEY: new}})).await
    }

    async fn delete_map(&self, name: &str) -> Result<()> {
        self.disturbed();
        match self.maps.delete(name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => Ok(other.map(drop)?),
        }
    }

    async fn fault(&self, fault: Fault) -> Result<()> {
        self.state().active.insert(fault);
        self.disturbed();
        match fault {
            Fault::Freeze => self.freeze().await,
            Fault::Api => {
                self.writers_changed(RECONNECT);
                self.cluster.apiserver()?.kill()
            }
            Fault::Scheduler => {
                self.common.lock().runs_from = None;
                self.cluster.scheduler()?.kill()
            }
            Fault::Slow => {
                self.common.lock().runs_from = None;
                self.cluster.scheduler()?.pause()
            }
            Fault::Shadow | Fault::Packed => {
                self.common.lock().runs_from = None;
                let packed = gzip(text(Base::Open).replace("pat ops", "mallory"))?;
                let (key, value) = match fault {
                    Fault::Packed => ("queues.yaml.gz", packed),
                    _ => ("queues.yaml.x", b"x".to_vec()),
                };
                self.merge(CONFIGS, &json!({"binaryData": {key: ByteString(value)}})).await
            }
            Fault::Base => self.cluster.set_base(&broken(self.base())).await,
            Fault::Gone => self.delete_map(DEFAULTS).await,
            Fault::Both => {
                self.delete_map(CONFIGS).await?;
                self.delete_map(DEFAULTS).await
            }
            Fault::Group => self.merge(CONFIGS, &json!({"data": {"service.policyGroup": "group-a"}})).await,
            Fault::Kill | Fault::Edit | Fault::Delete | Fault::Often | Fault::Slip => {
                bail!("it has a step of its own")
            }
        }
    }

    /// Stops the leading process.
    async fn freeze(&self) -> Result<()> {
        let leader = self.cluster.leader().await?;
        let leads = |operator: &Operator<'_>| {
            operator.name().is_ok_and(|name| leader.as_deref() == Some(name))
                && operator.process().is_ok_and(Process::running)
        };
        if let Some(index) = self.operators.iter().position(leads)
            && let Some(operator) = self.operators.get(index)
        {
            operator.process()?.pause()?;
            self.state().frozen = Some(index);
            self.writers_changed(TAKEOVER);
        }
        Ok(())
    }

    async fn mend(&self, fault: Fault) -> Result<()> {
        if !self.state().active.remove(&fault) {
            return Ok(());
        }
        self.disturbed();
        match fault {
            Fault::Freeze => {
                let frozen = self.state().frozen.take();
                if let Some(operator) = frozen.and_then(|index| self.operators.get(index))
                    && operator.process()?.running()
                {
                    operator.process()?.resume()?;
                }
                self.writers_changed(TAKEOVER);
            }
            Fault::Api => {
                self.cluster.start_apiserver().await?;
                self.writers_changed(RECONNECT);
            }
            Fault::Scheduler => {
                self.cluster.start_scheduler().await?;
                self.runs();
            }
            Fault::Slow => {
                self.cluster.scheduler()?.resume()?;
                self.runs();
            }
            Fault::Shadow | Fault::Packed => {
                let key = if fault == Fault::Packed { "queues.yaml.gz" } else { "queues.yaml.x" };
                self.merge(CONFIGS, &json!({"binaryData": {key: null}})).await?;
                self.runs();
            }
            Fault::Base | Fault::Gone | Fault::Both => self.cluster.set_base(&text(self.base())).await?,
            Fault::Group => {
                self.merge(CONFIGS, &json!({"data": {"service.policyGroup": null}})).await?;
            }
            Fault::Kill | Fault::Edit | Fault::Delete | Fault::Often | Fault::Slip => {
                bail!("it has a step of its own")
            }
        }
        self.disturbed();
        Ok(())
    }

    fn runs(&self) {
        self.common.lock().runs_from = Some(now());
    }

    /// Waits until withdrawals are in the output. The watch itself fails if that takes too long.
    async fn settle(&self) -> Result<()> {
        let begin = now();
        eventually("nothing withdrawn to be in the output", LONG, || async {
            let shared = self.common.lock();
            Ok((shared.clean_at > begin || shared.writes_from.is_none()).then_some(()))
        })
        .await
    }

    /// Restarts a crashed scheduler, as a kubelet does: `YuniKorn` 1.8 crashes if it learns of the deletion
    /// of its `ConfigMap` only from the list after a lost watch (k8shim `pkg/cache/context.go:561`).
    async fn revive(&self) -> Result<()> {
        let down = [Fault::Scheduler, Fault::Api].iter().any(|fault| self.state().active.contains(fault));
        if down || self.cluster.scheduler()?.running() {
            return Ok(());
        }
        self.cluster.start_scheduler().await?;
        self.runs();
        Ok(())
    }

    async fn rest(&self, number: usize) -> Result<()> {
        // The API server comes first, because the others are repaired through it.
        let mut active: Vec<Fault> = self.state().active.iter().copied().collect();
        active.sort_by_key(|fault| *fault != Fault::Api);
        for fault in active {
            self.mend(fault).await?;
        }
        for index in 0..self.operators.len() {
            self.start_operator(index)?;
        }
        for operator in &self.operators {
            operator.ready().await?;
        }
        eventually("everything to begin and to end", LONG, || async {
            Ok((now() > self.common.lock().model.last_moment()).then_some(()))
        })
        .await?;
        eventually("the cluster to be as the model says", CONTENDED, || async {
            self.revive().await?;
            self.agrees().await.map(Some)
        })
        .await?;
        self.quiet().await?;
        self.agrees().await?;
        self.submissions(number).await?;
        self.versions().await?;
        self.common.lock().model.rested();
        Ok(())
    }

    /// Fails unless output, scheduler and conditions match the model.
    async fn agrees(&self) -> Result<()> {
        let (required, kept, known) = {
            let mut shared = self.common.lock();
            let now = now();
            shared.model.advance(now);
            (shared.model.required(now), shared.model.kept(now), shared.model.objects.clone())
        };
        let output = self.maps.get(CONFIGS).await?;
        let written = output.data.as_ref().and_then(|data| data.get(KEY)).context("no text in the output")?;
        let written = Access::of_text(written)?;
        let running = Access::of_config(&self.cluster.yunikorn()?.config_json().await?)?;
        for (what, access) in [("the output", &written), ("the scheduler", &running)] {
            let (more, less) = (access.without(&kept), required.without(access));
            ensure!(
                more.0.is_empty() && less.0.is_empty(),
                "{what} gives too much: [{more}], and does not give: [{less}].\nGranted is: {kept}\nIt gives: {access}"
            );
        }
        let policy = output.data.as_ref().and_then(|data| data.get(POLICY_KEY)).cloned();
        let wanted = self.state().policy.as_ref().map(|users| users.join(","));
        ensure!(policy == wanted, "{POLICY_KEY} is {policy:?} and should be {wanted:?}");
        let objects = self.objects.list(&ListParams::default()).await?.items;
        ensure!(objects.len() == known.len(), "{} objects instead of {}", objects.len(), known.len());
        for object in &objects {
            let name = object.metadata.name.as_deref().unwrap_or_default();
            let known = known.get(name).with_context(|| format!("an object {name}"))?;
            let ready = condition(object, "Ready").cloned().unwrap_or_default();
            let word = |field: &str| ready.get(field).and_then(Value::as_str).unwrap_or_default();
            let current = ready.get("observedGeneration").and_then(Value::as_i64) == Some(known.generation);
            let fits = match (known.valid(), word("reason")) {
                (None, reason) => reason == "Invalid" && word("status") == "False",
                (Some(spec), "Expired") => spec.has_ended(now()),
                (Some(spec), "AncestorAllowsEveryone") => kept.open_at(&spec.draft.queue),
                (Some(spec), reason) => {
                    reason == "Ready" && word("status") == "True" && !spec.has_ended(now())
                }
            };
            ensure!(fits && current, "{name} is {known:?}, and its condition Ready: {ready}");
        }
        if !kept.open_at("root") {
            let config = self.cluster.objects(Kind::YuniKornConfig)?.get("default").await?;
            let ready = condition(&config, "Ready").cloned().unwrap_or_default();
            ensure!(ready.get("status").is_some_and(|it| it == "True"), "the YuniKornConfig: {ready}");
        }
        Ok(())
    }

    /// Waits until nobody writes any more.
    async fn quiet(&self) -> Result<()> {
        let audit = self.cluster.audit()?;
        let mark = std::cell::Cell::new(audit.mark()?);
        let count = std::cell::Cell::new(0);
        eventually("the operator to write nothing any more", LONG, || async {
            let writes = audit.since(mark.get())?;
            let last = writes.iter().rfind(|write| {
                let ours = write.resource == "configmaps" || write.group == "queuewarden.dev";
                write.user == operator::USER && ours && !write.dry_run()
            });
            match last {
                None => count.set(count.get() + 1),
                Some(write) => {
                    count.set(0);
                    mark.set(audit.mark()?);
                    bail!("{write:?}");
                }
            }
            Ok((count.get() > QUIET).then_some(()))
        })
        .await
    }

    /// Submits two pods: the scheduler decides by the configuration that it reports.
    async fn submissions(&self, number: usize) -> Result<()> {
        let (required, kept) = {
            let shared = self.common.lock();
            (shared.model.required(now()), shared.model.kept(now()))
        };
        for (turn, queue) in
            ["root.prod", "root.dev", "root.team.batch", "root.team.adhoc"].iter().enumerate()
        {
            if turn % 2 != number % 2 {
                continue;
            }
            let user = USERS.iter().cycle().nth(number + turn).copied().unwrap_or_default();
            let allowed = self.cluster.submit(user, &["nobody"], queue).await?.is_allowed();
            let fits = if allowed { kept.admits(user, queue) } else { !required.admits(user, queue) };
            ensure!(fits, "{user} into {queue} is allowed: {allowed}.\nGranted is: {kept}");
        }
        Ok(())
    }

    /// Compares every version of the output since the last time.
    async fn versions(&self) -> Result<()> {
        let after = self.state().compared;
        let until =
            eventually("a revision", PATIENCE, || async { revision(&self.client).await.map(Some) }).await?;
        for version in versions(&self.client, after, until).await? {
            self.common.lock().model.explain(&version)?;
        }
        self.state().compared = until;
        Ok(())
    }
}
