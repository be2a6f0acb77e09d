//! The desired mirror: for each ACL, a role with the queues it reaches and a binding with the people it
//! names.
//!
//! Every object slows down every request in the cluster, because Kubernetes' authorizer goes through all
//! `ClusterRoleBinding`s each time. The number of pairs is therefore limited to [`MAX_PAIRS`], and each
//! object fits into etcd's limit of 1.5 MiB.

use std::collections::{BTreeMap, BTreeSet};

use crate::snapshot::{MirrorContent, MirrorRule, MirrorSubject};
use yunikorn::Right;
use yunikorn::acl::Match;
use yunikorn::config::checksum;
use yunikorn_access::reach::{granted_on, reached_by};
use yunikorn_access::review::{ACCESS_GROUP, GROUP};
use yunikorn_access::{Node, QueueId, QueueSet, Tree};

/// The prefix of the names of all objects of the mirror.
pub(super) const PREFIX: &str = "queuewarden:mirror:";
/// Maximum number of roles with their bindings.
const MAX_PAIRS: usize = 1000;
/// Maximum total bytes of queue and subject names.
const MAX_BYTES: usize = 8 << 20;
/// Maximum bytes of queue names in one role, and of subject names in one binding. A role lists its queues
/// twice.
const PART_BYTES: usize = 200 << 10;
/// The bytes that a name needs in addition to itself: quotes, commas and, for a subject, its kind.
const NAME_BYTES: usize = 80;
/// The longest path that appears in the name of an object, in bytes.
const SHOWN_BYTES: usize = 180;
/// The group that represents an ACL's wildcard. It does not cover unauthenticated requests.
const EVERYONE: &str = "system:authenticated";

/// The verbs of the right to submit. `use` has the same meaning and is a verb that kubectl knows.
const MAY_SUBMIT: &[&str] = &["submit", "use"];
/// The verb of the right to administer.
const ADMINISTERS: &[&str] = &["administer"];

/// The desired roles and bindings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Desired {
    /// Roles with their bindings, by name.
    pub pairs: BTreeMap<String, RolePair>,
    /// The first ACL that does not fit, if any. It and all later ones are not mirrored.
    pub left_out: Option<String>,
}

/// A role and its binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RolePair {
    /// The rules of the role.
    pub rules: Vec<MirrorRule>,
    /// The subjects of the binding.
    pub subjects: BTreeSet<MirrorSubject>,
}

/// Returns the mirror of a partition. While the scheduler is not yet known to run `tree`, the mirror only
/// grants what `running` grants too.
pub(super) fn from_trees(tree: &Tree, running: Option<&Tree>) -> Desired {
    let running = running.map(|running| Running::new(tree, running));
    let mut desired = Desired::default();
    let mut bytes = 0_usize;
    for (id, node) in tree.queues() {
        for acl in Right::ALL {
            for (number, pair) in (1..).zip(pairs(tree, id, node, acl, running.as_ref())) {
                bytes = bytes.saturating_add(pair.bytes());
                if desired.pairs.len() >= MAX_PAIRS || bytes > MAX_BYTES {
                    desired.left_out = Some(format!("the {} of queue `{}`", acl.key(), node.path));
                    return desired;
                }
                desired.pairs.insert(name(node, acl, number), pair);
            }
        }
    }
    desired
}

/// Returns an ACL in as few pairs as possible: a single pair if it is small and the scheduler runs it.
fn pairs(tree: &Tree, id: QueueId, node: &Node, acl: Right, running: Option<&Running<'_>>) -> Vec<RolePair> {
    let mut found = Vec::new();
    for (reached, subjects) in shares(tree, id, node, acl, running) {
        for (verbs, queues) in verbs(&reached) {
            let names = queues.iter().filter_map(|number| tree.node(QueueId::new(number)));
            let names = parts(names.map(|node| node.path.as_str().to_owned()), String::len);
            for (names, subjects) in names.iter().flat_map(|names| subjects.iter().map(move |of| (names, of)))
            {
                let subjects = subjects.iter().cloned().collect();
                found.push(RolePair { rules: rules(names, &verbs), subjects });
            }
        }
    }
    found
}

/// The queues where an entry grants submission, and the queues where it grants administration.
type Reached = [QueueSet; 2];
/// The ranges of both sets, as a sortable key.
type Ranges = Vec<(u32, u32)>;

/// Splits the entries of an ACL into parts of limited size, with the queues where they hold each right. The
/// queues are the same for all entries unless the scheduler runs a different text.
fn shares(
    tree: &Tree,
    id: QueueId,
    node: &Node,
    acl: Right,
    running: Option<&Running<'_>>,
) -> Vec<(Reached, Vec<Vec<MirrorSubject>>)> {
    let granted = Right::ALL.map(|right| {
        if right.acls().contains(&acl) { granted_on(tree, right, id) } else { QueueSet::default() }
    });
    let mut alike: BTreeMap<Ranges, (Reached, Vec<MirrorSubject>)> = BTreeMap::new();
    for entry in node.grants(acl).acl.entries() {
        let reached = match running {
            None => granted.clone(),
            Some(running) => {
                let [submit, admin] = &granted;
                [running.too(Right::Submit, entry, submit), running.too(Right::Admin, entry, admin)]
            }
        };
        let key = reached.iter().flat_map(|set| {
            let ranges = set.ranges().iter().map(|range| (range.start, range.end));
            // An impossible range separates the two sets.
            ranges.chain([(1, 0)])
        });
        let (_, subjects) = alike.entry(key.collect()).or_insert_with(|| (reached, Vec::new()));
        subjects.push(subject(tree.real(entry)));
    }
    let in_parts = |subjects: Vec<MirrorSubject>| parts(subjects.into_iter(), |subject| subject.name().len());
    alike.into_values().map(|(reached, subjects)| (reached, in_parts(subjects))).collect()
}

