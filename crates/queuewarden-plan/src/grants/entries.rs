//! Finds every entry that names a user or a group, whether in force or not, for example for a person who
//! leaves: in `QueueAcl`s, in the base, in the text in force, and in the lists of the admission controller.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::conditions::{Status, Type, find as condition};
use crate::effective::{acl_of, merged};
use crate::grants::resolve::diagnostics;
use crate::grants::{attribution, grant_acl, joined, policy};
use crate::snapshot::{
    AdmissionPolicySpec, Grant, Phase, PolicyEntry, QueueAclEntry, QueueAclSpec, Snapshot,
};
use go_compat::diag::Span;
use go_compat::go_regex::GoRegex;
use yunikorn::acl::Match;
use yunikorn::admission::{EXTERNAL_GROUPS, PatternList};
use yunikorn::{Acl, Config, QueuePath, Right};
use yunikorn_access::Origin;
use yunikorn_access::alias::{self, Kind};
use yunikorn_access::subject::Subject;

/// The users and groups to look for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// The users, by their exact names.
    pub users: BTreeSet<String>,
    /// The groups, by their exact names.
    pub groups: BTreeSet<String>,
}

impl Names {
    /// Returns the name that an entry of an ACL grants to, directly or as an alias.
    fn named(&self, entry: Match<'_>) -> Option<Subject> {
        let user = |name: &&String| is_named(entry, Match::User(name), Kind::User);
        let group = |name: &&String| is_named(entry, Match::Group(name), Kind::Group);
        let user = self.users.iter().find(user).map(|name| Subject::User(name.clone()));
        user.or_else(|| self.groups.iter().find(group).map(|name| Subject::Group(name.clone())))
    }

    fn in_acl(&self, acl: &Acl) -> impl Iterator<Item = Subject> {
        acl.entries().filter_map(|entry| self.named(entry))
    }

    /// Returns an ACL without these names.
    #[must_use]
    pub fn taken_from(&self, acl: &Acl) -> Acl {
        let kept = |entry: &Match<'_>| self.named(*entry).is_none();
        if acl.is_everyone() || acl.entries().all(|entry| kept(&entry)) {
            return acl.clone();
        }
        let users: Vec<&str> = acl.entries().filter(kept).filter_map(Match::user).collect();
        let groups: Vec<&str> = acl.entries().filter(kept).filter_map(Match::group).collect();
        // Names in an ACL can all be held by an ACL.
        Acl::named(&users, &groups).unwrap_or_default()
    }
}

fn is_named(entry: Match<'_>, name: Match<'_>, kind: Kind) -> bool {
    let aliased = |name| !kind.is_plain(name) && entry.group() == Some(&alias::alias(kind, name));
    entry == name || name.user().or_else(|| name.group()).is_some_and(aliased)
}

/// Returns whether a `QueueAcl` gives a right to no one.
pub fn grants_nobody(spec: &QueueAclSpec) -> bool {
    let nobody = |grant: &Grant| grant_acl(grant).0.is_some_and(|acl| acl.is_nobody());
    [&spec.submit, &spec.admin].into_iter().flatten().all(nobody)
}

/// An entry that names a user or a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name that it contains or matches.
    pub subject: Subject,
    /// The place of the entry.
    pub place: Place,
    /// Whether it is in force.
    pub state: State,
    /// When it ends.
    pub until: Option<Timestamp>,
}

/// The place of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A right that a `QueueAcl` gives.
    QueueAcl {
        /// The name of the object.
        name: String,
        /// The right, with its queue.
        of: OfQueue,
        /// Why it cannot be edited, and what to do.
        locked: Option<String>,
    },
    /// An ACL of the base.
    Base {
        /// The right, with its queue.
        of: OfQueue,
        /// The location in the text of the base.
        span: Option<Span>,
    },
    /// An ACL in the text in force that does not come from an object or the base.
    Text(OfQueue),
    /// An element of a list of an `AdmissionPolicy`.
    Policy {
        /// The name of the object.
        name: String,
        /// The field: `externalUsers`.
        field: &'static str,
        /// The element.
        element: String,
        /// Why it cannot be edited, and what to do.
        locked: Option<String>,
    },
    /// An element of a list in a ConfigMap of `YuniKorn` that no `AdmissionPolicy` wrote.
    ConfigMap {
        /// The name of the ConfigMap.
        name: String,
        /// The key.
        key: &'static str,
        /// The element.
        element: String,
    },
}

/// A right on a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfQueue {
    /// The partition.
    pub partition: String,
    /// The queue, as written.
    pub queue: String,
    /// The right.
    pub right: Right,
}

