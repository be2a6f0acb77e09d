//! Conditions and status of the `YuniKornConfig`.

use crate::conditions::{self, Finding, Reason, Status, Type};
use crate::effective::{EffectiveConfig, KeyClaim, ReadState, SchedulerQueues, TextSource, header};
use crate::grants::{Attribution, open_root, opens_root};
use crate::snapshot::{ConfigSpec, ConfigStatus, OutputRef, ResourceKind, Snapshot, config_map};
use crate::status::{Event, ObjectStatus, policy_changed, transitions};
use crate::write::Evaluation;
use yunikorn::config::keys::missing_queues;
use yunikorn::{Config, Right};

/// The most objects that are named for opening a root queue.
const MAX_OPENING: usize = 5;

/// Returns the status of the `YuniKornConfig`.
pub(crate) fn status_of(
    evaluation: &Evaluation<'_>,
    contributions: &[Attribution],
    events: &mut Vec<Event>,
) -> ObjectStatus<ConfigStatus> {
    let ReadState { snapshot, config, spec, env, loaded, runs, .. } = &evaluation.context.read;
    let policies = &evaluation.context.resolved.policies;
    let meta = &config.meta;
    let key_written = snapshot.output_text(&env.key).is_some();
    let accepts_open = accepts_open(evaluation);
    let opened_by = || opened_by(evaluation, contributions);
    let fail_open = fail_open(env, key_written, accepts_open, opened_by);
    let fail_open = fail_open.unwrap_or_else(|| {
        let was = conditions::current(&meta.conditions, Type::FailOpen);
        runs_open(env, runs, was.as_ref(), &loaded.finding)
    });
    let findings = findings(
        [evaluation.base().clone(), applied(evaluation), loaded.finding.clone()],
        evaluation.mirror.1.clone().map(|finding| (finding, spec.rbac_mirror)),
        fail_open,
        accepts_open,
        snapshot.observed.watch_failure.as_deref(),
    );
    let about = ResourceKind::YuniKornConfig.object(meta.name.clone());
    events.extend(transitions(&about, &meta.conditions, &findings));
    let memory = config.in_force.as_ref();
    let admission_policy = policies.remembered(memory);
    let rest = status(snapshot, spec, env, admission_policy);
    let counted = memory.and_then(|memory| memory.admission_policy.as_deref());
    let counts = rest.admission_policy.as_deref();
    let named = spec.admission_policy.as_deref();
    events.extend(policy_changed(&about, counted, counts, named));
    ObjectStatus::new(meta, &findings, rest, snapshot.now)
}

/// Condition `Applied`, which also reports that the named policy is missing.
fn applied(evaluation: &Evaluation<'_>) -> Finding {
    let applied = &evaluation.output.applied;
    let missing = evaluation.context.resolved.policies.not_found();
    missing
        .filter(|_| matches!(applied.reason, Reason::Applied | Reason::Pending))
        .unwrap_or_else(|| applied.clone())
}

/// Returns what opens the root queue of the text in the output, and the way to close it.
fn opened_by(evaluation: &Evaluation<'_>, contributions: &[Attribution]) -> (String, String) {
    let ReadState { snapshot, spec, env, .. } = &evaluation.context.read;
    let base = config_map(spec, &spec.base_config_map);
    let objects: Vec<_> = opens_root(contributions).into_iter().take(MAX_OPENING).collect();
    let root = "the root queue's ACL is `*`";
    let meant = "if it is meant, set spec.acceptOpenRoot";
    if snapshot.claim(&env.key) != KeyClaim::Ours {
        let output = spec.output_name();
        (root.to_owned(), format!("close it in {output}, whose text is not queuewarden's"))
    } else if !objects.is_empty() {
        let names = format!("QueueAcl `{}` lets everyone in at `root`", objects.join("`, `"));
        (names, format!("grant less there; {meant}"))
    } else if evaluation.base().reason == Reason::BuiltInDefault {
        let built_in = format!("there is no base, and in YuniKorn's built-in default {root}");
        (built_in, format!("write the queues into {base}"))
    } else {
        (root.to_owned(), format!("close it in the base, {base}, or with a QueueAcl for `root`; {meant}"))
    }
}

/// Returns whether the text in force may let everyone in at the root: it must be the desired text, and that
/// `*` must be written explicitly.
fn accepts_open(evaluation: &Evaluation<'_>) -> bool {
    let by_object = || {
        evaluation
            .context
            .combined
            .decisions
            .iter()
            .any(|((_, queue, _), decided)| queue.is_root() && decided.acl.is_everyone())
    };
    evaluation.context.read.spec.accept_open_root
        && evaluation.context.read.env.source == TextSource::Output
        && evaluation.output.applied.reason == Reason::Applied
        && (evaluation.base().reason != Reason::BuiltInDefault || by_object())
}

