//! Evaluates a request like the admission controller, and determines the submitting user (yunikorn-k8shim
//! v1.8.0 `pkg/admission/admission_controller.go:116-322`, `metadata/usergroup.go`).

#[cfg(test)]
mod tests;

use super::conf::{Access, AccessControl, Choice, Conf, Filtering};
use super::keys::SYSTEM_USERS;
use super::request::{
    ALLOW_PREEMPTION, ANNOTATIONS, APP, APP_ID, APPLICATION_ID, IGNORE_APPLICATION, Kind, LABELS, OLD_QUEUE,
    Operation, Patch, Pod, QUEUE, Request, SCHEDULER_NAME, SPARK_APP_SELECTOR, Surroundings, Texts,
    USER_INFO, Value, Workload, YUNIKORN, patched,
};
use super::user_info::{Submitter, UserInfo};
use go_compat::diag::quoted;

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// The outcome of the request.
    pub outcome: Outcome,
    /// The changes made by the admission controller, in order. Empty if the request is not allowed.
    pub patches: Vec<Patch>,
    /// The pod, or the pod template, after the changes.
    pub pod: Pod,
    /// The submitting user and groups of the pod, or of pods created from this template if it names them.
    /// `None` if the request is not allowed.
    pub submitter: Option<Submitter>,
    /// The steps of the decision, each as a sentence.
    pub steps: Vec<String>,
    /// Changes that would allow a refused `user.info`, the smallest first.
    pub remedies: Vec<String>,
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The request is allowed.
    Allowed,
    /// The request is denied with the admission controller's message, or with ours if it cannot parse
    /// `user.info`.
    Denied(String),
    /// The list of this key decides, but its content is unknown.
    Unknown(&'static str),
}

/// Returns the admission controller's answer to a request.
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

/// The patches of an allowed request, or an outcome without patches, which can also be "allowed".
type Answer = Result<Vec<Patch>, Outcome>;

/// A filter by namespace.
type Choose = fn(&Filtering, &str, &Texts) -> Result<Choice, &'static str>;

