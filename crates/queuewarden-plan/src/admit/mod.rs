//! Reviews a change to one of our objects before it is stored: why it is refused, or what it will do.
//!
//! A change is refused if it is wrong regardless of the rest of the configuration, or if its writer is not
//! allowed to make it. Everything else is accepted with warnings: an object may be created before its queue,
//! and it must be possible to repair a broken cluster. Nothing here is the only protection, because each plan
//! evaluates every object again.

pub mod config_map;
mod queue_acl;

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::access_tests;
use crate::conditions::{Finding, Reason, Status};
use crate::effective::ParseCache;
use crate::grants::{Keys, attribution, joined, policy};
use crate::plan::evaluate;
use crate::snapshot::{
    AccessTestEntry, AdmissionPolicySpec, ConfigEntry, Entry, PolicyEntry, QueueAclEntry, Snapshot,
};
use crate::time::{Course, Later, unknown};
use crate::write::decide::Evaluation;
use go_compat::diag::{Diagnostic, cut};
use yunikorn::Identity;
use yunikorn_access::diff::{Direction, Timeline, between_for, impact};
use yunikorn_access::user_info;

pub use crate::grants::delegation::Promise;

/// Most warnings of one answer.
const MAX_WARNINGS: usize = 8;
/// Maximum length of a warning or refusal, in characters. The API server truncates warnings of more than 4096
/// bytes in total (apiserver `pkg/endpoints/filters/warning.go`).
const MAX_LENGTH: usize = 480;

/// The clause of an accepted change.
const ACCEPTED: &str = "none";
/// The clause of a change that is wrong for every writer.
const INVALID: &str = "invalid";
/// The clause of a change that its writer is not allowed to make.
const DELEGATION: &str = "delegation";
/// The clause of a change that exceeds the limits together with changes that may not be stored yet.
pub const CONCURRENT: &str = "concurrent";
/// The clause of a change that makes a blocking `QueueAccessTest` fail.
const ACCESS_TEST: &str = "access_test";
/// The clause of a change that no scheduler would run.
const ACTIVATION: &str = "activation";

/// A `QueueAcl` as the plan sees it.
pub type QueueAcl = Arc<QueueAclEntry>;

/// The old and the new version of an object; at least one of them is present.
#[derive(Debug, Clone)]
pub struct Versions<T> {
    /// `oldObject`; absent when it is created.
    pub old: Option<T>,
    /// `object`; absent when it is deleted.
    pub new: Option<T>,
}

/// A change of one object.
#[derive(Debug, Clone)]
pub enum Change {
    /// A `QueueAcl`.
    QueueAcl(Versions<QueueAcl>),
    /// An `AdmissionPolicy`.
    AdmissionPolicy(Box<Versions<PolicyEntry>>),
    /// A `YuniKornConfig`.
    YuniKornConfig(Box<Versions<ConfigEntry>>),
    /// A `QueueAccessTest`.
    QueueAccessTest(Box<Versions<AccessTestEntry>>),
}

impl Change {
    fn keeps_spec(&self) -> bool {
        match self {
            Self::QueueAcl(versions) => keeps_spec(versions),
            Self::AdmissionPolicy(versions) => keeps_spec(versions),
            Self::YuniKornConfig(versions) => keeps_spec(versions),
            Self::QueueAccessTest(versions) => keeps_spec(versions),
        }
    }
}

/// Returns whether the change uses more of the storage that delegates have a limit on.
fn grows(Versions { old, new }: &Versions<QueueAcl>) -> bool {
    let stored = |entry: &Option<QueueAcl>| entry.as_ref().map_or(0, |entry| entry.meta.stored);
    stored(old) < stored(new)
}

fn keeps_spec<E: Borrow<Entry<S, M>>, S: PartialEq, M>(versions: &Versions<E>) -> bool {
    let specs = versions.old.as_ref().zip(versions.new.as_ref());
    specs.is_some_and(|(old, new)| old.borrow().spec == new.borrow().spec)
}

/// A change, and its writer.
#[derive(Debug, Clone)]
pub struct Review {
    /// The writer, as the API server knows them.
    pub by: Identity,
    /// True if they may write objects of queues that they do not administer, because Kubernetes allows them
    /// to `escalate` `queueacls`.
    pub may_escalate: bool,
    /// The change that they make.
    pub change: Change,
    /// The promises of recently accepted changes ([`Response::promise`]), as long as the changes may be
    /// missing in the snapshot.
    pub promised: Vec<Promise>,
}

/// The answer to a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The rule that decided, as one of a few words for use as a metrics label.
    pub clause: &'static str,
    /// The reason why it is refused; `None` if it is accepted.
    pub refusal: Option<String>,
    /// Warnings, which kubectl prints.
    pub warnings: Vec<String>,
    /// The space that a delegate's accepted change takes.
    pub promise: Option<Promise>,
}

