//! Evaluates a request as the admission controller does, and finds who then submits (yunikorn-k8shim v1.8.0
//! `pkg/admission/admission_controller.go:116-322`, `metadata/usergroup.go`).
//!
//! * `objects`: pods and objects with a pod template.
//! * `labels`: the application's ID.
//! * [`explain`]: the steps of the decision.

pub mod explain;
mod labels;
mod objects;
#[cfg(test)]
mod tests;

pub use explain::{Remedy, Step, remedies};
pub use labels::generated_id;

use super::access::Access;
use super::conf::Conf;
use super::filtering::Choice;
use super::keys::NamespaceList;
use super::patch::{Patch, patched};
use super::request::{Kind, Operation, Pod, Request, Surroundings, USER_INFO};
use super::user_info::{Submitter, UserInfo};

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// The outcome of the request.
    pub outcome: Outcome,
    /// The changes that the admission controller makes, in order. Empty when the request is not allowed.
    pub patches: Vec<Patch>,
    /// The pod, or the pod template, with the changes applied.
    pub pod: Pod,
    /// The user and groups who submit this pod, or the pods of this template as far as it names them. `None`
    /// when the request is not allowed.
    pub submitter: Option<Submitter>,
    /// The steps that decided, in order.
    pub steps: Vec<Step>,
    /// The changes that would allow a refused `user.info`, the smallest first.
    pub remedies: Vec<Remedy>,
}

impl Evaluation {
    /// The annotation [`USER_INFO`] after the changes.
    pub fn user_info(&self) -> Option<&str> {
        self.pod.annotations.get(USER_INFO).map(String::as_str)
    }
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is allowed.
    Allowed,
    /// It is denied, with the message of the admission controller; where that cannot read a `user.info`, with
    /// ours.
    Denied(String),
    /// The list of this key decides, and its content is not known.
    Unknown(&'static str),
}

/// Returns the answer of the admission controller to a request.
pub fn evaluate(request: &Request, surroundings: &Surroundings, conf: &Conf) -> Evaluation {
    let mut walk = Walk { request, surroundings, conf, steps: Vec::new(), remedies: Vec::new() };
    let (outcome, patches) = match walk.answer() {
        Ok(patches) => (Outcome::Allowed, patches),
        Err(outcome) => (outcome, Vec::new()),
    };
    let pod = patched(&request.pod, &patches);
    let submitter = (outcome == Outcome::Allowed).then(|| Submitter::from_pod(&pod, conf.version));
    Evaluation { outcome, patches, pod, submitter, steps: walk.steps, remedies: walk.remedies }
}

/// The patches of an allowed request; or an outcome without patches, which may be "allowed" too.
type Answer = Result<Vec<Patch>, Outcome>;

/// An evaluation under way: its input, and the steps and remedies found so far.
struct Walk<'a> {
    request: &'a Request,
    surroundings: &'a Surroundings,
    conf: &'a Conf,
    steps: Vec<Step>,
    remedies: Vec<Remedy>,
}

impl Walk<'_> {
    fn answer(&mut self) -> Answer {
        match (self.request.operation, &self.request.kind) {
            (Operation::Other, _) => self.allow(Step::OperationNotSeen),
            (_, Kind::Other(kind)) => self.allow(Step::KindNotSeen(kind.clone())),
            (Operation::Create, Kind::Pod) => self.create_pod(),
            (Operation::Update, Kind::Pod) => self.update_pod(),
            (Operation::Create, Kind::Workload(workload)) => self.create_workload(*workload),
            (Operation::Update, Kind::Workload(_)) => self.allow(Step::UpdateNotSeen),
        }
    }

    /// Ends the evaluation: the request is allowed, and nothing is changed.
    fn allow(&mut self, last: Step) -> Answer {
        self.steps.push(last);
        Err(Outcome::Allowed)
    }

    fn deny(&mut self, last: Step, message: String) -> Outcome {
        self.steps.push(last);
        Outcome::Denied(message)
    }

    /// Returns whether the requester's own name has to be set. Refuses a `user.info` that is not allowed or
    /// cannot be read (`admission_controller.go:357-380`).
    fn needs_user_info(&mut self) -> Result<bool, Outcome> {
        let given = self.request.pod.annotations.get(USER_INFO);
        if self.conf.access.bypass_auth {
            self.steps.push(Step::BypassAuth { given: given.is_some() });
            return Ok(false);
        }
        let Some(text) = given else { return Ok(true) };
        self.require_allowed()?;
        match UserInfo::read(text) {
            Ok(info) => self.steps.push(Step::UserInfoTaken(info)),
            Err(error) => {
                let step = Step::UserInfoUnreadable(error);
                let message = step.to_string();
                return Err(self.deny(step, message));
            }
        }
        Ok(false)
    }

    fn require_allowed(&mut self) -> Result<(), Outcome> {
        let Request { user, groups, .. } = self.request;
        match self.conf.access.is_annotation_allowed(user, groups) {
            Access::Allowed(allowed) => {
                self.steps.push(Step::MaySetUserInfo(allowed));
                Ok(())
            }
            Access::Unknown(list) => Err(Outcome::Unknown(list.key())),
            Access::Denied => {
                self.remedies = explain::remedies(user, groups, &self.conf.access);
                let groups = groups.join(",");
                let message =
                    format!("user {user} with groups [{groups}] is not allowed to set user annotation");
                Err(self.deny(Step::MayNotSetUserInfo, message))
            }
        }
    }

    /// The requester's own name, as written into the annotation.
    fn own_user_info(&mut self) -> String {
        let Request { user, groups, .. } = self.request;
        let info = UserInfo { user: user.clone(), groups: groups.clone() };
        let text = info.write();
        self.steps.push(Step::UserInfoSet(info));
        text
    }

    fn is_processed(&mut self) -> Result<bool, Outcome> {
        let (namespace, annotations) = (self.request.namespace(), &self.surroundings.namespace_annotations);
        let choice = self.conf.filtering.processes(namespace, annotations);
        self.chosen(choice, Step::Processed)
    }

    fn is_labelled(&mut self) -> Result<bool, Outcome> {
        let (namespace, annotations) = (self.request.namespace(), &self.surroundings.namespace_annotations);
        let choice = self.conf.filtering.labels(namespace, annotations);
        self.chosen(choice, Step::Labelled)
    }

    fn chosen(
        &mut self,
        choice: Result<Choice, NamespaceList>,
        step: fn(Choice) -> Step,
    ) -> Result<bool, Outcome> {
        let choice = choice.map_err(|list| Outcome::Unknown(list.key()))?;
        let yes = choice.yes;
        self.steps.push(step(choice));
        Ok(yes)
    }

    /// Returns whether an update of a pod, or a workload, is checked: its namespace is processed, and the pod
    /// has an application ID or would get one (`admission_controller.go:324-331`).
    fn is_reviewed(&mut self) -> Result<bool, Outcome> {
        if !self.is_processed()? {
            return Ok(false);
        }
        if let Some(label) = labels::application_label(&self.request.pod) {
            self.steps.push(Step::ApplicationLabel(label));
            return Ok(true);
        }
        self.is_labelled()
    }
}
