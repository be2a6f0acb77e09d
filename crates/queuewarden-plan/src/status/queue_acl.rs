//! Conditions and status of a `QueueAcl`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conditions::{Finding, Reason, Status, Type, current, find};
use crate::effective::{
    AclDecision, AclDecisions, EffectiveConfig, ReadState, SchedulerQueues, TextSource, acl_of,
};
use crate::grants::attribution::left;
use crate::grants::combine::decide;
use crate::grants::{
    Attribution, Contribution, ObjectRefusal, Resolved, contribution, dropped, grant_acl, people, push,
    push_people, redundant,
};
use crate::planted::{PlantedFault, is_planted};
use crate::snapshot::{Meta, QueueAclEntry, QueueAclInForce, ResourceKind};
use crate::status::{
    ACCESS_CHANGED, ACCESS_REMOVED, EXPIRING, Event, ObjectStatus, OutputTarget, event, source, target,
    transitions, with_warnings,
};
use crate::write::{Evaluation, WriteContext};
use yunikorn::config::Queue;
use yunikorn::{Acl, Config, QueuePath, Right};
use yunikorn_access::alias::Aliased;
use yunikorn_access::diff::{Period, Periods};
use yunikorn_access::in_words;

/// The number of bytes that most messages fit into.
const MESSAGE: usize = 192;
/// The time before an end at which it is near.
pub(crate) const NEAR: SignedDuration = SignedDuration::from_hours(1);
/// The words about an end that is near.
const IS_NEAR: &str = ", within an hour";

/// The rest of a `QueueAcl`'s status.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueAclStatus {
    /// Holders of the right to submit by this object alone: "user sue and group devs", "everyone", "nobody",
    /// or "-" if it does not set the right. While the object is not in force, the names that it requests;
    /// "invalid" if these cannot be parsed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub submit: String,
    /// Holders of the right to administer by this object alone: "group ops", "everyone", "nobody", or "-" if
    /// it does not set the right. While the object is not in force, the names that it requests; "invalid" if
    /// these cannot be parsed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub admin: String,
    /// Whether a version of this object is in force: True if the ConfigMap has its grants, or the scheduler
    /// still runs them, False, or Unknown.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub active: Cow<'static, str>,
    /// The last version of this object that was written to the ConfigMap. It stays in force while the object
    /// is Invalid, so that a typo neither widens nor removes access. Absent if nothing of this object is in
    /// force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<Arc<QueueAclInForce>>,
}

/// The input of the conditions besides the object.
pub(crate) struct AclFacts<'a> {
    /// The output to write to, and its conditions.
    pub target: OutputTarget<'a>,
    /// The configuration as `YuniKorn` reads it.
    pub env: &'a EffectiveConfig,
    /// The text in force, as messages name it.
    pub source: &'a str,
    /// Condition `Programmed` of a valid object that is written.
    pub programmed: Finding,
    /// Condition `Effective` of an object whose rights all count.
    pub effective: Finding,
    /// Condition `Ready` where all other conditions are as they should be.
    pub ready: Finding,
    /// The grants of the objects without the base, which apply if there is no desired text.
    pub granted: &'a AclDecisions,
}

impl<'a> AclFacts<'a> {
    /// Returns the queues of the desired text.
    fn desired(&self) -> Option<&'a Config> {
        self.target.context.combined.desired.as_deref()
    }

    /// Returns the names of the objects by their aliases.
    fn aliased(&self) -> &'a Aliased {
        &self.target.context.resolved.aliased
    }
}

/// The conditions and status of one object.
pub(crate) struct Report {
    /// Its conditions.
    pub findings: [Finding; 4],
    /// The rest of its status.
    pub status: QueueAclStatus,
    /// True if someone lost access through it, and the scheduler runs it.
    pub takes: bool,
    /// The end of its grants, if its status has not yet reported that it is near.
    pub expiring: Option<Timestamp>,
}

