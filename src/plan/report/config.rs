//! Conditions and status of the `YuniKornConfig`.

use crate::model::config::{Config, checksum};
use crate::model::right::Right;
use crate::plan::conditions::{Finding, Reason, Type};
use crate::plan::effect::open_root;
use crate::plan::environment::{Environment, Source};
use crate::plan::snapshot::{ConfigMemory, ConfigSpec, Snapshot};
use crate::plan::{ConfigStatus, OutputRef, header, ownership};

/// All conditions of the object. Whether there is a mirror matters to `Ready` only while there is to be one.
pub(in crate::plan) fn findings(
    base: Finding,
    applied: Finding,
    loaded: Option<Finding>,
    mirrored: Option<(Finding, bool)>,
    fail_open: Option<Finding>,
) -> Vec<Finding> {
    let mut findings = vec![base, applied];
    findings.extend(loaded);
    let (mirrored, to_be) = mirrored.unzip();
    let (first, last) = if to_be == Some(true) { (mirrored, None) } else { (None, mirrored) };
    findings.extend(first);
    let ready = Finding::ready(&findings, "the scheduler's configuration is in order");
    findings.extend(last);
    findings.extend(fail_open);
    findings.push(ready);
    findings
}

/// Condition `FailOpen`: told only while everyone may submit to, or administers, every queue of a partition.
pub(in crate::plan) fn fail_open(env: &Environment, key_written: bool) -> Option<Finding> {
    let open = open(env.tree.as_ref()?)?;
    let (reason, why) = match (&env.source, &env.shadow) {
        (Source::Output, _) => (
            Reason::RootAllowsEveryone,
            "the root queue's ACL is `*`; close it in the base, or with a QueueAcl for `root`".into(),
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

/// The same of what the scheduler runs instead of the text.
pub(in crate::plan) fn runs_open(proven: &Config, loaded: &Finding) -> Option<Finding> {
    let open = open(proven)?;
    let message =
        format!("{open}: the text is closed, and the scheduler does not run it: {}", loaded.message);
    Some(Finding::yes(Type::FailOpen, Reason::RootAllowsEveryone, message))
}

/// The same where the root was open, and nobody knows whether it is now.
pub(in crate::plan) fn maybe_open(was: &Finding, loaded: &Finding) -> Finding {
    let message =
        format!("the text is closed, and it is not known whether the scheduler runs it: {}", loaded.message);
    Finding { message, ..was.clone() }
}

/// What everyone may, in words.
fn open(tree: &Config) -> Option<String> {
    let (partition, right) = open_root(tree)?;
    let what = match right {
        Right::Submit => "everyone may submit to every queue",
        Right::Admin => "everyone administers, and may submit to, every queue",
    };
    Some(format!("{what} of partition `{partition}`"))
}

/// The rest of the status.
pub(in crate::plan) fn status(
    snapshot: &Snapshot,
    spec: &ConfigSpec,
    memory: Option<&ConfigMemory>,
    env: &Environment,
) -> ConfigStatus {
    let text = snapshot.output.as_deref().and_then(|output| output.data.get(&env.key));
    let seen = snapshot.observed.read_back.as_ref().and_then(|read| read.checksum.as_ref().ok());
    let remembered = memory.and_then(|memory| memory.loaded_hash.as_ref());
    let revision = text.and_then(|text| header::split(text)).map(|parts| parts.revision);
    ConfigStatus {
        // A foreign edit may have taken the header away; the number must not be used again.
        revision: revision.max(memory.and_then(|memory| memory.revision)),
        config_hash: text.map(|text| checksum(text)),
        loaded_hash: spec.scheduler_url.as_ref().and(seen.or(remembered)).cloned(),
        output: snapshot.output.as_deref().map(|output| OutputRef {
            namespace: spec.namespace.clone(),
            name: spec.output_config_map.clone(),
            uid: output.uid.clone(),
            keys: output
                .data
                .keys()
                .filter(|key| ownership::claim(Some(output), memory, key) == ownership::Claim::Ours)
                .cloned()
                .collect(),
        }),
        admission_policy: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::conditions::Status;

    #[test]
    fn a_mirror_that_is_to_go_is_told_and_keeps_nothing_from_being_ready() {
        let of = |to_be: bool| {
            let mirrored = Finding::no(Type::Mirrored, Reason::Forbidden, "no");
            let found = findings(
                Finding::yes(Type::BaseResolved, Reason::BaseResolved, ""),
                Finding::yes(Type::Applied, Reason::Applied, ""),
                None,
                Some((mirrored, to_be)),
                None,
            );
            found
                .into_iter()
                .map(|finding| (finding.type_, finding.status, finding.reason))
                .collect::<Vec<_>>()
        };
        let with = |ready| {
            [
                (Type::BaseResolved, Status::True, Reason::BaseResolved),
                (Type::Applied, Status::True, Reason::Applied),
                (Type::Mirrored, Status::False, Reason::Forbidden),
                ready,
            ]
        };
        assert_eq!(of(true), with((Type::Ready, Status::False, Reason::Forbidden)));
        assert_eq!(of(false), with((Type::Ready, Status::True, Reason::Ready)));
    }
}