impl OfQueue {
    /// Returns whether it grants this right on this queue.
    pub fn is(&self, partition: &str, queue: &str, right: Right) -> bool {
        self.partition.eq_ignore_ascii_case(partition)
            && self.queue.eq_ignore_ascii_case(queue)
            && self.right == right
    }
}

impl Place {
    /// Returns whether the command line may edit it, which is the case if removing the name does not affect
    /// other names.
    pub fn is_editable(&self) -> bool {
        match self {
            Self::QueueAcl { locked, .. } | Self::Policy { locked, .. } => locked.is_none(),
            Self::Base { .. } | Self::Text(_) | Self::ConfigMap { .. } => false,
        }
    }
}

/// Whether an entry is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is.
    InForce,
    /// Not before this time.
    Planned(Timestamp),
    /// Not while the object is suspended.
    Suspended,
    /// Not any more.
    Expired,
    /// It is not, for this reason.
    NotInForce(String),
}

/// Finds the entries with these names. `base` holds the queues of the base, and `live` the queues of the text
/// in force; `None` if unknown.
pub fn find(snapshot: &Snapshot, base: Option<&Config>, live: Option<&Config>, names: &Names) -> Vec<Entry> {
    let mut found: Vec<Entry> =
        snapshot.queue_acls.iter().flat_map(|entry| in_queue_acl(entry, snapshot.now, names)).collect();
    let in_force = attribution::in_force(&snapshot.queue_acls);
    let replaced = |of: &OfQueue| {
        let same = |it: &&attribution::Attribution| of.is(&it.partition, it.queue.as_str(), it.right);
        let one = in_force.iter().find(same).filter(|one| !one.base_stays)?;
        Some(one.objects.iter().map(|part| format!("QueueAcl/{}", part.name)).collect::<Vec<_>>())
    };
    let mut accounted = BTreeSet::new();
    for (of, span, acl) in base.into_iter().flat_map(acls) {
        let replaced = replaced(&of);
        for subject in names.in_acl(&acl) {
            let state = match &replaced {
                None => State::InForce,
                Some(by) => State::NotInForce(format!("replaced by {}", by.join(", "))),
            };
            if state == State::InForce {
                accounted.insert(key(&of, &subject));
            }
            found.push(Entry { subject, place: Place::Base { of: of.clone(), span }, state, until: None });
        }
    }
    let by_objects = found.iter().filter_map(|entry| match (&entry.place, &entry.state) {
        (Place::QueueAcl { of, .. }, State::InForce) => Some(key(of, &entry.subject)),
        _ => None,
    });
    accounted.extend(by_objects.collect::<Vec<_>>());
    for (of, _, acl) in live.into_iter().flat_map(acls) {
        let others = names.in_acl(&acl).filter(|subject| !accounted.contains(&key(&of, subject)));
        let place = Place::Text(of.clone());
        let entry = |subject| Entry { subject, place: place.clone(), state: State::InForce, until: None };
        found.extend(others.map(entry));
    }
    let counting = policy::resolve(snapshot).counting;
    found.extend(snapshot.policies.iter().flat_map(|entry| in_policy(entry, counting.as_deref(), names)));
    found.extend(in_config_maps(snapshot, names));
    found
}

/// Returns the key that identifies entries of the same grant.
fn key(of: &OfQueue, subject: &Subject) -> (String, String, Right, Subject) {
    let OfQueue { partition, queue, right } = of;
    (partition.to_ascii_lowercase(), queue.to_ascii_lowercase(), *right, subject.clone())
}

/// Returns the ACLs of all queues, with their locations.
fn acls(config: &Config) -> impl Iterator<Item = (OfQueue, Option<Span>, Acl)> {
    config.partitions.iter().flat_map(|partition| {
        partition.queues().flat_map(|queue| {
            Right::ALL.map(|right| {
                let (partition, path) = (partition.name.to_string(), queue.path.to_string());
                (OfQueue { partition, queue: path, right }, queue.acl(right).span, acl_of(queue, right))
            })
        })
    })
}

