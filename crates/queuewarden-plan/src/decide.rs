//! Makes the plan itself, step by step: the text that `YuniKorn` reads, the base, the objects, the new text,
//! the write, the statuses.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::conditions::{self, Finding, Reason, Status, Type, current};
use crate::effective::acl::AclDecisions;
use crate::effective::base::{self, Base};
use crate::effective::claim::KeyClaim;
use crate::effective::config::{EffectiveConfig, TextSource, missing_partition};
use crate::effective::loaded::{self, SchedulerQueues};
use crate::effective::parse_cache::{ParseCache, ParsedConfig};
use crate::effective::scheduler;
use crate::grants::attribution::Attribution;
use crate::grants::combine::{self, ByObject};
use crate::grants::contribution::{Contribution, Resolved};
use crate::grants::record::{self, InForceRecord};
use crate::grants::{attribution, delegation, policy, render, resolve};
use crate::object::ResourceKind;
use crate::plan::Plan;
use crate::planted::{PlantedFault, is_planted};
use crate::snapshot::{
    ConfigEntry, ConfigStatus, Delegation, Meta, Mode, QueueAclEntry, Snapshot, YUNIKORN_DEFAULTS, config_map,
};
use crate::status::{self, AdmissionPolicyStatus, Event, ObjectStatus, QueueAclStatus, events};
use crate::write::context::WriteContext;
use crate::write::decide::WriteDecision;
use crate::write::{self, Write, context, size};
use crate::{access_tests, rbac_mirror, waiting};
use yunikorn::admission;
use yunikorn::config::Config;
use yunikorn::queue::QueuePath;
use yunikorn::right::Right;
use yunikorn_access::alias::Aliased;
use yunikorn_access::decide::in_words;

/// The most rounds in which objects are refused because their ACLs cannot be written, before the base is
/// refused. Without the refused objects, others may become writable.
const MAX_ROUNDS: usize = 4;

/// The most objects that are named for opening a root queue.
const MAX_OPENING: usize = 5;

/// Everything that was decided, before any status is made of it.
pub(super) struct Evaluation<'a> {
    config: &'a ConfigEntry,
    pub(super) inputs: WriteContext<'a>,
    grants: Arc<AclDecisions>,
    by_object: ByObject,
    pub(super) output: WriteDecision,
    loaded: loaded::LoadedCondition,
    /// True if there are queues that the objects were resolved against.
    has_queues: bool,
    /// Condition `Loaded` as objects see it, where it differs.
    uncertain: Option<Finding>,
    /// The text that the scheduler runs.
    runs: SchedulerQueues,
    /// The reason why pods get no aliases.
    pub(super) no_aliases: Option<String>,
    /// The names of the objects by their aliases.
    pub(super) aliased: Arc<Aliased>,
    /// The time to write the text again because the scheduler does not load it, where that is our task.
    reassert_at: Option<Timestamp>,
    mirror: (rbac_mirror::MirrorChanges, Option<Finding>),
}

