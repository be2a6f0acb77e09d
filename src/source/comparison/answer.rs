//! Output of `diff` for programs.

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::manifest::DEFAULT_PARTITION;
use crate::source::configuration::{Configuration, ObjectChange};
use go_compat::diag::Diagnostic;
use queuewarden_api::answer::{Answers, VERSION};
use queuewarden_plan::time::Course;
use queuewarden_plan::{admission_keys, merged, risks};
use yunikorn::identity::Identity;
use yunikorn::right::Right;
use yunikorn_access::Tree;
use yunikorn_access::decide::explain;
use yunikorn_access::diff::{Change, Diff, PartitionDiff, Timeline, between_for, same, unmoved};

/// The answer to `diff`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffAnswer {
    /// The version of this format: 1.
    pub version: u32,
    /// The old configuration: a file, a ConfigMap's key, or the scheduler.
    pub from: String,
    /// The new configuration.
    pub to: String,
    /// True if anyone may do more than before, now or at any later time, on an existing queue or on a new
    /// one; also true if that cannot be excluded.
    pub widens: bool,
    /// The time after which the configurations are not compared, because grants begin or end at too many
    /// moments; null if they are compared at all times.
    pub unknown_from: Option<Timestamp>,
    /// True if the user group resolvers differ, so that users whose applications come without groups may be
    /// in others.
    pub resolver_differs: bool,
    /// The partitions with differences.
    pub partitions: Vec<PartitionDiff>,
    /// The settings of the admission controller that differ.
    pub settings: Vec<ChangedSetting>,
    /// The risks of these settings that the old ones do not have.
    pub risks: Vec<Diagnostic>,
    /// The objects of the change that are refused.
    pub refused: Vec<RefusedObject>,
    /// The compared user; null for everyone.
    pub user: Option<String>,
    /// The groups of the user, as assumed for the answer.
    pub groups: Vec<String>,
    /// The rights of the user that the files try to change without effect.
    pub still: Vec<UnmovedRight>,
    /// The ACLs of the base that objects no longer replace, each in a sentence.
    #[serde(skip)]
    pub(super) returning: Vec<String>,
    /// True if people need the names of the partitions.
    #[serde(skip)]
    pub(super) names_partitions: bool,
}

/// An object of the change that is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RefusedAnswer")]
pub struct RefusedObject {
    /// The object: `QueueAcl/prod`.
    pub object: String,
    /// The reason.
    pub message: String,
}

/// A right of a user that a change tries to affect without success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "StillAnswer")]
pub struct UnmovedRight {
    /// The partition.
    pub partition: String,
    /// The queue.
    pub queue: String,
    /// The right.
    pub verb: Right,
    /// True if the user has it, before and after.
    pub allowed: bool,
    /// The reason after the change, in one sentence.
    pub reason: String,
}

/// A setting of the admission controller that differs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "SettingAnswer")]
pub struct ChangedSetting {
    /// The key in the ConfigMap.
    pub key: String,
    /// The old value; null where it is not set.
    pub from: Option<String>,
    /// The new value; null where it is not set.
    pub to: Option<String>,
}

/// Two configurations that are compared.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// The old one.
    pub old: &'a Configuration,
    /// The new one.
    pub new: &'a Configuration,
    /// The objects that make the difference, unless the new one is whole.
    pub change: Option<&'a ObjectChange>,
    /// The compared user; `None` for everyone.
    pub who: Option<&'a Identity>,
}