/// All conditions of the object: `chain` is `BaseResolved`, `Applied` and `Loaded`. `Mirrored` matters to
/// `Ready` only if there is to be a mirror, and `FailOpen` only if the root may not be open. Then it is the
/// reason of `Ready`, before everything else, because no other fact is worse.
pub(crate) fn findings(
    chain: [Finding; 3],
    mirrored: Option<(Finding, bool)>,
    fail_open: Finding,
    accepts_open: bool,
    watch_failure: Option<&str>,
) -> Vec<Finding> {
    let [base, applied, loaded] = &chain;
    let unverified = loaded.reason == Reason::NotVerified;
    let mirror = mirrored.as_ref().filter(|(_, to_be)| *to_be).map(|(finding, _)| finding);
    let open = Some(&fail_open).filter(|open| open.status == Status::True && !accepts_open);
    let open = open.map(|open| Finding { status: Status::False, ..open.clone() });
    let blind = watch_failure.map(|why| {
        let message = format!("a watch fails, so changes may have been missed: {why}");
        Finding::unknown(Type::Ready, Reason::WatchFailing, message)
    });
    let needed = [base, applied].into_iter().chain(Some(loaded).filter(|_| !unverified));
    let ready = Finding::summary(open.iter().chain(needed).chain(mirror).chain(&blind), || {
        if unverified {
            let message = format!("the ConfigMaps are in order; {}", loaded.message);
            return Finding::yes(Type::Ready, Reason::NotVerified, message);
        }
        Finding::yes(Type::Ready, Reason::Ready, "the scheduler's configuration is in order")
    });
    let mirrored = mirrored.map(|(finding, _)| finding);
    chain.into_iter().chain(mirrored).chain([fail_open, ready]).collect()
}

/// Returns condition `FailOpen` if the text in force lets everyone submit to, or administer, every queue of a
/// partition. `accepted` is true if that is intended; `opened_by` gives the cause in the output, and the
/// remedy.
pub(crate) fn fail_open(
    env: &EffectiveConfig,
    key_written: bool,
    accepted: bool,
    opened_by: impl FnOnce() -> (String, String),
) -> Option<Finding> {
    let open = open(env.tree.as_ref()?)?;
    let (reason, why) = match (&env.source, &env.shadow) {
        (TextSource::Output, _) => {
            let (cause, remedy) = opened_by();
            let why = if accepted {
                format!("{cause}, which spec.acceptOpenRoot accepts")
            } else {
                format!("{cause}; {remedy}")
            };
            (Reason::RootAllowsEveryone, why)
        }
        (_, Some(shadow)) => (
            Reason::ShadowedByBinaryData,
            format!("binaryData key `{shadow}` hides key `{}`; remove it", env.key),
        ),
        (TextSource::BuiltIn, _) if key_written => (
            Reason::RootAllowsEveryone,
            format!("key `{}` is empty, so YuniKorn runs its built-in default", env.key),
        ),
        _ if key_written => (Reason::RootAllowsEveryone, "the root queue's ACL is `*`".into()),
        (TextSource::Defaults, _) => (
            Reason::OutputMissing,
            format!(
                "the output has no key `{}`, and in yunikorn-defaults the root queue's ACL is `*`; close it there",
                env.key
            ),
        ),
        _ => (
            Reason::OutputMissing,
            format!(
                "no ConfigMap has a text in key `{}`, so YuniKorn runs its built-in default{}",
                env.key,
                meant(env)
            ),
        ),
    };
    Some(Finding::yes(Type::FailOpen, reason, format!("{open}: {why}")))
}

/// Returns what to do about a key that was likely meant to have the queues.
fn meant(env: &EffectiveConfig) -> String {
    let missing = missing_queues(&env.flat).filter(|missing| missing.origin.is_some());
    let help = missing.and_then(|missing| missing.diagnostic.help);
    help.map(|help| format!("; {help}")).unwrap_or_default()
}

