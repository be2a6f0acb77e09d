//! Resolves each `QueueAcl` on its own: whether it is valid and within its time window, whether its queue
//! exists, and what it grants.
//!
//! The schema's CEL rules check much of this at admission, with shorter messages. It is checked again here,
//! because objects also come from files, from older schemas, and from API servers that skipped validation.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::conditions::Reason;
use crate::effective::AclLocation;
use crate::grants::contribution::{Acls, invalid};
use crate::grants::{Contribution, InForceRecord, ObjectRefusal, Resolved};
use crate::planted::{PlantedFault, is_planted};
use crate::snapshot::{
    BaseAcl, Grant, Phase, QueueAclEntry, QueueAclInForce, QueueAclSpec, TEMPORARY_ONLY_ADDS,
};
use go_compat::diag::{Code, Diagnostic};
use yunikorn::acl::{self, Analysis};
use yunikorn::config::{Partition, Queue};
use yunikorn::{Acl, Config, Identity, QueuePath, Right, queue};
use yunikorn_access::alias::{self, Aliased, Kind};
use yunikorn_access::in_words;

/// The object is not yet valid before `notBefore`, no longer valid after `expiresAt`, or its window is empty.
pub(crate) const EMPTY_WINDOW: Code = Code::new(5301, "empty-window");
/// The object grants nothing, because it does not set `submit` or `admin`.
pub(crate) const NO_RIGHT: Code = Code::new(5302, "no-right");
/// The queue is written through a YAML anchor or alias, so changing it would change other queues.
pub(crate) const SHARED_QUEUE: Code = Code::new(5303, "shared-queue");

/// A temporary object would replace the base's own ACL.
pub(crate) const REPLACES_FOR_A_TIME: Code = Code::new(5304, "replaces-for-a-time");
/// A right without names and without `nobody: true`, which no one gets.
pub(crate) const NO_NAMES: Code = Code::new(5305, "no-names");

impl Resolved<'_> {
    /// Leaves the aliases out because of `why`, after `before` was in force. An object that grants nothing
    /// else, and was not in force, is refused.
    fn leave_out_aliases(&mut self, before: Option<&QueueAclInForce>, why: &str) {
        let rest = |kept: Box<Contribution>| kept.without_aliases(before).map(Box::new);
        self.last_valid = self.last_valid.take().and_then(rest);
        let late =
            |refusal: &ObjectRefusal| matches!(refusal.reason, Reason::NotYetValid | Reason::Suspended);
        let granted = match &self.outcome {
            Ok(contribution) => Some(contribution.clone()),
            Err(refusal) if late(refusal) => self.lapsed.as_deref().cloned(),
            Err(_) => None,
        };
        let Some(granted) = granted else { return };
        match granted.without_aliases(before) {
            Some(rest) if self.outcome.is_ok() => self.outcome = Ok(rest),
            Some(_) => {}
            None => {
                let message = dropped_of(self.entry, why);
                self.refuse(ObjectRefusal { reason: Reason::IdentityWebhookMissing, message });
            }
        }
    }
}

/// The content of an object that can be determined without the queue tree.
pub(crate) struct Intent {
    queue: QueuePath,
    pub(crate) by_right: Acls,
    warnings: Vec<Diagnostic>,
}

/// Resolves one object against the base's queues. `record` returns the version in force, `dynamic` whether
/// the scheduler has a queue that is not in the configuration. Aliases are left out if there is a reason why
/// pods get none.
pub(crate) fn resolve<'a>(
    entry: &'a QueueAclEntry,
    tree: &Config,
    record: &InForceRecord<'_>,
    now: Timestamp,
    dynamic: &dyn Fn(&str, &QueuePath) -> bool,
    no_aliases: Option<&str>,
) -> Resolved<'a> {
    let mut warnings = Vec::new();
    let mut lapsed: Option<Box<Contribution>> = None;
    let outcome = entry.spec.as_ref().map_err(|diagnostics| invalid(diagnostics)).and_then(|spec| {
        let intent = read(spec).map_err(|diagnostics| invalid(&diagnostics))?;
        warnings.clone_from(&intent.warnings);
        let timely = in_time(spec, now);
        let placed = locate(spec, intent, tree, dynamic);
        timely.inspect_err(|_| lapsed = placed.as_ref().ok().cloned().map(Box::new))?;
        placed
    });
    let last_valid = match &outcome {
        Err(refusal) if freezes(refusal.reason) => {
            let end = entry.spec.as_ref().ok().and_then(|spec| spec.expires_at);
            record.in_force(entry).and_then(|old| keep(old, end, tree, record, now)).map(Box::new)
        }
        Err(refusal) if refusal.reason == Reason::Suspended => {
            lapsed.clone().filter(|it| it.base_acl == BaseAcl::Replace)
        }
        _ => None,
    };
    let mut resolved = Resolved { entry, outcome, last_valid, lapsed, warnings };
    if let Some(why) = no_aliases {
        resolved.leave_out_aliases(record.in_force(entry), why);
    }
    if entry.meta.deleting || entry.spec.as_ref().is_ok_and(|spec| spec.suspend) {
        resolved.outcome = resolved.outcome.map(Contribution::closing);
        resolved.last_valid = resolved.last_valid.map(|kept| Box::new(kept.closing()));
        resolved.warnings.clear();
    }
    resolved
}

