//! Compares access before and after the import: for every subject, queue and right, by the source's rules and
//! by `YuniKorn`'s.
//!
//! The comparison parses the text that would be written, as `YuniKorn` does, and uses the same evaluator as
//! all other questions. For the source it uses [`Holders`]. Neither depends on the translation. Users are
//! checked without groups and groups without their members, because grants only add up: a user in a group has
//! the rights of both. An unnamed user represents everyone else, including any user who could be confused
//! with a named one.

use std::collections::{BTreeMap, BTreeSet};

use super::translate::{Came, Imported};
use super::yarn::{Granting, Holders, Source};
use super::{Location, codes};
use go_compat::diag::{Code, Diagnostic};
use schemars::JsonSchema;
use serde::Serialize;
use yunikorn::config::verdict;
use yunikorn::right::Right;
use yunikorn::version::Version;
use yunikorn_access::subject::Subject;
use yunikorn_access::{GrantingEntry, QueueId, Tree};

use super::names::Names;

/// Maximum number of comparisons.
const MAX_DECISIONS: usize = 2_000_000_000;

/// The result of a comparison, of queues or of Spark's applications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Its extent.
    pub compared: Compared,
    /// All differences: the wider ones first, then by subject, action and code.
    pub differences: Vec<Difference>,
}

/// The extent of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Compared {
    /// The number of queues; null for Spark.
    pub queues: Option<usize>,
    /// The number of users and groups, including everyone else.
    pub names: usize,
    /// The number of questions evaluated for each side.
    pub questions: usize,
}

/// Direction of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "AccessChange")]
pub enum Direction {
    /// More access than before.
    Wider,
    /// Less access than before.
    Narrower,
}

/// A difference for one subject and action, for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Wider or narrower.
    pub direction: Direction,
    /// The subject, as named in the source.
    pub subject: Subject,
    /// The same subject in Kubernetes.
    pub identity: Subject,
    /// The action that differs, as reviews spell it.
    pub verb: &'static str,
    /// The code of the reason.
    pub code: Code,
    /// The paths of the topmost queues in the source; empty for Spark.
    pub queues: Vec<String>,
    /// The number of queues, including the queues below; 0 for Spark.
    pub count: usize,
    /// The location of the entry that grants access, if the source has one.
    pub location: Option<Location>,
}

impl Proof {
    /// Sorts the differences, which arrive by subject, action and code.
    pub(super) fn new(compared: Compared, mut differences: Vec<Difference>) -> Self {
        differences.sort_by_key(|difference| difference.direction);
        Self { compared, differences }
    }
}

/// Runs the comparison, and periodically reports how many of how many subjects are done.
///
/// # Errors
/// Fails when `YuniKorn` would refuse the text, or when there is too much to compare.
pub fn prove(
    source: &Source,
    imported: &Imported,
    names: &Names,
    mut progress: impl FnMut(usize, usize),
) -> Result<Proof, Diagnostic> {
    let tree = tree_of(&imported.queues_yaml())?;
    let holders = Holders::new(source);
    let known = holders.subjects();
    let subjects = names.requested(&known);
    let (queues, names_count) = (source.queues.len(), subjects.len());
    let questions = queues.saturating_mul(names_count).saturating_mul(Right::ALL.len());
    if questions > MAX_DECISIONS {
        let message = format!("too many comparisons: {queues} queues times {names_count} names");
        return Err(Diagnostic::error(codes::TOO_MANY, message).help("import a part of the tree at a time"));
    }
    let ids: Vec<Option<QueueId>> = imported
        .of_source
        .iter()
        .map(|target| imported.queues.get((*target).ok()?).and_then(|queue| tree.find(&queue.path)))
        .collect();
    let comparison = Comparison { source, imported, tree: &tree, ids, named: known };
    let mut differences = Vec::new();
    for (done, subject) in subjects.iter().enumerate() {
        progress(done, subjects.len());
        let identity = names.identity(subject);
        for right in Right::ALL {
            let before = holders.reach(right, subject);
            comparison.compare(right, subject, &identity, &before, &mut differences);
        }
    }
    Ok(Proof::new(Compared { queues: Some(queues), names: names_count, questions }, differences))
}

