//! The plan itself, step by step: what `YuniKorn` sees, the base, the objects, the text, the write, the statuses.

use std::sync::Arc;

use jiff::Timestamp;

use super::base::{self, Base};
use super::conditions::{Finding, Reason, Status, Type, merge, standing};
use super::delegation;
use super::environment::{Environment, Source, config_map};
use super::grants::{self, ByObject, Grants};
use super::loaded;
use super::mirror;
use super::output::{self, Decision, Question};
use super::policy::{self, Policies};
use super::readings::{Reading, Readings};
use super::render;
use super::report::{self, events};
use super::resolve::{self, Contribution, Resolved};
use super::running;
use super::snapshot::{ConfigMemory, ConfigSpec, Delegation, Entry, Meta, Mode, QueueAclEntry, Snapshot};
use super::{ConfigStatus, Event, ObjectStatus, Plan, QueueAclStatus, Subject, access_tests, attribution};
use crate::model::acl::Acl;
use crate::model::config::Config;
use crate::model::queue::QueuePath;
use crate::model::right::Right;

/// How often objects are refused because they cannot be written, before the base is: without them others may come to be written.
const MAX_ROUNDS: usize = 4;

/// Everything that was decided before anything is said.
pub(super) struct Decided<'a> {
    snapshot: &'a Snapshot,
    config: &'a Entry<ConfigSpec, ConfigMemory>,
    spec: &'a ConfigSpec,
    pub(super) env: Environment,
    pub(super) base: Finding,
    /// The base's queues, if it is in order.
    pub(super) base_tree: Option<Arc<Config>>,
    pub(super) objects: Vec<Resolved>,
    pub(super) policies: Policies,
    grants: Arc<Grants>,
    by_object: ByObject,
    pub(super) wanted: Option<Arc<Config>>,
    pub(super) output: Decision,
    loaded: Option<loaded::Answer>,
    /// When the text that the scheduler does not take is to be written again, where that is ours to do.
    reassert_at: Option<Timestamp>,
    mirror: (mirror::Changes, Option<Finding>),
}

/// Plans with a readable `YuniKornConfig`.
pub(super) fn plan(
    snapshot: &Snapshot,
    config: &Entry<ConfigSpec, ConfigMemory>,
    spec: &ConfigSpec,
    known: &mut Readings,
) -> Plan {
    decided(snapshot, config, spec, known).into_plan(known)
}

/// Decides everything, and says nothing yet.
pub(super) fn decided<'a>(
    snapshot: &'a Snapshot,
    config: &'a Entry<ConfigSpec, ConfigMemory>,
    spec: &'a ConfigSpec,
    known: &mut Readings,
) -> Decided<'a> {
    let env = Environment::of(snapshot, known);
    let mut base = base::resolve(snapshot, spec, &env, known);
    let tree = queues(base.as_ref(), &env);
    let mut objects = objects(snapshot, tree);
    let Agreed { grants, by_object, body } =
        agree(&mut objects, &snapshot.queue_acls, spec.delegation, tree.ok(), base.as_ref().ok(), known);
    let body = match body {
        Some(Ok(body)) => Some(body),
        Some(Err(finding)) => {
            base = Err(finding);
            None
        }
        None => None,
    };
    let policies = policy::resolve(snapshot);
    let loaded = spec.scheduler_url.as_ref().map(|_| {
        loaded::answer(&loaded::Question {
            expected: &env.checksum,
            hot_refresh: env.hot_refresh,
            observed: &snapshot.observed,
            now: snapshot.now,
        })
    });
    let reassert_at = loaded
        .as_ref()
        .and_then(|answer| answer.reassert_at)
        .filter(|_| spec.mode == Mode::Enforce && env.source == Source::Output);
    let output = output::decide(&Question {
        snapshot,
        spec,
        memory: config.in_force.as_ref(),
        env: &env,
        base: base.as_ref(),
        body: body.as_ref().map(|body| body.text.as_str()),
        policy: policies.keys.as_ref(),
        reassert: reassert_at.is_some_and(|due| due <= snapshot.now),
    });
    let (base, base_tree) = match base {
        Ok(base) => (base.finding, Some(base.tree)),
        Err(finding) => (finding, None),
    };
    let mirror = mirror::plan(snapshot, config, spec, &env, known);
    Decided {
        snapshot,
        config,
        spec,
        env,
        base,
        base_tree,
        objects,
        policies,
        grants,
        by_object,
        wanted: body.and_then(|body| body.tree.clone()),
        output,
        loaded,
        reassert_at,
        mirror,
    }
}