/// Returns the verbs with their queues. Empty sets are omitted, because a rule without names would mean all
/// queues.
fn verbs([submit, admin]: &Reached) -> Vec<(Vec<&'static str>, QueueSet)> {
    let mut found = if submit == admin {
        vec![([ADMINISTERS, MAY_SUBMIT].concat(), submit.clone())]
    } else {
        vec![(ADMINISTERS.to_vec(), admin.clone()), (MAY_SUBMIT.to_vec(), submit.clone())]
    };
    found.retain(|(_, queues)| !queues.is_empty());
    found
}

/// The rules for these queues: one for a resource that the API server knows, and one for the request that
/// kubectl sends if it does not, with the typed name as a resource of the empty group.
fn rules(queues: &[String], verbs: &[&str]) -> Vec<MirrorRule> {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let typed = [ACCESS_GROUP, GROUP].map(|group| format!("queues.{group}"));
    let rule =
        |groups, resources| MirrorRule { groups, resources, names: queues.to_vec(), verbs: owned(verbs) };
    vec![rule(owned(&[ACCESS_GROUP, GROUP]), owned(&["queues"])), rule(owned(&[""]), typed.to_vec())]
}

/// Returns whether a role contains only rules that the mirror writes.
pub(super) fn wrote(role: &MirrorContent) -> bool {
    let all = [ADMINISTERS, MAY_SUBMIT].concat();
    let MirrorContent::Role(role) = role else { return false };
    role.iter().all(|rule| {
        let possible = rules(&rule.names, &all);
        let within = |other: &MirrorRule| other.groups == rule.groups && other.resources == rule.resources;
        possible.iter().any(within) && rule.verbs.iter().all(|verb| all.contains(&verb.as_str()))
    })
}

/// Splits the items, in order, into as few lists as possible, each of them within the limits and not empty.
fn parts<T>(items: impl Iterator<Item = T>, len: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut parts: Vec<Vec<T>> = Vec::new();
    let mut room = 0_usize;
    for item in items {
        let bytes = len(&item).saturating_add(NAME_BYTES);
        if let Some(last) = parts.last_mut().filter(|_| bytes <= room) {
            last.push(item);
            room = room.saturating_sub(bytes);
        } else {
            parts.push(vec![item]);
            room = PART_BYTES.saturating_sub(bytes);
        }
    }
    parts
}

/// `queuewarden:mirror:submit:root.prod`, and `…~2` if a single object is not enough. RBAC accepts any name
/// that is valid in a path. A queue path that is not valid or too long is replaced by its hash. `~` does not
/// occur in queue names.
fn name(node: &Node, acl: Right, number: u32) -> String {
    let path = node.path.as_str();
    let readable = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._@:-".contains(&byte);
    let shown = if path.len() <= SHOWN_BYTES && path.bytes().all(readable) {
        path.to_owned()
    } else {
        format!("~{}", checksum(path).to_ascii_lowercase())
    };
    let part = if number > 1 { format!("~{number}") } else { String::new() };
    format!("{PREFIX}{}:{shown}{part}", acl.verb())
}

fn subject(entry: Match<'_>) -> MirrorSubject {
    match entry {
        Match::Everyone => MirrorSubject::Group(EVERYONE.to_owned()),
        Match::User(user) => MirrorSubject::User(user.to_owned()),
        Match::Group(group) => MirrorSubject::Group(group.to_owned()),
    }
}

impl RolePair {
    fn bytes(&self) -> usize {
        let queues = self.rules.iter().flat_map(|rule| &rule.names).map(String::len);
        let subjects = self.subjects.iter().map(|subject| subject.name().len());
        queues.chain(subjects).fold(0, |sum, len| sum.saturating_add(len).saturating_add(NAME_BYTES))
    }
}

/// The text that the scheduler was last known to run.
struct Running<'t> {
    tree: &'t Tree,
    /// For each queue of the other tree, the queue of this tree whose ACLs apply.
    queues: Vec<Option<QueueId>>,
}

impl<'t> Running<'t> {
    fn new(tree: &Tree, running: &'t Tree) -> Self {
        let queues = tree.queues().map(|(_, node)| running.locate(node.path.as_str()).decides());
        Self { tree: running, queues: queues.collect() }
    }

    /// Returns the subset of queues where an entry holds a right here as well, by itself or because everyone
    /// does.
    fn too(&self, right: Right, entry: Match<'_>, queues: &QueueSet) -> QueueSet {
        let reach = [entry, Match::Everyone].map(|entry| reached_by(self.tree, right, entry));
        let here = |number: &u32| {
            let queue = QueueId::new(*number).index();
            let queue = self.queues.get(queue).copied().flatten();
            queue.is_some_and(|queue| reach.iter().any(|reached| reached.contains(queue.number())))
        };
        QueueSet::new(queues.iter().filter(here).map(|number| number..number.saturating_add(1)).collect())
    }
}
