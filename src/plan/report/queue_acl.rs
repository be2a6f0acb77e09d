//! Conditions and status of a `QueueAcl`.

use super::{Target, people, with_warnings};
use crate::model::acl::Acl;
use crate::model::config::Config;
use crate::model::right::Right;
use crate::plan::QueueAclStatus;
use crate::plan::conditions::{Finding, Reason, Status, Type};
use crate::plan::effect::moot;
use crate::plan::environment::{Environment, Source};
use crate::plan::grants::{Decided, acl_of};
use crate::plan::resolve::{Contribution, Resolved};
use crate::plan::snapshot::QueueAclInForce;

/// What the conditions depend on besides the object.
pub(in crate::plan) struct Facts<'a> {
    /// Where it is to be written.
    pub target: Target<'a>,
    /// What `YuniKorn` sees.
    pub env: &'a Environment,
    /// The queues of the text that should be in force.
    pub wanted: Option<&'a Config>,
    /// The queues of the text in the output ConfigMap.
    pub written: Option<&'a Config>,
    /// The queues of the text that the scheduler was last proven to run.
    pub proven: Option<&'a Config>,
    /// Condition `Loaded`, if the scheduler is asked.
    pub loaded: Option<&'a Finding>,
}

/// What is found about one object.
pub(in crate::plan) struct Report {
    /// Its conditions.
    pub findings: Vec<Finding>,
    /// The rest of its status.
    pub status: QueueAclStatus,
    /// Who lost access through it, if anyone did.
    pub taken: Option<String>,
}

/// Reports one object; `decided` is what it takes part in, `before` what its status remembers.
pub(in crate::plan) fn report(
    object: &Resolved,
    decided: &[(Right, &Decided)],
    before: Option<&QueueAclInForce>,
    facts: &Facts<'_>,
) -> Report {
    let taken = taken(decided);
    let mut findings = vec![accepted(object, taken.as_deref())];
    let mut in_force = if object.judged { None } else { before.cloned() };
    if !object.judged {
        let message = "there is no queue tree to write it into";
        findings.push(Finding::no(Type::Programmed, Reason::ConfigNotReady, message));
    }
    if let Some(contribution) = object.contribution() {
        let programmed = facts
            .target
            .programmed(holds(facts.written, contribution, decided, facts), object.outcome.is_ok());
        in_force = match (&object.outcome, programmed.status) {
            (Ok(contribution), Status::True) => Some(contribution.in_force()),
            _ => before.cloned(),
        };
        let written = programmed.status == Status::True;
        findings.push(programmed);
        findings.push(effective(contribution, facts));
        if written && let Some(loaded) = unconfirmed(contribution, decided, facts) {
            // Not a condition of its own: what the scheduler runs stands on the YuniKornConfig. But without it the object is not ready.
            findings.push(loaded.clone());
        }
    }
    let ready = Finding::ready(&findings, "in force");
    findings.retain(|finding| finding.type_ != Type::Loaded);
    findings.push(ready);
    let text = |right| object.contribution().map_or_else(String::new, |c| column(c.grant(right)));
    Report {
        status: QueueAclStatus { submit: text(Right::Submit), admin: text(Right::Admin), in_force },
        taken: taken.filter(|_| object.outcome.is_ok()),
        findings,
    }
}

/// A right as a column shows it.
fn column(grant: Option<&Acl>) -> String {
    match grant {
        None => "-".into(),
        Some(acl) if acl.is_nobody() => "nobody".into(),
        Some(acl) => acl.canonical(),
    }
}