/// What all objects come to.
#[derive(Default)]
struct Agreed {
    grants: Arc<Grants>,
    by_object: ByObject,
    /// The base with the grants in it; the error is condition `BaseResolved`. `None` without a base.
    body: Option<Result<Arc<Reading>, Finding>>,
}

/// Joins the objects, and refuses those that do not count, or whose ACLs cannot be written where they belong: the others must not wait
/// for those.
fn agree(
    objects: &mut [Resolved],
    entries: &[Arc<QueueAclEntry>],
    delegation: Delegation,
    tree: Option<&Config>,
    base: Option<&Base>,
    known: &mut Readings,
) -> Agreed {
    let Some(tree) = tree else { return Agreed::default() };
    let mut round = |objects: &mut [Resolved]| {
        delegation::recheck(objects, entries, delegation, tree);
        let (grants, by_object) = grants::decide_by_object(&*objects, tree);
        let grants = Arc::new(grants);
        Agreed { body: rendered(base, &grants, known), grants, by_object }
    };
    let mut agreed = round(objects);
    for _ in 0..MAX_ROUNDS {
        let (Some(base), Some(Err(_))) = (base, &agreed.body) else { break };
        let refused = render::refused(base, &agreed.grants);
        if refused.is_empty() {
            break;
        }
        resolve::withdraw(objects, &refused);
        agreed = round(objects);
    }
    agreed
}

/// The queues to judge by: the base's, or what is live while the base is not in order. `YuniKorn`'s built-in default is neither.
fn queues<'a>(base: Result<&'a Base, &'a Finding>, env: &'a Environment) -> Result<&'a Config, &'a str> {
    let live = env.tree.as_deref().filter(|_| env.source != Source::BuiltIn);
    base.map(|base| &*base.tree).or_else(|finding| live.ok_or(finding.message.as_str()))
}

/// Resolves all objects, as far as there is something to judge them by.
fn objects(snapshot: &Snapshot, queues: Result<&Config, &str>) -> Vec<Resolved> {
    let dynamic = |partition: &str, queue: &QueuePath| {
        let live = &snapshot.observed.live_queues;
        live.get(partition).and_then(|queues| queues.get(queue.as_str())) == Some(&false)
    };
    let resolve = |entry: &Arc<QueueAclEntry>| match queues {
        Ok(tree) => resolve::resolve(entry, tree, snapshot.now, &dynamic),
        Err(why) => resolve::unjudged(entry, why),
    };
    snapshot.queue_acls.iter().map(resolve).collect()
}

/// The base with the grants in it; the error is condition `BaseResolved`.
fn rendered(
    base: Option<&Base>,
    grants: &Arc<Grants>,
    known: &mut Readings,
) -> Option<Result<Arc<Reading>, Finding>> {
    let base = base?;
    Some(render::body(base, grants, known).map_err(|diagnostic| {
        let message = format!("the ACLs cannot be rendered into {}: {diagnostic}", base.source);
        Finding::no(Type::BaseResolved, Reason::BaseInvalid, message)
    }))
}

