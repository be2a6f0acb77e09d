//! Turns the evaluator's results about one configuration into the format for programs.

use jiff::Timestamp;

use super::{About, DecisionAnswer, RemedyAnswer, RemedyKind, VERSION};
use yunikorn_access::decide::Decision;
use yunikorn_access::decide::in_words;
use yunikorn_access::subject::Subject;
use yunikorn_access::tree::{Origin, Tree};
use yunikorn_access::{How, Remedy, remedies, sentence, until};

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

    /// Converts a decision with its trace.
    pub fn decision(&self, decision: &Decision) -> DecisionAnswer {
        let until = self.until(decision);
        DecisionAnswer {
            about: self.about(),
            verb: decision.right,
            queue: decision.path.clone(),
            nearest_queue: decision.located.nearest().map(|id| self.tree.path(id).to_string()),
            user: decision.identity.user.clone(),
            groups: decision.identity.groups.clone(),
            allowed: decision.allowed(),
            reason: self.reason_until(decision, until),
            denial: decision.denial,
            until,
            trace: decision.steps.clone(),
            remedies: remedies(self.tree, decision).iter().map(Self::remedy).collect(),
        }
    }

    /// Returns the reason in one sentence, with its location.
    pub fn reason(&self, decision: &Decision) -> String {
        self.reason_until(decision, self.until(decision))
    }

    fn reason_until(&self, decision: &Decision, until: Option<Timestamp>) -> String {
        let sentence = sentence(self.tree, decision);
        let origins = decision.granted_by().map(|step| Origin::list(&step.origins)).unwrap_or_default();
        let origins = if origins.is_empty() { origins } else { format!(" ({origins})") };
        let until = until.map(|end| format!(", until {}", in_words(end))).unwrap_or_default();
        format!("{sentence}{origins}{until}")
    }

    /// Returns the time at which the right of a decision ends.
    pub fn until(&self, decision: &Decision) -> Option<Timestamp> {
        until(self.tree, decision.right, decision.located.decides()?, &decision.identity)
    }

    fn remedy(remedy: &Remedy) -> RemedyAnswer {
        let nothing = RemedyAnswer { message: remedy.to_string(), ..RemedyAnswer::default() };
        match remedy {
            Remedy::Grant { queue, right, subject, how, opens } => {
                let (objects, extend) = match how {
                    How::Edit(objects) => (objects.clone(), false),
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