/// Returns the tree that `YuniKorn` builds from the text.
pub(super) fn tree_of(text: &str) -> Result<Tree, Diagnostic> {
    let verdict = verdict(text, &[], Version::Unknown);
    let refusal = verdict.refusal();
    let partition = verdict.config.as_ref().and_then(|config| config.partition("default"));
    partition.and_then(|partition| Tree::new(partition).ok()).ok_or_else(|| {
        let why = refusal.unwrap_or_else(|| "it would not start".to_owned());
        Diagnostic::error(codes::UNEXPLAINED, format!("YuniKorn would refuse the queues: {why}"))
            .help("please report this, with the files")
    })
}

struct Comparison<'a> {
    source: &'a Source,
    imported: &'a Imported,
    tree: &'a Tree,
    ids: Vec<Option<QueueId>>,
    /// The subjects that the source names.
    named: BTreeSet<Subject>,
}

impl Comparison<'_> {
    fn compare(
        &self,
        right: Right,
        subject: &Subject,
        identity: &Subject,
        before: &[Option<Granting>],
        differences: &mut Vec<Difference>,
    ) {
        let found: Vec<Option<(Direction, Code, Option<Location>)>> = before
            .iter()
            .enumerate()
            .map(|(at, granting)| match (granting, self.after(right, at, identity)) {
                (Some(granting), false) => {
                    Some((Direction::Narrower, self.lost(at, *granting, subject), self.location(*granting)))
                }
                (None, true) => Some((Direction::Wider, self.gained(right, at, subject, identity), None)),
                (Some(_), true) | (None, false) => None,
            })
            .collect();
        let mut by_reason: BTreeMap<(Direction, Code), Difference> = BTreeMap::new();
        for (difference, queue) in found.iter().zip(&self.source.queues) {
            let Some((direction, code, location)) = difference else { continue };
            let entry = by_reason.entry((*direction, *code)).or_insert_with(|| Difference {
                direction: *direction,
                subject: subject.clone(),
                identity: identity.clone(),
                verb: right.verb(),
                code: *code,
                queues: Vec::new(),
                count: 0,
                location: *location,
            });
            entry.count = entry.count.saturating_add(1);
            let above = queue.parent.and_then(|above| found.get(above)?.as_ref());
            if above.is_none_or(|(other, why, _)| (other, why) != (direction, code)) {
                entry.queues.push(queue.path.clone());
            }
        }
        differences.extend(by_reason.into_values());
    }

    /// Returns whether `YuniKorn` gives the right.
    fn after(&self, right: Right, at: usize, identity: &Subject) -> bool {
        let Some(id) = self.ids.get(at).copied().flatten() else { return false };
        GrantingEntry::of_name(self.tree, right, id, identity.entry()).is_some()
    }

    /// Explains why a subject has lost access.
    fn lost(&self, at: usize, granting: Granting, subject: &Subject) -> Code {
        if let Some(Err(code)) = self.imported.of_source.get(at) {
            return *code;
        }
        match granting {
            Granting::Cluster => codes::CLUSTER_ADMINS,
            Granting::Queue(queue, right) => {
                let why = self.imported.lost.get(&(queue, right, subject.clone()));
                why.copied().unwrap_or(codes::UNEXPLAINED)
            }
        }
    }

    /// Explains why a subject has gained access.
    fn gained(&self, right: Right, at: usize, subject: &Subject, identity: &Subject) -> Code {
        let first = self.imported.of_source.get(at).and_then(|target| (*target).ok());
        let above = |queue: &usize| self.imported.queues.get(*queue).and_then(|queue| queue.parent);
        for queue in std::iter::successors(first, above) {
            for acl in right.acls() {
                let entries = [identity, &Subject::Everyone]
                    .map(|who| self.imported.came.get(&(queue, *acl, who.clone())));
                if let Some(came) = entries.into_iter().flatten().next() {
                    return self.why_gained(came, subject);
                }
            }
        }
        codes::UNEXPLAINED
    }

    fn why_gained(&self, came: &[Came], subject: &Subject) -> Code {
        let mine = |entry: &&Came| entry.from == *subject || entry.from == Subject::Everyone;
        match came.iter().find(mine) {
            Some(entry) if entry.cluster => codes::CLUSTER_ADMINS_SUBMIT,
            Some(_) => codes::UNEXPLAINED,
            None if self.named.contains(subject) => codes::NAME_CLASH,
            None => codes::NAME_TAKEN,
        }
    }

    fn location(&self, granting: Granting) -> Option<Location> {
        match granting {
            Granting::Cluster => self.source.administrators.as_ref()?.location,
            Granting::Queue(queue, right) => self.source.queues.get(queue)?.acls.get(right).location,
        }
    }
}

#[cfg(test)]
mod tests;