/// Accepts without warnings.
impl Default for Response {
    fn default() -> Self {
        Self { clause: ACCEPTED, refusal: None, warnings: Vec::new(), promise: None }
    }
}

impl Response {
    fn refused(clause: &'static str, why: impl Into<String>) -> Self {
        Self { clause, refusal: Some(one_line(&why.into())), ..Self::default() }
    }

    /// Refuses because of all these findings.
    fn wrong<'a>(findings: impl IntoIterator<Item = &'a Diagnostic>) -> Self {
        Self::refused(INVALID, joined(findings))
    }

    /// Accepts the change with these warnings; the first ones are always shown.
    fn warned(warnings: &[String]) -> Self {
        let mut warnings: Vec<_> = warnings.iter().map(|text| one_line(text)).collect();
        let more = warnings.len().saturating_sub(MAX_WARNINGS);
        warnings.truncate(MAX_WARNINGS);
        if more > 0 {
            warnings.push(format!("and {more} more"));
        }
        Self { warnings, ..Self::default() }
    }
}

/// Returns one line of limited length, because a warning is sent in an HTTP header.
fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    cut(&line, MAX_LENGTH).into_owned()
}

/// Returns whether the answer to a change of this kind depends on [`Review::may_escalate`].
pub fn depends_on_who(kind: &str) -> bool {
    kind == "QueueAcl"
}

/// Reviews a change. `snapshot` is the current state.
pub fn admit(snapshot: &Snapshot, review: &Review) -> Response {
    if let (Change::QueueAcl(versions), false) = (&review.change, review.may_escalate)
        && let Err(why) = queue_acl::permit(snapshot, versions, &review.by)
    {
        return Response::refused(DELEGATION, why);
    }
    let takes_more = match &review.change {
        Change::QueueAcl(versions) => !review.may_escalate && grows(versions),
        _ => false,
    };
    if review.change.keeps_spec() && !takes_more {
        // Only metadata such as labels changed, so any error existed before.
        return Response::default();
    }
    match &review.change {
        Change::QueueAcl(versions) => {
            queue_acl::admit(snapshot, versions, (!review.may_escalate).then_some(&review.promised))
        }
        Change::AdmissionPolicy(versions) => admission_policy(snapshot, versions),
        Change::YuniKornConfig(versions) => yunikorn_config(snapshot, versions),
        Change::QueueAccessTest(versions) => queue_access_test(snapshot, versions),
    }
}

/// Reviews a change to a test. A failing test may be written, because that is how an intended change begins.
fn queue_access_test(snapshot: &Snapshot, versions: &Versions<AccessTestEntry>) -> Response {
    let spec = match versions.new.as_ref().map(|new| &new.spec) {
        None => return Response::default(),
        Some(Err(faults)) => return Response::wrong(faults),
        Some(Ok(spec)) => spec,
    };
    let is = evaluate(snapshot, &mut ParseCache::new(snapshot.version()));
    let Some(config) = is.as_ref().and_then(Evaluation::queues) else { return Response::default() };
    let trouble = access_tests::trouble(&spec.expectations, config, snapshot.version());
    Response::warned(trouble.as_slice())
}

fn admission_policy(snapshot: &Snapshot, versions: &Versions<PolicyEntry>) -> Response {
    let Versions { old, new } = versions;
    let mut after = snapshot.clone();
    put(&mut after.policies, old.as_ref(), new.as_ref());
    let is = policy::resolve(&after);
    let mut warnings = Vec::new();
    if let Some(new) = new {
        let Some(found) = is.objects.iter().find(|policy| *policy.name == *new.meta.name) else {
            return Response::default();
        };
        match &found.outcome {
            Err(refusal) if refusal.reason == Reason::Invalid => {
                return Response::refused(INVALID, refusal.message.clone());
            }
            Err(refusal) => warnings.push(format!("{}: {}", refusal.reason, refusal.message)),
            Ok(_) => {
                let shared = new.spec.as_ref().ok().and_then(|spec| policy::shared_application(&after, spec));
                let shared = shared.as_ref().map(|(_, warning)| warning);
                warnings.extend(found.warnings.iter().chain(shared).map(ToString::to_string));
            }
        }
    }
    warnings.extend(policies_changed(snapshot, &after));
    Response::warned(&warnings)
}

/// Describes the changes to the policy in effect.
fn policies_changed(snapshot: &Snapshot, after: &Snapshot) -> Vec<String> {
    let (was, is) = (policy::resolve(snapshot), policy::resolve(after));
    let mut warnings = Vec::new();
    if let (Some(was), Some(is)) = (&was.counting, &is.counting)
        && was != is
    {
        warnings.push(format!("AdmissionPolicy `{is}` takes effect instead of `{was}`"));
    }
    warnings.extend(keys_changed(&was.keys.unwrap_or_default(), &is.keys.unwrap_or_default()));
    let in_force = |snapshot| policy::in_force(snapshot).cloned().unwrap_or_default();
    warnings.extend(endpoints_changed(&in_force(snapshot), &in_force(after)));
    warnings
}