fn accepted(object: &Resolved, taken: Option<&str>) -> Finding {
    let contribution = match &object.outcome {
        Err(refusal) if refusal.reason == Reason::ConfigNotReady => {
            return Finding::unknown(Type::Accepted, refusal.reason, refusal.message.clone());
        }
        Err(refusal) => return Finding::no(Type::Accepted, refusal.reason, refusal.message.clone()),
        Ok(contribution) => contribution,
    };
    let rights: Vec<_> = Right::ALL
        .into_iter()
        .filter_map(|right| {
            contribution.grant(right).map(|acl| format!("{} to {}", right.field(), people(acl)))
        })
        .collect();
    let mut message = format!("grants {} on queue `{}`", rights.join(", "), contribution.queue);
    if let Some(taken) = taken {
        message.push_str("; ");
        message.push_str(taken);
    }
    Finding::yes(Type::Accepted, Reason::Accepted, with_warnings(message, &object.warnings))
}

/// Who has access by the base's own ACL of the queue, and loses it.
fn taken(decided: &[(Right, &Decided)]) -> Option<String> {
    let parts: Vec<_> = decided
        .iter()
        .filter(|(_, decided)| !decided.taken.is_nobody())
        .map(|(right, decided)| {
            format!(
                "the base's own {} of the queue gives way, which takes it from {}",
                right.key(),
                people(&decided.taken)
            )
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Whether `tree` says about the contribution's queue what was decided. When nothing could be rendered: whether it grants at least
/// what the object grants.
fn holds(
    tree: Option<&Config>,
    contribution: &Contribution,
    decided: &[(Right, &Decided)],
    facts: &Facts<'_>,
) -> bool {
    let queue = tree
        .and_then(|tree| tree.partition(&contribution.partition))
        .and_then(|p| p.queue(&contribution.queue));
    let Some(queue) = queue else { return false };
    decided.iter().all(|(right, decided)| {
        let there = acl_of(queue, *right);
        match (facts.wanted, contribution.grant(*right)) {
            (Some(_), _) => there == decided.acl,
            (None, Some(grant)) => there.contains(grant),
            (None, None) => true,
        }
    })
}

/// Condition `Loaded`, if what the object grants was not yet seen to run.
fn unconfirmed<'a>(
    contribution: &Contribution,
    decided: &[(Right, &Decided)],
    facts: &Facts<'a>,
) -> Option<&'a Finding> {
    let loaded = facts.loaded.filter(|finding| finding.status != Status::True)?;
    (!holds(facts.proven, contribution, decided, facts)).then_some(loaded)
}

fn effective(contribution: &Contribution, facts: &Facts<'_>) -> Finding {
    if facts.env.source == Source::BuiltIn
        && facts.env.tree.as_ref().is_some_and(|tree| crate::plan::effect::open_root(tree).is_some())
    {
        let message = "YuniKorn runs its built-in default now, which lets everyone submit to every queue";
        return Finding::no(Type::Effective, Reason::DefaultConfigActive, message);
    }
    let Some(tree) = facts.wanted.or(facts.written) else {
        return Finding::unknown(
            Type::Effective,
            Reason::ConfigNotReady,
            "there is no queue tree to judge by",
        );
    };
    let rights: Vec<_> =
        Right::ALL.into_iter().filter(|right| contribution.grant(*right).is_some()).collect();
    let texts = without_effect(tree, contribution);
    if !texts.is_empty() && texts.len() == rights.len() {
        return Finding::no(Type::Effective, Reason::AncestorAllowsEveryone, texts.join("; "));
    }
    let mut message = "it decides access to the queue and those below".to_string();
    if !texts.is_empty() {
        message.push_str("; but ");
        message.push_str(&texts.join("; "));
    }
    Finding::yes(Type::Effective, Reason::Effective, message)
}

/// For each right of the contribution that changes nothing in `tree`, why.
pub(in crate::plan) fn without_effect(tree: &Config, contribution: &Contribution) -> Vec<String> {
    let set = Right::ALL.into_iter().filter(|right| contribution.grant(*right).is_some());
    let moot = set.filter_map(|right| moot(tree, contribution, right).map(|moot| (right, moot)));
    moot.map(|(right, moot)| {
        format!(
            "{} changes nothing, because {} of queue `{}` lets everyone in",
            right.field(),
            moot.through.key(),
            moot.by
        )
    })
    .collect()
}