/// Returns the status of every `QueueAcl`.
pub(crate) fn statuses(
    evaluation: &Evaluation<'_>,
    contributions: &[Attribution],
    events: &mut Vec<Event>,
) -> BTreeMap<Arc<str>, ObjectStatus<QueueAclStatus>> {
    let WriteContext { read, resolved, combined } = &evaluation.context;
    let ReadState { snapshot, spec, env, .. } = read;
    let (desired, objects) = (&combined.desired, &resolved.queue_acls);
    let name = spec.output_name();
    // The grants of the objects alone apply only if nothing can be rendered.
    let granted = match desired {
        Some(_) => AclDecisions::default(),
        None => decide(objects, &Config::default()),
    };
    let planted = is_planted(PlantedFault::DataAlone).then(|| EffectiveConfig {
        tree: read.current.as_ref().and_then(|current| current.tree.clone()),
        source: TextSource::Output,
        shadow: None,
        ..env.clone()
    });
    let (target, source) = (target(evaluation, &name), source(read, &name));
    let facts = AclFacts {
        target,
        env: planted.as_ref().unwrap_or(env),
        source: &source,
        programmed: super::programmed(&source, true),
        effective: super::effective(),
        ready: target.ready(),
        granted: &granted,
    };
    let objects = objects.iter().enumerate();
    objects
        .map(|(index, object)| {
            let entry = object.entry;
            let noted = contribution::noted(snapshot.output.as_deref(), entry).and_then(Option::as_ref);
            let decided = combined.by_object.decisions(&combined.decisions, index);
            let made = if read.queues().is_ok() {
                report(object, &decided, noted, &facts)
            } else {
                let why = "there is no queue tree to write it into";
                waiting(object, why, &resolved.aliased)
            };
            let (meta, findings) = (&entry.meta, &made.findings);
            let about = || ResourceKind::QueueAcl.object(meta.name.clone());
            let newly = made.status.in_force != entry.in_force && made.status.in_force.is_some();
            if let (true, Some(before), Some(now)) = (newly, &entry.in_force, &made.status.in_force) {
                let changed = changed_in_words(before, now, &resolved.aliased);
                events.push(event(&about(), false, ACCESS_CHANGED, &changed));
            }
            if made.takes && (newly || is_unconfirmed(meta)) {
                let taken = taken_in_words(&decided, &resolved.aliased);
                events.push(event(&about(), true, ACCESS_REMOVED, &taken));
            }
            if let (Some(end), Some(contribution)) = (made.expiring, object.contribution()) {
                let lost = ending(evaluation, contribution, end, contributions);
                let note = format!("ends at {}: {lost}", in_words(end));
                events.push(event(&about(), false, EXPIRING, &note));
            }
            let status = ObjectStatus::new(meta, findings, made.status, snapshot.now);
            // Conditions that stay are shared. So it is for nearly all objects.
            if !Arc::ptr_eq(&status.conditions, &meta.conditions) {
                events.extend(transitions(&about(), &meta.conditions, findings));
            }
            (meta.name.clone(), status)
        })
        .collect()
}

/// Reports one object that there are no queues for; `why` explains that.
pub(crate) fn waiting(object: &Resolved<'_>, why: &str, aliased: &Aliased) -> Report {
    let entry = object.entry;
    let (submit, admin) = columns(object, aliased);
    let active = if entry.in_force.is_some() { Status::Unknown } else { Status::False };
    Report {
        findings: super::waiting_conditions(object.outcome.as_ref().err(), why),
        status: QueueAclStatus {
            submit,
            admin,
            active: active.as_str().into(),
            in_force: entry.in_force.clone(),
        },
        takes: false,
        expiring: None,
    }
}