/// Decides everything, without making statuses yet; `None` without a `YuniKornConfig` that can be read.
pub(super) fn evaluate<'a>(snapshot: &'a Snapshot, cache: &mut ParseCache) -> Option<Evaluation<'a>> {
    let config = snapshot.config.as_ref()?;
    let spec = config.spec.as_ref().ok()?;
    let env = EffectiveConfig::new(snapshot, cache);
    let mut base = base::resolve(snapshot, spec, &env, cache);
    let usable = base.as_ref().is_ok_and(|base| missing_partition(&base.tree, &env).is_none());
    let last = if usable { None } else { base::last(snapshot, cache) };
    let from = last.or_else(|| base.as_ref().ok().cloned());
    let tree = queues(from.as_ref(), base.as_ref(), &env);
    let has_queues = tree.is_ok();
    let mut read = |text: Option<&String>| text.map(|text| cache.parse_live(text));
    let current = read(snapshot.output_text(&env.key));
    let written = snapshot.observed.written.as_ref().filter(|written| written.key == env.key);
    let written = read(written.map(|written| &written.text));
    let proven = read(snapshot.observed.loaded_text.as_ref());
    let ours = current.as_deref().filter(|_| snapshot.claim(&env.key) == KeyClaim::Ours);
    // The text that this process wrote last; after another process wrote it, the one that is there now.
    let recorded = written.as_deref().or(ours).and_then(|text| text.tree.as_deref());
    let record = InForceRecord { output: snapshot.output.as_deref(), tree: recorded };
    let no_aliases = policy::aliases(snapshot).err();
    let mut objects = objects(snapshot, tree, &record, no_aliases.as_deref());
    let tree_gone = BTreeMap::from([(env.key.clone(), None)]);
    let used = from.as_ref().map_or(0, |base| base.read.text.len());
    let used = used.saturating_add(size::size_after(snapshot.output.as_deref(), &tree_gone));
    let room = size::MAX_BYTES.saturating_sub(used);
    let Agreed { grants, by_object, body } =
        agree(&mut objects, spec.delegation, tree.ok(), from.as_ref(), room, cache);
    let (body, desired) = match (body, &from) {
        (Some(Ok(body)), _) => (Some(Arc::clone(&body)), body.tree.clone()),
        (Some(Err(finding)), Some(from)) => {
            base = Err(finding);
            (None, Some(Arc::new(render::tree(from, &grants))))
        }
        _ => (None, None),
    };
    let policies = policy::resolve(snapshot);
    let ignored = loaded::ignored(snapshot, &env);
    let has_url = spec.scheduler.is_some();
    let loaded = loaded::loaded(has_url, &env.checksum, ignored, &snapshot.observed, snapshot.now);
    let mut runs = loaded::runs(snapshot, &env, &loaded.finding, cache);
    let mut uncertain = None;
    if spec.mode == Mode::Enforce && context::is_fenced(snapshot) && matches!(runs, SchedulerQueues::InForce)
    {
        let message =
            "another write of the output may still be accepted, so it is not certain which text is in force";
        uncertain = Some(Finding::unknown(Type::Loaded, Reason::LoadPending, message));
        runs = env
            .tree
            .clone()
            .map_or(SchedulerQueues::Unknown, |tree| SchedulerQueues::Other { tree, reported: false });
    }
    let reassert_at =
        loaded.reassert_at.filter(|_| spec.mode == Mode::Enforce && env.source == TextSource::Output);
    let inputs = WriteContext {
        snapshot,
        spec,
        env,
        base,
        from,
        body,
        desired,
        current,
        written,
        proven,
        objects,
        policies,
        reassert: reassert_at.is_some_and(|due| due <= snapshot.now),
    };
    let output = write::decide::decide(&inputs, cache);
    let aliased = Arc::new(snapshot.aliased());
    let mirror = rbac_mirror::plan(snapshot, config, spec, &inputs.env, &aliased, cache);
    Some(Evaluation {
        config,
        inputs,
        grants,
        by_object,
        output,
        loaded,
        has_queues,
        uncertain,
        runs,
        no_aliases,
        aliased,
        reassert_at,
        mirror,
    })
}

/// The joint result of all objects.
#[derive(Default)]
struct Agreed {
    grants: Arc<AclDecisions>,
    by_object: ByObject,
    /// The base with the grants in it; the error is condition `BaseResolved`. `None` without a base.
    body: Option<Result<Arc<ParsedConfig>, Finding>>,
}

