//! Output of `diff` for programs.

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::source::configuration::Configuration;
use crate::source::rendered::ObjectChange;
use go_compat::diag::Diagnostic;
use queuewarden_api::answer::{Answers, GrantedBy, VERSION};
use queuewarden_plan::timeline::Course;
use queuewarden_plan::{admission_keys, merged, risks};
use yunikorn::identity::Identity;
use yunikorn::right::Right;
use yunikorn_access::Tree;
use yunikorn_access::decide::explain;
use yunikorn_access::diff::{
    Change, Direction, Extent, PartitionDiff, Period, Periods, Presence, Reached, Section, Timeline,
    between_for, same, unmoved,
};
use yunikorn_access::subject::Subject;

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
    pub partitions: Vec<PartitionAnswer>,
    /// The settings of the admission controller that differ.
    pub settings: Vec<SettingAnswer>,
    /// The risks of these settings that the old ones do not have.
    pub risks: Vec<RiskAnswer>,
    /// The objects of the change that are refused.
    pub refused: Vec<RefusedAnswer>,
    /// The user that it is about; null when it is about everybody.
    pub user: Option<String>,
    /// The groups of the user, as assumed for the answer.
    pub groups: Vec<String>,
    /// The rights of the user that the change is about and that it leaves as they are.
    pub still: Vec<StillAnswer>,
}

/// An object of the change that is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefusedAnswer {
    /// The object: `QueueAcl/prod`.
    pub object: String,
    /// The reason.
    pub message: String,
}

/// A right of a user that a change is about and that it leaves as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StillAnswer {
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
pub struct SettingAnswer {
    /// The key in the ConfigMap.
    pub key: String,
    /// The old value; null where it is not set.
    pub from: Option<String>,
    /// The new value; null where it is not set.
    pub to: Option<String>,
}

/// A setting by which people may submit as others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RiskAnswer {
    /// The code, which docs/codes.md explains: `QW4117`.
    pub code: String,
    /// The message.
    pub message: String,
}

/// The differences in one partition.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PartitionAnswer {
    /// Its name.
    pub partition: String,
    /// The configurations that have it.
    pub presence: Presence,
    /// True if the placement rules differ, so that applications may go to other queues.
    pub placement_differs: bool,
    /// The changes on queues that both have: gains first.
    pub changes: Vec<ChangeAnswer>,
    /// The queues that only the new one has.
    pub added: QueuesAnswer,
    /// The queues that only the old one has.
    pub removed: QueuesAnswer,
    /// Queues that were leaves and are parents, so that no application can run in them any more.
    pub now_parents: Vec<String>,
    /// Queues that were parents and are leaves.
    pub now_leaves: Vec<String>,
}

/// Queues that only one configuration has.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct QueuesAnswer {
    /// Their paths, each before those below it.
    pub queues: Vec<String>,
    /// The same, grouped by subtrees.
    pub subtrees: Vec<Extent>,
    /// Access that their own ACLs grant beyond those of the queues above.
    pub changes: Vec<ChangeAnswer>,
}

/// A subject that gains or loses one right.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangeAnswer {
    /// Gain or loss.
    pub direction: Direction,
    /// The subject: a user without its groups, a group without its members, or everyone.
    pub subject: Subject,
    /// The right.
    pub verb: Right,
    /// The period of the right without the change; null for a right that is gained. A right whose period
    /// becomes longer or shorter has both periods.
    pub before: Option<Period>,
    /// The period of the right with the change; null for a right that is lost.
    pub after: Option<Period>,
    /// The queues, each subtree with the entry that makes the difference.
    pub subtrees: Vec<SubtreeAnswer>,
    /// Subjects without a change when everyone gains or loses: they had it before, or keep it by name.
    pub unchanged: Vec<UnchangedAnswer>,
}

/// Queues on which something changes by one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SubtreeAnswer {
    /// The queues.
    #[serde(flatten)]
    pub extent: Extent,
    /// The entry that makes the difference: of the new configuration for a gain, of the old one for a loss.
    pub by: GrantedBy,
    /// The time at which a right that is gained ends; null when it has no end, and for a loss.
    pub until: Option<Timestamp>,
}

/// A subject without a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnchangedAnswer {
    /// The subject.
    #[serde(flatten)]
    pub subject: Subject,
    /// The queues on which nothing changes.
    pub subtrees: Vec<Extent>,
}