impl Decided<'_> {
    /// Whom the base's own ACLs let in and the named object keeps out, which they do not do in `after`: queue, right and ACL.
    pub(super) fn returning(&self, object: &str, after: &Self) -> Vec<(&QueuePath, Right, Acl)> {
        let index = self.objects.iter().position(|resolved| resolved.name == object);
        let found = index.and_then(|index| Some((index, self.objects.get(index)?.contribution()?)));
        let Some((index, Contribution { partition, queue, .. })) = found else { return Vec::new() };
        let decided = self.by_object.decided(&self.grants, index).into_iter();
        let returning = decided.map(|(right, before)| {
            let after = after.grants.get(partition, queue, right);
            (
                queue,
                right,
                after.map_or_else(|| before.taken.clone(), |after| before.taken.lost(&after.taken)),
            )
        });
        returning.filter(|(.., acl)| !acl.is_nobody()).collect()
    }

    fn into_plan(self, known: &mut Readings) -> Plan {
        let mut events = Vec::new();
        let queue_acls = self.queue_acl_statuses(known, &mut events);
        let policies = self.policy_statuses(&mut events);
        let config = self.config_status(known, &mut events);
        let runs = self.env.runs.as_deref().map_err(String::as_str);
        let access_tests = access_tests::statuses(self.snapshot, runs, &mut events);
        let wake_at = self.wake_at();
        events.sort();
        let Decision { import, backup, write, rendered, .. } = self.output;
        Plan {
            import,
            backup,
            write,
            mirror: self.mirror.0,
            contributions: attribution::wanted(&self.objects),
            rendered,
            queue_acls: queue_acls.into_iter().collect(),
            policies: policies.into_iter().collect(),
            access_tests,
            config: Some(config),
            events,
            wake_at,
        }
    }

    fn status<S>(&self, meta: &Meta, findings: &[Finding], rest: S) -> ObjectStatus<S> {
        let conditions = merge(&meta.conditions, findings, meta.generation, self.snapshot.now);
        ObjectStatus { uid: meta.uid.clone(), conditions, rest }
    }

    fn target<'a>(&'a self, output: &'a str) -> report::Target<'a> {
        report::Target { mode: self.spec.mode, applied: &self.output.applied, output }
    }

    fn queue_acl_statuses(
        &self,
        known: &mut Readings,
        events: &mut Vec<Event>,
    ) -> Vec<(String, ObjectStatus<QueueAclStatus>)> {
        let text = self.snapshot.output.as_deref().and_then(|output| output.data.get(&self.env.key));
        let written = text.and_then(|text| known.of_live(text).tree.clone());
        let proven = self.proven(known);
        let name = config_map(self.spec, &self.spec.output_config_map);
        let facts = report::queue_acl::Facts {
            target: self.target(&name),
            env: &self.env,
            wanted: self.wanted.as_deref(),
            written: written.as_deref(),
            proven: proven.as_deref(),
            loaded: self.loaded.as_ref().map(|answer| &answer.finding),
        };
        let objects = self.snapshot.queue_acls.iter().zip(&self.objects).enumerate();
        objects
            .map(|(index, (entry, object))| {
                let decided = self.by_object.decided(&self.grants, index);
                let found = report::queue_acl::report(object, &decided, entry.in_force.as_ref(), &facts);
                let subject = Subject::QueueAcl(entry.meta.name.clone());
                events.extend(events::transitions(
                    &subject,
                    &entry.meta.conditions,
                    &found.findings,
                    events::OF_OBJECTS,
                ));
                let newly = found.status.in_force != entry.in_force && found.status.in_force.is_some();
                if let Some(taken) = found.taken.filter(|_| newly) {
                    events.push(events::event(&subject, true, events::ACCESS_REMOVED, &taken));
                }
                (entry.meta.name.clone(), self.status(&entry.meta, &found.findings, found.status))
            })
            .collect()
    }

    /// The queues of the text that the scheduler was last proven to run; read only when that is in doubt now.
    fn proven(&self, known: &mut Readings) -> Option<Arc<Config>> {
        let loaded = &self.loaded.as_ref()?.finding;
        if loaded.status == Status::True {
            return None;
        }
        let memory = self.config.in_force.as_ref().and_then(|memory| memory.loaded_hash.as_ref());
        // A scheduler that cannot be asked is taken to run what it was last seen to run.
        let unasked = loaded.status == Status::Unknown && memory == Some(&self.env.checksum);
        let text = if unasked { Some(&self.env.text) } else { self.snapshot.observed.loaded_text.as_ref() };
        known.of_live(text?).tree.clone()
    }

    fn policy_statuses(
        &self,
        events: &mut Vec<Event>,
    ) -> Vec<(String, ObjectStatus<Option<super::snapshot::AdmissionPolicySpec>>)> {
        let name = config_map(self.spec, &self.spec.output_config_map);
        let facts =
            report::policy::Facts { target: self.target(&name), output: self.snapshot.output.as_deref() };
        let objects = self.snapshot.policies.iter().zip(&self.policies.objects);
        objects
            .map(|(entry, object)| {
                let spec = entry.spec.as_ref().ok();
                let (findings, in_force) =
                    report::policy::report(object, spec, entry.in_force.as_ref(), &facts);
                let subject = Subject::AdmissionPolicy(entry.meta.name.clone());
                events.extend(events::transitions(
                    &subject,
                    &entry.meta.conditions,
                    &findings,
                    events::OF_OBJECTS,
                ));
                (entry.meta.name.clone(), self.status(&entry.meta, &findings, in_force))
            })
            .collect()
    }

    fn config_status(&self, known: &mut Readings, events: &mut Vec<Event>) -> ObjectStatus<ConfigStatus> {
        let meta = &self.config.meta;
        let key_written =
            self.snapshot.output.as_deref().is_some_and(|output| output.data.contains_key(&self.env.key));
        let fail_open = report::config::fail_open(&self.env, key_written).or_else(|| self.still_open(known));
        let loaded = self.loaded.as_ref().map(|answer| answer.finding.clone());
        let mirrored = self.mirror.1.clone().map(|finding| (finding, self.spec.rbac_mirror));
        let applied = Some(&self.output.applied);
        let written = applied.filter(|finding| !matches!(finding.reason, Reason::Applied | Reason::Pending));
        let findings = report::config::findings(
            self.base.clone(),
            written
                .cloned()
                .or_else(|| self.policies.not_found())
                .unwrap_or_else(|| self.output.applied.clone()),
            loaded,
            mirrored,
            fail_open,
        );
        let subject = Subject::Config(meta.name.clone());
        events.extend(events::transitions(&subject, &meta.conditions, &findings, events::OF_CONFIG));
        events.extend(events::closed(&subject, &meta.conditions, &findings));
        let memory = self.config.in_force.as_ref();
        let rest = ConfigStatus {
            admission_policy: self.policies.remembered(memory),
            ..report::config::status(self.snapshot, self.spec, memory, &self.env)
        };
        let counted = memory.and_then(|memory| memory.admission_policy.as_deref());
        let counts = rest.admission_policy.as_deref();
        let named = self.spec.admission_policy.as_deref();
        events.extend(events::policy_changed(&subject, counted, counts, named));
        self.status(meta, &findings, rest)
    }

    /// Condition `FailOpen` while the text is closed and the scheduler has not taken it. Where nobody knows what it runs instead, it is as
    /// open as it was.
    fn still_open(&self, known: &mut Readings) -> Option<Finding> {
        let loaded = self.loaded.as_ref().filter(|answer| answer.finding.status != Status::True)?;
        match self.proven(known) {
            Some(proven) => report::config::runs_open(&proven, &loaded.finding),
            None => standing(&self.config.meta.conditions, Type::FailOpen)
                .map(|was| report::config::maybe_open(&was, &loaded.finding)),
        }
    }

    /// The next moment at which the same snapshot would give another plan.
    fn wake_at(&self) -> Option<Timestamp> {
        let now = self.snapshot.now;
        let specs = self.snapshot.queue_acls.iter().filter_map(|entry| entry.spec.as_ref().ok());
        let windows = specs.flat_map(|spec| [spec.not_before, spec.expires_at]).flatten();
        let kept = self.objects.iter().filter_map(|object| object.kept.as_ref()?.expires_at);
        let patience = self
            .snapshot
            .observed
            .pending_since
            .filter(|_| self.loaded.as_ref().is_some_and(|answer| answer.reassert_at.is_some()))
            .and_then(|since| since.checked_add(loaded::PATIENCE).ok());
        let loading = self.snapshot.observed.pending_since.filter(|_| !self.snapshot.access_tests.is_empty());
        let loading = loading.and_then(|since| since.checked_add(running::LOADING).ok());
        windows
            .chain(kept)
            .chain(self.reassert_at)
            .chain(patience)
            .chain(loading)
            .chain(self.output.wake_at)
            .filter(|at| *at > now)
            .min()
    }
}