fn in_queue_acl(entry: &QueueAclEntry, now: Timestamp, names: &Names) -> Vec<Entry> {
    // Without the name, an invalid object could become valid, and others would gain access through it.
    let problems = diagnostics(entry);
    let wrong = (!problems.is_empty()).then(|| joined(&problems));
    let found = |subject, of: &OfQueue, state: State, until| Entry {
        subject,
        place: Place::QueueAcl {
            name: entry.meta.name.to_string(),
            of: of.clone(),
            locked: wrong.as_ref().map(|wrong| format!("correct the object first: {wrong}")),
        },
        state,
        until,
    };
    let mut all = Vec::new();
    // The last valid version of an invalid object stays in force.
    if let (Some(_), Some(kept)) = (&wrong, &entry.in_force) {
        for right in Right::ALL {
            let of = OfQueue { partition: kept.partition.clone(), queue: kept.queue.clone(), right };
            let acl = kept.acl(right).unwrap_or_default();
            all.extend(
                names.in_acl(&acl).map(|subject| found(subject, &of, State::InForce, kept.expires_at)),
            );
        }
    }
    let Ok(spec) = &entry.spec else { return all };
    let queue = QueuePath::parse(&spec.queue).map_or_else(|_| spec.queue.clone(), |path| path.to_string());
    for (right, grant) in [(Right::Submit, &spec.submit), (Right::Admin, &spec.admin)] {
        let of = OfQueue { partition: spec.partition.clone(), queue: queue.clone(), right };
        let state = wrong.clone().map_or_else(|| state(entry, spec, now), State::NotInForce);
        let subjects = grant.iter().flat_map(|grant| subjects(grant, names));
        add_new(&mut all, subjects.map(|subject| found(subject, &of, state.clone(), spec.expires_at)));
    }
    all
}

/// Returns the names in a grant, including names that an ACL cannot hold.
fn subjects(grant: &Grant, names: &Names) -> Vec<Subject> {
    match grant {
        Grant::Everyone | Grant::Nobody => Vec::new(),
        Grant::Raw(_) => grant_acl(grant).0.map(|acl| names.in_acl(&acl).collect()).unwrap_or_default(),
        Grant::Lists { users, groups } => {
            let users = users.iter().filter(|name| names.users.contains(*name)).cloned().map(Subject::User);
            let groups = groups.iter().filter(|name| names.groups.contains(*name)).cloned();
            users.chain(groups.map(Subject::Group)).collect()
        }
    }
}

fn state(entry: &QueueAclEntry, spec: &QueueAclSpec, now: Timestamp) -> State {
    match (spec.phase(now), spec.not_before) {
        (Phase::Expired, _) => State::Expired,
        (Phase::Suspended, _) => State::Suspended,
        (Phase::Planned, Some(begin)) => State::Planned(begin),
        _ if entry.in_force.is_some() => State::InForce,
        _ => {
            let accepted = condition(&entry.meta.conditions, Type::Accepted);
            let refused = accepted.filter(|accepted| accepted.status != Status::True);
            State::NotInForce(refused.map_or_else(
                || "queuewarden has not written it".to_owned(),
                |refused| refused.message.clone(),
            ))
        }
    }
}

/// Adds the entries that are not already known from the version in force.
fn add_new(all: &mut Vec<Entry>, new: impl Iterator<Item = Entry>) {
    let is_new =
        |new: &Entry| !all.iter().any(|old| (&old.subject, &old.place) == (&new.subject, &new.place));
    let new: Vec<Entry> = new.filter(is_new).collect();
    all.extend(new);
}

fn in_policy(entry: &PolicyEntry, counting: Option<&str>, names: &Names) -> Vec<Entry> {
    let counts = match counting {
        Some(name) if *name == *entry.meta.name => State::InForce,
        Some(name) => State::NotInForce(format!("AdmissionPolicy/{name} is in force instead")),
        None => State::NotInForce("no AdmissionPolicy is in force".to_owned()),
    };
    let name = &entry.meta.name;
    // As with a QueueAcl, an invalid object is not edited, and its last valid version stays in force.
    match entry.spec.as_ref().map_err(Clone::clone).and_then(|spec| policy::keys(spec).map(|_| spec)) {
        Ok(spec) => in_lists(name, spec, &counts, None, names),
        Err(problems) => {
            let wrong = joined(&problems);
            let found = |spec, state| in_lists(name, spec, &state, Some(&wrong), names);
            let old = entry.in_force.iter();
            let mut all: Vec<Entry> = old.flat_map(|spec| found(spec, counts.clone())).collect();
            let new = entry.spec.iter();
            add_new(&mut all, new.flat_map(|spec| found(spec, State::NotInForce(wrong.clone()))));
            all
        }
    }
}

