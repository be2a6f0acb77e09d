//! Turns the evaluator's results about one configuration into the format for programs.

use jiff::Timestamp;

use super::{
    About, DecisionAnswer, GrantedBy, Grantee, RemedyAnswer, RemedyKind, TraceStep, VERSION, WrittenIn,
};
use yunikorn::identity::Identity;
use yunikorn::right::Right;
use yunikorn_access::decide::in_words;
use yunikorn_access::decide::{Decision, Step};
use yunikorn_access::subject::Subject;
use yunikorn_access::tree::GrantingEntry;
use yunikorn_access::tree::{Origin, QueueId, Tree};
use yunikorn_access::who_can;
use yunikorn_access::{How, Remedy, near_misses, remedies, sentence, until};

/// Turns the evaluator's results into answers about one configuration.
#[derive(Debug, Clone, Copy)]
pub struct Answers<'a> {
    /// The name of the configuration.
    pub source: &'a str,
    /// The partition's tree.
    pub tree: &'a Tree,
}

impl Answers<'_> {
    /// Returns the header that all answers share.
    pub fn about(&self) -> About {
        About {
            version: VERSION,
            source: self.source.to_owned(),
            partition: self.tree.partition().to_owned(),
        }
    }

    /// Returns the path of a queue.
    pub fn path(&self, id: QueueId) -> String {
        self.tree.node(id).map(|node| node.path.to_string()).unwrap_or_default()
    }

    /// Returns the locations of entries.
    pub fn origins<'o>(&self, origins: impl IntoIterator<Item = &'o Origin>) -> Vec<WrittenIn> {
        origins.into_iter().map(WrittenIn::from).collect()
    }

    /// Converts one who has a right, with everything that grants it.
    pub fn grantee(&self, grantee: &who_can::Grantee<'_>) -> Grantee {
        let grants = grantee.grants.iter();
        let grants =
            grants.map(|grant| self.granted_by(grant.queue, grant.acl, grant.origins.iter().copied()));
        Grantee { subject: grantee.subject.into(), grants: grants.collect(), until: grantee.until }
    }

    /// Converts the entry by which somebody has a right.
    pub fn granted_by_entry(&self, granting: &GrantingEntry<'_>) -> GrantedBy {
        self.granted_by(granting.queue, granting.acl, &granting.written(self.tree).origins)
    }

    fn granted_by<'o>(
        &self,
        queue: QueueId,
        acl: Right,
        origins: impl IntoIterator<Item = &'o Origin>,
    ) -> GrantedBy {
        GrantedBy { queue: self.path(queue), acl: acl.into(), origins: self.origins(origins) }
    }

    /// Converts a decision with its trace.
    pub fn decision(&self, decision: &Decision) -> DecisionAnswer {
        let until = self.until(decision);
        DecisionAnswer {
            about: self.about(),
            verb: decision.right,
            queue: decision.path.clone(),
            nearest_queue: decision.located.nearest().map(|id| self.path(id)),
            user: decision.identity.user.clone(),
            groups: decision.identity.groups.clone(),
            allowed: decision.allowed(),
            reason: self.reason_until(decision, until),
            denial: decision.denial,
            until,
            trace: decision.steps.iter().map(|step| self.step(step, &decision.identity)).collect(),
            remedies: remedies(self.tree, decision).iter().map(|remedy| self.remedy(remedy)).collect(),
        }
    }

    /// Converts one step of a decision about an identity.
    pub fn step(&self, step: &Step, identity: &Identity) -> TraceStep {
        TraceStep {
            queue: step.queue.to_string(),
            acl: step.right.into(),
            text: step.acl.clone(),
            entry: step.entry.as_ref().map(|entry| entry.subject.clone()),
            origins: step.entry.iter().flat_map(|entry| self.origins(&entry.origins)).collect(),
            near_misses: near_misses(step, identity),
        }
    }

    /// Returns the reason in one sentence, with its location.
    pub fn reason(&self, decision: &Decision) -> String {
        self.reason_until(decision, self.until(decision))
    }

    fn reason_until(&self, decision: &Decision, until: Option<Timestamp>) -> String {
        let sentence = sentence(self.tree, decision);
        let entry = decision.granted_by().and_then(|step| step.entry.as_ref());
        let origins = entry.map(|entry| WrittenIn::list(&self.origins(&entry.origins))).unwrap_or_default();
        let origins = if origins.is_empty() { origins } else { format!(" ({origins})") };
        let until = until.map(|end| format!(", until {}", in_words(end))).unwrap_or_default();
        format!("{sentence}{origins}{until}")
    }

    /// Returns the time at which the right of a decision ends.
    pub fn until(&self, decision: &Decision) -> Option<Timestamp> {
        until(self.tree, decision.right, decision.located.decides()?, &decision.identity)
    }

    fn remedy(&self, remedy: &Remedy) -> RemedyAnswer {
        let nothing = RemedyAnswer { message: remedy.to_string(), ..RemedyAnswer::default() };
        match remedy {
            Remedy::Grant { queue, right, subject, how, opens } => {
                let (objects, extend) = match how {
                    How::Edit(objects) => (self.origins(objects), false),
                    How::New { extend } => (Vec::new(), *extend),
                };
                RemedyAnswer {
                    kind: RemedyKind::Grant,
                    queue: Some(queue.to_string()),
                    acl: Some((*right).into()),
                    subject: Some(subject.clone()),
                    objects,
                    extend,
                    opens: *opens,
                    ..nothing
                }
            }
            Remedy::Join { group, queue, right } => RemedyAnswer {
                kind: RemedyKind::Join,
                queue: Some(queue.to_string()),
                acl: Some((*right).into()),
                subject: Some(Subject::Group(group.clone())),
                ..nothing
            },
            Remedy::Ask { queue } => {
                RemedyAnswer { kind: RemedyKind::Ask, queue: Some(queue.to_string()), ..nothing }
            }
            Remedy::Rename { name, queue, right } => RemedyAnswer {
                kind: RemedyKind::Rename,
                queue: Some(queue.to_string()),
                acl: Some((*right).into()),
                subject: Some(Subject::User(name.clone())),
                ..nothing
            },
        }
    }
}