/// Maximum number of dropped names that a message explains.
const EXPLAINED: usize = 5;

/// Describes the users and groups that only an alias can name, while pods get no aliases because of `why`.
pub(crate) fn dropped(left_out: &Acl, aliased: &Aliased, why: &str) -> String {
    let real: BTreeSet<_> = left_out.entries().map(|entry| aliased.real(entry)).collect();
    let users = real.iter().filter_map(|entry| Some((Kind::User, "user", entry.user()?)));
    let groups = real.iter().filter_map(|entry| Some((Kind::Group, "group", entry.group()?)));
    let names: Vec<_> = users.chain(groups).collect();
    let explained = names.iter().take(EXPLAINED).map(|(kind, noun, name)| {
        // If its object does not exist, only the alias is known.
        let obstacle = alias::obstacle(*kind, name).filter(|_| !alias::is_alias(name));
        format!("{noun} {} {}", alias::shown(name), obstacle.as_deref().unwrap_or("needs an alias"))
    });
    let mut text = explained.collect::<Vec<_>>().join(", ");
    if let Some(more @ 1..) = names.len().checked_sub(EXPLAINED) {
        text.extend([", and ", &more.to_string(), " more"]);
    }
    let (drops, them) = if names.len() > 1 {
        ("; YuniKorn drops such names", "them")
    } else {
        (", which YuniKorn drops", "it")
    };
    // Kubernetes makes these names.
    let fixed = names.iter().all(|(.., name)| name.starts_with("system:"));
    let install = if fixed { "Install".to_owned() } else { format!("Rename {them}, or install") };
    format!("{text}{drops}. {install} the user-info webhook: kubectl apply -k manifests/user-info ({why})")
}

/// Describes the names of an object in the same way.
fn dropped_of(entry: &QueueAclEntry, why: &str) -> String {
    let mut aliased = Aliased::default();
    let mut all = Acl::nobody();
    let spec = entry.spec.as_ref().ok();
    for grant in spec.into_iter().flat_map(|spec| [&spec.submit, &spec.admin]).flatten() {
        if let Grant::Lists { users, groups } = grant {
            aliased.add(users, groups);
            all = all.union(&grant_acl(grant).0.unwrap_or_default());
        }
    }
    dropped(&all, &aliased, why)
}

/// Refuses objects that set an ACL which cannot be written into the base's text.
pub(crate) fn withdraw(objects: &mut [Resolved<'_>], refused: &BTreeMap<&AclLocation, Diagnostic>) {
    let why = |it: &Contribution| {
        let mut locations = it.acls().map(|(right, _)| (it.partition.clone(), it.queue.clone(), right));
        locations.find_map(|at| refused.get(&at))
    };
    for object in objects {
        if let Some(why) = object.contribution().and_then(why) {
            object.refuse(invalid(std::slice::from_ref(why)));
        }
    }
}

/// Resolves one object while no queue tree is available because of `why`: finds only the errors in its own
/// content.
pub(crate) fn without_queues<'a>(entry: &'a QueueAclEntry, why: &str) -> Resolved<'a> {
    let errors = diagnostics(entry);
    let refusal =
        if errors.is_empty() { ObjectRefusal::new(Reason::ConfigNotReady, why) } else { invalid(&errors) };
    Resolved { entry, outcome: Err(refusal), last_valid: None, lapsed: None, warnings: Vec::new() }
}

/// Returns every error in the object's own content, and the names that `YuniKorn` would drop.
pub(crate) fn diagnostics(entry: &QueueAclEntry) -> Vec<Diagnostic> {
    entry.spec.as_ref().map_or_else(Clone::clone, |spec| read(spec).err().unwrap_or_default())
}

/// Returns whether an object that is refused for this reason keeps its last valid version in force. A mistake
/// must not lock people out, but a requested end must take effect.
pub(crate) fn freezes(reason: Reason) -> bool {
    matches!(reason, Reason::Invalid | Reason::QueueNotFound | Reason::PartitionNotFound)
}

