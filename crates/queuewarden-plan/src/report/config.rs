//! Conditions and status of the `YuniKornConfig`.

use super::queue_acl::Runs;
use crate::conditions::{self, Finding, Reason, Status, Type};
use crate::effect::open_root;
use crate::environment::{Environment, Source};
use crate::ownership::Claim;
use crate::snapshot::{ConfigEntry, ConfigSpec, Snapshot};
use crate::{ConfigStatus, OutputRef, header};
use yunikorn::config::Config;
use yunikorn::right::Right;

/// The input of the conditions.
pub(crate) struct Findings {
    /// Condition `BaseResolved`.
    pub base: Finding,
    /// Condition `Applied`.
    pub applied: Finding,
    /// Condition `Loaded`.
    pub loaded: Finding,
    /// Condition `Mirrored`, and whether there is to be a mirror: it matters to `Ready` only then.
    pub mirrored: Option<(Finding, bool)>,
    /// Condition `FailOpen`.
    pub fail_open: Finding,
    /// True if `FailOpen` may be true.
    pub accepts_open: bool,
    /// A watch that fails, and why.
    pub watch_failure: Option<String>,
}

/// All conditions of the object.
pub(crate) fn findings(found: Findings) -> Vec<Finding> {
    let Findings { base, applied, loaded, mirrored, fail_open, accepts_open, watch_failure } = found;
    let unverified = (loaded.reason == Reason::NotVerified).then(|| loaded.message.clone());
    let open = (fail_open.status == Status::True && !accepts_open)
        .then(|| Finding::no(Type::Ready, fail_open.reason, fail_open.message.clone()));
    let blind = watch_failure.map(|why| {
        let message = format!("a watch fails, so changes may have been missed: {why}");
        Finding::unknown(Type::Ready, Reason::WatchFailing, message)
    });
    let ready = match &unverified {
        Some(why) => {
            Finding::yes(Type::Ready, Reason::NotVerified, format!("the ConfigMaps are in order; {why}"))
        }
        None => Finding::yes(Type::Ready, Reason::Ready, "the scheduler's configuration is in order"),
    };
    let mut chain = vec![base.clone(), applied.clone()];
    chain.extend(unverified.is_none().then(|| loaded.clone()));
    chain.extend(mirrored.iter().filter(|(_, to_be)| *to_be).map(|(finding, _)| finding.clone()));
    chain.extend(open);
    chain.extend(blind);
    let ready = Finding::summary(&chain, || ready);
    let mirrored = mirrored.map(|(finding, _)| finding);
    [base, applied, loaded].into_iter().chain(mirrored).chain([fail_open, ready]).collect()
}

/// Returns condition `FailOpen` if the text in force lets everyone submit to, or administer, every queue of a
/// partition. `accepted` is true if that is intended.
pub(crate) fn fail_open(env: &Environment, key_written: bool, accepted: bool) -> Option<Finding> {
    let open = open(env.tree.as_ref()?)?;
    let (reason, why) = match (&env.source, &env.shadow) {
        (Source::Output, _) if accepted => (
            Reason::RootAllowsEveryone,
            "the root queue's ACL is `*`, which spec.acceptOpenRoot accepts".into(),
        ),
        (Source::Output, _) => (
            Reason::RootAllowsEveryone,
            "the root queue's ACL is `*`; close it in the base, or with a QueueAcl for `root`; if it is meant, set \
             spec.acceptOpenRoot"
                .into(),
        ),
        (_, Some(shadow)) => (
            Reason::ShadowedByBinaryData,
            format!("binaryData key `{shadow}` hides key `{}`; remove it", env.key),
        ),
        (Source::BuiltIn, _) if key_written => (
            Reason::RootAllowsEveryone,
            format!("key `{}` is empty, so YuniKorn runs its built-in default", env.key),
        ),
        _ if key_written => (Reason::RootAllowsEveryone, "the root queue's ACL is `*`".into()),
        (Source::Defaults, _) => (
            Reason::OutputMissing,
            format!(
                "the output has no key `{}`, and in yunikorn-defaults the root queue's ACL is `*`",
                env.key
            ),
        ),
        _ => (
            Reason::OutputMissing,
            format!("no ConfigMap has a text in key `{}`, so YuniKorn runs its built-in default", env.key),
        ),
    };
    Some(Finding::yes(Type::FailOpen, reason, format!("{open}: {why}")))
}