/// Describes changes to the written keys.
fn keys_changed(was: &Keys, is: &Keys) -> Vec<String> {
    let all: BTreeSet<_> = was.keys().chain(is.keys()).copied().collect();
    let changed = all.into_iter().filter(|key| was.get(key) != is.get(key));
    let described = changed.map(|key| match is.get(key) {
        Some(text) => format!("sets {key} to {text:?}"),
        None => format!(
            "no longer sets {key}, so YuniKorn's default or the value in another ConfigMap \
                         applies"
        ),
    });
    described.collect()
}

/// Describes changes to the webhooks for workloads and `user.info`.
fn endpoints_changed(was: &AdmissionPolicySpec, is: &AdmissionPolicySpec) -> Vec<String> {
    let submission = |spec: &AdmissionPolicySpec| spec.submission.unwrap_or_default();
    let user_info = |spec: &AdmissionPolicySpec| spec.user_info.clone().unwrap_or_default();
    let mut changes = Vec::new();
    if submission(was) != submission(is) {
        changes.push(format!("changes submission from {:?} to {:?}", submission(was), submission(is)));
    }
    if user_info(was) != user_info(is) {
        let user_info::Settings { mode, profile, templates, operators } = user_info(is);
        let (templates, operators) = (templates.len(), operators.len());
        changes.push(format!(
            "changes userInfo to mode {mode:?}, profile {profile:?}, templates: {templates}, operators: {operators}"
        ));
    }
    changes
}

fn yunikorn_config(snapshot: &Snapshot, versions: &Versions<ConfigEntry>) -> Response {
    let Some(new) = &versions.new else {
        return Response::warned(&[
            "nothing is managed any more: the live configuration stays as it is, and QueueAcls no longer \
             change it"
                .to_owned(),
        ]);
    };
    if let Err(faults) = &new.spec {
        return Response::wrong(faults);
    }
    let mut after = snapshot.clone();
    after.config = Some(new.clone());
    let same_maps = snapshot.spec().zip(after.spec()).is_some_and(|(old, new)| {
        (&old.namespace, &old.base_config_map, &old.output_config_map)
            == (&new.namespace, &new.base_config_map, &new.output_config_map)
    });
    // Other ConfigMaps have not been read yet, so their content is unknown here.
    if !same_maps {
        return Response::default();
    }
    let cache = &mut ParseCache::new(snapshot.version());
    let (Some(was), Some(is)) = (evaluate(snapshot, cache), evaluate(&after, cache)) else {
        return Response::default();
    };
    let mut warnings = vec![access_changed((snapshot, Some(&was)), (&after, &is))];
    warnings.extend(policies_changed(snapshot, &after));
    warnings.extend(
        is.context
            .resolved
            .policies
            .not_found()
            .map(|Finding { reason, message, .. }| format!("{reason}: {message}")),
    );
    warnings.extend(obstacles(&is));
    Response::warned(&warnings)
}

/// Returns the conditions that prevent anything from being written.
fn obstacles(decided: &Evaluation<'_>) -> Vec<String> {
    let troubles = [decided.base(), &decided.output.applied].into_iter();
    let troubles =
        troubles.filter(|finding| finding.status != Status::True && finding.reason != Reason::Pending);
    troubles
        .map(|Finding { reason, message, .. }| format!("YuniKornConfig/default is {reason}: {message}"))
        .collect()
}

/// Describes in one line the changes of access between two snapshots, now and at all later times. Each
/// snapshot comes with its decisions.
fn access_changed(
    (before, was): (&Snapshot, Option<&Evaluation<'_>>),
    (after, is): (&Snapshot, &Evaluation<'_>),
) -> String {
    let now =
        |decided: &Evaluation<'_>| attribution::trees(decided.queues(), &decided.context.resolved.aliased);
    let (was_now, is_now) = (was.map(now).unwrap_or_default(), now(is));
    let course = Course::new(was.map(|_| before), Some(after));
    let unknown = course.unknown_from.map(|from| format!("; {}", unknown(from)));
    let [old, new] =
        [course.old, course.new].map(|later| later.into_iter().map(Later::into_step).collect::<Vec<_>>());
    let old = Timeline { now: &was_now, later: &old };
    let changes = between_for(old, Timeline { now: &is_now, later: &new }, None);
    impact(&changes, Direction::Gains) + &unknown.unwrap_or_default()
}

/// Replaces the old version with the new one.
fn put<E: Borrow<Entry<S, M>> + Clone, S, M>(entries: &mut Vec<E>, old: Option<&E>, new: Option<&E>) {
    let name = new.or(old).map(|entry| entry.borrow().meta.name.clone()).unwrap_or_default();
    entries.retain(|entry| entry.borrow().meta.name != name);
    entries.extend(new.cloned());
}