/// Reads the object's own content; the error lists everything that is wrong with it, not only the first
/// problem.
pub(crate) fn read(spec: &QueueAclSpec) -> Result<Intent, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut warnings = Vec::new();
    let queue =
        QueuePath::parse(&spec.queue).map_err(|diagnostic| errors.push(diagnostic.of_field("queue"))).ok();
    let mut right = |right: Right, grant: Option<&Grant>| {
        grant.and_then(|grant| {
            let (acl, findings) = grant_acl(grant);
            let (bad, fine): (Vec<_>, Vec<_>) = findings.into_iter().partition(refuses);
            warnings.extend(fine.into_iter().map(|it| it.of_field(right.field())));
            let acl = acl.filter(|_| bad.is_empty());
            errors.extend(bad.into_iter().map(|it| it.of_field(right.field())));
            acl
        })
    };
    let submit = right(Right::Submit, spec.submit.as_ref());
    let admin = right(Right::Admin, spec.admin.as_ref());
    if spec.submit.is_none() && spec.admin.is_none() {
        let message = "the object does not set `submit` or `admin`, so it would change nothing";
        errors.push(
            Diagnostic::error(NO_RIGHT, message).help("to admit no one, write `submit: {nobody: true}`"),
        );
    }
    if (spec.not_before.is_some() || spec.expires_at.is_some()) && spec.base_acl == BaseAcl::Replace {
        errors.push(Diagnostic::error(REPLACES_FOR_A_TIME, TEMPORARY_ONLY_ADDS));
    }
    if let (Some(from), Some(to)) = (spec.not_before, spec.expires_at)
        && to <= from
    {
        let message = format!("`expiresAt` {to} is not after `notBefore` {from}");
        errors.push(Diagnostic::error(EMPTY_WINDOW, message).help("the object would never be in force"));
    }
    match queue {
        Some(queue) if errors.is_empty() => Ok(Intent { queue, by_right: [submit, admin], warnings }),
        _ => Err(errors),
    }
}

/// Returns whether an object is refused because of a diagnostic about its raw ACL. Oddities are only
/// reported. Names that would be dropped are refused, because the object would otherwise promise more than
/// the scheduler grants.
fn refuses(diagnostic: &Diagnostic) -> bool {
    diagnostic.is_error() || acl::codes::DROPS.contains(&diagnostic.code)
}

/// Returns the ACL of a grant, if it sets one, and the diagnostics about it.
pub fn grant_acl(grant: &Grant) -> (Option<Acl>, Vec<Diagnostic>) {
    match grant {
        Grant::Everyone => (Some(Acl::everyone()), Vec::new()),
        Grant::Nobody => (Some(Acl::nobody()), Vec::new()),
        Grant::Raw(text) => {
            let Analysis { acl, mut diagnostics, .. } = acl::lint::lint(text);
            diagnostics.extend(acl.as_ref().and_then(alias::named));
            (acl, diagnostics)
        }
        Grant::Lists { users, groups } => match alias::acl(users, groups) {
            Ok((acl, odd)) => (Some(acl), no_names(grant).into_iter().chain(odd).collect()),
            Err(findings) => (None, findings),
        },
    }
}

/// Returns whether a grant lets a user in, by name, by a group or as everyone.
pub fn grants(grant: &Grant, who: &Identity) -> bool {
    let who = alias::presented(who, |_| true);
    grant_acl(grant).0.is_some_and(|acl| acl.allows(&who.user, &who.groups))
}

/// Warns about a grant that means nobody without stating so.
pub fn no_names(grant: &Grant) -> Option<Diagnostic> {
    let Grant::Lists { users, groups } = grant else { return None };
    let warning = || Diagnostic::warning(NO_NAMES, "without users and groups, no one gets the right");
    (users.is_empty() && groups.is_empty())
        .then(|| warning().help("if that is intended, write `nobody: true`"))
}

fn in_time(spec: &QueueAclSpec, now: Timestamp) -> Result<(), ObjectRefusal> {
    match (spec.phase(now), spec.not_before, spec.expires_at) {
        (Phase::Expired, _, Some(end)) => {
            Err(ObjectRefusal::new(Reason::Expired, format!("expired at {}", in_words(end))))
        }
        (Phase::Planned, Some(start), _) => {
            Err(ObjectRefusal::new(Reason::NotYetValid, format!("not valid before {}", in_words(start))))
        }
        (Phase::Suspended, ..) => {
            let message = match spec.base_acl {
                BaseAcl::Extend => "suspended",
                BaseAcl::Replace => "suspended, but still replaces the base's own ACL of the queue",
            };
            Err(ObjectRefusal::new(Reason::Suspended, message))
        }
        _ => Ok(()),
    }
}