/// Joins the objects, and refuses those that do not count, or whose ACLs cannot be written into the base, so
/// that they do not delay the others. Without any object, `room` bytes of the ConfigMap are left.
fn agree(
    objects: &mut [Resolved<'_>],
    delegation: Delegation,
    tree: Option<&Config>,
    base: Option<&Base>,
    room: usize,
    cache: &mut ParseCache,
) -> Agreed {
    let Some(tree) = tree else { return Agreed::default() };
    let mut round = |objects: &mut [Resolved<'_>]| {
        delegation::recheck(objects, delegation, tree, room);
        let (grants, by_object) = combine::decide_by_object(&*objects, tree);
        let grants = Arc::new(grants);
        let rendered = |base: &Base| {
            render::body(base, &grants, cache).map_err(|diagnostic| {
                let found = base::located(&diagnostic, &base.read.text, base.above);
                let message = format!("the ACLs cannot be rendered into {}: {found}", base.source);
                Finding::no(Type::BaseResolved, Reason::BaseInvalid, message)
            })
        };
        Agreed { body: base.map(rendered), grants, by_object }
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

/// Returns the queues that objects are resolved against: the base's, or the live ones where no base is known.
/// `YuniKorn`'s built-in default is neither.
fn queues<'a>(
    from: Option<&'a Base>,
    base: Result<&'a Base, &'a Finding>,
    env: &'a EffectiveConfig,
) -> Result<&'a Config, &'a str> {
    let live = env.tree.as_deref().filter(|_| env.source != TextSource::BuiltIn);
    let tree = from.map(|base| &*base.tree).or(live);
    tree.ok_or_else(|| base.err().map_or("", |finding| &*finding.message))
}

/// Resolves all objects, as far as there are queues to resolve them against.
fn objects<'a>(
    snapshot: &'a Snapshot,
    queues: Result<&Config, &str>,
    record: &InForceRecord<'_>,
    no_aliases: Option<&str>,
) -> Vec<Resolved<'a>> {
    let dynamic = |partition: &str, queue: &QueuePath| {
        let live = &snapshot.observed.live_queues;
        live.get(partition).and_then(|queues| queues.get(queue.as_str())) == Some(&false)
    };
    let resolve = |entry: &'a Arc<QueueAclEntry>| match queues {
        Ok(tree) => resolve::resolve(entry, tree, record, snapshot.now, &dynamic, no_aliases),
        Err(why) => resolve::without_queues(entry, why),
    };
    snapshot.queue_acls.iter().map(resolve).collect()
}

/// Returns whether the object was not ready only because the scheduler was not known to run it.
fn is_unconfirmed(meta: &Meta) -> bool {
    let held = |type_| conditions::find(&meta.conditions, type_).map(|was| was.status == Status::True);
    // All but `Loaded`.
    let own = [Type::Accepted, Type::Programmed, Type::Effective];
    own.into_iter().all(|type_| held(type_) == Some(true)) && held(Type::Ready) == Some(false)
}