/// An evaluation in progress: the input, and the steps and remedies so far.
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
            (Operation::Other, _) => self.allow("only creations and updates are checked"),
            (_, Kind::Other(kind)) => self.allow(format!("objects of kind {} are not checked", quoted(kind))),
            (Operation::Create, Kind::Pod) => self.create_pod(),
            (Operation::Update, Kind::Pod) => self.update_pod(),
            (Operation::Create, Kind::Workload(workload)) => self.create_workload(*workload),
            // Anyone who can update a workload can set any `user.info` in its template.
            (Operation::Update, Kind::Workload(_)) => {
                self.allow(format!("updates of workloads are not checked, even if they change {USER_INFO}"))
            }
        }
    }

    /// Allows the request without changes.
    fn allow(&mut self, last: impl Into<String>) -> Answer {
        self.steps.push(last.into());
        Err(Outcome::Allowed)
    }

    /// Returns whether the requester's own name must be set. Refuses a `user.info` that is not allowed or
    /// cannot be parsed (`admission_controller.go:357-380`).
    fn needs_user_info(&mut self) -> Result<bool, Outcome> {
        let given = self.request.pod.annotations.get(USER_INFO);
        if self.conf.access.bypass_auth {
            let verb = if given.is_some() { "checked" } else { "set" };
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

    /// Returns the annotation with the requester's own name.
    fn own_user_info(&mut self) -> String {
        let Request { user, groups, .. } = self.request;
        let info = UserInfo { user: user.clone(), groups: groups.clone() };
        self.steps.push(format!("{USER_INFO} is set to the requester: {}", named(&info)));
        info.write()
    }

    fn is_processed(&mut self) -> Result<bool, Outcome> {
        self.chosen(Filtering::processes, "go to YuniKorn")
    }

    fn is_labelled(&mut self) -> Result<bool, Outcome> {
        self.chosen(Filtering::labels, "get an application ID")
    }

    fn chosen(&mut self, choose: Choose, what: &str) -> Result<bool, Outcome> {
        let annotations = &self.surroundings.namespace_annotations;
        let choice = choose(&self.conf.filtering, self.request.namespace(), annotations);
        let Choice { yes, because } = choice.map_err(Outcome::Unknown)?;
        let not = if yes { "" } else { "do not " };
        self.steps.push(format!("pods of the namespace {not}{what}: {because}"));
        Ok(yes)
    }

    /// Returns whether an update of a pod, or a workload, is checked, that is, its namespace is processed and
    /// the pod has or would get an application ID (`admission_controller.go:324-331`).
    fn is_reviewed(&mut self) -> Result<bool, Outcome> {
        if !self.is_processed()? {
            return Ok(false);
        }
        if let Some(label) = application_label(&self.request.pod) {
            self.steps.push(format!("the label {label} gives it an application ID"));
            return Ok(true);
        }
        self.is_labelled()
    }
}

/// Formats a user and groups for people.
fn named(UserInfo { user, groups }: &UserInfo) -> String {
    let user = if user.is_empty() { "no user".to_owned() } else { format!("user {}", quoted(user)) };
    if groups.is_empty() {
        return format!("{user} without groups");
    }
    let groups: Vec<_> = groups.iter().map(|group| quoted(group)).collect();
    format!("{user} in {}", groups.join(", "))
}

// Pods at creation (`admission_controller.go:157-218`) and update (`:284-322`), and objects with a pod
// template (`:220-282`, `:333-345`).

/// The last step for `YuniKorn`'s own pods.
const OWN_POD: &str = "a pod with the label `app: yunikorn` is admitted without changes";
/// The last step for an unchanged object.
const LEFT_ALONE: &str = "it is admitted without changes";

impl Evaluator<'_> {
    /// Evaluates the creation of a pod. `user.info` is checked first, even if nothing else applies to the
    /// pod.
    fn create_pod(&mut self) -> Answer {
        let pod = &self.request.pod;
        let mut patches = Vec::new();
        if self.needs_user_info()? {
            let info = self.own_user_info();
            patches.push(annotations_with(&pod.annotations, USER_INFO, &info));
        }
        if pod.label(APP) == YUNIKORN {
            return self.allow(OWN_POD);
        }
        if !self.is_processed()? {
            return self.allow(LEFT_ALONE);
        }
        patches.push(Patch { path: SCHEDULER_NAME, value: Value::Text(YUNIKORN) });
        if self.is_labelled()? {
            let unique = self.conf.filtering.generate_unique_app_id;
            let labels = updated_labels(pod, self.request.namespace(), unique);
            patches.push(Patch { path: LABELS, value: Value::Texts(labels) });
            self.allow_preemption(pod, &mut patches);
        } else if !self.conf.version.behavior().keeps_user_info {
            self.ignore_application(pod, &mut patches);
        }
        Ok(patches)
    }

    /// Copies the preemption setting of the `PriorityClass` (`admission_controller.go:391-427`), but only
    /// into annotations that are written anyway.
    fn allow_preemption(&self, pod: &Pod, patches: &mut Vec<Patch>) {
        if matches!(pod.annotation(ALLOW_PREEMPTION), "true" | "false") {
            return;
        }
        let class = &self.surroundings.priority_class_annotations;
        let forbidden = class.get(ALLOW_PREEMPTION).is_some_and(|value| value == "false");
        let value = if forbidden { "false" } else { "true" };
        match patches.iter_mut().find(|patch| patch.path == ANNOTATIONS).map(|patch| &mut patch.value) {
            Some(Value::Texts(annotations)) => {
                annotations.insert(ALLOW_PREEMPTION.to_owned(), value.to_owned());
            }
            _ => patches.push(annotations_with(&pod.annotations, ALLOW_PREEMPTION, value)),
        }
    }

    /// Writes the annotations a second time, starting from the original annotations of the pod
    /// (`admission_controller.go:437-452`). This discards a `user.info` set before.
    fn ignore_application(&mut self, pod: &Pod, patches: &mut Vec<Patch>) {
        if patches.iter().any(|patch| patch.path == ANNOTATIONS) {
            self.steps.push(format!(
                "{USER_INFO} is lost because the annotations are written a second time without it"
            ));
        }
        patches.push(annotations_with(&pod.annotations, IGNORE_APPLICATION, "true"));
    }

    /// Evaluates the update of a pod. Nobody may change `user.info`, regardless of the lists.
    fn update_pod(&mut self) -> Answer {
        let pod = &self.request.pod;
        if pod.label(APP) == YUNIKORN {
            return self.allow(OWN_POD);
        }
        if !self.is_reviewed()? {
            return self.allow(LEFT_ALONE);
        }
        if pod.annotation(USER_INFO) != self.request.old_pod.annotation(USER_INFO) {
            return Err(Outcome::Denied("user info annotation change is not allowed".to_owned()));
        }
        self.allow(format!("{USER_INFO} is unchanged"))
    }

    /// Evaluates the creation of a workload. If it has no application ID and gets none, `user.info` is not
    /// checked.
    fn create_workload(&mut self, workload: Workload) -> Answer {
        if workload == Workload::ReplicaSet && self.is_of_controller()? {
            return Err(Outcome::Allowed);
        }
        if !self.is_reviewed()? {
            return self.allow(LEFT_ALONE);
        }
        if !self.needs_user_info()? {
            return Err(Outcome::Allowed);
        }
        let mut annotations = self.request.pod.annotations.clone();
        annotations.insert(USER_INFO.to_owned(), self.own_user_info());
        Ok(vec![Patch { path: workload.annotations_path(), value: Value::Texts(annotations) }])
    }

    /// Returns whether it is a `ReplicaSet` of a system user. The admission controller does not change it,
    /// because otherwise its Deployment would endlessly create new ones. `trust_controllers` is ignored here.
    fn is_of_controller(&mut self) -> Result<bool, Outcome> {
        let users = &self.conf.access.system_users;
        let Some(pattern) = users.matching(&self.request.user) else {
            return if users.is_known() { Ok(false) } else { Err(Outcome::Unknown(SYSTEM_USERS)) };
        };
        self.steps.push(format!(
            "a ReplicaSet of a system user (matched by {}) is not changed",
            quoted(pattern.as_str())
        ));
        Ok(true)
    }
}