/// Finds the names in the lists of an `AdmissionPolicy`.
fn in_lists(
    name: &str,
    spec: &AdmissionPolicySpec,
    state: &State,
    wrong: Option<&String>,
    names: &Names,
) -> Vec<Entry> {
    let found = |subject, field, element: &str, is_exact: bool| {
        let shared = || (!is_exact).then(|| "it matches other names, too: change it".to_owned());
        let locked = wrong.map(|wrong| format!("correct the object first: {wrong}")).or_else(shared);
        let (name, element) = (name.to_owned(), element.to_owned());
        let place = Place::Policy { name, field, element, locked };
        Entry { subject, place, state: state.clone(), until: None }
    };
    let mut all = Vec::new();
    for (key, list) in spec.lists() {
        for element in list.into_iter().flatten() {
            let Ok(regex) = GoRegex::new(element) else { continue };
            all.extend(matched(key, &regex, names).map(|subject| {
                let is_exact = is_exact(element, &subject);
                found(subject, policy::field_of(key), element, is_exact)
            }));
        }
    }
    let operators = spec.user_info.iter().flat_map(|settings| &settings.operators);
    let operators = operators.filter(|operator| names.users.contains(*operator));
    all.extend(operators.map(|operator| found(Subject::User(operator.clone()), OPERATORS, operator, true)));
    all
}

/// The field of an `AdmissionPolicy` that lists accounts of operators.
pub const OPERATORS: &str = "userInfo.operators";

/// Returns the names that an expression of a list matches.
fn matched<'n>(key: &str, regex: &GoRegex, names: &'n Names) -> impl Iterator<Item = Subject> + use<'n> {
    let is_for_groups = key == EXTERNAL_GROUPS;
    let of_kind = if is_for_groups { &names.groups } else { &names.users };
    let subject = move |name: String| if is_for_groups { Subject::Group(name) } else { Subject::User(name) };
    let matching: Vec<String> = of_kind.iter().filter(|name| regex.is_match(name)).cloned().collect();
    matching.into_iter().map(subject)
}

/// Returns whether an expression is a single name between anchors. An unescaped dot is treated as part of the
/// name.
fn is_exact(element: &str, subject: &Subject) -> bool {
    let (Subject::User(name) | Subject::Group(name)) = subject else { return false };
    let inner = element.strip_prefix('^').and_then(|rest| rest.strip_suffix('$'));
    let inner = inner.map(|inner| inner.replace(r"\.", "."));
    inner.is_some_and(|inner| {
        inner == *name && name.chars().all(|c| c.is_alphanumeric() || "._@:-/#=, ".contains(c))
    })
}

/// Finds expressions in lists in a ConfigMap that do not come from an `AdmissionPolicy` in force.
fn in_config_maps(snapshot: &Snapshot, names: &Names) -> Vec<Entry> {
    let flat = merged(snapshot);
    let mut found = Vec::new();
    for (key, text, origin) in policy::settings_with_origins(snapshot, &flat) {
        let Origin::Object { kind: "ConfigMap", name, .. } = origin else { continue };
        let lists = AdmissionPolicySpec::default().lists().map(|(key, _)| key);
        if !lists.contains(&key) {
            continue;
        }
        let (list, _) = PatternList::read(key, Some(&text));
        for regex in list.patterns() {
            found.extend(matched(key, regex, names).map(|subject| Entry {
                subject,
                place: Place::ConfigMap { name: name.clone(), key, element: regex.as_str().to_owned() },
                state: State::InForce,
                until: None,
            }));
        }
    }
    found
}

/// Returns the `QueueAcl`s that one of the users has written as a delegate. They end when the user's right to
/// administer the queue ends.
pub fn delegated<'s>(snapshot: &'s Snapshot, names: &Names) -> Vec<&'s str> {
    let by = |entry: &&QueueAclEntry| {
        let writer = entry.spec.as_ref().ok().and_then(|spec| spec.delegated_by.as_ref());
        writer.is_some_and(|writer| names.users.contains(&writer.user))
    };
    snapshot.queue_acls.iter().map(|entry| &**entry).filter(by).map(|entry| &*entry.meta.name).collect()
}

/// Returns the objects that can be deleted without anyone gaining access. `widens` evaluates the deletion of
/// several objects. First it tries to delete all of them, then one after another.
///
/// # Errors
/// When `widens` fails.
pub fn deletable<T, E>(
    objects: Vec<T>,
    mut widens: impl FnMut(&[T]) -> Result<bool, E>,
) -> Result<Vec<T>, E> {
    if objects.is_empty() || !widens(&objects)? {
        return Ok(objects);
    }
    let mut deleted = Vec::new();
    for object in objects {
        deleted.push(object);
        if widens(&deleted)? {
            deleted.pop();
        }
    }
    Ok(deleted)
}