/// Returns condition `FailOpen` by what the scheduler runs, while the text in force is closed; `was` is the
/// former condition.
pub(crate) fn runs_open(env: &Environment, runs: &Runs, was: Option<&Finding>, loaded: &Finding) -> Finding {
    let closed = "the root queue of no partition lets everyone in";
    match runs {
        _ if env.tree.is_none() => Finding::unknown(
            Type::FailOpen,
            Reason::ConfigNotReady,
            "the configuration in force cannot be read",
        ),
        Runs::InForce => Finding::no(Type::FailOpen, Reason::Closed, closed),
        Runs::Other { tree, .. } => match open(tree) {
            Some(open) => {
                let message = format!(
                    "{open}: the text is closed, and the scheduler does not run it: {}",
                    loaded.message
                );
                Finding::yes(Type::FailOpen, Reason::RootAllowsEveryone, message)
            }
            None => Finding::no(Type::FailOpen, Reason::Closed, closed),
        },
        Runs::Unknown => {
            let message = format!(
                "the text is closed, and it is not known whether the scheduler runs it: {}",
                loaded.message
            );
            // A root queue that was open counts as open until it is known to be closed.
            match was.filter(|was| was.status == Status::True) {
                Some(was) => Finding { message: message.into(), ..was.clone() },
                None => Finding::unknown(Type::FailOpen, loaded.reason, message),
            }
        }
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
    config: &ConfigEntry,
    env: &Environment,
) -> ConfigStatus {
    let text = snapshot.output_text(&env.key);
    let revision = text.and_then(|text| header::split(text)).map(|parts| parts.revision);
    ConfigStatus {
        // A foreign edit may have taken the header away; the number must not be used again.
        revision: revision.max(config.in_force.as_ref().and_then(|status| status.revision)),
        config_hash: text.map(|text| env.checksum_of(text)),
        loaded_hash: spec
            .scheduler_url
            .as_ref()
            .and(snapshot.observed.reported().or(loaded_hash(config)))
            .cloned(),
        output: snapshot.output.as_deref().map(|output| OutputRef {
            namespace: spec.namespace.clone(),
            name: spec.output_config_map.clone(),
            uid: output.uid.clone(),
            keys: output.data.keys().filter(|key| snapshot.claim(key) == Claim::Ours).cloned().collect(),
        }),
        admission_policy: None,
    }
}

/// Returns the checksum of the text that the scheduler was last known to run, by the status. With another
/// spec it may be another scheduler.
pub(crate) fn loaded_hash(config: &ConfigEntry) -> Option<&String> {
    let about = conditions::find(&config.meta.conditions, Type::Loaded)?;
    let same = about.observed_generation == config.meta.generation;
    config.in_force.as_ref().filter(|_| same)?.loaded_hash.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_that_is_to_go_is_told_and_keeps_nothing_from_being_ready() {
        let of = |to_be: bool| {
            let mirrored = Finding::no(Type::Mirrored, Reason::Forbidden, "no");
            let found = findings(Findings {
                base: Finding::yes(Type::BaseResolved, Reason::BaseResolved, ""),
                applied: Finding::yes(Type::Applied, Reason::Applied, ""),
                loaded: Finding::yes(Type::Loaded, Reason::Loaded, ""),
                mirrored: Some((mirrored, to_be)),
                fail_open: Finding::no(Type::FailOpen, Reason::Closed, ""),
                accepts_open: false,
                watch_failure: None,
            });
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