/// Reports one object; `decided` are the ACLs that it takes part in, `noted` its grants in force by the
/// annotation of the output.
pub(crate) fn report(
    object: &Resolved<'_>,
    decided: &[(Right, &AclDecision)],
    noted: Option<&QueueAclInForce>,
    facts: &AclFacts<'_>,
) -> Report {
    let entry = object.entry;
    let before = entry.in_force.as_deref();
    let takes = facts.target.context.read.from.is_some() && taken(decided).next().is_some();
    let contribution = object.contribution();
    let is_outdated = |it: &&QueueAclInForce| !contribution.is_some_and(|contribution| contribution.is(it));
    let outdated = before.filter(is_outdated);
    let lapsed = object.lapsed.as_deref().map(Contribution::in_force);
    let former =
        [(outdated, true), (noted.filter(is_outdated), true), (lapsed.as_ref().filter(is_outdated), false)];
    let withdrawal = former
        .into_iter()
        .filter_map(|(former, written)| Some((former?, written)))
        .find_map(|(former, written)| Withdrawal::find(object, former, written, facts));
    let accepted = accepted(object, if takes { decided } else { &[] }, facts);
    let programmed = match (&withdrawal, contribution) {
        (Some(withdrawal @ Withdrawal { by: GrantedBy::Written(_), .. }), _) => {
            withdrawal.finding(Type::Programmed, &accepted, facts)
        }
        (_, Some(contribution)) => programmed(object, contribution, decided, before, facts),
        (_, None) => nothing(Type::Programmed, object, facts),
    };
    let effective = match (&withdrawal, contribution) {
        (_, Some(contribution)) => {
            let written = facts.env.tree.as_deref();
            let tree = if programmed.status == Status::True { written } else { facts.desired().or(written) };
            effective(contribution, tree, facts)
        }
        (Some(withdrawal), None) => {
            Finding { status: Status::Unknown, ..withdrawal.finding(Type::Effective, &accepted, facts) }
        }
        (None, None) => nothing(Type::Effective, object, facts),
    };
    let confirmed = contribution.is_none_or(|it| runs(entry, it, decided, facts));
    let unconfirmed = (programmed.status == Status::True && !confirmed).then_some(facts.target.loaded);
    let ready = match (&withdrawal, &object.outcome) {
        (Some(withdrawal), _) => withdrawal.finding(Type::Ready, &accepted, facts),
        (None, Err(refusal)) if is_late(refusal) => ended(object, refusal, facts),
        // Condition Loaded of the YuniKornConfig already reports the scheduler's state, but the object is not
        // ready without it.
        _ => {
            let chain = [&accepted, &programmed, &effective].into_iter().chain(unconfirmed);
            Finding::summary(chain, || facts.ready.clone())
        }
    };
    let in_force = match (contribution, programmed.status) {
        _ if withdrawal.is_some() => entry.in_force.clone(),
        (_, Status::True) if is_valid(object) && (before.is_none() || outdated.is_some()) => {
            contribution.map(|contribution| contribution.in_force().into())
        }
        _ if contribution.is_none() => None,
        _ => entry.in_force.clone(),
    };
    let takes = takes && object.outcome.is_ok() && ready.status == Status::True;
    let (submit, admin) = columns(object, facts.aliased());
    let active = match (&withdrawal, &object.outcome) {
        (Some(Withdrawal { by: GrantedBy::PerhapsRunning, .. }), _) => Status::Unknown,
        (Some(_), _) => Status::True,
        (None, Err(refusal)) if is_late(refusal) => Status::False,
        (None, _) => Status::of(in_force.is_some()),
    };
    let end = object.outcome.as_ref().ok().and_then(|contribution| contribution.expires_at);
    Report {
        status: QueueAclStatus { submit, admin, active: active.as_str().into(), in_force },
        takes,
        expiring: end.filter(|end| is_news(entry, *end, facts)),
        findings: [accepted, programmed, effective, ready],
    }
}

/// Returns the columns of an object's status, submit and admin: the names in force, or else the requested
/// ones.
fn columns(object: &Resolved<'_>, aliased: &Aliased) -> (String, String) {
    let QueueAclEntry { spec, in_force, .. } = object.entry;
    let late = object.outcome.as_ref().err().is_some_and(is_late);
    // A suspended object may replace the base's ACL, for nobody.
    let in_place = object.contribution().filter(|_| !late);
    let set = |acl: Option<&Acl>| acl.map_or_else(|| "-".to_owned(), |acl| people(acl, aliased));
    let remembered = |right| in_force.as_ref().map(|memory| set(memory.acl(right).as_ref()));
    let [submit, admin] = Right::ALL.map(|right| match (in_place, spec) {
        (Some(contribution), _) => set(contribution.grant(right)),
        (None, Ok(spec)) => {
            let grant = if right == Right::Submit { &spec.submit } else { &spec.admin };
            match grant.as_ref().map(|grant| grant_acl(grant).0) {
                Some(None) => remembered(right).unwrap_or_else(|| "invalid".to_owned()),
                asked => set(asked.flatten().as_ref()),
            }
        }
        (None, Err(_)) => remembered(right).unwrap_or_default(),
    });
    (submit, admin)
}

/// Returns whether an object is valid and outside its time, or suspended.
fn is_late(refusal: &ObjectRefusal) -> bool {
    matches!(refusal.reason, Reason::Expired | Reason::NotYetValid | Reason::Suspended)
}

fn is_valid(object: &Resolved<'_>) -> bool {
    object.outcome.as_ref().err().is_none_or(is_late)
}