impl Evaluation<'_> {
    /// Condition `BaseResolved`.
    pub(super) fn base(&self) -> &Finding {
        self.inputs.base.as_ref().map_or_else(|finding| finding, |base| &base.finding)
    }

    /// Returns the desired queues, or if nothing is desired the queues in force.
    pub(super) fn queues(&self) -> Option<&Config> {
        self.inputs.desired.as_deref().or(self.inputs.env.tree.as_deref())
    }

    /// Attributes the ACLs of the desired text to the objects.
    pub(super) fn contributions(&self) -> Arc<[Attribution]> {
        attribution::desired(&self.inputs.objects, &self.grants, &self.by_object)
    }

    /// Makes the plan, with all statuses.
    pub(super) fn into_plan(self) -> Plan {
        let mut events = Vec::new();
        let contributions = self.contributions();
        let queue_acls = self.queue_acl_statuses(&contributions, &mut events);
        let policies = self.policy_statuses(&mut events);
        let config = self.config_status(&contributions, &mut events);
        let runs = self.inputs.env.runs.as_deref().map_err(String::as_str);
        let access_tests = access_tests::statuses(self.inputs.snapshot, runs, &mut events);
        let wake_at = self.wake_at();
        events.sort();
        let WriteDecision { import, backup, write, rendered, full, .. } = self.output;
        let write = write.map(|write| Write { contributions: Arc::clone(&contributions), ..write });
        let base = self.inputs.base.as_ref().ok();
        let last_base = base.filter(|base| full && !base.is(self.inputs.snapshot.last_base.as_ref()));
        Plan {
            import,
            backup,
            write,
            last_base: last_base.map(Base::to_last),
            mirror: self.mirror.0,
            contributions,
            rendered,
            queue_acls,
            policies,
            access_tests,
            config: Some(config),
            events,
            wake_at,
        }
    }

    fn target<'a>(&'a self, output: &'a str) -> status::OutputTarget<'a> {
        let loaded = self.uncertain.as_ref().unwrap_or(&self.loaded.finding);
        status::OutputTarget { mode: self.inputs.spec.mode, applied: &self.output.applied, output, loaded }
    }

    fn queue_acl_statuses(
        &self,
        contributions: &[Attribution],
        events: &mut Vec<Event>,
    ) -> BTreeMap<Arc<str>, ObjectStatus<QueueAclStatus>> {
        let WriteContext { snapshot, spec, env, desired, objects, .. } = &self.inputs;
        let name = spec.output_name();
        // The grants of the objects alone count only where nothing can be rendered.
        let granted = match desired {
            Some(_) => AclDecisions::default(),
            None => combine::decide(objects, &Config::default()),
        };
        let planted = is_planted(PlantedFault::DataAlone).then(|| EffectiveConfig {
            tree: self.inputs.current.as_ref().and_then(|current| current.tree.clone()),
            source: TextSource::Output,
            shadow: None,
            ..env.clone()
        });
        let (target, source) = (self.target(&name), self.source(&name));
        let facts = status::queue_acl::AclFacts {
            now: snapshot.now,
            target,
            env: planted.as_ref().unwrap_or(env),
            source: &source,
            programmed: status::programmed(&source, true),
            effective: status::effective(),
            ready: target.ready(),
            hidden: env.shadow.as_ref().and_then(|_| self.inputs.current_tree()),
            desired: desired.as_deref(),
            granted: &granted,
            by_base: self.inputs.from.is_some(),
            runs: &self.runs,
            no_aliases: self.no_aliases.as_deref().unwrap_or_default(),
            aliased: &self.aliased,
        };
        let objects = objects.iter().enumerate();
        objects
            .map(|(index, object)| {
                let entry = object.entry;
                let noted = record::noted(snapshot.output.as_deref(), entry).and_then(Option::as_ref);
                let decided = self.by_object.decisions(&self.grants, index);
                let found = if self.has_queues {
                    status::queue_acl::report(object, &decided, noted, &facts)
                } else {
                    let why = "there is no queue tree to write it into";
                    status::queue_acl::waiting(object, why, &self.aliased)
                };
                let (meta, findings) = (&entry.meta, &found.findings);
                let about = || ResourceKind::QueueAcl.object(meta.name.clone());
                let newly = found.status.in_force != entry.in_force && found.status.in_force.is_some();
                if let (true, Some(before), Some(now)) = (newly, &entry.in_force, &found.status.in_force) {
                    let changed = status::queue_acl::changed_in_words(before, now, &self.aliased);
                    events.push(events::event(&about(), false, events::ACCESS_CHANGED, &changed));
                }
                if found.takes && (newly || is_unconfirmed(meta)) {
                    let taken = status::queue_acl::taken_in_words(&decided, &self.aliased);
                    events.push(events::event(&about(), true, events::ACCESS_REMOVED, &taken));
                }
                if let (Some(end), Some(contribution)) = (found.expiring, object.contribution()) {
                    let note = format!(
                        "ends at {}: {}",
                        in_words(end),
                        self.ending(contribution, end, contributions)
                    );
                    events.push(events::event(&about(), false, events::EXPIRING, &note));
                }
                let status = ObjectStatus::new(meta, findings, found.status, snapshot.now);
                // Conditions that stay are shared. So it is for nearly all objects.
                if !Arc::ptr_eq(&status.conditions, &meta.conditions) {
                    events.extend(events::transitions(&about(), &meta.conditions, findings));
                }
                (meta.name.clone(), status)
            })
            .collect()
    }

    /// Returns the people who lose access when a contribution ends, in words.
    fn ending(&self, contribution: &Contribution, end: Timestamp, all: &[Attribution]) -> String {
        let Contribution { partition, queue, .. } = contribution;
        let base = self.inputs.from.as_ref().map(|base| &*base.tree);
        let by_right = Right::ALL.map(|right| {
            let acl = contribution.grant(right)?;
            Some(acl.lost(&attribution::left(all, base, (partition, queue, right), end)))
        });
        let lost = Contribution { by_right, ..contribution.clone() };
        status::queue_acl::changed_in_words(&lost.in_force(), &lost.closing().in_force(), &self.aliased)
    }

    /// The text in force, as messages name it.
    fn source(&self, output: &str) -> String {
        match (self.inputs.env.source, &self.inputs.env.shadow) {
            (TextSource::OutputBinary, Some(shadow)) => format!("binaryData key `{shadow}` of {output}"),
            (TextSource::Output | TextSource::OutputBinary, _) => output.to_owned(),
            (TextSource::Defaults, _) => config_map(self.inputs.spec, YUNIKORN_DEFAULTS),
            (TextSource::BuiltIn, _) => "YuniKorn's built-in default".to_owned(),
        }
    }

    fn policy_statuses(
        &self,
        events: &mut Vec<Event>,
    ) -> BTreeMap<Arc<str>, ObjectStatus<AdmissionPolicyStatus>> {
        let WriteContext { snapshot, spec, env, policies, .. } = &self.inputs;
        let name = spec.output_name();
        let unset = self.unset_keys();
        let facts = status::policy::PolicyFacts { target: self.target(&name), env, spec, unset: &unset };
        let objects = snapshot.policies.iter().zip(&policies.objects);
        objects
            .map(|(entry, object)| {
                let meta = &entry.meta;
                let (findings, in_force) = status::policy::report(object, entry, &facts);
                let about = ResourceKind::AdmissionPolicy.object(meta.name.clone());
                events.extend(events::transitions(&about, &meta.conditions, &findings));
                let rest = AdmissionPolicyStatus { in_force };
                (meta.name.clone(), ObjectStatus::new(meta, &findings, rest, snapshot.now))
            })
            .collect()
    }

    /// Our keys in the output that no policy sets any more.
    fn unset_keys(&self) -> Vec<&'static str> {
        let set = self.inputs.policies.keys.as_ref();
        let unset = admission::KEYS.iter().filter(|key| set.is_none_or(|set| !set.contains_key(*key)));
        unset.copied().filter(|key| self.inputs.snapshot.claim(key) == KeyClaim::Ours).collect()
    }

    /// Condition `Applied`, which also reports that the named policy is missing.
    fn applied(&self) -> Finding {
        let applied = &self.output.applied;
        let missing = self.inputs.policies.not_found();
        missing
            .filter(|_| matches!(applied.reason, Reason::Applied | Reason::Pending))
            .unwrap_or_else(|| applied.clone())
    }

    fn config_status(
        &self,
        contributions: &[Attribution],
        events: &mut Vec<Event>,
    ) -> ObjectStatus<ConfigStatus> {
        let WriteContext { snapshot, spec, env, policies, .. } = &self.inputs;
        let meta = &self.config.meta;
        let key_written = snapshot.output_text(&env.key).is_some();
        let accepts_open = self.accepts_open();
        let opened_by = || self.opened_by(contributions);
        let fail_open = status::config::fail_open(env, key_written, accepts_open, opened_by);
        let fail_open = fail_open.unwrap_or_else(|| {
            let was = current(&meta.conditions, Type::FailOpen);
            status::config::runs_open(env, &self.runs, was.as_ref(), &self.loaded.finding)
        });
        let findings = status::config::findings(
            [self.base().clone(), self.applied(), self.loaded.finding.clone()],
            self.mirror.1.clone().map(|finding| (finding, spec.rbac_mirror)),
            fail_open,
            accepts_open,
            snapshot.observed.watch_failure.as_deref(),
        );
        let about = ResourceKind::YuniKornConfig.object(meta.name.clone());
        events.extend(events::transitions(&about, &meta.conditions, &findings));
        let memory = self.config.in_force.as_ref();
        let admission_policy = policies.remembered(memory);
        let rest = status::config::status(snapshot, spec, env, admission_policy);
        let counted = memory.and_then(|memory| memory.admission_policy.as_deref());
        let counts = rest.admission_policy.as_deref();
        let named = spec.admission_policy.as_deref();
        events.extend(events::policy_changed(&about, counted, counts, named));
        ObjectStatus::new(meta, &findings, rest, snapshot.now)
    }

    /// Returns what opens the root queue of the text in the output, and the way to close it.
    fn opened_by(&self, contributions: &[Attribution]) -> (String, String) {
        let WriteContext { snapshot, spec, env, .. } = &self.inputs;
        let base = config_map(spec, &spec.base_config_map);
        let objects: Vec<_> = attribution::opens_root(contributions).into_iter().take(MAX_OPENING).collect();
        let root = "the root queue's ACL is `*`";
        let meant = "if it is meant, set spec.acceptOpenRoot";
        if snapshot.claim(&env.key) != KeyClaim::Ours {
            let output = spec.output_name();
            (root.to_owned(), format!("close it in {output}, whose text is not queuewarden's"))
        } else if !objects.is_empty() {
            let names = format!("QueueAcl `{}` lets everyone in at `root`", objects.join("`, `"));
            (names, format!("grant less there; {meant}"))
        } else if self.base().reason == Reason::BuiltInDefault {
            let built_in = format!("there is no base, and in YuniKorn's built-in default {root}");
            (built_in, format!("write the queues into {base}"))
        } else {
            (root.to_owned(), format!("close it in the base, {base}, or with a QueueAcl for `root`; {meant}"))
        }
    }

    /// Returns whether the text in force may let everyone in at the root: it is the desired text, and
    /// somebody wrote that `*`.
    fn accepts_open(&self) -> bool {
        let by_object = || {
            self.grants.iter().any(|((_, queue, _), decided)| queue.is_root() && decided.acl.is_everyone())
        };
        self.inputs.spec.accept_open_root
            && self.inputs.env.source == TextSource::Output
            && self.output.applied.reason == Reason::Applied
            && (self.base().reason != Reason::BuiltInDefault || by_object())
    }

    /// The next moment at which the same snapshot would give another plan.
    fn wake_at(&self) -> Option<Timestamp> {
        let snapshot = self.inputs.snapshot;
        let observed = &snapshot.observed;
        let specs = snapshot.queue_acls.iter().filter_map(|entry| entry.spec.as_ref().ok());
        let windows = specs.flat_map(|spec| {
            let near = spec.expires_at.and_then(|end| end.checked_sub(status::queue_acl::NEAR).ok());
            [spec.not_before, near, spec.expires_at].into_iter().flatten()
        });
        let kept = self.inputs.objects.iter().filter_map(|object| object.last_valid.as_ref()?.expires_at);
        let patience = observed
            .pending_since
            .filter(|_| self.loaded.reassert_at.is_some())
            .and_then(|since| since.checked_add(loaded::PATIENCE).ok());
        // From then on the scheduler counts as running an unknown text, and no longer as loading one.
        let unseen = observed.loaded_text.is_some()
            && self.loaded.finding.reason == Reason::LoadPending
            && !observed.reports_loaded_text();
        let loading = observed.pending_since.filter(|_| unseen || !snapshot.access_tests.is_empty());
        let loading = loading.and_then(|since| since.checked_add(scheduler::LOADING).ok());
        windows
            .chain(kept)
            .chain(self.reassert_at)
            .chain(patience)
            .chain(loading)
            .chain(self.output.wake_at)
            .filter(|at| *at > snapshot.now)
            .min()
    }
}

/// Makes the plan.
pub fn plan(snapshot: &Snapshot) -> Plan {
    plan_again(snapshot, &mut ParseCache::new(snapshot.version()))
}

/// Makes the same plan for a caller that plans repeatedly: texts in the cache `cache` are not parsed again.
pub fn plan_again(snapshot: &Snapshot, cache: &mut ParseCache) -> Plan {
    cache.set_version(snapshot.version());
    let decided = evaluate(snapshot, cache);
    let plan = decided.map_or_else(|| waiting::plan(snapshot), Evaluation::into_plan);
    cache.forget_unused();
    plan
}