/// Returns condition `FailOpen` according to the scheduler's running text, while the text in force is closed;
/// `was` is the previous condition.
pub(crate) fn runs_open(
    env: &EffectiveConfig,
    runs: &SchedulerQueues,
    was: Option<&Finding>,
    loaded: &Finding,
) -> Finding {
    if env.tree.is_none() {
        let message = "the configuration in force cannot be read";
        return Finding::unknown(Type::FailOpen, Reason::ConfigNotReady, message);
    }
    let why = &loaded.message;
    let other = match runs {
        SchedulerQueues::Other { tree, .. } => open(tree),
        SchedulerQueues::InForce | SchedulerQueues::Unknown => None,
    };
    if let Some(open) = other {
        let message = format!("{open}: the text is closed, and the scheduler does not run it: {why}");
        return Finding::yes(Type::FailOpen, Reason::RootAllowsEveryone, message);
    }
    match runs {
        SchedulerQueues::InForce | SchedulerQueues::Other { .. } => {
            let message = "the root queue of no partition lets everyone in";
            return Finding::no(Type::FailOpen, Reason::Closed, message);
        }
        SchedulerQueues::Unknown => {}
    }
    let message = format!("the text is closed, and it is not known whether the scheduler runs it: {why}");
    // If the root queue was open, it is treated as open until it is known to be closed.
    match was.filter(|was| was.status == Status::True) {
        Some(was) => Finding { message: message.into(), ..was.clone() },
        None => Finding::unknown(Type::FailOpen, loaded.reason, message),
    }
}

/// Returns what everyone may do, in words; `None` if the root queue is closed.
fn open(tree: &Config) -> Option<String> {
    let (partition, right) = open_root(tree)?;
    let what = match right {
        Right::Submit => "everyone may submit to every queue",
        Right::Admin => "everyone administers, and may submit to, every queue",
    };
    Some(format!("{what} of partition `{partition}`"))
}

/// Returns the rest of the status.
pub(crate) fn status(
    snapshot: &Snapshot,
    spec: &ConfigSpec,
    env: &EffectiveConfig,
    admission_policy: Option<String>,
) -> ConfigStatus {
    let text = snapshot.output_text(&env.key);
    let revision = text.and_then(|text| header::split(text)).map(|parts| parts.revision);
    ConfigStatus {
        // A foreign edit may have taken the header away; the number must not be used again.
        revision: revision.max(snapshot.config_status().and_then(|status| status.revision)),
        config_hash: text.map(|text| env.checksum_of(text)),
        loaded_hash: spec
            .scheduler
            .as_ref()
            .and(snapshot.observed.reported().or(snapshot.loaded_hash()))
            .cloned(),
        version: Some(snapshot.release()),
        output: snapshot.output.as_deref().map(|output| OutputRef {
            namespace: spec.namespace.clone(),
            name: spec.output_config_map.clone(),
            uid: output.uid.clone(),
            keys: output.data.keys().filter(|key| snapshot.claim(key) == KeyClaim::Ours).cloned().collect(),
        }),
        admission_policy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_root_is_the_reason_before_everything_else() {
        let chain = || {
            [
                Finding::no(Type::BaseResolved, Reason::BaseInvalid, ""),
                Finding::no(Type::Applied, Reason::ConfigNotReady, ""),
                Finding::unknown(Type::Loaded, Reason::VersionUnproven, ""),
            ]
        };
        let open = || Finding::yes(Type::FailOpen, Reason::OutputMissing, "everyone may submit");
        for (accepted, reason) in [(false, Reason::OutputMissing), (true, Reason::BaseInvalid)] {
            let found = findings(chain(), None, open(), accepted, Some("watch"));
            let ready = found.last().unwrap();
            assert_eq!((ready.type_, ready.status, ready.reason), (Type::Ready, Status::False, reason));
        }
    }

    #[test]
    fn a_mirror_that_is_to_go_is_reported_and_keeps_nothing_from_being_ready() {
        let of = |to_be: bool| {
            let mirrored = Finding::no(Type::Mirrored, Reason::Forbidden, "no");
            let chain = [
                Finding::yes(Type::BaseResolved, Reason::BaseResolved, ""),
                Finding::yes(Type::Applied, Reason::Applied, ""),
                Finding::yes(Type::Loaded, Reason::Loaded, ""),
            ];
            let closed = Finding::no(Type::FailOpen, Reason::Closed, "");
            let found = findings(chain, Some((mirrored, to_be)), closed, false, None);
            found
                .into_iter()
                .map(|finding| (finding.type_, finding.status, finding.reason))
                .collect::<Vec<_>>()
        };
        let with = |ready| {
            [
                (Type::BaseResolved, Status::True, Reason::BaseResolved),
                (Type::Applied, Status::True, Reason::Applied),
                (Type::Loaded, Status::True, Reason::Loaded),
                (Type::Mirrored, Status::False, Reason::Forbidden),
                (Type::FailOpen, Status::False, Reason::Closed),
                ready,
            ]
        };
        assert_eq!(of(true), with((Type::Ready, Status::False, Reason::Forbidden)));
        assert_eq!(of(false), with((Type::Ready, Status::True, Reason::Ready)));
    }
}