/// Condition `Ready` of an object outside its time of which nothing is known to be left. The end is reported
/// if it was reported before, or once the scheduler is known to run the text in force and that text grants
/// nothing more on the queue than it should: otherwise, the grant of a version that no status remembers may
/// be left.
fn ended(object: &Resolved<'_>, refusal: &ObjectRefusal, facts: &AclFacts<'_>) -> Finding {
    let target = &facts.target;
    let reported = was_ready(object.entry, refusal.reason) || is_planted(PlantedFault::UnprovenEnd);
    let seen = match &facts.target.context.read.runs {
        SchedulerQueues::InForce => true,
        SchedulerQueues::Other { .. } => reported,
        SchedulerQueues::Unknown => false,
    };
    if !seen {
        return Finding { type_: Type::Ready, ..target.loaded.clone() };
    }
    let more = facts.env.tree.as_deref().zip(object.lapsed.as_deref());
    if !reported && more.is_some_and(|(tree, lapsed)| exceeds(tree, lapsed, facts)) {
        return Finding { type_: Type::Ready, ..target.not_programmed() };
    }
    let none = if object.contribution().is_some() { "it grants nothing" } else { "nothing of it is" };
    let mut message = format!("{}; {none} in {}", refusal.message, facts.source);
    if target.loaded.reason == Reason::NotVerified {
        message = format!("{message}; {}", target.loaded.message);
    }
    Finding::yes(Type::Ready, refusal.reason, message)
}

/// Returns whether the status has `Ready=True` for this generation, with this reason.
fn was_ready(entry: &QueueAclEntry, reason: Reason) -> bool {
    let Meta { conditions, generation, .. } = &entry.meta;
    let ready = current(conditions, Type::Ready);
    ready.is_some_and(|was| was.status == Status::True && was.reason == reason)
        && conditions.iter().all(|condition| condition.observed_generation == *generation)
}

/// `Programmed` or `Effective` of an object that grants nothing, and has no former grants left.
fn nothing(type_: Type, object: &Resolved<'_>, facts: &AclFacts<'_>) -> Finding {
    let message = format!("nothing of it is in {}", facts.source);
    match &object.outcome {
        Err(refusal) if type_ == Type::Programmed && is_late(refusal) => {
            Finding::yes(type_, Reason::Programmed, message)
        }
        Err(refusal) => Finding::no(type_, refusal.reason, message),
        Ok(_) => Finding::no(type_, Reason::Pending, message),
    }
}

/// Condition `Programmed` of an object that has no remaining former grants.
fn programmed(
    object: &Resolved<'_>,
    contribution: &Contribution,
    decided: &[(Right, &AclDecision)],
    before: Option<&QueueAclInForce>,
    facts: &AclFacts<'_>,
) -> Finding {
    let holds = holds(facts.env.tree.as_deref(), contribution, decided, facts);
    // Without a text that should be in force only the version that was written before is known to be there as
    // it is.
    let known = facts.desired().is_some() || before.is_some_and(|before| contribution.grants(before));
    if holds && known {
        let valid = is_valid(object);
        return if valid { facts.programmed.clone() } else { super::programmed(facts.source, valid) };
    }
    let no = facts.target.not_programmed();
    if holds && before.is_some() {
        let message = format!("another version of it is live; {}", no.message);
        return Finding { message: message.into(), ..no };
    }
    no
}

/// A former grant of an object that neither the object nor anything else grants any more.
struct Withdrawal<'a> {
    /// The text that still grants it.
    by: GrantedBy<'a>,
    /// The people who still have it, in words.
    left: String,
}

/// A text that grants more than it should.
enum GrantedBy<'a> {
    /// A written text, as messages name it: the text in force, or the one that `binaryData` hides.
    Written(&'a str),
    /// The text that the scheduler runs.
    Running,
    /// Perhaps the text that the scheduler runs.
    PerhapsRunning,
}