impl Compared<'_> {
    pub(super) fn answer(self, old: &[Tree], new: &[Tree]) -> DiffAnswer {
        let course =
            Course::new(self.old.rendered.over_time.as_deref(), self.new.rendered.over_time.as_deref());
        let unknown_from = course.unknown_from;
        let (old_later, new_later) = (self.old.later(course.old), self.new.later(course.new));
        let before = Timeline { now: old, later: &old_later };
        let partitions = between_for(before, Timeline { now: new, later: &new_later }, self.who);
        let risks = self.risks();
        let is_other = |tree: &Tree| tree.partition() != DEFAULT_PARTITION;
        DiffAnswer {
            version: VERSION,
            from: self.old.name().to_owned(),
            to: self.new.name().to_owned(),
            widens: partitions.iter().any(|partition| partition.diff.widens())
                || !risks.is_empty()
                || unknown_from.is_some(),
            unknown_from,
            resolver_differs: self.old.view.resolver != self.new.view.resolver,
            settings: self.settings(),
            risks,
            refused: self.refused(),
            user: self.who.map(|who| who.user.clone()),
            groups: self.who.map(|who| who.groups.clone()).unwrap_or_default(),
            still: self.who.map(|who| self.still(old, new, who, &partitions)).unwrap_or_default(),
            partitions,
            returning: self.new.returning(self.old),
            names_partitions: self.old.view.trees.iter().chain(&self.new.view.trees).any(is_other),
        }
    }

    /// Returns the objects that are applied and refused, and in a whole configuration the objects that the
    /// old one does not refuse.
    fn refused(self) -> Vec<RefusedObject> {
        let applied: BTreeSet<String> = self.change.into_iter().flat_map(ObjectChange::applied).collect();
        let [old, new] = [self.old, self.new].map(|of| of.rendered.context.refused());
        let of_change =
            new.iter().filter(|(object, _)| applied.contains(*object) || !old.contains_key(*object));
        let refused = |(object, why): (&String, &String)| RefusedObject {
            object: object.clone(),
            message: why.clone(),
        };
        of_change.map(refused).collect()
    }

    /// Returns the rights that are the same now, and do not change later.
    fn still(
        self,
        old: &[Tree],
        new: &[Tree],
        who: &Identity,
        partitions: &[PartitionDiff],
    ) -> Vec<UnmovedRight> {
        let mut still = Vec::new();
        for after in new {
            let partition = after.partition();
            let Some(before) = old.iter().find(|old| old.partition().eq_ignore_ascii_case(partition)) else {
                continue;
            };
            let named = self.change.into_iter().flat_map(|change| change.naming(partition, who));
            let named = named.filter(|(queue, right)| same(before, after, who, queue, *right));
            let unmoved = unmoved(before, after, who).map(|(path, right)| (path.to_string(), right));
            let mut about: BTreeSet<(String, Right)> = unmoved.chain(named).collect();
            let changed = partitions.iter().filter(|of| of.partition.eq_ignore_ascii_case(partition));
            for (section, change) in
                changed.flat_map(|of| of.diff.kept.changes.iter().map(|it| (&of.diff.kept, it)))
            {
                for queue in section.queues.paths(&change.queues) {
                    about.remove(&(queue.to_string(), change.right));
                }
            }
            let answers = Answers { source: self.new.name(), tree: after };
            still.extend(about.into_iter().map(|(queue, verb)| {
                let decision = explain(after, verb, &queue, who);
                let (allowed, reason) = (decision.allowed(), answers.reason(&decision));
                UnmovedRight { partition: partition.to_owned(), queue, verb, allowed, reason }
            }));
        }
        still
    }

    fn settings(self) -> Vec<ChangedSetting> {
        let [old, new] = [self.old, self.new].map(|of| admission_keys(&merged(&of.rendered.context.settled)));
        let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let setting = |key: &&String| ChangedSetting {
            key: (*key).clone(),
            from: old.get(*key).cloned(),
            to: new.get(*key).cloned(),
        };
        keys.iter().map(setting).filter(|setting| setting.from != setting.to).collect()
    }

    /// Returns the risks that only the new configuration has, wherever they are written.
    fn risks(self) -> Vec<Diagnostic> {
        let [old, new] = [self.old, self.new].map(|of| {
            risks(&of.rendered.context.settled).into_iter().map(|(_, risk)| risk).collect::<Vec<_>>()
        });
        let is_old =
            |new: &Diagnostic| old.iter().any(|old| (old.code, &old.message) == (new.code, &new.message));
        new.into_iter().filter(|risk| !is_old(risk)).collect()
    }
}

impl DiffAnswer {
    /// Returns whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.partitions.is_empty()
            && !self.resolver_differs
            && self.settings.is_empty()
            && self.unknown_from.is_none()
    }

    /// Returns all gains and losses.
    pub(super) fn changes(&self) -> impl Iterator<Item = &Change> {
        self.partitions.iter().flat_map(|partition| {
            let Diff { kept, added, removed, .. } = &partition.diff;
            [kept, added, removed].into_iter().flat_map(|section| &section.changes)
        })
    }
}
