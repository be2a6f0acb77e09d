//! Evaluates a request as the admission controller does, and finds who then submits (yunikorn-k8shim v1.8.0
//! `pkg/admission/admission_controller.go:116-322`, `metadata/usergroup.go`).
//!
//! * `objects`: pods and objects with a pod template.
//! * `labels`: the application's ID.
//! * `remedies`: the changes that would lead to another decision.

mod labels;
mod objects;
mod remedies;
#[cfg(test)]
mod tests;

pub use labels::generated_id;
pub use remedies::remedies;

use super::access::Access;
use super::conf::Conf;
use super::filtering::Choice;
use super::patch::{Patch, patched};
use super::request::{Kind, Operation, Pod, Request, Surroundings, USER_INFO};
use super::user_info::{Submitter, UserInfo};
use go_compat::diag::quoted;

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
    /// The steps that decided, in order, each as a sentence.
    pub steps: Vec<String>,
    /// The changes that would allow a refused `user.info`, the smallest first.
    pub remedies: Vec<String>,
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
    let mut evaluator = Evaluator { request, surroundings, conf, steps: Vec::new(), remedies: Vec::new() };
    let (outcome, patches) = match evaluator.answer() {
        Ok(patches) => (Outcome::Allowed, patches),
        Err(outcome) => (outcome, Vec::new()),
    };
    let pod = patched(&request.pod, &patches);
    let submitter = (outcome == Outcome::Allowed).then(|| Submitter::from_pod(&pod, conf.version));
    Evaluation { outcome, patches, pod, submitter, steps: evaluator.steps, remedies: evaluator.remedies }
}

/// The patches of an allowed request; or an outcome without patches, which may be "allowed" too.
type Answer = Result<Vec<Patch>, Outcome>;

/// An evaluation under way: its input, and the steps and remedies so far.
struct Evaluator<'a> {
    request: &'a Request,
    surroundings: &'a Surroundings,
    conf: &'a Conf,
    steps: Vec<String>,
    remedies: Vec<String>,
}

impl Evaluator<'_> {
    fn answer(&mut self) -> Answer {
        match (self.request.operation, &self.request.kind) {
            (Operation::Other, _) => self.allow("only creations and updates are looked at"),
            (_, Kind::Other(kind)) => {
                self.allow(format!("objects of kind {} are not looked at", quoted(kind)))
            }
            (Operation::Create, Kind::Pod) => self.create_pod(),
            (Operation::Update, Kind::Pod) => self.update_pod(),
            (Operation::Create, Kind::Workload(workload)) => self.create_workload(*workload),
            // Who may update a workload may set any `user.info` in its template.
            (Operation::Update, Kind::Workload(_)) => self
                .allow(format!("updates of workloads are not looked at, also where they change {USER_INFO}")),
        }
    }

    /// Ends the evaluation: the request is allowed, and nothing is changed.
    fn allow(&mut self, last: impl Into<String>) -> Answer {
        self.steps.push(last.into());
        Err(Outcome::Allowed)
    }

    /// Returns whether the requester's own name has to be set. Refuses a `user.info` that is not allowed or
    /// cannot be read (`admission_controller.go:357-380`).
    fn needs_user_info(&mut self) -> Result<bool, Outcome> {
        let given = self.request.pod.annotations.get(USER_INFO);
        if self.conf.access.bypass_auth {
            let verb = if given.is_some() { "decided" } else { "set" };
            self.steps.push(format!("bypassAuth is on, so {USER_INFO} is not {verb}"));
            return Ok(false);
        }
        let Some(text) = given else { return Ok(true) };
        self.require_allowed()?;
        let info = UserInfo::read(text)
            .map_err(|error| Outcome::Denied(format!("{USER_INFO} cannot be read: {error}")))?;
        self.steps.push(format!("{USER_INFO} names {}", named(&info)));
        Ok(false)
    }

    fn require_allowed(&mut self) -> Result<(), Outcome> {
        let Request { user, groups, .. } = self.request;
        match self.conf.access.is_annotation_allowed(user, groups) {
            Access::Allowed(allowed) => {
                self.steps.push(format!("the requester may set {USER_INFO}: {allowed}"));
                Ok(())
            }
            Access::Unknown(list) => Err(Outcome::Unknown(list)),
            Access::Denied => {
                self.remedies = remedies(user, groups, &self.conf.access);
                let groups = groups.join(",");
                Err(Outcome::Denied(format!(
                    "user {user} with groups [{groups}] is not allowed to set user annotation"
                )))
            }
        }
    }

    /// The requester's own name, as written into the annotation.
    fn own_user_info(&mut self) -> String {
        let Request { user, groups, .. } = self.request;
        let info = UserInfo { user: user.clone(), groups: groups.clone() };
        self.steps.push(format!("{USER_INFO} is set to the requester: {}", named(&info)));
        info.write()
    }

    fn is_processed(&mut self) -> Result<bool, Outcome> {
        let annotations = &self.surroundings.namespace_annotations;
        let choice = self.conf.filtering.processes(self.request.namespace(), annotations);
        self.chosen(choice, "go to YuniKorn")
    }

    fn is_labelled(&mut self) -> Result<bool, Outcome> {
        let annotations = &self.surroundings.namespace_annotations;
        let choice = self.conf.filtering.labels(self.request.namespace(), annotations);
        self.chosen(choice, "get an application ID")
    }

    fn chosen(&mut self, choice: Result<Choice, &'static str>, what: &str) -> Result<bool, Outcome> {
        let Choice { yes, because } = choice.map_err(Outcome::Unknown)?;
        let not = if yes { "" } else { "do not " };
        self.steps.push(format!("pods of the namespace {not}{what}: {because}"));
        Ok(yes)
    }

    /// Returns whether an update of a pod, or a workload, is checked: its namespace is processed, and the pod
    /// has an application ID or would get one (`admission_controller.go:324-331`).
    fn is_reviewed(&mut self) -> Result<bool, Outcome> {
        if !self.is_processed()? {
            return Ok(false);
        }
        if let Some(label) = labels::application_label(&self.request.pod) {
            self.steps.push(format!("the label {label} gives it an application ID"));
            return Ok(true);
        }
        self.is_labelled()
    }
}

/// A user and groups for people to read.
fn named(UserInfo { user, groups }: &UserInfo) -> String {
    let user = if user.is_empty() { "no user".to_owned() } else { format!("user {}", quoted(user)) };
    if groups.is_empty() {
        return format!("{user} without groups");
    }
    let groups: Vec<_> = groups.iter().map(|group| quoted(group)).collect();
    format!("{user} in {}", groups.join(", "))
}