impl<'a> Withdrawal<'a> {
    /// Returns the former grants that remain, or may remain; `None` if there are none.
    fn find(
        object: &Resolved<'_>,
        former: &QueueAclInForce,
        was_written: bool,
        facts: &AclFacts<'a>,
    ) -> Option<Self> {
        let ends = object.contribution().is_none();
        if is_planted(PlantedFault::UnprovenEnd) && ends
            || is_planted(PlantedFault::UnwrittenNarrowing) && !ends
        {
            return None;
        }
        let withdrawn = withdrawn(former, facts);
        let found = |by, left: &dyn Fn(&Part) -> Option<String>| {
            let left: Vec<String> = withdrawn.iter().filter_map(left).collect();
            (!left.is_empty()).then(|| Self { by, left: left.join(" and ") })
        };
        let left = |by, tree| found(by, &|part| part.left(tree, former, facts.aliased()));
        let unknown = || {
            let all =
                || found(GrantedBy::PerhapsRunning, &|part| part.named(&part.acl, former, facts.aliased()));
            was_written.then(all).flatten()
        };
        // The output's own text, where `binaryData` hides it, is in force once that is removed.
        let read = &facts.target.context.read;
        let hidden = || read.env.shadow.as_ref().and_then(|_| read.current_tree());
        left(GrantedBy::Written(facts.source), facts.env.tree.as_deref())
            .or_else(|| left(GrantedBy::Written(facts.target.output), hidden()))
            .or_else(|| match &read.runs {
                SchedulerQueues::InForce => None,
                SchedulerQueues::Other { tree, reported } => {
                    let certain = facts.target.loaded.status == Status::False;
                    let by = if certain { GrantedBy::Running } else { GrantedBy::PerhapsRunning };
                    left(by, Some(tree)).or_else(|| if *reported { None } else { unknown() })
                }
                SchedulerQueues::Unknown => unknown(),
            })
    }

    fn finding(&self, type_: Type, accepted: &Finding, facts: &AclFacts<'_>) -> Finding {
        let first = match (accepted.status, accepted.reason) {
            (Status::True, Reason::Accepted) => "it grants less than before",
            _ => &accepted.message,
        };
        let (left, loaded) = (&self.left, &facts.target.loaded.message);
        let (status, rest) = match self.by {
            GrantedBy::Written(text) => {
                (Status::False, format!("still in {text}: {left}, because {}", facts.target.why()))
            }
            GrantedBy::Running => {
                (Status::False, format!("the scheduler still runs a text that grants it: {left}; {loaded}"))
            }
            GrantedBy::PerhapsRunning => (
                Status::Unknown,
                format!(
                    "it is not known whether the scheduler still runs a text that grants it: {left}; {loaded}"
                ),
            ),
        };
        Finding { status, ..Finding::no(type_, Reason::WithdrawalPending, format!("{first}; {rest}")) }
    }
}

/// One right of a withdrawal.
struct Part {
    right: Right,
    /// The people who lose it.
    acl: Acl,
    /// The people who get the right from the objects and the base, on the queue or above.
    granted: Acl,
}

impl Part {
    /// Returns the people who still get the right from a text, in words.
    fn left(&self, tree: Option<&Config>, former: &QueueAclInForce, aliased: &Aliased) -> Option<String> {
        let queue = queue_of(tree, &former.partition, &QueuePath::parse(&former.queue).ok()?)?;
        self.named(&acl_of(queue, self.right).lost(&self.granted).intersection(&self.acl), former, aliased)
    }

    fn named(&self, acl: &Acl, former: &QueueAclInForce, aliased: &Aliased) -> Option<String> {
        let right = self.right.field();
        (!acl.is_nobody()).then(|| format!("{right} to {} on queue `{}`", people(acl, aliased), former.queue))
    }
}

/// Returns, right by right, the grants of a former version of an object that the base and the objects no
/// longer make.
fn withdrawn(former: &QueueAclInForce, facts: &AclFacts<'_>) -> Vec<Part> {
    let Ok(queue) = QueuePath::parse(&former.queue) else { return Vec::new() };
    let set = Right::ALL.into_iter().filter_map(|right| Some((right, former.acl(right)?)));
    set.map(|(right, acl)| {
        let granted = granted(&former.partition, &queue, right, facts);
        Part { right, acl: acl.lost(&granted), granted }
    })
    .filter(|part| !part.acl.is_nobody())
    .collect()
}

/// Returns the people who hold a right on a queue or above it by the desired text, or without one by the
/// objects alone.
fn granted(partition: &str, queue: &QueuePath, right: Right, facts: &AclFacts<'_>) -> Acl {
    let own = |path: &QueuePath| match facts.desired() {
        Some(_) => queue_of(facts.desired(), partition, path).map(|queue| acl_of(queue, right)),
        None => facts.granted.get(partition, path, right).map(|decided| decided.acl.clone()),
    };
    queue.lineage().filter_map(|path| own(&path)).fold(Acl::nobody(), |all, own| all.union(&own))
}