fn annotations_with(annotations: &Texts, key: &str, value: &str) -> Patch {
    let mut annotations = annotations.clone();
    annotations.insert(key.to_owned(), value.to_owned());
    Patch { path: ANNOTATIONS, value: Value::Texts(annotations) }
}

// The application ID in the labels of a pod (k8shim `pkg/admission/util.go:32-69`).

/// Returns the first label that gives the pod an application ID (`admission_controller.go:326`).
fn application_label(pod: &Pod) -> Option<&'static str> {
    [APP_ID, APPLICATION_ID, SPARK_APP_SELECTOR].into_iter().find(|label| !pod.label(label).is_empty())
}

/// Returns the labels of a pod that is admitted in this namespace.
fn updated_labels(pod: &Pod, namespace: &str, unique: bool) -> Texts {
    let mut labels = pod.labels.clone();
    let mut set = |key: &str, value: &str| labels.insert(key.to_owned(), value.to_owned());
    if application_label(pod).is_none() && pod.annotation(APP_ID).is_empty() {
        let generated = generated_id(namespace, unique, &pod.uid);
        set(APP_ID, &generated);
        set(APPLICATION_ID, &generated);
    } else if !pod.label(APP_ID).is_empty() {
        set(APPLICATION_ID, pod.label(APP_ID));
    }
    if !pod.label(QUEUE).is_empty() {
        set(OLD_QUEUE, pod.label(QUEUE));
    }
    labels
}

/// Returns the application ID of a pod that names none (`GenerateApplicationID`,
/// `pkg/common/utils/utils.go:132-146`): one per namespace, or one per pod. An empty namespace is not
/// replaced by `default`.
pub fn generated_id(namespace: &str, unique: bool, uid: &str) -> String {
    let short: String = namespace.chars().take(26).collect();
    let id = match (unique, uid) {
        (false, _) => format!("yunikorn-{namespace}-autogen"),
        (true, "") => format!("{short}-uniqueautogen"),
        (true, uid) => format!("{short}-{uid}"),
    };
    id.chars().take(63).collect()
}

// Changes that would let a requester set `user.info`, or make that unnecessary.

/// Groups of everyone or of every service account. Remedies never suggest them.
const EVERYONE: [&str; 3] = ["system:authenticated", "system:unauthenticated", "system:serviceaccounts"];

/// Returns changes that would let this requester set `user.info`, the smallest first. The first avoids the
/// annotation, the others are fields of an `AdmissionPolicy`.
pub fn remedies(user: &str, groups: &[String], access: &AccessControl) -> Vec<String> {
    let mut remedies = vec![format!("omit {USER_INFO}, so that it is set to the requester's own name")];
    if let Some(pattern) = access.system_users.matching(user) {
        let pattern = quoted(pattern.as_str());
        remedies.push(format!("set trustControllers to true; systemUsers already contains {pattern}"));
    }
    let add = |name: &str, list: &str| format!("add {} to {list}", quoted(&exactly(name)));
    if !user.is_empty() {
        remedies.push(add(user, "externalUsers"));
    }
    let mut named: Vec<&String> =
        groups.iter().filter(|group| !group.is_empty() && !EVERYONE.contains(&group.as_str())).collect();
    named.dedup();
    remedies.extend(named.into_iter().map(|group| add(group, "externalGroups")));
    remedies
}

/// Returns the expression that matches exactly this name. A list is split at commas, so commas are escaped.
fn exactly(name: &str) -> String {
    format!("^{}$", regex_syntax::escape(name).replace(',', r"\x2C"))
}