/// The two configurations, the objects that make the difference, and the user that it is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compared<'a> {
    pub(super) old: &'a Configuration,
    pub(super) new: &'a Configuration,
    pub(super) change: &'a ObjectChange,
    pub(super) who: Option<&'a Identity>,
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
        DiffAnswer {
            version: VERSION,
            from: self.old.name().to_owned(),
            to: self.new.name().to_owned(),
            widens: partitions.iter().any(|partition| partition.diff.widens())
                || !risks.is_empty()
                || unknown_from.is_some(),
            unknown_from,
            resolver_differs: self.old.view.resolver != self.new.view.resolver,
            partitions: partitions.iter().map(|partition| self.partition(partition)).collect(),
            settings: self.settings(),
            risks,
            refused: self.refused(),
            user: self.who.map(|who| who.user.clone()),
            groups: self.who.map(|who| who.groups.clone()).unwrap_or_default(),
            still: self.who.map(|who| self.still(old, new, who, &partitions)).unwrap_or_default(),
        }
    }

    /// Returns the objects that are applied and refused, and in a whole configuration those that the old
    /// one does not refuse.
    fn refused(self) -> Vec<RefusedAnswer> {
        let applied: BTreeSet<String> = self.change.applied().collect();
        let [old, new] = [self.old, self.new].map(|of| of.rendered.context.refused());
        let of_change =
            new.iter().filter(|(object, _)| applied.contains(*object) || !old.contains_key(*object));
        let refused = |(object, why): (&String, &String)| RefusedAnswer {
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
    ) -> Vec<StillAnswer> {
        let mut still = Vec::new();
        for after in new {
            let partition = after.partition();
            let Some(before) = old.iter().find(|old| old.partition().eq_ignore_ascii_case(partition)) else {
                continue;
            };
            let named = self.change.naming(partition, who);
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
                StillAnswer { partition: partition.to_owned(), queue, verb, allowed, reason }
            }));
        }
        still
    }

    fn settings(self) -> Vec<SettingAnswer> {
        let [old, new] = [self.old, self.new].map(|of| admission_keys(&merged(&of.rendered.context.settled)));
        let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let setting = |key: &&String| SettingAnswer {
            key: (*key).clone(),
            from: old.get(*key).cloned(),
            to: new.get(*key).cloned(),
        };
        keys.iter().map(setting).filter(|setting| setting.from != setting.to).collect()
    }

    /// Returns the risks that only the new configuration has, wherever they are written.
    fn risks(self) -> Vec<RiskAnswer> {
        let [old, new] = [self.old, self.new].map(|of| {
            let risk = |(_, risk): &(_, Diagnostic)| RiskAnswer {
                code: risk.code.to_string(),
                message: risk.message.clone(),
            };
            risks(&of.rendered.context.settled).iter().map(risk).collect::<Vec<_>>()
        });
        new.into_iter().filter(|risk| !old.contains(risk)).collect()
    }

    fn partition(self, of: &PartitionDiff) -> PartitionAnswer {
        PartitionAnswer {
            partition: of.partition.clone(),
            presence: of.presence,
            placement_differs: of.placement_differs,
            changes: self.changes(&of.partition, &of.diff.kept),
            added: self.queues(&of.partition, &of.diff.added),
            removed: self.queues(&of.partition, &of.diff.removed),
            now_parents: of.diff.now_parents.iter().map(ToString::to_string).collect(),
            now_leaves: of.diff.now_leaves.iter().map(ToString::to_string).collect(),
        }
    }

    fn queues(self, partition: &str, section: &Section) -> QueuesAnswer {
        let all = section.queues.all();
        QueuesAnswer {
            queues: section.queues.paths(&all).map(ToString::to_string).collect(),
            subtrees: section.queues.extents(&all),
            changes: self.changes(partition, section),
        }
    }

    fn changes(self, partition: &str, section: &Section) -> Vec<ChangeAnswer> {
        let change = |change: &Change| {
            let gains = change.direction == Direction::Gains;
            let configuration = if gains { self.new } else { self.old };
            let tree = configuration.tree(partition);
            let answers = tree.as_ref().map(|tree| Answers { source: configuration.name(), tree });
            let subtree = |reached: &Reached| SubtreeAnswer {
                extent: reached.extent.clone(),
                by: GrantedBy {
                    queue: reached.extent.queue.to_string(),
                    acl: reached.acl.into(),
                    origins: answers.iter().flat_map(|answers| answers.origins(&reached.origins)).collect(),
                },
                until: change.periods.after.filter(|_| gains).and_then(|period| period.until),
            };
            let unchanged = change.unchanged.iter().map(|(subject, queues)| UnchangedAnswer {
                subject: subject.clone(),
                subtrees: section.queues.extents(queues),
            });
            ChangeAnswer {
                direction: change.direction,
                subject: change.subject.clone(),
                verb: change.right,
                before: change.periods.before,
                after: change.periods.after,
                subtrees: change.extents.iter().map(subtree).collect(),
                unchanged: unchanged.collect(),
            }
        };
        section.changes.iter().map(change).collect()
    }
}

impl ChangeAnswer {
    /// Returns the periods before and after the change.
    pub(super) fn periods(&self) -> Periods {
        Periods { before: self.before, after: self.after }
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
    pub(super) fn changes(&self) -> impl Iterator<Item = &ChangeAnswer> {
        self.partitions.iter().flat_map(|partition| {
            partition.changes.iter().chain(&partition.added.changes).chain(&partition.removed.changes)
        })
    }
}