fn queue_of<'t>(tree: Option<&'t Config>, partition: &str, queue: &QueuePath) -> Option<&'t Queue> {
    tree?.partition(partition)?.queue(queue)
}

/// Condition `Accepted`; `takes` are the decisions about its queue that take access from someone.
fn accepted(object: &Resolved<'_>, takes: &[(Right, &AclDecision)], facts: &AclFacts<'_>) -> Finding {
    let contribution = match &object.outcome {
        Err(refusal) if is_late(refusal) => {
            return Finding::yes(Type::Accepted, refusal.reason, refusal.message.clone());
        }
        Err(refusal) => return Finding::no(Type::Accepted, refusal.reason, refusal.message.clone()),
        Ok(contribution) => contribution,
    };
    let mut message = String::with_capacity(MESSAGE);
    message.push_str("grants");
    for (separator, (right, acl)) in iter::once(" ").chain(iter::repeat(", ")).zip(contribution.acls()) {
        push(&mut message, &[separator, right.field(), " to "]);
        push_people(&mut message, acl, facts.aliased());
    }
    push(&mut message, &[" on queue `", contribution.queue.as_str(), "`"]);
    if let Some(end) = contribution.expires_at {
        message.push_str(&until(end, facts));
    }
    for (right, acl) in taken(takes) {
        message.push_str("; ");
        push_taken(&mut message, right, acl, facts.aliased());
    }
    Finding::yes(Type::Accepted, Reason::Accepted, with_warnings(message, &object.warnings))
}

/// Returns the words about an end. They change once: when it is near, while grants end at all.
fn until(end: Timestamp, facts: &AclFacts<'_>) -> String {
    let near =
        !facts.target.only_observes() && end.duration_since(facts.target.context.read.snapshot.now) <= NEAR;
    format!(" until {}{}", in_words(end), if near { IS_NEAR } else { "" })
}

/// Returns whether an end is near, and the status of the object has not reported it yet.
fn is_news(entry: &QueueAclEntry, end: Timestamp, facts: &AclFacts<'_>) -> bool {
    let words = until(end, facts);
    let was = find(&entry.meta.conditions, Type::Accepted);
    words.ends_with(IS_NEAR) && !was.is_some_and(|was| was.message.contains(&words))
}

/// Returns the people who have access by the base's own ACLs of the queue and lose it.
fn taken<'d>(decided: &[(Right, &'d AclDecision)]) -> impl Iterator<Item = (Right, &'d Acl)> {
    let taken = decided.iter().map(|(right, decided)| (*right, &decided.taken));
    taken.filter(|(_, taken)| !taken.is_nobody())
}

fn push_taken(text: &mut String, right: Right, acl: &Acl, aliased: &Aliased) {
    push(text, &["the base's own ", right.key(), " of the queue gives way, which takes it from "]);
    push_people(text, acl, aliased);
}

/// Returns the people who lose access by [`taken`], in words.
pub(crate) fn taken_in_words(decided: &[(Right, &AclDecision)], aliased: &Aliased) -> String {
    let mut text = String::new();
    for (separator, (right, acl)) in iter::once("").chain(iter::repeat("; ")).zip(taken(decided)) {
        text.push_str(separator);
        push_taken(&mut text, right, acl, aliased);
    }
    text
}

/// Returns the people who gain or lose a right between two versions of an object, or have it for longer or
/// for less time, in words.
pub(crate) fn changed_in_words(before: &QueueAclInForce, now: &QueueAclInForce, aliased: &Aliased) -> String {
    let mut text = String::new();
    let same = (&before.partition, &before.queue) == (&now.partition, &now.queue);
    let [old_end, new_end] =
        [before, now].map(|version| Some(Period { from: None, until: version.expires_at }));
    let moved = if is_later(now.expires_at, before.expires_at) { "extends" } else { "shortens" };
    let gains = Periods { before: None, after: new_end };
    let (loses, stays) =
        (Periods { before: old_end, after: None }, Periods { before: old_end, after: new_end });
    for right in Right::ALL {
        let [old, new] = [before, now].map(|version| version.acl(right).unwrap_or_default());
        let kept = if same && old_end != new_end { old.intersection(&new) } else { Acl::nobody() };
        let (gained, lost) = if same { (new.lost(&old), old.lost(&new)) } else { (new, old) };
        for (verb, to, acl, version, periods) in [
            ("grants", " to ", gained, now, gains),
            (moved, " of ", kept, now, stays),
            ("takes", " from ", lost, before, loses),
        ] {
            if !acl.is_nobody() {
                let separator = if text.is_empty() { "" } else { "; " };
                push(&mut text, &[separator, verb, " ", right.field(), to]);
                push_people(&mut text, &acl, aliased);
                let colon = if periods.is_moved() { ":" } else { "" };
                push(&mut text, &[" on queue `", &version.queue, "`", colon, &periods.to_string()]);
            }
        }
    }
    if text.is_empty() { "changes no names".to_owned() } else { text }
}