/// Finds the queue, or explains why it does not exist and which one may have been meant.
fn locate(
    spec: &QueueAclSpec,
    intent: Intent,
    tree: &Config,
    dynamic: &dyn Fn(&str, &QueuePath) -> bool,
) -> Result<Contribution, ObjectRefusal> {
    let Some(partition) = tree.partition(&spec.partition) else {
        let names: Vec<_> = tree.partitions.iter().map(|p| format!("`{}`", p.name)).collect();
        let message = format!(
            "the base has no partition `{}`; it has {}",
            spec.partition,
            if names.is_empty() { "none".into() } else { names.join(", ") }
        );
        return Err(ObjectRefusal::new(Reason::PartitionNotFound, message));
    };
    match partition.queue(&intent.queue) {
        Some(queue) if queue.inserted() => Err(not_written(&intent.queue)),
        Some(queue) if is_shared(queue) => {
            let message = format!(
                "queue `{}` is written through a YAML anchor, alias or merge key: changing its ACL would change every place that shares it",
                intent.queue
            );
            let help = "write out the queue in the base";
            Err(invalid(&[Diagnostic::error(SHARED_QUEUE, message).help(help)]))
        }
        Some(queue) => Ok(Contribution {
            partition: partition.name.clone(),
            // The tree's own path, because cloning it shares the text.
            queue: queue.path.clone(),
            position: queue.position,
            by_right: intent.by_right,
            base_acl: spec.base_acl,
            expires_at: spec.expires_at,
            delegated_by: spec.delegated_by.clone(),
            left_out: Acl::nobody(),
        }),
        None => Err(not_found(partition, &intent.queue, dynamic(&partition.name, &intent.queue))),
    }
}

/// Returns whether the queue's text defines other queues as well.
fn is_shared(queue: &Queue) -> bool {
    queue.location.as_ref().is_some_and(|location| location.shared)
}

/// Refuses the root that `YuniKorn` adds to a tree without one. It cannot have an ACL, because the text does
/// not contain it.
fn not_written(queue: &QueuePath) -> ObjectRefusal {
    let message = format!(
        "the base does not contain queue `{queue}`: YuniKorn adds it above the queues it finds, without an \
         ACL; write `- name: root` in the base and put its queues below it"
    );
    ObjectRefusal::new(Reason::QueueNotFound, message)
}

fn not_found(partition: &Partition, queue: &QueuePath, dynamic: bool) -> ObjectRefusal {
    let ancestor = &partition.nearest(queue).path;
    let near = || queue::nearest(partition.queues().map(|q| q.path.to_string()), queue.as_str());
    let help = if dynamic {
        format!(
            "it exists only at run time, created by a placement rule, and the ACL of `{ancestor}` applies to \
             it: add the queue to the base"
        )
    } else if let Some(near) = near() {
        format!("did you mean `{near}`? If not, add the queue to the base")
    } else {
        format!("until it is added, the ACL of `{ancestor}` applies to it")
    };
    let message = format!("partition `{}` has no queue `{queue}` in the base; {help}", partition.name);
    ObjectRefusal::new(Reason::QueueNotFound, message)
}

/// Returns the last valid version of an object that has become invalid, if its queue still exists and its
/// time has not passed. It grants at most what the last written text grants. An `end` in the invalid version
/// still takes effect.
fn keep(
    old: &QueueAclInForce,
    end: Option<Timestamp>,
    tree: &Config,
    record: &InForceRecord<'_>,
    now: Timestamp,
) -> Option<Contribution> {
    let expires_at = [old.expires_at, end].into_iter().flatten().min();
    if expires_at.is_some_and(|end| end <= now) {
        return None;
    }
    let partition = tree.partition(&old.partition)?;
    let queue = QueuePath::parse(&old.queue).ok()?;
    let queue = partition.queue(&queue).filter(|queue| !queue.inserted() && !is_shared(queue))?;
    let last = Contribution {
        partition: partition.name.clone(),
        queue: queue.path.clone(),
        position: queue.position,
        by_right: Right::ALL.map(|right| old.acl(right)),
        base_acl: old.base_acl,
        expires_at,
        delegated_by: old.delegated_by.clone(),
        left_out: Acl::nobody(),
    };
    if is_planted(PlantedFault::KeptByStatusAlone) {
        return Some(last);
    }
    Some(last.limited_to(record.tree))
}