/// Returns whether an end is later than another one. A right without an end lasts longest.
fn is_later(end: Option<Timestamp>, than: Option<Timestamp>) -> bool {
    than.is_some_and(|than| end.is_none_or(|end| than < end))
}

/// Returns whether `tree` contains the decision about the contribution's queue. If nothing could be rendered,
/// returns whether it grants at least what the object grants.
fn holds(
    tree: Option<&Config>,
    contribution: &Contribution,
    decided: &[(Right, &AclDecision)],
    facts: &AclFacts<'_>,
) -> bool {
    let Some(queue) = tree.and_then(|tree| contribution.queue_in(tree)) else { return false };
    decided.iter().all(|(right, decided)| {
        let desired = facts.desired().filter(|_| !is_planted(PlantedFault::UnwrittenNarrowing));
        match (desired, contribution.grant(*right)) {
            (Some(_), _) => decided.is_acl_of(queue, *right),
            (None, Some(grant)) => acl_of(queue, *right).contains(grant),
            (None, None) => true,
        }
    })
}

/// Returns whether the scheduler is known to run the object's grants. An object stays ready because of a text
/// that the scheduler was known to run and does not report now, but does not become ready because of it.
fn runs(
    entry: &QueueAclEntry,
    contribution: &Contribution,
    decided: &[(Right, &AclDecision)],
    facts: &AclFacts<'_>,
) -> bool {
    match &facts.target.context.read.runs {
        _ if is_planted(PlantedFault::UnprovenReady) => true,
        SchedulerQueues::InForce => true,
        SchedulerQueues::Unknown => false,
        SchedulerQueues::Other { tree, reported } => {
            (*reported || was_ready(entry, Reason::Ready))
                && holds(Some(tree), contribution, decided, facts)
                && !exceeds(tree, contribution, facts)
                && !is_redundant(tree, contribution)
        }
    }
}

/// Returns whether `tree` grants anything on the contribution's queue that should not be in force: an earlier
/// version of the object may have set a right that this one leaves alone.
fn exceeds(tree: &Config, contribution: &Contribution, facts: &AclFacts<'_>) -> bool {
    let Contribution { partition, queue: path, .. } = contribution;
    let queue = contribution.queue_in(tree).filter(|_| facts.desired().is_some());
    queue.is_some_and(|queue| {
        let more = |right| acl_of(queue, right).lost(&granted(partition, path, right, facts));
        Right::ALL.into_iter().any(|right| !more(right).is_nobody())
    })
}

/// Returns whether none of the contribution's rights changes anything in `tree`.
fn is_redundant(tree: &Config, contribution: &Contribution) -> bool {
    contribution.acls().all(|(right, _)| redundant(tree, contribution, right).is_some())
}

fn effective(contribution: &Contribution, tree: Option<&Config>, facts: &AclFacts<'_>) -> Finding {
    if facts.env.source == TextSource::BuiltIn
        && facts.env.tree.as_ref().is_some_and(|tree| crate::grants::contribution::open_root(tree).is_some())
    {
        let message = "YuniKorn runs its built-in default now, which lets everyone submit to every queue";
        return Finding::no(Type::Effective, Reason::DefaultConfigActive, message);
    }
    if !contribution.left_out.is_nobody() {
        let message = dropped(
            &contribution.left_out,
            facts.aliased(),
            facts.target.context.resolved.no_aliases.as_deref().unwrap_or_default(),
        );
        return Finding::no(Type::Effective, Reason::IdentityWebhookMissing, message);
    }
    let Some(tree) = tree else {
        return Finding::unknown(
            Type::Effective,
            Reason::ConfigNotReady,
            "there is no queue tree to decide by",
        );
    };
    let texts = without_effect(tree, contribution);
    if !texts.is_empty() && texts.len() == contribution.acls().count() {
        return Finding::no(Type::Effective, Reason::AncestorAllowsEveryone, texts.join("; "));
    }
    if texts.is_empty() {
        return facts.effective.clone();
    }
    let message = format!("{}; but {}", facts.effective.message, texts.join("; "));
    Finding { message: message.into(), ..facts.effective.clone() }
}

/// For each right of the contribution that changes nothing in `tree`, why.
pub(crate) fn without_effect(tree: &Config, contribution: &Contribution) -> Vec<String> {
    let redundant = contribution.acls().filter_map(|(right, _)| {
        let (by, through) = redundant(tree, contribution, right)?;
        let (right, through) = (right.field(), through.key());
        Some(format!("{right} changes nothing, because {through} of queue `{by}` lets everyone in"))
    });
    redundant.collect()
}

/// Returns whether the object was not ready only because the scheduler was not known to run it.
fn is_unconfirmed(meta: &Meta) -> bool {
    let held = |type_| find(&meta.conditions, type_).map(|was| was.status == Status::True);
    // All but `Loaded`.
    let own = [Type::Accepted, Type::Programmed, Type::Effective];
    own.into_iter().all(|type_| held(type_) == Some(true)) && held(Type::Ready) == Some(false)
}

/// Returns the people who lose access when a contribution ends, in words.
fn ending(
    evaluation: &Evaluation<'_>,
    contribution: &Contribution,
    end: Timestamp,
    all: &[Attribution],
) -> String {
    let Contribution { partition, queue, .. } = contribution;
    let base = evaluation.context.read.from.as_ref().map(|base| &*base.tree);
    let by_right = Right::ALL.map(|right| {
        let acl = contribution.grant(right)?;
        Some(acl.lost(&left(all, base, (partition, queue, right), end)))
    });
    let lost = Contribution { by_right, ..contribution.clone() };
    changed_in_words(&lost.in_force(), &lost.closing().in_force(), &evaluation.context.resolved.aliased)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::BaseAcl;

    #[test]
    fn who_gains_and_who_loses_is_reported() {
        let version = |queue: &str, submit: &str, admin: Option<&str>| QueueAclInForce {
            partition: "default".to_owned(),
            queue: queue.to_owned(),
            submit: Some(submit.to_owned()),
            admin: admin.map(str::to_owned),
            base_acl: BaseAcl::default(),
            expires_at: None,
            delegated_by: None,
        };
        let before = version("root.a", "ann,bob devs", None);
        for (now, expected) in [
            (
                version("root.a", "ann,sue devs", Some(" ops")),
                "grants submit to user sue on queue `root.a`; takes submit from user bob on queue `root.a`; \
                 grants admin to group ops on queue `root.a`",
            ),
            (
                version("root.b", "ann", None),
                "grants submit to user ann on queue `root.b`; takes submit from users ann, bob and group devs \
                 on queue `root.a`",
            ),
            (version("root.a", "*", None), "grants submit to everyone on queue `root.a`"),
            (before.clone(), "changes no names"),
        ] {
            assert_eq!(changed_in_words(&before, &now, &Aliased::default()), expected);
        }
    }

    #[test]
    fn another_end_is_reported_for_those_who_stay() {
        let version = |submit: &str, expires_at: Option<&str>| QueueAclInForce {
            partition: "default".to_owned(),
            queue: "root.a".to_owned(),
            submit: Some(submit.to_owned()),
            admin: None,
            base_acl: BaseAcl::Extend,
            expires_at: expires_at.map(|end| end.parse().unwrap()),
            delegated_by: None,
        };
        let (near, far) = (Some("2026-11-28T00:00:00Z"), Some("2026-12-04T00:00:00.5Z"));
        for (before, now, expected) in [
            (
                version("zoe", near),
                version("zoe", None),
                "extends submit of user zoe on queue `root.a`: until 2026-11-28T00:00:00Z → never",
            ),
            (
                version("zoe", far),
                version("zoe", near),
                "shortens submit of user zoe on queue `root.a`: until 2026-12-04T00:00:00Z → 2026-11-28T00:00:00Z",
            ),
            (
                version("zoe,bob", near),
                version("zoe,ann", far),
                "grants submit to user ann on queue `root.a` until 2026-12-04T00:00:00Z; extends submit of user zoe \
                 on queue `root.a`: until 2026-11-28T00:00:00Z → 2026-12-04T00:00:00Z; takes submit from user bob \
                 on queue `root.a`",
            ),
        ] {
            assert_eq!(changed_in_words(&before, &now, &Aliased::default()), expected);
        }
    }
}
